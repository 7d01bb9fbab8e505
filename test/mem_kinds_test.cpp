#include <mpt/mem/kinds.hpp>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <list>
#include <numeric>
#include <string>
#include <vector>

#include "memory_conformance.hpp"
#include "support/huge_pages.hpp"
#include <mpt/core/error.hpp>

#include <sys/mman.h>

namespace mpt::test {
using all_kinds = testing::Types<mem::ddr, mem::mcdram, mem::cxl, mem::interleave<>, mem::interleave<mem::mcdram>,
                                 mem::hugepage<2_MiB>, mem::hugepage<16_MiB>, mem::hugepage<4_MiB, mem::mcdram>,
                                 mem::hugepage<2_MiB, mem::ddr>, mem::file<"/dev/shm">, mem::fallback<mem::mcdram, mem::ddr>,
                                 mem::fallback<mem::hugepage<32_MiB>, mem::ddr>, mem::mandatory<mem::ddr>>;
INSTANTIATE_TYPED_TEST_SUITE_P(kinds, memory_conformance, all_kinds);
} // namespace mpt::test

namespace {
using namespace mpt;

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

template <class K> void is_memory(mem::mapping const& m, std::size_t n) {
    ASSERT_EQ(m.range.size(), n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.range.data()) % K::page, 0u);
    EXPECT_FALSE(m.from.empty());
    EXPECT_TRUE(m.why.empty());
    EXPECT_EQ(mem::look_at(m.range).touched, 0u);
    for (std::size_t i = 0; i < n; i += 4096) ASSERT_EQ(m.range[i], std::byte{0});
    std::memset(m.range.data(), 1, n);
}

// --- the laws of all kinds -----------------------------------------------------------------------------------------------------------
template <class K> struct mem_kinds : testing::Test {
    test::huge_pages_turn alone; // some take huge pages where the system has them: tests that count them wait
};
TYPED_TEST_SUITE(mem_kinds, mpt::test::all_kinds);

TYPED_TEST(mem_kinds, give_untouched_zeroed_aligned_memory_or_a_reason) {
    static_assert(mem::memory_kind<TypeParam>);
    for (std::size_t const pages : {1, 3}) {
        auto const n = pages * TypeParam::page;
        auto const m = TypeParam::map(n);
        if (m.range.empty()) {
            EXPECT_FALSE(m.why.empty());
            GTEST_SKIP() << m.why;
        }
        is_memory<TypeParam>(m, n);
        TypeParam::unmap(m.range);
    }
}

TYPED_TEST(mem_kinds, are_allocators_of_the_standard_library) {
    using kind = mem::fallback<TypeParam, mem::ddr>; // what this machine has not is had elsewhere
    std::vector<int, mem::allocator<int, kind>> v(100'000);
    std::iota(v.begin(), v.end(), 0);
    v.resize(300'000);
    EXPECT_EQ(v[99'999], 99'999);
    EXPECT_EQ(v[299'999], 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.data()) % 4096, 0u);
    auto const copy = v;
    EXPECT_EQ(copy, v);
    std::list<int, mem::allocator<int, kind>> l(v.begin(), v.begin() + 3); // rebound
    EXPECT_EQ(l.back(), 2);
    EXPECT_THROW(v.reserve(std::size_t{1} << 60), std::exception);
}

TYPED_TEST(mem_kinds, are_memory_resources) {
    mem::resource<mem::fallback<TypeParam, mem::ddr>> own, same;
    mem::resource<mem::file<"/tmp">> another;
    EXPECT_TRUE(own.is_equal(same));
    EXPECT_FALSE(own.is_equal(another));
    std::pmr::unsynchronized_pool_resource pool{&own};
    std::pmr::vector<std::pmr::string> words{&pool};
    for (int i = 0; i < 1000; ++i) words.emplace_back(std::string(40, static_cast<char>('a' + i % 26)));
    EXPECT_EQ(words[27], std::pmr::string(40, 'b'));
    auto* const p = own.allocate(0);
    EXPECT_NE(p, nullptr);
    own.deallocate(p, 0);
    EXPECT_THROW(static_cast<void>(own.allocate(64, std::size_t{1} << 30)), std::bad_alloc);
}

// --- each kind --------------------------------------------------------------------------------------------------------------------
TEST(mem_mcdram, is_memory_of_the_nodes_that_memkind_names) {
    variable const named{"MEMKIND_HBW_NODES", "0"};
    auto const m = mem::mcdram::map(1 << 20);
    if (m.range.empty()) GTEST_SKIP() << m.why;
    EXPECT_EQ(m.from, "MCDRAM");
    is_memory<mem::mcdram>(m, 1 << 20);
    auto const is = mem::look_at(m.range);
    EXPECT_EQ(is.on(0), is.touched);
    mem::mcdram::unmap(m.range);
}

TEST(mem_mcdram, that_is_not_there_is_nothing_or_something_else_or_an_error) {
    variable const named{"MEMKIND_HBW_NODES", ""};
    if (!mem::look_around().fast_nodes().empty()) GTEST_SKIP() << "this machine has fast memory";
    auto const none = mem::mcdram::map(1 << 20);
    EXPECT_TRUE(none.range.empty());
    EXPECT_FALSE(none.why.empty());
    EXPECT_EQ(mem::mcdram::shape({}), status::ok);

    using preferred = mem::fallback<mem::mcdram, mem::ddr>;
    auto const other = preferred::map(1 << 20);
    EXPECT_EQ(other.from, "DDR");
    preferred::unmap(other.range);

    try {
        static_cast<void>(mem::mandatory<mem::mcdram>::map(1 << 20));
        FAIL() << "was given";
    } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::no_memory);
        for (auto const* part : {"1024.0 KB of mcdram", "nothing else will do", "There is:", "node 0"})
            EXPECT_NE(std::string_view{e.what()}.find(part), std::string_view::npos) << part << " in: " << e.what();
    }
    EXPECT_THROW((std::vector<int, mem::allocator<int, mem::mandatory<mem::mcdram>>>(10)), error);
    EXPECT_THROW((std::vector<int, mem::allocator<int, mem::mcdram>>(10)), std::bad_alloc);
}

TEST(mem_hugepage, comes_from_the_systems_pool_where_it_has_enough) {
    test::huge_pages const pages{8};
    if (!pages.why_not().empty()) GTEST_SKIP() << pages.why_not();
    using kind = mem::hugepage<4_MiB>; // two pages each
    auto const m = kind::map(8 << 20);
    ASSERT_EQ(m.range.size(), 8u << 20) << m.why;
    EXPECT_EQ(m.from, "hugetlb");
    EXPECT_EQ(m.page.value, 2u << 20);
    EXPECT_LE(mem::look_around().pool(2 << 20)->free, 4u); // they are promised before they are touched
    std::memset(m.range.data(), 1, m.range.size());
    EXPECT_EQ(mem::look_at(m.range).huge, 8u << 20);
    kind::unmap(m.range);
}

TEST(mem_hugepage, of_several_pages_begins_at_a_multiple_of_its_size) {
    test::huge_pages const pages{8};
    if (!pages.why_not().empty()) GTEST_SKIP() << pages.why_not();
    using kind = mem::hugepage<4_MiB>;
    auto const free = [] { return mem::look_around().pool(2 << 20)->available(); };
    auto const before = free();
    std::vector<mem::mapping> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(kind::map(4 << 20));
        ASSERT_EQ(all.back().from, "hugetlb") << all.back().why;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back().range.data()) % (4 << 20), 0u);
    }
    EXPECT_EQ(free() + 8, before);
    auto const next = kind::map(4 << 20);
    EXPECT_EQ(next.from == "hugetlb", before >= 10) << "there are no more of them";
    kind::unmap(next.range);
    for (auto const& m : all) kind::unmap(m.range);
    EXPECT_EQ(free(), before) << "a page was lost";
}

/// Has nothing, and would have it at multiples of 32 MiB.
struct nowhere : mem::detail::kind_base {
    static constexpr std::string_view name = "nowhere";
    static constexpr bytes page = 32_MiB;
    static mem::mapping map(std::size_t) { return {.why = "there is none"}; }
    static status shape(std::span<std::byte>) noexcept { return status::refused; }
};

TEST(mem_fallback, of_smaller_pages_begins_where_the_first_would) {
    using kind = mem::fallback<nowhere, mem::ddr>;
    constexpr std::size_t n = 32 << 20;
    auto const mapped_mib = [] {
        std::ifstream maps{"/proc/self/maps"};
        std::uint64_t all = 0;
        for (std::string line; std::getline(maps, line);) {
            auto const dash = line.find('-');
            all += std::stoull(line.substr(dash + 1), nullptr, 16) - std::stoull(line, nullptr, 16);
        }
        return all >> 20;
    };
    auto const before = mapped_mib();
    for (int i = 0; i < 10; ++i) {
        mem::allocator<std::byte, kind> a;
        auto* const p = a.allocate(n);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % n, 0u);
        p[0] = p[n - 1] = std::byte{1};
        EXPECT_LE(mapped_mib(), before + 33) << "what lies around it is given back";
        a.deallocate(p, n);
    }
    EXPECT_LE(mapped_mib(), before + 1);
}

TEST(mem_hugepage, is_transparent_where_the_pool_is_scarce) {
    test::huge_pages const pages{8};
    if (!pages.why_not().empty()) GTEST_SKIP() << pages.why_not();
    auto const here = mem::look_around();
    auto const n = (here.pool(2 << 20)->available() + 2) << 21;
    auto const m = mem::hugepage<2_MiB>::map(n);
    if (here.private_memory == mem::transparent::never) {
        EXPECT_TRUE(m.range.empty());
        EXPECT_NE(m.why.find("transparent ones are off"), std::string_view::npos) << m.why;
    } else {
        EXPECT_EQ(m.from, "transparent");
    }
    mem::hugepage<2_MiB>::unmap(m.range);
}

TEST(mem_file, is_nothing_where_no_file_can_be_made) {
    auto const m = mem::file<"/proc/no such folder">::map(4096);
    EXPECT_TRUE(m.range.empty());
    EXPECT_NE(m.why.find("no file can be made"), std::string_view::npos);
    using elsewhere = mem::fallback<mem::file<"/proc/no such folder">, mem::file<"/tmp">>;
    auto const other = elsewhere::map(4096);
    EXPECT_EQ(other.from, "file") << other.why;
    elsewhere::unmap(other.range);
}

TEST(mem_file, of_more_than_the_file_system_has_is_nothing) {
    auto const m = mem::file<"/dev/shm">::map(std::size_t{1} << 50);
    EXPECT_TRUE(m.range.empty());
    EXPECT_FALSE(m.why.empty());
}

} // namespace
