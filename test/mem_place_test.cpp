#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <mpt/core/error.hpp>
#include <mpt/mem/place.hpp>

#include <sys/mman.h>

namespace {
using namespace mpt;
using mem::affinity, mem::strictness;

constexpr std::size_t huge = 2 << 20;

/// Fresh memory at a multiple of 2 MiB, of this process or of a segment.
class fresh {
    std::size_t n_;
    std::byte* all_;

public:
    fresh(std::size_t n, mem::sharing how) : n_{n + huge} {
        auto const flags = MAP_ANONYMOUS | MAP_NORESERVE | (how == mem::sharing::own ? MAP_PRIVATE : MAP_SHARED);
        auto* const p = ::mmap(nullptr, n_, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (p == MAP_FAILED) throw std::runtime_error{"no memory for the test"};
        all_ = static_cast<std::byte*>(p);
    }
    ~fresh() { ::munmap(all_, n_); }
    fresh(fresh const&) = delete;
    fresh& operator=(fresh const&) = delete;
    std::span<std::byte> get() const {
        auto const skip = (huge - reinterpret_cast<std::uintptr_t>(all_) % huge) % huge;
        return {all_ + skip, n_ - huge};
    }
};

/// This machine, all of whose memory counts as fast: a second kind on a machine that has one.
mem::offer fast_here() {
    auto o = mem::look_around({}, {});
    for (auto& n : o.nodes) n.is_fast = true;
    return o;
}
mem::offer slow_here() {
    auto o = mem::look_around({}, {});
    for (auto& n : o.nodes) n.is_fast = false;
    return o;
}
std::string refusal(std::span<std::byte> range, mem::wish const& w, mem::offer const& here) {
    try {
        place(range, w, here);
    } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::no_memory);
        return e.what();
    }
    return {};
}
bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

struct mem_place : testing::TestWithParam<mem::sharing> {
    fresh memory{4 * huge, GetParam()};
    std::span<std::byte> range = memory.get();

    void SetUp() override {
        if (slow_here().nodes.empty()) GTEST_SKIP() << "the system does not say which nodes of memory there are";
        try {
            place(range.first(4096), {.kind = affinity::mcdram, .policy = strictness::mandatory}, fast_here(), GetParam());
        } catch (error const& e) { GTEST_SKIP() << e.what(); }
        mem::forget_place(range.first(4096));
    }
};

TEST_P(mem_place, every_policy_for_fast_memory_gets_it_where_it_is) {
    for (auto const policy : {strictness::preferred, strictness::mandatory, strictness::interleave}) {
        auto const is = place(range, {.kind = affinity::mcdram, .policy = policy}, fast_here(), GetParam());
        EXPECT_EQ(is.kind, affinity::mcdram) << to_string(policy);
        EXPECT_EQ(is.lacks, "") << to_string(policy);
    }
}

TEST_P(mem_place, placing_touches_nothing) {
    place(range, {.kind = affinity::mcdram, .policy = strictness::mandatory, .page = 2_MiB}, fast_here(), GetParam());
    EXPECT_EQ(mem::look_at(range).touched, 0u);
}

TEST_P(mem_place, what_is_touched_lies_on_the_nodes_that_were_asked_for) {
    auto const here = fast_here();
    place(range, {.kind = affinity::mcdram, .policy = strictness::mandatory}, here, GetParam());
    std::memset(range.data(), 1, huge);
    auto const is = mem::look_at(range);
    if (is.touched == 0) GTEST_SKIP() << "the kernel does not tell where pages are";
    std::uint64_t there = 0;
    for (auto const node : here.fast_nodes()) there += is.on(node);
    EXPECT_EQ(there, is.touched);
    EXPECT_GE(is.touched, huge);
}

/// The policy that /proc/self/numa_maps has for the mapping there: "bind:0"; empty: it is not told.
std::string policy_in_numa_maps(std::byte const* at) {
    std::ifstream maps{"/proc/self/numa_maps"};
    std::string found;
    for (std::string line; std::getline(maps, line);) { // by address
        std::istringstream words{line};
        std::uintptr_t begin = 0;
        std::string policy;
        if (words >> std::hex >> begin >> policy && begin <= reinterpret_cast<std::uintptr_t>(at)) found = policy;
    }
    return found;
}

TEST_P(mem_place, numa_maps_shows_the_nodes_that_were_asked_for) {
    if (policy_in_numa_maps(range.data()).empty()) GTEST_SKIP() << "the system has no such file";
    auto const here = fast_here();
    if (here.nodes.size() != 1) GTEST_SKIP() << "for a machine with one node of memory";
    auto const of = [&](affinity kind, strictness policy, mem::offer const& o) {
        place(range, {.kind = kind, .policy = policy}, o, GetParam());
        std::memset(range.data(), 1, 4096);
        return policy_in_numa_maps(range.data());
    };
    auto const node = std::to_string(here.nodes[0].id);
    EXPECT_EQ(of(affinity::mcdram, strictness::mandatory, here), "bind:" + node);
    EXPECT_EQ(of(affinity::mcdram, strictness::interleave, here), "interleave:" + node);
    EXPECT_TRUE(of(affinity::mcdram, strictness::preferred, here).starts_with("prefer"));
    EXPECT_EQ(of(affinity::ddr, strictness::preferred, slow_here()), "bind:" + node);
    mem::forget_place(range);
    EXPECT_EQ(policy_in_numa_maps(range.data()), "default");
}

TEST_P(mem_place, preferred_falls_back_where_there_is_none_and_says_so) {
    for (auto const policy : {strictness::preferred, strictness::interleave}) {
        auto const is = place(range, {.kind = affinity::mcdram, .policy = policy}, slow_here(), GetParam());
        EXPECT_EQ(is.kind, affinity::system);
        EXPECT_TRUE(has(is.lacks, "8192.0 KB of MCDRAM were asked for, but this machine has none: node 0 is DDR")) << is.lacks;
    }
    std::memset(range.data(), 1, range.size()); // there is memory all the same
}

TEST_P(mem_place, preferred_takes_what_is_there_of_what_is_scarce) {
    auto here = fast_here();
    for (auto& n : here.nodes) n.free = 4096;
    auto const is = place(range, {.kind = affinity::mcdram}, here, GetParam());
    EXPECT_TRUE(has(is.lacks, "of it are free")) << is.lacks;
    std::memset(range.data(), 1, range.size());
}

TEST_P(mem_place, mandatory_is_an_error_that_says_what_was_asked_what_is_there_and_what_to_change) {
    mem::wish const w{.kind = affinity::mcdram, .policy = strictness::mandatory};
    auto const absent = refusal(range, w, slow_here());
    for (auto const* part :
         {"8192.0 KB of MCDRAM", "policy Mandatory", "has none: node 0 is DDR", "Preferred", "MEMKIND_HBW_NODES"})
        EXPECT_TRUE(has(absent, part)) << part << " in: " << absent;
    auto here = fast_here();
    for (auto& n : here.nodes) n.free = 4096;
    auto const scarce = refusal(range, w, here);
    EXPECT_TRUE(has(scarce, "of it are free: node 0 is MCDRAM")) << scarce;
}

TEST_P(mem_place, ordinary_memory_needs_no_policy) {
    for (auto const policy : {strictness::preferred, strictness::mandatory, strictness::interleave}) {
        auto const is = place(range, {.kind = affinity::ddr, .policy = policy}, slow_here(), GetParam());
        EXPECT_EQ(is.kind, affinity::ddr);
        EXPECT_EQ(is.lacks, "");
    }
    std::memset(range.data(), 1, range.size());
}

TEST_P(mem_place, a_nodes_number_that_the_system_has_not_is_refused_by_it) {
    auto here = fast_here();
    here.nodes = {{.id = 1000, .bytes = 1ull << 40, .free = 1ull << 40, .bandwidth = 0, .is_fast = true}};
    EXPECT_TRUE(
        has(refusal(range, {.kind = affinity::mcdram, .policy = strictness::mandatory}, here), "does not place memory"));
    EXPECT_TRUE(has(place(range, {.kind = affinity::mcdram}, here, GetParam()).lacks, "does not place memory"));
}

TEST_P(mem_place, huge_pages_come_where_the_system_gives_them) {
    auto const here = mem::look_around({}, {});
    auto const given = GetParam() == mem::sharing::shared ? here.shared_memory : here.private_memory;
    auto const is = place(range, {.page = 4_MiB}, here, GetParam());
    if (given == mem::transparent::never) {
        EXPECT_EQ(is.page.value, 4096u);
        EXPECT_TRUE(has(is.lacks, "pages of 4096.0 KB were asked for")) << is.lacks;
        return;
    }
    EXPECT_EQ(is.lacks, "");
    EXPECT_EQ(is.page.value, here.transparent_page);
    std::memset(range.data(), 1, range.size());
    auto const seen = mem::look_at(range);
    EXPECT_LE(seen.huge, range.size());
    if (seen.huge == 0) GTEST_SKIP() << "the system had no huge page to give";
    EXPECT_EQ(seen.huge % huge, 0u);
}

TEST_P(mem_place, huge_pages_that_are_switched_off_are_lacking) {
    auto here = mem::look_around({}, {});
    here.private_memory = here.shared_memory = mem::transparent::never;
    auto const is = place(range, {.page = 2_MiB}, here, GetParam());
    EXPECT_EQ(is.page.value, 4096u);
    EXPECT_TRUE(has(is.lacks, "/sys/kernel/mm/transparent_hugepage")) << is.lacks;
    std::memset(range.data(), 1, range.size());
    EXPECT_EQ(mem::look_at(range).huge, 0u);
}

TEST_P(mem_place, a_plain_wish_leaves_all_as_it_is) {
    auto const is = place(range, {}, fast_here(), GetParam());
    EXPECT_EQ(is.kind, affinity::system);
    EXPECT_EQ(is.lacks, "");
    EXPECT_TRUE(mem::wish{}.is_plain());
    EXPECT_FALSE((mem::wish{.page = 2_MiB}.is_plain()));
}

TEST_P(mem_place, a_place_that_is_forgotten_binds_no_more) {
    place(range, {.kind = affinity::mcdram, .policy = strictness::mandatory}, fast_here(), GetParam());
    mem::forget_place(range);
    std::memset(range.data(), 1, range.size());
    EXPECT_EQ(place({}, {.kind = affinity::mcdram, .policy = strictness::mandatory}, slow_here(), GetParam()).lacks,
              ""); // nothing
}

TEST_P(mem_place, a_look_counts_the_pages_that_were_touched) {
    for (std::size_t i = 0; i < 10; ++i) range[huge + i * 8192] = std::byte{1};
    auto const is = mem::look_at(range);
    if (is.touched == 0) GTEST_SKIP() << "the kernel does not tell where pages are";
    if (is.huge != 0) GTEST_SKIP() << "the system makes huge pages by itself";
    EXPECT_EQ(is.touched, 10u * 4096);
    EXPECT_EQ(mem::look_at(range.subspan(huge + 4096, 4096)).touched, 0u);
    EXPECT_EQ(mem::look_at(range.subspan(huge + 8192, 1)).touched, 4096u);
    EXPECT_EQ(mem::look_at({}).touched, 0u);
}

INSTANTIATE_TEST_SUITE_P(of, mem_place, testing::Values(mem::sharing::own, mem::sharing::shared),
                         [](auto const& i) { return i.param == mem::sharing::own ? "a_process" : "a_segment"; });

} // namespace
