// examples/my_transport.hpp, by the laws of its contract, and under a whole stack.
#include "../examples/my_transport.hpp"

#include "transport_conformance.hpp"
#include <mpt/mpt.hpp>

namespace {
using policies = testing::Types<my_transport>;
INSTANTIATE_TYPED_TEST_SUITE_P(mine, transport_conformance, policies);

using mine = mpt::stack<my_transport, mpt::world::threads>;

TEST(my_transport, carries_messages_of_all_sizes_between_all_ranks) {
    mpt::test::watchdog const guard{"my_transport under a stack"};
    mpt::local_job<mine>(3, [](auto world) {
        int const me = world.rank(), n = world.size();
        for (std::size_t const size : {0u, 1u, 40u, 1024u, 1025u, 8192u, 300'001u})
            for (int step = 0; step < n; ++step) {
                std::vector<std::byte> out(size), in(size);
                mpt::test::fill(out, static_cast<std::uint64_t>(me));
                auto const from = (me - step + n) % n;
                world.sendrecv(out, (me + step) % n, in, from);
                EXPECT_TRUE(mpt::test::matches(in, static_cast<std::uint64_t>(from))) << size << " bytes from " << from;
            }
        EXPECT_EQ(world.allreduce(me), 3);
        world.barrier();
    });
}

TEST(my_transport, outlives_a_rank_that_throws) {
    mpt::test::watchdog const guard{"a rank that throws"};
    EXPECT_THROW(mpt::local_job<mine>(3,
                                      [](auto world) {
                                          world.barrier();
                                          if (world.rank() == 1) throw std::runtime_error{"I go"};
                                          for (;;)
                                              world.send(1, 2 - world.rank()); // nobody receives: frames until the wire is full
                                      }),
                 std::exception);
}

} // namespace
