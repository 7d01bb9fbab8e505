/// picture - the map as seen from above, lit from the north-west, with the water on it, as a PNG file.
///
///   PNG wants its data in the frame of a compressor; ours stores and does not compress, which every viewer reads.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "terrain.hpp"

namespace flood {

namespace detail {
inline std::string big_endian(std::uint32_t v) {
    return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}
/// PNG's check of a chunk.
inline std::uint32_t crc32(std::string_view s) {
    std::uint32_t crc = ~0u;
    for (unsigned char const c : s) {
        crc ^= c;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}
/// zlib's check of the data.
inline std::uint32_t adler32(std::string_view s) {
    std::uint32_t a = 1, b = 0;
    for (unsigned char const c : s) a = (a + c) % 65521, b = (b + a) % 65521;
    return b << 16 | a;
}
inline std::string chunk(std::string const& named, std::string const& data) {
    return big_endian(static_cast<std::uint32_t>(data.size())) + named + data + big_endian(crc32(named + data));
}
/// A zlib stream of blocks that are stored as they are.
inline std::string stored(std::string_view data) {
    std::string out = "\x78\x01";
    for (std::size_t at = 0; at < data.size(); at += 65535) {
        auto const block = data.substr(at, 65535);
        auto const n = static_cast<std::uint16_t>(block.size());
        out += at + block.size() == data.size() ? '\1' : '\0';
        for (unsigned const half : {unsigned{n}, ~unsigned{n}})
            out += static_cast<char>(half), out += static_cast<char>(half >> 8);
        out += block;
    }
    return out + big_endian(adler32(data));
}
} // namespace detail

using colour = std::array<double, 3>; // red, green, blue: 0 to 1

inline colour mix(colour const& a, colour const& b, double share) {
    return {a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share};
}

/// Land by height and slope; water the darker the deeper, from a film on.
inline colour look(terrain const& map, std::vector<double> const& depth, int x, int y) {
    auto const [low, high] = std::pair{200.0, 1100.0};
    double const up = std::clamp((map.at(x, y) - low) / (high - low), 0.0, 1.0);
    double const slope_x = (map.at(x + 1, y) - map.at(x - 1, y)) / (2 * terrain::cell_x);
    double const slope_y = (map.at(x, y + 1) - map.at(x, y - 1)) / (2 * terrain::cell_y);
    double const light = (0.7 + slope_x + slope_y) / std::sqrt(1 + 2 * (slope_x * slope_x + slope_y * slope_y));
    colour const land = up < 0.4 ? mix({0.45, 0.56, 0.33}, {0.76, 0.72, 0.50}, up / 0.4)
                                 : mix({0.76, 0.72, 0.50}, {0.93, 0.90, 0.86}, (up - 0.4) / 0.6);
    colour const lit = mix({0.10, 0.12, 0.16}, land, std::clamp(0.35 + light * 0.85, 0.0, 1.1));
    double const d = depth[static_cast<std::size_t>(y) * static_cast<std::size_t>(map.width) + static_cast<std::size_t>(x)];
    double const wet = std::clamp(std::log(d / 0.05 + 1e-9) / std::log(2.0 / 0.05), 0.0, 1.0);
    return mix(lit, mix({0.36, 0.66, 0.90}, {0.03, 0.20, 0.50}, wet), d > 0.05 ? 0.55 + 0.45 * wet : 0);
}

inline void write_picture(std::string const& path, terrain const& map, std::vector<double> const& depth) {
    std::string pixels;
    for (int y = 0; y < map.height; ++y) {
        pixels += '\0'; // this row is not filtered
        for (int x = 0; x < map.width; ++x)
            for (double const v : look(map, depth, x, y))
                pixels += static_cast<char>(std::lround(std::clamp(v, 0.0, 1.0) * 255));
    }
    using namespace detail;
    auto const side = [](int n) { return big_endian(static_cast<std::uint32_t>(n)); };
    std::string const head =
        side(map.width) + side(map.height) + std::string("\x08\x02\0\0\0", 5); // 8 bits of red, green and blue
    std::ofstream out{path, std::ios::binary};
    out << "\x89PNG\r\n\x1a\n" << chunk("IHDR", head) << chunk("IDAT", stored(pixels)) << chunk("IEND", "");
    if (!out.flush()) throw std::runtime_error{path + ": cannot be written"};
}

} // namespace flood
