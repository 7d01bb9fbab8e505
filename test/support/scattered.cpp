#include "scattered.hpp"

#include <algorithm>
#include <cstring>

namespace mpt::test {

std::byte value_of(unsigned seed, int from, int to, std::size_t i) {
    auto x = seed * 2654435761u + static_cast<unsigned>(from) * 40503u + static_cast<unsigned>(to) * 9973u +
             static_cast<unsigned>(i) * 31u;
    return static_cast<std::byte>((x ^ x >> 15) & 0xff);
}
std::vector<std::byte> values_of(unsigned seed, int from, int to, std::size_t n) {
    std::vector<std::byte> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = value_of(seed, from, to, i);
    return v;
}

/// f(i, place, n) for every piece of the packed bytes [offset, offset + size) that lies side by side; i counts from offset.
template <class F> void scattered::each_run(std::size_t offset, std::size_t size, F const& f) const {
    for (std::size_t i = 0, n = 0; i < size; i += n) {
        n = std::min(run_ - (offset + i) % run_, size - i);
        f(i, place(offset + i), n);
    }
}
void scattered::reading::read(std::size_t offset, std::span<std::byte> into) const noexcept {
    b->each_run(offset, into.size(),
                [&](std::size_t i, std::size_t at, std::size_t n) { std::memcpy(into.data() + i, b->memory_.data() + at, n); });
}
void scattered::writing::write(std::size_t offset, std::span<std::byte const> from) const noexcept {
    b->each_run(offset, from.size(),
                [&](std::size_t i, std::size_t at, std::size_t n) { std::memcpy(b->memory_.data() + at, from.data() + i, n); });
}
bool scattered::whole() const {
    std::vector<bool> ours(memory_.size());
    for (std::size_t i = 0; i < size_; ++i) ours[place(i)] = true;
    for (std::size_t i = 0; i < memory_.size(); ++i)
        if (!ours[i] && memory_[i] != untouched) return false;
    return true;
}

} // namespace mpt::test
