// The map of a symmetric heap: shmem/heap_map.hpp.
#include <mpt/shmem/heap_map.hpp>

#include <algorithm>
#include <iterator>

namespace mpt::inline v0::shmem {
namespace {
constexpr std::uint64_t down(std::uint64_t n, std::uint64_t to) noexcept { return n / to * to; }
constexpr std::uint64_t up(std::uint64_t n, std::uint64_t to) noexcept { return down(n + to - 1, to); }
} // namespace

heap_map::heap_map(std::uint64_t bytes) : bytes_{down(bytes, grain)} {
    if (bytes_ != 0) free_.emplace(0, bytes_);
}

/// [at, at + n) of a free run is taken.
void heap_map::cut(run from, std::uint64_t at, std::uint64_t n) {
    auto const [start, size] = *from;
    free_.erase(from);
    if (at != start) free_.emplace(start, at - start);
    if (at + n != start + size) free_.emplace(at + n, start + size - at - n);
}

/// [at, at + n) is free, with what is free beside it.
void heap_map::join(std::uint64_t at, std::uint64_t n) {
    auto const after = free_.lower_bound(at);
    if (after != free_.begin())
        if (auto const before = std::prev(after); before->first + before->second == at) {
            at = before->first, n += before->second;
            free_.erase(before);
        }
    if (after != free_.end() && after->first == at + n) {
        n += after->second;
        free_.erase(after);
    }
    free_.emplace(at, n);
}

std::optional<std::uint64_t> heap_map::take(std::uint64_t n, std::uint64_t align, std::uint64_t base) {
    if (n > bytes_ || align > bytes_) return std::nullopt;
    auto const asked = n;
    n = up(n, grain), align = std::max(align, grain);
    for (auto r = free_.begin(); r != free_.end(); ++r) {
        auto const at = up(base + r->first, align) - base, skipped = at - r->first;
        if (skipped > r->second || n > r->second - skipped) continue;
        cut(r, at, n);
        taken_.emplace(at, length{n, asked});
        return at;
    }
    return std::nullopt;
}

bool heap_map::give(std::uint64_t offset) {
    auto const block = taken_.find(offset);
    if (block == taken_.end()) return false;
    auto const n = block->second.bytes;
    taken_.erase(block);
    join(offset, n);
    return true;
}

bool heap_map::resize(std::uint64_t offset, std::uint64_t n) {
    auto const block = taken_.find(offset);
    if (block == taken_.end() || n > bytes_) return false;
    auto const asked = n, had = block->second.bytes;
    n = std::max(up(n, grain), grain);
    if (n > had) {
        auto const behind = free_.find(offset + had);
        if (behind == free_.end() || behind->second < n - had) return false;
        cut(behind, offset + had, n - had);
    } else if (n < had) join(offset + n, had - n);
    block->second = {n, asked};
    return true;
}

std::uint64_t heap_map::size_of(std::uint64_t offset) const noexcept {
    auto const block = taken_.find(offset);
    return block == taken_.end() ? 0 : block->second.bytes;
}

auto heap_map::around(std::uint64_t offset) const noexcept -> std::optional<asked_block> {
    auto const after = taken_.upper_bound(offset);
    if (after == taken_.begin()) return std::nullopt;
    auto const& [at, size] = *std::prev(after);
    if (offset - at >= size.bytes) return std::nullopt;
    return asked_block{at, size.asked};
}

std::uint64_t heap_map::used() const noexcept {
    std::uint64_t n = 0;
    for (auto const& [at, size] : taken_) n += size.bytes;
    return n;
}
std::uint64_t heap_map::largest_free() const noexcept {
    std::uint64_t n = 0;
    for (auto const& [at, size] : free_) n = std::max(n, size);
    return n;
}

} // namespace mpt::inline v0::shmem
