// Random programs of collectives on communicators that overlap (so on several lanes), with random pauses between them, against what
// each collective must give. A failing seed is printed; MPT_SEED=n runs that one alone.
#include <thread>

#include <gtest/gtest.h>
#include <mpt/mpt.hpp>

#include "support/dice.hpp"

namespace {
using namespace mpt::test;

/// What rank r of a communicator brings: n numbers.
std::vector<long> brought(unsigned seed, int r, std::size_t n) {
    std::vector<long> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<long>((seed % 1000) + 17u * static_cast<unsigned>(r) + i % 100);
    return v;
}
/// A function x -> a x + b, wrapping: chains of them associate, and do not commute.
struct affine {
    unsigned a, b;
    friend bool operator==(affine const&, affine const&) = default;
};
affine after(affine f, affine g) { return {f.a * g.a, f.a * g.b + f.b}; }
affine affine_of(unsigned seed, int r) { return {seed * 2 + 1, seed + static_cast<unsigned>(r)}; }
affine chain(unsigned seed, int first, int last) {
    auto all = affine_of(seed, first);
    for (int r = first + 1; r <= last; ++r) all = after(all, affine_of(seed, r));
    return all;
}

enum class what {
    barrier,
    broadcast,
    gather,
    gatherv,
    scatter,
    allgatherv,
    alltoall,
    alltoallv,
    reduce,
    allreduce,
    reduce_scatter,
    scan,
    exscan,
    last
};

/// One collective on one communicator; EXPECT_ only: whoever went away would keep the others waiting.
template <class Comm> class call {
    Comm const& comm_;
    unsigned seed_;
    std::size_t n_;
    int me_, size_, root_;

    std::vector<long> of(int r) const { return brought(seed_, r, n_); }
    std::vector<long> list(int r, int q = 0) const {
        return brought(seed_, r, (n_ + static_cast<unsigned>(7 * r + 3 * q)) % 5000);
    }
    /// Every rank's numbers, one after the other.
    std::vector<long> everybodys() const {
        std::vector<long> all;
        for (int r = 0; r < size_; ++r)
            for (long x : of(r)) all.push_back(x);
        return all;
    }
    std::vector<long> sum() const {
        std::vector<long> all(n_);
        for (int r = 0; r < size_; ++r)
            for (std::size_t i = 0; auto x : of(r)) all[i++] += x;
        return all;
    }
    bool at_root() const { return me_ == root_; }

public:
    call(Comm const& comm, unsigned seed, std::size_t n)
        : comm_{comm}, seed_{seed}, n_{n}, me_{comm.rank()}, size_{comm.size()},
          root_{static_cast<int>(seed % static_cast<unsigned>(comm.size()))} {}

    bool data(what w) const {
        switch (w) {
        case what::barrier: return comm_.barrier(), true;
        case what::broadcast: {
            auto v = at_root() ? of(root_) : std::vector<long>(n_);
            comm_.broadcast(v, root_);
            return v == of(root_);
        }
        case what::gather: return comm_.gather(of(me_), root_) == (at_root() ? everybodys() : std::vector<long>{});
        case what::gatherv: {
            auto const all = comm_.gatherv(list(me_), root_);
            for (std::size_t r = 0; r < all.size(); ++r)
                if (all[r] != list(static_cast<int>(r))) return false;
            return all.size() == (at_root() ? static_cast<std::size_t>(size_) : 0);
        }
        case what::scatter: {
            std::vector<long> mine(n_);
            comm_.scatter(at_root() ? everybodys() : std::vector<long>{}, mine, root_);
            return mine == of(me_);
        }
        case what::allgatherv: {
            auto const all = comm_.allgatherv(list(me_));
            for (std::size_t r = 0; r < all.size(); ++r)
                if (all[r] != list(static_cast<int>(r))) return false;
            return true;
        }
        default: return crossing(w);
        }
    }

private:
    bool crossing(what w) const {
        if (w == what::alltoall) {
            std::vector<long> mine, expected;
            for (int r = 0; r < size_; ++r) mine.push_back(100 * me_ + r), expected.push_back(100 * r + me_);
            return comm_.alltoall(mine) == expected;
        }
        if (w == what::alltoallv) {
            std::vector<std::vector<long>> mine;
            for (int r = 0; r < size_; ++r) mine.push_back(list(me_, r));
            auto const all = comm_.alltoallv(mine);
            for (int r = 0; r < size_; ++r)
                if (all[static_cast<std::size_t>(r)] != list(r, me_)) return false;
            return true;
        }
        return reduced(w);
    }
    bool reduced(what w) const {
        auto v = of(me_);
        switch (w) {
        case what::reduce: comm_.reduce(v, std::plus{}, root_); return v == (at_root() ? sum() : of(me_));
        case what::allreduce: comm_.allreduce(v); return v == sum();
        case what::reduce_scatter: {
            std::vector<std::size_t> counts(static_cast<std::size_t>(size_));
            counts[static_cast<std::size_t>(root_)] = n_;
            return comm_.reduce_scatter(v, counts) == (at_root() ? sum() : std::vector<long>{});
        }
        case what::scan: return comm_.scan(affine_of(seed_, me_), after) == chain(seed_, 0, me_);
        default: {
            auto const got = comm_.exscan(affine_of(seed_, me_), after);
            return me_ == 0 ? !got : got == chain(seed_, 0, me_ - 1);
        }
        }
    }
};

/// Communicators: the world, a copy, and two splits of the world that overlap; some ranks are in one, some in both.
template <class World> void run(World world, unsigned seed) {
    using comm = mpt::communicator<typename World::stack_type>;
    dice common{seed}, own{seed + 31u * static_cast<unsigned>(world.rank() + 1)};
    std::vector<comm> comms;
    comms.push_back(world.dup());
    comms.push_back(world.dup());
    for (unsigned parts : {2u, 3u}) {
        auto const color = dice{seed + parts * 1000 + static_cast<unsigned>(world.rank())}.below(parts);
        if (auto c = world.split(static_cast<int>(color), -world.rank())) comms.push_back(std::move(*c));
    }
    for (int i = 0; i < 40; ++i) {
        auto const which = common.below(static_cast<unsigned>(comms.size()));
        auto const w = static_cast<what>(common.below(static_cast<unsigned>(what::last)));
        auto const n = common.one_of<std::size_t>({0, 1, 3, 16, 100, 1024, 2049, 4100, 17000});
        auto const s = common.seed();
        if (own.below(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds{own.below(300)});
        EXPECT_TRUE(call(comms[which], s, n).data(w))
            << "step " << i << ", collective " << static_cast<int>(w) << ", communicator " << which << ", n " << n;
    }
}

template <class Stack> void programs(char const* lanes, unsigned how_many) {
    seeds const s{how_many};
    auto const values = mpt::config::values{}.set<"MPT_LANES">(lanes);
    for (unsigned seed = s.first; seed != s.first + s.count && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        mpt::local_job<Stack>(static_cast<int>(1 + seed % 7), values, [&](auto world) { run(world, seed); });
        if (testing::Test::HasFailure()) ADD_FAILURE() << "replay with MPT_SEED=" << seed;
    }
}

TEST(mpi_collectives_random, programs_over_shared_memory_on_one_lane) { programs<mpt::local_stack>("1", 25); }
TEST(mpi_collectives_random, programs_over_shared_memory_on_three_lanes) { programs<mpt::local_stack>("3", 25); }
TEST(mpi_collectives_random, programs_over_byte_streams_on_one_lane) { programs<mpt::local_stream_stack>("1", 15); }
TEST(mpi_collectives_random, programs_over_byte_streams_on_three_lanes) { programs<mpt::local_stream_stack>("3", 15); }
} // namespace
