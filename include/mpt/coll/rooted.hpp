/// coll/rooted - collectives in which all ranks name a root, and how it is found out that they name different ones.
///
///   Each rank numbers these calls by communicator; all come to them in the same order (MPI-4.1 section 6.1). Number and root are
///   in the tag of the messages, so those of calls that do not agree never meet:
///
///        31  30 .. 22       21 .. 4      3 .. 0
///         0  number, low 9  root, low 18 speaker
///
///   A rank notes what it calls in its control record (wait/calls.hpp). One that has to wait long looks, again and again, at what
///   the others noted under the same number: another root there is an error, with both ranks and both roots, on all ranks that
///   wait; it does not matter for whom. Whoever need not wait has sent its part and does not know.
///
///   Cost      to note: two stores. To look: a line of another's while there is nothing else to do.
///   Limit     ranks that only send (two, each of which takes itself for the root of a small broadcast) are not told; what they sent is
///             received by nobody. Whoever went on by more than eight such calls without waiting is not found.
///   Tests     test/coll_rooted_test.cpp
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <mpt/core/error.hpp>
#include <mpt/stack/group.hpp>
#include <mpt/stack/lane.hpp>

namespace mpt::inline v0::coll {

/// Which algorithm a message belongs to.
enum class speaker : std::int32_t {
    barrier = 1,
    allreduce,
    allgather,
    broadcast,
    gather,
    scatter,
    alltoall,
    reduce,
    reduce_scatter,
    scan,
    neighbor,
};

/// A collective in which all ranks name a root. number 0: one without a root.
struct rooted_call {
    speaker what{};
    std::int32_t root = 0;
    std::uint32_t number = 0;

    /// What messages of the call carry.
    tag label(speaker s) const noexcept {
        auto const r = static_cast<std::uint32_t>(root) % (1u << 18), n = number % (1u << 9);
        return tag{n << 22 | r << 4 | static_cast<std::uint32_t>(s)};
    }
    /// The speaker of a message.
    static speaker speaker_of(tag label) noexcept { return static_cast<speaker>(label.value & 15); }
    /// What is noted: the number in the low half, then the root, and the speaker in the highest four bits.
    std::uint64_t word() const noexcept {
        return std::uint64_t{number} | std::uint64_t{static_cast<std::uint32_t>(root)} << 32 |
               static_cast<std::uint64_t>(what) << 60;
    }
    static rooted_call of(std::uint64_t word) noexcept {
        return {static_cast<speaker>(word >> 60), static_cast<std::int32_t>(word >> 32 & 0xfff'ffff),
                static_cast<std::uint32_t>(word)};
    }
};

constexpr std::string_view name_of(speaker s) noexcept {
    switch (s) {
    case speaker::barrier: return "barrier";
    case speaker::allreduce: return "allreduce";
    case speaker::allgather: return "allgather";
    case speaker::alltoall: return "alltoall";
    case speaker::broadcast: return "broadcast";
    case speaker::gather: return "gather";
    case speaker::scatter: return "scatter";
    case speaker::reduce: return "reduce";
    default: return "collective";
    }
}

[[noreturn]] inline void differ(std::int32_t me, rooted_call const& mine, std::int32_t other, rooted_call const& theirs) {
    auto const said = [](std::int32_t r, rooted_call const& c) {
        return "rank " + std::to_string(r) + " called a " + std::string{name_of(c.what)} + " with root " +
               std::to_string(c.root);
    };
    throw error{mine.what == theirs.what ? errc::root : errc::usage,
                "mpt: " + said(me, mine) + ", and " + said(other, theirs) + ", as number " + std::to_string(mine.number) +
                    " of this communicator's collectives with a root; all ranks call the same, with the same root"};
}

/// Looks at one rank after the other while this one waits in a call.
template <class Lane> class suspicion {
    Lane& lane_;
    group const& who_;
    context_id context_;
    rooted_call mine_, theirs_;
    std::uint32_t asked_ = 0;
    std::int32_t next_ = 0, other_ = -1;

public:
    suspicion(Lane& l, group const& who, context_id c, rooted_call const& mine) noexcept
        : lane_{l}, who_{who}, context_{c}, mine_{mine} {}

    /// Asked in every turn of a wait: most of them are none of the long ones.
    bool operator()() noexcept {
        if (mine_.number != 0 && other_ < 0 && ++asked_ % 8 == 0) look();
        return other_ >= 0;
    }
    /// Throws what was found.
    void tell(std::int32_t me) const {
        if (other_ >= 0) [[unlikely]]
            differ(me, mine_, other_, theirs_);
    }

private:
    void look() noexcept {
        auto const seen = lane_.calls_of(who_.world(next_)).find(context_, mine_.number);
        if (seen != 0 && seen != mine_.word()) other_ = next_, theirs_ = rooted_call::of(seen);
        if (++next_ == who_.size()) next_ = 0;
    }
};

} // namespace mpt::inline v0::coll
