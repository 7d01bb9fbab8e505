#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <mpt/core/error.hpp>
#include <mpt/mem/offer.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace {
using namespace mpt;
namespace fs = std::filesystem;

/// A tree of /sys that goes with the test.
class planted {
    fs::path root_ = [] {
        auto name = (fs::temp_directory_path() / "mpt-offer-XXXXXX").string();
        if (!::mkdtemp(name.data())) throw std::runtime_error{"no folder for the test"};
        return name;
    }();

public:
    planted() = default;
    planted(planted const&) = delete;
    planted& operator=(planted const&) = delete;
    ~planted() { fs::remove_all(root_); }
    std::string root() const { return root_.string(); }
    planted& put(std::string const& file, std::string const& text) { return this->file("sys/" + file, text); }
    planted& file(std::string const& name, std::string const& text) {
        auto const at = root_ / name;
        fs::create_directories(at.parent_path());
        std::ofstream{at} << text << '\n';
        return *this;
    }
    planted& node(unsigned id, unsigned kilobytes, unsigned bandwidth) {
        auto const folder = "devices/system/node/node" + std::to_string(id), line = "Node " + std::to_string(id);
        put(folder + "/meminfo", line + " MemTotal:  " + std::to_string(kilobytes) + " kB\n" + line +
                                     " MemFree:  " + std::to_string(kilobytes / 2) + " kB");
        if (bandwidth != 0) put(folder + "/access0/initiators/read_bandwidth", std::to_string(bandwidth));
        return *this;
    }
    /// Who has CPUs, and who has none.
    planted& cpus(unsigned id, std::string const& list) {
        return put("devices/system/node/node" + std::to_string(id) + "/cpulist", list);
    }
    planted& dax(std::string const& name, std::string const& driver, int node) {
        auto const folder = "bus/dax/devices/" + name;
        put(folder + "/target_node", std::to_string(node));
        fs::create_symlink("../../../../bus/dax/drivers/" + driver, root_ / "sys" / folder / "driver");
        return *this;
    }
    planted& pool(unsigned kilobytes, unsigned all, unsigned free, unsigned promised, unsigned over, unsigned surplus) {
        auto const folder = "kernel/mm/hugepages/hugepages-" + std::to_string(kilobytes) + "kB/";
        return put(folder + "nr_hugepages", std::to_string(all))
            .put(folder + "free_hugepages", std::to_string(free))
            .put(folder + "resv_hugepages", std::to_string(promised))
            .put(folder + "nr_overcommit_hugepages", std::to_string(over))
            .put(folder + "surplus_hugepages", std::to_string(surplus));
    }
};

using nodes = std::vector<unsigned>;

TEST(mem_offer, fast_nodes_are_those_of_twice_the_least_bandwidth) {
    planted tree;
    tree.put("devices/system/node/has_memory", "0-2,5").node(0, 1000, 80'000).node(1, 2000, 90'000).node(2, 400, 160'000);
    tree.node(5, 100, 0); // firmware says nothing of it
    auto const o = mem::look_around({}, tree.root());
    EXPECT_EQ(o.fast_nodes(), nodes{2});
    EXPECT_EQ(o.normal_nodes(), (nodes{0, 1, 5}));
    EXPECT_EQ(o.free_on(o.fast_nodes()), 200u << 10);
    EXPECT_EQ(o.free_on(o.normal_nodes()), (500u + 1000u + 50u) << 10);
    EXPECT_EQ(o.nodes.at(2).bytes, 400u << 10);
}

TEST(mem_offer, nodes_without_cpus_are_fast_or_far_beside_those_that_have_some) {
    planted tree;
    tree.put("devices/system/node/has_memory", "0-3").node(0, 2000, 200'000).node(1, 2000, 210'000).node(2, 400, 900'000);
    tree.node(3, 8000, 30'000).cpus(0, "0-15").cpus(1, "16-31").cpus(2, "").cpus(3, "");
    auto const o = mem::look_around({}, tree.root());
    EXPECT_EQ(o.normal_nodes(), (nodes{0, 1})) << "the slowest is no measure of what is fast";
    EXPECT_EQ(o.fast_nodes(), nodes{2});
    EXPECT_EQ(o.far_nodes(), nodes{3});
    EXPECT_EQ(o.free_on(o.far_nodes()), 4000u << 10);
    EXPECT_EQ(o.kinds_by, "mcdram by /sys, cxl by /sys");
    auto const text = describe(o);
    for (auto const* line :
         {"node 0    ddr ", "node 2    mcdram ", "node 3    cxl ", "kinds of nodes: mcdram by /sys, cxl by /sys"})
        EXPECT_NE(text.find(line), text.npos) << line << " in:\n" << text;
}

TEST(mem_offer, device_memory_that_was_made_ordinary_is_far) {
    planted tree;
    tree.put("devices/system/node/has_memory", "0-2").node(0, 1000, 0).node(1, 1000, 0).node(2, 1000, 0);
    tree.dax("dax0.0", "kmem", 2).dax("dax1.0", "device_dax", 1); // what is mapped as a device is no node
    auto const o = mem::look_around({}, tree.root());
    EXPECT_EQ(o.far_nodes(), nodes{2});
    EXPECT_EQ(o.normal_nodes(), (nodes{0, 1}));
}

// --- who is asked -------------------------------------------------------------------------------------------------------------------
std::optional<mem::node_kinds> is_absent(std::span<mem::node_offer const>) { return {}; }
std::optional<mem::node_kinds> knows_none(std::span<mem::node_offer const>) { return mem::node_kinds{}; }
std::optional<mem::node_kinds> knows_fast(std::span<mem::node_offer const>) { return mem::node_kinds{.fast = {1}, .far = {}}; }
std::optional<mem::node_kinds> knows_both(std::span<mem::node_offer const>) { return mem::node_kinds{.fast = {0}, .far = {2}}; }
std::optional<mem::node_kinds> is_not_asked(std::span<mem::node_offer const>) {
    ADD_FAILURE() << "was asked";
    return {};
}

/// Three nodes of which /sys says that node 2 is fast.
struct three_nodes {
    planted tree;
    three_nodes() {
        tree.put("devices/system/node/has_memory", "0-2").node(0, 1000, 80'000).node(1, 1000, 80'000).node(2, 1000, 300'000);
    }
    mem::offer look(std::vector<mem::node_source> const& sources, mem::named_nodes fast = {}, mem::named_nodes far = {}) const {
        return mem::look_around(fast, far, tree.root(), sources);
    }
};

TEST(mem_offer, who_knows_of_a_kind_first_is_believed) {
    three_nodes const here;
    auto const by = [&](std::vector<mem::node_source> const& sources, nodes const& fast, nodes const& far,
                        std::string_view who) {
        auto const o = here.look(sources);
        EXPECT_EQ(o.fast_nodes(), fast);
        EXPECT_EQ(o.far_nodes(), far);
        EXPECT_EQ(o.kinds_by, who);
    };
    by({}, {2}, {}, "mcdram by /sys");
    by({{"memkind", is_absent}, {"hwloc", knows_none}}, {2}, {}, "mcdram by /sys");
    by({{"memkind", is_absent}, {"hwloc", knows_both}}, {0}, {2}, "mcdram by hwloc, cxl by hwloc");
    by({{"memkind", knows_fast}, {"hwloc", knows_both}}, {1}, {2}, "mcdram by memkind, cxl by hwloc");
    by({{"memkind", knows_both}, {"hwloc", is_not_asked}}, {0}, {2}, "mcdram by memkind, cxl by memkind");
}

TEST(mem_offer, the_user_is_believed_before_all) {
    three_nodes const here;
    std::vector<mem::node_source> const nobody{{"memkind", is_not_asked}};
    auto const o = here.look(nobody, {"1", "MPT_FAST_NODES"}, {"0,2", "MEMKIND_DAX_KMEM_NODES"});
    EXPECT_EQ(o.fast_nodes(), nodes{1});
    EXPECT_EQ(o.far_nodes(), (nodes{0, 2}));
    EXPECT_EQ(o.normal_nodes(), nodes{1}) << "what is not far, where all others are";
    EXPECT_EQ(o.kinds_by, "mcdram by MPT_FAST_NODES=1, cxl by MEMKIND_DAX_KMEM_NODES=0,2");
    auto const alike = here.look({{"memkind", knows_none}}, {}, {"2", "MPT_FAR_NODES"});
    EXPECT_EQ(alike.far_nodes(), nodes{2});
    try {
        here.look({}, {}, {"5", "MPT_FAR_NODES"});
        FAIL() << "was taken";
    } catch (error const& e) {
        EXPECT_NE(std::string_view{e.what()}.find("MPT_FAR_NODES=5: there is no node 5 with memory here; there are 0, 1, 2"),
                  std::string_view::npos)
            << e.what();
    }
}

TEST(mem_offer, who_was_asked_in_vain_is_named) {
    planted two, one;
    two.put("devices/system/node/has_memory", "0-1").node(0, 1000, 0).node(1, 1000, 0);
    one.put("devices/system/node/has_memory", "0").node(0, 1000, 0);
    std::vector<mem::node_source> const all{{"memkind", is_absent}, {"hwloc", knows_none}}, nobody{{"memkind", is_not_asked}};
    auto const by = mem::look_around({}, {}, two.root(), all).kinds_by;
    for (auto const* part : {"all alike", "MEMKIND_HBW_NODES", "memkind is not installed", "hwloc knows of none"})
        EXPECT_NE(by.find(part), by.npos) << by;
    EXPECT_EQ(mem::look_around({}, {}, one.root(), nobody).kinds_by, "one node, and with it one kind");
}

/// A variable for the time of a test.
class variable {
    char const* name_;

public:
    variable(char const* name, std::string const& value) : name_{name} { ::setenv(name, value.c_str(), 1); }
    ~variable() { ::unsetenv(name_); }
    variable(variable const&) = delete;
    variable& operator=(variable const&) = delete;
};

/// A machine of three nodes for hwloc, as its own program exports one; each node has a name of its sort, or a bandwidth.
std::string machine_for_hwloc(std::vector<std::string> const& sorts, std::vector<unsigned> const& bandwidths) {
    std::string const sets = R"(complete_cpuset="0x1" nodeset="0x7" complete_nodeset="0x7")";
    std::string xml =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n"
        R"(<object type="Machine" os_index="0" cpuset="0x1" allowed_cpuset="0x1" allowed_nodeset="0x7" gp_index="1" )" +
        sets + ">";
    for (unsigned i = 0; i < 3; ++i) {
        auto const mask = "0x" + std::to_string(1u << i), n = std::to_string(i);
        xml += R"(<object type="NUMANode" cpuset="0x1" complete_cpuset="0x1" nodeset=")" + mask + R"(" complete_nodeset=")" +
               mask + R"(" local_memory="1000000000" os_index=")" + n + R"(" gp_index="1)" + n + '"';
        if (!sorts.empty()) xml += R"( subtype=")" + sorts.at(i) + '"';
        xml += "/>";
    }
    xml += R"(<object type="PU" os_index="0" cpuset="0x1" gp_index="2" )" + sets + "/></object>";
    if (!bandwidths.empty()) {
        xml += R"(<memattr name="Bandwidth" flags="5">)";
        for (unsigned i = 0; i < 3; ++i)
            xml += R"(<memattr_value target_obj_type="NUMANode" initiator_cpuset="0x1" target_obj_gp_index="1)" +
                   std::to_string(i) + R"(" value=")" + std::to_string(bandwidths.at(i)) + R"("/>)";
        xml += "</memattr>";
    }
    return xml + "</topology>";
}

TEST(mem_offer, hwloc_tells_kinds_by_the_names_of_memory_and_by_its_bandwidth) {
    std::vector<mem::node_offer> here(3);
    for (unsigned i = 0; i < 3; ++i) here[i].id = i;
    here[0].has_cpus = true;
    if (!mem::ask_hwloc(here)) GTEST_SKIP() << "hwloc is not installed";
    planted files;
    auto const ask = [&](std::vector<std::string> const& sorts, std::vector<unsigned> const& bandwidths) {
        files.file("machine.xml", machine_for_hwloc(sorts, bandwidths));
        variable const machine{"HWLOC_XMLFILE", files.root() + "/machine.xml"};
        return mem::ask_hwloc(here).value_or(mem::node_kinds{.fast = {99}, .far = {99}});
    };
    for (auto const* fast : {"MCDRAM", "HBM"})
        for (auto const* far : {"CXL-DRAM", "NVM"}) {
            auto const named = ask({"DRAM", fast, far}, {});
            EXPECT_EQ(named.fast, nodes{1}) << fast;
            EXPECT_EQ(named.far, nodes{2}) << far;
        }
    auto const measured = ask({}, {200'000, 900'000, 30'000});
    EXPECT_EQ(measured.fast, nodes{1});
    EXPECT_EQ(measured.far, nodes{2});
    auto const alike = ask({}, {200'000, 200'000, 200'000});
    EXPECT_EQ(alike.fast, nodes{});
    EXPECT_EQ(alike.far, nodes{});
}

TEST(mem_offer, memkind_tells_the_nodes_that_its_variables_name) {
    if (mem::look_around({}, {}).nodes.empty()) GTEST_SKIP() << "the system does not say which nodes of memory there are";
    constexpr int absent = 77;
    auto const told = [](char const* name, bool far) { // in a process of its own, because it looks once
        ::setenv(name, "0", 1);
        auto const is = mem::ask_memkind({});
        if (!is) std::_Exit(absent);
        std::_Exit((far ? is->far : is->fast) == nodes{0} && (far ? is->fast : is->far).empty() ? 0 : 1);
    };
    auto const is_right = [](int status) {
        return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == absent);
    };
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(told("MEMKIND_HBW_NODES", false), is_right, "");
    EXPECT_EXIT(told("MEMKIND_DAX_KMEM_NODES", true), is_right, "");
    if (!mem::ask_memkind({})) GTEST_SKIP() << "memkind is not installed";
}

TEST(mem_offer, file_cache_counts_as_free_as_far_as_it_goes_away) {
    planted tree;
    tree.put("devices/system/node/has_memory", "0").node(0, 1000, 0);
    tree.put("devices/system/node/node0/meminfo",
             "Node 0 MemTotal: 1000 kB\nNode 0 MemFree: 100 kB\nNode 0 Active(file): 60 kB\nNode 0 Inactive(file): 20 kB");
    EXPECT_EQ(mem::look_around({}, tree.root()).nodes.at(0).free, (100u + 30u + 20u) << 10);
}

TEST(mem_offer, nodes_that_are_all_alike_are_not_fast) {
    planted tree;
    tree.put("devices/system/node/has_memory", "0-1").node(0, 1000, 80'000).node(1, 1000, 80'000);
    EXPECT_EQ(mem::look_around({}, tree.root()).fast_nodes(), nodes{});
}

TEST(mem_offer, nodes_that_are_named_are_fast_whatever_firmware_says) {
    planted tree;
    tree.put("devices/system/node/has_memory", "0-1").node(0, 1000, 80'000).node(1, 1000, 200'000);
    EXPECT_EQ(mem::look_around("0", tree.root()).fast_nodes(), nodes{0});
    auto const all = mem::look_around("0-1", tree.root());
    EXPECT_EQ(all.fast_nodes(), (nodes{0, 1}));
    EXPECT_EQ(all.normal_nodes(), (nodes{0, 1})); // memory must come from somewhere
}

TEST(mem_offer, a_node_that_is_not_there_is_an_error_that_names_those_that_are) {
    planted tree;
    tree.put("devices/system/node/has_memory", "0,3").node(0, 1000, 0).node(3, 1000, 0);
    try {
        mem::look_around("2", tree.root());
        FAIL() << "was taken";
    } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::configuration);
        EXPECT_NE(std::string_view{e.what()}.find("no node 2 with memory here; there are 0, 3"), std::string_view::npos)
            << e.what();
    }
}

TEST(mem_offer, pools_count_what_is_free_and_promised_to_nobody) {
    planted tree;
    tree.pool(1048576, 2, 1, 0, 0, 0).pool(2048, 100, 40, 15, 8, 3);
    auto const o = mem::look_around({}, tree.root());
    ASSERT_EQ(o.pools.size(), 2u);
    auto const* const small = o.pool(2 << 20);
    ASSERT_NE(small, nullptr);
    EXPECT_EQ(small, &o.pools[0]);
    EXPECT_EQ(small->pages, 100u);
    EXPECT_EQ(small->free, 25u);
    EXPECT_EQ(small->available(), 30u);
    EXPECT_EQ(o.pool(1 << 30)->available(), 1u);
    EXPECT_EQ(o.pool(4 << 20), nullptr);
}

TEST(mem_offer, pools_are_what_control_groups_leave_of_them) {
    for (bool const v2 : {true, false}) {
        planted tree;
        std::string const limit = v2 ? "max" : "limit_in_bytes", used = v2 ? "current" : "usage_in_bytes";
        auto const group = [&](std::string const& name, std::string const& text) {
            tree.file("cg/slurm/job/hugetlb." + name, text);
        };
        tree.pool(2048, 20, 10, 0, 0, 0).pool(1048576, 3, 3, 0, 0, 0);
        tree.file("proc/self/mountinfo",
                  v2 ? "30 24 0:26 / /cg rw,nosuid - cgroup2 cgroup2 rw\n"
                     : "29 24 0:25 / /m rw - cgroup cgroup rw,memory\n30 24 0:26 / /cg rw - cgroup cgroup rw,hugetlb\n");
        tree.file("proc/self/cgroup", v2 ? "0::/slurm/job\n" : "5:memory:/x\n4:hugetlb:/slurm/job\n0::/\n");
        auto const look = [&] { return *mem::look_around({}, tree.root()).pool(2 << 20); };
        EXPECT_FALSE(look().is_limited());
        EXPECT_EQ(look().available(), 10u);
        group("2MB." + limit, v2 ? "max" : "9223372036854771712");
        EXPECT_FALSE(look().is_limited());
        group("2MB." + limit, std::to_string(16 << 20)),
            group("2MB." + used, std::to_string(6 << 20)); // eight, three are taken
        EXPECT_TRUE(look().is_limited());
        EXPECT_EQ(look().available(), 5u);
        EXPECT_EQ(look().allowed_by, "/cg/slurm/job/hugetlb.2MB." + limit);
        group("2MB.rsvd." + limit, std::to_string(4 << 20)), group("2MB.rsvd." + used, "0");
        EXPECT_EQ(look().available(), 2u);
        EXPECT_EQ(look().allowed_by, "/cg/slurm/job/hugetlb.2MB.rsvd." + limit);
        tree.file("cg/hugetlb.2MB." + limit, "0"); // a parent's
        EXPECT_EQ(look().available(), 0u);
        EXPECT_EQ(mem::look_around({}, tree.root()).pool(1 << 30)->available(), 3u);
        group("1GB." + limit, std::to_string(1 << 30));
        EXPECT_EQ(mem::look_around({}, tree.root()).pool(1 << 30)->available(), 1u);
        EXPECT_NE(mem::describe(mem::look_around({}, tree.root())).find(", 1 by /cg/slurm/job/hugetlb.1GB."),
                  std::string::npos);
    }
}

TEST(mem_offer, transparent_pages_are_as_the_words_in_brackets_say) {
    planted tree;
    auto const folder = std::string{"kernel/mm/transparent_hugepage/"};
    tree.put(folder + "enabled", "always [madvise] never").put(folder + "hpage_pmd_size", "2097152");
    tree.put(folder + "shmem_enabled", "always within_size advise [never] deny force");
    auto o = mem::look_around({}, tree.root());
    EXPECT_EQ(o.private_memory, mem::transparent::when_advised);
    EXPECT_EQ(o.shared_memory, mem::transparent::never);
    EXPECT_EQ(o.transparent_page, 2u << 20);
    tree.put(folder + "enabled", "[always] madvise never").put(folder + "shmem_enabled", "always [within_size] advise never");
    o = mem::look_around({}, tree.root());
    EXPECT_EQ(o.private_memory, mem::transparent::always);
    EXPECT_EQ(o.shared_memory, mem::transparent::always);
}

TEST(mem_offer, a_machine_that_says_nothing_has_nothing) {
    planted const tree;
    auto const o = mem::look_around({}, tree.root());
    EXPECT_TRUE(o.nodes.empty());
    EXPECT_TRUE(o.pools.empty());
    EXPECT_EQ(o.transparent_page, 0u);
    EXPECT_NE(describe(o).find("does not say which nodes"), std::string::npos);
}

TEST(mem_offer, lists_of_nodes_are_read_as_the_kernel_writes_them) {
    EXPECT_EQ(mem::read_nodes("", "X"), nodes{});
    EXPECT_EQ(mem::read_nodes("3,0-1,1", "X"), (nodes{0, 1, 3}));
    for (auto const* bad : {"a", "1-", "-1", "3-1", "1,", ",1", "1;2", "4096", "99999999999"}) {
        try {
            mem::read_nodes(bad, "SOME_NAME");
            ADD_FAILURE() << bad << " was taken";
        } catch (error const& e) {
            EXPECT_EQ(e.code(), errc::configuration);
            EXPECT_NE(std::string{e.what()}.find("SOME_NAME=" + std::string{bad}), std::string::npos) << e.what();
        }
    }
}

TEST(mem_offer, this_machine_is_described_line_by_line) {
    auto const o = mem::look_around();
    auto const text = describe(o);
    for (auto const& n : o.nodes) EXPECT_NE(text.find("node " + std::to_string(n.id)), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with('\n'));
}

} // namespace
