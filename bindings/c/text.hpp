/// text - texts that leave through a program's array of characters.
#pragma once
#include <algorithm>
#include <cstring>
#include <string_view>

namespace mpt::c {

/// As much as fits into `room` characters, a zero among them; length: how much that is without the zero.
inline void put_text(std::string_view text, char* into, std::size_t room, int& length) noexcept {
    auto const n = std::min(text.size(), room - 1);
    std::memcpy(into, text.data(), n);
    into[n] = 0;
    length = static_cast<int>(n);
}

} // namespace mpt::c
