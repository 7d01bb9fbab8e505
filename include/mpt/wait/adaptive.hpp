/// wait::adaptive - spin on a CPU that is ours, then yield, then sleep; where CPUs are scarce, yield first. The default.
///
///        CPUs suffice     spin x spins --> yield x yields --> sleep, sleep, ...
///        CPUs are scarce                   yield x yields --> sleep, sleep, ...      between the first 32: spin x between
///        a poll found something: back to the left, when looks that are left between two yields are over
///
///   Where the last yields found nobody who wants the CPU, the lane calls it ours for a wait (stack/lane.hpp, wait/yields.hpp).
///
///   Why     docs/design.md, Waiting: where ranks outnumber CPUs whoever we wait for needs ours, and a yield hands it over
///           for 0.63 us; a futex at once costs ten times the barrier. Where they do not, a yield is a wasted system call
///           and `pause` doubles the latency.
///   Cost    a counter and one compare per empty poll that spins at first, two between yields, four where it yields.
#pragma once
#include <mpt/wait/wait.hpp>

namespace mpt::inline v0::wait {

struct adaptive {
    using kind = mpt::kind::wait;
    static constexpr std::string_view name = "adaptive";

    static constexpr std::uint32_t brief = 32; // yields; who waits for longer gives its CPU to those that do something

    class type {
        std::uint32_t empty_ = 0;        // empty polls since something was found; stops counting when it sleeps
        std::uint32_t spins_, left_ = 0; // left_: looks before the next yield
        std::uint32_t between_;
        std::uint64_t before_sleep_;
        nanoseconds nap_;

    public:
        explicit type(wait_facts const& f) noexcept
            : spins_{f.scarce ? 0 : f.spins}, between_{f.scarce ? f.between : 0},
              before_sleep_{std::uint64_t{spins_} + f.yields}, nap_{bounded_nap(f.nap)} {}
        wait_step next() noexcept {
            if (empty_ < spins_) [[likely]]
                return ++empty_, wait_step::spin;
            if (left_ != 0) return --left_, wait_step::spin;
            if (empty_ < before_sleep_) {
                if (empty_ < brief) left_ = between_;
                return ++empty_, wait_step::yield;
            }
            return wait_step::sleep;
        }
        void reset() noexcept { empty_ = 0; } // left_ stays: what was found may be one of several
        nanoseconds nap() const noexcept { return nap_; }
    };
};
static_assert(wait_policy<adaptive>);

} // namespace mpt::inline v0::wait
