/// mpi/attached_buffer - where buffers of buffered sends are attached, and which of them a send uses.
///
///        communicator ---> its session ---> the process (in C++: the environment)         the first place that has one
///
///        buffer_home: an environment, a session        place, and what was attached there and to communicators of it:
///                                                      all of it is done with before the memory of messages goes
///
///   A place and what is attached there may be used by any thread: a buffer lives while it is used, and one that was detached takes
///   no more messages.
///   Tests   test/mpi_attached_buffer_test.cpp    Source MPI-4.1 section 3.6
#pragma once
#include <exception>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <mpt/mpi/error_classes.hpp>

namespace mpt::inline v0 {

/// Buffer: has memory(), a span of bytes.
template <class Buffer> class buffer_place {
    mutable std::mutex changing_;
    std::shared_ptr<Buffer> here_;

public:
    /// What is attached here, or null.
    std::shared_ptr<Buffer> attached() const {
        std::lock_guard const g{changing_};
        return here_;
    }
    /// Throws mpi_error(buffer) where there is one already.
    void attach(std::shared_ptr<Buffer> made) {
        std::lock_guard const g{changing_};
        if (here_)
            throw mpi_error{error_class::buffer,
                            "a buffer of " + std::to_string(here_->memory().size()) + " bytes is attached already"};
        here_ = std::move(made);
    }
    /// Throws mpi_error(buffer) where there is none.
    std::shared_ptr<Buffer> detach() {
        std::lock_guard const g{changing_};
        if (!here_) throw mpi_error{error_class::buffer, "no buffer is attached"};
        return std::exchange(here_, nullptr);
    }
};

/// Of the first place that has one; a place may be null. Throws mpi_error(buffer) where there is none.
template <class Buffer> std::shared_ptr<Buffer> buffer_in_use(std::initializer_list<buffer_place<Buffer> const*> places) {
    for (auto const* const p : places)
        if (auto found = p ? p->attached() : nullptr) return found;
    throw mpi_error{error_class::buffer, "no buffer is attached for buffered sends (MPI_Buffer_attach)"};
}

/// Buffered sends that may still be under way.
struct unfinished_sends {
    virtual ~unfinished_sends() = default;
    /// Waits until all have left; withdrawn: withdraws what can be withdrawn. Nothing is under way afterwards, or the job is over.
    virtual void settle(bool withdrawn) noexcept = 0;
};

template <class Stack> class attached_buffer; // mpi/buffered.hpp

/// What ends with the messages of its buffers done.
template <class Stack> class buffer_home {
    std::mutex changing_;
    std::vector<std::weak_ptr<unfinished_sends>> all_;
    int const exceptions_ = std::uncaught_exceptions(); // on their way when this was made

public:
    buffer_place<attached_buffer<Stack>> place;

    void note(std::weak_ptr<unfinished_sends> one) {
        std::lock_guard const g{changing_};
        std::erase_if(all_, [](auto const& other) { return other.expired(); });
        all_.push_back(std::move(one));
    }
    /// Where an exception unwinds past the owner, what was not received yet is withdrawn.
    void settle() noexcept {
        std::vector<std::weak_ptr<unfinished_sends>> all;
        {
            std::lock_guard const g{changing_};
            all.swap(all_);
        }
        for (auto const& weak : all)
            if (auto const one = weak.lock()) one->settle(std::uncaught_exceptions() > exceptions_);
    }
};

/// Where a communicator comes from; a session is left out where it comes from none.
template <class Stack> struct buffer_origin {
    std::shared_ptr<buffer_home<Stack>> environment{}, session{};
};

} // namespace mpt::inline v0
