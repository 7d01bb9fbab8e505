// The facade on real processes: over both wires, where system calls are refused and memory is short, under tools, on few CPUs.
#include <random>

#include <gtest/gtest.h>
#include <mpt/core/probe.hpp>

#include "../support/cgroup.hpp"
#include "../support/process.hpp"
#include "../support/sanitized.hpp"

namespace {
using namespace mpt::test;

std::string path_of(char const* variable, char const* otherwise) {
    auto const* const found = std::getenv(variable);
    return found ? found : otherwise;
}
std::string const mptrun = path_of("MPT_TEST_MPTRUN", "mptrun") + " -n ";
std::string const rank = path_of("MPT_TEST_RANK_FACADE", "rank_facade");
std::string const refuse_cma =
    path_of("MPT_TEST_REFUSE_SYSCALL", "refuse_syscall") + " EPERM process_vm_readv process_vm_writev -- ";
std::string const read_all = "env MPT_PIPELINE_MAX=0 "; // no push where memory can be read: one copy, always
std::string const refuse_memfd = path_of("MPT_TEST_REFUSE_SYSCALL", "refuse_syscall") + " EPERM memfd_create -- ";
std::string const small_shm = "unshare -m sh -c 'mount -t tmpfs -o size=4m tmpfs /dev/shm && exec \"$@\"' -- ";

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
int times(std::string_view text, std::string_view part) {
    int n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}
bool permitted(std::string const& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// Another seed each time. A failure prints the whole command.
std::string any_seed() { return std::to_string(std::random_device{}()); }

#define MPT_TEST_NEEDS_CMA()                                                                                                   \
    if (!mpt::probe(mpt::feature::read_peer).available())                                                                      \
    GTEST_SKIP() << "the kernel refuses process_vm_readv between processes"

/// Over shared memory and over streams: the wire is the parameter.
struct facade : testing::TestWithParam<char const*> {
    std::string job(int n, std::string const& mode, std::string const& wrapper = {}, std::string const& program = rank) const {
        return mptrun + std::to_string(n) + ' ' + wrapper + program + ' ' + GetParam() + ' ' + mode;
    }
    /// The command ends well, and rank 0 says that all of it was done.
    static ended works(std::string const& command) {
        auto e = run(command);
        EXPECT_EQ(e.code, 0) << command << '\n' << e.out << e.err;
        EXPECT_TRUE(has(e.out, " ranks: ")) << command << '\n' << e.out;
        EXPECT_EQ(e.err, "") << command;
        return e;
    }
    /// What a user does, with little, then much in a message.
    void all_work(std::string const& before, std::string const& largest = "") const {
        works(before + job(4, "ring 100"));
        works(before + job(4, "megabyte 3"));
        works(before + job(3, "mixed 12 " + any_seed() + largest));
    }
    /// Every rank was told that there is no more memory, by whom, and with which limit; and all went on.
    void is_told(std::string const& before, int n, std::string const& limit) const {
        auto const e = works(before + job(n, "greedy 200"));
        for (int r = 0; r < n; ++r) {
            auto const who = "rank " + std::to_string(r) + ": ";
            EXPECT_TRUE(has(e.out, who + "mpt: 64.0 GB were asked for, but only ")) << e.out;
            EXPECT_TRUE(has(e.out, who + "held: mpt: 4096 bytes were asked for, but ")) << e.out;
        }
        EXPECT_FALSE(has(e.out, "posted: all")) << e.out;
        EXPECT_TRUE(has(e.out, "posted: mpt: no memory for another request: ")) << e.out;
        EXPECT_TRUE(has(e.out, limit)) << e.out;
    }
    void works_in(cgroup const& group, cgroup_kind const& kind) const {
        all_work(group.enter(), " 300000"); // its own messages of 4 MB may be more than the group's limit
        is_told(group.enter(), 4, "are free (limit 64.0 MB, " + kind.who + ")");
        EXPECT_TRUE(has(group.text(kind.kills), "oom_kill 0")) << group.text(kind.kills);
    }
};
INSTANTIATE_TEST_SUITE_P(wires, facade, testing::Values("smp", "stream"), [](auto const& wire) { return wire.param; });

/// By the kernel and agents, or by agents alone.
TEST_P(facade, windows_work_also_without_cma) {
    for (auto const& wrapper : {std::string{}, refuse_cma})
        for (int n : {2, 3}) works(job(n, "windows 8 " + any_seed().substr(0, 9), wrapper));
}

TEST_P(facade, what_lies_scattered_in_windows_is_reached) {
    for (auto const& wrapper : {std::string{}, refuse_cma})
        for (int n : {2, 3}) works(job(n, "scattered " + any_seed().substr(0, 9), wrapper));
}

TEST_P(facade, windows_share_few_threads) {
    for (auto const& wrapper : {std::string{}, refuse_cma})
        for (int n : {2, 4}) works(job(n, "crowded 300", wrapper));
}

TEST_P(facade, works) {
    all_work("");
    works(job(1, "ring 100"));
    works(job(1, "mixed 12 " + any_seed()));
    works(job(2, "mixed 12 " + any_seed()));
}

TEST_P(facade, works_where_large_messages_are_copied_once) { all_work(read_all); }

TEST_P(facade, gives_memory_until_it_is_taken) {
    auto const e = works(job(4, "greedy 8"));
    EXPECT_TRUE(has(e.out, "rank 3: mpt: 64.0 GB were asked for, but only ")) << e.out;
    EXPECT_TRUE(has(e.out, "rank 3: held: all; posted: all")) << e.out;
}

TEST(facade_streams, go_over_tcp_too) {
    auto const seed = any_seed();
    auto const e = run("env MPT_STREAM=tcp " + mptrun + "3 " + rank + " stream mixed 12 " + seed);
    EXPECT_EQ(e.code, 0) << seed << e.err;
}

// --- system calls that are refused -----------------------------------------------------------------------------------------

TEST_P(facade, works_where_cma_is_refused_to_all) {
    if (!permitted(refuse_cma + "true")) GTEST_SKIP() << "no seccomp filter can be set here";
    all_work(read_all + refuse_cma);
}

TEST_P(facade, works_where_cma_is_refused_to_one_rank) {
    if (!permitted(refuse_cma + "true")) GTEST_SKIP() << "no seccomp filter can be set here";
    for (auto const* const r : {"0", "1"}) { // MPT_BOOT begins with a version and the rank
        auto const wrapper =
            std::string{"sh -c 'case $MPT_BOOT in *:"} + r + ":3:*) exec " + refuse_cma + "\"$@\";; esac; exec \"$@\"' -- ";
        works(read_all + job(3, "mixed 12 " + any_seed(), wrapper));
    }
}

TEST_P(facade, goes_on_where_cma_is_refused_in_the_middle_of_a_run) {
    MPT_TEST_NEEDS_CMA();
    if (!permitted(refuse_cma + "true")) GTEST_SKIP() << "no seccomp filter can be set here";
    for (auto const* const who : {"all", "0", "1"}) works(read_all + job(3, "refuse-half 10 " + any_seed() + ' ' + who));
}

// --- memory that is short --------------------------------------------------------------------------------------------------

TEST_P(facade, does_not_mind_a_dev_shm_of_4_MB) {
    if (!permitted(small_shm + "true")) GTEST_SKIP() << "unshare -m is not permitted here";
    all_work(small_shm);
}

TEST_P(facade, works_in_a_dev_shm_of_4_MB_where_there_is_no_memfd) {
    if (!permitted(small_shm + refuse_memfd + "true")) GTEST_SKIP() << "unshare -m or seccomp is not permitted here";
    all_work(small_shm + refuse_memfd);
    is_told(small_shm + refuse_memfd, 2, "are free (limit 4096.0 KB, file system)");
}

TEST_P(facade, respects_ulimit_v) {
    MPT_TEST_ONLY_UNSANITIZED();
    for (auto const* const kilobytes : {"8000000", "400000", "120000"})
        all_work(std::string{"sh -c 'ulimit -v "} + kilobytes + "; exec \"$@\"' -- ");
    is_told("sh -c 'ulimit -v 400000; exec \"$@\"' -- ", 4, "of this rank's slice is 0 bytes (slice ");
}

TEST_P(facade, what_is_not_attached_is_refused_however_many_attachments_there_are) { works(job(2, "detached")); }

TEST(facade_of_the_kernel, a_bad_buffer_of_the_origin_is_its_own_error) {
    MPT_TEST_NEEDS_CMA();
    auto const e = run(mptrun + "2 " + rank + " smp unreadable");
    EXPECT_EQ(e.code, 0) << e.out << e.err;
    EXPECT_TRUE(has(e.out, "2 ranks: unreadable")) << e.out;
}

/// Streams touch no other rank's slice, so rank 0 has mapped none before the windows.
TEST(facade_streams, a_window_that_one_rank_cannot_map_is_an_error_of_all) {
    MPT_TEST_ONLY_UNSANITIZED();
    auto const e = run(mptrun + "3 sh -c 'ulimit -v 400000; exec \"$@\"' -- " + rank + " stream unmapped");
    EXPECT_EQ(e.code, 0) << e.out << e.err;
    EXPECT_EQ(e.err, "");
    EXPECT_TRUE(has(e.out, "3 ranks: unmapped")) << e.out;
    std::string const why = "the memory of rank 1 of the job, which a window needs, cannot be mapped by rank 0.\n";
    EXPECT_EQ(times(e.out, "rank 0: mpt: " + why), 4) << e.out;
    for (auto const* const r : {"rank 1: ", "rank 2: "})
        EXPECT_EQ(times(e.out, r + ("mpt: rank 0 could not make its side of a window: " + why)), 4) << e.out;
}

TEST_P(facade, works_in_a_cgroup_v1_of_64_MB) {
    MPT_TEST_ONLY_UNSANITIZED();
    auto const kind = cgroup_v1();
    auto const group = kind.of(mb_64);
    if (!group) GTEST_SKIP() << "no memory cgroup v1 that can be written";
    works_in(group, kind);
}

TEST_P(facade, works_in_a_cgroup_v2_of_64_MB) {
    MPT_TEST_ONLY_UNSANITIZED();
    auto const kind = cgroup_v2();
    auto const group = kind.of(mb_64);
    if (!group) GTEST_SKIP() << "no memory cgroup v2 that can be written";
    works_in(group, kind);
}

// --- tools -----------------------------------------------------------------------------------------------------------------

TEST_P(facade, works_under_valgrind) {
    MPT_TEST_ONLY_UNSANITIZED();
    if (!permitted("valgrind --version")) GTEST_SKIP() << "no valgrind";
    works(job(2, "ring 10", "valgrind -q --error-exitcode=99 "));
}

// --- CPUs, and what a rank does while it waits -----------------------------------------------------------------------------

TEST_P(facade, works_however_a_rank_waits) {
    for (auto const* const wait : {"auto", "spin", "yield", "sleep"})
        for (auto const* const mode : {"ring 100", "mixed 3 1"})
            works(std::string{"env MPT_WAIT="} + wait + ' ' +
                  job(2, mode)); // more that spin than there are CPUs take turns of 4 ms
}

TEST_P(facade, works_however_a_rank_looks_and_both_ways_together) {
    for (auto const* const look : {"loading", "owning"}) works(std::string{"env MPT_LOOK="} + look + ' ' + job(2, "ring 2000"));
    works(job(2, "ring 2000",
              "sh -c 'case $MPT_BOOT in *:0:2:*) export MPT_LOOK=loading;; *) export MPT_LOOK=owning;; esac; "
              "exec \"$@\"' -- "));
}

TEST_P(facade, works_with_8_ranks_on_1_cpu) {
    if (!permitted("taskset -c 0 true")) GTEST_SKIP() << "CPU 0 is not ours, or there is no taskset";
    works("taskset -c 0 " + job(8, "ring 50"));
    works("taskset -c 0 " + job(8, "megabyte 1"));
    works("taskset -c 0 " + job(8, "mixed 3 " + any_seed()));
}

} // namespace
