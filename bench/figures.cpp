// figures - our own figures through the C++ door, each beside the hardware limit of its shape, taken in the same rounds.
//
//     mptrun -n 2 figures [--quick] [--json FILE] [--largest BYTES] [--stack NAME]
//
// 2 ranks on 2 CPUs: latency, message rate, bandwidth one way and both ways, barrier. More ranks than CPUs, or one CPU for two
// ranks (start it under taskset): latency, barrier and allreduce. Ranks are pinned in turn to the first two cores they may use.
#include <mpi.h>

#include <mpt/lock/none.hpp>
#include <mpt/mpt.hpp>

#include "limits.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace {

using namespace bench;

char const* const latency = "Ping-pong through mpt, half round trip";
char const* const fresh = "One message through mpt, source just rewritten";
char const* const rate = "Messages of 8 bytes through mpt, windows of 64";
char const* const bandwidth = "Bandwidth through mpt, windows of messages";
char const* const both_ways = "Bandwidth through mpt in both directions at once, sum";
char const* const together = "Collectives through mpt";

/// Two ranks, side 0 and side 1 of the crew. Every function is one batch, as in limits.hpp.
template <class View> class pair_of_ranks {
    View world_;
    crew& c_;
    std::vector<typename View::request> pending_;

    mpt::rank peer() const { return 1 - c_.side(); }
    static constexpr mpt::tag label{7};

    void wait_pending() {
        for (auto& r : pending_) r.wait();
        pending_.clear();
    }
    /// The window's answer: the receiver has everything.
    void acknowledge(int receiver) {
        char word = 0;
        if (c_.side() == receiver) world_.send(word, peer(), label);
        else world_.recv(word, peer(), label);
    }

public:
    pair_of_ranks(View world, crew& c) : world_{world}, c_{c} { pending_.reserve(128); }
    crew& who() { return c_; }

    /// A batch, and all that it sent has arrived: a side that meets the other outside of mpt makes no progress there, and a
    /// transport may still hold what send() took over.
    template <class Batch> auto whole(Batch batch) {
        return [this, batch] {
            auto const value = batch();
            world_.barrier();
            return value;
        };
    }

    static int window(std::size_t n) { return static_cast<int>(std::clamp<std::size_t>((4u << 20) / n, 1, 64)); }

    /// From side 0's call of send to the return of its recv of the answer, halved: ns. A value, so that its size is known to the
    /// compiler; counted up, so that every message is looked at.
    double ping_pong_value(int rounds = 100) {
        std::uint64_t v = 0;
        double const begin = now_ns();
        for (int i = 0; i < rounds; ++i) {
            if (c_.side() == 0) world_.send(v, peer(), label);
            world_.recv(v, peer(), label);
            if (c_.side() == 1) world_.send(++v, peer(), label);
        }
        double const ns = (now_ns() - begin) / rounds / 2;
        if (v != static_cast<std::uint64_t>(rounds)) throw std::runtime_error{"ping-pong: a message was lost"};
        return ns;
    }

    /// The same through the C interface, which is another door of the same environment: ns.
    double c_ping_pong(int rounds = 100) {
        std::uint64_t v = 0;
        auto const send = [&] { MPI_Send(&v, sizeof v, MPI_BYTE, peer(), label, MPI_COMM_WORLD); };
        double const begin = now_ns();
        for (int i = 0; i < rounds; ++i) {
            if (c_.side() == 0) send();
            MPI_Recv(&v, sizeof v, MPI_BYTE, peer(), label, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (c_.side() == 1) ++v, send();
        }
        double const ns = (now_ns() - begin) / rounds / 2;
        if (v != static_cast<std::uint64_t>(rounds)) throw std::runtime_error{"C ping-pong: a message was lost"};
        return ns;
    }

    /// The same with a range of n bytes: us. Buffers stay the same, source and target differ (what latency tests do).
    double ping_pong(std::span<char> from, std::span<char> into) {
        int const rounds = std::clamp(copies_of(from.size()) / 16, 1, 100);
        from.front() = from.back() = static_cast<char>('a' + c_.side());
        double const begin = now_ns();
        for (int i = 0; i < rounds; ++i) {
            if (c_.side() == 0) world_.send(from, peer(), label);
            world_.recv(into, peer(), label);
            if (c_.side() == 1) world_.send(from, peer(), label);
        }
        double const us = (now_ns() - begin) / rounds / 2e3;
        if (into.front() != 'b' - c_.side() || into.back() != 'b' - c_.side())
            throw std::runtime_error{"ping-pong: wrong bytes"};
        return us;
    }

    /// From the meeting of both sides, the source just rewritten, to side 0's sight of the acknowledgement of one message: us.
    double one_message(std::span<char> from, std::span<char> into) {
        auto const stamp = static_cast<char>(c_.agree(static_cast<std::uint64_t>(now_ns()) & 0x7f));
        if (c_.side() == 0) std::memset(from.data(), stamp, from.size());
        c_.meet();
        double const begin = now_ns();
        if (c_.side() == 0) world_.send(from, peer(), label);
        else world_.recv(into, peer(), label);
        acknowledge(1);
        double const us = (now_ns() - begin) / 1e3;
        if (c_.side() == 1 && (into.front() != stamp || into.back() != stamp)) throw std::runtime_error{"message: wrong bytes"};
        return us;
    }

    /// From side 0's first isend to its sight of the last acknowledgement, 10 windows of 64: million messages a second.
    double rate_of_requests() {
        int const windows = 10, each = 64;
        std::array<std::uint64_t, 64> data{};
        double const begin = now_ns();
        for (int w = 0; w < windows; ++w) {
            for (auto& v : data)
                if (c_.side() == 0) v = static_cast<std::uint64_t>(w), pending_.push_back(world_.isend(v, peer(), label));
                else pending_.push_back(world_.irecv(v, peer(), label));
            wait_pending();
            if (c_.side() == 1 && data.back() != static_cast<std::uint64_t>(w)) throw std::runtime_error{"rate: wrong order"};
            acknowledge(1);
        }
        return windows * each / (now_ns() - begin) * 1e3;
    }
    /// The same with blocking calls: send returns as soon as the value is on its way.
    double rate_of_calls() {
        int const windows = 10, each = 64;
        std::uint64_t v = 0;
        double const begin = now_ns();
        for (int w = 0; w < windows; ++w) {
            for (int i = 0; i < each; ++i)
                if (c_.side() == 0) world_.send(v, peer(), label), ++v;
                else world_.recv(v, peer(), label);
            acknowledge(1);
        }
        return windows * each / (now_ns() - begin) * 1e3;
    }

    /// From side 0's first isend to its sight of the last acknowledgement: GB/s. One buffer per side for a whole window, as the
    /// usual bandwidth tests have it; both directions where both = true, then the sum.
    double stream(std::span<char> from, std::span<char> into, bool both) {
        std::size_t const n = from.size();
        int const each = window(n),
                  windows = static_cast<int>(std::clamp<std::size_t>((4u << 20) / (n * static_cast<std::size_t>(each)), 1, 10));
        double const begin = now_ns();
        for (int w = 0; w < windows; ++w) {
            for (int i = 0; both && i < each; ++i) pending_.push_back(world_.irecv(into, peer(), label));
            for (int i = 0; i < each; ++i)
                if (both || c_.side() == 0) pending_.push_back(world_.isend(from, peer(), label));
                else pending_.push_back(world_.irecv(into, peer(), label));
            wait_pending();
            acknowledge(1);
        }
        return static_cast<double>(n) * each * windows * (both ? 2 : 1) / (now_ns() - begin);
    }
};

/// The limits of a pair, on memory of their own beside mpt's.
struct pair_limits {
    slot_rate slots;
    relay_rate relay;
    copier<by_mapping> mapped;
    bool cma_allowed;
    copier<by_cma> cma;
    char* memory; // private, for relay

    /// The best this machine does for a ping-pong of n bytes; private memory can only be reached by CMA or by two copies.
    std::pair<std::string, std::function<double()>> ping_pong(std::size_t n, bool arena) {
        crew& c = mapped.who();
        if (n <= 8) return {"two lines", [&c] { return two_lines(c) / 1e3; }};
        int const ends = n >= (64u << 10) ? 2 : 1;
        if (arena || n < (16u << 10) || !cma_allowed)
            return {"mapped copy", [this, n, ends] { return exchange(mapped, n, ends); }};
        return {"CMA", [this, n, ends] { return exchange(cma, n, ends); }};
    }
    std::pair<std::string, std::function<double()>> one_message(std::size_t n, bool arena) {
        if (arena || !cma_allowed) return {"mapped copy", [this, n] { return delivery(mapped, n, 2); }};
        return {"CMA", [this, n] { return delivery(cma, n, 2); }};
    }
    std::pair<std::string, std::function<double()>> stream(std::size_t n, bool both, bool arena) {
        crew& c = mapped.who();
        if (n < 64) return {"slots", [this, n, both, &c] { return slots(c) * static_cast<double>(n * (both ? 2 : 1)) / 1e3; }};
        if (n < (16u << 10)) return {"two copies", [this, n, both, &c] { return relay(c, memory, n) * (both ? 2 : 1); }};
        if (both && arena) return {"mapped copy", [this, n] { return cross_rate(mapped, n); }};
        if (arena || !cma_allowed) return {"mapped copy", [this, n] { return pull_rate(mapped, n, 2); }};
        if (both) return {"CMA", [this, n] { return cross_rate(cma, n); }};
        return {"CMA", [this, n] { return pull_rate(cma, n, 2); }};
    }
};

/// A side's two buffers of one kind of memory.
struct buffers {
    std::string kind;
    bool arena;
    std::size_t least; // smaller messages do not care where they lie
    char *from, *into;

    std::span<char> source(std::size_t n) const { return {from, n}; }
    std::span<char> target(std::size_t n) const { return {into, n}; }
};

template <class Pair> void rows_of(Pair& us, pair_limits& limits, buffers const& b, settings const& s, report& out) {
    crew& c = us.who();
    auto const add = [&](char const* group, std::size_t n, char const* unit, auto ours, auto limit) {
        auto [taken, bound] = interleave(c, s.rounds(n), us.whole(ours), limit.second);
        out.add({group, b.kind, n, unit, taken, limit.first, bound});
    };
    for (std::size_t n : s.sizes(std::max<std::size_t>(b.least, 8)))
        add(
            latency, n, "us", [&] { return us.ping_pong(b.source(n), b.target(n)); }, limits.ping_pong(n, b.arena));
    for (std::size_t n : s.sizes(16u << 10))
        add(
            fresh, n, "us", [&] { return us.one_message(b.source(n), b.target(n)); }, limits.one_message(n, b.arena));
    for (std::size_t n : s.sizes(b.least))
        add(
            bandwidth, n, "GB/s", [&] { return us.stream(b.source(n), b.target(n), false); }, limits.stream(n, false, b.arena));
    for (std::size_t n : s.sizes(std::max<std::size_t>(b.least, 64u << 10)))
        add(
            both_ways, n, "GB/s", [&] { return us.stream(b.source(n), b.target(n), true); }, limits.stream(n, true, b.arena));
}

template <class Pair> void small_rows(Pair& us, pair_limits& limits, settings const& s, report& out) {
    crew& c = us.who();
    char const* const group = "8 bytes through mpt as a value, half round trip";
    auto [ours, two, one, own] = interleave(
        c, s.rounds(), us.whole([&] { return us.ping_pong_value(); }), [&] { return two_lines(c); },
        [&] { return one_line(c); }, [&] { return one_line<by_taking_over>(c); });
    out.add({group, "beside two lines", 8, "ns", ours, "two lines", two});
    out.add({group, "beside one line", 8, "ns", ours, "one line", one});
    out.add({group, "beside one line taken over", 8, "ns", ours, "one line taken over", own});
    auto [requests, calls, slots] = interleave(c, s.rounds(), us.whole([&] { return us.rate_of_requests(); }),
                                               us.whole([&] { return us.rate_of_calls(); }), [&] { return limits.slots(c); });
    out.add({rate, "isend and irecv", 8, "M/s", requests, "slots", slots});
    out.add({rate, "send and recv", 8, "M/s", calls, "slots", slots});
}

/// The C interface beside the C++ facade.
template <class Pair> void c_rows(Pair& us, settings const& s, report& out) {
    MPI_Init(nullptr, nullptr);
    auto [c, cxx] = interleave(us.who(), s.rounds(), us.whole([&] { return us.c_ping_pong(); }),
                               us.whole([&] { return us.ping_pong_value(); }));
    out.add({"8 bytes through MPI_Send and MPI_Recv, half round trip", "beside the C++ facade", 8, "ns", c, "C++ facade", cxx});
    MPI_Finalize();
}

/// Everything that two ranks on two CPUs can show.
template <class Env> void pair_rows(Env& env, crew& c, char* shared, settings const& s, report& out) {
    pages const own_from{s.largest}, own_into{s.largest}, limit_from{s.largest}, limit_into{s.largest};
    auto const arena = env.template allocate<char>(2 * s.largest);
    std::memset(arena.data(), 1, arena.size());
    auto* const at = shared + sizeof(slot_ring) + sizeof(piece_ring);
    auto const mine = [&](int side, std::size_t which) {
        return at + (2 * static_cast<std::size_t>(side) + which) * s.largest;
    };
    std::memset(mine(c.side(), 0), 1, 2 * s.largest);
    int const other = 1 - c.side();
    reach const mapped{mine(c.side(), 0), mine(c.side(), 1), mine(other, 0), mine(other, 1)};
    auto const peer = meet_cma_peer(c, limit_from.data(), limit_into.data());
    pair_limits limits{slot_rate{*reinterpret_cast<slot_ring*>(shared)},
                       relay_rate{*reinterpret_cast<piece_ring*>(shared + sizeof(slot_ring))},
                       {c, by_mapping{}, mapped},
                       peer.allowed,
                       {c, by_cma{peer.pid}, peer.buffers},
                       limit_from.data()};
    pair_of_ranks us{env.world(), c};
    settle(c);
    small_rows(us, limits, s, out);
    if constexpr (std::is_same_v<Env, mpt::environment<mpt::standard_stack>>) c_rows(us, s, out);
    rows_of(us, limits, {"private memory", false, 1, own_from.data(), own_into.data()}, s, out);
    rows_of(us, limits, {"memory from the arena", true, 4096, arena.data(), arena.data() + s.largest}, s, out);
    env.deallocate(arena);
}

/// Two ranks on one CPU.
template <class Env> void shared_cpu_rows(Env& env, crew& c, settings const& s, report& out) {
    pair_of_ranks us{env.world(), c};
    auto [ours, bound] = interleave(c, s.uncalibrated(), us.whole([&] { return us.ping_pong_value(50) / 1e3; }),
                                    [&] { return yield_switch(c); });
    out.add({"8 bytes through mpt as a value, both ranks on one CPU, half round trip", "", 8, "us", ours, "yield", bound});
}

/// From a rank's call of the first barrier to its return from the last, on average: us. So does allreduce of 8 bytes.
template <class Env> void collective_rows(Env& env, crew& c, bool one_cpu, settings const& s, report& out) {
    auto const world = env.world();
    auto const each = [&](auto call) {
        int const calls = 20;
        double const begin = now_ns();
        for (int i = 0; i < calls; ++i) call();
        return (now_ns() - begin) / calls / 1e3;
    };
    auto const sum = static_cast<std::int64_t>(c.sides());
    auto [barrier, allreduce, bare] = interleave(
        c, one_cpu ? s.uncalibrated() : s.rounds(), [&] { return each([&] { world.barrier(); }); },
        [&] {
            return each([&] {
                if (world.allreduce(std::int64_t{1}) != sum) throw std::runtime_error{"allreduce: wrong sum"};
            });
        },
        [&] { return bare_barrier(c); });
    auto const where = fmt::format("{} ranks on {}", c.sides(), one_cpu ? "1 CPU" : "2 CPUs");
    out.add({together, "barrier, " + where, 0, "us", barrier, "bare barrier", bare});
    out.add({together, "allreduce of 8 bytes, " + where, 8, "us", allreduce, "bare barrier", bare});
}

template <class Stack> int measure_all(settings const& s) {
    mpt::environment<Stack> env;
    auto const world = env.world();
    int const side = world.rank(), sides = world.size();
    if (sides < 2) throw std::runtime_error{"start it with mptrun -n 2 (or more)"};
    auto const cores = allowed_cores();
    bool const one_cpu = cores.size() < 2;
    pin_to(cores[one_cpu ? 0 : static_cast<std::size_t>(side) % 2]);
    alarm(bench::detail::patience_seconds);

    bool const pair = sides == 2 && !one_cpu;
    joined_memory const memory{side, pair ? sizeof(slot_ring) + sizeof(piece_ring) + 4 * s.largest : 0,
                               [&](auto& words) { world.broadcast(words, 0); }, [&] { world.barrier(); }};
    crew c{memory.block(), side, sides, one_cpu || sides > 2};
    report out{fmt::format("figures {}", s.stack)};
    if (pair) pair_rows(env, c, memory.extra(), s, out);
    if (sides == 2 && one_cpu) shared_cpu_rows(env, c, s, out);
    if (!pair && !one_cpu) settle(c);
    collective_rows(env, c, one_cpu, s, out);
    if (side == 0) out.print();
    if (side == 0 && !s.json.empty()) out.write_json(s.json);
    return 0;
}

int with_stack(settings const& s) {
    if (s.stack == "standard") return measure_all<mpt::standard_stack>(s);
    if (s.stack == "unlocked") return measure_all<mpt::stack<mpt::lock::none>>(s);
    if (s.stack == "stream") return measure_all<mpt::stream_stack>(s);
    throw std::runtime_error{"no such stack: " + s.stack + " (standard, unlocked, stream)"};
}

} // namespace

int main(int argc, char** argv) {
    try {
        return with_stack(
            settings::parse("figures", "mpt's own figures beside the limits of this machine; run it under mptrun", argc, argv));
    } catch (std::exception const& e) {
        fmt::print(stderr, "figures: {}\n", e.what());
        return 1;
    }
}
