// Random collectives of ranks that are processes, in memory that they share and by messages. Run by mptrun; rank 0 draws the seed.
#include <cstdlib>

#include "../support/any_collective.hpp"
#include <mpt/mpi/environment.hpp>

namespace {
using namespace mpt::test;
using team_type = mpt::coll::team<mpt::standard_stack>;

TEST(together, collectives_of_processes_give_what_they_must) {
    mpt::environment<> env;
    auto const& s = env.world().native();
    team_type const team{s.wire, s.who, s.me, s.rooted_calls, &s.shared};
    auto seed = seeds{1}.first;
    mpt::coll::broadcast(team, std::as_writable_bytes(std::span{&seed, 1}), 0);
    SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
    dice common{seed}, own{seed + 7919u * static_cast<unsigned>(s.me + 1)};
    for (int i = 0; i < 150; ++i) any_collective<team_type>{team, common, own};
    EXPECT_NE(s.shared.room, nullptr);
    for (int i = 0; i < 40; ++i) { // communicators come and go
        auto const other = env.world().dup();
        auto const& o = other.native();
        team_type const there{o.wire, o.who, o.me, o.rooted_calls, &o.shared};
        for (int k = 0; k < 8; ++k) any_collective<team_type>{there, common, own};
    }
}

} // namespace
