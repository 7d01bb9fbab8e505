/// shmem/job/room - how many more contexts a PE can have. A team that was promised some has taken them when it is made; a context of any
/// other team takes one.
///
///        MPT_CONTEXTS   | promised to team A | team B | contexts of teams without a promise |   left   |
///
///   Threads   any number at once.
///   Tests     test/shmem_job_test.cpp
#pragma once
#include <cstdint>
#include <mutex>

namespace mpt::inline v0::shmem {

class context_room {
    std::mutex mutable changing_;
    std::uint32_t left_;

public:
    explicit context_room(std::uint32_t most) : left_{most} {}
    /// False: there is no room for n, and none is taken.
    bool take(std::uint32_t n) {
        std::lock_guard const g{changing_};
        if (n > left_) return false;
        left_ -= n;
        return true;
    }
    void give(std::uint32_t n) {
        std::lock_guard const g{changing_};
        left_ += n;
    }
    std::uint32_t left() const {
        std::lock_guard const g{changing_};
        return left_;
    }
};

} // namespace mpt::inline v0::shmem
