// Who waits for whom: the ranks at one moment, from their records in the control segment. No rank is asked, so it may hang.
//
//        ranks 0-2 wait in MPI_Barrier on MPI_COMM_WORLD for 2.9 s; rank 3 is not in it
//        rank 3 waits in MPI_Recv from rank 0, tag 7, on MPI_COMM_WORLD (8 bytes) for 2.9 s
//        rank 3 has a message from rank 0, tag 8, on MPI_COMM_WORLD (8 bytes): another tag than the awaited one
//        rank 4 has been computing, or polling (MPI_Test)
//
//   Ranks that do the same share a line. Ranks are those of MPI_COMM_WORLD. A rank in the fast spin, in its first microseconds
//   of waiting, has no record yet and counts as one that computes; so does, under MPT_WAIT=spin, one in a blocking receive.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include <mpt/boot/control.hpp>

namespace mptrun {

/// A rank's process.
struct member {
    pid_t pid = -1;
    bool alive = false;
};

class report {
public:
    report(std::span<mpt::boot::control_record const> records, std::span<member const> members);

    /// Sentences on the living ranks: who waits for whom, messages that nearly match, cycles.
    std::vector<std::string> waits() const;
    /// Where the others were when a rank failed.
    std::vector<std::string> others_of(int culprit) const;
    /// A rank that ended and never joined, and for which another waits; -1. All are waited for in MPI_Init, and those of a group where
    /// a session makes something of it.
    int deserter() const noexcept;
    /// How long no wait has begun; 0: nobody waits.
    std::chrono::nanoseconds still() const;
    /// Another number whenever a wait began or ended; 0: nobody waits.
    std::uint64_t fingerprint() const;
    /// By what ranks of this program join the job.
    char const* first_call() const noexcept { return shmem_alone_ ? "shmem_init" : "MPI_Init"; }

private:
    struct seen {
        pid_t pid = -1;
        bool alive = false;
        mpt::boot::rank_state state{};
        mpt::wait_snapshot waiting{};
        std::vector<mpt::wait_snapshot> kept{};
        bool waits() const noexcept { return waiting.what != mpt::wait_for::nothing; }
    };

    std::string on(mpt::context_id context) const;
    bool is_shmem(mpt::context_id context) const;
    std::string describe_far(mpt::wait_snapshot const& w) const;
    char const* collective(mpt::wait_snapshot const& w) const;
    char const* last_call() const;
    std::string describe(mpt::wait_snapshot const& w) const;
    std::string describe_message(mpt::wait_snapshot const& m) const;
    std::string near_miss(mpt::wait_snapshot const& w, mpt::wait_snapshot const& m) const;
    std::string absent_from(std::vector<int> const& together) const;
    std::string idle(seen const& r) const;
    int next_of(int rank) const;
    std::vector<std::string> cycles() const;

    std::vector<seen> ranks_;
    std::map<std::uint64_t, std::string> names_;
    bool shmem_alone_ = false; // who has begun has begun OpenSHMEM, and nothing else: MPI's names say nothing to them
    std::int64_t now_;
};

} // namespace mptrun
