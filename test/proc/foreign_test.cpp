// Launchers that are not ours: ranks that join by PMI-1, and those of a job that cannot be joined.
#include <algorithm>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "../../src/core/boot_handover.hpp"
#include "../support/dice.hpp"
#include "../support/pmi_launcher.hpp"

namespace {
using namespace mpt::test;
using namespace std::chrono_literals;
using mpt::boot::pmi1_message;

std::string of_environment(char const* name, char const* otherwise) {
    auto const* const value = std::getenv(name);
    return value ? value : otherwise;
}
std::string const mptrun = of_environment("MPT_TEST_MPTRUN", "mptrun");
std::string const rank = of_environment("MPT_TEST_RANK", "proc_rank");
std::string const facade = of_environment("MPT_TEST_RANK_FACADE", "rank_facade");
std::string const c_process = of_environment("MPT_TEST_C_PROCESS", "c_process");

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
std::multiset<std::string> lines(std::string const& text) {
    std::multiset<std::string> all;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) all.insert(line);
    return all;
}
std::size_t count(std::string_view text, std::string_view part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}

// --- ranks that join ----------------------------------------------------------------------------------------------------------

TEST(pmi1, ranks_know_who_they_are_at_every_size) {
    for (int n : {1, 2, 4, 7}) {
        auto const e = pmi_launcher{n, rank + " hello"}.run();
        EXPECT_EQ(e.code, 0) << e.err;
        EXPECT_EQ(e.err, "");
        std::multiset<std::string> wanted;
        for (int r = 0; r < n; ++r) wanted.insert("rank " + std::to_string(r) + " of " + std::to_string(n));
        EXPECT_EQ(lines(e.out), wanted);
    }
}

TEST(pmi1, ranks_share_memory_and_messages_cross) {
    auto const e = pmi_launcher{3, rank + " memory 2"}.run();
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_TRUE(has(e.out, "rank 2: filled 2 MB")) << e.out;
    auto const f = pmi_launcher{3, facade + " smp ring 20"}.run();
    EXPECT_EQ(f.code, 0) << f.err;
    auto const c = pmi_launcher{4, c_process + " work"}.run();
    EXPECT_EQ(c.code, 0) << c.err;
    EXPECT_EQ(lines(c.out).count("00 10 11 sum 6"), 4u) << c.out;
}

TEST(pmi1, a_rank_says_goodbye_once_and_asks_for_nothing_else) {
    pmi_launcher l{2, rank + " hello"};
    ASSERT_EQ(l.run().code, 0);
    std::multiset<std::string> words;
    for (auto const& line : l.log) words.insert(line.substr(2, line.find(' ', 2) - 2));
    EXPECT_EQ(words,
              (std::multiset<std::string>{"cmd=init", "cmd=init", "cmd=get_maxes", "cmd=get_maxes", "cmd=get_my_kvsname",
                                          "cmd=get_my_kvsname", "cmd=put", "cmd=put", "cmd=put", "cmd=barrier_in",
                                          "cmd=barrier_in", "cmd=get", "cmd=get", "cmd=get", "cmd=finalize", "cmd=finalize"}));
}

TEST(pmi1, an_abort_is_told_to_the_launcher_with_its_code) {
    pmi_launcher l{3, c_process + " abort 7"};
    auto const e = l.run();
    EXPECT_EQ(e.code, 7);
    EXPECT_EQ(count(e.err, "MPI_Abort was called with error code 7"), 1u) << e.err;
    EXPECT_TRUE(std::ranges::count(l.log, "0 cmd=abort exitcode=7") == 1);
}

TEST(pmi1, a_ranks_death_ends_the_job) {
    auto const killed = pmi_launcher{3, rank + " end 1 kill meet"}.run();
    EXPECT_FALSE(killed.late);
    EXPECT_EQ(killed.code, 128 + SIGKILL);
    auto const left = pmi_launcher{3, rank + " end 1 exit0 meet"}.run(); // without finalize
    EXPECT_FALSE(left.late);
    EXPECT_EQ(left.code, 124);
}

TEST(pmi1, a_program_that_a_rank_starts_is_a_job_of_one) {
    auto const e = pmi_launcher{2, rank + " twice"}.run();
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.out, "rank 0 of 1\nrank 0 of 1\n");
}

TEST(pmi1, mptrun_as_a_rank_starts_a_job_of_its_own) {
    auto const e = pmi_launcher{1, mptrun + " -n 2 " + rank + " hello"}.run();
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(lines(e.out).count("rank 1 of 2"), 1u) << e.out;
}

// --- what goes wrong ----------------------------------------------------------------------------------------------------------

TEST(pmi1, a_rank_on_another_node_ends_the_job_with_both_hosts_named_once) {
    pmi_launcher l{3, rank + " hello"};
    l.hear = [](int r, std::string asked) {
        if (r == 2 && asked.starts_with("cmd=put")) asked.replace(asked.find("value="), asked.npos, "value=77#elsewhere");
        return asked;
    };
    auto const e = l.run(20s);
    EXPECT_EQ(e.code, 6) << e.err;
    EXPECT_EQ(count(e.err, "mpt:"), 1u) << e.err;
    EXPECT_TRUE(e.says("and rank 2 on host elsewhere, in memory that is not shared")) << e.err;
    EXPECT_TRUE(e.says("start all ranks on one node")) << e.err;
}

TEST(pmi1, a_rank_in_another_network_namespace_is_on_another_node) {
    if (std::system("unshare --net true 2>/dev/null") != 0) GTEST_SKIP() << "unshare --net is not permitted here";
    auto const e =
        pmi_launcher{2, "sh -c 'test $PMI_RANK = 0 || exec unshare --net " + rank + " hello; exec " + rank + " hello'"}.run(
            20s);
    EXPECT_EQ(e.code, 6) << e.err;
    EXPECT_EQ(count(e.err, "in memory that is not shared"), 1u) << e.err;
}

TEST(pmi1, a_launcher_that_refuses_is_quoted) {
    pmi_launcher l{2, rank + " hello"};
    l.say = [](int, std::string const&) { return "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n"; };
    auto const e = l.run(20s);
    EXPECT_EQ(e.code, 6);
    EXPECT_TRUE(e.says("mpt: the PMI launcher did not answer \"cmd=init pmi_version=1 pmi_subversion=1\": it said "
                       "\"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\". Start the program with mptrun.\n"))
        << e.err;
}

TEST(pmi1, a_launcher_that_hangs_up_is_an_error_at_every_step) {
    for (std::size_t step = 1; step <= 8; ++step) {
        pmi_launcher l{2, rank + " hello"};
        std::size_t answers = 0;
        l.say = [&](int, std::string answer) { return ++answers >= step ? std::nullopt : std::optional{std::move(answer)}; };
        auto const e = l.run(20s);
        EXPECT_FALSE(e.late) << step;
        EXPECT_EQ(e.code, 6) << step << e.err;
        EXPECT_TRUE(e.says("mpt: the PMI launcher did not answer \"cmd=")) << e.err;
    }
}

TEST(pmi1, a_bad_variable_is_said_once) {
    auto const e = pmi_launcher{4, "env MPT_LANES=99 " + rank + " hello"}.run(20s);
    EXPECT_EQ(e.code, 6);
    EXPECT_EQ(e.err, "mpt: MPT_LANES=99 is out of range; allowed: 1 .. 16 (default 1).\n");
}

TEST(pmi1, what_is_set_by_hand_is_refused) {
    auto const refused = [](std::string const& variables, std::string_view why) {
        auto const e = run("env " + variables + ' ' + rank + " hello", 20s);
        EXPECT_EQ(e.code, 6) << variables;
        EXPECT_TRUE(e.says(why)) << e.err;
    };
    refused("PMI_FD=99 PMI_RANK=0 PMI_SIZE=2", "descriptor 99 that the PMI launcher handed to this rank was closed on the way");
    refused("PMI_FD=1 PMI_RANK=2 PMI_SIZE=2", "PMI_RANK=2 does not belong to PMI_SIZE=2");
    refused("PMI_FD=x PMI_RANK=0 PMI_SIZE=2", "PMI_FD=\"x\" is not what a PMI launcher sets");
    refused("PMI_FD=0 PMI_RANK=-1 PMI_SIZE=2", "PMI_RANK=\"-1\" is not");
    refused("PMI_FD=0 PMI_RANK=0 PMI_SIZE=2", "did not answer \"cmd=init"); // no socket
}

/// Answers of random bytes, and true ones with random bytes in them: a sentence or a job, never a crash, a hang or a wrong rank.
TEST(pmi1, a_launcher_may_say_anything) {
    seeds const all{8};
    for (unsigned i = 0; i < all.count; ++i) {
        dice d{all.first + i};
        pmi_launcher l{2, rank + " hello"};
        auto const steps = 1 + d.below(12);
        unsigned answers = 0;
        l.say = [&](int, std::string answer) {
            if (++answers != steps) return answer;
            if (d.coin()) answer.assign(d.below(3000), '\0');
            for (unsigned n = 1 + d.below(8); n > 0 && !answer.empty(); --n)
                answer[d.below(static_cast<unsigned>(answer.size()))] = static_cast<char>(d.below(256));
            if (d.coin())
                for (char& c : answer) c = c == '\n' ? ' ' : c == '\0' ? static_cast<char>(d.below(256)) : c;
            return answer + '\n';
        };
        auto const e = l.run(30s);
        EXPECT_FALSE(e.late) << "MPT_SEED=" << all.first + i;
        EXPECT_TRUE(e.code == 0 || e.code == 6) << "MPT_SEED=" << all.first + i << ": " << e.code << e.err;
        EXPECT_TRUE(e.code != 0 || has(e.out, "rank 1 of 2")) << "MPT_SEED=" << all.first + i;
        EXPECT_TRUE(e.code == 0 || e.says("mpt: ")) << "MPT_SEED=" << all.first + i << e.err;
    }
}

// --- the parsers --------------------------------------------------------------------------------------------------------------

/// What a line means, by words: the naive way.
std::optional<std::string> naive_value(std::string const& line, std::string const& name) {
    std::istringstream in{line};
    for (std::string word; std::getline(in, word, ' ');)
        if (word.substr(0, name.size() + 1) == name + '=') return word.substr(name.size() + 1);
    return std::nullopt;
}

TEST(pmi1_message, agrees_with_a_naive_reader_on_random_lines) {
    seeds const all{20'000};
    std::string const pieces[]{"cmd=", "rc=", "value=", "x", " ", "  ", "=", "0", "-1", "99999999999999999999",
                               "a b",  "\t",  "\xff",   "cm"};
    for (unsigned i = 0; i < all.count; ++i) {
        dice d{all.first + i};
        std::string line = d.below(4) == 0 ? "" : "cmd=";
        for (unsigned n = d.below(12); n > 0; --n) line += pieces[d.below(std::size(pieces))];
        auto const m = pmi1_message::parse(line);
        bool const good = line.starts_with("cmd=") && line.find_first_of("\t\xff") == line.npos;
        ASSERT_EQ(m.has_value(), good) << "MPT_SEED=" << all.first + i << ' ' << line;
        if (!m) continue;
        for (std::string const name : {"cmd", "rc", "value", "x", "none"})
            ASSERT_EQ(m->value(name), naive_value(line, name)) << "MPT_SEED=" << all.first + i << ' ' << line << ' ' << name;
        static_cast<void>(m->number("rc"));
    }
}

TEST(pmi1_message, reads_numbers_whole) {
    auto const m = *pmi1_message::parse("cmd=maxes a=64 b=-1 c=12x d= e=9999999999999999999 a=7");
    EXPECT_EQ(m.number("a"), 64);
    EXPECT_EQ(m.number("b"), -1);
    for (auto const* bad : {"c", "d", "e", "f", "cmd"}) EXPECT_EQ(m.number(bad), std::nullopt) << bad;
    EXPECT_EQ(m.command(), "maxes");
}

TEST(handover, what_ranks_tell_each_other_is_read_as_it_was_written) {
    auto const here = mpt::boot::own_node();
    auto const again = mpt::boot::parse_node(mpt::boot::print_node(here));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->number, here.number);
    EXPECT_EQ(again->host, here.host);
    EXPECT_LT(mpt::boot::print_node(here).size(), 128u);
    mpt::boot::meeting_place const p{0x123456789abcdef0, {~0ull, 7}};
    auto const q = mpt::boot::parse_place(mpt::boot::print_place(p));
    ASSERT_TRUE(q);
    EXPECT_TRUE(q->socket == p.socket && q->key == p.key);
    for (auto const* bad : {"", "1#2", "1#2#", "1#2#3#", "1#2#3#4", "1#2#x", "#1#2", "11111111111111111#2#3", "1 #2#3"})
        EXPECT_FALSE(mpt::boot::parse_place(bad)) << bad;
    for (auto const* bad : {"", "12", "#host", "xyz#host", "12x#host", "11111111111111111#host"})
        EXPECT_FALSE(mpt::boot::parse_node(bad)) << bad;
}

// --- launchers that cannot be joined ------------------------------------------------------------------------------------------

TEST(foreign, step_is_refused_with_a_sentence_and_rank_0_says_what_to_do) {
    auto const slurm = [](int r) {
        return "env SLURM_JOB_ID=9 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_PROCID=" + std::to_string(r) + ' ' + rank + " hello";
    };
    auto const first = run(slurm(0));
    EXPECT_EQ(first.code, 6);
    EXPECT_EQ(first.err,
              "mpt: this process was started as rank 0 of 4 by srun of Slurm, whose job mpt cannot join: start it with "
              "mptrun (inside an allocation: one mptrun, not one per rank), or unset SLURM_PROCID to run it alone.\n");
    auto const other = run(slurm(3));
    EXPECT_EQ(other.code, 6);
    EXPECT_EQ(other.err,
              "mpt: this process was started as rank 3 of 4 by srun of Slurm, whose job mpt cannot join: start it with "
              "mptrun; rank 0 says more.\n");
}

TEST(foreign, allocation_without_a_step_is_none) {
    auto const e = run("env SLURM_JOB_ID=9 SLURM_NTASKS=4 SLURM_JOB_NODELIST=a OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 " +
                       rank + " hello");
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.out, "rank 0 of 1\n");
    EXPECT_EQ(
        run("env SLURM_JOB_ID=9 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=0 " + mptrun + " -n 2 " + rank + " hello").code, 0);
}

} // namespace
