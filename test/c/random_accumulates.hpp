/// test/c/random_accumulates - accumulates of rows and of single numbers into everybody's window at once, each of which must count.
///
///        faults = random_accumulates{seed}.run(20);     windows one after the other; "" where all is right
///
///   Windows are allocated, shared, and of the program's own memory in turn; in these, who waits changes numbers, too
///   (mpt/rma/active_message.hpp). All ranks draw whose numbers change and how from a seed of their own; what each number must be is
///   summed over them. Rows are long enough that a rank has a part to itself now and then (mpt/rma/rows.hpp), which the next number
///   takes back.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "../support/dice.hpp"
#include <mpi.h>

namespace mpt::c::test {

class random_accumulates {
    static constexpr int length = 3000;
    mpt::test::dice dice_;
    int rank_ = 0, size_ = 0;
    MPI_Win win_ = MPI_WIN_NULL;
    std::vector<long> added_; // of each rank, to each number

    long* of(int target) { return added_.data() + static_cast<std::size_t>(target) * length; }
    void change_row(int target, int at, int n, bool fetches) {
        std::vector<long> const ones(static_cast<std::size_t>(n), 1);
        std::vector<long> was(ones.size());
        if (fetches)
            MPI_Get_accumulate(ones.data(), n, MPI_LONG, was.data(), n, MPI_LONG, target, at, n, MPI_LONG, MPI_SUM, win_);
        else MPI_Accumulate(ones.data(), n, MPI_LONG, target, at, n, MPI_LONG, MPI_SUM, win_);
        for (int i = at; i < at + n; ++i) ++of(target)[i];
    }
    void change_one(int target, int at) {
        long const one = 1;
        long was = 0;
        if (dice_.coin()) {
            MPI_Fetch_and_op(&one, &was, MPI_LONG, target, at, MPI_SUM, win_);
            MPI_Win_flush(target, win_);
        } else {
            for (long seen = was;; seen = was) {
                long const next = seen + 1;
                MPI_Compare_and_swap(&next, &seen, &was, MPI_LONG, target, at, win_);
                MPI_Win_flush(target, win_);
                if (was == seen) break;
            }
        }
        ++of(target)[at];
    }
    void turn() {
        int const target = static_cast<int>(dice_.below(static_cast<unsigned>(size_)));
        int const at = static_cast<int>(dice_.below(length));
        switch (dice_.below(4)) {
        case 0: return change_row(target, 0, length, dice_.coin());
        case 1: return change_row(target, at, std::min(length - at, 1 + static_cast<int>(dice_.below(100))), dice_.coin());
        default: return change_one(target, at);
        }
    }
    enum class kind { allocated, shared, created };
    std::string window(kind how) {
        std::vector<long> own(how == kind::created ? length : 0);
        long* mine = own.data();
        auto const bytes = static_cast<MPI_Aint>(length * sizeof(long));
        auto* const make = how == kind::shared ? MPI_Win_allocate_shared : MPI_Win_allocate;
        if (how == kind::created) MPI_Win_create(mine, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win_);
        else make(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&mine), &win_);
        std::fill_n(mine, length, 0);
        added_.assign(static_cast<std::size_t>(size_) * length, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win_);
        for (auto turns = 20 + dice_.below(60); turns > 0; --turns) turn();
        MPI_Win_unlock_all(win_);
        MPI_Allreduce(MPI_IN_PLACE, added_.data(), size_ * length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        auto const wrong = std::mismatch(mine, mine + length, of(rank_)).first - mine;
        auto const said = wrong == length
                              ? std::string{}
                              : "rank " + std::to_string(rank_) + ": number " + std::to_string(wrong) + " is " +
                                    std::to_string(mine[wrong]) + " in place of " + std::to_string(of(rank_)[wrong]) + '\n';
        MPI_Win_free(&win_);
        return said;
    }

public:
    explicit random_accumulates(unsigned seed) : dice_{seed} {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        dice_ = mpt::test::dice{seed + static_cast<unsigned>(rank_)};
    }
    std::string run(int windows) {
        std::string faults;
        for (int i = 0; i < windows; ++i) faults += window(static_cast<kind>(i % 3));
        return faults;
    }
};

} // namespace mpt::c::test
