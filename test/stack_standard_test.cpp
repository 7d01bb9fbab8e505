#include <gtest/gtest.h>
#include <mpt/stack/standard.hpp>

namespace {
using namespace mpt;

static_assert(!standard_stack::world_type::shares_process && !stream_stack::world_type::shares_process);
static_assert(local_stack::world_type::shares_process && local_stream_stack::world_type::shares_process);

TEST(stack_standard, stacks_say_what_they_are_made_of) {
    EXPECT_EQ(standard_stack::describe(), "self+smp e0+e1+rndv_get+rndv_put ticket adaptive standard native");
    EXPECT_EQ(local_stack::describe(), "self+smp e0+e1+rndv_get+rndv_put ticket adaptive standard threads");
    EXPECT_EQ(per_object_stack::describe(), "self+smp e0+e1+rndv_get+rndv_put per_object adaptive standard native");
    EXPECT_EQ(stream_stack::describe(), "self+stream e0+e1+rndv_get+rndv_put ticket adaptive standard native");
    EXPECT_EQ(local_stream_stack::describe(), "self+stream e0+e1+rndv_get+rndv_put ticket adaptive standard threads");
}

TEST(stack_standard, ranks_of_shared_memory_and_of_streams_do_not_understand_each_other) {
    EXPECT_NE(standard_stack::layout(), stream_stack::layout());
    EXPECT_EQ(standard_stack::layout(), local_stack::layout());
}

/// The library was built of the same headers: its runtime and this file's agree on how large they are and on who is who.
template <class Stack> void expect_a_job_of_one() {
    runtime<Stack> one{boot::local_members(1).front()};
    EXPECT_EQ(one.me(), 0);
    EXPECT_EQ(one.size(), 1);
    EXPECT_EQ(one.lanes(), (std::is_same_v<typename Stack::lock_policy_type, lock::per_object> ? lock::per_object::lanes : 1u));
    EXPECT_FALSE(one.job().aborted());
}
TEST(stack_standard, the_compiled_stacks_start_and_end) {
    expect_a_job_of_one<local_stack>();
    expect_a_job_of_one<local_stream_stack>();
    expect_a_job_of_one<local_per_object_stack>();
}

TEST(stack_standard, a_stack_of_processes_refuses_ranks_that_are_threads) {
    for (auto refused : {+[] { runtime<standard_stack>{boot::local_members(1).front()}; },
                         +[] { runtime<stream_stack>{boot::local_members(1).front()}; }})
        try {
            refused();
            ADD_FAILURE() << "accepted";
        } catch (error const& e) {
            EXPECT_EQ(e.code(), errc::usage);
            EXPECT_NE(std::string{e.what()}.find("world::threads"), std::string::npos) << e.what();
        }
}
} // namespace
