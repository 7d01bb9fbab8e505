// Jobs whose ranks are threads of this process: what mpt::local_job boots from.
#include <mpt/boot/boot.hpp>

namespace mpt::inline v0::boot {

std::vector<membership> local_members(std::int32_t n) {
    membership m;
    m.size = n;
    m.plan = make_segments(n);
    m.arena = mem::arena::open(m.plan);
    m.shares_process = true;
    std::vector<membership> all(static_cast<std::size_t>(n), m);
    for (std::int32_t r = 0; r < n; ++r) all[static_cast<std::size_t>(r)].me = rank{r};
    return all;
}

void end_local_job(membership const& failed) noexcept {
    auto& header = *reinterpret_cast<control_header*>(failed.arena->control().data());
    std::uint32_t nobody = 0;
    auto const mine = 1u + static_cast<std::uint32_t>(failed.me.value);
    if (!header.abort_rank.compare_exchange_strong(nobody, mine, std::memory_order_relaxed))
        return;                                         // order: `aborted` releases it
    header.aborted.store(2, std::memory_order_release); // sync(boot.abort): release
}

} // namespace mpt::inline v0::boot
