/// wait::yield - gives the CPU away after every empty poll, never sleeps: latency of a shared CPU, whatever the power bill.
#pragma once
#include <mpt/wait/wait.hpp>

namespace mpt::inline v0::wait {

struct yield {
    using kind = mpt::kind::wait;
    static constexpr std::string_view name = "yield";

    class type {
        nanoseconds nap_;

    public:
        explicit type(wait_facts const& f) noexcept : nap_{bounded_nap(f.nap)} {}
        wait_step next() noexcept { return wait_step::yield; }
        void reset() noexcept {}
        nanoseconds nap() const noexcept { return nap_; }
    };
};
static_assert(wait_policy<yield>);

} // namespace mpt::inline v0::wait
