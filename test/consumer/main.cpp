// Somebody else's program: it knows nothing of mpt's source tree. Adds up all ranks and says so.
#include <cstdio>
#include <functional>

#include <mpt/mpt.hpp>

int main(int argc, char** argv) {
    mpt::environment env{argc, argv};
    auto world = env.world();
    int const sum = world.allreduce(world.rank() + 1, std::plus{});
    if (world.rank() == 0) std::printf("%d ranks, sum %d\n", static_cast<int>(world.size()), sum);
    return sum == world.size() * (world.size() + 1) / 2 ? 0 : 1;
}
