// mptinfo as a user meets it: what it prints, what it refuses, and what it says where system calls are refused.
#include <gtest/gtest.h>

#include <mpt/config/config.hpp>
#include <mpt/core/probe.hpp>
#include <mpt/core/version.hpp>
#include <mpt/stack/figures.hpp>

#include "../support/process.hpp"

namespace {
using namespace mpt::test;

std::string const mptinfo = std::getenv("MPT_TEST_MPTINFO") ? std::getenv("MPT_TEST_MPTINFO") : "mptinfo";
std::string const refuse = std::getenv("MPT_TEST_REFUSE_SYSCALL") ? std::getenv("MPT_TEST_REFUSE_SYSCALL") : "refuse_syscall";

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
/// The line of `text` that begins with `name`.
std::string line_of(std::string const& text, std::string_view name) {
    auto const at = text.find('\n' + std::string{name} + ' ');
    return at == text.npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(mptinfo, says_version_transports_and_where_to_read_on) {
    auto const e = run(mptinfo);
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.err, "");
    EXPECT_TRUE(has(e.out, "mpt " + to_string(mpt::header_version))) << e.out;
    for (auto const* t : {"\n  self ", "\n  smp ", "\n  stream ", "--env"}) EXPECT_TRUE(has(e.out, t)) << t;
    EXPECT_TRUE(has(run(mptinfo + " -V").out, to_string(mpt::core_version())));
}

TEST(mptinfo, env_shows_every_row_with_its_value_and_where_it_came_from) {
    auto const e = run("env MPT_SPIN=7 MPICH_SMP_SINGLE_COPY_OFF=1 " + mptinfo + " --env");
    EXPECT_EQ(e.code, 0) << e.err;
    for (auto const& r : mpt::config::table) EXPECT_NE(line_of(e.out, r.name), "") << r.name;
    EXPECT_TRUE(has(line_of(e.out, "MPT_SPIN"), " 7 ")) << e.out;
    EXPECT_TRUE(has(line_of(e.out, "MPT_SPIN"), "environment"));
    EXPECT_TRUE(has(line_of(e.out, "MPT_SINGLE_COPY"), " off ")) << e.out;
    EXPECT_TRUE(has(line_of(e.out, "MPT_SINGLE_COPY"), "MPICH_SMP_SINGLE_COPY_OFF"));
    EXPECT_TRUE(has(line_of(e.out, "MPT_YIELD"), "default"));
}

TEST(mptinfo, figures_shows_every_row_of_their_table) {
    auto const e = run(mptinfo + " --figures");
    EXPECT_EQ(e.code, 0) << e.err;
    for (auto const& r : mpt::figure_table) EXPECT_TRUE(has(line_of('\n' + e.out, r.name), r.help)) << r.name;
}

TEST(mptinfo, memory_shows_nodes_and_huge_pages_and_what_is_wrong_with_their_names) {
    auto const e = run("env MEMKIND_HBW_NODES= " + mptinfo + " --memory");
    EXPECT_EQ(e.code, 0) << e.err;
    for (auto const* line : {"transparent huge pages of ", "kinds of nodes: "}) EXPECT_TRUE(has(e.out, line)) << e.out;
    auto const named = run("env MEMKIND_HBW_NODES=0 " + mptinfo + " --memory");
    EXPECT_TRUE(has(named.out, "kinds of nodes: mcdram by MEMKIND_HBW_NODES=0")) << named.out;
    auto const bad = run("env MEMKIND_HBW_NODES=none " + mptinfo + " -M");
    EXPECT_EQ(bad.code, 1);
    EXPECT_TRUE(has(bad.err, "MEMKIND_HBW_NODES=none is no list of nodes")) << bad.err;
}

TEST(mptinfo, a_misspelt_name_is_a_warning_and_a_bad_value_an_exit_code) {
    auto const warned = run("env MPT_EAGRE_MAX=1 " + mptinfo);
    EXPECT_EQ(warned.code, 0);
    EXPECT_EQ(warned.err, "mptinfo: warning: mpt knows no variable MPT_EAGRE_MAX; did you mean MPT_EAGER_MAX?\n");
    auto const refused = run("env MPT_LANES=99 MPT_SPIN=5 " + mptinfo + " --env");
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.err, "mptinfo: error: MPT_LANES=99 is out of range; allowed: 1 .. 16 (default 1)\n");
    EXPECT_TRUE(has(line_of(refused.out, "MPT_SPIN"), " 5 ")) << refused.out;
}

TEST(mptinfo, the_page_is_the_same_in_every_environment) {
    auto const plain = run(mptinfo + " --markdown");
    EXPECT_EQ(plain.code, 0);
    EXPECT_TRUE(has(plain.out, "# Environment variables"));
    EXPECT_EQ(run("env MPT_SPIN=9 " + mptinfo + " -m").out, plain.out);
}

TEST(mptinfo, wrong_options_are_refused_with_the_right_ones) {
    for (auto const* bad : {" --nothing", " -x", " word", " --env --probe", " --env word"}) {
        auto const e = run(mptinfo + bad);
        EXPECT_EQ(e.code, 2) << bad;
        EXPECT_TRUE(e.says("usage: mptinfo")) << e.err;
        EXPECT_EQ(e.out, "") << bad;
    }
    EXPECT_TRUE(has(run(mptinfo + " --help").out, "--probe"));
}

TEST(mptinfo, probe_shows_every_feature) {
    auto const e = run(mptinfo + " --probe");
    EXPECT_EQ(e.code, 0) << e.err;
    for (auto const& f : mpt::features) {
        auto const line = line_of(e.out, f.call);
        EXPECT_TRUE(has(line, "available") ? has(line, f.with) : has(line, "refused") && has(line, f.without))
            << f.call << ": " << line;
    }
}

TEST(mptinfo, probe_names_refused_calls_their_errno_and_what_follows) {
    if (run(refuse + " EPERM mbind -- true").code != 0) GTEST_SKIP() << "a seccomp filter cannot be set here";
    for (std::string const with : {"EPERM", "ENOSYS"}) {
        auto const e =
            run(refuse + ' ' + with + " process_vm_readv memfd_create membarrier pidfd_open mbind -- " + mptinfo + " --probe");
        EXPECT_EQ(e.code, 0) << e.err;
        for (auto const& f : mpt::features) {
            if (f.what == mpt::feature::futex) continue;
            auto const line = line_of(e.out, f.call);
            EXPECT_TRUE(has(line, "refused (" + with + ")") && has(line, f.without)) << f.call << ": " << line;
        }
        EXPECT_TRUE(has(line_of(e.out, "futex"), "available")) << e.out;
        auto const summary = run(refuse + ' ' + with + " process_vm_readv -- " + mptinfo);
        EXPECT_TRUE(has(summary.out, "large messages: pipelined double copy")) << summary.out;
    }
}

} // namespace
