/// wait::sleep - goes to sleep after the first empty poll: for ranks that wait long and want no CPU meanwhile.
#pragma once
#include <mpt/wait/wait.hpp>

namespace mpt::inline v0::wait {

struct sleep {
    using kind = mpt::kind::wait;
    static constexpr std::string_view name = "sleep";

    class type {
        nanoseconds nap_;

    public:
        explicit type(wait_facts const& f) noexcept : nap_{bounded_nap(f.nap)} {}
        wait_step next() noexcept { return wait_step::sleep; }
        void reset() noexcept {}
        nanoseconds nap() const noexcept { return nap_; }
    };
};
static_assert(wait_policy<sleep>);

} // namespace mpt::inline v0::wait
