// Random one-sided programs of ranks that are threads: by loads and stores, and by agents. As processes: test/proc/facade_test.cpp.
#include <gtest/gtest.h>

#include "support/rma_program.hpp"
#include "support/wires.hpp"

namespace {
using namespace mpt::test;

template <class Stack> struct rma_random : over<Stack> {};
TYPED_TEST_SUITE(rma_random, wires);

TYPED_TEST(rma_random, programs_leave_what_the_oracle_says) {
    using mpt::rma::flavor;
    seeds const s{1};
    dice d{s.first};
    for (int n : {1, 2, 3, 5})
        for (auto const how : {flavor::create, flavor::allocate, flavor::shared, flavor::dynamic}) {
            auto const seed = d.seed();
            this->job(n, [&](auto world) { rma_program<decltype(world)>{world, how, seed}.run(12); });
        }
}

/// Where memory is mapped, agents do by messages what loads and stores did.
TEST(rma_random_by_agents, leave_what_the_oracle_says_too) {
    using mpt::rma::flavor;
    auto const by_agents = mpt::config::values{}.set<"MPT_RMA_DIRECT">("off");
    seeds const s{2};
    dice d{s.first};
    for (int n : {2, 4})
        for (auto const how : {flavor::create, flavor::allocate, flavor::shared, flavor::dynamic}) {
            auto const seed = d.seed();
            mpt::local_job(n, by_agents, [&](auto world) { rma_program<decltype(world)>{world, how, seed}.run(12); });
        }
}
} // namespace
