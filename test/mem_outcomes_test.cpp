// Every kind of memory (mem/kinds.hpp) where the machine has plenty of what it asks for, too little, and none: a table.
#include <mpt/mem/kinds.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "support/huge_pages.hpp"
#include <gtest/gtest.h>
#include <mpt/core/error.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {
using namespace mpt;
using mem::cxl, mem::ddr, mem::fallback, mem::hugepage, mem::interleave, mem::mandatory, mem::mcdram;

constexpr std::string_view nothing = "nothing", refused = "refused"; // an empty mapping with a reason; an error with a sentence

/// A kind's outcomes, by what is there. "transparent|DDR": the first where the system makes huge pages by itself, else the second.
struct row {
    std::string_view kind, plenty, scarce, none;
    mem::mapping (*map)(std::size_t);
    void (*unmap)(std::span<std::byte>) noexcept;
    std::size_t page;
};
template <class K>
row outcomes(std::string_view kind, std::string_view plenty, std::string_view scarce, std::string_view none) {
    return {kind, plenty, scarce, none, K::map, K::unmap, K::page};
}

std::string_view here(std::string_view expected) {
    auto const bar = expected.find('|');
    if (bar == expected.npos) return expected;
    bool const is_made = mem::look_around({}, {}).private_memory != mem::transparent::never;
    return is_made ? expected.substr(0, bar) : expected.substr(bar + 1);
}

/// All of it can be used: the first and the last of it is.
void is_used(mem::mapping const& m, std::size_t n, std::size_t page) {
    ASSERT_EQ(m.range.size(), n);
    EXPECT_TRUE(m.why.empty()) << m.why;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.range.data()) % page, 0u);
    for (auto* const at : {m.range.data(), &m.range[n - 1]}) {
        EXPECT_EQ(*at, std::byte{0});
        *at = std::byte{1};
    }
}

void expect(row const& r, std::size_t n, std::string_view expected) {
    SCOPED_TRACE(std::string{r.kind} + " of " + std::to_string(n >> 10) + " KiB");
    try {
        auto const m = r.map(n);
        if (m.range.empty()) {
            EXPECT_EQ(nothing, expected) << m.why;
            EXPECT_FALSE(m.why.empty());
        } else {
            EXPECT_EQ(m.from, expected);
            is_used(m, n, r.page);
        }
        r.unmap(m.range);
    } catch (error const& e) {
        EXPECT_EQ(refused, expected) << e.what();
        EXPECT_EQ(e.code(), errc::no_memory);
        for (auto const* part : {"were asked for, and nothing else will do", "To change it: ", "There is:"})
            EXPECT_NE(std::string_view{e.what()}.find(part), std::string_view::npos) << part << " in: " << e.what();
    }
    auto const next = ddr::map(1 << 20); // whatever came of it
    is_used(next, 1 << 20, ddr::page);
    ddr::unmap(next.range);
}

/// A variable for the time of a test.
class variable {
    char const* name_;
    std::string before_;
    bool was_;

public:
    variable(char const* name, char const* value) : name_{name}, was_{std::getenv(name) != nullptr} {
        if (was_) before_ = std::getenv(name);
        ::setenv(name, value, 1);
    }
    ~variable() { was_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }
    variable(variable const&) = delete;
    variable& operator=(variable const&) = delete;
};
constexpr char const *fast_nodes = "MEMKIND_HBW_NODES", *far_nodes = "MEMKIND_DAX_KMEM_NODES";

bool is_placed_here() { // or a container's filter does not permit it
    variable const named{fast_nodes, "0"};
    auto const m = mcdram::map(4096);
    mcdram::unmap(m.range);
    return !m.range.empty();
}

// --- huge pages ---------------------------------------------------------------------------------------------------------------------
TEST(mem_outcomes, of_kinds_of_huge_pages) {
    std::array const table{
        outcomes<hugepage<2_MiB>>("hugepage<2M>", "hugetlb", "transparent|nothing", "transparent|nothing"),
        outcomes<hugepage<4_MiB>>("hugepage<4M>", "hugetlb", "transparent|nothing", "transparent|nothing"),
        outcomes<mandatory<hugepage<2_MiB>>>("mandatory<hugepage>", "hugetlb", "transparent|refused", "transparent|refused"),
        outcomes<fallback<hugepage<2_MiB>, ddr>>("fallback<hugepage, ddr>", "hugetlb", "transparent|DDR", "transparent|DDR"),
        outcomes<fallback<ddr, hugepage<4_MiB>>>("fallback<ddr, hugepage<4M>>", "DDR", "DDR", "DDR"),
    };
    for (std::uint64_t const there : {8, 1, 0}) {
        test::huge_pages const pool{there};
        if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
        for (auto const& r : table) {
            expect(r, 8 << 20, here(there == 8 ? r.plenty : there == 1 ? r.scarce : r.none));
            EXPECT_EQ(pool.free(), there) << r.kind << ": a page was lost";
        }
    }
}

TEST(mem_outcomes, of_huge_pages_of_a_kind_of_memory) {
    if (!is_placed_here()) GTEST_SKIP() << "the system does not place memory";
    using fast = hugepage<2_MiB, mcdram>;
    std::array const without{
        outcomes<fast>("hugepage<2M, mcdram>", nothing, nothing, nothing),
        outcomes<mandatory<fast>>("mandatory<hugepage<2M, mcdram>>", refused, refused, refused),
        outcomes<fallback<fast, ddr>>("fallback<hugepage<2M, mcdram>, ddr>", "DDR", "DDR", "DDR"),
        outcomes<fallback<fast, hugepage<2_MiB>>>("fallback<hugepage<2M, mcdram>, hugepage<2M>>", "hugetlb",
                                                  "transparent|nothing", "transparent|nothing"),
    };
    std::array const with{
        outcomes<fast>("hugepage<2M, mcdram>", "hugetlb", "transparent|nothing", "transparent|nothing"),
        outcomes<mandatory<fast>>("mandatory<hugepage<2M, mcdram>>", "hugetlb", "transparent|refused", "transparent|refused"),
        outcomes<fallback<fast, ddr>>("fallback<hugepage<2M, mcdram>, ddr>", "hugetlb", "transparent|DDR", "transparent|DDR"),
    };
    auto const check = [](auto const& table, std::uint64_t there) {
        for (row const& r : table) {
            expect(r, 8 << 20, here(there == 8 ? r.plenty : there == 1 ? r.scarce : r.none));
            EXPECT_EQ(test::huge_pages::free(), there) << r.kind << ": a page was lost";
        }
    };
    for (std::uint64_t const there : {8, 1, 0}) {
        test::huge_pages const pool{there};
        if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
        {
            variable const named{fast_nodes, "0"};
            check(with, there);
        }
        variable const named{fast_nodes, ""};
        if (mem::look_around().fast_nodes().empty()) check(without, there);
    }
}

TEST(mem_outcomes, of_pages_of_1_gib) {
    using kind = hugepage<1_GiB>;
    auto const whole = outcomes<kind>("hugepage<1G>", "hugetlb", "transparent|nothing", "transparent|nothing");
    for (std::uint64_t const there : {1, 0}) {
        test::huge_pages const pool{there, 1 << 30};
        if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
        expect(whole, 1 << 30, here(there == 1 ? whole.plenty : whole.none));
        expect(whole, std::size_t{2} << 30, here(whole.scarce));
        auto const m = kind::map(1 << 30);
        EXPECT_EQ(m.page.value == 1 << 30, there == 1) << "what stands behind it is told";
        kind::unmap(m.range);
        EXPECT_EQ(test::huge_pages::free(1 << 30), there) << "a page was lost";
    }
}

// --- nodes --------------------------------------------------------------------------------------------------------------------------
TEST(mem_outcomes, of_kinds_of_nodes) {
    if (!is_placed_here()) GTEST_SKIP() << "the system does not place memory";
    std::array const table{
        outcomes<ddr>("ddr", "DDR", "DDR", "DDR"),
        outcomes<interleave<>>("interleave<ddr>", "DDR", "DDR", "DDR"),
        outcomes<mcdram>("mcdram", "MCDRAM", nothing, nothing),
        outcomes<interleave<mcdram>>("interleave<mcdram>", "MCDRAM", nothing, nothing),
        outcomes<mandatory<mcdram>>("mandatory<mcdram>", "MCDRAM", refused, refused),
        outcomes<mandatory<interleave<mcdram>>>("mandatory<interleave<mcdram>>", "MCDRAM", refused, refused),
        outcomes<fallback<mcdram, ddr>>("fallback<mcdram, ddr>", "MCDRAM", "DDR", "DDR"),
        outcomes<fallback<cxl, mcdram>>("fallback<cxl, mcdram>", "MCDRAM", nothing, nothing),
        outcomes<fallback<interleave<mcdram>, interleave<>>>("fallback<interleave<mcdram>, interleave<ddr>>", "MCDRAM", "DDR",
                                                             "DDR"),
        outcomes<mandatory<fallback<mcdram, ddr>>>("mandatory<fallback<mcdram, ddr>>", "MCDRAM", "DDR", "DDR"),
    };
    for (auto const& r : table) {
        {
            variable const named{fast_nodes, "0"};
            auto const around = mem::look_around();
            auto const more = around.free_on(around.fast_nodes()) / 4096 * 4096 + (std::size_t{8} << 30);
            expect(r, 1 << 20, r.plenty);
            expect(r, more, r.scarce);
        }
        variable const named{fast_nodes, ""};
        if (mem::look_around().fast_nodes().empty()) expect(r, 1 << 20, r.none);
    }
}

TEST(mem_outcomes, of_memory_that_is_far) {
    if (!is_placed_here()) GTEST_SKIP() << "the system does not place memory";
    std::array const table{
        outcomes<cxl>("cxl", "CXL", nothing, nothing),
        outcomes<interleave<cxl>>("interleave<cxl>", "CXL", nothing, nothing),
        outcomes<mandatory<cxl>>("mandatory<cxl>", "CXL", refused, refused),
        outcomes<fallback<cxl, ddr>>("fallback<cxl, ddr>", "CXL", "DDR", "DDR"),
        outcomes<fallback<mcdram, cxl>>("fallback<mcdram, cxl>", "CXL", nothing, nothing),
    };
    for (auto const& r : table) {
        {
            variable const named{far_nodes, "0"};
            auto const around = mem::look_around();
            auto const more = around.free_on(around.far_nodes()) / 4096 * 4096 + (std::size_t{8} << 30);
            if (!around.fast_nodes().empty()) return; // a machine with another outcome
            expect(r, 1 << 20, r.plenty);
            expect(r, more, r.scarce);
        }
        variable const named{far_nodes, ""};
        if (mem::look_around().far_nodes().empty()) expect(r, 1 << 20, r.none);
    }
}

// --- files --------------------------------------------------------------------------------------------------------------------------
constexpr char small_folder[] = "/tmp/mpt-test-small-file-system";

/// 1 MiB, mounted for this process alone. Empty: there it is.
std::string mount_small() {
    if (::mkdir(small_folder, 0700) != 0 && errno != EEXIST) return "no folder can be made";
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", small_folder, "tmpfs", 0, "size=1m") != 0)
        return "the system lets nobody here mount";
    return {};
}

TEST(mem_outcomes, of_kinds_of_files) {
    using small = mem::file<small_folder>;
    std::array const table{
        outcomes<small>("file", "file", nothing, nothing),
        outcomes<mandatory<small>>("mandatory<file>", "file", refused, refused),
        outcomes<fallback<small, ddr>>("fallback<file, ddr>", "file", "DDR", "DDR"),
        outcomes<fallback<small, mem::file<"/tmp">>>("fallback<file, file>", "file", "file", "file"),
        outcomes<mandatory<fallback<small, mem::file<"/proc/none">>>>("mandatory<fallback<file, file>>", "file", refused,
                                                                      refused),
    };
    if (auto const why = mount_small(); !why.empty()) GTEST_SKIP() << why;
    for (int twice = 0; twice < 2; ++twice) // what is unmapped is room again
        for (auto const& r : table) {
            expect(r, 768 << 10, r.plenty);
            expect(r, 2 << 20, r.scarce);
        }
    auto const first = small::map(768 << 10);
    std::memset(first.range.data(), 1, first.range.size());
    for (auto const& r : table) expect(r, 768 << 10, r.scarce); // full, but for a quarter
    small::unmap(first.range);
    for (auto const& r : table) expect(r, 768 << 10, r.plenty);
    EXPECT_EQ(::umount(small_folder), 0);
    EXPECT_EQ(::rmdir(small_folder), 0);
    for (auto const& r : table) expect(r, 768 << 10, r.none);
}

} // namespace
