/// water - shallow water on one rank's part of the map, with a frame of ghost cells around it.
///
///            ghost row of the northern neighbour           Water flows from cell to cell through their faces. A step works out
///          .-------------------------------------.         the flow through each face from the levels on both sides, then
///          | g |  cell -east-> cell  -->  ...| g |         fills and empties the cells. Both ranks at a border work out its
///          | g |   |south       |            | g |         flows, from the same numbers in the same order: depths are all that
///          | g |  cell   -->   cell          | g |         they need to tell each other, and the result does not depend on
///          '-------------------------------------'         how the map is cut.
///
///   The flow is the local inertial form of the shallow-water equations with Chezy's friction. No more than a quarter of a cell's
///   water leaves through a face in one step, so no depth gets negative. A ghost beyond the map's edge stays dry: what flows
///   there has left.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "terrain.hpp"

namespace flood {

/// What falls, and for how long we look. Seconds and metres.
struct storm {
    double hours = 18, rain_hours = 6, rain_mm = 120;

    double end() const { return hours * 3600; }
    double rain(double time) const { return time < rain_hours * 3600 ? rain_mm / 1000 / (rain_hours * 3600) : 0; }
    /// As long as a wave on the deepest water does not cross a cell; the last step ends at the end.
    double step(double time, double deepest) const {
        double const wave = std::sqrt(9.81 * std::max(deepest, 0.1));
        return std::min(0.7 * terrain::cell_x / wave, end() - time);
    }
};

class water {
    int width_, height_;
    std::vector<double> ground_, depth_, east_, south_;

public:
    /// framed: the ground, as terrain::framed() cuts it.
    water(int width, int height, std::vector<double> framed)
        : width_{width}, height_{height}, ground_{std::move(framed)}, depth_(ground_.size()), east_(ground_.size()),
          south_(ground_.size()) {}

    int width() const { return width_; }
    int height() const { return height_; }
    int stride() const { return width_ + 2; }

    /// The depth of a cell; x and y count from 1, ghosts are 0 and width() + 1, height() + 1.
    double& at(int x, int y) { return depth_[index(x, y)]; }
    std::span<double> row(int y) { return {&at(1, y), static_cast<std::size_t>(width_)}; }
    std::vector<double> column(int x) const {
        std::vector<double> c;
        for (int y = 1; y <= height_; ++y) c.push_back(depth_[index(x, y)]);
        return c;
    }
    /// Nothing comes from beyond the map.
    void column(int x, std::span<double const> c) {
        for (std::size_t y = 0; y < c.size(); ++y) at(x, static_cast<int>(y) + 1) = c[y];
    }
    /// All cells, row by row.
    std::vector<double> depths() const {
        std::vector<double> all;
        for (int y = 1; y <= height_; ++y) all.insert(all.end(), &depth_[index(1, y)], &depth_[index(1, y)] + width_);
        return all;
    }
    double deepest() const {
        double most = 0;
        for (int y = 1; y <= height_; ++y)
            for (int x = 1; x <= width_; ++x) most = std::max(most, depth_[index(x, y)]);
        return most;
    }

    void step(double dt, double rain) {
        for (int y = 0; y <= height_; ++y)
            for (int x = 0; x <= width_; ++x) {
                auto const here = index(x, y);
                if (y > 0) east_[here] = flow(east_[here], here, here + 1, terrain::cell_x, dt);
                if (x > 0) south_[here] = flow(south_[here], here, index(x, y + 1), terrain::cell_y, dt);
            }
        for (int y = 1; y <= height_; ++y)
            for (int x = 1; x <= width_; ++x) {
                auto const here = index(x, y);
                double const in = (east_[here - 1] - east_[here]) / terrain::cell_x +
                                  (south_[index(x, y - 1)] - south_[here]) / terrain::cell_y;
                depth_[here] = std::max(0.0, depth_[here] + dt * (rain + in));
            }
    }

private:
    std::size_t index(int x, int y) const {
        return static_cast<std::size_t>(y) * static_cast<std::size_t>(stride()) + static_cast<std::size_t>(x);
    }
    /// Square metres a second through the face from cell a to cell b, after dt more seconds.
    double flow(double q, std::size_t a, std::size_t b, double distance, double dt) const {
        constexpr double gravity = 9.81, chezy = 30;
        double const level_a = ground_[a] + depth_[a], level_b = ground_[b] + depth_[b];
        double const open = std::max(level_a, level_b) - std::max(ground_[a], ground_[b]); // height of the face that is wet
        if (open <= 0) return 0;
        double const pushed = q - gravity * open * dt * (level_b - level_a) / distance;
        double const slowed = pushed / (1 + gravity * dt * std::abs(q) / (chezy * chezy * open * open));
        double const most = distance / dt / 4;
        return std::clamp(slowed, -most * depth_[b], most * depth_[a]);
    }
};

} // namespace flood
