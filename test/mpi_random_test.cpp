// Random programs against MPI's ordering rules: every rank sends a random set of messages over several communicators (so over
// several lanes) and receives them with exact and wildcard receives; each message carries its number, and what a receive gets
// must be the next one that MPI allows. A failing seed is printed; MPT_SEED=n runs that one alone, MPT_PROGRAMS=n sets how many.
#include <cstdlib>
#include <deque>
#include <map>
#include <random>

#include <gtest/gtest.h>
#include <mpt/mpt.hpp>

namespace {

/// How a rank receives on one communicator, so that no wildcard can take what an exact receive waits for.
enum class manner { anything, by_tag, by_source };

struct message_plan {
    int from, to, comm, tag;
    std::size_t ints;
    bool synchronous, apart; // apart: not in one piece where it is sent
};
struct program {
    int ranks, comms;
    std::vector<message_plan> sends;               // in the order each rank sends its own
    std::map<std::pair<int, int>, manner> manners; // (rank, comm)
    std::vector<bool> open;                        // by_tag: tag is received from any source; by_source: source with any tag

    explicit program(unsigned seed) {
        std::mt19937 rng{seed};
        auto const pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
        ranks = 1 + pick(4);
        comms = 1 + pick(3);
        std::size_t const sizes[]{0, 1, 4, 9, 10, 11, 300, 2045, 2048, 2060, 5000, 30000};
        int const n = 5 + pick(60);
        for (int i = 0; i < n; ++i)
            sends.push_back({pick(ranks), pick(ranks), pick(comms), pick(3), sizes[pick(12)], pick(8) == 0, pick(3) == 0});
        for (int r = 0; r < ranks; ++r)
            for (int c = 0; c < comms; ++c) manners[{r, c}] = static_cast<manner>(pick(3));
        for (int i = 0; i < 64; ++i) open.push_back(pick(2) == 0);
    }
    std::vector<message_plan> to(int rank) const {
        std::vector<message_plan> mine;
        for (auto const& m : sends)
            if (m.to == rank) mine.push_back(m);
        return mine;
    }
    mpt::rank source_wanted(int me, message_plan const& m) const {
        auto const how = manners.at({me, m.comm});
        if (how == manner::anything || (how == manner::by_tag && open[static_cast<std::size_t>(me * 4 + m.tag)]))
            return mpt::any_source;
        return mpt::rank{m.from};
    }
    mpt::tag tag_wanted(int me, message_plan const& m) const {
        auto const how = manners.at({me, m.comm});
        if (how == manner::anything || (how == manner::by_source && open[static_cast<std::size_t>(32 + me * 4 + m.from)]))
            return mpt::any_tag;
        return mpt::tag{m.tag};
    }
};

std::vector<int> body(program const& p, std::size_t i) {
    std::vector<int> v(p.sends[i].ints + 1, static_cast<int>(i)); // every element tells which message it is
    return v;
}

/// Numbers in runs of 256, with gaps behind them.
struct in_runs {
    static constexpr std::size_t length = 256, distance = 300;

    std::size_t size;
    std::vector<int> memory = std::vector<int>(size / length * distance + length, -2);

    explicit in_runs(std::size_t n) : size{n} {}
    explicit in_runs(std::vector<int> const& numbers) : in_runs{numbers.size()} {
        for (std::size_t i = 0; i < size; ++i) memory[place(i)] = numbers[i];
    }
    static std::size_t place(std::size_t i) { return i / length * distance + i % length; }
    std::vector<int> numbers() const {
        std::vector<int> v(size);
        for (std::size_t i = 0; i < size; ++i) v[i] = memory[place(i)];
        return v;
    }
    mpt::datatype type() const {
        std::vector<std::int64_t> lengths, places;
        for (std::size_t i = 0; i < size; i += length) {
            lengths.push_back(static_cast<std::int64_t>(std::min(length, size - i)));
            places.push_back(static_cast<std::int64_t>(place(i)));
        }
        return mpt::datatype::indexed(lengths, places, mpt::datatype::named(mpt::element_kind::c_int));
    }
};

template <class World> void run(World world, program const& p) {
    int const me = world.rank();
    std::vector<mpt::communicator<typename World::stack_type>> comms;
    for (int c = 0; c < p.comms; ++c) comms.push_back(world.dup());
    using request = typename World::request;
    std::vector<std::vector<int>> out;
    std::vector<request> sends;
    std::vector<std::size_t> mine;
    for (std::size_t i = 0; i < p.sends.size(); ++i)
        if (p.sends[i].from == me) mine.push_back(i), out.push_back(body(p, i));
    auto const incoming = p.to(me);
    std::vector<std::vector<int>> in(incoming.size(), std::vector<int>(30002, -1));
    std::deque<in_runs> apart;
    std::map<std::size_t, in_runs const*> in_apart;
    std::deque<mpt::typed_source> sources;
    std::deque<mpt::typed_sink> sinks;
    std::vector<request> recvs;
    auto const post = [&](std::size_t k) {
        auto const& m = incoming[k];
        auto& c = comms[static_cast<std::size_t>(m.comm)];
        if (p.open[k % p.open.size()]) return recvs.push_back(c.irecv(in[k], p.source_wanted(me, m), p.tag_wanted(me, m)));
        auto& room = apart.emplace_back(in[k]);
        in_apart[k] = &room;
        auto& sink = sinks.emplace_back(room.memory.data(), 1, room.type());
        recvs.push_back(c.irecv(sink, p.source_wanted(me, m), p.tag_wanted(me, m)));
    };
    auto const start = [&](auto& c, message_plan const& m, auto const& data) {
        sends.push_back(m.synchronous ? c.issend(data, m.to, m.tag) : c.isend(data, m.to, m.tag));
    };
    std::size_t const before = incoming.size() / 2; // some receives are posted before, some after the messages come
    for (std::size_t k = 0; k < before; ++k) post(k);
    for (std::size_t j = 0; j < mine.size(); ++j) {
        auto const& m = p.sends[mine[j]];
        auto& c = comms[static_cast<std::size_t>(m.comm)];
        if (!m.apart) {
            start(c, m, out[j]);
            continue;
        }
        auto const& data = apart.emplace_back(out[j]);
        start(c, m, sources.emplace_back(data.memory.data(), 1, data.type()));
    }
    for (std::size_t k = before; k < incoming.size(); ++k) post(k);

    // Per (comm, source, kind of receive) the numbers of messages must grow: MPI-4.1 section 3.5.
    std::map<std::array<int, 4>, int> last;
    std::vector<int> times(p.sends.size(), 0);
    for (std::size_t k = 0; k < recvs.size(); ++k) {
        auto const info = recvs[k].wait();
        if (in_apart.contains(k)) in[k] = in_apart[k]->numbers();
        auto const i = in[k][0];
        ASSERT_TRUE(i >= 0 && static_cast<std::size_t>(i) < p.sends.size());
        auto const& got = p.sends[static_cast<std::size_t>(i)];
        ++times[static_cast<std::size_t>(i)];
        EXPECT_EQ(got.to, me);
        EXPECT_EQ(got.comm, incoming[k].comm);
        EXPECT_EQ(info.source, got.from);
        EXPECT_EQ(info.tag, got.tag);
        EXPECT_EQ(info.bytes, (got.ints + 1) * sizeof(int));
        EXPECT_EQ(in[k][got.ints], i);
        EXPECT_EQ(in[k].at(got.ints + 1), -1);
        auto const wanted_tag = p.tag_wanted(me, incoming[k]);
        auto& before_this =
            last.try_emplace({incoming[k].comm, got.from, wanted_tag.value, p.source_wanted(me, incoming[k]).value}, -1)
                .first->second;
        EXPECT_GT(i, before_this) << "overtaken";
        before_this = i;
    }
    for (std::size_t i = 0; i < p.sends.size(); ++i) EXPECT_EQ(times[i], p.sends[i].to == me ? 1 : 0) << "message " << i;
    mpt::wait_all(sends);
}

unsigned number(char const* name, unsigned otherwise) {
    auto const* s = std::getenv(name);
    return s ? static_cast<unsigned>(std::strtoul(s, nullptr, 10)) : otherwise;
}

template <class Stack> void programs(unsigned lanes, unsigned how_many) {
    auto const first = number("MPT_SEED", static_cast<unsigned>(std::random_device{}()));
    auto const count = std::getenv("MPT_SEED") ? 1 : number("MPT_PROGRAMS", how_many);
    std::printf("seeds %u to %u\n", first, first + count - 1);
    auto values = mpt::config::values{}.set<"MPT_LANES">(std::to_string(lanes));
    for (unsigned i = 0; i < count && !testing::Test::HasFailure(); ++i) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << first + i);
        program const p{first + i};
        values.set<"MPT_PIPELINE_MAX">((first + i) % 2 == 0 ? "0" : "1G"); // large messages are read, or pushed
        mpt::local_job<Stack>(p.ranks, values, [&](auto world) { run(world, p); });
        if (testing::Test::HasFailure()) ADD_FAILURE() << "replay with MPT_SEED=" << first + i;
    }
}

TEST(mpi_random, programs_over_shared_memory_on_one_lane) { programs<mpt::local_stack>(1, 1000); }
TEST(mpi_random, programs_over_shared_memory_on_three_lanes) { programs<mpt::local_stack>(3, 1000); }
TEST(mpi_random, programs_over_byte_streams_on_one_lane) { programs<mpt::local_stream_stack>(1, 500); }
TEST(mpi_random, programs_over_byte_streams_on_three_lanes) { programs<mpt::local_stream_stack>(3, 500); }

} // namespace
