// Chapter 6 of the C interface, data that move: random programs against what each rank must have, and what is refused.
#include <functional>
#include <numeric>

#include "../support/dice.hpp"
#include "types.hpp"

namespace {

using mpt::datatype;
using mpt::c::test::expect_failure;
using mpt::c::test::ranks;
using mpt::c::test::types;
using mpt::test::dice;

/// A datatype of some ints: where they are, and where the next element is, counted in ints.
struct shape {
    MPI_Datatype type = MPI_INT;
    std::vector<int> at{0};
    int extent = 1;

    int per() const { return static_cast<int>(at.size()); }
};

/// Shapes whose elements divide six ints.
std::vector<shape> shapes(types& made) {
    auto const of_int = datatype::named(mpt::element_kind::c_int);
    auto const gap = datatype::vector(2, 1, 2, of_int);
    return {
        {},
        {made(datatype::contiguous(3, of_int)), {0, 1, 2}, 3},
        {made(gap), {0, 2}, 3},
        {made(datatype::indexed(std::vector<std::int64_t>{1, 1, 1}, std::vector<std::int64_t>{4, 1, 0}, of_int)), {4, 1, 0}, 5},
        {made(datatype::resized(gap, -8, 20)), {0, 2}, 5},
        {made(datatype::hindexed(std::vector<std::int64_t>{2}, std::vector<std::int64_t>{4}, of_int)), {1, 2}, 2}};
}

int value(unsigned seed, int from, int to, int k) {
    return static_cast<int>((seed + 31u * static_cast<unsigned>(from) + 1009u * static_cast<unsigned>(to)) * 2654435761u) + k;
}

/// Memory, and what it should be in the end, gaps included.
class memory {
    std::vector<int> now_, wanted_;

    static void each(shape const& s, int first, int n, std::function<void(std::size_t, int)> const& f) {
        for (int k = 0; k < n; ++k)
            f(static_cast<std::size_t>(first + k / s.per() * s.extent + s.at[static_cast<std::size_t>(k % s.per())]), k);
    }

public:
    explicit memory(int ints) : now_(static_cast<std::size_t>(ints) + 8, -77), wanted_(now_) {}
    int* data() { return now_.data(); }
    /// n ints from `first` on are sent: they are there, and stay.
    void brings(shape const& s, int first, int n, unsigned seed, int from, int to) {
        each(s, first, n, [&](std::size_t i, int k) { now_[i] = wanted_[i] = value(seed, from, to, k); });
    }
    void gets(shape const& s, int first, int n, unsigned seed, int from, int to) {
        each(s, first, n, [&](std::size_t i, int k) { wanted_[i] = value(seed, from, to, k); });
    }
    bool is_right() const { return now_ == wanted_; }
};

/// Parts of a buffer: how many elements, and where, in ints.
struct spread {
    std::vector<shape> of;
    std::vector<int> counts, displs, starts, ints;
    std::vector<MPI_Count> wide_counts;
    std::vector<MPI_Aint> wide_displs;
    std::vector<MPI_Datatype> types;
    int total = 0;

    enum class how { even, listed, typed };
    spread(how form, std::vector<shape> const& all, std::vector<int> sizes, dice& own) : ints{std::move(sizes)} {
        auto const n = ints.size();
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), 0u);
        if (form != how::even)
            std::reverse(order.begin(), order.begin() + static_cast<long>(own.below(static_cast<unsigned>(n + 1))));
        auto const common = all[own.below(static_cast<unsigned>(all.size()))];
        of.assign(n, common), counts.resize(n), displs.resize(n), starts.resize(n);
        for (auto const r : order) {
            if (form == how::typed) of[r] = all[own.below(static_cast<unsigned>(all.size()))];
            auto const& s = of[r];
            if (form == how::listed) total += static_cast<int>(own.below(3)) * s.extent;
            if (form == how::typed) total += static_cast<int>(own.below(5));
            starts[r] = total;
            counts[r] = ints[r] / s.per();
            displs[r] = form == how::typed ? total * static_cast<int>(sizeof(int)) : total / s.extent;
            total += counts[r] * s.extent;
            if (form == how::typed) total += 5; // an element may reach beyond its extent
        }
        wide_counts.assign(counts.begin(), counts.end());
        wide_displs.assign(displs.begin(), displs.end());
        for (auto const& s : of) types.push_back(s.type);
    }
    void bring(memory& m, unsigned seed, int r, int from, int to) const {
        auto const i = static_cast<std::size_t>(r);
        m.brings(of[i], starts[i], ints[i], seed, from, to);
    }
    void get(memory& m, unsigned seed, int r, int from, int to) const {
        auto const i = static_cast<std::size_t>(r);
        m.gets(of[i], starts[i], ints[i], seed, from, to);
    }
};
using how = spread::how;

/// One step of a random program: what all ranks throw alike, and what each throws for itself.
struct step {
    int me, size;
    dice &common, &own;
    std::vector<shape> const& all;
    unsigned seed = common.seed();
    int root = static_cast<int>(common.below(static_cast<unsigned>(size)));
    bool everywhere_in_place = common.coin();
    bool in_place = own.coin();
    bool large = own.coin();

    int some() const { return common.one_of({0, 6, 6, 12, 60, 600, 18000}); }
    std::vector<int> sizes(how form) const {
        std::vector<int> v(static_cast<std::size_t>(size), some());
        if (form != how::even)
            for (auto& n : v) n = some();
        return v;
    }
    /// How much each rank has for this one, or this one for each: [from * size + to].
    std::vector<int> table(how form, bool symmetric) const {
        auto const n = static_cast<std::size_t>(size);
        std::vector<int> v(n * n, some());
        for (std::size_t i = 0; form != how::even && i < n * n; ++i) v[i] = some();
        for (std::size_t i = 0; symmetric && i < n * n; ++i) v[i] = v[std::max(i, i % n * n + i / n)];
        return v;
    }
    spread one(int ints) const { return {how::even, all, {ints}, own}; }
};

#define EITHER(function, ...) (large ? function##_c(__VA_ARGS__) : function(__VA_ARGS__))

void broadcast(step const& s) {
    auto const p = s.one(s.some());
    memory m{p.total};
    if (s.me == s.root) p.bring(m, s.seed, 0, s.root, 0);
    else p.get(m, s.seed, 0, s.root, 0);
    bool const large = s.large;
    EXPECT_EQ(EITHER(MPI_Bcast, m.data(), p.counts[0], p.types[0], s.root, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_TRUE(m.is_right());
}

void gather(step const& s, how form) {
    spread const all{form, s.all, s.sizes(form), s.own};
    auto const p = s.one(all.ints[static_cast<std::size_t>(s.me)]);
    memory mine{p.total}, m{all.total};
    p.bring(mine, s.seed, 0, s.me, 0);
    bool const at_root = s.me == s.root, in_place = at_root && s.in_place, large = s.large;
    for (int r = 0; at_root && r < s.size; ++r)
        if (r == s.me && in_place) all.bring(m, s.seed, r, r, 0);
        else all.get(m, s.seed, r, r, 0);
    void const* const from = in_place ? MPI_IN_PLACE : mine.data();
    void* const to = at_root ? m.data() : nullptr;
    auto const type = at_root ? all.types[0] : MPI_DATATYPE_NULL;
    int code;
    if (form == how::even)
        code = EITHER(MPI_Gather, from, p.counts[0], p.types[0], to, all.counts[0], type, s.root, MPI_COMM_WORLD);
    else if (large)
        code = MPI_Gatherv_c(from, p.counts[0], p.types[0], to, all.wide_counts.data(), all.wide_displs.data(), type, s.root,
                             MPI_COMM_WORLD);
    else
        code =
            MPI_Gatherv(from, p.counts[0], p.types[0], to, all.counts.data(), all.displs.data(), type, s.root, MPI_COMM_WORLD);
    EXPECT_EQ(code, MPI_SUCCESS);
    EXPECT_TRUE(mine.is_right() && m.is_right());
}

void scatter(step const& s, how form) {
    spread const all{form, s.all, s.sizes(form), s.own};
    auto const p = s.one(all.ints[static_cast<std::size_t>(s.me)]);
    memory mine{p.total}, m{all.total};
    bool const at_root = s.me == s.root, in_place = at_root && s.in_place, large = s.large;
    if (!in_place) p.get(mine, s.seed, 0, s.root, s.me);
    for (int r = 0; at_root && r < s.size; ++r) all.bring(m, s.seed, r, s.root, r);
    void* const to = in_place ? MPI_IN_PLACE : mine.data();
    void const* const from = at_root ? m.data() : nullptr;
    auto const type = at_root ? all.types[0] : MPI_DATATYPE_NULL;
    int code;
    if (form == how::even)
        code = EITHER(MPI_Scatter, from, all.counts[0], type, to, p.counts[0], p.types[0], s.root, MPI_COMM_WORLD);
    else if (large)
        code = MPI_Scatterv_c(from, all.wide_counts.data(), all.wide_displs.data(), type, to, p.counts[0], p.types[0], s.root,
                              MPI_COMM_WORLD);
    else
        code =
            MPI_Scatterv(from, all.counts.data(), all.displs.data(), type, to, p.counts[0], p.types[0], s.root, MPI_COMM_WORLD);
    EXPECT_EQ(code, MPI_SUCCESS);
    EXPECT_TRUE(mine.is_right() && m.is_right());
}

void allgather(step const& s, how form) {
    spread const all{form, s.all, s.sizes(form), s.own};
    auto const p = s.one(all.ints[static_cast<std::size_t>(s.me)]);
    memory mine{p.total}, m{all.total};
    p.bring(mine, s.seed, 0, s.me, 0);
    bool const in_place = s.everywhere_in_place, large = s.large;
    for (int r = 0; r < s.size; ++r)
        if (r == s.me && in_place) all.bring(m, s.seed, r, r, 0);
        else all.get(m, s.seed, r, r, 0);
    void const* const from = in_place ? MPI_IN_PLACE : mine.data();
    int code;
    if (form == how::even)
        code = EITHER(MPI_Allgather, from, p.counts[0], p.types[0], m.data(), all.counts[0], all.types[0], MPI_COMM_WORLD);
    else if (large)
        code = MPI_Allgatherv_c(from, p.counts[0], p.types[0], m.data(), all.wide_counts.data(), all.wide_displs.data(),
                                all.types[0], MPI_COMM_WORLD);
    else
        code = MPI_Allgatherv(from, p.counts[0], p.types[0], m.data(), all.counts.data(), all.displs.data(), all.types[0],
                              MPI_COMM_WORLD);
    EXPECT_EQ(code, MPI_SUCCESS);
    EXPECT_TRUE(mine.is_right() && m.is_right());
}

int alltoall_of(how form, bool large, void const* from, spread const& out, void* to, spread const& in) {
    auto const comm = MPI_COMM_WORLD;
    if (form == how::even) return EITHER(MPI_Alltoall, from, out.counts[0], out.types[0], to, in.counts[0], in.types[0], comm);
    if (form == how::listed && large)
        return MPI_Alltoallv_c(from, out.wide_counts.data(), out.wide_displs.data(), out.types[0], to, in.wide_counts.data(),
                               in.wide_displs.data(), in.types[0], comm);
    if (form == how::listed)
        return MPI_Alltoallv(from, out.counts.data(), out.displs.data(), out.types[0], to, in.counts.data(), in.displs.data(),
                             in.types[0], comm);
    if (large)
        return MPI_Alltoallw_c(from, out.wide_counts.data(), out.wide_displs.data(), out.types.data(), to,
                               in.wide_counts.data(), in.wide_displs.data(), in.types.data(), comm);
    return MPI_Alltoallw(from, out.counts.data(), out.displs.data(), out.types.data(), to, in.counts.data(), in.displs.data(),
                         in.types.data(), comm);
}

void alltoall(step const& s, how form) {
    bool const in_place = s.everywhere_in_place;
    auto const table = s.table(form, in_place);
    std::vector<int> given, taken;
    for (int r = 0; r < s.size; ++r) {
        given.push_back(table[static_cast<std::size_t>(s.me * s.size + r)]);
        taken.push_back(table[static_cast<std::size_t>(r * s.size + s.me)]);
    }
    spread const out{form, s.all, given, s.own}, in{form, s.all, taken, s.own};
    memory mine{out.total}, m{in.total};
    for (int r = 0; r < s.size; ++r) {
        out.bring(mine, s.seed, r, s.me, r);
        if (in_place) in.bring(m, s.seed, r, s.me, r);
        in.get(m, s.seed, r, r, s.me);
    }
    EXPECT_EQ(alltoall_of(form, s.large, in_place ? MPI_IN_PLACE : mine.data(), out, m.data(), in), MPI_SUCCESS);
    EXPECT_TRUE(mine.is_right() && m.is_right());
}

void any_of(step const& s) {
    switch (s.common.below(10)) {
    case 0: return broadcast(s);
    case 1: return gather(s, how::even);
    case 2: return gather(s, how::listed);
    case 3: return scatter(s, how::even);
    case 4: return scatter(s, how::listed);
    case 5: return allgather(s, how::even);
    case 6: return allgather(s, how::listed);
    case 7: return alltoall(s, how::even);
    case 8: return alltoall(s, how::listed);
    default: return alltoall(s, how::typed);
    }
}

TEST(CCollectives, EverybodyHasWhatTheOthersMeantForIt) {
    mpt::test::seeds const seeds{24};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        ranks(1 + static_cast<int>(seed % 5), [seed](int me, int size) {
            dice common{seed}, own{seed + 7919u * static_cast<unsigned>(me + 1)};
            types made;
            auto const all = shapes(made);
            for (int i = 0; i < 40; ++i) any_of({me, size, common, own, all});
        });
        if (HasFailure()) ADD_FAILURE() << "replay with MPT_SEED=" << seed;
    }
}

TEST(CCollectives, NobodyLeavesABarrierBeforeAllCame) {
    mpt::native_atomics::atomic<int> came{0};
    ranks(5, [&](int, int size) {
        for (int round = 1; round <= 50; ++round) {
            came.fetch_add(1, std::memory_order_relaxed); // order: the barrier's messages carry it
            EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_GE(came.load(std::memory_order_relaxed), round * size); // order: as above
            EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        }
    });
}

TEST(CCollectives, TheyNeverMeetMessagesBetweenTwo) {
    ranks(3, [](int me, int size) {
        int sent = 100 + me, came = -1, all = me == 0 ? 7 : -1;
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Irecv(&came, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(&all, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Send(&sent, 1, MPI_INT, (me + 1) % size, 0, MPI_COMM_WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        EXPECT_EQ(came, 100 + (me + size - 1) % size);
        EXPECT_EQ(all, 7);
    });
}

TEST(CCollectives, DifferentSizesAreTold) {
    ranks(2, [](int me, int) {
        int data[4] = {}, all[8] = {};
        auto code = MPI_Bcast(data, me == 0 ? 4 : 2, MPI_INT, 0, MPI_COMM_WORLD);
        if (me == 1) expect_failure(code, MPI_ERR_TRUNCATE, {"MPI_Bcast", "16 bytes", "8 were expected", "from rank 0"});
        code = MPI_Gather(data, me == 0 ? 2 : 3, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
        if (me == 0) expect_failure(code, MPI_ERR_TRUNCATE, {"12 bytes", "8 were expected", "from rank 1"});
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 0)
            expect_failure(MPI_Gather(data, 1, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_TRUNCATE,
                           {"4 bytes", "8 were"});
        EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    });
}

/// All expect as much as rank 0 does not send: each of them is told, nobody waits, and the communicator goes on.
TEST(CCollectives, EverybodyBelowARankOfAnotherSizeIsTold) {
    for (int const n : {2, 4, 7})
        ranks(n, [](int me, int size) {
            std::vector<int> data(static_cast<std::size_t>(10 * size)), all(data.size());
            for (int i = 0; i < 12; ++i) { // by messages first, then in shared memory
                int const few = i % 2, mine = (me == 0) == (few == 1) ? 1 : 10,
                          wanted = me == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
                EXPECT_EQ(MPI_Bcast(data.data(), mine, MPI_INT, 0, MPI_COMM_WORLD), wanted) << i;
                MPI_Request r = MPI_REQUEST_NULL;
                EXPECT_EQ(MPI_Ibcast(data.data(), mine, MPI_INT, 0, MPI_COMM_WORLD, &r), MPI_SUCCESS);
                EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), wanted) << i;
                EXPECT_EQ(MPI_Allreduce(data.data(), all.data(), mine, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
                EXPECT_EQ(MPI_Allgather(data.data(), mine, MPI_INT, all.data(), mine, MPI_INT, MPI_COMM_WORLD),
                          MPI_ERR_TRUNCATE);
                auto const twice = me == 0 ? 2 : 1; // of what it expects of itself
                EXPECT_EQ(MPI_Alltoall(data.data(), twice, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
                auto const at_root = me == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
                EXPECT_EQ(MPI_Gather(data.data(), mine, MPI_INT, all.data(), mine, MPI_INT, 0, MPI_COMM_WORLD), at_root);
                EXPECT_EQ(MPI_Scatter(data.data(), mine, MPI_INT, all.data(), mine, MPI_INT, 0, MPI_COMM_WORLD), wanted);
                int one = 1, sum = 0;
                EXPECT_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
                EXPECT_EQ(sum, size);
            }
        });
}

TEST(CCollectives, RootsThatAreNotThereAreRefused) {
    ranks(2, [](int, int) {
        int x[2] = {}, y[2] = {};
        expect_failure(MPI_Bcast(x, 1, MPI_INT, 2, MPI_COMM_WORLD), MPI_ERR_ROOT, {"MPI_Bcast", "root is 2", "0 to 1"});
        expect_failure(MPI_Bcast(x, 1, MPI_INT, -1, MPI_COMM_WORLD), MPI_ERR_ROOT, {"root is -1"});
        expect_failure(MPI_Gather(x, 1, MPI_INT, y, 1, MPI_INT, 7, MPI_COMM_WORLD), MPI_ERR_ROOT, {"root is 7"});
        expect_failure(MPI_Scatter(x, 1, MPI_INT, y, 1, MPI_INT, MPI_PROC_NULL, MPI_COMM_WORLD), MPI_ERR_ROOT, {"root is"});
        expect_failure(MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, MPI_ANY_SOURCE, MPI_COMM_WORLD), MPI_ERR_ROOT, {"root is"});
        expect_failure(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM, {"MPI_Barrier", "MPI_COMM_NULL"});
    });
}

/// Each waits for the other: both hear of it, and everything works afterwards.
TEST(CCollectives, RootsThatDifferAreToldToAllThatWait) {
    ranks(2, [](int me, int) {
        int x[8] = {}, y[8] = {}, n[2] = {1, 1}, at[2] = {0, 1};
        auto const world = MPI_COMM_WORLD;
        int const other = 1 - me;
        auto const told = [](int code, char const* function, char const* rank_0, char const* rank_1) {
            expect_failure(code, MPI_ERR_ROOT, {function, rank_0, rank_1, "with the same root (rank "});
        };
        told(MPI_Bcast(x, 1, MPI_INT, other, world), "MPI_Bcast: ", "rank 0 called a broadcast with root 1",
             "rank 1 called a broadcast with root 0");
        told(MPI_Gather(x, 1, MPI_INT, y, 1, MPI_INT, me, world), "MPI_Gather: ", "rank 0 called a gather with root 0",
             "rank 1 called a gather with root 1");
        told(MPI_Gatherv(x, 1, MPI_INT, y, n, at, MPI_INT, me, world), "MPI_Gatherv: ", "with root 0", "with root 1");
        told(MPI_Scatter(x, 1, MPI_INT, y, 1, MPI_INT, other, world), "MPI_Scatter: ", "rank 0 called a scatter with root 1",
             "rank 1 called a scatter with root 0");
        told(MPI_Scatterv(x, n, at, MPI_INT, y, 1, MPI_INT, other, world), "MPI_Scatterv: ", "with root 1", "with root 0");
        told(MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, me, world), "MPI_Reduce: ", "rank 0 called a reduce with root 0",
             "rank 1 called a reduce with root 1");
        int all = me == 0 ? 7 : 0, sum = 0;
        EXPECT_EQ(MPI_Bcast(&all, 1, MPI_INT, 0, world), MPI_SUCCESS);
        EXPECT_EQ(all, 7);
        EXPECT_EQ(MPI_Reduce(&all, &sum, 1, MPI_INT, MPI_SUM, 1, world), MPI_SUCCESS);
        EXPECT_EQ(sum, me == 1 ? 14 : 0);
    });
}

TEST(CCollectives, InPlaceIsRefusedWhereItMeansNothing) {
    ranks(2, [](int me, int) {
        int x[2] = {}, y[2] = {}, n[2] = {1, 1}, at[2] = {0, 1};
        MPI_Datatype t[2] = {MPI_INT, MPI_INT};
        auto* const here = MPI_IN_PLACE;
        auto const world = MPI_COMM_WORLD;
        int const other = 1 - me;
        expect_failure(MPI_Gather(here, 1, MPI_INT, y, 1, MPI_INT, other, world), MPI_ERR_BUFFER,
                       {"sendbuf is MPI_IN_PLACE", "root only"});
        expect_failure(MPI_Gatherv(here, 1, MPI_INT, y, n, at, MPI_INT, other, world), MPI_ERR_BUFFER,
                       {"sendbuf is MPI_IN_PLACE"});
        expect_failure(MPI_Scatter(x, 1, MPI_INT, here, 1, MPI_INT, other, world), MPI_ERR_BUFFER, {"recvbuf is MPI_IN_PLACE"});
        expect_failure(MPI_Scatterv(x, n, at, MPI_INT, here, 1, MPI_INT, other, world), MPI_ERR_BUFFER,
                       {"recvbuf is MPI_IN_PLACE"});
        expect_failure(MPI_Reduce(here, y, 1, MPI_INT, MPI_SUM, other, world), MPI_ERR_BUFFER, {"sendbuf is MPI_IN_PLACE"});
        expect_failure(MPI_Bcast(here, 1, MPI_INT, 0, world), MPI_ERR_BUFFER, {"buffer is MPI_IN_PLACE"});
        expect_failure(MPI_Allgather(x, 1, MPI_INT, here, 1, MPI_INT, world), MPI_ERR_BUFFER, {"recvbuf is MPI_IN_PLACE"});
        expect_failure(MPI_Alltoallw(x, n, at, t, here, n, at, t, world), MPI_ERR_BUFFER, {"recvbuf is MPI_IN_PLACE"});
        expect_failure(MPI_Allreduce(x, here, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, {"recvbuf is MPI_IN_PLACE"});
    });
}

TEST(CCollectives, BuffersThatAreTheSameMemoryAreRefused) {
    ranks(2, [](int me, int) {
        int x[4] = {}, n[2] = {1, 1}, at[2] = {0, 1}, out[4] = {};
        auto const world = MPI_COMM_WORLD;
        expect_failure(MPI_Allgather(x, 1, MPI_INT, x, 1, MPI_INT, world), MPI_ERR_BUFFER, {"same memory", "MPI_IN_PLACE"});
        expect_failure(MPI_Allgatherv(x + me, 1, MPI_INT, x, n, at, MPI_INT, world), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Alltoall(x, 1, MPI_INT, x, 1, MPI_INT, world), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Gather(x + me, 1, MPI_INT, x, 1, MPI_INT, me, world), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Scatter(x, 1, MPI_INT, x + me, 1, MPI_INT, me, world), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Gatherv(x + me, 1, MPI_INT, x, n, at, MPI_INT, me, world), MPI_ERR_BUFFER,
                       {"MPI_Gatherv", "same memory"});
        expect_failure(MPI_Scatterv(x, n, at, MPI_INT, x + me, 1, MPI_INT, me, world), MPI_ERR_BUFFER,
                       {"MPI_Scatterv", "same memory"});
        expect_failure(MPI_Alltoallv(x, n, at, MPI_INT, x, n, at, MPI_INT, world), MPI_ERR_BUFFER,
                       {"MPI_Alltoallv", "same memory"});
        expect_failure(MPI_Scan(x, x, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, {"MPI_Scan", "same memory"});
        expect_failure(MPI_Exscan(x, x, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, {"MPI_Exscan", "same memory"});
        expect_failure(MPI_Reduce_scatter_block(x, x, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER,
                       {"MPI_Reduce_scatter_block", "same memory"});
        // one array, its two halves
        int const there[2] = {2, 3};
        EXPECT_EQ(MPI_Alltoallv(x, n, at, MPI_INT, x, n, there, MPI_INT, world), MPI_SUCCESS);
        EXPECT_EQ(MPI_Allgather(x, 0, MPI_INT, x, 0, MPI_INT, world), MPI_SUCCESS);
        EXPECT_EQ(MPI_Allgather(x, 1, MPI_INT, out, 1, MPI_INT, world), MPI_SUCCESS);
    });
}

/// A program that sends little leaves the rest of its tables as they are.
TEST(CCollectives, TheDatatypeOfNothingMayBeNull) {
    ranks(2, [](int me, int) {
        auto const other = static_cast<std::size_t>(1 - me);
        MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
        int counts[2] = {0, 0}, at[2] = {0, 4}, out[2] = {10 + me, 20 + me}, in[2] = {};
        MPI_Count const wide[2] = {me == 1, me == 0};
        MPI_Aint const far[2] = {0, 4};
        types[other] = MPI_INT, counts[other] = 1;
        auto const world = MPI_COMM_WORLD;
        auto const none = MPI_INFO_NULL;
        MPI_Request r = MPI_REQUEST_NULL;
        for (int way = 0; way < 4; ++way) {
            in[0] = in[1] = -1;
            switch (way) {
            case 0: EXPECT_EQ(MPI_Alltoallw(out, counts, at, types, in, counts, at, types, world), MPI_SUCCESS); break;
            case 1: EXPECT_EQ(MPI_Alltoallw_c(out, wide, far, types, in, wide, far, types, world), MPI_SUCCESS); break;
            case 2: EXPECT_EQ(MPI_Ialltoallw(out, counts, at, types, in, counts, at, types, world, &r), MPI_SUCCESS); break;
            default:
                EXPECT_EQ(MPI_Alltoallw_init(out, counts, at, types, in, counts, at, types, world, none, &r), MPI_SUCCESS);
                MPI_Start(&r);
            }
            EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(in[other], (me == 0 ? 10 : 20) + static_cast<int>(other)) << way;
            EXPECT_EQ(in[me], -1) << way;
        }
        MPI_Request_free(&r);
        int const two = 2, yes = 1, left[2] = {1, 0}, right[2] = {0, 1};
        MPI_Datatype const left_types[2] = {MPI_INT, MPI_DATATYPE_NULL}, right_types[2] = {MPI_DATATYPE_NULL, MPI_INT};
        MPI_Comm ring = MPI_COMM_NULL;
        MPI_Cart_create(world, 1, &two, &yes, 0, &ring);
        in[0] = in[1] = -1;
        EXPECT_EQ(MPI_Neighbor_alltoallw(out, left, far, left_types, in, right, far, right_types, ring), MPI_SUCCESS);
        EXPECT_EQ(in[0], -1);
        EXPECT_EQ(in[1], 11 - me);
        MPI_Comm_free(&ring);
    });
}

TEST(CCollectives, TypesCountsAndPointersAreChecked) {
    ranks(2, [](int me, int) {
        int x[4] = {}, y[4] = {}, n[2] = {1, -3}, at[2] = {0, 1}, one[2] = {1, 1};
        auto const world = MPI_COMM_WORLD;
        types made;
        auto const raw = made(datatype::contiguous(1, datatype::named(mpt::element_kind::c_int)), false);
        MPI_Datatype const types[2] = {MPI_INT, raw};
        expect_failure(MPI_Bcast(x, 1, raw, 0, world), MPI_ERR_TYPE, {"not committed"});
        expect_failure(MPI_Alltoallw(x, one, at, types, y, one, at, types, world), MPI_ERR_TYPE,
                       {"sendtypes[1] is not committed"});
        expect_failure(MPI_Alltoallw(MPI_IN_PLACE, one, at, nullptr, y, one, at, types, world), MPI_ERR_TYPE, {"recvtypes[1]"});
        MPI_Datatype const half[2] = {MPI_INT, MPI_DATATYPE_NULL}, ints[2] = {MPI_INT, MPI_INT};
        expect_failure(MPI_Alltoallw(x, one, at, half, y, one, at, ints, world), MPI_ERR_TYPE,
                       {"sendtypes[1] is MPI_DATATYPE_NULL"});
        expect_failure(MPI_Alltoallw(x, one, at, ints, y, one, at, half, world), MPI_ERR_TYPE,
                       {"recvtypes[1] is MPI_DATATYPE_NULL"});
        expect_failure(MPI_Bcast(x, -1, MPI_INT, 0, world), MPI_ERR_COUNT, {"count is -1"});
        expect_failure(MPI_Allgatherv(x, 1, MPI_INT, y, n, at, MPI_INT, world), MPI_ERR_COUNT, {"recvcounts[1] is -3"});
        expect_failure(MPI_Gatherv(x, 1, MPI_INT, y, n, at, MPI_INT, me, world), MPI_ERR_COUNT, {"recvcounts[1] is -3"});
        expect_failure(MPI_Allgatherv(x, 1, MPI_INT, y, one, nullptr, MPI_INT, world), MPI_ERR_ARG,
                       {"displs is a null pointer"});
        expect_failure(MPI_Allgather(nullptr, 1, MPI_INT, y, 1, MPI_INT, world), MPI_ERR_BUFFER, {"sendbuf is a null pointer"});
        expect_failure(MPI_Alltoall(x, 1, MPI_DATATYPE_NULL, y, 1, MPI_INT, world), MPI_ERR_TYPE, {"MPI_DATATYPE_NULL"});
        EXPECT_EQ(MPI_Barrier(world), MPI_SUCCESS); // nothing of that is on its way
    });
}

} // namespace
