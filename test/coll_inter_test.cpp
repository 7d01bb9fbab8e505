#include <atomic>
#include <deque>

#include "support/matrices.hpp"
#include "support/scattered.hpp"
#include "support/steps.hpp"
#include "support/two_sides.hpp"
#include <mpt/coll/inter.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;
using coll::between;
using mpt::group;

template <class Stack> using coll_inter = over<Stack>;
TYPED_TEST_SUITE(coll_inter, wires);

/// What one rank has to do with the two sides in a step, blocking or as a schedule.
template <class Stack> struct stage {
    sides_of_job const& sides;
    int side;
    group mine, others;
    std::uint32_t calls = 0;
    coll::team<Stack> team;
    dice &common, &own;

    stage(mpt::channel<Stack> const& wire, mpt::rank world, sides_of_job const& s, dice& c, dice& o)
        : sides{s}, side{s.side(world)}, mine{group::of(s.of[side])}, others{group::of(s.of[1 - side])},
          team{wire, mine, *mine.find(world), calls}, common{c}, own{o} {}
    stage(stage const&) = delete;

    template <class F> void either(F const& f) const {
        either_way(team, common, [&](auto const& t) { f(between{t, others}); });
    }
    int me() const { return mine.world(team.me()).value; }
    int other(std::int32_t r) const { return others.world(r).value; }
    std::size_t count(int which) const { return sides.of[which].size(); }
};

/// A root, drawn for all: its rank in the job, and as the rank of a stage names it.
struct root {
    int world;
    std::int32_t named;
    template <class Stage> explicit root(Stage const& s) {
        auto const on = static_cast<int>(s.common.below(2));
        auto const r = s.common.below(static_cast<unsigned>(s.count(on)));
        world = s.sides.of[on][r];
        named = on != s.side ? static_cast<std::int32_t>(r) : world == s.me() ? coll::root_here : coll::root_beside;
    }
    bool is_here() const { return named == coll::root_here; }
    bool is_there() const { return named >= 0; }
};

/// A size for each pair of ranks of the job, the same on all ranks.
class sizes {
    unsigned seed_, most_;

public:
    explicit sizes(dice& common) : seed_{common.seed()}, most_{common.one_of<unsigned>({0, 1, 40, 3000, 20000})} {}
    std::size_t of(int from, int to) const {
        dice d{seed_ + 101u * static_cast<unsigned>(from) + static_cast<unsigned>(to)};
        return d.below(3) == 0 ? 0 : d.below(most_ + 1);
    }
    unsigned seed() const { return seed_; }
};

template <class Stack> void broadcast(stage<Stack> const& s) {
    root const r{s};
    auto const n = s.common.template one_of<std::size_t>({0, 1, 5, 4000, 524287, 524289});
    auto const seed = s.common.seed();
    scattered data{n, s.own};
    auto const expected = values_of(seed, r.world, 0, n);
    if (r.is_here()) data.fill(expected);
    auto const before = data.packed();
    s.either([&](auto const& b) { coll::broadcast(b, data.both(), r.named); });
    EXPECT_TRUE(data.packed() == (r.named == coll::root_beside ? before : expected)) << n << " bytes from " << r.world;
    EXPECT_TRUE(data.whole());
}

/// Pieces of a rank for those of the other side, or from them.
struct pieces {
    std::deque<scattered> of;
    template <class Size> pieces(std::int32_t n, dice& own, Size const& size) {
        for (std::int32_t r = 0; r < n; ++r) of.emplace_back(size(r), own);
    }
    scattered& at(std::int32_t r) { return of[static_cast<std::size_t>(r)]; }
    auto places() {
        return [this](std::int32_t r) { return at(r).both(); };
    }
    template <class From> void expect(unsigned seed, From const& from, int to) {
        for (std::int32_t r = 0; r < static_cast<std::int32_t>(of.size()); ++r) {
            EXPECT_TRUE(at(r).packed() == values_of(seed, from(r), to, at(r).size())) << "from " << from(r) << " to " << to;
            EXPECT_TRUE(at(r).whole());
        }
    }
};

template <class Stack> void gather(stage<Stack> const& s) {
    root const r{s};
    sizes const n{s.common};
    scattered mine{r.is_there() ? n.of(s.me(), r.world) : 0, s.own};
    mine.fill(values_of(n.seed(), s.me(), r.world, mine.size()));
    pieces all{r.is_here() ? s.others.size() : 0, s.own, [&](std::int32_t from) { return n.of(s.other(from), r.world); }};
    s.either([&](auto const& b) { coll::gatherv(b, mine.out(), all.places(), r.named); });
    all.expect(
        n.seed(), [&](std::int32_t from) { return s.other(from); }, r.world);
}

template <class Stack> void scatter(stage<Stack> const& s) {
    root const r{s};
    sizes const n{s.common};
    scattered mine{r.is_there() ? n.of(r.world, s.me()) : 0, s.own};
    pieces all{r.is_here() ? s.others.size() : 0, s.own, [&](std::int32_t to) { return n.of(r.world, s.other(to)); }};
    for (std::int32_t to = 0; r.is_here() && to < s.others.size(); ++to)
        all.at(to).fill(values_of(n.seed(), r.world, s.other(to), all.at(to).size()));
    s.either([&](auto const& b) { coll::scatterv(b, all.places(), mine.in(), r.named); });
    EXPECT_TRUE(mine.packed() == values_of(n.seed(), r.world, s.me(), mine.size()));
    EXPECT_TRUE(mine.whole());
}

template <class Stack> void allgather(stage<Stack> const& s) {
    sizes const n{s.common};
    scattered mine{n.of(s.me(), 0), s.own};
    mine.fill(values_of(n.seed(), s.me(), 0, mine.size()));
    pieces all{s.others.size(), s.own, [&](std::int32_t from) { return n.of(s.other(from), 0); }};
    s.either([&](auto const& b) { coll::allgather(b, mine.out(), all.places()); });
    all.expect(
        n.seed(), [&](std::int32_t from) { return s.other(from); }, 0);
}

template <class Stack> void alltoall(stage<Stack> const& s) {
    sizes const n{s.common};
    pieces mine{s.others.size(), s.own, [&](std::int32_t to) { return n.of(s.me(), s.other(to)); }};
    for (std::int32_t to = 0; to < s.others.size(); ++to)
        mine.at(to).fill(values_of(n.seed(), s.me(), s.other(to), mine.at(to).size()));
    pieces all{s.others.size(), s.own, [&](std::int32_t from) { return n.of(s.other(from), s.me()); }};
    s.either([&](auto const& b) { coll::alltoallv(b, mine.places(), all.places()); });
    all.expect(
        n.seed(), [&](std::int32_t from) { return s.other(from); }, s.me());
}

/// What a step of a reduction is about: the same on all ranks.
struct sum_of {
    unsigned seed;
    bool commutes;
    explicit sum_of(dice& common) : seed{common.seed()}, commutes{common.coin()} {}
    /// Rank r of a side brings these.
    unsigned of(int side) const { return seed + 1'000'003u * static_cast<unsigned>(side); }
    /// Element i of what the ranks of a side bring.
    template <class Stage> matrix expected(Stage const& s, int side, std::size_t i) const {
        return combined(commutes, of(side), 0, static_cast<int>(s.count(side)) - 1, i);
    }
    template <class Stage> void expect(Stage const& s, matrices& got, std::size_t first, std::size_t n) const {
        for (std::size_t i = 0; i < n; ++i)
            if (got.get(i) != expected(s, 1 - s.side, first + i)) {
                ADD_FAILURE() << "element " << i << " of " << n << ", of all " << first + i << (commutes ? ", commutes" : "");
                break;
            }
    }
};
inline std::size_t some_elements(dice& common) { return common.one_of<std::size_t>({0, 1, 3, 100, 1100, 32769}); }

template <class Stack> void reduce(stage<Stack> const& s) {
    root const r{s};
    sum_of const sum{s.common};
    auto const n = some_elements(s.common);
    matrices got{n, s.own}, mine = got; // of the same type
    mine.bring(sum.of(s.side), s.team.me());
    s.either([&](auto const& b) {
        coll::reduce(b, mine.either(sum.commutes), r.is_there() ? mine.origin() : nullptr, r.is_here() ? got.origin() : nullptr,
                     n, r.named);
    });
    if (r.is_here()) sum.expect(s, got, 0, n);
}

template <class Stack> void allreduce(stage<Stack> const& s) {
    sum_of const sum{s.common};
    auto const n = some_elements(s.common);
    matrices got{n, s.own}, mine = got;
    mine.bring(sum.of(s.side), s.team.me());
    s.either([&](auto const& b) { coll::allreduce(b, mine.either(sum.commutes), mine.origin(), got.origin(), n); });
    sum.expect(s, got, 0, n);
}

/// n elements, cut anywhere into parts.
std::vector<std::size_t> cut(std::size_t n, std::size_t parts, dice& common) {
    std::vector<std::size_t> counts(parts);
    for (std::size_t i = 0; i + 1 < parts; ++i) n -= counts[i] = common.below(static_cast<unsigned>(n + 1));
    counts.back() = n;
    return counts;
}

template <class Stack> void reduce_scatter(stage<Stack> const& s) {
    sum_of const sum{s.common};
    auto const even = s.common.coin();
    auto const n =
        (s.common.coin() ? 12u : 1200u) * static_cast<std::size_t>(s.common.below(4)); // 12: divides by both sides' ranks
    std::vector<std::size_t> counts[2];
    for (int i : {0, 1}) counts[i] = even ? std::vector<std::size_t>(s.count(i), n / s.count(i)) : cut(n, s.count(i), s.common);
    auto const count = [&](std::int32_t r) { return counts[s.side][static_cast<std::size_t>(r)]; };
    matrices part{n, s.own}, mine = part;
    mine.bring(sum.of(s.side), s.team.me());
    s.either([&](auto const& b) {
        auto const op = mine.either(sum.commutes);
        if (even) coll::reduce_scatter_block(b, op, mine.origin(), part.origin(), count(0));
        else coll::reduce_scatter(b, op, mine.origin(), part.origin(), count);
    });
    std::size_t first = 0;
    for (std::int32_t r = 0; r < s.team.me(); ++r) first += count(r);
    sum.expect(s, part, first, count(s.team.me()));
}

TYPED_TEST(coll_inter, what_one_side_brings_the_other_gets) {
    random_sides<TestFixture>(24, [](auto const& wire, mpt::rank me, sides_of_job const& sides, dice& common, dice& own) {
        stage<TypeParam> const s{wire, me, sides, common, own};
        for (int step = 0; step < 16; ++step) switch (common.below(9)) {
            case 0: broadcast(s); break;
            case 1: gather(s); break;
            case 2: scatter(s); break;
            case 3: allgather(s); break;
            case 4: alltoall(s); break;
            case 5: reduce(s); break;
            case 6: allreduce(s); break;
            case 7: reduce_scatter(s); break;
            default: s.either([](auto const& b) { coll::barrier(b); }); break;
            }
    });
}

TYPED_TEST(coll_inter, nobody_leaves_a_barrier_before_everybody_came) {
    std::atomic<int> came{0};
    random_sides<TestFixture>(6, [&](auto const& wire, mpt::rank me, sides_of_job const& sides, dice& common, dice& own) {
        stage<TypeParam> const s{wire, me, sides, common, own};
        auto const all = static_cast<int>(s.count(0) + s.count(1));
        s.either([](auto const& b) { coll::barrier(b); }); // the job before has read the number
        if (s.side == 0 && s.team.me() == 0) came.store(0);
        s.either([](auto const& b) { coll::barrier(b); });
        for (int round = 1; round <= 20; ++round) {
            came.fetch_add(1);
            s.either([](auto const& b) { coll::barrier(b); });
            EXPECT_GE(came.load(), round * all);
        }
    });
}

TYPED_TEST(coll_inter, other_sizes_on_the_other_side_are_a_sentence) {
    auto const of_two = [](auto const& act) {
        try {
            TestFixture::job(2, [&](auto world) {
                auto const& s = world.native();
                auto const mine = group::of({s.me}), others = group::of({1 - s.me});
                act(between{coll::team{s.wire, mine, 0, s.rooted_calls}, others}, s.me.value);
            });
        } catch (mpt::error const& e) {
            EXPECT_EQ(e.code(), mpt::errc::truncate);
            return std::string{e.what()};
        }
        return std::string{"nothing was thrown"};
    };
    auto const broadcast = of_two([](auto const& b, int me) {
        std::vector<int> v(me == 0 ? 3 : 4);
        coll::broadcast(b, writable(v), me == 0 ? coll::root_here : 0);
    });
    EXPECT_NE(broadcast.find("different sizes: 12 bytes came where 16 were expected, from rank 0"), std::string::npos)
        << broadcast;
    auto const allgather = of_two([](auto const& b, int me) {
        std::vector<int> v(3), all(me == 0 ? 3 : 4);
        coll::allgather(b, mpt::source{readable(v)}, coll::blocks{writable(all), all.size() * sizeof(int)});
    });
    EXPECT_NE(allgather.find("different sizes: 12 bytes came where 16 were expected"), std::string::npos) << allgather;
}
} // namespace
