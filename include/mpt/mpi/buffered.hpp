/// mpi/buffered - sends that come back at once, whoever receives them and when: what they send is copied into a buffer first.
///
///        buffer   | message + 512 | message + 512 |      free      | message + 512 |
///
///        mpt::buffered_sends<Stack> out{memory};              or {}: memory of the heap, as much as is needed
///        out.send(world, values, 1, 7);                       on any communicators; throws where there is no room
///        out.flush();                                         all of it has left
///        auto again = mpt::persistent_bsend(out, world, values, 1, 7);      each start() sends what is in values then
///
///   A buffer is attached to nothing: who holds it sends by it, on one communicator or on several, in one session or in all.
///   A message occupies its bytes and bsend_overhead of the buffer until it has left; places are found first fit. One thread at a time.
///   The destructor flushes. Where an exception unwinds past it, what was not received yet is withdrawn, as with any request.
///   Tests   test/mpi_buffered_test.cpp    Source MPI-4.1 section 3.6.
#pragma once
#include <algorithm>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <mpt/mpi/communicator.hpp>
#include <mpt/mpi/error_classes.hpp>
#include <mpt/mpi/persistent.hpp>

namespace mpt::inline v0 {

/// What a message needs beside its bytes: MPI_BSEND_OVERHEAD.
inline constexpr std::size_t bsend_overhead = 512;

/// The buffer, and what is under way from it.
template <class Stack> class send_buffer {
    struct block {
        std::size_t at, size;
        std::unique_ptr<std::byte[]> own; // of the heap
        protocol::request* under_way;
        channel<Stack> on;
        waiting about;
    };
    using blocks = std::list<block>; // by place

    std::span<std::byte> memory_;
    bool heap_;
    blocks blocks_;

public:
    /// heap: memory is not looked at.
    send_buffer(std::span<std::byte> memory, bool heap) noexcept : memory_{memory}, heap_{heap} {}

    std::span<std::byte> memory() const noexcept { return memory_; }
    bool is_heap() const noexcept { return heap_; }

    /// to: in the job. Throws mpi_error(error_class::buffer) where there is no room.
    void send(channel<Stack> const& w, rank to, tag t, source const& from) {
        test();
        auto const n = from.size() + bsend_overhead; // what the standard lets a program count on, and no byte more
        auto const before = heap_ ? blocks_.end() : place_for(n);
        auto const at = heap_ || before == blocks_.begin() ? 0 : std::prev(before)->at + std::prev(before)->size;
        auto own = heap_ ? std::make_unique_for_overwrite<std::byte[]>(from.size()) : nullptr;
        std::span<std::byte> const copy{heap_ ? own.get() : memory_.data() + at, from.size()};
        from.read(0, copy);
        waiting const about{wait_for::send, w.context(), to, t, from.size()};
        auto* const r = w.start_send(to, t, source{std::span<std::byte const>{copy}});
        try {
            blocks_.insert(before, {at, n, std::move(own), r, w, about});
        } catch (...) {
            w.abandon(*r, about);
            throw;
        }
    }
    /// Lets go of what has left; true: nothing is under way.
    bool test() {
        for (auto b = blocks_.begin(); b != blocks_.end();) {
            if (!b->on.test(*b->under_way)) {
                ++b;
                continue;
            }
            b->on.collect(*b->under_way);
            b = blocks_.erase(b);
        }
        return blocks_.empty();
    }
    /// The same without progress, by a thread in the lane `home`.
    bool peek(lane<Stack> const& home) noexcept {
        return std::ranges::all_of(blocks_, [&](block const& b) {
            return &b.on.on() == &home ? b.under_way->complete : b.on.on().peek(*b.under_way);
        });
    }
    /// Where to wait, and for what; nothing: nothing is under way.
    std::optional<std::pair<lane<Stack>*, waiting>> awaited() const {
        if (blocks_.empty()) return std::nullopt;
        return std::pair{&blocks_.front().on.on(), blocks_.front().about};
    }
    /// Waits until all has left.
    void flush() {
        while (!test()) {
            auto const [home, about] = *awaited();
            home->wait(about, [&, at = home](auto&) { return peek(*at); });
        }
    }
    /// Withdraws what can be withdrawn, and waits for the rest.
    void abandon() {
        for (; !blocks_.empty(); blocks_.pop_front())
            blocks_.front().on.abandon(*blocks_.front().under_way, blocks_.front().about);
    }

private:
    typename blocks::iterator place_for(std::size_t n) {
        std::size_t at = 0;
        for (auto b = blocks_.begin(); b != blocks_.end(); at = b->at + b->size, ++b)
            if (b->at - at >= n) return b;
        if (memory_.size() - at >= n) return blocks_.end();
        std::size_t used = 0;
        for (auto const& b : blocks_) used += b.size;
        throw mpi_error{error_class::buffer, "a buffered send needs " + std::to_string(n) + " bytes side by side (" +
                                                 std::to_string(bsend_overhead) + " of them overhead); of the attached " +
                                                 std::to_string(memory_.size()) + " bytes " + std::to_string(used) +
                                                 " are in use"};
    }
};

template <class Stack> class buffered_sends {
    send_buffer<Stack> buffer_;
    int exceptions_ = std::uncaught_exceptions(); // on their way when this was made

public:
    buffered_sends() noexcept : buffer_{{}, true} {}
    /// memory: outlives it.
    explicit buffered_sends(std::span<std::byte> memory) noexcept : buffer_{memory, false} {}
    ~buffered_sends() {
        try {
            if (std::uncaught_exceptions() > exceptions_) buffer_.abandon();
            else buffer_.flush();
        } catch (error const&) { // the job is over: nobody will touch the data any more
        }
    }

    template <class Errors, class T>
    typename Errors::template as<void> send(communicator_view<Stack, Errors> const& on, T const& data, rank to, tag t = 0) {
        return Errors::run([&] {
            checks::label("buffered send", t);
            if (to == proc_null) return;
            checks::to("buffered send", to, on.size());
            buffer_.send(on.native().wire, on.members().world(to), t, source{detail::bytes_of(data)});
        });
    }
    /// The same; the request is complete.
    template <class Errors, class T> typename Errors::template as<basic_request<Stack>>
    isend(communicator_view<Stack, Errors> const& on, T const& data, rank to, tag t = 0) {
        return Errors::run([&] {
            send(on.template with<errors::throwing>(), data, to, t);
            return basic_request<Stack>{};
        });
    }
    /// One round of progress; true: nothing is under way, and flush() will not wait.
    bool test() { return buffer_.test(); }
    void flush() { buffer_.flush(); }
};

/// out and data outlive it.
template <class Stack, class Errors, class T>
    requires(std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<T>)
persistent<Stack> persistent_bsend(buffered_sends<Stack>& out, communicator_view<Stack, Errors> const& on, T&& data, rank to,
                                   tag t = 0) {
    checks::label("persistent_bsend", t);
    if (to != proc_null) checks::to("persistent_bsend", to, on.size());
    return persistent<Stack>{[=, &out, view = on.template with<errors::throwing>(), from = source{detail::bytes_of(data)}] {
        return out.isend(view, from, to, t);
    }};
}

} // namespace mpt::inline v0
