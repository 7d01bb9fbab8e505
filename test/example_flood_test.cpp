// The main job, its ranks as threads: however many share a map, they get to the last bit what one loop over the whole map gets.
#include "../examples/flood/flood.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/dice.hpp"

namespace {

flood::terrain rough_land(int width, int height, unsigned seed) {
    mpt::test::dice dice{seed};
    flood::terrain map{width, height, {}};
    for (int i = 0; i < width * height; ++i) map.heights.push_back(dice.below(50));
    return map;
}

/// The same physics over maps of cells, one cell and one face at a time, with nobody to share with.
class plain_flood {
    flood::terrain const& map_;
    using field = std::vector<std::vector<double>>; // [y + 1][x + 1]
    field depth_{make()}, east_{make()}, south_{make()};

    field make() const {
        auto const side = [](int n) { return static_cast<std::size_t>(n) + 2; };
        return field(side(map_.height), std::vector<double>(side(map_.width)));
    }
    static double& of(field& f, int x, int y) { return f[static_cast<std::size_t>(y + 1)][static_cast<std::size_t>(x + 1)]; }

    void through(double& q, int x, int y, int x2, int y2, double distance, double dt) {
        double const a = of(depth_, x, y), b = of(depth_, x2, y2), ground = map_.at(x, y), ground2 = map_.at(x2, y2);
        double const open = std::max(ground + a, ground2 + b) - std::max(ground, ground2);
        if (open <= 0) return void(q = 0);
        double const push = q - 9.81 * open * dt * ((ground2 + b) - (ground + a)) / distance;
        q = push / (1 + 9.81 * dt * std::abs(q) / (30.0 * 30.0 * open * open));
        double const most = distance / dt / 4;
        q = std::min(std::max(q, -most * b), most * a);
    }

public:
    explicit plain_flood(flood::terrain const& map) : map_{map} {}

    std::vector<double> run(flood::storm const& s) {
        double time = 0;
        while (time < s.end()) {
            double deepest = 0;
            for (auto const& row : depth_) deepest = std::max(deepest, *std::ranges::max_element(row));
            double const dt = s.step(time, deepest), rain = s.rain(time);
            for (int y = 0; y < map_.height; ++y)
                for (int x = -1; x < map_.width; ++x) through(of(east_, x, y), x, y, x + 1, y, flood::terrain::cell_x, dt);
            for (int x = 0; x < map_.width; ++x)
                for (int y = -1; y < map_.height; ++y) through(of(south_, x, y), x, y, x, y + 1, flood::terrain::cell_y, dt);
            for (int y = 0; y < map_.height; ++y)
                for (int x = 0; x < map_.width; ++x) {
                    double const in = (of(east_, x - 1, y) - of(east_, x, y)) / flood::terrain::cell_x +
                                      (of(south_, x, y - 1) - of(south_, x, y)) / flood::terrain::cell_y;
                    of(depth_, x, y) = std::max(0.0, of(depth_, x, y) + dt * (rain + in));
                }
            time += dt;
        }
        std::vector<double> all;
        for (int y = 0; y < map_.height; ++y)
            for (int x = 0; x < map_.width; ++x) all.push_back(of(depth_, x, y));
        return all;
    }
};

std::vector<double> shared_flood(flood::terrain const& map, flood::storm const& s, int ranks) {
    std::vector<double> all;
    mpt::local_job(ranks, [&](auto world) {
        flood::simulation rain{world, flood::task{map.width, map.height, s}, map};
        auto const counted = rain.run();
        EXPECT_GT(counted.steps, 0);
        auto const mine = rain.depths();
        if (world.rank() == 0) all = mine;
        else EXPECT_TRUE(mine.empty());
    });
    return all;
}

TEST(example_flood, any_number_of_ranks_gets_the_bits_of_a_plain_loop) {
    mpt::test::seeds const seeds{2};
    for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        auto const map = rough_land(23, 17, seed);
        flood::storm const s{2, 1, 80};
        auto const expected = plain_flood{map}.run(s);
        for (int ranks : {1, 2, 3, 4, 7}) EXPECT_EQ(shared_flood(map, s, ranks), expected) << ranks << " ranks";
    }
}

TEST(example_flood, water_that_cannot_leave_stays) {
    auto map = rough_land(9, 9, 1);
    for (int i = 0; i < 9; ++i)
        for (int edge : {i, 72 + i, 9 * i, 9 * i + 8}) map.heights[static_cast<std::size_t>(edge)] = 1000; // a wall around
    flood::storm const s{1, 1, 100};
    double in_the_middle = 0;
    auto const depth = plain_flood{map}.run(s);
    for (double const d : depth) {
        EXPECT_GE(d, 0);
        in_the_middle += d;
    }
    EXPECT_NEAR(in_the_middle, 0.1 * 81, 0.1 * 32) << "only what fell on the wall may have left";
    EXPECT_EQ(shared_flood(map, s, 4), depth);
}

TEST(example_flood, the_map_of_the_repository_is_read) {
    auto const map = flood::read_terrain(std::string{std::getenv("MPT_TEST_DATA")} + "/../../examples/flood/terrain.pgm");
    EXPECT_EQ(map.width, 403);
    EXPECT_EQ(map.height, 344);
    EXPECT_EQ(*std::ranges::min_element(map.heights), 236);
    EXPECT_EQ(*std::ranges::max_element(map.heights), 1076);
}

TEST(example_flood, parts_cover_the_map_once) {
    for (int columns : {1, 2, 3, 5})
        for (int rows : {1, 2, 4}) {
            std::vector<double> map(11 * 7);
            std::size_t cells = 0;
            for (int r = 0; r < rows * columns; ++r) {
                auto const part = flood::share_of(11, 7, r % columns, columns, r / columns, rows);
                std::vector<double> const ones(part.cells(), 1);
                flood::paste(part, ones.data(), map, 11);
                cells += part.cells();
            }
            EXPECT_EQ(std::ranges::count(map, 1.0), 11 * 7);
            EXPECT_EQ(cells, map.size());
        }
}

} // namespace
