// mptrun as its users see it: exit codes, one line when something is wrong, nothing when all is well, nothing left behind.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "../support/process.hpp"
#include "../support/signals.hpp"

namespace {
using namespace mpt::test;
using namespace std::chrono_literals;

std::string const mptrun = std::getenv("MPT_TEST_MPTRUN") ? std::getenv("MPT_TEST_MPTRUN") : "mptrun";
std::string const rank = std::getenv("MPT_TEST_RANK") ? std::getenv("MPT_TEST_RANK") : "proc_rank";
std::string const refuse = std::getenv("MPT_TEST_REFUSE_SYSCALL") ? std::getenv("MPT_TEST_REFUSE_SYSCALL") : "refuse_syscall";

std::ptrdiff_t lines(std::string_view text) { return std::ranges::count(text, '\n'); }
bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// Living processes whose command line holds the word.
std::vector<pid_t> those_of(std::string_view word) {
    std::vector<pid_t> all;
    for (auto const& entry : std::filesystem::directory_iterator{"/proc"}) {
        std::ifstream file{entry.path() / "cmdline"};
        std::string const line{std::istreambuf_iterator<char>{file}, {}};
        if (!line.empty() && has(line, word)) all.push_back(std::stoi(entry.path().filename()));
    }
    return all;
}
int living(std::string_view word) { return static_cast<int>(those_of(word).size()); }
/// Waits for it; a process that was killed takes a moment to go.
bool all_gone(std::string_view word, std::chrono::seconds limit = 10s) {
    for (auto const until = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < until;
         std::this_thread::sleep_for(5ms))
        if (living(word) == 0) return true;
    return false;
}
bool all_there(std::string_view word, int n) {
    for (auto const until = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < until;
         std::this_thread::sleep_for(5ms))
        if (living(word) >= n) return true;
    return false;
}
/// n of them do by now with the signal what it is to meet.
bool all_ready(std::string_view word, int n, std::string const& set, int signal) {
    auto const is_ready = [&](pid_t p) { return mpt::test::has_signal(p, set, signal); };
    for (auto const until = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < until;
         std::this_thread::sleep_for(5ms))
        if (std::ranges::count_if(those_of(word), is_ready) >= n) return true;
    return false;
}
std::string token(std::string_view what) { return "mpt-test-" + std::string{what} + '-' + std::to_string(::getpid()); }

TEST(mptrun, runs_as_many_ranks_as_asked_and_says_nothing_itself) {
    for (int const n : {1, 2, 9}) {
        auto const e = run(mptrun + " -n " + std::to_string(n) + ' ' + rank + " hello");
        EXPECT_EQ(e.code, 0);
        EXPECT_EQ(e.err, "");
        EXPECT_EQ(lines(e.out), n);
        for (int r = 0; r < n; ++r)
            EXPECT_TRUE(has(e.out, "rank " + std::to_string(r) + " of " + std::to_string(n) + '\n')) << e.out;
    }
}

TEST(mptrun, understands_both_dialects) {
    for (auto const* options :
         {"-np 2", "--np 2", "-c 2", "--n=2", "-n2", "-n 2 --", "--allow-run-as-root --oversubscribe --mca btl self -np 2"}) {
        auto const e = run(mptrun + ' ' + options + ' ' + rank + " hello");
        EXPECT_EQ(e.code, 0) << options << ": " << e.err;
        EXPECT_EQ(lines(e.out), 2) << options;
    }
}

TEST(mptrun, runs_programs_that_know_nothing_of_mpt) {
    auto const e = run(mptrun + " -n 3 echo x");
    EXPECT_EQ(e.code, 0);
    EXPECT_EQ(e.out, "x\nx\nx\n");
    EXPECT_EQ(e.err, "");
}

TEST(mptrun, a_rank_that_ends_before_it_joined_is_found_out) {
    auto const e = run(mptrun + " -n 2 sh -c 'test $0 = x; exec " + rank + " hello' 2>/dev/null");
    EXPECT_EQ(e.code, 0); // all of them join
    auto const f = run(mptrun + " -n 2 sh -c 'case $MPT_BOOT in 1:1:*) exit 0;; esac; exec " + rank + " hello'", 20s);
    EXPECT_FALSE(f.late);
    EXPECT_EQ(f.code, 1);
    EXPECT_TRUE(f.says("rank 1 ") && f.says("without joining")) << f.err;
}

TEST(mptrun, passes_an_interrupt_on_and_says_nothing) {
    auto const mark = token("interrupt");
    process p{"exec " + mptrun + " -n 2 " + rank + " end 9 - compute " + mark};
    ASSERT_TRUE(all_there(mark, 3));
    std::this_thread::sleep_for(100ms);
    ::kill(p.pid(), SIGINT);
    auto const e = p.wait(20s);
    EXPECT_EQ(e.code, 130);
    EXPECT_EQ(e.err, "");
    EXPECT_TRUE(all_gone(mark));
}

TEST(mptrun, ends_ranks_that_do_not_listen_after_the_grace_period) {
    auto const mark = token("deaf");
    process p{"exec " + mptrun + " -n 2 " + rank + " end 9 - deaf " + mark};
    ASSERT_TRUE(all_ready(mark, 2, "SigIgn", SIGTERM));
    ::kill(p.pid(), SIGTERM);
    auto const e = p.wait(20s);
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.code, 137);
    EXPECT_TRUE(all_gone(mark));
}

TEST(mptrun, passes_user_signals_on) {
    process p{"exec " + mptrun + " -n 2 sh -c 'echo ready; trap \"exit 0\" USR1; while :; do sleep 0.05; done'"};
    ASSERT_TRUE(all_ready("trap \"exit 0\" USR1", 3, "SigCgt", SIGUSR1)); // mptrun among them
    ::kill(p.pid(), SIGUSR1);
    auto const e = p.wait(20s);
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.out, "ready\nready\n");
}

TEST(mptrun, time_limit_ends_the_job_with_124) {
    auto const e = run(mptrun + " --timeout 200ms -n 2 " + rank + " end 9 - compute", 20s);
    EXPECT_EQ(e.code, 124);
    EXPECT_TRUE(e.says("time limit")) << e.err;
}

TEST(mptrun, an_option_that_does_not_exist_is_answered_with_the_nearest_one) {
    auto const e = run(mptrun + " --timeuot 3 -n 2 true");
    EXPECT_EQ(e.code, 127);
    EXPECT_EQ(e.err, "mptrun: there is no option --timeuot. Did you mean --timeout?\n");
    EXPECT_TRUE(run(mptrun + " -n zero true").says("\"zero\""));
    EXPECT_TRUE(run(mptrun + " -n 0 true").says("-n wants a number"));
    EXPECT_TRUE(run(mptrun + " -n").says("needs a value"));
    EXPECT_TRUE(run(mptrun).says("which program?"));
    EXPECT_TRUE(run(mptrun + " --timeout soon true").says("\"soon\""));
}

TEST(mptrun, a_program_that_cannot_run_is_one_sentence) {
    auto const e = run(mptrun + " -n 2 no-such-program-anywhere");
    EXPECT_EQ(e.code, 127);
    EXPECT_EQ(e.err, "mptrun: there is no program \"no-such-program-anywhere\" in PATH, nor here.\n");
    EXPECT_TRUE(run(mptrun + " -n 2 ./no-such-program").says("cannot run ./no-such-program: there is no such file"));
    EXPECT_TRUE(run(mptrun + " -n 2 /etc/passwd").says("not executable"));
    EXPECT_TRUE(run(mptrun + " -n 2 /etc").says("directory"));
    EXPECT_TRUE(run(mptrun + " -n 2 -wdir /no-such-place true").says("there is no directory /no-such-place"));
}

TEST(mptrun, gives_variables_a_directory_and_tags) {
    auto const e = run("env OTHER=7 " + mptrun + " -n 2 -l -x A=5 -x OTHER -wdir / sh -c 'echo $A $OTHER $PWD; printf end'");
    EXPECT_EQ(e.code, 0) << e.err;
    for (auto const* line : {"[0] 5 7 /\n", "[1] 5 7 /\n", "[0] end\n", "[1] end\n"}) EXPECT_TRUE(has(e.out, line)) << e.out;
}

TEST(mptrun, tagged_output_loses_nothing_and_keeps_lines_whole) {
    auto const e = run(mptrun + " -n 3 -l sh -c 'seq 1 20000'");
    EXPECT_EQ(lines(e.out), 60000);
    std::array<int, 3> next{1, 1, 1};
    std::string_view text = e.out;
    while (!text.empty()) {
        auto const r = static_cast<std::size_t>(text.at(1) - '0');
        ASSERT_EQ(text.substr(0, text.find('\n')), "[" + std::to_string(r) + "] " + std::to_string(next.at(r)++));
        text.remove_prefix(text.find('\n') + 1);
    }
}

TEST(mptrun, input_goes_to_rank_0_alone) {
    auto const e = process{"printf 'a\\nb\\n' | " + mptrun + " -n 3 cat"}.wait();
    EXPECT_EQ(e.out, "a\nb\n");
    EXPECT_EQ(e.code, 0);
}

TEST(boot, a_program_that_a_rank_starts_is_not_the_same_rank_twice) {
    auto const e = run(mptrun + " -n 2 " + rank + " twice");
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.out, "rank 0 of 1\nrank 0 of 1\n");
}

TEST(boot, a_child_of_fork_that_goes_on_inside_mpt_is_refused_and_its_rank_goes_on) {
    auto const e = run(mptrun + " -n 2 " + rank + " fork", 20s);
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.err, "");
}

TEST(boot, a_script_that_runs_two_programs_as_one_rank_is_told_so) {
    auto const e = run(mptrun + " -n 1 sh -c '" + rank + " hello; " + rank + " hello'");
    EXPECT_EQ(e.code, 6);
    EXPECT_TRUE(e.says("already taken")) << e.err;
}

TEST(boot, a_script_may_stand_between_mptrun_and_the_program_and_use_low_descriptors) {
    auto const e = run(mptrun + " -n 2 sh -c 'exec 3</dev/null 4</dev/null; " + rank + " hello'");
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(lines(e.out), 2);
}

TEST(boot, descriptors_that_were_closed_on_the_way_are_found_again) {
    if (std::system("python3 -c pass 2>/dev/null") != 0) GTEST_SKIP() << "no python3";
    auto const e = run(mptrun + " -n 2 python3 -c 'import subprocess, sys; sys.exit(subprocess.run([\"" + rank +
                       "\", \"hello\"]).returncode)'");
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_TRUE(has(e.out, "rank 1 of 2")) << e.out;
}

TEST(boot, a_forged_variable_is_refused_with_a_sentence) {
    EXPECT_TRUE(run("env MPT_BOOT=nonsense " + rank + " hello").says("must not be set by hand"));
    EXPECT_TRUE(run("env MPT_BOOT=1:0:1:1:700:1:1:701:1:1:-1:0:0:0:a:b " + rank + " hello").says("closed or replaced"));
    auto const e = run(mptrun + " -n 1 sh -c 'MPT_BOOT=${MPT_BOOT%:*}:77 exec " + rank + " hello'");
    EXPECT_EQ(e.code, 6);
    EXPECT_TRUE(e.says("does not belong to the job")) << e.err;
}

TEST(boot, different_stacks_end_the_job_with_a_sentence) {
    auto const e = run(mptrun + " -n 2 " + rank + " layout");
    EXPECT_EQ(e.code, 6);
    EXPECT_TRUE(e.says("\"stack0\"") && e.says("\"stack1\"")) << e.err;
}

TEST(boot, another_launchers_step_is_refused) {
    auto const e = run("env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 " + rank + " hello");
    EXPECT_EQ(e.code, 6);
    EXPECT_TRUE(e.says("rank 1 of 2 by Open MPI")) << e.err;
    EXPECT_EQ(run("env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 " + mptrun + " -n 2 " + rank + " hello").code, 0);
}

struct refused : testing::TestWithParam<std::string> {};

TEST_P(refused, system_calls_have_a_way_around) {
    auto const shm = std::filesystem::directory_iterator{"/dev/shm"};
    auto const before = std::distance(begin(shm), {});
    auto const e = run(refuse + ' ' + GetParam() + " -- " + mptrun + " -n 3 " + rank + " memory 2");
    if (e.code == 125) GTEST_SKIP() << e.err;
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.err, "");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{"/dev/shm"}, {}), before);
}
INSTANTIATE_TEST_SUITE_P(of, refused,
                         testing::Values("EPERM memfd_create", "ENOSYS memfd_create", "EPERM membarrier", "ENOSYS fallocate",
                                         "ENOSYS memfd_create fallocate membarrier pidfd_open"));

} // namespace
