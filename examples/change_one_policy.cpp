// The same program on two stacks that differ in one policy: the lock. A rank of one thread needs none.
//     mptrun -n 2 build/examples/change_one_policy
#include <chrono>
#include <cstdio>
#include <mpt/lock/none.hpp>
#include <mpt/mpt.hpp>

template <class Stack> void ping_pong() {
    mpt::environment<Stack> env;
    auto world = env.world();
    int const me = world.rank(), other = 1 - me;
    if (world.size() != 2) throw mpt::error{mpt::errc::usage, "change_one_policy: run me on 2 ranks: mptrun -n 2 ..."};
    constexpr int rounds = 20000;
    double value = 0;
    auto const start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) {
        if (me == 0) world.send(value, other), value = world.template recv<double>(other);
        else value = world.template recv<double>(other) + 1, world.send(value, other);
    }
    std::chrono::duration<double, std::nano> const ns = std::chrono::steady_clock::now() - start;
    if (me == 0)
        std::printf("%-52s counted to %.0f, %4.0f ns one way\n", Stack::describe().c_str(), value, ns.count() / rounds / 2);
}

int main() {
    ping_pong<mpt::stack<mpt::lock::ticket>>(); // several threads of a rank may call mpt at once
    ping_pong<mpt::stack<mpt::lock::none>>();   // one thread at a time: the lock folds away
}
