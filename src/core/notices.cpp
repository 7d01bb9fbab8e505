// The queue between engines and who watches them.
#include <mpt/protocol/notices.hpp>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

namespace mpt::inline v0::protocol {

struct notice_queue::impl {
    std::mutex changing;
    std::vector<notice> ring; // made when something is wanted
    std::uint64_t first = 0, end = 0;
    nanoseconds latest{};
    std::array<std::uint64_t, notice_kinds> lost{};
};

notice_queue::notice_queue() : impl_{std::make_unique<impl>()} {}
notice_queue::~notice_queue() = default;

void notice_queue::want(std::uint32_t kinds) {
    std::lock_guard const g{impl_->changing};
    if (kinds != 0 && impl_->ring.empty()) impl_->ring.resize(room);
    wanted_.store(kinds, std::memory_order_relaxed); // order: a hint, the mutex decides
}

void notice_queue::post(notice n) noexcept {
    std::lock_guard const g{impl_->changing};
    if (!wants(n.what)) return;
    waiting_.store(true, std::memory_order_relaxed); // order: a hint, the mutex decides
    if (impl_->end - impl_->first == room) {
        ++impl_->lost[static_cast<std::size_t>(n.what)];
        return;
    }
    n.when = impl_->latest = std::max(n.when, impl_->latest);
    impl_->ring[impl_->end++ % room] = n;
}

bool notice_queue::take(notice& n) noexcept {
    std::lock_guard const g{impl_->changing};
    if (impl_->first == impl_->end) return waiting_.store(false, std::memory_order_relaxed), false; // order: as above
    n = impl_->ring[impl_->first++ % room];
    return true;
}

std::uint64_t notice_queue::take_lost(notice_kind k) noexcept {
    std::lock_guard const g{impl_->changing};
    return std::exchange(impl_->lost[static_cast<std::size_t>(k)], 0);
}

} // namespace mpt::inline v0::protocol
