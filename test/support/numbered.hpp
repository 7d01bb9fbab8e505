// Bytes that show where they come from.
#pragma once
#include <cstddef>
#include <vector>

namespace mpt::test {

using bytes_of = std::vector<std::byte>;

/// n bytes, each 7 more than the one before.
inline bytes_of numbered(std::size_t n, unsigned first = 1) {
    bytes_of v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>((first + i * 7) & 0xff);
    return v;
}

} // namespace mpt::test
