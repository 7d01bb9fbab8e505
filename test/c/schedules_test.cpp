// Chapter 6 of the C interface, collectives that do not block and persistent ones: many under way at once, against a serial oracle.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "../support/dice.hpp"
#include "collective_request.hpp"
#include "random_collectives.hpp"
#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::expect_ring;
using mpt::c::test::ranks;
using mpt::c::test::thread_of_rank;
using mpt::test::dice;

int value(unsigned seed, int from, int to, int k) {
    return static_cast<int>((seed + 31u * static_cast<unsigned>(from) + 1009u * static_cast<unsigned>(to)) * 2654435761u) + k;
}

constexpr auto& after = mpt::c::test::collective_types::after;
using mpt::c::test::both;
using kind = mpt::c::test::collective_kind;
using enum mpt::c::test::collective_kind;

#define STARTED(begun, begun_c, init, init_c, ...)                                                                             \
    (again ? (large ? init_c(__VA_ARGS__, MPI_INFO_NULL, &handle) : init(__VA_ARGS__, MPI_INFO_NULL, &handle))                 \
           : (large ? begun_c(__VA_ARGS__, &handle) : begun(__VA_ARGS__, &handle)))
#define BCAST(...) STARTED(MPI_Ibcast, MPI_Ibcast_c, MPI_Bcast_init, MPI_Bcast_init_c, __VA_ARGS__)
#define GATHER(...) STARTED(MPI_Igather, MPI_Igather_c, MPI_Gather_init, MPI_Gather_init_c, __VA_ARGS__)
#define GATHERV(...) STARTED(MPI_Igatherv, MPI_Igatherv_c, MPI_Gatherv_init, MPI_Gatherv_init_c, __VA_ARGS__)
#define SCATTER(...) STARTED(MPI_Iscatter, MPI_Iscatter_c, MPI_Scatter_init, MPI_Scatter_init_c, __VA_ARGS__)
#define SCATTERV(...) STARTED(MPI_Iscatterv, MPI_Iscatterv_c, MPI_Scatterv_init, MPI_Scatterv_init_c, __VA_ARGS__)
#define ALLGATHER(...) STARTED(MPI_Iallgather, MPI_Iallgather_c, MPI_Allgather_init, MPI_Allgather_init_c, __VA_ARGS__)
#define ALLGATHERV(...) STARTED(MPI_Iallgatherv, MPI_Iallgatherv_c, MPI_Allgatherv_init, MPI_Allgatherv_init_c, __VA_ARGS__)
#define ALLTOALL(...) STARTED(MPI_Ialltoall, MPI_Ialltoall_c, MPI_Alltoall_init, MPI_Alltoall_init_c, __VA_ARGS__)
#define ALLTOALLV(...) STARTED(MPI_Ialltoallv, MPI_Ialltoallv_c, MPI_Alltoallv_init, MPI_Alltoallv_init_c, __VA_ARGS__)
#define ALLTOALLW(...) STARTED(MPI_Ialltoallw, MPI_Ialltoallw_c, MPI_Alltoallw_init, MPI_Alltoallw_init_c, __VA_ARGS__)
#define REDUCE(...) STARTED(MPI_Ireduce, MPI_Ireduce_c, MPI_Reduce_init, MPI_Reduce_init_c, __VA_ARGS__)
#define ALLREDUCE(...) STARTED(MPI_Iallreduce, MPI_Iallreduce_c, MPI_Allreduce_init, MPI_Allreduce_init_c, __VA_ARGS__)
#define SCAN(...) STARTED(MPI_Iscan, MPI_Iscan_c, MPI_Scan_init, MPI_Scan_init_c, __VA_ARGS__)
#define EXSCAN(...) STARTED(MPI_Iexscan, MPI_Iexscan_c, MPI_Exscan_init, MPI_Exscan_init_c, __VA_ARGS__)
#define REDUCE_SCATTER(...)                                                                                                    \
    STARTED(MPI_Ireduce_scatter, MPI_Ireduce_scatter_c, MPI_Reduce_scatter_init, MPI_Reduce_scatter_init_c, __VA_ARGS__)
#define REDUCE_SCATTER_BLOCK(...)                                                                                              \
    STARTED(MPI_Ireduce_scatter_block, MPI_Ireduce_scatter_block_c, MPI_Reduce_scatter_block_init,                             \
            MPI_Reduce_scatter_block_init_c, __VA_ARGS__)

/// A collective, its buffers, and what must be in them in the end.
class operation {
    int me_, size_, n_;
    kind what_;
    bool again, large, in_place_, maps_; // maps_: combined by `after`, not by their sum
    int root_;
    MPI_Comm comm_;
    std::vector<int> table_; // [from * size + to]: ints that one has for the other
    std::vector<int> in_, out_, expected_;
    both out_counts_, in_counts_, in_displs_, out_displs_, in_bytes_, out_bytes_;
    std::vector<MPI_Datatype> types_;
    MPI_Datatype pair_ = MPI_DATATYPE_NULL;
    MPI_Op after_ = MPI_OP_NULL;

    bool is(std::initializer_list<kind> some) const { return std::ranges::count(some, what_) != 0; }
    int amount(int from, int to) const { return table_[static_cast<std::size_t>(from * size_ + to)]; }
    std::vector<int> piece(unsigned seed, int from, int to, int n) const {
        std::vector<int> v(static_cast<std::size_t>(n));
        for (int k = 0; k < n; ++k) v[static_cast<std::size_t>(k)] = value(seed, from, to, k);
        return v;
    }
    /// The elements of ranks 0 to last, combined.
    std::vector<int> fold(unsigned seed, int last, int n) const {
        auto sum = piece(seed, 0, 0, n);
        for (int r = 1; r <= last; ++r) {
            auto next = piece(seed, r, 0, n);
            int pairs = n / 2;
            if (maps_) after(sum.data(), next.data(), &pairs, nullptr);
            for (std::size_t i = 0; !maps_ && i < next.size(); ++i)
                next[i] = static_cast<int>(static_cast<unsigned>(next[i]) + static_cast<unsigned>(sum[i]));
            sum = next;
        }
        return sum;
    }
    static void append(std::vector<int>& to, std::vector<int> const& more) { to.insert(to.end(), more.begin(), more.end()); }

    void lay_out(dice& common) {
        bool const even = is({gather, scatter, allgather, alltoall, reduce_scatter_block});
        for (int i = 0; i < size_ * size_; ++i) table_.push_back(even ? n_ : 2 * static_cast<int>(common.below(40)));
        auto const by_rank = table_;
        bool const by_receiver = is({scatterv, reduce_scatter});
        for (int i = 0; !even && !is({alltoallv, alltoallw}) && i < size_ * size_; ++i) // these do not differ by pair
            table_[static_cast<std::size_t>(i)] = by_rank[static_cast<std::size_t>(by_receiver ? i % size_ : i / size_)];
        for (int r = 0, in = 0, out = 0; r < size_; ++r) {
            out_displs_.add(out), in_displs_.add(in);
            int const gives = is({scatterv, reduce_scatter}) ? amount(0, r) : amount(me_, r), takes = amount(r, me_);
            out_counts_.add(gives), in_counts_.add(takes);
            out_bytes_.add(4 * out), in_bytes_.add(4 * in);
            out += gives, in += takes;
            types_.push_back(MPI_INT);
        }
    }

public:
    MPI_Request handle = MPI_REQUEST_NULL;

    operation(int me, int size, MPI_Comm comm, dice& common, dice& own, bool persistent)
        : me_{me}, size_{size}, n_{2 * static_cast<int>(common.one_of({0, 1, 3, 50, 3000}))},
          what_{static_cast<kind>(common.below(mpt::c::test::collective_kinds))}, again{persistent}, large{own.coin()},
          in_place_{common.coin()}, maps_{common.coin()}, root_{static_cast<int>(common.below(static_cast<unsigned>(size)))},
          comm_{comm} {
        lay_out(common);
        MPI_Type_contiguous(2, MPI_INT, &pair_);
        MPI_Type_commit(&pair_);
        MPI_Op_create(&after, false, &after_);
    }
    operation(operation const&) = delete;
    /// A few elements of this kind, in this width.
    operation(int me, int size, MPI_Comm comm, dice& common, kind what, bool wide, bool persistent)
        : me_{me}, size_{size}, n_{6}, what_{what}, again{persistent}, large{wide}, in_place_{false}, maps_{false},
          root_{size - 1}, comm_{comm} {
        lay_out(common);
        MPI_Type_contiguous(2, MPI_INT, &pair_);
        MPI_Type_commit(&pair_);
        MPI_Op_create(&after, false, &after_);
    }

    /// What is sent, and what must come of it.
    void bring(unsigned seed) {
        std::vector<int> in;
        expected_.clear();
        bool const at_root = me_ == root_;
        if (what_ == broadcast) in = piece(seed, root_, 0, n_), expected_ = in;
        if (is({gather, gatherv, allgather, allgatherv})) {
            in = piece(seed, me_, 0, amount(me_, 0));
            for (int f = 0; f < size_; ++f) append(expected_, piece(seed, f, 0, amount(f, 0)));
        }
        if (is({scatter, scatterv})) {
            for (int t = 0; t < size_; ++t) append(in, piece(seed, root_, t, amount(0, t)));
            expected_ = piece(seed, root_, me_, amount(0, me_));
        }
        if (is({alltoall, alltoallv, alltoallw}))
            for (int t = 0; t < size_; ++t)
                append(in, piece(seed, me_, t, amount(me_, t))), append(expected_, piece(seed, t, me_, amount(t, me_)));
        if (is({reduce, allreduce, scan, exscan})) in = piece(seed, me_, 0, n_);
        if (is({reduce, allreduce})) expected_ = fold(seed, size_ - 1, n_);
        if (is({scan, exscan}) && (what_ == scan || me_ > 0)) expected_ = fold(seed, what_ == scan ? me_ : me_ - 1, n_);
        if (is({reduce_scatter, reduce_scatter_block})) {
            int all = 0, first = 0;
            for (int t = 0; t < size_; ++t) first = t == me_ ? all : first, all += amount(0, t);
            in = piece(seed, me_, 0, all);
            auto const whole = fold(seed, size_ - 1, all);
            expected_.assign(whole.begin() + first, whole.begin() + first + amount(0, me_));
        }
        if (!at_root && is({gather, gatherv, reduce})) expected_.clear();
        in_.resize(in.size());
        std::ranges::copy(in, in_.begin());
        out_.resize(expected_.size()); // keeps its place in a persistent operation: all rounds are of one size
        std::ranges::fill(out_, -7);
        if (what_ == broadcast && at_root) std::ranges::copy(in_, out_.begin());
        if (in_place_ && is({allreduce, scan})) std::ranges::copy(in_, out_.begin());
        if (in_place_ && is({allgather, allgatherv}))
            std::ranges::copy(in_, out_.begin() + in_displs_.small[static_cast<std::size_t>(me_)]);
        if (in_place_ && what_ == alltoall) std::ranges::copy(in_, out_.begin());
    }
    int begin() {
        void const* const from =
            in_place_ && is({allreduce, scan, allgather, allgatherv, alltoall}) ? MPI_IN_PLACE : in_.data();
        auto* const to = out_.data();
        auto const type = maps_ ? pair_ : MPI_INT;
        auto const op = maps_ ? after_ : MPI_SUM;
        auto const count = maps_ ? n_ / 2 : n_;
        int const mine = amount(me_, 0), part = amount(0, me_);
        auto const t = MPI_INT;
        both counts = out_counts_;
        for (std::size_t i = 0; maps_ && i < counts.small.size(); ++i) counts.small[i] /= 2, counts.wide[i] /= 2;
        switch (what_) {
        case barrier: return again ? MPI_Barrier_init(comm_, MPI_INFO_NULL, &handle) : MPI_Ibarrier(comm_, &handle);
        case broadcast: return BCAST(to, n_, t, root_, comm_);
        case gather: return GATHER(from, mine, t, to, n_, t, root_, comm_);
        case gatherv: return GATHERV(from, mine, t, to, in_counts_, in_displs_, t, root_, comm_);
        case scatter: return SCATTER(from, n_, t, to, n_, t, root_, comm_);
        case scatterv: return SCATTERV(from, out_counts_, out_displs_, t, to, part, t, root_, comm_);
        case allgather: return ALLGATHER(from, mine, t, to, n_, t, comm_);
        case allgatherv: return ALLGATHERV(from, mine, t, to, in_counts_, in_displs_, t, comm_);
        case alltoall: return ALLTOALL(from, n_, t, to, n_, t, comm_);
        case alltoallv: return ALLTOALLV(from, out_counts_, out_displs_, t, to, in_counts_, in_displs_, t, comm_);
        case alltoallw:
            return ALLTOALLW(from, out_counts_, out_bytes_, types_.data(), to, in_counts_, in_bytes_, types_.data(), comm_);
        case reduce: return REDUCE(from, to, count, type, op, root_, comm_);
        case allreduce: return ALLREDUCE(from, to, count, type, op, comm_);
        case scan: return SCAN(from, to, count, type, op, comm_);
        case exscan: return EXSCAN(from, to, count, type, op, comm_);
        case reduce_scatter: return REDUCE_SCATTER(from, to, counts, type, op, comm_);
        case reduce_scatter_block: return REDUCE_SCATTER_BLOCK(from, to, count, type, op, comm_);
        }
        return MPI_ERR_OTHER;
    }
    void forget() { // what is under way goes on
        MPI_Type_free(&pair_);
        MPI_Op_free(&after_);
    }
    bool is_right() const { return out_ == expected_; }
    kind what() const { return what_; }
};
using operations = std::vector<std::unique_ptr<operation>>;

/// Completes all of them, in an order and a way of this rank's own.
void complete(operations& all, dice& own) {
    std::vector<MPI_Request> requests;
    for (auto const& o : all) requests.push_back(o->handle);
    auto const n = static_cast<int>(requests.size());
    switch (own.below(4)) {
    case 0: EXPECT_EQ(MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS); break;
    case 1:
        for (int i = 0, index = 0; i < n; ++i)
            EXPECT_EQ(MPI_Waitany(n, requests.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
        break;
    case 2:
        for (auto r = requests.rbegin(); r != requests.rend(); ++r) EXPECT_EQ(MPI_Wait(&*r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        break;
    default:
        for (int done = 0; !done;) EXPECT_EQ(MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(all[i]->is_right()) << "kind " << static_cast<int>(all[i]->what());
        all[i]->handle = requests[i];
    }
}

template <class Program> void random_programs(unsigned how_many, Program program) {
    mpt::test::seeds const seeds{how_many};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !testing::Test::HasFailure(); ++seed)
        ranks(1 + static_cast<int>(seed % 5), [&](int me, int size) {
            dice common{seed}, own{seed + 7919u * static_cast<unsigned>(me + 1)};
            program(me, size, common, own);
            if (testing::Test::HasFailure()) ADD_FAILURE() << "replay with MPT_SEED=" << seed;
        });
}

TEST(CSchedules, ManyAtOnceGiveEverybodyWhatTheBlockingOnesWould) {
    random_programs(12, [](int me, int size, dice& common, dice& own) {
        for (int round = 0; round < 6; ++round) {
            auto const comm = dup_of(MPI_COMM_WORLD);
            operations all;
            for (auto n = 1 + common.below(40); n > 0; --n) {
                auto& o = *all.emplace_back(std::make_unique<operation>(me, size, comm, common, own, false));
                o.bring(common.seed());
                EXPECT_EQ(o.begin(), MPI_SUCCESS);
                o.forget();
                if (common.below(10) == 0) { EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS); }
            }
            auto gone = comm;
            EXPECT_EQ(MPI_Comm_free(&gone), MPI_SUCCESS);
            complete(all, own);
            for (auto const& o : all) EXPECT_EQ(o->handle, MPI_REQUEST_NULL);
        }
    });
}

TEST(CSchedules, EachKindIsThereInBothWidthsBegunAndPersistent) {
    ranks(3, [](int me, int size) {
        dice common{4711};
        for (int what = 0; what < static_cast<int>(mpt::c::test::collective_kinds); ++what)
            for (int const form : {0, 1, 2, 3}) {
                bool const wide = form % 2, persistent = form / 2;
                operation o{me, size, MPI_COMM_WORLD, common, static_cast<kind>(what), wide, persistent};
                o.bring(common.seed());
                EXPECT_EQ(o.begin(), MPI_SUCCESS);
                o.forget();
                if (persistent) { EXPECT_EQ(MPI_Start(&o.handle), MPI_SUCCESS); }
                EXPECT_EQ(MPI_Wait(&o.handle, MPI_STATUS_IGNORE), MPI_SUCCESS);
                EXPECT_TRUE(o.is_right()) << "kind " << what << (wide ? ", wide" : "") << (persistent ? ", persistent" : "");
                if (persistent) { EXPECT_EQ(MPI_Request_free(&o.handle), MPI_SUCCESS); }
            }
    });
}

TEST(CSchedules, PersistentOnesDoItAgainAndAgain) {
    random_programs(10, [](int me, int size, dice& common, dice& own) {
        operations all;
        for (auto n = 1 + common.below(20); n > 0; --n) {
            auto& o = *all.emplace_back(std::make_unique<operation>(me, size, MPI_COMM_WORLD, common, own, true));
            o.bring(common.seed());
            EXPECT_EQ(o.begin(), MPI_SUCCESS);
            o.forget();
        }
        for (int round = 0; round < 5; ++round) {
            std::vector<MPI_Request> requests;
            for (auto const& o : all) o->bring(common.seed()), requests.push_back(o->handle);
            if (common.coin()) {
                EXPECT_EQ(MPI_Startall(static_cast<int>(requests.size()), requests.data()), MPI_SUCCESS);
            } else
                for (auto const& o : all) EXPECT_EQ(MPI_Start(&o->handle), MPI_SUCCESS);
            complete(all, own);
        }
        for (auto const& o : all) EXPECT_EQ(MPI_Request_free(&o->handle), MPI_SUCCESS);
    });
}

/// Waits for one by each of the calls that can, in turn.
void end_by_turns(MPI_Request& r, int round) {
    int done = 0, at = -1;
    switch (round % 4) {
    case 0: EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS); break;
    case 1:
        while (!done) EXPECT_EQ(MPI_Test(&r, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
        break;
    case 2: EXPECT_EQ(MPI_Waitall(1, &r, MPI_STATUSES_IGNORE), MPI_SUCCESS); break;
    default: EXPECT_EQ(MPI_Waitany(1, &r, &at, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    EXPECT_EQ(r, MPI_REQUEST_NULL);
}

/// What a call was made with is the same, or differs in one thing; what is in the buffers is new each time.
TEST(CSchedules, TheSameCallAgainIsAnotherCollective) {
    for (int n : {1, 2, 3})
        ranks(n, [](int me, int size) {
            std::array<long, 24> in{}, sum{}, told{};
            for (int round = 0; round < 200; ++round) {
                int const count = round % 3 == 0 ? 1 + round % 24 : 8; // more calls than are kept, and one of them often
                int const root = round % 5 == 0 ? round / 5 % size : 0;
                for (std::size_t i = 0; i < in.size(); ++i) in[i] = me * 100 + round + static_cast<long>(i);
                sum.fill(-1), told.fill(me == root ? round : -1);
                MPI_Request first = MPI_REQUEST_NULL, second = MPI_REQUEST_NULL;
                MPI_Iallreduce(in.data(), sum.data(), count, MPI_LONG, round % 7 == 0 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD,
                               &first);
                MPI_Ibcast(told.data(), count, MPI_LONG, root, MPI_COMM_WORLD, &second);
                end_by_turns(round % 2 ? first : second, round);
                end_by_turns(round % 2 ? second : first, round + me);
                for (std::size_t i = 0; i < in.size(); ++i) {
                    auto const one = round + static_cast<long>(i);
                    auto const all = round % 7 == 0 ? one + 100 * (size - 1) : one * size + 50L * size * (size - 1);
                    bool const has = i < static_cast<std::size_t>(count);
                    ASSERT_EQ(sum[i], has ? all : -1) << "round " << round << ", " << i;
                    ASSERT_EQ(told[i], has || me == root ? round : -1) << "round " << round << ", " << i;
                }
            }
        });
}

/// The object is the same, and holds its communicator only as long as it is under way.
TEST(CSchedules, WhatIsOverRestsForTheSameCall) {
    ranks(2, [](int, int) {
        auto& b = mpt::c::here();
        std::array<long, 4> in{}, out{};
        mpt::c::ref<mpt::c::request> held; // so that no other one has its memory
        auto const begin = [&](int count, MPI_Op op) {
            MPI_Request r = MPI_REQUEST_NULL;
            MPI_Iallreduce(in.data(), out.data(), count, MPI_LONG, op, MPI_COMM_WORLD, &r);
            return r;
        };
        for (int round = 0; round < 12; ++round) {
            auto r = begin(4, MPI_SUM);
            auto* const found = b.requests.find_handle(r);
            ASSERT_NE(found, nullptr);
            if (held) { EXPECT_EQ(found, held.get()); }
            held = mpt::c::ref<mpt::c::request>{*found};
            EXPECT_FALSE(mpt::c::collective_request::of(held).rests());
            end_by_turns(r, round);
            EXPECT_TRUE(mpt::c::collective_request::of(held).rests());
        }
        auto other = begin(3, MPI_SUM), first = begin(4, MPI_SUM), another = begin(4, MPI_MAX);
        EXPECT_NE(b.requests.find_handle(other), held.get());
        EXPECT_NE(b.requests.find_handle(another), held.get());
        EXPECT_EQ(b.requests.find_handle(first), held.get());
        end_by_turns(another, 0), end_by_turns(first, 0), end_by_turns(other, 0);
    });
}

/// What a user's operation does, and what combines many elements, is an errand of a thread that waits: no wait looks on meanwhile.
TEST(CSchedules, AWaitThatSpinsForEverRunsItsErrand) {
    ::setenv("MPT_WAIT", "spin", 1);
    ranks(2, [](int me, int size) {
        std::vector<long> in(5000, me + 1), out(5000);
        for (int round = 0; round < 20; ++round) {
            MPI_Request r = MPI_REQUEST_NULL;
            MPI_Iallreduce(in.data(), out.data(), 5000, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &r);
            end_by_turns(r, 0);
            ASSERT_EQ(out, std::vector<long>(5000, size * (size + 1) / 2));
        }
    });
    ::unsetenv("MPT_WAIT");
}

/// Ranks that wait for a duplicate in the short way, and those that do not, have the same communicator afterwards, and no other one's.
TEST(CSchedules, DuplicatesHaveContextsOfTheirOwnHoweverTheyAreWaitedFor) {
    ranks(2, [](int me, int) {
        for (int round = 0; round < 8; ++round) {
            MPI_Comm one = MPI_COMM_NULL, two = MPI_COMM_NULL;
            MPI_Request r = MPI_REQUEST_NULL;
            MPI_Comm_idup(MPI_COMM_WORLD, &one, &r);
            end_by_turns(r, round + me);
            MPI_Comm_idup(MPI_COMM_WORLD, &two, &r);
            end_by_turns(r, round + 2 * me);
            int flag = -1, token = me;
            MPI_Send(&token, 1, MPI_INT, 1 - me, 0, one);
            MPI_Sendrecv(&me, 1, MPI_INT, 1 - me, 1, &token, 1, MPI_INT, 1 - me, 1, two, MPI_STATUS_IGNORE);
            MPI_Iprobe(1 - me, 0, two, &flag, MPI_STATUS_IGNORE);
            EXPECT_EQ(flag, 0) << "what was sent on the other one";
            MPI_Recv(&token, 1, MPI_INT, 1 - me, 0, one, MPI_STATUS_IGNORE);
            EXPECT_EQ(token, 1 - me);
            MPI_Comm_free(&one), MPI_Comm_free(&two);
        }
    });
}

/// A communicator that is freed goes, also while what was begun on it is under way; the next one may have its place.
TEST(CSchedules, WhatWasBegunOnACommunicatorIsNotBegunAgainOnAnother) {
    ranks(3, [](int me, int size) {
        long mine = 0, all = 0, seen = 0;
        int keyval = MPI_KEYVAL_INVALID;
        auto const count = [](MPI_Comm, int, void* at, void*) -> int { return ++*static_cast<long*>(at), MPI_SUCCESS; };
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count, &keyval, nullptr);
        for (int round = 0; round < 40; ++round) {
            MPI_Comm turned = MPI_COMM_NULL;
            MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 ? size - me : me, &turned);
            MPI_Comm_set_attr(turned, keyval, &seen);
            int rank = -1;
            MPI_Comm_rank(turned, &rank);
            for (int times = 0; times < 3; ++times) {
                mine = rank == 0 ? me + 10 * round : -1;
                MPI_Request r = MPI_REQUEST_NULL;
                MPI_Ibcast(&mine, 1, MPI_LONG, 0, turned, &r);
                end_by_turns(r, round + times);
                ASSERT_EQ(mine, (round % 2 ? size - 1 : 0) + 10 * round);
            }
            mine = me, all = -1;
            MPI_Request last = MPI_REQUEST_NULL;
            MPI_Iallreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, turned, &last);
            MPI_Comm_free(&turned);
            end_by_turns(last, round);
            ASSERT_EQ(all, size * (size - 1) / 2);
            ASSERT_EQ(seen, round + 1);
        }
        MPI_Comm_free_keyval(&keyval);
    });
}

// Blocking ones and persistent ones among them, between the sides of intercommunicators too.
TEST(CSchedules, CommunicatorsThatOverlapDoNotMixTheirsUp) {
    mpt::test::seeds const seeds{12};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !HasFailure(); ++seed)
        ranks(1 + static_cast<int>(seed % 6), [seed](int, int size) {
            auto const faults = mpt::c::test::random_collectives{seed}.run(400);
            EXPECT_EQ(faults, "") << size << " ranks; replay with MPT_SEED=" << seed;
        });
}

TEST(CSchedules, AThousandAreUnderWay) {
    ranks(3, [](int me, int size) {
        std::vector<int> in(1000), out(1000);
        std::vector<MPI_Request> r(1000);
        for (std::size_t i = 0; i < r.size(); ++i) {
            in[i] = me + static_cast<int>(i);
            MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[i]);
        }
        EXPECT_EQ(MPI_Waitall(1000, r.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (std::size_t i = 0; i < r.size(); ++i) EXPECT_EQ(out[i], 3 + size * static_cast<int>(i));
    });
}

TEST(CSchedules, ABarrierIsPassedWhenAllHaveCome) {
    ranks(3, [](int me, int) {
        MPI_Request r = MPI_REQUEST_NULL;
        int flag = -1, cancelled = -1, token = 0;
        MPI_Status status;
        for (int from = 0; from < 2 && me == 2; ++from) // which have asked by then
            MPI_Recv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(MPI_Ibarrier(MPI_COMM_WORLD, &r), MPI_SUCCESS);
        for (int i = 0; i < 20 && me != 2; ++i) {
            EXPECT_EQ(MPI_Request_get_status(r, &flag, &status), MPI_SUCCESS);
            EXPECT_FALSE(flag);
        }
        if (me != 2) MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
        EXPECT_EQ(MPI_Wait(&r, &status), MPI_SUCCESS);
        MPI_Test_cancelled(&status, &cancelled);
        EXPECT_FALSE(cancelled);
    });
}

TEST(CSchedules, WhatIsUnderWayIsNeitherCancelledNorFreed) {
    ranks(2, [](int me, int) {
        int x = me;
        MPI_Request r = MPI_REQUEST_NULL, again = MPI_REQUEST_NULL;
        MPI_Ibcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD, &r);
        MPI_Bcast_init(&x, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &again);
        expect_failure(MPI_Cancel(&r), MPI_ERR_REQUEST, {"MPI_Cancel", "collective", "cannot be cancelled"});
        expect_failure(MPI_Request_free(&r), MPI_ERR_REQUEST, {"MPI_Request_free", "cannot be freed"});
        expect_failure(MPI_Start(&r), MPI_ERR_REQUEST, {"not persistent"});
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Start(&again), MPI_SUCCESS);
        expect_failure(MPI_Request_free(&again), MPI_ERR_REQUEST, {"cannot be freed"});
        expect_failure(MPI_Start(&again), MPI_ERR_REQUEST, {"active already"});
        EXPECT_EQ(MPI_Wait(&again, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Request_free(&again), MPI_SUCCESS);
        EXPECT_EQ(x, 0);
    });
}

TEST(CSchedules, ArgumentsAreCheckedBeforeAnythingBegins) {
    ranks(2, [](int me, int) {
        int x[2] = {}, y[4] = {};
        MPI_Request r = MPI_REQUEST_NULL;
        auto const world = MPI_COMM_WORLD;
        expect_failure(MPI_Ibcast(x, -1, MPI_INT, 0, world, &r), MPI_ERR_COUNT, {"MPI_Ibcast", "count is -1"});
        expect_failure(MPI_Igather(x, 1, MPI_INT, y, 1, MPI_INT, 2, world, &r), MPI_ERR_ROOT, {"root is 2"});
        expect_failure(MPI_Igather(MPI_IN_PLACE, 1, MPI_INT, y, 1, MPI_INT, 1 - me, world, &r), MPI_ERR_BUFFER, {"root only"});
        expect_failure(MPI_Iallgather(x, 1, MPI_INT, x, 1, MPI_INT, world, &r), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Allreduce_init(x, x, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &r), MPI_ERR_BUFFER,
                       {"same memory"});
        expect_failure(MPI_Iallreduce(x, y, 1, MPI_FLOAT, MPI_BAND, world, &r), MPI_ERR_OP, {"MPI_BAND"});
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        x[0] = me;
        EXPECT_EQ(MPI_Iallreduce(x, y, 1, MPI_INT, MPI_SUM, world, &r), MPI_SUCCESS); // the ranks still agree
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(y[0], 1);
    });
}

TEST(CSchedules, CommunicatorsAreMadeWhileOtherThingsGoOn) {
    ranks(4, [](int me, int size) {
        std::vector<MPI_Comm> made(20, MPI_COMM_NULL);
        std::vector<MPI_Request> r(20, MPI_REQUEST_NULL);
        int key = 0, value = 7, flag = 0, x = me, sum = 0;
        void* got = nullptr;
        MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
        MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
        for (std::size_t i = 0; i < made.size(); ++i) {
            auto const code = i % 2 == 0 ? MPI_Comm_idup(MPI_COMM_WORLD, &made[i], &r[i])
                                         : MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made[i], &r[i]);
            EXPECT_EQ(code, MPI_SUCCESS);
            MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            EXPECT_EQ(sum, size * (size - 1) / 2);
        }
        MPI_Comm_delete_attr(MPI_COMM_WORLD, key); // the twins have theirs already
        std::reverse(r.begin(), r.end());
        EXPECT_EQ(MPI_Waitall(20, r.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (auto& c : made) {
            expect_ring(c);
            MPI_Comm_get_attr(c, key, &got, &flag);
            EXPECT_TRUE(flag && got == &value);
            int like = -1;
            MPI_Comm_compare(c, MPI_COMM_WORLD, &like);
            EXPECT_EQ(like, MPI_CONGRUENT);
            EXPECT_EQ(MPI_Comm_free(&c), MPI_SUCCESS);
        }
        MPI_Comm_free_keyval(&key);
    });
}

TEST(CSchedules, DifferentSizesAreToldByTheWait) {
    ranks(2, [](int me, int) {
        int data[4] = {};
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Ibcast(data, me == 0 ? 4 : 2, MPI_INT, 0, MPI_COMM_WORLD, &r), MPI_SUCCESS);
        auto const code = MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (me == 1) expect_failure(code, MPI_ERR_TRUNCATE, {"MPI_Wait", "16 bytes", "8 were expected", "from rank 0"});
        EXPECT_TRUE(me == 1 || code == MPI_SUCCESS);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    });
}

TEST(CSchedules, WhatAnOperationThrowsComesOutOfTheWait) {
    ranks(2, [](int me, int) {
        int x = me, y = 0;
        MPI_Op op = MPI_OP_NULL;
        MPI_Op_create([](void*, void*, int*, MPI_Datatype*) { throw std::domain_error{"no such sum"}; }, true, &op);
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Iallreduce(&x, &y, 1, MPI_INT, op, MPI_COMM_WORLD, &r), MPI_SUCCESS);
        MPI_Op_free(&op);
        EXPECT_THROW(MPI_Wait(&r, MPI_STATUS_IGNORE), std::domain_error);
        EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    });
}

TEST(CSchedules, ThreadsBeginThemOnCommunicatorsOfTheirOwn) {
    ranks(3, [](int me, int size) {
        auto const work = [&](MPI_Comm c) {
            for (int round = 0; round < 30; ++round) {
                std::vector<int> in(20, me + round), out(20);
                std::vector<MPI_Request> r(20);
                for (std::size_t i = 0; i < 20; ++i) MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, c, &r[i]);
                EXPECT_EQ(MPI_Waitall(20, r.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
                EXPECT_EQ(out, std::vector<int>(20, size * round + size * (size - 1) / 2));
            }
        };
        auto own = dup_of(MPI_COMM_WORLD);
        auto other = thread_of_rank([&] { work(own); });
        work(MPI_COMM_WORLD);
        other.join();
        MPI_Comm_free(&own);
    });
}

} // namespace
