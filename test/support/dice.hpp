/// test/support/dice - random choices of a test, and the seeds they come from: printed, and set by MPT_SEED to replay one alone.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <random>

namespace mpt::test {

class dice {
    std::mt19937 rng_;

public:
    explicit dice(unsigned seed) : rng_{seed} {}
    unsigned below(unsigned n) { return static_cast<unsigned>(rng_() % n); }
    bool coin() { return below(2) == 0; }
    template <class T> T one_of(std::initializer_list<T> list) {
        return list.begin()[below(static_cast<unsigned>(list.size()))];
    }
    unsigned seed() { return static_cast<unsigned>(rng_()); }
};

struct seeds {
    unsigned first, count;
    explicit seeds(unsigned how_many) : first{std::random_device{}()}, count{how_many} {
        if (auto const* s = std::getenv("MPT_SEED")) first = static_cast<unsigned>(std::strtoul(s, nullptr, 10)), count = 1;
        std::printf("MPT_SEED=%u to %u\n", first, first + count - 1);
    }
};

} // namespace mpt::test
