// Two ranks, one message of any length.
//     mptrun -n 2 build/examples/first
#include <cstdio>
#include <mpt/mpt.hpp>
#include <vector>

int main(int argc, char** argv) {
    mpt::environment env{argc, argv};
    auto world = env.world();
    if (world.rank() == 0) world.send(std::vector{1.5, 2.5, 3.0}, 1, 7); // to rank 1, tag 7
    if (world.rank() == 1) {
        auto const got = world.recv<std::vector<double>>(0, 7); // as long as the message is
        std::printf("rank 1 got %zu numbers, the last is %g\n", got.size(), got.back());
    }
}
