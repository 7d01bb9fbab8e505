#include <gtest/gtest.h>
#include <mpt/mpi/environment.hpp>

namespace {
using namespace mpt;

/// Ranks that are processes, over shared memory and over streams. Each is alone here; test/proc/facade_test.cpp has more.
template <class> struct mpi_environment : testing::Test {};
using process_stacks = testing::Types<standard_stack, stream_stack>;
TYPED_TEST_SUITE(mpi_environment, process_stacks);

std::size_t rows() { return process_registry::instance().rows().size(); }

TYPED_TEST(mpi_environment, started_by_hand_it_is_a_job_of_one) {
    environment<TypeParam> env;
    EXPECT_EQ(env.rank(), 0);
    EXPECT_EQ(env.size(), 1);
    auto const world = env.world(), self = env.self();
    EXPECT_EQ(world.size(), 1);
    EXPECT_NE(world.context(), self.context());
    int const x = 4;
    auto r = world.isend(x, 0);
    EXPECT_EQ(world.template recv<int>(0), 4);
    r.wait();
    EXPECT_EQ(world.allreduce(7), 7);
}

TYPED_TEST(mpi_environment, one_comes_after_the_other) {
    for (int i = 0; i < 3; ++i) {
        environment<TypeParam> env;
        auto const m = env.template allocate<int>(1000);
        EXPECT_EQ(std::count(m.begin(), m.end(), 0), 1000) << "what an earlier one wrote is gone";
        std::fill(m.begin(), m.end(), 5);
        env.self().send(i, 0, i); // dies with its environment
    }
    environment<TypeParam> env;
    EXPECT_FALSE(env.self().iprobe());
}

TYPED_TEST(mpi_environment, programs_add_errors_of_their_own_and_take_them_away) {
    environment<TypeParam> env;
    auto& added = env.errors();
    auto const of_class = added.add_class(), code = added.add_code(of_class);
    added.add_string(code, "the mesh is not closed");
    auto const raised = errors::returning::run([&]() -> int { throw mpi_error{code, added.text_of(code)}; });
    EXPECT_EQ(raised.error().mpi_code(), code);
    EXPECT_EQ(added.class_of(raised.error().mpi_code()), of_class);
    EXPECT_STREQ(raised.error().what(), "the mesh is not closed");
    EXPECT_THROW(added.remove_class(of_class), error) << "a code is of it";
    added.remove_string(code), added.remove_code(code), added.remove_class(of_class);
    EXPECT_THROW(static_cast<void>(added.class_of(code)), error);
}

TYPED_TEST(mpi_environment, a_process_has_one_table_of_added_errors_and_a_thread_its_own) {
    environment<TypeParam> env;
    EXPECT_EQ(&env.errors() == error_registry::of_process().get(), !TypeParam::world_type::shares_process);
}

TYPED_TEST(mpi_environment, one_that_an_exception_left_makes_room_for_the_next) {
    for (int i = 0; i < 3; ++i)
        EXPECT_THROW(
            {
                environment<TypeParam> env;
                auto const m = env.template allocate<int>(1000);
                EXPECT_EQ(std::count(m.begin(), m.end(), 0), 1000) << "what an earlier one wrote is gone";
                std::fill(m.begin(), m.end(), 5);
                env.self().send(i, 0, i);
                throw std::runtime_error{"out"};
            },
            std::runtime_error);
    environment<TypeParam> env;
    EXPECT_FALSE(env.self().iprobe());
    EXPECT_EQ(env.world().allreduce(7), 7);
}

TYPED_TEST(mpi_environment, the_registry_has_a_row_while_it_lives) {
    auto const before = rows();
    {
        environment<TypeParam> env;
        EXPECT_EQ(rows(), before + 1);
        auto const row = process_registry::instance().find(&env);
        ASSERT_TRUE(row);
        EXPECT_EQ(row->stack, TypeParam::describe());
        EXPECT_EQ(row->layout, TypeParam::layout());
        EXPECT_EQ(row->me, 0);
        EXPECT_EQ(row->size, 1);
        EXPECT_FALSE(row->thread);
    }
    EXPECT_EQ(rows(), before);
}

TYPED_TEST(mpi_environment, an_exception_takes_the_row_away_too) {
    auto const before = rows();
    EXPECT_THROW(
        {
            environment<typename TypeParam::template with<world::threads>> env{boot::local_members(1).front()};
            throw std::runtime_error{"out"};
        },
        std::runtime_error);
    EXPECT_EQ(rows(), before);
}

TYPED_TEST(mpi_environment, takes_the_arguments_of_main_and_leaves_them) {
    char name[] = "program", option[] = "--option";
    char* words[]{name, option, nullptr};
    char** argv = words;
    int argc = 2;
    environment<TypeParam> env{argc, argv};
    EXPECT_EQ(argc, 2);
    EXPECT_STREQ(argv[1], "--option");
}

TYPED_TEST(mpi_environment, memory_is_of_elements) {
    environment<TypeParam> env;
    auto const m = env.template allocate<double>(1001);
    EXPECT_EQ(m.size(), 1001u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.data()) % alignof(double), 0u);
    m.back() = 2.5;
    env.deallocate(m);
    try {
        static_cast<void>(env.template allocate<double>(static_cast<std::size_t>(-1) / 4));
        ADD_FAILURE() << "more bytes than an address can count";
    } catch (error const& e) { EXPECT_EQ(e.code(), errc::argument); }
}

TEST(mpi_environment_death, abort_ends_the_process_with_its_code_and_its_reason) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            environment env;
            env.abort(7, "enough");
        },
        testing::ExitedWithCode(7), "enough");
}
} // namespace
