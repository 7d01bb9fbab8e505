#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>
#include <mpt/mem/offer.hpp>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/local_job.hpp>
#include <mpt/stack/memory_report.hpp>

namespace {
using namespace mpt;
using local = environment<local_stack>;

TEST(stack_memory_report, has_a_line_for_each_use_and_each_node) {
    memory_facts f;
    f.who = 3;
    f.use.library.add(5000);
    f.use.user.add(90'000);
    f.use.user.less(90'000);
    f.stands.library = {.touched = 4096, .huge = 0, .by_node = {{0, 1024}, {2, 3072}}};
    f.unexpected = {7, 77};
    f.lacks = "there is none of it.";
    EXPECT_EQ(report(f),
              "mpt: memory of rank 3           then      at most      touched      in huge pages   by node\n"
              "  library                       5000         5000         4096                  0   0: 1024, 2: 3072\n"
              "  program                          0        90000            0                  0\n"
              "  unexpected messages              7           77\n"
              "  library: there is none of it.\n");
}

TEST(stack_memory_report, is_printed_by_each_rank_that_leaves_where_it_is_asked_for) {
    for (bool const asked : {false, true}) {
        testing::internal::CaptureStderr();
        local_job(2, config::values{}.set<"MPT_MEMORY_REPORT">(asked ? "on" : "off"),
                  [](local& env) { env.deallocate(env.allocate<char>(1 << 20)); });
        auto const text = testing::internal::GetCapturedStderr();
        for (auto const* part :
             {"mpt: memory of rank 0", "mpt: memory of rank 1", "program                          0      1048576            0"})
            EXPECT_EQ(text.find(part) != text.npos, asked) << part << " in: " << text;
    }
}

/// A variable for the time of a test.
class variable {
    char const* name_;

public:
    variable(char const* name, char const* value) : name_{name} { ::setenv(name, value, 1); }
    ~variable() { ::unsetenv(name_); }
    variable(variable const&) = delete;
    variable& operator=(variable const&) = delete;
};

TEST(placed_memory, that_is_mandatory_and_not_there_is_an_error_and_preferred_is_told) {
    ::unsetenv("MEMKIND_HBW_NODES");
    if (!mem::look_around().fast_nodes().empty()) GTEST_SKIP() << "this machine has fast memory";
    auto asked = config::values{}.set<"MPT_ALLOC_MEM_AFFINITY">("MCDRAM");
    local_job(1, asked, [](local& env) {
        auto const s = env.allocate<double>(1000);
        auto const is = env.native().heap().placed_as(s.data());
        ASSERT_TRUE(is.has_value());
        EXPECT_EQ(is->kind, mem::affinity::system);
        EXPECT_NE(is->lacks.find("this machine has none"), std::string::npos) << is->lacks;
        env.deallocate(s);
    });
    local_job(1, asked.set<"MPT_ALLOC_MEM_POLICY">("M"), [](local& env) {
        EXPECT_THROW(static_cast<void>(env.allocate<double>(1000)), error);
        EXPECT_EQ(env.native().heap().by_use().user.now, 0u);
    });
}

TEST(placed_memory, is_fast_where_nodes_are_named) {
    variable const named{"MEMKIND_HBW_NODES", "0"};
    auto const here = mem::look_around();
    if (here.nodes.empty()) GTEST_SKIP() << "the system does not say which nodes of memory there are";
    for (auto const* policy : {"Preferred", "Mandatory", "Interleave"})
        local_job(1, config::values{}.set<"MPT_ALLOC_MEM_AFFINITY">("M").set<"MPT_ALLOC_MEM_POLICY">(policy), [](local& env) {
            auto const s = env.allocate<char>(1 << 20);
            auto const is = env.native().heap().placed_as(s.data());
            ASSERT_TRUE(is.has_value());
            EXPECT_EQ(is->kind, mem::affinity::mcdram) << is->lacks;
            std::ranges::fill(s, 'a');
            auto const stands = mem::look_at(std::as_bytes(s));
            EXPECT_EQ(stands.on(0), stands.touched);
            env.deallocate(s);
        });
}

TEST(placed_memory, of_the_library_is_placed_apart_and_says_what_it_lacks) {
    ::unsetenv("MEMKIND_HBW_NODES");
    auto const here = mem::look_around();
    if (here.nodes.empty() || !here.fast_nodes().empty()) GTEST_SKIP() << "this machine's memory is not of one known kind";
    for (auto const* kind : {"DDR", "MCDRAM"})
        local_job(1, config::values{}.set<"MPT_INTERNAL_MEM_AFFINITY">(kind), [&](local& env) {
            EXPECT_EQ(env.native().heap().internal_lacks().empty(), kind == std::string_view{"DDR"})
                << env.native().heap().internal_lacks();
            EXPECT_GT(env.native().heap().by_use().library.now, 0u);
        });
}

} // namespace
