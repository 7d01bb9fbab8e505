// Random programs against MPI's ordering rules: every rank sends a random set of messages over several communicators (so over
// several lanes) and receives them with exact and wildcard receives; each message carries its number, and what a receive gets
// must be the next one that MPI allows. A failing seed is printed; MPT_SEED=n runs that one alone, MPT_PROGRAMS=n sets how many.
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <mpt/mpt.hpp>

#include "support/dice.hpp"
#include "support/matching_oracle.hpp"
#include "support/sanitized.hpp"

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

/// As many as that, or, unless they are asked for, a tenth of it and those that ten seconds hold: machines differ.
template <class Stack> void programs(unsigned lanes, unsigned how_many) {
    if (mpt::test::sanitized) how_many /= 4; // the shadow of a job's memory takes longer than its messages
    auto const first = number("MPT_SEED", static_cast<unsigned>(std::random_device{}()));
    auto const count = std::getenv("MPT_SEED") ? 1 : number("MPT_PROGRAMS", how_many);
    std::printf("seeds from %u\n", first);
    bool const may_stop = !std::getenv("MPT_SEED") && !std::getenv("MPT_PROGRAMS");
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    auto values = mpt::config::values{}.set<"MPT_LANES">(std::to_string(lanes));
    unsigned i = 0;
    for (; i < count && !testing::Test::HasFailure(); ++i) {
        if (may_stop && i >= how_many / 10 && std::chrono::steady_clock::now() > end) break;
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << first + i);
        program const p{first + i};
        values.set<"MPT_PIPELINE_MAX">((first + i) % 2 == 0 ? "0" : "1G"); // large messages are read, or pushed
        values.set<"MPT_CACHED_MAX">((first + i) % 3 == 0 ? "0" : "4M");   // and written around the caches, or into them
        mpt::local_job<Stack>(p.ranks, values, [&](auto world) { run(world, p); });
        if (testing::Test::HasFailure()) ADD_FAILURE() << "replay with MPT_SEED=" << first + i;
    }
    std::printf("%u programs\n", i);
}

TEST(mpi_random, programs_over_shared_memory_on_one_lane) { programs<mpt::local_stack>(1, 1000); }
TEST(mpi_random, programs_over_shared_memory_on_three_lanes) { programs<mpt::local_stack>(3, 1000); }
TEST(mpi_random, programs_over_byte_streams_on_one_lane) { programs<mpt::local_stream_stack>(1, 500); }
TEST(mpi_random, programs_over_byte_streams_on_three_lanes) { programs<mpt::local_stream_stack>(3, 500); }

/// A program so small that every order of its meetings can be tried: rank 0 receives, the others send. It is what the oracle
/// (support/matching_oracle.hpp) is held to.
class small_program {
    using event = mpt::test::event;
    static constexpr int open = -2, cancelled = -1; // what a receive meets

    struct state {
        std::vector<std::size_t> at; // of each rank: its next line
        std::vector<int> met;        // receive -> message
        std::vector<int> told;       // receive -> the message that a probe told of
        auto operator<=>(state const&) const = default;
    };
    mpt::test::history lines_; // a receive that ends: got; may it be cancelled there, cancelled
    std::vector<event> messages_;
    std::vector<int> from_;
    int receives_ = 0;

    bool is_sent(state const& s, int m) const {
        auto const from = static_cast<std::size_t>(from_[static_cast<std::size_t>(m)]);
        for (std::size_t i = 0; i < s.at[from]; ++i)
            if (lines_[from][i].what == event::sent && lines_[from][i].number == m) return true;
        return false;
    }
    static bool is_free(state const& s, int m) { return std::ranges::count(s.met, m) == 0; }
    /// As posted after a probe: with the envelope that it told of.
    event posted(int r, int message) const {
        event e;
        for (auto const& l : lines_[0])
            if (l.what == event::posted && l.number == r) e = l;
        for (auto const& l : lines_[0])
            if (l.what == event::looked && l.number == r && message >= 0)
                e.peer = from_[static_cast<std::size_t>(message)], e.tag = messages_[static_cast<std::size_t>(message)].tag;
        return e;
    }
    bool takes(event const& e, int m) const {
        auto const i = static_cast<std::size_t>(m);
        return e.comm == messages_[i].comm && (e.peer == -1 || e.peer == from_[i]) &&
               (e.tag == -1 || e.tag == messages_[i].tag);
    }
    bool is_pending(state const& s, int r) const {
        for (std::size_t i = 0; i < s.at[0]; ++i)
            if (lines_[0][i].what == event::posted && lines_[0][i].number == r)
                return s.met[static_cast<std::size_t>(r)] == open;
        return false;
    }
    /// May what is posted as `e` before receive `end` meet m now?
    bool may_meet(state const& s, event const& e, int end, int m) const {
        if (!takes(e, m) || !is_sent(s, m) || !is_free(s, m)) return false;
        for (int other = 0; other < m; ++other) // each rank's are numbered in its order
            if (from_[static_cast<std::size_t>(other)] == from_[static_cast<std::size_t>(m)] && takes(e, other) &&
                is_free(s, other))
                return false;
        for (int r = 0; r < end; ++r)
            if (is_pending(s, r) && takes(posted(r, s.told[static_cast<std::size_t>(r)]), m)) return false;
        return true;
    }
    /// The states that a rank's next line leads to.
    void go_on(state const& s, std::size_t rank, std::vector<state>& next) const {
        if (s.at[rank] == lines_[rank].size()) return;
        auto const& l = lines_[rank][s.at[rank]];
        auto after = s;
        ++after.at[rank];
        auto const r = static_cast<std::size_t>(l.number);
        if (l.what == event::certain && is_free(s, l.number)) return;
        if (l.what == event::got && s.met[r] == open) return;
        if (l.what == event::cancelled && s.met[r] == open) after.met[r] = cancelled;
        if (l.what != event::looked) return next.push_back(after);
        for (int m = 0; m < static_cast<int>(messages_.size()); ++m)
            if (may_meet(s, l, l.number, m)) after.told[r] = m, next.push_back(after);
    }

public:
    explicit small_program(unsigned seed) : lines_(3) {
        mpt::test::dice d{seed};
        for (int rank : {1, 2})
            for (auto n = d.below(3) + (rank == 1); n > 0; --n) {
                event e;
                e.what = event::sent, e.number = static_cast<int>(messages_.size());
                e.comm = d.below(8) == 0, e.tag = static_cast<int>(d.below(2)), e.bytes = 4, e.mark = e.number;
                messages_.push_back(e), from_.push_back(rank);
                lines_[static_cast<std::size_t>(rank)].push_back(e);
                if (d.coin()) continue;
                e.what = event::certain;
                lines_[static_cast<std::size_t>(rank)].push_back(e);
            }
        std::vector<event> open_ones;
        auto const end_one = [&](std::size_t i, bool must) {
            auto e = open_ones[i];
            e.what = must || d.below(4) == 0 ? event::got : event::cancelled;
            lines_[0].push_back(e);
            open_ones.erase(open_ones.begin() + static_cast<long>(i));
        };
        for (; receives_ < 4; ++receives_) {
            event e;
            e.number = receives_, e.comm = d.below(8) == 0;
            e.peer = d.one_of({-1, -1, 1, 2}), e.tag = d.one_of({-1, -1, 0, 1}), e.what = event::posted;
            bool const looks = d.below(5) == 0;
            if (looks) e.what = event::looked, lines_[0].push_back(e), e.what = event::posted;
            lines_[0].push_back(e), open_ones.push_back(e);
            if (looks) end_one(open_ones.size() - 1, true);
            else if (d.below(3) == 0) end_one(d.below(static_cast<unsigned>(open_ones.size())), false);
        }
        while (!open_ones.empty()) end_one(open_ones.size() - 1, false);
    }

    using outcome = std::vector<int>;
    /// Every way in which all messages can be received.
    std::set<outcome> all() const {
        std::set<outcome> found;
        std::set<state> seen;
        std::vector<state> next{{std::vector<std::size_t>(3), outcome(4, open), outcome(4, open)}};
        while (!next.empty()) {
            auto const s = next.back();
            next.pop_back();
            if (!seen.insert(s).second) continue;
            for (std::size_t rank = 0; rank < 3; ++rank) go_on(s, rank, next);
            for (int r = 0; r < receives_; ++r)
                for (int m = 0; is_pending(s, r) && m < static_cast<int>(messages_.size()); ++m)
                    if (may_meet(s, posted(r, s.told[static_cast<std::size_t>(r)]), r, m)) {
                        next.push_back(s);
                        next.back().met[static_cast<std::size_t>(r)] = m;
                    }
            bool ended = s.at == std::vector<std::size_t>{lines_[0].size(), lines_[1].size(), lines_[2].size()};
            for (int m = 0; m < static_cast<int>(messages_.size()); ++m) ended = ended && !is_free(s, m);
            if (ended) found.insert(s.met);
        }
        return found;
    }
    std::size_t messages() const { return messages_.size(); }
    /// What the ranks would write down.
    mpt::test::history record(outcome const& met) const {
        auto all = lines_;
        auto& mine = all[0];
        for (std::size_t i = 0; i < mine.size(); ++i) {
            auto& e = mine[i];
            auto const m = met[static_cast<std::size_t>(e.number)];
            if (e.what == event::posted) e = posted(e.number, m);
            if (m < 0 && e.what == event::got) e.what = event::held; // has not ended
            if (m < 0) continue;
            if (e.what == event::got || e.what == event::cancelled || e.what == event::looked)
                e.from = from_[static_cast<std::size_t>(m)], e.told_tag = messages_[static_cast<std::size_t>(m)].tag,
                e.bytes = 4;
            if (e.what != event::got && e.what != event::cancelled) continue;
            e.what = event::got, e.mark = m;
            auto held = e;
            held.what = event::held;
            mine.insert(mine.begin() + static_cast<long>(++i), held);
        }
        return all;
    }
};

/// All ways to give each of 4 receives a message, or none.
std::vector<small_program::outcome> assignments(int messages) {
    std::vector<small_program::outcome> all{{}};
    for (int r = 0; r < 4; ++r) {
        std::vector<small_program::outcome> longer;
        for (auto const& some : all)
            for (int m = -1; m < messages; ++m) {
                if (m >= 0 && std::ranges::count(some, m) != 0) continue;
                longer.push_back(some);
                longer.back().push_back(m);
            }
        all = std::move(longer);
    }
    return all;
}

TEST(mpi_random, the_oracle_allows_what_some_order_of_meetings_gives_and_nothing_else) {
    mpt::test::seeds const seeds{mpt::test::sanitized ? 250u : 2000u};
    std::size_t allowed = 0, refused = 0;
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !HasFailure(); ++seed) {
        small_program const p{seed};
        auto const wanted = p.all();
        for (auto const& met : assignments(static_cast<int>(p.messages()))) {
            auto const record = p.record(met);
            mpt::test::matching_oracle const oracle{record};
            EXPECT_EQ(oracle.fault().empty(), wanted.contains(met))
                << testing::PrintToString(met) << ' ' << oracle.fault() << "; replay with MPT_SEED=" << seed;
            ++(oracle.fault().empty() ? allowed : refused);
        }
    }
    std::printf("%zu outcomes are allowed, %zu are not\n", allowed, refused);
    EXPECT_TRUE(std::getenv("MPT_SEED") || (allowed > 0 && refused > 0));
}

} // namespace
