// A buffer for elements of a type whose map is known: random bytes, a margin on both sides, and where the elements' bytes lie.
#pragma once
#include <cstddef>
#include <vector>

#include "typemap.hpp"

namespace test {

using memory = std::vector<std::byte>;

inline memory noise(std::size_t n, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    memory m(n);
    for (auto& b : m) b = static_cast<std::byte>(random());
    return m;
}

struct room {
    numbers places; // of each packed byte, in `bytes`
    memory bytes;
    std::int64_t origin = 0; // where the buffer argument points

    room(typemap const& m, std::int64_t count, std::uint64_t seed) : places{m.bytes(count)} {
        constexpr std::int64_t margin = 40;
        auto const [low, high] = std::minmax_element(places.begin(), places.end());
        origin = places.empty() ? margin : margin - *low;
        for (auto& p : places) p += origin;
        bytes = noise(static_cast<std::size_t>(places.empty() ? 2 * margin : *high + margin + 1), seed);
    }
    std::byte* buffer() {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(bytes.data()) +
                                            static_cast<std::uintptr_t>(origin));
    }
    bool overlaps() const {
        auto sorted = places;
        std::sort(sorted.begin(), sorted.end());
        return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    }
    memory packed() const {
        memory p;
        for (auto const i : places) p.push_back(bytes[static_cast<std::size_t>(i)]);
        return p;
    }
    /// What the buffer holds once `message` lies in it.
    memory with(memory const& message) const {
        auto b = bytes;
        for (std::size_t k = 0; k < message.size(); ++k) b[static_cast<std::size_t>(places[k])] = message[k];
        return b;
    }
};

} // namespace test
