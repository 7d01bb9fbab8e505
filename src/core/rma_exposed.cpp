// Which memory of a rank a window has.
#include <map>
#include <mutex>
#include <set>

#include <mpt/rma/agent.hpp>

namespace mpt::inline v0::rma {

struct exposed_memory::impl {
    mutable std::mutex lock;
    std::map<std::uint64_t, std::uint64_t> parts; // by address, sizes; apart from each other
    std::multiset<std::uint64_t> empty;           // addresses of parts without bytes
};

exposed_memory::exposed_memory() : impl_{std::make_unique<impl>()} {}
exposed_memory::~exposed_memory() = default;

bool exposed_memory::add(std::uint64_t at, std::uint64_t n) {
    std::scoped_lock const g{impl_->lock};
    if (n == 0) return impl_->empty.insert(at), true;
    auto& parts = impl_->parts;
    auto const next = parts.lower_bound(at);
    if (next != parts.end() && next->first - at < n) return false;
    if (next != parts.begin() && at - std::prev(next)->first < std::prev(next)->second) return false;
    parts.emplace(at, n);
    return true;
}

std::optional<std::uint64_t> exposed_memory::remove(std::uint64_t at) {
    std::scoped_lock const g{impl_->lock};
    if (auto const part = impl_->parts.extract(at)) return part.mapped();
    if (auto const nothing = impl_->empty.extract(at)) return 0;
    return std::nullopt;
}

bool exposed_memory::has(std::uint64_t at, std::uint64_t n) const {
    std::scoped_lock const g{impl_->lock};
    auto const& parts = impl_->parts;
    while (n != 0) {
        auto it = parts.upper_bound(at);
        if (it == parts.begin()) return false;
        --it;
        auto const from = at - it->first;
        if (from >= it->second) return false;
        auto const here = std::min(n, it->second - from);
        n -= here, at += here;
    }
    return true;
}

} // namespace mpt::inline v0::rma
