#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include <gtest/gtest.h>
#include <mpt/boot/boot.hpp>
#include <mpt/core/error.hpp>
#include <mpt/wait/cpus.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "support/job_of.hpp"

namespace {
using namespace mpt;

std::string thrown(auto&& f) {
    try {
        f();
    } catch (error const& e) { return e.what(); }
    return "nothing was thrown";
}
bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TEST(job, nobody_leaves_a_meeting_before_everybody_came) {
    std::atomic<int> came{0};
    test::run_ranks(4, [&](boot::job& job, mem::slice_heap&, int) {
        for (int round = 1; round <= 200; ++round) {
            came.fetch_add(1);
            job.meet();
            ASSERT_GE(came.load(), 4 * round);
        }
    });
}

TEST(job, tells_how_many_cpus_a_rank_has_and_how_many_ranks_a_cpu) {
    auto const cpus = usable_cpus();
    for (unsigned const n : {2 * cpus + 1, 2u}) // one more than two on each, and few
        test::run_ranks(static_cast<std::int32_t>(n), [&](boot::job& job, mem::slice_heap&, int) {
            job.meet();
            EXPECT_EQ(job.cpus_for_each(), std::max(cpus / n, 1u));
            EXPECT_EQ(job.ranks_on_each(), n == 2 ? (cpus == 1 ? 2u : 1u) : 3u);
        });
    boot::job const alone{test::job_of(1)[0], 1, "test"};
    EXPECT_EQ(alone.cpus_for_each(), 0u);
    EXPECT_EQ(alone.ranks_on_each(), 1u);
}

TEST(job, different_stacks_are_an_error_that_names_both_on_every_rank) {
    auto const who = test::job_of(2);
    std::string seen[2];
    test::watchdog const guard{"different stacks"};
    auto const rank_of = [&](std::size_t r) {
        boot::job job{who[r], 10 + r, r == 0 ? "smp+ticket" : "self+none"};
        seen[r] = thrown([&] { job.meet(); });
    };
    std::thread other{rank_of, 1};
    rank_of(0);
    other.join();
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_TRUE(has(seen[0], "smp+ticket") && has(seen[0], "self+none")) << seen[0];
}

TEST(job, different_configurations_are_an_error_that_names_variable_values_and_ranks) {
    auto const who = test::job_of(3);
    std::string seen[3];
    test::watchdog const guard{"different configurations"};
    auto const rank_of = [&](std::size_t r) {
        boot::job job{who[r], 1, "s", r == 2 ? "MPT_A=1\nMPT_EAGER_MAX=8192\n" : "MPT_A=1\nMPT_EAGER_MAX=4096\n"};
        seen[r] = thrown([&] { job.meet(); });
    };
    std::thread one{rank_of, 1}, two{rank_of, 2};
    rank_of(0);
    one.join();
    two.join();
    EXPECT_EQ(seen[0], "mpt: MPT_EAGER_MAX is 4096 on rank 0 but 8192 on rank 2: this must be the same on all ranks of a job.");
    EXPECT_EQ(seen[1], seen[0]);
    EXPECT_EQ(seen[2], seen[0]);
}

TEST(job, an_address_that_was_not_published_is_empty) {
    test::run_ranks(2, [](boot::job& job, mem::slice_heap&, int me) {
        std::array<std::byte, 120> a{};
        a[0] = std::byte(me);
        if (me == 0) job.publish(1, 2, a);
        job.meet();
        EXPECT_EQ(job.address(0, 1, 2).size(), 120u);
        EXPECT_TRUE(job.address(0, 1, 1).empty());
        EXPECT_TRUE(job.address(1, 1, 2).empty());
        std::array<std::byte, 121> large{};
        EXPECT_THROW(job.publish(0, 0, large), error);
    });
}

TEST(job, names_of_contexts_are_in_the_record_while_there_is_room) {
    test::run_ranks(1, [](boot::job& job, mem::slice_heap&, int) {
        auto const& names = job.record(0).names;
        for (std::uint64_t c = 1; c <= names.size() + 2; ++c) job.name(context_id{c}, "name " + std::to_string(c));
        job.name(context_id{2}, std::string(100, 'x')); // named again, at length
        for (std::uint64_t i = 0; i < names.size(); ++i) {
            EXPECT_EQ(names[i].context.load(std::memory_order_relaxed), i + 1); // order: our own
            auto const wanted = i == 1 ? std::string(names[i].text.size() - 1, 'x') : "name " + std::to_string(i + 1);
            EXPECT_EQ(std::string{names[i].text.data()}, wanted);
        }
        job.meet();
    });
}

TEST(job, a_rank_is_taken_once_and_free_again_for_its_own_process_after_it_left) {
    auto const who = test::job_of(1);
    {
        boot::job first{who[0], 1, "s"};
        EXPECT_TRUE(has(thrown([&] { boot::job second{who[0], 1, "s"}; }), "already taken"));
        first.meet();
    }
    boot::job again{who[0], 1, "s"};
    again.meet();
}

TEST(job, a_rank_that_opens_is_reached_before_all_have_met_and_may_come_back_after_it_left) {
    auto const who = test::job_of(2);
    boot::job one{who[0], 1, "s"};
    one.open();
    {
        boot::job other{who[1], 1, "s"};
        EXPECT_TRUE(other.is_open(0));
        EXPECT_FALSE(one.is_open(1));
        other.open();
        EXPECT_TRUE(one.is_open(1));
        one.compare_with(1);
        one.leave();
        EXPECT_EQ(other.record(0).state.load(std::memory_order_relaxed), boot::rank_state::finalized); // order: our own
        one.come_back();
        EXPECT_EQ(other.record(0).state.load(std::memory_order_relaxed), boot::rank_state::running); // order: our own
    }
    EXPECT_TRUE(one.is_open(1)) << "it was there, and what it has told can be read";
}

TEST(job, ranks_that_wait_learn_that_another_failed) {
    EXPECT_THROW(test::run_ranks(3,
                                 [](boot::job& job, mem::slice_heap&, int me) {
                                     if (me == 1) throw std::logic_error{"rank 1 gave up"};
                                     job.meet();
                                 }),
                 std::logic_error);
}

TEST(job, more_ranks_than_cpus_are_scarce_and_fence_on_both_sides) {
    auto const who = test::job_of(4096);
    boot::job job{who[7], 1, "s"};
    EXPECT_TRUE(job.scarce());
    EXPECT_EQ(job.fences(), fence_mode::both);
}

/// The barriers of three processes, where the sleeper fences and where both do: see core/fences.hpp.
TEST(job, two_of_its_processes_pass_every_cpu_before_all_have_met) {
    test::watchdog const dog{"processes that meet"};
    for (auto const mode : {fence_mode::sleeper, fence_mode::both}) {
        auto who = test::job_of(3);
        reinterpret_cast<boot::control_header*>(who[0].arena->control().data())
            ->fences.store(mode, std::memory_order_relaxed); // order: alone
        auto const run = [&](std::size_t r) {
            who[r].shares_process = false;
            bool right = true;
            for (int environment = 0; environment < 2; ++environment) { // one after another
                boot::job job{who[r], 1, "s"};
                bool const before = job.fences_reach_all();
                job.meet();
                right = right && !before && job.fences_reach_all() == (job.fences() == fence_mode::sleeper);
                job.meet(); // nobody comes before all have looked
            }
            return right;
        };
        std::vector<pid_t> others;
        for (std::size_t r = 1; r < 3; ++r) {
            others.push_back(::fork());
            if (others.back() == 0) ::_exit(run(r) ? 0 : 1);
        }
        EXPECT_TRUE(run(0));
        for (auto const pid : others) {
            int status = 0;
            ::waitpid(pid, &status, 0);
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
        }
    }
    test::run_ranks(
        2, [](boot::job& job, mem::slice_heap&, int) { EXPECT_TRUE(job.fences_reach_all()) << "threads of one process"; });
    EXPECT_TRUE((boot::job{test::job_of(1)[0], 1, "s"}.fences_reach_all()));
}

struct foreign : testing::TestWithParam<std::vector<std::pair<char const*, char const*>>> {};

TEST_P(foreign, launchers_step_is_refused_with_a_sentence) {
    for (auto const& [name, value] : GetParam()) ::setenv(name, value, 1);
    auto const said = thrown([] { boot::refuse_foreign_launcher(); });
    for (auto const& [name, value] : GetParam()) ::unsetenv(name);
    EXPECT_TRUE(has(said, ": start it with mptrun")) << said;
}
INSTANTIATE_TEST_SUITE_P(
    of, foreign,
    testing::Values(foreign::ParamType{{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}},
                    foreign::ParamType{{"PMIX_RANK", "0"}},
                    foreign::ParamType{{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "0"}},
                    foreign::ParamType{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}},
                    foreign::ParamType{{"PMI_PORT", "vm:35145"}, {"PMI_ID", "0"}}, foreign::ParamType{{"PALS_RANKID", "0"}}));

struct not_foreign : testing::TestWithParam<std::vector<std::pair<char const*, char const*>>> {};

TEST_P(not_foreign, shells_of_an_allocation_and_steps_of_one_rank_are_no_launchers_step) {
    for (auto const& [name, value] : GetParam()) ::setenv(name, value, 1);
    EXPECT_NO_THROW(boot::refuse_foreign_launcher());
    for (auto const& [name, value] : GetParam()) ::unsetenv(name);
}
INSTANTIATE_TEST_SUITE_P(
    of, not_foreign,
    testing::Values(foreign::ParamType{{"SLURM_JOB_ID", "77"}, {"SLURM_NTASKS", "4"}},
                    foreign::ParamType{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},
                    foreign::ParamType{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "4294967291"}},
                    foreign::ParamType{
                        {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_ID", "2"}},
                    foreign::ParamType{{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_RANK", "0"}},
                    foreign::ParamType{{"OMPI_COMM_WORLD_SIZE", "4"}},
                    foreign::ParamType{{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}));

TEST(detect, a_program_started_by_hand_is_a_job_of_one_and_stays_the_same_rank) {
    auto const m = boot::detect();
    EXPECT_EQ(m.me, 0);
    EXPECT_EQ(m.size, 1);
    EXPECT_EQ(boot::detect().arena, m.arena);
    boot::job job{m, 1, "s"};
    job.meet();
}

} // namespace
