#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <mpt/mem/offer.hpp>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/local_job.hpp>
#include <mpt/stack/memory_report.hpp>

#include <unistd.h>

#include "support/huge_pages.hpp"

namespace {
using namespace mpt;
using local = environment<local_stack>;

TEST(stack_memory_report, has_a_line_for_each_use_and_each_node) {
    memory_facts f;
    f.who = 3;
    f.use.library.add(5000);
    f.use.of[static_cast<std::size_t>(mem::purpose::mailboxes)].add(4000);
    f.use.user.add(90'000);
    f.use.user.less(90'000);
    f.use.of[static_cast<std::size_t>(mem::purpose::windows)].add(90'000);
    f.use.of[static_cast<std::size_t>(mem::purpose::windows)].less(90'000);
    f.stands.library = {.touched = 4096, .huge = 0, .by_node = {{0, 1024}, {2, 3072}}};
    f.unexpected = {7, 77};
    f.lacks = "there is none of it.";
    EXPECT_EQ(report(f),
              "mpt: memory of rank 3           then      at most      touched      in huge pages   by node\n"
              "  library                       5000         5000         4096                  0   0: 1024, 2: 3072\n"
              "    control blocks                 0            0\n"
              "    mailboxes                   4000         4000\n"
              "    buffers                        0            0\n"
              "    collectives                    0            0\n"
              "  program                          0        90000            0                  0\n"
              "    allocated                      0            0\n"
              "    windows                        0        90000\n"
              "    symmetric heap                 0            0\n"
              "  unexpected messages              7           77\n"
              "  library: there is none of it.\n");
}

TEST(stack_memory_report, of_all_ranks_says_who_had_least_and_who_most) {
    memory_marks all;
    all.add(0, {5, 1, 0, 0, 0, 0, 0, 9});
    all.add(1, {5, 3, 0, 0, 0, 0, 0, 9});
    all.add(2, {5, 2, 0, 0, 0, 0, 0, 1});
    EXPECT_EQ(report(all), "mpt: memory of 3 ranks, at most          least  of rank         most  of rank\n"
                           "  control blocks                             5        0            5        0\n"
                           "  mailboxes                                  1        0            3        1\n"
                           "  buffers                                    0        0            0        0\n"
                           "  collectives                                0        0            0        0\n"
                           "  allocated                                  0        0            0        0\n"
                           "  windows                                    0        0            0        0\n"
                           "  symmetric heap                             0        0            0        0\n"
                           "  unexpected messages                        1        2            9        0\n");
}

std::string said_at_the_end(config::values const& v) {
    testing::internal::CaptureStderr();
    local_job(2, v, [](local& env) { env.deallocate(env.allocate<char>(env.rank() == 0 ? 1 << 20 : 2 << 20)); });
    return testing::internal::GetCapturedStderr();
}

TEST(stack_memory_report, is_of_each_rank_of_all_or_both_as_it_is_asked_for) {
    for (auto const* asked : {"off", "0", "1", "2", "3", "on"}) {
        auto const text = said_at_the_end(config::values{}.set<"MPT_MEMORY_REPORT">(asked));
        std::string_view const value{asked};
        for (auto const* part :
             {"mpt: memory of rank 0", "mpt: memory of rank 1", "    allocated                      0      1048576\n",
              "    allocated                      0      2097152\n"})
            EXPECT_EQ(text.find(part) != text.npos, value == "2" || value == "3" || value == "on")
                << asked << part << " in: " << text;
        for (auto const* part : {"mpt: memory of 2 ranks, at most",
                                 "  allocated                            1048576        0      2097152        1\n"})
            EXPECT_EQ(text.find(part) != text.npos, value == "1" || value == "3" || value == "on")
                << asked << part << " in: " << text;
    }
}

TEST(stack_memory_report, tells_what_was_touched_of_memory_that_was_given_back) {
    testing::internal::CaptureStderr();
    local_job(1, config::values{}.set<"MPT_MEMORY_REPORT">("2"), [](local& env) {
        auto const s = env.allocate<char>(1 << 20);
        std::ranges::fill(s, 'a');
        env.deallocate(s);
    });
    auto const text = testing::internal::GetCapturedStderr();
    if (text.find("program                          0      1048576            0") != text.npos)
        GTEST_SKIP() << "the kernel does not tell where pages are";
    EXPECT_NE(text.find("program                          0      1048576      1048576"), text.npos) << text;
}

/// Bytes of the job's shared memory that this process has, as /proc/self/smaps tells: in all, and in huge pages of the system's pool.
struct seen {
    std::uint64_t touched = 0, huge = 0;
};
seen by_smaps() {
    std::ifstream smaps{"/proc/self/smaps"};
    seen all;
    bool is_ours = false;
    for (std::string line; std::getline(smaps, line);) {
        if (line.find('-') < line.find(' '))
            is_ours = line.find("/memfd:mpt-data") != line.npos || line.find("/memfd:mpt-pages") != line.npos;
        for (std::string_view const key : {"Rss:", "Shared_Hugetlb:", "Private_Hugetlb:"}) {
            if (!is_ours || !line.starts_with(key)) continue;
            auto const n = std::stoull(line.substr(key.size())) << 10;
            all.touched += n; // resident pages are told apart from those of the pool
            if (key != "Rss:") all.huge += n;
        }
    }
    return all;
}
/// Every rank's lines of the library and the program, added up; and those of the nodes.
struct told {
    seen library, program;
    std::uint64_t on_nodes = 0;
};
told by_report(std::string const& text) {
    std::istringstream in{text};
    told all;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words{line};
        std::string what, node;
        std::uint64_t now = 0, most = 0, touched = 0, huge = 0, n = 0;
        char comma = 0;
        if (!(words >> what) || (what != "program" && what != "library") || !(words >> now >> most >> touched >> huge))
            continue;
        auto& of = what == "program" ? all.program : all.library;
        of.touched += touched, of.huge += huge;
        while (words >> node >> n) all.on_nodes += n, words >> comma; // "0: 4096, 1: 8192"
    }
    return all;
}

TEST(stack_memory_report, of_a_whole_job_agrees_with_smaps) {
    constexpr std::size_t page = 2 << 20;
    test::huge_pages const pool{5};
    if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
    seen is;
    testing::internal::CaptureStderr();
    local_job(2, config::values{}.set<"MPT_MEMORY_REPORT">("2").set<"MPT_ALLOC_MEM_PG_SZ">("2M"), [&](local& env) {
        auto const s = env.allocate<char>((env.rank() == 0 ? 2 : 3) * page);
        for (std::size_t i = env.rank() == 0 ? 0 : page; i < s.size(); i += page)
            s[i] = 'a'; // two pages each, of two and of three
        auto world = env.world();
        for (int i = 0; i < 10; ++i) world.barrier(); // what they need to leave has been touched
        if (env.rank() == 0) is = by_smaps();
        world.barrier();
        env.deallocate(s);
    });
    auto const text = testing::internal::GetCapturedStderr();
    if (is.touched == 0) GTEST_SKIP() << "memory is not a memfd here";
    auto const said = by_report(text);
    EXPECT_EQ(is.huge, 4 * page) << text;
    EXPECT_EQ(said.program.huge, is.huge) << text;
    EXPECT_EQ(said.library.huge, 0u) << text;
    if (said.library.touched == 0) GTEST_SKIP() << "the kernel does not tell where pages are";
    EXPECT_EQ(said.program.touched, is.huge) << text;
    EXPECT_EQ(said.library.touched + said.program.touched, is.touched) << text;
    EXPECT_EQ(said.on_nodes, is.touched) << text;
}

TEST(stack_memory_report, of_each_rank_goes_into_a_file_that_is_named) {
    auto const name = (std::filesystem::temp_directory_path() / ("mpt-report-" + std::to_string(::getpid()))).string();
    auto v = config::values{}.set<"MPT_MEMORY_REPORT">("2").set<"MPT_MEMORY_REPORT_FILE">(name);
    EXPECT_EQ(said_at_the_end(v), "");
    for (auto const* rank : {"0", "1"}) {
        auto const file = name + '.' + rank;
        std::ifstream in{file};
        std::string const text{std::istreambuf_iterator<char>{in}, {}};
        EXPECT_NE(text.find(std::string{"mpt: memory of rank "} + rank), text.npos) << text;
        std::filesystem::remove(file);
    }
    auto const text = said_at_the_end(v.set<"MPT_MEMORY_REPORT_FILE">("/nowhere/at/all"));
    for (auto const* part :
         {"rank 1 cannot write its memory report to /nowhere/at/all.1: No such file", "mpt: memory of rank 1"})
        EXPECT_NE(text.find(part), text.npos) << part << " in: " << text;
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

/// The policy that the kernel has for the mapping that an address is in; empty where it does not tell.
std::string policy_in_numa_maps(void const* address) {
    std::ifstream maps{"/proc/self/numa_maps"};
    std::string policy;
    for (std::string line; std::getline(maps, line);) { // "7f0000000000 bind:0 file=..."
        std::istringstream words{line};
        std::uintptr_t from = 0;
        std::string first;
        if (!(words >> std::hex >> from >> first) || from > reinterpret_cast<std::uintptr_t>(address)) break;
        policy = first;
    }
    return policy;
}

TEST(placed_memory, is_fast_where_nodes_are_named) {
    variable const named{"MEMKIND_HBW_NODES", "0"};
    auto const here = mem::look_around();
    if (here.nodes.empty()) GTEST_SKIP() << "the system does not say which nodes of memory there are";
    bool const told = std::ifstream{"/proc/self/numa_maps"}.good();
    for (auto const& [policy, by_kernel] : std::initializer_list<std::pair<char const*, std::string_view>>{
             {"Preferred", "prefer"}, {"Mandatory", "bind:0"}, {"Interleave", "interleave:0"}})
        local_job(1, config::values{}.set<"MPT_ALLOC_MEM_AFFINITY">("M").set<"MPT_ALLOC_MEM_POLICY">(policy), [&](local& env) {
            auto const s = env.allocate<char>(1 << 20);
            auto const is = env.native().heap().placed_as(s.data());
            ASSERT_TRUE(is.has_value());
            EXPECT_EQ(is->kind, mem::affinity::mcdram) << is->lacks;
            std::ranges::fill(s, 'a');
            auto const stands = mem::look_at(std::as_bytes(s));
            EXPECT_EQ(stands.on(0), stands.touched);
            if (told) { EXPECT_TRUE(policy_in_numa_maps(s.data()).starts_with(by_kernel)) << policy_in_numa_maps(s.data()); }
            auto const* const at = s.data();
            env.deallocate(s);
            if (told) { EXPECT_EQ(policy_in_numa_maps(at), "default"); }
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
