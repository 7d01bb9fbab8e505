/// test/support/any_collective - one collective of a team, drawn by dice that all ranks throw alike, with data of any layout and every
/// size that an algorithm makes a difference of; checked against what it must give. EXPECT_ only.
#pragma once
#include <deque>

#include "matrices.hpp"
#include "scattered.hpp"
#include <gtest/gtest.h>
#include <mpt/coll/allgather.hpp>
#include <mpt/coll/allreduce.hpp>
#include <mpt/coll/alltoall.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/gather.hpp>
#include <mpt/coll/reduce.hpp>
#include <mpt/coll/scan.hpp>
#include <mpt/coll/scatter.hpp>

namespace mpt::test {

template <class Team> class any_collective {
    Team const& team_;
    dice& own_;
    unsigned seed_;
    int me_, n_, root_;
    std::size_t large_, small_; // bytes of a rank; of a piece where a rank has one for each

    using pieces = std::deque<scattered>;
    void make(pieces& p, std::size_t size) {
        for (int r = 0; r < n_; ++r) p.emplace_back(size, own_);
    }
    static auto out_of(pieces& p) {
        return [&p](std::int32_t r) { return p[static_cast<std::size_t>(r)].out(); };
    }
    static auto into(pieces& p) {
        return [&p](std::int32_t r) { return p[static_cast<std::size_t>(r)].in(); };
    }
    static auto both(pieces& p) {
        return [&p](std::int32_t r) { return p[static_cast<std::size_t>(r)].both(); };
    }
    void expect(scattered const& got, int from, int to, char const* call) {
        EXPECT_TRUE(got.packed() == values_of(seed_, from, to, got.size()))
            << call << ": " << got.size() << " bytes from " << from << " at " << me_ << " of " << n_ << ", root " << root_;
        EXPECT_TRUE(got.whole()) << call;
    }
    /// From each r what it has for q(r).
    template <class Q> void expect_all(pieces const& all, Q const& to, char const* call) {
        for (int r = 0; r < n_; ++r) expect(all[static_cast<std::size_t>(r)], r, to(r), call);
    }

    void broadcast() {
        scattered data{large_, own_};
        if (me_ == root_) data.fill(values_of(seed_, root_, 0, large_));
        coll::broadcast(team_, data.both(), root_);
        expect(data, root_, 0, "broadcast");
    }
    void gather(bool of_sizes) {
        pieces all;
        auto const size = [&](int r) { return of_sizes ? large_ / static_cast<std::size_t>(r + 1) : large_; };
        for (int r = 0; r < n_; ++r) all.emplace_back(size(r), own_);
        scattered mine{size(me_), own_};
        mine.fill(values_of(seed_, me_, 0, size(me_)));
        if (of_sizes) coll::gatherv(team_, mine.out(), into(all), root_);
        else coll::gather(team_, mine.out(), into(all), root_);
        if (me_ == root_)
            expect_all(
                all, [](int) { return 0; }, "gather");
    }
    void scatter() {
        pieces all;
        make(all, small_);
        for (int r = 0; me_ == root_ && r < n_; ++r) all[static_cast<std::size_t>(r)].fill(values_of(seed_, root_, r, small_));
        scattered mine{small_, own_};
        coll::scatter(team_, out_of(all), mine.in(), root_);
        expect(mine, root_, me_, "scatter");
    }
    void allgather() {
        pieces all;
        bool const equal = seed_ % 2 == 0;
        for (int r = 0; r < n_; ++r) all.emplace_back(equal ? large_ : large_ * static_cast<unsigned>(r % 3) / 2, own_);
        auto& mine = all[static_cast<std::size_t>(me_)];
        mine.fill(values_of(seed_, me_, 0, mine.size()));
        coll::allgather(team_, coll::in_place, both(all));
        expect_all(
            all, [](int) { return 0; }, "allgather");
    }
    void alltoall(bool of_sizes) {
        pieces mine, all;
        auto const size = [&](int from, int to) {
            return of_sizes ? small_ / static_cast<std::size_t>(1 + (from + 2 * to) % 3) : small_;
        };
        for (int r = 0; r < n_; ++r) {
            mine.emplace_back(size(me_, r), own_), all.emplace_back(size(r, me_), own_);
            mine.back().fill(values_of(seed_, me_, r, size(me_, r)));
        }
        if (of_sizes) coll::alltoallv(team_, out_of(mine), into(all));
        else coll::alltoall(team_, out_of(mine), into(all));
        expect_all(
            all, [this](int) { return me_; }, "alltoall");
    }
    void expect_sum(matrices& all, bool commutes, int last, char const* call) {
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all.get(i) != combined(commutes, seed_, 0, last, i)) {
                ADD_FAILURE() << call << ": element " << i << " of " << all.size() << (commutes ? ", commutes" : "") << " at "
                              << me_ << " of " << n_ << ", root " << root_;
                break;
            }
    }
    enum class reduction { reduce, allreduce, scan, exscan };
    void reduce(reduction what) {
        bool const commutes = seed_ % 2 == 0, in_place = seed_ % 3 == 0;
        matrices mine{large_ / 16, own_};
        mine.bring(seed_, me_);
        auto all = mine;
        if (!in_place) all.bring(0, 0);
        auto const op = all.either(commutes);
        auto const n = mine.size();
        auto* const given = in_place ? nullptr : mine.origin();
        switch (what) {
        case reduction::reduce: // in place at the root only
            coll::reduce(team_, op, in_place && me_ == root_ ? nullptr : mine.origin(), all.origin(), n, root_);
            if (me_ == root_) expect_sum(all, commutes, n_ - 1, "reduce");
            return;
        case reduction::allreduce:
            coll::allreduce(team_, op, given, all.origin(), n);
            return expect_sum(all, commutes, n_ - 1, "allreduce");
        case reduction::scan: coll::scan(team_, op, given, all.origin(), n); return expect_sum(all, commutes, me_, "scan");
        case reduction::exscan:
            coll::exscan(team_, op, given, all.origin(), n);
            if (me_ != 0) expect_sum(all, commutes, me_ - 1, "exscan");
        }
    }

public:
    any_collective(Team const& team, dice& common, dice& own)
        : team_{team}, own_{own}, seed_{common.seed()}, me_{team.me()}, n_{team.size()},
          root_{static_cast<int>(common.below(static_cast<unsigned>(n_)))},
          large_{common.one_of<std::size_t>({0, 16, 32, 1008, 1024, 1040, 8192, 8208, 20000, 32768, 32784, 100000})},
          small_{common.one_of<std::size_t>({0, 1, 8, 100, 128, 129, 1024, 5000, 33000})} {
        run(common.below(13));
    }

private:
    void run(unsigned which) {
        switch (which) {
        case 0: return coll::barrier(team_);
        case 1:
        case 2: return broadcast();
        case 3: return gather(false);
        case 4: return gather(true);
        case 5: return scatter();
        case 6: return allgather();
        case 7: return alltoall(false);
        case 8: return alltoall(true);
        case 9: return reduce(reduction::reduce);
        case 10: return reduce(reduction::allreduce);
        case 11: return reduce(reduction::scan);
        default: return reduce(reduction::exscan);
        }
    }
};

} // namespace mpt::test
