#include <functional>
#include <future>
#include <numeric>
#include <random>

#include "support/wires.hpp"
#include <mpt/mpi/session.hpp>

namespace {
using namespace mpt;

/// Ranks that are threads, each with a home of its own and no environment.
template <class Stack> struct mpi_session : testing::Test {
    template <class F> static void ranks(std::int32_t n, F fn) {
        std::vector<std::thread> threads;
        for (auto const& m : boot::local_members(n))
            threads.emplace_back([fn, m] { fn(std::make_shared<session_home<Stack>>(m), m.me.value); });
        for (auto& t : threads) t.join();
    }
};
TYPED_TEST_SUITE(mpi_session, test::wires);

TYPED_TEST(mpi_session, talks_in_a_communicator_of_a_set) {
    this->ranks(3, [](auto const& home, int me) {
        for (int round = 0; round < 3; ++round) {
            session<TypeParam> const s{home};
            auto const all = s.communicator_of(s.group_of("mpi://WORLD"), "test");
            EXPECT_EQ(all.rank(), me);
            EXPECT_EQ(all.allreduce(me), 3);
            auto const self = s.communicator_of(s.group_of("mpi://SELF"), "test");
            EXPECT_EQ(self.size(), 1);
            EXPECT_EQ(self.allreduce(me), me);
        }
    });
}

TYPED_TEST(mpi_session, sets_are_named_and_others_are_refused_with_their_names) {
    this->ranks(2, [](auto const& home, int me) {
        session<TypeParam> const s{home};
        ASSERT_EQ(s.psets().size(), 2u);
        EXPECT_EQ(s.group_of(s.psets()[0]), group::range(0, 2));
        EXPECT_EQ(s.group_of(s.psets()[1]), group::range(me, 1));
        try {
            s.group_of("mpi://nobody");
            ADD_FAILURE() << "nothing was thrown";
        } catch (mpi_error const& e) {
            EXPECT_EQ(mpi_code_of(e), static_cast<int>(error_class::arg));
            EXPECT_NE(std::string{e.what()}.find("\"mpi://nobody\"; there are mpi://WORLD and mpi://SELF"), std::string::npos)
                << e.what();
        }
        EXPECT_THROW(s.communicator_of(group::range(1 - me, 1), "not me"), mpi_error);
        EXPECT_THROW(s.communicator_of(group::range(0, 2), std::string(longest_string_tag + 1, 'x')), mpi_error);
    });
}

TYPED_TEST(mpi_session, random_groups_make_communicators_without_the_others) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    this->ranks(4, [seed](auto const& home, int me) {
        std::mt19937 random{seed}; // the same on all ranks
        session<TypeParam> const s{home};
        for (int round = 0; round < 40; ++round) {
            std::vector<std::int32_t> who(4);
            std::iota(who.begin(), who.end(), 0);
            std::shuffle(who.begin(), who.end(), random);
            who.resize(1 + random() % who.size());
            auto const at = std::find(who.begin(), who.end(), me);
            if (at == who.end()) continue;
            auto const c = s.communicator_of(group::of(who), "one tag for all");
            EXPECT_EQ(c.rank(), at - who.begin());
            EXPECT_EQ(c.allgather(me), who);
        }
    });
}

TYPED_TEST(mpi_session, opens_and_closes_without_the_others) {
    std::promise<void> made;
    auto const after = made.get_future().share();
    this->ranks(3, [&](auto const& home, int me) {
        if (me == 1) return after.wait(); // never opens one
        session<TypeParam> const s{home};
        EXPECT_EQ(s.communicator_of(group::range(0, 2, 2), "two").allreduce(me), 2);
        if (me == 0) made.set_value();
    });
}

TYPED_TEST(mpi_session, the_world_comes_and_goes_beside_it) {
    this->ranks(3, [](auto const& home, int me) {
        session<TypeParam> const s{home};
        auto const who = s.group_of("mpi://WORLD");
        auto const before = s.communicator_of(who, "before");
        EXPECT_EQ(home->enter_world().world().allreduce(me), 3);
        EXPECT_EQ(before.allreduce(me), 3);
        home->leave_world();
        EXPECT_EQ(before.allreduce(me), 3);
        EXPECT_EQ(s.communicator_of(who, "after").allreduce(me), 3);
    });
}

TEST(mpi_session_of_a_process, uses_the_environment_that_is_there) {
    environment<> env;
    session<> const s{std::make_shared<session_home<>>()};
    EXPECT_EQ(&s.native(), &env.native());
    EXPECT_EQ(s.communicator_of(s.group_of("mpi://WORLD"), "").allreduce(5), 5);
}

TEST(mpi_session_of_a_process, keeps_one_of_its_own_for_all_sessions_of_the_process) {
    runtime<standard_stack>* first = nullptr;
    for (int i = 0; i < 3; ++i) {
        session const one, another;
        EXPECT_EQ(&one.native(), &another.native());
        if (i == 0) first = &one.native();
        EXPECT_EQ(&one.native(), first);
        EXPECT_EQ(one.communicator_of(one.group_of("mpi://SELF"), "t").allreduce(i), i);
    }
    EXPECT_THROW(environment<>{}, error);
}

} // namespace
