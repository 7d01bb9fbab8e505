// Every rank says hello, in order.
//     mptrun -n 4 build/examples/hello
#include <cstdio>
#include <mpt/mpt.hpp>

int main(int argc, char** argv) {
    mpt::environment env{argc, argv};
    auto world = env.world();
    for (int turn = 0; turn < world.size(); ++turn) {
        if (turn == world.rank())
            std::printf("hello from rank %d of %d\n", world.rank().value, world.size()), std::fflush(stdout);
        world.barrier();
    }
}
