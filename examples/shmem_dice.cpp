// Two dice, thrown by all PEs of OpenSHMEM: how often each sum came stands in counters that are spread over the PEs, and whoever throws
// it increments the counter where it lies. PE 0 draws the histogram.
//     mptrun -n 4 build/examples/shmem_dice
#include <cstdint>
#include <cstdio>
#include <string>

#include <mpt/shmem/environment.hpp>

int main() {
    mpt::shmem::environment pe;
    constexpr int sums = 13, throws = 36'000; // of all PEs together
    int const me = pe.me(), n = pe.size();
    mpt::shmem::array<long> counts{pe, sums}; // symmetric: 13 longs on every PE, zeroed. A sum's counter is that of PE sum % n
    for (std::uint64_t i = static_cast<std::uint64_t>(me); i < throws; i += static_cast<std::uint64_t>(n)) {
        auto x = i * 0x9e37'79b9'7f4a'7c15; // of a throw's number, so that any number of PEs throws the same
        x = (x ^ x >> 29) * 0xbf58'476d'1ce4'e5b9;
        auto const sum = 2 + (x >> 40) % 6 + (x >> 20) % 6;
        pe->inc(&counts[sum], static_cast<int>(sum) % n);
    }
    pe.barrier_all(); // all have thrown
    for (int sum = 2; me == 0 && sum < sums; ++sum) {
        auto const count = pe->g(&counts[static_cast<std::size_t>(sum)], sum % n);
        std::printf("%2d %5ld %s\n", sum, count, std::string(static_cast<std::size_t>(count / 150), '#').c_str());
    }
}
