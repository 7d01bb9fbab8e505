/// test/support/other_sizes - collectives whose ranks do not agree how large the data are, drawn by dice that all throw alike. Nobody may
/// wait for ever; who expects another size than comes is told; and where all agree the data are right. EXPECT_ only.
///
///        other_sizes what{common, n};        what.call(team, data)        what.expect(...)
#pragma once
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "dice.hpp"
#include <gtest/gtest.h>
#include <mpt/coll/allgather.hpp>
#include <mpt/coll/allreduce.hpp>
#include <mpt/coll/alltoall.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/gather.hpp>
#include <mpt/coll/reduce.hpp>
#include <mpt/coll/scan.hpp>
#include <mpt/coll/scatter.hpp>

namespace mpt::test {

class other_sizes {
public:
    enum class call : unsigned { broadcast, gather, scatter, allgather, alltoall, allreduce, reduce, scan, exscan };

private:
    call what_;
    int root_;
    std::vector<std::size_t> sizes_; // by rank, in longs

    static void add(void*, std::byte const* left, std::byte* right, std::size_t n) {
        auto const* l = reinterpret_cast<long const*>(left);
        auto* r = reinterpret_cast<long*>(right);
        for (std::size_t i = 0; i < n; ++i) r[i] += l[i];
    }
    static constexpr auto sum = coll::operand::array(sizeof(long), true, nullptr, &add);

public:
    /// sizes: two of these.
    other_sizes(call what, std::initializer_list<std::size_t> sizes, dice& common, int n)
        : what_{what}, root_{static_cast<int>(common.below(static_cast<unsigned>(n)))} {
        auto const usual = common.one_of<std::size_t>(sizes), other = common.one_of<std::size_t>(sizes);
        for (int r = 0; r < n; ++r) sizes_.push_back(common.below(3) == 0 ? other : usual);
    }
    other_sizes(dice& common, int n) : other_sizes{static_cast<call>(common.below(9)), {1, 2, 3, 12, 13, 100}, common, n} {}

    std::size_t size(int r) const { return sizes_[static_cast<std::size_t>(r)]; }
    bool agree() const { return std::ranges::count(sizes_, sizes_[0]) == std::ssize(sizes_); }
    /// Room for what a rank has and gets: twice one piece for each rank.
    std::vector<long> data(int me) const { return std::vector<long>(2 * sizes_.size() * size(me), me + 1); }

    template <class Team> void run(Team const& t, std::vector<long>& data) const {
        auto const n = size(t.me()), all = n * sizes_.size();
        auto const bytes = std::as_writable_bytes(std::span{data});
        auto const one = bytes.first(n * sizeof(long)), out = bytes.first(all * sizeof(long)), in = bytes.subspan(out.size());
        coll::const_blocks const pieces{out, one.size()};
        coll::blocks const places{in, one.size()};
        switch (what_) {
        case call::broadcast: return coll::broadcast(t, one, root_);
        case call::gather: return coll::gather(t, source{one}, places, root_);
        case call::scatter: return coll::scatter(t, pieces, sink{places(0).in}, root_);
        case call::allgather: return coll::allgather(t, source{one}, places);
        case call::alltoall: return coll::alltoall(t, pieces, places);
        case call::allreduce: return coll::allreduce(t, sum, one.data(), in.data(), n);
        case call::reduce: return coll::reduce(t, sum, one.data(), in.data(), n, root_);
        case call::scan: return coll::scan(t, sum, one.data(), in.data(), n);
        case call::exscan: return coll::exscan(t, sum, one.data(), in.data(), n);
        }
    }
    /// failed: on this rank. anybody: on any.
    void expect(int me, std::vector<long> const& data, bool failed, bool anybody) const {
        auto const said = testing::Message() << "call " << static_cast<unsigned>(what_) << ", root " << root_ << ", rank " << me
                                             << " of " << sizes_.size() << ", sizes " << testing::PrintToString(sizes_);
        EXPECT_EQ(anybody, !agree()) << said;
        if (what_ == call::broadcast && !failed) {
            EXPECT_EQ(size(me), size(root_)) << said;
            EXPECT_EQ(data[size(me) - 1], root_ + 1) << said;
        }
        if (what_ == call::broadcast && me == root_) { EXPECT_FALSE(failed) << said; }
        if (what_ == call::allreduce) { EXPECT_EQ(failed, anybody) << said; }
        if (what_ == call::allreduce && !failed) {
            auto const n = static_cast<long>(sizes_.size());
            EXPECT_EQ(data[sizes_.size() * size(me)], n * (n + 1) / 2) << said;
        }
    }
};

/// Some of them, each followed by a collective in which all agree. run(what, data) throws mpt::error where the sizes differ.
template <class Team, class Run> void disagree(Team const& t, dice& common, int steps, Run const& run) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
        other_sizes const what{common, t.size()};
        auto data = what.data(t.me());
        std::int64_t failed = 0, anybody = 0;
        try {
            run(what, data);
        } catch (error const& e) {
            EXPECT_EQ(e.code(), errc::truncate) << e.what();
            failed = 1;
        }
        std::vector<std::int64_t> all(static_cast<std::size_t>(t.size()));
        coll::allgather(t, source{&failed, sizeof failed}, coll::blocks{std::as_writable_bytes(std::span{all}), sizeof failed});
        anybody = *std::ranges::max_element(all);
        what.expect(t.me(), data, failed != 0, anybody != 0);
    }
}

} // namespace mpt::test
