#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <mpt/wait/cpus.hpp>
#include <sched.h>

namespace {

namespace fs = std::filesystem;

/// A tree of control groups of our own.
class cpus : public testing::Test {
protected:
    fs::path place = [] {
        auto name = (fs::temp_directory_path() / "mpt-cpus-XXXXXX").string();
        return fs::path{::mkdtemp(name.data())};
    }();
    ~cpus() override { fs::remove_all(place); }

    void put(std::string const& file, std::string const& text) {
        fs::create_directories((place / file).parent_path());
        std::ofstream{place / file} << text << '\n';
    }
    mpt::cgroup_view view() const { return {(place / "sys").string(), (place / "self").string()}; }
    unsigned quota() const { return mpt::quota_cpus(view()); }
};

TEST_F(cpus, are_unlimited_where_there_are_no_groups) { EXPECT_EQ(quota(), 0u); }

TEST_F(cpus, of_version_2_follow_cpu_max_rounded_up) {
    put("self", "0::/job");
    put("sys/job/cpu.max", "150000 100000");
    EXPECT_EQ(quota(), 2u);
    put("sys/job/cpu.max", "100000 100000");
    EXPECT_EQ(quota(), 1u);
    put("sys/job/cpu.max", "1000 100000");
    EXPECT_EQ(quota(), 1u);
    put("sys/job/cpu.max", "max 100000");
    EXPECT_EQ(quota(), 0u);
}

TEST_F(cpus, of_version_2_are_limited_by_every_group_above) {
    put("self", "0::/slice/job/step");
    put("sys/slice/job/step/cpu.max", "800000 100000");
    put("sys/slice/job/cpu.max", "max 100000");
    put("sys/slice/cpu.max", "300000 100000");
    EXPECT_EQ(quota(), 3u);
}

TEST_F(cpus, of_a_container_are_found_at_the_mounted_root_where_the_path_is_the_hosts) {
    put("self", "0::/docker/0123456789abcdef");
    put("sys/cpu.max", "250000 100000");
    EXPECT_EQ(quota(), 3u);
}

TEST_F(cpus, of_version_1_follow_quota_and_period) {
    put("self", "5:memory:/x\n4:cpu,cpuacct:/job\n1:name=systemd:/y");
    put("sys/cpu/job/cpu.cfs_quota_us", "450000");
    put("sys/cpu/job/cpu.cfs_period_us", "100000");
    EXPECT_EQ(quota(), 5u);
    put("sys/cpu/job/cpu.cfs_quota_us", "-1");
    EXPECT_EQ(quota(), 0u);
    put("sys/cpu/cpu.cfs_quota_us", "200000");
    put("sys/cpu/cpu.cfs_period_us", "100000");
    EXPECT_EQ(quota(), 2u) << "the group above limits too";
}

TEST_F(cpus, of_version_1_are_found_under_the_combined_name_of_the_mount) {
    put("self", "4:cpu,cpuacct:/job");
    put("sys/cpu,cpuacct/job/cpu.cfs_quota_us", "100000");
    put("sys/cpu,cpuacct/job/cpu.cfs_period_us", "50000");
    EXPECT_EQ(quota(), 2u);
}

TEST_F(cpus, of_another_controller_with_a_like_name_say_nothing) {
    put("self", "4:cpuacct:/job\n3:cpuset:/job");
    put("sys/cpu/job/cpu.cfs_quota_us", "100000");
    put("sys/cpu/job/cpu.cfs_period_us", "100000");
    EXPECT_EQ(quota(), 0u);
}

TEST_F(cpus, of_the_hybrid_layout_are_found_in_unified) {
    put("self", "1:cpu:/\n0::/job");
    put("sys/unified/job/cpu.max", "400000 100000");
    EXPECT_EQ(quota(), 4u);
}

TEST_F(cpus, ignore_what_is_not_a_number) {
    put("self", "0::/job\nnonsense\n:\n1:cpu:");
    put("sys/job/cpu.max", "many some");
    put("sys/cpu/cpu.cfs_quota_us", "");
    EXPECT_EQ(quota(), 0u);
}

TEST_F(cpus, usable_are_the_least_of_mask_and_quota_and_at_least_one) {
    put("self", "0::/job");
    put("sys/job/cpu.max", "1000 100000");
    EXPECT_EQ(mpt::usable_cpus(view()), 1u);
    put("sys/job/cpu.max", "900000000 100000");
    EXPECT_EQ(mpt::usable_cpus(view()), mpt::affinity_cpus());
}

TEST_F(cpus, follow_the_affinity_mask) {
    cpu_set_t before, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(mpt::affinity_cpus(), static_cast<unsigned>(CPU_COUNT(&before)));
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(mpt::affinity_cpus(), 1u);
    EXPECT_EQ(mpt::usable_cpus(view()), 1u);
    ::sched_setaffinity(0, sizeof before, &before);
}

} // namespace
