// Places that are not like a development machine, forced: a job runs there as anywhere, and leaves nothing behind.
#include <gtest/gtest.h>

#include "../support/cgroup.hpp"
#include "../support/leftovers.hpp"
#include "../support/process.hpp"
#include "../support/programs.hpp"
#include "../support/sanitized.hpp"

#include <sched.h>

namespace {
using namespace mpt::test;
using namespace std::chrono_literals;

/// The command in that place: everybody talks to everybody.
void runs(std::string const& place, int ranks) {
    leftovers const left;
    auto const e = run(left.mark() + place + mptrun + " -n " + std::to_string(ranks) + ' ' + waits + " work", 120s);
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.code, 0) << e.out << e.err;
    EXPECT_EQ(e.err, "");
    EXPECT_EQ(left.found(), "");
}

std::vector<int> own_cpus() {
    cpu_set_t set;
    std::vector<int> all;
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        for (int c = 0; c < CPU_SETSIZE; ++c)
            if (CPU_ISSET(c, &set)) all.push_back(c);
    return all;
}

struct place {
    char const* name;
    std::string command; // that runs what follows it
};
void PrintTo(place const& p, std::ostream* out) { *out << p.name; }
struct hostile : testing::TestWithParam<place> {};

TEST_P(hostile, place_does_not_matter) {
    auto const& p = GetParam();
    if (!permitted(p.command + "test -x " + mptrun + " -a -x " + waits)) GTEST_SKIP() << "not permitted here: " << p.command;
    runs(p.command, 4);
}
INSTANTIATE_TEST_SUITE_P(
    a, hostile,
    testing::Values(place{"dev_shm_of_4_MB", "unshare -m sh -c 'mount -t tmpfs -o size=4m tmpfs /dev/shm && exec \"$@\"' -- "},
                    place{"host_without_network_and_with_unknown_name",
                          "unshare --uts --net sh -c 'hostname nosuchhost && exec \"$@\"' -- "},
                    place{"read_only_tmp", "unshare -m sh -c 'mount -t tmpfs -o ro tmpfs /tmp && exec \"$@\"' -- "},
                    place{"long_TMPDIR", "env TMPDIR=/tmp/" + std::string(200, 'x') + ' '},
                    place{"user_who_is_not_root", "setpriv --reuid 65534 --regid 65534 --clear-groups "}),
    [](auto const& i) { return std::string{i.param.name}; });

TEST(hostile, empty_path_does_not_matter) { runs("PATH=/nonexistent ", 4); }

TEST(hostile, one_cpu_for_8_ranks_does_not_matter) { runs("taskset -c " + std::to_string(own_cpus().front()) + ' ', 8); }

TEST(hostile, holes_in_the_cpu_mask_do_not_matter) {
    auto const cpus = own_cpus();
    if (cpus.size() < 3) GTEST_SKIP() << "a hole needs 3 CPUs, here are " << cpus.size();
    runs("taskset -c " + std::to_string(cpus[0]) + ',' + std::to_string(cpus[2]) + ' ', 4);
}

/// Half a CPU for all.
TEST(hostile, cpu_quota_does_not_matter) {
    MPT_TEST_ONLY_UNSANITIZED();
    cgroup const v2{cgroup_v2().parent, "cpu.max", "50000 100000"};
    cgroup const v1{v2 ? "/nonexistent" : "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"};
    if (!v1 && !v2) GTEST_SKIP() << "no cpu cgroup, v1 or v2, that can be written";
    runs((v2 ? v2 : v1).enter(), 4);
}

TEST(hostile, memory_cgroup_of_64_MB_does_not_matter) {
    MPT_TEST_ONLY_UNSANITIZED();
    auto const kind_1 = cgroup_v1(), kind_2 = cgroup_v2();
    auto const v1 = kind_1.of(mb_64);
    cgroup const v2{v1 ? "/nonexistent" : kind_2.parent, kind_2.limit, mb_64};
    if (!v1 && !v2) GTEST_SKIP() << "no memory cgroup, v1 or v2, that can be written";
    runs((v1 ? v1 : v2).enter(), 4);
}

} // namespace
