// A token travels round the ranks: rank 0 starts it, everybody adds one, and it comes home.
//     mptrun -n 4 build/examples/ring            ranks are processes
//     build/examples/ring --threads 4            the same program, ranks are threads of one process
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpt/mpt.hpp>

template <class Communicator> void ring(Communicator world) {
    int const me = world.rank(), n = world.size();
    int const left = (me - 1 + n) % n, right = (me + 1) % n;
    constexpr int laps = 1000;
    long token = 0;
    auto const start = std::chrono::steady_clock::now();
    for (int lap = 0; lap < laps; ++lap) {
        if (me == 0) {
            world.send(token + 1, right);
            token = world.template recv<long>(left);
        } else {
            token = world.template recv<long>(left) + 1;
            world.send(token, right);
        }
    }
    std::chrono::duration<double, std::micro> const us = std::chrono::steady_clock::now() - start;
    auto const sum = world.allreduce(me); // 0 + 1 + ... + n-1, on every rank
    if (me == 0) {
        std::printf("%d ranks passed the token %d times round: it counts %ld, the ranks add up to %d\n", n, laps, token, sum);
        std::printf("%.2f us a hop\n", us.count() / laps / n);
    }
    if (token < laps || sum != n * (n - 1) / 2) throw mpt::error{mpt::errc::protocol, "ring: the token lost count"};
}

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], "--threads") == 0) {
        mpt::local_job(std::atoi(argv[2]), [](auto world) { ring(world); });
        return 0;
    }
    mpt::environment env{argc, argv};
    ring(env.world());
}
