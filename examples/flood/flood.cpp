// It rains on the mountains of Tennessee, and the water finds its way: a parallel simulation, its picture, and its numbers.
//     mptrun -n 4 build/examples/flood/flood examples/flood/terrain.pgm flood.png
#include "flood.hpp"
#include "picture.hpp"

namespace {

void simulate(mpt::environment<>& env, int argc, char** argv) {
    auto world = env.world();
    bool const first = world.rank() == 0;
    flood::options asked;
    flood::terrain map;
    flood::task task;
    if (first) {
        asked = flood::options::parse(argc, argv);
        map = flood::read_terrain(asked.map);
        task = {map.width, map.height, asked.weather};
    }
    world.broadcast(task);

    flood::simulation rain{world, task, map};
    auto counted = rain.run();
    counted.latency = flood::one_way(world, 8, 1000);
    counted.bandwidth = flood::per_second(1 << 20, flood::one_way(world, 1 << 20, 20));

    auto const depth = rain.depths();
    auto const all = world.gather(counted);
    if (!first) return;
    flood::write_picture(asked.picture, map, depth);
    flood::print_page(asked, map, depth, all, rain.ranks().rows(), rain.ranks().columns());
}

} // namespace

int main(int argc, char** argv) try {
    mpt::environment env{argc, argv};
    simulate(env, argc, argv);
} catch (std::exception const& e) {
    std::fprintf(stderr, "flood: %s\n", e.what());
    return 1;
}
