/// bench/transport_bench - the measurements of any transport, between two ranks that are threads on two cores.
///
///   round_trip/NAME/N     from the first reserve of a frame of N bytes to the poll that hands the answer over
///   frames/NAME/N         frame after frame in one direction: time per frame, credits and all
///   empty_poll/NAME       from the call of poll to its return, nothing there
///
///   A program for a new transport is one line: int main(...) { return bench::transport_main<mpt::transport::foo>(argc, argv); }
#pragma once
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include <mpt/transport/transport.hpp>
#include <mpt/world/threads.hpp>

#include "limits_crossing.hpp"
#include "partner.hpp"

namespace bench {

template <class Transport> class transport_ends {
public:
    using endpoint = typename Transport::template endpoint<mpt::world::threads>;

private:
    struct end {
        mpt::boot::job job;
        mpt::mem::slice_heap heap;
        endpoint wire;
        explicit end(mpt::boot::membership const& m)
            : job{m, 1, "bench"}, heap{job.share_arena(), job.me(), job.arena().own_limit()},
              wire{mpt::lane_context<mpt::world::threads>{{}, job, heap, 0, 0, 1, {}}} {
            auto const address = wire.local();
            job.publish(0, 0, std::as_bytes(std::span{&address, 1}));
            job.meet();
        }
    };
    std::array<std::unique_ptr<end>, 2> ends_;

public:
    /// Both ranks join at once, because meeting waits.
    transport_ends() {
        auto const members = mpt::boot::local_members(2);
        std::thread other{[&] { ends_[1] = std::make_unique<end>(members[1]); }};
        ends_[0] = std::make_unique<end>(members[0]);
        other.join();
    }
    endpoint& operator[](std::size_t rank) { return ends_[rank]->wire; }
};

/// Sends n bytes of which the first eight are v. Polls while the wire is full, for a peer may need us to.
template <class Endpoint> void send_frame(Endpoint& e, mpt::rank to, std::size_t n, std::uint64_t v) {
    poll_until([&] {
        auto cell = e.reserve(to, n);
        if (!cell) return static_cast<void>(e.flush()), false;
        std::memcpy(cell.payload().data(), &v, sizeof v);
        e.commit(std::move(cell), 1);
        return true;
    });
}

/// The next frame's first eight bytes.
template <class Endpoint> std::uint64_t next_frame(Endpoint& e, mpt::rank from) {
    std::uint64_t v = 0;
    auto const sink = [&](mpt::frame const& f) { std::memcpy(&v, f.payload.data(), sizeof v); };
    poll_until([&] { return e.poll_from(from, sink) != 0 || (e.flush(), false); });
    return v;
}

/// A transport that reaches only its own rank answers itself.
template <class Transport> mpt::rank peer_of(typename transport_ends<Transport>::endpoint& e, mpt::rank me) {
    return e.reaches(1 - me) ? mpt::rank{1 - me} : me;
}

template <class Transport> void round_trip(benchmark::State& state) {
    transport_ends<Transport> ends;
    auto const n = static_cast<std::size_t>(state.range(0));
    mpt::rank const other = peer_of<Transport>(ends[0], 0);
    partner const echo{[&] {
        for (std::uint64_t v = 0; other != 0 && v != end_of_talk;) send_frame(ends[1], 0, n, v = next_frame(ends[1], 0));
    }};
    std::uint64_t v = 0;
    bool whole = true;
    in_batches(state, 100, [&] {
        send_frame(ends[0], other, n, ++v);
        whole = next_frame(ends[0], other) == v && whole;
    });
    if (!whole) state.SkipWithError("a frame was lost");
    send_frame(ends[0], other, n, end_of_talk);
    static_cast<void>(next_frame(ends[0], other));
}

template <class Transport> void frames(benchmark::State& state) {
    transport_ends<Transport> ends;
    auto const n = static_cast<std::size_t>(state.range(0));
    mpt::rank const other = peer_of<Transport>(ends[0], 0);
    word read{0};
    partner const reader{[&] {
        std::uint64_t expected = 0;
        for (std::uint64_t v = 0; other != 0 && v != end_of_talk; ++expected) v = next_frame(ends[1], 0);
        read.store(expected, std::memory_order_release); // sync(bench.frames): release
    }};
    std::uint64_t v = 0;
    in_batches(state, 200, [&] {
        send_frame(ends[0], other, n, ++v);
        if (other == 0) static_cast<void>(next_frame(ends[0], 0)); // to itself: both halves
    });
    if (other == 0) return;
    send_frame(ends[0], other, n, end_of_talk);
    poll_until([&] { return ends[0].flush() && read.load(std::memory_order_acquire) != 0; });   // sync(bench.frames): acquire
    if (read.load(std::memory_order_relaxed) != v + 1) state.SkipWithError("a frame was lost"); // order: seen just before
}

template <class Transport> void empty_poll(benchmark::State& state) {
    transport_ends<Transport> ends;
    std::uint64_t got = 0;
    for (auto _ : state) benchmark::DoNotOptimize(ends[0].poll([&](mpt::frame const&) { ++got; }, 16));
    if (got != 0) state.SkipWithError("a frame came from nowhere");
}

/// Role model: slots of one cache line in a ring; time per message.
inline void slots_in_a_ring(benchmark::State& state) {
    if (allowed_cores().size() < 2) return state.SkipWithError("needs two cores");
    auto const ring = std::make_unique<slot_ring>();
    slot_rate ours{*ring}, theirs{*ring};
    word count{0};
    partner const reader{[&] {
        std::uint64_t n = 0;
        while (theirs.pop() != end_of_talk) ++n;
        count.store(n + 1, std::memory_order_release); // sync(bench.frames): release
    }};
    std::uint64_t v = 0;
    in_batches(state, 200, [&] { ours.push(v++); });
    ours.push(end_of_talk);
    poll_until([&] { return count.load(std::memory_order_acquire) != 0; }); // sync(bench.frames): acquire
}

template <class Transport> int transport_main(int argc, char** argv) {
    std::string const name{Transport::name};
    for (int n : {8, 48}) {
        benchmark::RegisterBenchmark(("round_trip/" + name).c_str(), round_trip<Transport>)
            ->Arg(n)
            ->UseManualTime()
            ->Iterations(batches);
        benchmark::RegisterBenchmark("round_trip/role:words", round_trip_of_words)
            ->Arg(n)
            ->UseManualTime()
            ->Iterations(batches);
        benchmark::RegisterBenchmark(("frames/" + name).c_str(), frames<Transport>)
            ->Arg(n)
            ->UseManualTime()
            ->Iterations(batches);
        benchmark::RegisterBenchmark("frames/role:slots", slots_in_a_ring)->Arg(n)->UseManualTime()->Iterations(batches);
    }
    benchmark::RegisterBenchmark(("empty_poll/" + name).c_str(), empty_poll<Transport>);
    return run_registered(argc, argv);
}

} // namespace bench
