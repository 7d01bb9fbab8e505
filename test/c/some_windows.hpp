// Windows that tests of chapter 12 are made with.
#pragma once
#include <random>
#include <vector>

#include "shared.hpp"

namespace mpt::c::test {

inline std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

using random_source = std::mt19937;
inline int below(random_source& random, int n) { return static_cast<int>(random() % at(n)); }

/// What a call returned.
inline void ok(int code) { EXPECT_EQ(code, MPI_SUCCESS) << mpt::c::here().last_error; }

inline constexpr int slots = 40; // elements of each rank's memory
/// A window of one rank, with memory of `slots` elements.
class open_window {
    std::vector<std::byte> own_;
    void* allocated_ = nullptr;
    std::vector<MPI_Aint> bases_; // of a dynamic window: addresses
    int unit_;

public:
    MPI_Win win = MPI_WIN_NULL;
    std::byte* base = nullptr;

    open_window(int flavor, int size, bool library_memory, int element) : unit_{element} {
        auto const bytes = MPI_Aint{slots} * element;
        if (flavor == MPI_WIN_FLAVOR_ALLOCATE) MPI_Win_allocate(bytes, unit_, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        else if (flavor == MPI_WIN_FLAVOR_SHARED)
            MPI_Win_allocate_shared(bytes, unit_, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        else {
            own_.resize(at(slots * element));
            if (library_memory) MPI_Alloc_mem(bytes, MPI_INFO_NULL, &allocated_);
            base = library_memory ? static_cast<std::byte*>(allocated_) : own_.data();
        }
        if (flavor == MPI_WIN_FLAVOR_CREATE) MPI_Win_create(base, bytes, unit_, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        if (flavor == MPI_WIN_FLAVOR_DYNAMIC) attach(size, bytes);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    ~open_window() {
        EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
        MPI_Free_mem(allocated_);
    }
    MPI_Aint displacement(int target, int slot) const {
        return bases_.empty() ? slot : bases_[at(target)] + MPI_Aint{slot} * unit_;
    }

private:
    void attach(int size, MPI_Aint bytes) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        EXPECT_EQ(MPI_Win_attach(win, base, bytes), MPI_SUCCESS);
        MPI_Aint mine = 0;
        MPI_Get_address(base, &mine);
        bases_.resize(at(size));
        MPI_Allgather(&mine, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, MPI_COMM_WORLD);
    }
};

/// Memory of one number on each rank.
struct counter {
    MPI_Win win = MPI_WIN_NULL;
    long* mine = nullptr;
    counter() {
        MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        *mine = 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~counter() { EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS); }
    long of(int rank) const {
        long x = -1;
        EXPECT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Get(&x, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_unlock(rank, win), MPI_SUCCESS);
        return x;
    }
};

} // namespace mpt::c::test
