/// wait::adaptive - spin on a CPU that is ours, then yield, then sleep; where CPUs are scarce, yield first. The default.
///
///        CPUs suffice     spin x spins --> yield x yields --> sleep, sleep, ...
///        CPUs are scarce                   yield x yields --> sleep, sleep, ...
///        a poll found something: back to the left
///
///   Where the last yields found nobody who wants the CPU, the lane calls it ours for a wait (stack/lane.hpp, wait/yields.hpp).
///
///   Why     docs/design.md, Waiting: where ranks outnumber CPUs whoever we wait for needs ours, and a yield hands it over
///           for 0.63 us; a futex at once costs ten times the barrier. Where they do not, a yield is a wasted system call
///           and `pause` doubles the latency.
///   Cost    a counter and two compares per empty poll.
#pragma once
#include <mpt/wait/wait.hpp>

namespace mpt::inline v0::wait {

struct adaptive {
    using kind = mpt::kind::wait;
    static constexpr std::string_view name = "adaptive";

    class type {
        std::uint32_t empty_ = 0; // empty polls since something was found; stops counting when it sleeps
        std::uint32_t spins_;
        std::uint64_t before_sleep_;
        nanoseconds nap_;

    public:
        explicit type(wait_facts const& f) noexcept
            : spins_{f.scarce ? 0 : f.spins}, before_sleep_{std::uint64_t{spins_} + f.yields}, nap_{bounded_nap(f.nap)} {}
        wait_step next() noexcept {
            if (empty_ < spins_) [[likely]]
                return ++empty_, wait_step::spin;
            if (empty_ < before_sleep_) return ++empty_, wait_step::yield;
            return wait_step::sleep;
        }
        void reset() noexcept { empty_ = 0; }
        nanoseconds nap() const noexcept { return nap_; }
    };
};
static_assert(wait_policy<adaptive>);

} // namespace mpt::inline v0::wait
