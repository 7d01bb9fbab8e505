// Chapter 6 of the C interface between the sides of an intercommunicator, in all forms, against a serial oracle.
#include "../support/dice.hpp"
#include "two_sides.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::joined;
using mpt::c::test::ranks;
using mpt::c::test::two_sides;
using mpt::test::dice;

using list = std::vector<int>;

list piece(unsigned seed, int from, int to, int n) {
    list v(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k)
        v[static_cast<std::size_t>(k)] =
            static_cast<int>((seed + 31u * static_cast<unsigned>(from) + 1009u * static_cast<unsigned>(to)) * 2654435761u) + k;
    return v;
}

/// An array that either form of a function takes.
struct both {
    list small;
    std::vector<MPI_Count> wide;
    void add(int n) { small.push_back(n), wide.push_back(n); }
    operator int const*() const { return small.data(); }
    operator MPI_Count const*() const { return wide.data(); }
};

/// Pairs of ints as maps x -> a x + b, one after the other: associative, and does not commute.
void after(void* in, void* inout, int* n, MPI_Datatype*) {
    auto const* const l = static_cast<unsigned*>(in);
    auto* const r = static_cast<unsigned*>(inout);
    for (int i = 0; i < 2 * *n; i += 2) {
        r[i + 1] += l[i + 1] * r[i];
        r[i] *= l[i];
    }
}

/// What all ranks of a job use.
struct tools {
    MPI_Datatype gapped = MPI_DATATYPE_NULL, pair = MPI_DATATYPE_NULL;
    MPI_Op map = MPI_OP_NULL;
    tools() {
        MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gapped);
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&gapped), MPI_Type_commit(&pair);
        MPI_Op_create(&after, false, &map);
    }
    tools(tools const&) = delete;
    ~tools() { MPI_Type_free(&gapped), MPI_Type_free(&pair), MPI_Op_free(&map); }
};

/// Ints side by side, or every other one; or nothing, where the arguments do not count.
class data {
    std::size_t stride_;
    list memory_;

public:
    MPI_Datatype type;
    bool counts;
    data(tools const& t, dice& own, bool counts_here, list const& values)
        : stride_{own.coin() ? 2u : 1u}, memory_(values.size() * stride_, -7), type{stride_ == 2 ? t.gapped : MPI_INT},
          counts{counts_here} {
        for (std::size_t i = 0; i < values.size(); ++i) memory_[i * stride_] = values[i];
        if (!counts) type = MPI_DATATYPE_NULL;
    }
    data(tools const& t, dice& own, bool counts_here, int n)
        : data{t, own, counts_here, list(static_cast<std::size_t>(n), -1)} {}
    void* at() { return counts ? memory_.data() : nullptr; }
    int size() const { return counts ? static_cast<int>(memory_.size() / stride_) : -3; }
    list values() const {
        list v;
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if (i % stride_ == 0) v.push_back(memory_[i]);
            else EXPECT_EQ(memory_[i], -7);
        return v;
    }
};

enum class form { blocking, begun, persistent };

#define CALLED(F, I, ...)                                                                                                      \
    ended(how == form::blocking ? (large ? MPI_##F##_c(__VA_ARGS__) : MPI_##F(__VA_ARGS__))                                    \
          : how == form::begun  ? (large ? MPI_##I##_c(__VA_ARGS__, &handle) : MPI_##I(__VA_ARGS__, &handle))                  \
                                : (large ? MPI_##F##_init_c(__VA_ARGS__, MPI_INFO_NULL, &handle)                               \
                                         : MPI_##F##_init(__VA_ARGS__, MPI_INFO_NULL, &handle)))

/// One collective of a random program.
struct step {
    tools const& use;
    two_sides const& sides;
    MPI_Comm comm;
    int me, side; // world rank
    dice &common, &own;
    unsigned seed = common.seed();
    form how = common.one_of({form::blocking, form::begun, form::persistent});
    bool large = own.coin();
    MPI_Request handle = MPI_REQUEST_NULL;

    list const& mine = sides.of[side];
    list const& others = sides.of[1 - side];
    // The root: its side, its rank in the job, and what this rank names it.
    int root_side = static_cast<int>(common.below(2));
    int root_at = static_cast<int>(common.below(static_cast<unsigned>(sides.of[root_side].size())));
    int root_world = sides.of[root_side][static_cast<std::size_t>(root_at)];
    int root = side != root_side ? root_at : me == root_world ? MPI_ROOT : MPI_PROC_NULL;
    bool at_root = root == MPI_ROOT, has_part = side != root_side;

    void ended(int code) {
        EXPECT_EQ(code, MPI_SUCCESS) << mpt::c::here().last_error;
        if (how == form::begun) { EXPECT_EQ(MPI_Wait(&handle, MPI_STATUS_IGNORE), MPI_SUCCESS); }
        if (how != form::persistent) return;
        for (int round = 0; round < 2; ++round) {
            EXPECT_EQ(MPI_Start(&handle), MPI_SUCCESS);
            EXPECT_EQ(MPI_Wait(&handle, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        EXPECT_EQ(MPI_Request_free(&handle), MPI_SUCCESS);
    }
    int some() const { return 2 * common.one_of({0, 1, 3, 50, 4000}); }
    /// How much `from` has for `to`; any: the same for all of them.
    int amount(int from, int to) const {
        dice d{seed + 101u * static_cast<unsigned>(from) + static_cast<unsigned>(to)};
        return 2 * static_cast<int>(d.below(30));
    }
    static constexpr int any = 77;

    /// What this rank has for each of the other side, or they for it: counts, and displacements with gaps.
    struct spread {
        both counts, displs, bytes;
        std::vector<MPI_Datatype> types;
        int total = 0;
    };
    template <class Size> static spread spread_over(list const& ranks, Size const& size) {
        spread s;
        for (int const r : ranks) {
            s.counts.add(size(r)), s.displs.add(s.total + 1), s.bytes.add(4 * (s.total + 1)), s.types.push_back(MPI_INT);
            s.total += size(r) + 1;
        }
        return s;
    }
    /// The memory that a spread means: with gaps of one -5.
    template <class Values> static list laid_out(list const& ranks, Values const& values) {
        list all;
        for (int const r : ranks) {
            all.push_back(-5);
            auto const v = values(r);
            all.insert(all.end(), v.begin(), v.end());
        }
        return all;
    }
    template <class Values> static list in_a_row(list const& ranks, Values const& values) {
        list all;
        for (int const r : ranks) {
            auto const v = values(r);
            all.insert(all.end(), v.begin(), v.end());
        }
        return all;
    }

    void barrier() {
        switch (how) {
        case form::blocking: return ended(MPI_Barrier(comm));
        case form::begun: return ended(MPI_Ibarrier(comm, &handle));
        default: return ended(MPI_Barrier_init(comm, MPI_INFO_NULL, &handle));
        }
    }
    void broadcast() {
        auto const sent = piece(seed, root_world, any, some());
        data d{use, own, root != MPI_PROC_NULL, at_root ? sent : list(sent.size(), -1)};
        CALLED(Bcast, Ibcast, d.at(), d.size(), d.type, root, comm);
        EXPECT_EQ(d.values(), root == MPI_PROC_NULL ? list(sent.size(), -1) : sent);
    }
    void gather() {
        auto const n = some();
        data give{use, own, has_part, piece(seed, me, any, n)}, all{use, own, at_root, n * static_cast<int>(others.size())};
        CALLED(Gather, Igather, give.at(), give.size(), give.type, all.at(), at_root ? n : -3, all.type, root, comm);
        if (at_root) {
            EXPECT_EQ(all.values(), in_a_row(others, [&](int r) { return piece(seed, r, any, n); }));
        }
    }
    void gatherv() {
        data give{use, own, has_part, piece(seed, me, any, amount(me, any))};
        auto const in = spread_over(others, [&](int r) { return amount(r, any); });
        data all{use, own, at_root, list(static_cast<std::size_t>(in.total), -5)};
        both const nothing;
        auto const &counts = at_root ? in.counts : nothing, &displs = at_root ? in.displs : nothing;
        CALLED(Gatherv, Igatherv, give.at(), give.size(), give.type, all.at(), counts, displs, all.type, root, comm);
        if (!at_root) return;
        EXPECT_EQ(all.values(), laid_out(others, [&](int r) { return piece(seed, r, any, amount(r, any)); }));
    }
    void scatter() {
        auto const n = some();
        data all{use, own, at_root, in_a_row(others, [&](int r) { return piece(seed, root_world, r, n); })};
        data take{use, own, has_part, n};
        CALLED(Scatter, Iscatter, all.at(), at_root ? n : -3, all.type, take.at(), take.size(), take.type, root, comm);
        if (has_part) { EXPECT_EQ(take.values(), piece(seed, root_world, me, n)); }
    }
    void scatterv() {
        auto const out = spread_over(others, [&](int r) { return amount(any, r); });
        data all{use, own, at_root, laid_out(others, [&](int r) { return piece(seed, root_world, r, amount(any, r)); })};
        data take{use, own, has_part, amount(any, me)};
        both const nothing;
        auto const &counts = at_root ? out.counts : nothing, &displs = at_root ? out.displs : nothing;
        CALLED(Scatterv, Iscatterv, all.at(), counts, displs, all.type, take.at(), take.size(), take.type, root, comm);
        if (has_part) { EXPECT_EQ(take.values(), piece(seed, root_world, me, amount(any, me))); }
    }
    void allgather() {
        int const sizes[]{some(), some()};
        auto const n = sizes[1 - side];
        data give{use, own, true, piece(seed, me, any, sizes[side])}, all{use, own, true, n * static_cast<int>(others.size())};
        CALLED(Allgather, Iallgather, give.at(), give.size(), give.type, all.at(), n, all.type, comm);
        EXPECT_EQ(all.values(), in_a_row(others, [&](int r) { return piece(seed, r, any, n); }));
    }
    void allgatherv() {
        data give{use, own, true, piece(seed, me, any, amount(me, any))};
        auto const in = spread_over(others, [&](int r) { return amount(r, any); });
        data all{use, own, true, list(static_cast<std::size_t>(in.total), -5)};
        CALLED(Allgatherv, Iallgatherv, give.at(), give.size(), give.type, all.at(), in.counts, in.displs, all.type, comm);
        EXPECT_EQ(all.values(), laid_out(others, [&](int r) { return piece(seed, r, any, amount(r, any)); }));
    }
    void alltoall() {
        int const sizes[]{some(), some()};
        auto const out = sizes[side], in = sizes[1 - side];
        data give{use, own, true, in_a_row(others, [&](int r) { return piece(seed, me, r, out); })};
        data all{use, own, true, in * static_cast<int>(others.size())};
        CALLED(Alltoall, Ialltoall, give.at(), out, give.type, all.at(), in, all.type, comm);
        EXPECT_EQ(all.values(), in_a_row(others, [&](int r) { return piece(seed, r, me, in); }));
    }
    void alltoallv(bool typed) {
        auto const out = spread_over(others, [&](int r) { return amount(me, r); }),
                   in = spread_over(others, [&](int r) { return amount(r, me); });
        auto const given = laid_out(others, [&](int r) { return piece(seed, me, r, amount(me, r)); });
        list const room(static_cast<std::size_t>(in.total), -5);
        auto const wanted = laid_out(others, [&](int r) { return piece(seed, r, me, amount(r, me)); });
        if (typed) {
            auto all = room;
            CALLED(Alltoallw, Ialltoallw, given.data(), out.counts, out.bytes, out.types.data(), all.data(), in.counts,
                   in.bytes, in.types.data(), comm);
            EXPECT_EQ(all, wanted);
            return;
        }
        data give{use, own, true, given}, all{use, own, true, room};
        CALLED(Alltoallv, Ialltoallv, give.at(), out.counts, out.displs, give.type, all.at(), in.counts, in.displs, all.type,
               comm);
        EXPECT_EQ(all.values(), wanted);
    }

    // --- reductions: by sum, or by maps that do not commute ----------------------------------------------------------------------
    bool maps = common.coin();
    MPI_Datatype type() const { return maps ? use.pair : MPI_INT; }
    MPI_Op op() const { return maps ? use.map : MPI_SUM; }
    int elements(int ints) const { return maps ? ints / 2 : ints; }
    /// n ints of each of these ranks, combined in their order.
    list folded(list const& from, int n) const {
        auto sum = piece(seed, from.front(), any, n);
        for (auto r = from.begin() + 1; r != from.end(); ++r) {
            auto next = piece(seed, *r, any, n);
            int pairs = n / 2;
            if (maps) after(sum.data(), next.data(), &pairs, nullptr);
            for (std::size_t i = 0; !maps && i < next.size(); ++i)
                next[i] = static_cast<int>(static_cast<unsigned>(next[i]) + static_cast<unsigned>(sum[i]));
            sum = next;
        }
        return sum;
    }
    void reduce() {
        auto const n = some();
        auto const given = piece(seed, me, any, n);
        list got(given.size(), -1);
        bool const beside = root == MPI_PROC_NULL;
        CALLED(Reduce, Ireduce, has_part ? given.data() : nullptr, at_root ? got.data() : nullptr, beside ? -3 : elements(n),
               beside ? MPI_DATATYPE_NULL : type(), beside ? MPI_OP_NULL : op(), root, comm);
        EXPECT_EQ(got, at_root ? folded(others, n) : list(given.size(), -1));
    }
    void allreduce() {
        auto const n = some();
        auto const given = piece(seed, me, any, n);
        list got(given.size(), -1);
        CALLED(Allreduce, Iallreduce, given.data(), got.data(), elements(n), type(), op(), comm);
        EXPECT_EQ(got, folded(others, n));
    }
    /// Both sides cut the same number of ints into parts.
    void reduce_scatter(bool even) {
        auto const all = even ? 24 * static_cast<int>(common.below(30)) : some(); // 24: by 1 to 4 ranks, and pairs
        both counts;
        int left = all, first = 0, own_part = 0;
        for (std::size_t r = 0; r < mine.size(); ++r) {
            dice d{seed + static_cast<unsigned>(side)};
            int const part = even                   ? all / static_cast<int>(mine.size())
                             : r + 1 == mine.size() ? left
                                                    : 2 * (left / 8) * static_cast<int>(d.below(3));
            if (mine[r] == me) first = all - left, own_part = part;
            counts.add(elements(part));
            left -= part;
        }
        auto const given = piece(seed, me, any, all);
        list got(static_cast<std::size_t>(own_part), -1);
        if (even)
            CALLED(Reduce_scatter_block, Ireduce_scatter_block, given.data(), got.data(), elements(own_part), type(), op(),
                   comm);
        else CALLED(Reduce_scatter, Ireduce_scatter, given.data(), got.data(), counts, type(), op(), comm);
        auto const whole = folded(others, all);
        EXPECT_EQ(got, list(whole.begin() + first, whole.begin() + first + own_part));
    }

    void any_of() {
        switch (common.below(16)) {
        case 0: return barrier();
        case 1: return broadcast();
        case 2: return gather();
        case 3: return gatherv();
        case 4: return scatter();
        case 5: return scatterv();
        case 6: return allgather();
        case 7: return allgatherv();
        case 8: return alltoall();
        case 9: return alltoallv(false);
        case 10: return alltoallv(true);
        case 11: return reduce();
        case 12: return allreduce();
        case 13: return reduce_scatter(false);
        case 14: return reduce_scatter(true);
        default: return expect_crossing_meets_none();
        }
    }
    /// Messages between two stay what they are.
    void expect_crossing_meets_none() const {
        mpt::c::test::expect_crossing(comm);
        EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS); // the next one takes messages of anybody
    }
};

TEST(CInterCollectives, WhatOneSideBringsTheOtherGets) {
    mpt::test::seeds const seeds{20};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        dice first{seed};
        auto const n = static_cast<int>(1 + first.below(4)), m = static_cast<int>(1 + first.below(4));
        ranks(n + m, [&](int me, int) {
            dice common{seed}, own{seed + 7919u * static_cast<unsigned>(me + 1)};
            auto sides = two_sides::in_order(n, m);
            std::mt19937 random{seed};
            std::shuffle(sides.of[0].begin(), sides.of[0].end(), random);
            if (common.coin()) std::swap(sides.of[0], sides.of[1]);
            auto comm = joined(sides, me);
            {
                tools const use;
                for (int i = 0; i < 40; ++i) step{use, sides, comm, me, sides.side(me), common, own}.any_of();
            }
            EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
        });
        if (HasFailure()) ADD_FAILURE() << n << " ranks and " << m << "; replay with MPT_SEED=" << seed;
    }
}

TEST(CInterCollectives, ManyAreUnderWayAtOnce) {
    ranks(5, [](int me, int) {
        auto const sides = two_sides::in_order(2, 3);
        auto comm = joined(sides, me);
        std::vector<int> in(300), out(300, -1);
        std::vector<MPI_Request> r(300);
        for (int i = 0; i < 300; ++i) {
            auto const at = static_cast<std::size_t>(i);
            in[at] = me + i;
            if (i % 3 == 0) MPI_Iallreduce(&in[at], &out[at], 1, MPI_INT, MPI_SUM, comm, &r[at]);
            if (i % 3 == 1) MPI_Ibarrier(comm, &r[at]);
            if (i % 3 == 2)
                MPI_Ireduce(&in[at], &out[at], 1, MPI_INT, MPI_MAX,
                            me >= 2   ? 1
                            : me == 1 ? MPI_ROOT
                                      : MPI_PROC_NULL,
                            comm, &r[at]);
        }
        MPI_Comm_free(&comm);
        EXPECT_EQ(MPI_Waitall(300, r.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (int i = 0; i < 300; ++i) {
            auto const sum = me < 2 ? 9 + 3 * i : 1 + 2 * i, most = me == 1 ? 4 + i : -1;
            EXPECT_EQ(out[static_cast<std::size_t>(i)], i % 3 == 0 ? sum : i % 3 == 1 ? -1 : most) << i;
        }
    });
}

TEST(CInterCollectives, NobodyLeavesABarrierBeforeAllOfTheOtherSideCame) {
    mpt::native_atomics::atomic<int> came{0};
    ranks(5, [&](int me, int size) {
        auto comm = joined(two_sides::in_order(3, 2), me);
        for (int round = 1; round <= 30; ++round) {
            came.fetch_add(1, std::memory_order_relaxed); // order: the barrier's messages carry it
            EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
            EXPECT_GE(came.load(std::memory_order_relaxed), round * size); // order: as above
            EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
        }
        MPI_Comm_free(&comm);
    });
}

TEST(CInterCollectives, RootsThatAreNotThereAreRefused) {
    ranks(3, [](int me, int) {
        auto comm = joined(two_sides::in_order(1, 2), me);
        int x = 0, y = 0, others = me == 0 ? 2 : 1;
        auto const allowed = "0 to " + std::to_string(others - 1) + ", MPI_ROOT, MPI_PROC_NULL";
        for (int root : {others, int{MPI_ANY_SOURCE}, -9}) {
            auto const told = "root is " + std::to_string(root);
            expect_failure(MPI_Bcast(&x, 1, MPI_INT, root, comm), MPI_ERR_ROOT, {told.c_str(), allowed.c_str()});
            expect_failure(MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, root, comm), MPI_ERR_ROOT, {told.c_str()});
        }
        expect_failure(MPI_Bcast(&x, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD), MPI_ERR_ROOT, {"root is -4", "0 to 2"});
        MPI_Comm_free(&comm);
    });
}

/// Refused before anything is sent: everything works afterwards.
TEST(CInterCollectives, NothingIsInPlaceAndNothingIsScanned) {
    ranks(3, [](int me, int) {
        auto comm = joined(two_sides::in_order(1, 2), me);
        int x[4] = {}, y[4] = {}, n[]{1, 1}, d[]{0, 1};
        MPI_Datatype t[]{MPI_INT, MPI_INT};
        MPI_Request r = MPI_REQUEST_NULL;
        auto* const here = MPI_IN_PLACE;
        auto const why = {"sendbuf is MPI_IN_PLACE", "intercommunicator"};
        auto const root = me == 0 ? MPI_ROOT : 0;
        if (me != 0) {
            expect_failure(MPI_Gather(here, 1, MPI_INT, nullptr, 0, MPI_INT, root, comm), MPI_ERR_BUFFER, why);
            expect_failure(MPI_Scatter(nullptr, 0, MPI_INT, here, 1, MPI_INT, root, comm), MPI_ERR_BUFFER,
                           {"recvbuf is MPI_IN"});
            expect_failure(MPI_Reduce(here, nullptr, 1, MPI_INT, MPI_SUM, root, comm), MPI_ERR_BUFFER, why);
        }
        expect_failure(MPI_Allgather(here, 1, MPI_INT, y, 1, MPI_INT, comm), MPI_ERR_BUFFER, why);
        expect_failure(MPI_Allgatherv(here, 1, MPI_INT, y, n, d, MPI_INT, comm), MPI_ERR_BUFFER, why);
        expect_failure(MPI_Alltoall(here, 1, MPI_INT, y, 1, MPI_INT, comm), MPI_ERR_BUFFER, why);
        expect_failure(MPI_Alltoallv(here, n, d, MPI_INT, y, n, d, MPI_INT, comm), MPI_ERR_BUFFER, why);
        expect_failure(MPI_Alltoallw(here, n, d, t, y, n, d, t, comm), MPI_ERR_BUFFER, why);
        expect_failure(MPI_Allreduce(here, y, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, why);
        expect_failure(MPI_Reduce_scatter(here, y, n, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, why);
        expect_failure(MPI_Reduce_scatter_block(here, y, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, why);
        expect_failure(MPI_Iallreduce(here, y, 1, MPI_INT, MPI_SUM, comm, &r), MPI_ERR_BUFFER, why);
        auto const one = {"comm is an intercommunicator"};
        expect_failure(MPI_Scan(x, y, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_COMM, one);
        expect_failure(MPI_Exscan(x, y, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_COMM, one);
        expect_failure(MPI_Iscan(x, y, 1, MPI_INT, MPI_SUM, comm, &r), MPI_ERR_COMM, one);
        expect_failure(MPI_Exscan_init(x, y, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r), MPI_ERR_COMM, one);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        EXPECT_EQ(MPI_Allreduce(&me, y, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
        EXPECT_EQ(y[0], me == 0 ? 3 : 0);
        MPI_Comm_free(&comm);
    });
}

TEST(CInterCollectives, OtherSizesOnTheOtherSideAreTold) {
    ranks(2, [](int me, int) {
        auto comm = joined(two_sides::in_order(1, 1), me);
        int x[4] = {};
        auto code = MPI_Bcast(x, me == 0 ? 4 : 2, MPI_INT, me == 0 ? MPI_ROOT : 0, comm);
        if (me == 1) expect_failure(code, MPI_ERR_TRUNCATE, {"MPI_Bcast", "16 bytes", "8 were expected", "from rank 0"});
        EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
        MPI_Comm_free(&comm);
    });
}

} // namespace
