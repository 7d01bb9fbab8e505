/// terrain - the map that it rains on: heights in metres, read from a portable grey map of 16 bits (the format "P5").
///
///   Rows go from north to south, columns from west to east. Whatever is wrong with the file is a sentence that names it.
#pragma once
#include <cctype>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace flood {

/// A rectangle of cells of the map.
struct region {
    int x = 0, y = 0, width = 0, height = 0;
    std::size_t cells() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(height); }
};

/// The part of the map that place (row, column) of a grid of rows x columns gets: sizes differ by one at most.
inline region share_of(int width, int height, int column, int columns, int row, int rows) {
    auto const cut = [](int length, int i, int n) { return static_cast<int>(static_cast<long>(length) * i / n); };
    int const x = cut(width, column, columns), y = cut(height, row, rows);
    return {x, y, cut(width, column + 1, columns) - x, cut(height, row + 1, rows) - y};
}

/// Writes the cells of a region, given row by row, to their places on a map of this width.
inline void paste(region r, double const* cells, std::vector<double>& map, int width) {
    for (int y = r.y; y < r.y + r.height; ++y)
        for (int x = r.x; x < r.x + r.width; ++x)
            map[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)] = *cells++;
}

struct terrain {
    int width = 0, height = 0;
    std::vector<double> heights;
    static constexpr double cell_x = 74.4, cell_y = 92.7; // metres: 3 arc seconds at 36.6 degrees north

    /// Beyond the edges of the map the land goes on at the height of the edge.
    double at(int x, int y) const {
        auto const inside = [](int i, int n) { return static_cast<std::size_t>(i < 0 ? 0 : i < n ? i : n - 1); };
        return heights[inside(y, height) * static_cast<std::size_t>(width) + inside(x, width)];
    }
    /// The heights of a region and of a frame around it, one cell wide.
    std::vector<double> framed(region r) const {
        std::vector<double> cut;
        for (int y = r.y - 1; y <= r.y + r.height; ++y)
            for (int x = r.x - 1; x <= r.x + r.width; ++x) cut.push_back(at(x, y));
        return cut;
    }
};

namespace detail {
/// A number of the header; comments go from # to the end of their line.
inline int header_number(std::istream& in, std::string const& path, char const* what) {
    while ((in >> std::ws) && in.peek() == '#') in.ignore(1 << 16, '\n');
    int n = 0;
    if (!(in >> n) || n <= 0) throw std::runtime_error{path + ": no grey map: the header has no " + what};
    return n;
}
} // namespace detail

inline terrain read_terrain(std::string const& path) {
    std::ifstream in{path, std::ios::binary};
    if (!in) throw std::runtime_error{path + ": cannot be read; is the path right?"};
    if (in.get() != 'P' || in.get() != '5') throw std::runtime_error{path + ": no grey map: it does not begin with P5"};
    terrain map;
    map.width = detail::header_number(in, path, "width");
    map.height = detail::header_number(in, path, "height");
    int const most = detail::header_number(in, path, "greatest value");
    if (most < 256 || most > 65535)
        throw std::runtime_error{path + ": values of 16 bits are needed, not up to " + std::to_string(most)};
    if (map.width > 16384 || map.height > 16384) throw std::runtime_error{path + ": larger than 16384 cells a side"};
    in.get(); // the one white space before the heights
    std::size_t const cells = region{0, 0, map.width, map.height}.cells();
    std::string data(2 * cells, '\0');
    in.read(data.data(), static_cast<std::streamsize>(data.size()));
    if (auto const got = static_cast<std::size_t>(in.gcount()); got < data.size())
        throw std::runtime_error{path + ": damaged: " + std::to_string(got) + " bytes of heights, not " +
                                 std::to_string(data.size())};
    for (std::size_t i = 0; i < cells; ++i)
        map.heights.push_back(static_cast<unsigned char>(data[2 * i]) * 256 + static_cast<unsigned char>(data[2 * i + 1]));
    return map;
}

} // namespace flood
