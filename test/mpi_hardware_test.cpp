#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/mpi/hardware.hpp>
#include <sched.h>

namespace {

namespace fs = std::filesystem;
using mpt::hardware_instance;
using cpus = std::vector<int>;

/// The tree of a machine of our own: two packages of two nodes each, four CPUs a node, two threads a core (n and n + 8).
class mpi_hardware : public testing::Test {
protected:
    fs::path place = [] {
        auto name = (fs::temp_directory_path() / "mpt-hardware-XXXXXX").string();
        return fs::path{::mkdtemp(name.data())};
    }();
    mpt::hardware_view const view{place.string()};

    mpi_hardware() {
        put("cpu/possible", "0-15");
        put("node/has_memory", "0-3");
        for (int node = 0; node < 4; ++node) put("node/node" + std::to_string(node) + "/cpulist", of_node(node));
        for (int cpu = 0; cpu < 16; ++cpu) {
            auto const folder = "cpu/cpu" + std::to_string(cpu);
            int const core = cpu % 8, package = core / 4;
            auto const both = std::to_string(core) + ',' + std::to_string(core + 8);
            put(folder + "/topology/package_cpus_list", package == 0 ? "0-3,8-11" : "4-7,12-15");
            put(folder + "/topology/core_cpus_list", both);
            cache(folder, 0, "1", "Instruction", both);
            cache(folder, 1, "1", "Data", both);
            cache(folder, 2, "2", "Unified", of_node(core / 2));
        }
    }
    ~mpi_hardware() override { fs::remove_all(place); }

    static std::string of_node(int node) {
        auto const n = 2 * node;
        return std::to_string(n) + '-' + std::to_string(n + 1) + ',' + std::to_string(n + 8) + '-' + std::to_string(n + 9);
    }
    void put(std::string const& file, std::string const& text) {
        fs::create_directories((place / file).parent_path());
        std::ofstream{place / file} << text << '\n';
    }
    void cache(std::string const& folder, int i, std::string const& level, std::string const& type, std::string const& list) {
        auto const at = folder + "/cache/index" + std::to_string(i);
        put(at + "/level", level), put(at + "/type", type), put(at + "/shared_cpu_list", list);
    }
    std::optional<int> instance(std::string_view sort, cpus const& c) const { return hardware_instance(sort, c, view); }
};

TEST_F(mpi_hardware, is_one_instance_where_all_cpus_belong_to_it) {
    EXPECT_EQ(instance("Machine", {3, 12}), 0);
    EXPECT_EQ(instance("Package", {5, 15}), 4);
    EXPECT_EQ(instance("NUMANode", {6, 15}), 6);
    EXPECT_EQ(instance("L2Cache", {2, 3, 10, 11}), 2);
    EXPECT_EQ(instance("L1Cache", {9}), 1);
    EXPECT_EQ(instance("Core", {3, 11}), 3);
    EXPECT_EQ(instance("PU", {11}), 11);
}

TEST_F(mpi_hardware, is_none_where_they_belong_to_several) {
    EXPECT_EQ(instance("Package", {3, 4}), std::nullopt);
    EXPECT_EQ(instance("NUMANode", {1, 2}), std::nullopt);
    EXPECT_EQ(instance("L2Cache", {3, 12}), std::nullopt);
    EXPECT_EQ(instance("Core", {3, 10}), std::nullopt);
    EXPECT_EQ(instance("PU", {3, 11}), std::nullopt);
}

TEST_F(mpi_hardware, is_none_of_what_the_system_does_not_tell) {
    EXPECT_EQ(instance("L3Cache", {0}), std::nullopt);
    EXPECT_EQ(instance("core", {0}), std::nullopt);
    EXPECT_EQ(instance("Core", {}), std::nullopt);
    EXPECT_EQ(instance("Core", {99}), std::nullopt);
    put("cpu/cpu0/topology/core_cpus_list", "0-,8");
    EXPECT_EQ(instance("Core", {0}), std::nullopt);
}

TEST_F(mpi_hardware, of_older_kernels_is_found_by_its_older_names) {
    fs::remove_all(place / "node"); // a kernel without NUMA, too: one node
    fs::remove(place / "cpu/cpu5/topology/core_cpus_list");
    fs::remove(place / "cpu/cpu5/topology/package_cpus_list");
    put("cpu/cpu5/topology/thread_siblings_list", "5,13");
    put("cpu/cpu5/topology/core_siblings_list", "4-7,12-15");
    EXPECT_EQ(instance("Core", {5, 13}), 5);
    EXPECT_EQ(instance("Package", {5, 7}), 4);
    EXPECT_EQ(instance("NUMANode", {5, 2}), std::nullopt) << "CPUs come in order";
    EXPECT_EQ(instance("NUMANode", {2, 5}), 0);
}

TEST_F(mpi_hardware, of_this_machine_holds_every_cpu_that_may_be_used) {
    auto const mine = mpt::own_cpus();
    ASSERT_FALSE(mine.empty());
    EXPECT_TRUE(std::ranges::is_sorted(mine));
    for (auto const sort : mpt::hardware_sorts)
        for (auto const cpu : mine) {
            auto const beside = mpt::cpus_beside(sort, cpu);
            if (!beside.empty()) { EXPECT_TRUE(std::ranges::binary_search(beside, cpu)) << sort << " of " << cpu; }
        }
    std::thread{[cpu = mine.back()] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(cpu), &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_EQ(mpt::own_cpus(), cpus{cpu});
        EXPECT_EQ(hardware_instance("PU", mpt::own_cpus()), cpu);
    }}.join();
}

} // namespace
