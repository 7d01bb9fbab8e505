/// wait::spin - polls again at once, always: for ranks that own their CPUs. Whoever shares one must not use it.
#pragma once
#include <mpt/wait/wait.hpp>

namespace mpt::inline v0::wait {

struct spin {
    using kind = mpt::kind::wait;
    static constexpr std::string_view name = "spin";

    class type {
        nanoseconds nap_;

    public:
        explicit type(wait_facts const& f) noexcept : nap_{bounded_nap(f.nap)} {}
        wait_step next() noexcept { return wait_step::spin; }
        void reset() noexcept {}
        nanoseconds nap() const noexcept { return nap_; }
    };
};
static_assert(wait_policy<spin>);

} // namespace mpt::inline v0::wait
