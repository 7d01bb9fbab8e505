// Limits of containers and tools, on real processes: memory is a clean error, never a bus error or a kill.
#include <gtest/gtest.h>

#include "../support/cgroup.hpp"
#include "../support/process.hpp"
#include "../support/sanitized.hpp"

namespace {
using namespace mpt::test;

std::string const mptrun = std::getenv("MPT_TEST_MPTRUN") ? std::getenv("MPT_TEST_MPTRUN") : "mptrun";
std::string const rank = std::getenv("MPT_TEST_RANK") ? std::getenv("MPT_TEST_RANK") : "proc_rank";
std::string const refuse = std::getenv("MPT_TEST_REFUSE_SYSCALL") ? std::getenv("MPT_TEST_REFUSE_SYSCALL") : "refuse_syscall";

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
bool permitted(std::string const& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

std::string const small_shm = "unshare -m sh -c 'mount -t tmpfs -o size=4m tmpfs /dev/shm && exec \"$@\"' -- ";

TEST(dev_shm, of_4_MB_does_not_matter) {
    if (!permitted(small_shm + "true")) GTEST_SKIP() << "unshare -m is not permitted here";
    auto const e = run(small_shm + mptrun + " -n 4 " + rank + " memory 16");
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_TRUE(has(e.out, "rank 3: filled 16 MB")) << e.out;
}

TEST(dev_shm, of_4_MB_and_no_memfd_is_an_error_and_never_a_bus_error) {
    if (!permitted(small_shm + refuse + " EPERM memfd_create -- true"))
        GTEST_SKIP() << "unshare -m or seccomp is not permitted here";
    auto const e = run(small_shm + refuse + " EPERM memfd_create -- " + mptrun + " -n 4 " + rank + " memory 16");
    EXPECT_EQ(e.code, 6) << e.out << e.err; // four ranks want 1 MB each, and the control segment takes its part
    EXPECT_TRUE(e.says("no room for the ring")) << e.err;
    auto const f = run(small_shm + refuse + " EPERM memfd_create -- " + mptrun + " -n 1 " + rank + " memory 16");
    EXPECT_EQ(f.code, 0) << f.err;
    EXPECT_TRUE(has(f.out, "limit 4096.0 KB, file system")) << f.out;
}

TEST(ulimit, v_is_respected) {
    MPT_TEST_ONLY_UNSANITIZED();
    for (auto const* kilobytes : {"8000000", "400000", "120000"}) {
        auto const e = run(std::string{"sh -c 'ulimit -v "} + kilobytes + "; exec " + mptrun + " -n 4 " + rank + " memory 2'");
        EXPECT_EQ(e.code, 0) << kilobytes << e.err;
        EXPECT_TRUE(has(e.out, "rank 3: filled 2 MB")) << e.out;
    }
}

TEST(ulimit, v_of_the_ranks_may_be_less_than_that_of_mptrun) {
    MPT_TEST_ONLY_UNSANITIZED();
    auto const e = run(mptrun + " -n 4 sh -c 'ulimit -v 400000; exec " + rank + " memory 2'");
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_TRUE(has(e.out, "rank 3: filled 2 MB")) << e.out;
}

TEST(ulimit, v_that_leaves_nothing_is_a_sentence) {
    MPT_TEST_ONLY_UNSANITIZED();
    auto const e = run(mptrun + " -n 64 sh -c 'ulimit -v 60000; exec " + rank + " hello'");
    EXPECT_EQ(e.code, 6);
    EXPECT_TRUE(e.says("ulimit -v leaves")) << e.err;
}

TEST(ulimit, f_of_files_does_not_kill) {
    auto const e = run("sh -c 'ulimit -f 100000; exec " + mptrun + " -n 4 " + rank + " memory 2'");
    EXPECT_EQ(e.code, 0) << e.err;
}

void in_64_MB(cgroup const& group, cgroup_kind const& kind) {
    auto const e = run(group.enter() + mptrun + " -n 4 " + rank + " memory 200");
    EXPECT_EQ(e.code, 0) << e.err;
    for (int r = 0; r < 4; ++r) {
        EXPECT_TRUE(has(e.out, "rank " + std::to_string(r) + ": filled")) << e.out;
        EXPECT_TRUE(has(e.out, "rank " + std::to_string(r) + ": mpt: 64.0 GB were asked for, but only")) << e.out;
    }
    EXPECT_TRUE(has(e.out, "limit 64.0 MB")) << e.out;
    EXPECT_TRUE(has(e.out, kind.who)) << e.out;
    EXPECT_TRUE(has(group.text(kind.kills), "oom_kill 0")) << group.text(kind.kills);
}

TEST(cgroup, v1_of_64_MB_gives_an_error_and_no_kill) {
    MPT_TEST_ONLY_UNSANITIZED();
    auto const kind = cgroup_v1();
    auto const group = kind.of(mb_64);
    if (!group) GTEST_SKIP() << "no memory cgroup v1 that can be written";
    in_64_MB(group, kind);
}

TEST(cgroup, v1_parents_count) {
    MPT_TEST_ONLY_UNSANITIZED();
    auto kind = cgroup_v1();
    auto const outer = kind.of(mb_64);
    if (!outer) GTEST_SKIP() << "no memory cgroup v1 that can be written";
    kind.parent = outer.where();
    auto const inner = kind.of("1073741824");
    ASSERT_TRUE(inner);
    in_64_MB(inner, kind);
}

TEST(cgroup, v2_of_64_MB_gives_an_error_and_no_kill) {
    MPT_TEST_ONLY_UNSANITIZED();
    auto const kind = cgroup_v2();
    auto const group = kind.of(mb_64);
    if (!group) GTEST_SKIP() << "no memory cgroup v2 that can be written";
    in_64_MB(group, kind);
}

TEST(valgrind, has_room_for_the_arena) {
    MPT_TEST_ONLY_UNSANITIZED();
    if (!permitted("valgrind --version")) GTEST_SKIP() << "no valgrind";
    auto const e = run(mptrun + " -n 2 valgrind -q --error-exitcode=99 " + rank + " memory 2");
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_TRUE(has(e.out, "rank 1: filled 2 MB")) << e.out;
}

} // namespace
