/// mpi/buffered - sends that come back at once, whoever receives them and when: what cannot leave at once is copied into a buffer.
///
///        buffer   | message + 512 | message + 512 |      free      | message + 512 |
///
///        mpt::buffered_sends<Stack> out{memory};              or {}: memory of the heap, as much as is needed
///        out.send(world, values, 1, 7);                       on any communicators; throws where there is no room
///        out.flush();                                         all of it has left
///        auto again = mpt::persistent_bsend(out, world, values, 1, 7);      each start() sends what is in values then
///
///        mpt::attach_buffer(world, memory);                   or (env, memory), (here, memory): those of an environment or a session
///        mpt::bsend(world, values, 1, 7);                     by what is attached to world, or to what it comes from
///        auto left = mpt::iflush_buffer(world);    ...    left.wait();         or flush_buffer(world)
///        auto const mine_again = mpt::detach_buffer(world);   waits until all of it has left
///
///   buffered_sends is attached to nothing: who holds it sends by it, on one communicator or on several; one thread at a time. Attached
///   buffers are any thread's. Without memory they are of the heap, as large as is needed: MPI_BUFFER_AUTOMATIC.
///   A message occupies its bytes and bsend_overhead of the buffer until it has left; places are found first fit. There must be room also for
///   one that leaves at once, and occupies nothing.
///   What a buffer is attached to flushes it when it goes; a communicator's may also go after its environment, which has flushed it then.
///   Where an exception unwinds past it, what was not received yet is withdrawn, as with any request.
///   Tests   test/mpi_buffered_test.cpp    Source MPI-4.1 section 3.6.
#pragma once
#include <algorithm>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <mpt/mpi/attached_buffer.hpp>
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

    /// For a message of so many bytes: throws mpi_error(error_class::buffer) where there is no room. Lets go of what has left.
    void require_room(std::size_t bytes) {
        test();
        if (!heap_) place_for(bytes + bsend_overhead); // what the standard lets a program count on, and no byte more
    }
    /// to: in the job. Throws as require_room() does.
    void send(channel<Stack> const& w, rank to, tag t, source const& from) {
        require_room(from.size());
        if (!w.try_send_copied(to, t, from)) keep(w, to, t, from);
    }
    /// Of what cannot leave at once.
    void keep(channel<Stack> const& w, rank to, tag t, source const& from) {
        test();
        auto const n = from.size() + bsend_overhead;
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

    /// The job is over: nobody touches what is under way any more.
    void forget() noexcept { blocks_.clear(); }

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

/// The same for any thread. Once it was detached it takes no messages.
template <class Stack> class shared_send_buffer : send_buffer<Stack> {
    using base = send_buffer<Stack>;
    std::mutex changing_;
    bool detached_ = false;

public:
    using base::base;
    using base::is_heap;
    using base::memory;
    /// false: it was detached meanwhile.
    bool require_room(std::size_t bytes) {
        std::lock_guard const g{changing_};
        if (!detached_) base::require_room(bytes);
        return !detached_;
    }
    bool keep(channel<Stack> const& w, rank to, tag t, source const& from) {
        std::lock_guard const g{changing_};
        if (!detached_) base::keep(w, to, t, from);
        return !detached_;
    }
    bool test() {
        std::lock_guard const g{changing_};
        return base::test();
    }
    bool peek(lane<Stack> const& home) noexcept {
        std::unique_lock const g{changing_, std::try_to_lock};
        return g && base::peek(home);
    }
    /// Waits outside the lock: what frees a place may be another thread's buffered send.
    void flush() {
        while (!test()) {
            std::unique_lock g{changing_};
            auto const next = base::awaited();
            g.unlock();
            if (next) next->first->wait(next->second, [&](auto&) { return peek(*next->first); });
        }
    }
    /// Takes no more, and waits until all has left.
    void close() {
        {
            std::lock_guard const g{changing_};
            detached_ = true;
        }
        flush();
    }

protected:
    void abandon() {
        std::lock_guard const g{changing_};
        detached_ = true;
        base::abandon();
    }
    void forget() noexcept {
        std::lock_guard const g{changing_};
        base::forget();
    }
};

/// By the first place that has a buffer. That must have room, although it is not used where the message leaves at once; and nothing is counted
/// or locked behind one that has left, for that would wait for the line that it has just been written to.
/// origin: a message of 8 bytes to and fro, two far CPUs of an Intel Xeon guest: 17 % of both ranks' time
template <class Buffer, class Stack> void send_by(std::initializer_list<buffer_place<Buffer> const*> places,
                                                  channel<Stack> const& w, rank to, tag t, source const& from) {
    auto const gone = [] { return mpi_error{error_class::buffer, "the buffer of buffered sends was detached meanwhile"}; };
    if (!buffer_in_use(places)->require_room(from.size())) throw gone();
    if (w.try_send_copied(to, t, from)) return;
    if (!buffer_in_use(places)->keep(w, to, t, from)) throw gone();
}

template <class Stack> class attached_buffer final : public shared_send_buffer<Stack>, public unfinished_sends {
    using base = shared_send_buffer<Stack>;
    int const exceptions_ = std::uncaught_exceptions(); // on their way when this was made

public:
    using base::base;
    ~attached_buffer() override { settle(std::uncaught_exceptions() > exceptions_); }
    void settle(bool withdrawn) noexcept override {
        try {
            if (withdrawn) base::abandon();
            else base::close();
        } catch (error const&) { base::forget(); }
    }
};

/// Messages of a buffer that have left once test() says so, or wait() has come back.
template <class Stack> class [[nodiscard]] buffer_flush {
    std::shared_ptr<attached_buffer<Stack>> of_;

public:
    explicit buffer_flush(std::shared_ptr<attached_buffer<Stack>> b) noexcept : of_{std::move(b)} {}
    /// One round of progress; true: wait() will not wait.
    bool test() { return !of_ || of_->test(); }
    void wait() {
        if (of_) of_->flush();
    }
};

namespace detail {

template <class On>
concept has_buffer_home = requires(On const& on) { on.buffers()->place; };

/// A communicator's own, an environment's, a session's.
template <class On> auto& buffer_place_of(On const& on) {
    if constexpr (has_buffer_home<On>) return on.buffers()->place;
    else return on.native().buffer;
}
template <class On> auto& buffer_home_of(On const& on) {
    if constexpr (has_buffer_home<On>) return *on.buffers();
    else return *on.native().origin.environment;
}
template <class On> void attach(On const& on, std::span<std::byte> memory, bool heap) {
    using place = std::remove_cvref_t<decltype(buffer_place_of(on))>;
    using buffer = typename decltype(std::declval<place&>().attached())::element_type;
    if constexpr (!has_buffer_home<On>)
        if (!on.native().origin.environment)
            throw mpi_error{error_class::comm,
                            "mpt: attach_buffer: this communicator comes from no environment and no session"};
    auto made = std::make_shared<buffer>(memory, heap);
    buffer_place_of(on).attach(made);
    buffer_home_of(on).note(made);
}
template <class Home> auto* place_in(std::shared_ptr<Home> const& home) noexcept { return home ? &home->place : nullptr; }

} // namespace detail

// --- attached buffers: `on` is a communicator of any sort, an environment or a session. Section 3.6 ------------------------------------

/// memory: of so many bytes, until detach_buffer(). mpi_error(error_class::buffer) where one is attached there already.
template <class On> void attach_buffer(On const& on, std::span<std::byte> memory) { detail::attach(on, memory, false); }
/// Memory of the heap, as much as is needed.
template <class On> void attach_buffer(On const& on) { detail::attach(on, {}, true); }
/// Waits until all of it has left, and gives the memory back: none of what was of the heap. What is sent meanwhile finds no buffer.
template <class On> std::span<std::byte> detach_buffer(On const& on) {
    auto const gone = detail::buffer_place_of(on).detach();
    gone->close();
    return gone->memory();
}
/// Waits until all of what is attached there has left.
template <class On> void flush_buffer(On const& on) {
    if (auto const b = detail::buffer_place_of(on).attached()) b->flush();
}
template <class On> auto iflush_buffer(On const& on) { return buffer_flush{detail::buffer_place_of(on).attached()}; }

/// By the buffer attached to the communicator, or its session, or its environment. Comes back at once.
template <class View, class T>
    requires requires(View const& v) { v.native().origin; }
auto bsend(View const& on, T const& data, rank to, tag t = 0) {
    return View::errors_type::run([&] {
        checks::label("bsend", t);
        if (to == proc_null) return;
        auto const& s = on.native();
        checks::to("bsend", to, s.who.size());
        auto const *const of_session = detail::place_in(s.origin.session), *const of_all =
                                                                               detail::place_in(s.origin.environment);
        send_by({&std::as_const(s.buffer), of_session, of_all}, s.wire, s.who.world(to), t, source{detail::bytes_of(data)});
    });
}
/// The same; the request is complete.
template <class View, class T>
    requires requires(View const& v) { v.native().origin; }
auto ibsend(View const& on, T const& data, rank to, tag t = 0) {
    return View::errors_type::run([&] {
        bsend(on.template with<errors::throwing>(), data, to, t);
        return basic_request<typename View::stack_type>{};
    });
}

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
/// By what is attached at each start().
template <class Stack, class Errors, class T>
    requires(std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<T>)
persistent<Stack> persistent_bsend(communicator_view<Stack, Errors> const& on, T&& data, rank to, tag t = 0) {
    checks::label("persistent_bsend", t);
    if (to != proc_null) checks::to("persistent_bsend", to, on.size());
    return persistent<Stack>{[=, view = on.template with<errors::throwing>(), from = source{detail::bytes_of(data)}] {
        return ibsend(view, from, to, t);
    }};
}

} // namespace mpt::inline v0
