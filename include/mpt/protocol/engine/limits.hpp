/// protocol/engine/limits - what an engine is told: the numbers a user may change, and which protocols its stack names.
#pragma once
#include <cstdint>

#include <mpt/core/types.hpp>
#include <mpt/wait/yields.hpp>

namespace mpt::inline v0::protocol {

/// The numbers a user may change, copied from the configuration table when the lane is made.
struct engine_limits {
    std::uint64_t eager_max = 64_KiB;        // largest message that goes by E1 (MPT_EAGER_MAX)
    std::uint64_t eager_readable = 1024_GiB; // the same of one that its receiver could read where it lies (MPT_EAGER_READABLE)
    std::uint64_t unexpected_max = 16_MiB;   // payload kept before senders are throttled (MPT_UNEXPECTED_MAX)
    std::uint64_t chunk = 32_KiB;            // of the pipelined double copy (MPT_CHUNK)
    std::uint64_t single_copy_min = 8_KiB;   // smallest message read straight from the sender (MPT_SINGLE_COPY_SIZE)
    std::uint64_t both_ends_min = 16_KiB;    // smallest message that both ends copy
    std::uint64_t pipeline_max = 1024_GiB;   // largest message that is pushed where it could be read (MPT_PIPELINE_MAX)
    std::uint64_t cached_max = 4_MiB;        // largest message that its receiver writes into its caches (MPT_CACHED_MAX)
    bool single_copy = true;                 // MPT_SINGLE_COPY
    bool both_ends = true;                   // MPT_BOTH_ENDS
    bool scarce = false;                     // ranks outnumber their CPUs
    wait::yields* yields = nullptr;          // of the lane's waits

    /// Longer ones are announced where ranks share CPUs.
    static constexpr std::uint64_t longest_shared = 512_KiB;

    engine_limits asking(wait::yields& y) const noexcept {
        auto l = *this;
        return l.yields = &y, l;
    }
    /// Is a message that lies in one loan read past the caches? The loan is in them, too.
    bool goes_past(std::uint64_t n) const noexcept { return n > cached_max / 2; }
    /// May both ranks copy at once a message of n bytes? Where ranks share CPUs, while nobody else wants ours: whom we copy with then runs on
    /// another. But no long one, in whose middle somebody may come.
    /// origin: two of four ranks on two CPUs of an AMD EPYC, Zen 4, half way, us, off and on: 32 KiB 1.8 and 1.4, 64 KiB 3.2 and 2.4, 128 KiB 18 and
    /// 4.5 to 6.5, 256 KiB 10 to 30 and 9.5, 512 KiB 20 and 17; 1 MiB 39 and 40, 4 MiB 195 and 217
    bool from_both_ends(std::uint64_t n) const noexcept {
        return both_ends && (!scarce || (n <= longest_shared && yields != nullptr && yields->were_in_vain()));
    }
};

/// Which protocols a stack names. e0 and rndv_put are always there (mpt::stack checks it).
struct protocol_set {
    bytes e0_max{}, e1_max{}, joint_from{}, chunk{}; // the policies' parameters
    bool e1 = false, rndv_get = false;
};

} // namespace mpt::inline v0::protocol
