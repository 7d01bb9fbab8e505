/// wait/record - what a rank waits for, where another process can read it when the rank hangs.
///
///   Written by its rank only when a wait leaves the fast spin, so the fast path never pays for it. A reader (the launcher's
///   hang report, a debugger) gets the fields of one write or nothing: `serial` is odd while a write is under way, and a
///   reader that sees it change reads again.
///
///        writer                                          reader
///        serial: even -> odd  (compare-exchange)         before = serial, even
///        fields               (release each)             fields               (acquire each)
///        serial: odd -> even  (release)                  serial still == before?
///
///   Order   A reader that meets a field of a newer write acquires that write's odd serial with it, and sees the serial
///           changed. A reader whose serial did not change has the fields of that write, or older only by clear().
///   Writers the threads of one rank. A thread that meets a write under way leaves its own out: the record shows one
///           of several waits, which is all it promises.
///   Tests   test/wait_record_test.cpp, test/model/record_model_test.cpp
#pragma once
#include <cstdint>

#include <mpt/core/atomics.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

/// What a record is about. A wait of a collective's is a send or a receive in the collective side of its context, and its tag
/// says which collective. `message` is no wait: see boot::control_record::kept. `lock`: of a window, the tag is the target's world rank;
/// who has it is not known.
enum class wait_for : std::uint32_t {
    nothing,
    send,
    receive,
    probe,
    pending_send, // the same, of a request that was started before
    pending_receive,
    any, // of several requests
    start,
    others, // the peer: a communicator's group is met without MPI_Init
    finalize,
    message,
    lock,
    answer, // to an operation on the peer's memory, from an agent of its
    memory, // one's own, that OpenSHMEM's other PEs write
};

template <class Atomics> struct basic_wait_record {
    template <class T> using atomic = typename Atomics::template atomic<T>;

    atomic<std::uint32_t> serial; // odd: being written
    atomic<wait_for> what;
    atomic<std::uint64_t> context;
    atomic<std::int32_t> peer;  // world rank, or any_source
    atomic<std::int32_t> label; // tag
    atomic<std::uint64_t> size; // bytes asked for
    atomic<std::int64_t> since; // nanoseconds of the world's clock

    void write(wait_for w, context_id c, rank p, tag t, std::uint64_t n, std::int64_t now) noexcept {
        auto s = serial.load(std::memory_order_relaxed); // order: a hint, the compare-exchange decides
        if (s % 2 != 0) return;
        if (!serial.compare_exchange_strong(s, s + 1, std::memory_order_acquire, // sync(wait.record): acquire
                                            std::memory_order_relaxed))
            return;
        what.store(w, std::memory_order_release);                                // sync(wait.record-field): release
        context.store(static_cast<std::uint64_t>(c), std::memory_order_release); // sync(wait.record-field): release
        peer.store(p, std::memory_order_release);                                // sync(wait.record-field): release
        label.store(t, std::memory_order_release);                               // sync(wait.record-field): release
        size.store(n, std::memory_order_release);                                // sync(wait.record-field): release
        since.store(now, std::memory_order_release);                             // sync(wait.record-field): release
        serial.store(s + 2, std::memory_order_release);                          // sync(wait.record): release
    }
    void clear() noexcept { what.store(wait_for::nothing, std::memory_order_relaxed); } // order: a hint, nothing hangs on it
};

using wait_record = basic_wait_record<native_atomics>;

/// A reader's copy.
struct wait_snapshot {
    wait_for what = wait_for::nothing;
    context_id context{};
    rank peer{};
    tag label{};
    std::uint64_t size = 0;
    std::int64_t since = 0;
};

/// Reads a record of a living rank; gives up (what == nothing) when it changes all the time.
template <class Atomics> wait_snapshot read(basic_wait_record<Atomics> const& r) noexcept {
    for (int tries = 0; tries < 8; ++tries) {
        auto const before = r.serial.load(std::memory_order_acquire); // sync(wait.record): acquire
        wait_snapshot s;
        s.what = r.what.load(std::memory_order_acquire);                   // sync(wait.record-field): acquire
        s.context = context_id{r.context.load(std::memory_order_acquire)}; // sync(wait.record-field): acquire
        s.peer = rank{r.peer.load(std::memory_order_acquire)};             // sync(wait.record-field): acquire
        s.label = tag{r.label.load(std::memory_order_acquire)};            // sync(wait.record-field): acquire
        s.size = r.size.load(std::memory_order_acquire);                   // sync(wait.record-field): acquire
        s.since = r.since.load(std::memory_order_acquire);                 // sync(wait.record-field): acquire
        auto const after = r.serial.load(std::memory_order_relaxed);       // order: the acquires above come first
        if (before % 2 == 0 && after == before) return s;
    }
    return {};
}

} // namespace mpt::inline v0
