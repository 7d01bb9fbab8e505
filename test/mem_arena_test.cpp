#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <mpt/core/error.hpp>
#include <mpt/mem/arena.hpp>
#include <mpt/mem/kinds.hpp>
#include <mpt/mem/wishes.hpp>

#include "support/huge_page_group.hpp"
#include "support/huge_pages.hpp"
#include "support/job_of.hpp"

namespace {
using namespace mpt;

struct heap_of_one : testing::Test {
    boot::membership who = test::job_of(1).front();
    mem::slice_heap heap{who.arena, 0, who.arena->own_limit()};
};

TEST(arena, a_slice_is_the_same_memory_for_every_rank_that_maps_it) {
    auto const a = boot::make_segments(2);
    auto b = a;
    b.control_fd = ::dup(a.control_fd);
    b.data_fd = ::dup(a.data_fd);
    if (a.pages_fd >= 0) b.pages_fd = ::dup(a.pages_fd);
    auto const mine = mem::arena::open(a), yours = mem::arena::open(b);
    auto const at = mine->huge_part() + 8192;
    ASSERT_EQ(mine->commit(1, at, 4096), status::ok);
    auto const s = mine->slice(1, 16384), t = yours->slice(1, 16384);
    ASSERT_EQ(s.size(), mine->huge_part() + 16384u);
    ASSERT_NE(s.data(), t.data());
    std::memset(s.data() + at, 0x5a, 4096);
    EXPECT_EQ(std::memcmp(s.data() + at, t.data() + at, 4096), 0);
    EXPECT_EQ(t[at], std::byte{0x5a});
}

TEST(arena, slices_of_different_ranks_never_overlap) {
    auto const who = test::job_of(3);
    auto& arena = *who[0].arena;
    auto const n = arena.own_limit();
    for (int r = 0; r < 3; ++r) arena.slice(r, n).back() = std::byte(r + 1);
    for (int r = 0; r < 3; ++r) EXPECT_EQ(arena.slice(r, n).back(), std::byte(r + 1));
    for (int r = 0; r < 3; ++r) EXPECT_EQ(arena.slice(r, n)[arena.huge_part()], std::byte{0});
}

TEST(arena, slices_begin_at_huge_pages) {
    auto const who = test::job_of(3);
    auto& arena = *who[0].arena;
    auto const n = arena.own_limit();
    if (n % (2 << 20) != 0) GTEST_SKIP() << "slices of " << n << " bytes, by " << arena.limited_by();
    for (int r = 0; r < 3; ++r) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.slice(r, n).data()) % (2 << 20), 0u);
}

TEST(arena, a_slice_outside_of_the_job_is_empty) {
    auto const who = test::job_of(2);
    auto& arena = *who[0].arena;
    EXPECT_TRUE(arena.slice(2, 4096).empty());
    EXPECT_TRUE(arena.slice(-1, 4096).empty());
    EXPECT_TRUE(arena.slice(0, ~0ull).empty());
    EXPECT_EQ(arena.commit(0, ~0ull, 4096), status::too_large);
}

TEST(arena, discarded_pages_read_as_zeroes) {
    auto const who = test::job_of(1);
    auto& arena = *who[0].arena;
    auto const at = arena.huge_part();
    auto const s = arena.slice(0, 8192).subspan(at);
    std::memset(s.data(), 1, s.size());
    ASSERT_EQ(arena.discard(0, at, 4096), status::ok);
    EXPECT_EQ(s[0], std::byte{0});
    EXPECT_EQ(s[4096], std::byte{1});
}

TEST(arena, slices_stay_out_of_core_dumps) {
    auto const who = test::job_of(2);
    auto const s = who[0].arena->slice(1, 4096);
    std::ifstream smaps{"/proc/self/smaps"};
    bool inside = false;
    for (std::string line; std::getline(smaps, line);) {
        std::uintptr_t from = 0, to = 0;
        if (std::sscanf(line.c_str(), "%zx-%zx", &from, &to) == 2)
            inside = reinterpret_cast<std::uintptr_t>(s.data()) - from < to - from;
        if (!inside || !line.starts_with("VmFlags:")) continue;
        EXPECT_NE(line.find(" dd"), std::string::npos) << line;
        return;
    }
    GTEST_SKIP() << "/proc/self/smaps says nothing about flags";
}

TEST(arena, committing_more_than_the_headroom_is_no_memory) {
    auto const who = test::job_of(1);
    auto& arena = *who[0].arena;
    auto const room = arena.room();
    if (room.free >= arena.own_limit()) GTEST_SKIP() << "this machine has room for the whole slice";
    EXPECT_EQ(arena.commit(0, arena.huge_part(), arena.own_limit()), status::no_memory);
}

TEST(headroom, is_below_its_limit_and_names_it) {
    auto const room = mem::measure_headroom();
    EXPECT_LT(room.free, room.limit);
    EXPECT_GT(room.free, 0u);
    EXPECT_FALSE(room.who.empty());
    EXPECT_NE(mem::shortage(300 << 20, room).find(room.who), std::string::npos);
    EXPECT_NE(mem::shortage(300 << 20, room).find("300.0 MB"), std::string::npos);
}

TEST_F(heap_of_one, extents_are_aligned_zeroed_and_apart) {
    std::byte* last = nullptr;
    for (auto const& [n, align] : {std::pair{100u, 64u}, {1u, 128u}, {5000u, 4096u}, {64u, 64u}, {1u << 20, 128u}, {17u, 1u}}) {
        auto const s = heap.extent(n, align);
        ASSERT_EQ(s.size(), n);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.data()) % align, 0u);
        EXPECT_TRUE(heap.contains(s.data(), s.size()));
        EXPECT_TRUE(s.data() + s.size() <= last || last <= s.data());
        for (auto const b : s) ASSERT_EQ(b, std::byte{0});
        std::memset(s.data(), 0xff, s.size());
        last = s.data() + s.size();
    }
}

TEST_F(heap_of_one, objects_come_and_go_without_growing_the_heap) {
    std::vector<void*> objects;
    for (int i = 0; i < 100; ++i) objects.push_back(heap.object(200, 64));
    auto const used = heap.used();
    for (int lap = 0; lap < 100; ++lap) {
        for (auto*& o : objects) {
            ASSERT_NE(o, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(o) % 64, 0u);
            std::memset(o, lap, 200);
            heap.free_object(o);
            o = nullptr;
        }
        for (auto*& o : objects) o = heap.object(200, 64);
    }
    EXPECT_EQ(heap.used(), used);
}

TEST_F(heap_of_one, a_large_object_gets_room_of_its_own) {
    auto* const small = heap.object(16, 16);
    auto* const large = heap.object(3 << 20, 128);
    ASSERT_NE(large, nullptr);
    std::memset(large, 1, 3 << 20);
    heap.free_object(large);
    heap.free_object(small);
    EXPECT_EQ(heap.object(3 << 20, 128), large);
}

TEST_F(heap_of_one, user_pages_are_zeroed_again_after_they_were_used) {
    auto const a = heap.allocate(10'000);
    ASSERT_EQ(a.size(), 12'288u);
    std::memset(a.data(), 7, a.size());
    heap.deallocate(a);
    auto const b = heap.allocate(10'000);
    EXPECT_EQ(a.data(), b.data());
    for (auto const x : b) ASSERT_EQ(x, std::byte{0});
}

TEST_F(heap_of_one, little_that_was_given_back_keeps_its_pages_and_is_zeroed) {
    auto const a = heap.allocate(10'000);
    std::memset(a.data(), 7, a.size());
    heap.deallocate(a);
    auto const b = heap.allocate(12'000);
    EXPECT_EQ(b.data(), a.data());
    EXPECT_EQ(mem::look_at(b).touched, b.size()) << "no page has to be had again";
    for (auto const x : b) ASSERT_EQ(x, std::byte{0});
    heap.deallocate(b);
    EXPECT_EQ(heap.used(), 0u);
    auto const large = heap.allocate(1 << 20);
    std::memset(large.data(), 7, large.size());
    heap.deallocate(large);
    EXPECT_EQ(mem::look_at(heap.allocate(1 << 20)).touched, 0u) << "much is the system's again";
}

TEST_F(heap_of_one, who_says_where_memory_is_to_be_gets_none_that_has_pages) {
    auto const a = heap.allocate(10'000);
    std::memset(a.data(), 7, a.size());
    heap.deallocate(a);
    auto const b = heap.allocate(10'000, {.kind = mem::affinity::ddr});
    EXPECT_EQ(mem::look_at(b).touched, 0u);
    heap.deallocate(b);
    auto const c = heap.allocate(10'000);
    EXPECT_EQ(c.data(), a.data()) << "it was still kept";
    EXPECT_EQ(mem::look_at(c).touched, c.size());
}

TEST_F(heap_of_one, what_is_kept_is_bounded_and_no_reason_to_refuse) {
    mem::slice_heap small{who.arena, 0, 4 << 20};
    std::vector<std::span<std::byte>> parts;
    for (int i = 0; i < 32; ++i) parts.push_back(small.allocate(128 << 10));
    for (auto const p : parts) std::memset(p.data(), 7, p.size());
    for (auto const p : parts) small.deallocate(p);
    EXPECT_EQ(mem::look_at(small.whole()).touched, 1u << 20);
    auto const all = small.allocate(4 << 20);
    ASSERT_EQ(all.size(), 4u << 20);
    for (auto const x : all) ASSERT_EQ(x, std::byte{0});
    small.deallocate(all);
    small.deallocate(small.allocate(4096));
    EXPECT_FALSE(small.extent(4 << 20, 64).empty()) << "nor for the library";
}

TEST_F(heap_of_one, freed_neighbours_become_one_run_again) {
    auto const whole = heap.allocate(64 << 20);
    heap.deallocate(whole);
    std::vector<std::span<std::byte>> parts;
    for (int i = 0; i < 16; ++i) parts.push_back(heap.allocate(4 << 20));
    for (auto const i : {3, 1, 2, 0, 15, 14, 12, 13, 8, 4, 5, 7, 6, 11, 9, 10})
        heap.deallocate(parts[static_cast<std::size_t>(i)]);
    EXPECT_EQ(heap.allocate(64 << 20).data(), whole.data());
}

TEST_F(heap_of_one, a_request_beyond_the_headroom_names_what_was_asked_what_is_free_and_the_limit) {
    auto const room = who.arena->room();
    try {
        static_cast<void>(heap.allocate(room.free + (std::uint64_t{1} << 30)));
        FAIL() << "was granted";
    } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::no_memory);
        EXPECT_NE(std::string_view{e.what()}.find("were asked for"), std::string_view::npos) << e.what();
        EXPECT_NE(std::string_view{e.what()}.find(room.who), std::string_view::npos) << e.what();
    }
    EXPECT_EQ(heap.used(), 0u);
}

TEST_F(heap_of_one, says_why_an_extent_was_refused) {
    mem::slice_heap small{who.arena, 0, 1 << 20};
    auto const all = small.allocate(1 << 20);
    ASSERT_TRUE(small.extent(25 * 4096).empty());
    auto const now = small.why_refused();
    EXPECT_TRUE(now.starts_with("100.0 KB were asked for, but the largest free part of this rank's slice is 0 bytes")) << now;
    small.deallocate(all);
    auto const later = small.why_refused();
    EXPECT_TRUE(later.starts_with("100.0 KB were asked for and were not there a moment ago, now ")) << later;
}

TEST_F(heap_of_one, what_can_be_done_without_is_given_only_while_eight_times_as_much_is_free) {
    mem::slice_heap small{who.arena, 0, 1 << 20};
    EXPECT_TRUE(small.spare((128 << 10) + 1).empty());
    EXPECT_EQ(small.spare(128 << 10).size(), 128u << 10);
    EXPECT_TRUE(small.spare(128 << 10).empty()); // 896 KB are free
    EXPECT_EQ(small.spare(112 << 10).size(), 112u << 10);
    EXPECT_FALSE(small.extent(512 << 10).empty()); // what is needed is given
}

TEST_F(heap_of_one, an_absurd_request_is_refused) {
    for (auto const n : {~std::size_t{0}, ~std::size_t{0} - 4096, heap.whole().size() + 1})
        EXPECT_THROW(static_cast<void>(heap.allocate(n)), error);
    EXPECT_TRUE(heap.extent(~std::size_t{0}).empty());
    EXPECT_EQ(heap.object(~std::size_t{0} / 2, 16), nullptr);
}

TEST_F(heap_of_one, made_objects_are_aligned_or_refused_with_what_they_were_for) {
    struct alignas(256) wide {
        int value = 7;
    };
    auto const made = heap.make<wide>(3, "three of a kind");
    ASSERT_EQ(made.size(), 3u);
    for (auto const& w : made) {
        EXPECT_EQ(w.value, 7);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&w) % 256, 0u);
    }
    try {
        static_cast<void>(heap.make<wide>(std::size_t{1} << 40, "far too many"));
        FAIL() << "no error";
    } catch (error const& e) { EXPECT_NE(std::string_view{e.what()}.find("far too many"), std::string_view::npos) << e.what(); }
}

TEST_F(heap_of_one, a_later_heap_in_the_same_slice_finds_zeroes) {
    auto const s = heap.extent(4096);
    std::memset(s.data(), 9, s.size());
    mem::slice_heap next{who.arena, 0, who.arena->own_limit()};
    auto const t = next.extent(4096);
    ASSERT_EQ(s.data(), t.data());
    for (auto const b : t) ASSERT_EQ(b, std::byte{0});
}

TEST_F(heap_of_one, a_reference_is_the_owner_and_the_offset) {
    auto const s = heap.extent(64);
    auto const r = heap.refer(s.data() + 5);
    EXPECT_EQ(r.owner, 0u);
    EXPECT_EQ(heap.whole().data() + r.offset, s.data() + 5);
    EXPECT_FALSE(heap.contains(heap.whole().data() + heap.whole().size(), 1));
    EXPECT_FALSE(heap.contains(s.data(), heap.whole().size() + 1));
    EXPECT_FALSE(heap.contains(&r, 1));
}

TEST_F(heap_of_one, placed_memory_begins_at_a_multiple_of_its_pages_and_leaves_the_rest_free) {
    test::huge_pages_turn const alone; // it takes some, where the system has them
    for (std::size_t const page : {2 << 20, 16 << 20}) {
        auto const s = heap.allocate(100, {.page = bytes{page}});
        EXPECT_EQ(s.size(), page);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.data()) % page, 0u);
        EXPECT_EQ(mem::look_at(s).touched, 0u);
        for (std::size_t i = 0; i < page; i += 4096) ASSERT_EQ(s[i], std::byte{0});
        EXPECT_EQ(heap.used(), page);
        auto const is = heap.placed_as(s.data());
        ASSERT_TRUE(is.has_value());
        auto const here = mem::look_around();
        EXPECT_EQ(is->lacks.empty(), here.shared_memory != mem::transparent::never || is->pages_from == "hugetlb") << is->lacks;
        heap.deallocate(s);
        EXPECT_FALSE(heap.placed_as(s.data()).has_value());
        EXPECT_EQ(heap.used(), 0u);
    }
    auto const whole = heap.allocate(64 << 20); // nothing was lost between
    EXPECT_EQ(whole.data() + whole.size(), heap.whole().data() + heap.whole().size());
    EXPECT_FALSE(heap.placed_as(whole.data()).has_value());
}

TEST_F(heap_of_one, plain_wishes_are_plain_memory) {
    auto const s = heap.allocate(10'000, {});
    EXPECT_EQ(s.size(), 12'288u);
    EXPECT_FALSE(heap.placed_as(s.data()).has_value());
    EXPECT_TRUE(heap.allocate(0, {.page = 2_MiB}).empty());
    EXPECT_THROW(static_cast<void>(heap.allocate(~std::size_t{0}, {.page = 2_MiB})), error);
}

TEST_F(heap_of_one, counts_by_use_and_the_most_there_was) {
    static_cast<void>(heap.extent(1000));
    auto const library = heap.by_use().library.now;
    EXPECT_GE(library, 1000u);
    auto const a = heap.allocate(1 << 20), b = heap.allocate(1 << 20);
    heap.deallocate(a);
    auto const use = heap.by_use();
    EXPECT_EQ(use.user.now, 1u << 20);
    EXPECT_EQ(use.user.most, 2u << 20);
    EXPECT_EQ(use.library.now, library);
    EXPECT_EQ(heap.used(), library + (1u << 20));
    heap.deallocate(b);
}

/// The sum of the lines that /proc/self/smaps has by these names, of the mappings that begin in a range.
std::uint64_t in_smaps(std::span<std::byte> range, std::initializer_list<std::string_view> names) {
    std::ifstream smaps{"/proc/self/smaps"};
    std::uint64_t all = 0;
    bool inside = false;
    for (std::string line; std::getline(smaps, line);) {
        std::uintptr_t from = 0, to = 0;
        if (std::sscanf(line.c_str(), "%zx-%zx", &from, &to) == 2)
            inside = from - reinterpret_cast<std::uintptr_t>(range.data()) < range.size();
        else if (auto const colon = std::min(line.find(':'), line.size());
                 inside && std::ranges::find(names, std::string_view{line}.substr(0, colon)) != names.end())
            all += std::stoull(line.substr(colon + 1)) << 10;
    }
    return all;
}
/// What is resident of them, in base pages.
std::uint64_t resident(std::span<std::byte> range) { return in_smaps(range, {"Rss"}); }

TEST_F(heap_of_one, what_it_says_of_its_pages_agrees_with_smaps) {
    auto const before = heap.look();
    if (resident(heap.whole()) != before.library.touched + before.user.touched)
        GTEST_SKIP() << "smaps is not told for this mapping";
    auto const s = heap.extent(40'000, 4096);
    auto const u = heap.allocate(4 << 20);
    for (std::size_t i = 0; i < s.size(); i += 4096) s[i] = std::byte{1};
    for (std::size_t i = 0; i < u.size() / 2; i += 4096) u[i] = std::byte{1};
    auto const now = heap.look();
    if (now.library.touched == 0) GTEST_SKIP() << "the kernel does not tell where pages are";
    EXPECT_GE(now.library.touched, before.library.touched + 40'000);
    EXPECT_GE(now.user.touched, u.size() / 2);
    EXPECT_EQ(resident(heap.whole()), now.library.touched + now.user.touched);
    std::uint64_t on_nodes = 0;
    for (auto const& [node, n] : now.user.by_node) on_nodes += n;
    EXPECT_EQ(on_nodes, now.user.touched);
}

// --- huge pages of the system's pool: there, scarce, absent -----------------------------------------------------------------------
constexpr std::uint64_t huge = mem::arena::huge_page;

/// A job of two in front of so many free huge pages.
struct with_pages {
    test::huge_pages pool;
    std::uint64_t pool_size;
    std::vector<boot::membership> who;
    explicit with_pages(std::uint64_t n)
        : pool{n}, pool_size{n}, who{pool.why_not().empty() ? test::job_of(2) : std::vector<boot::membership>{}} {}
    mem::arena& arena() { return *who[0].arena; }
    mem::slice_heap heap(int me) { return {who[0].arena, me, arena().own_limit()}; }
};
#define SKIP_WITHOUT_POOL(here)                                                                                                \
    if (!here.pool.why_not().empty()) GTEST_SKIP() << here.pool.why_not();                                                     \
    if (here.arena().huge_part() == 0) GTEST_SKIP() << "the arena has no room for them, by " << here.arena().limited_by()

TEST(huge_pages, that_are_reserved_are_there_for_whoever_touches_them_and_are_given_back) {
    with_pages here{4};
    SKIP_WITHOUT_POOL(here);
    auto& arena = here.arena();
    ASSERT_EQ(arena.reserve(1, huge, 2 * huge), status::ok);
    EXPECT_EQ(here.pool.free(), 2u);
    auto const s = arena.slice(1, 4096);
    s[huge] = std::byte{1};
    EXPECT_EQ(here.pool.free(), 2u) << "the touched one was promised before";
    EXPECT_EQ(mem::look_at(s.subspan(huge, 2 * huge)).huge, huge) << "the other is not touched";
    EXPECT_EQ(arena.release(1, huge, 2 * huge), status::ok);
    EXPECT_EQ(here.pool.free(), 4u) << "the untouched one, too";
    ASSERT_EQ(arena.reserve(1, huge, huge), status::ok);
    EXPECT_EQ(s[huge], std::byte{0});
    arena.release(1, huge, huge);
}

TEST(huge_pages, that_are_too_few_are_refused_and_take_nothing) {
    with_pages here{2};
    SKIP_WITHOUT_POOL(here);
    auto& arena = here.arena();
    ASSERT_GE(arena.huge_part(), 2 * huge);
    ASSERT_EQ(arena.reserve(0, 0, huge), status::ok);
    EXPECT_EQ(arena.reserve(1, 0, 2 * huge), status::no_memory);
    EXPECT_EQ(here.pool.free(), 1u);
    EXPECT_EQ(arena.reserve(1, 0, huge), status::ok);
    EXPECT_EQ(arena.reserve(1, 4096, huge), status::too_large) << "no whole page";
    EXPECT_EQ(arena.reserve(1, arena.huge_part(), huge), status::too_large) << "base pages";
    arena.release(0, 0, huge), arena.release(1, 0, huge);
    EXPECT_EQ(here.pool.free(), 2u);
}

TEST(huge_pages, of_a_slice_are_the_same_for_every_process_that_maps_it) {
    test::huge_pages const pool{2};
    if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
    auto const a = boot::make_segments(2);
    if (a.pages_fd < 0) GTEST_SKIP() << "there is no memory of that sort";
    auto b = a;
    b.control_fd = ::dup(a.control_fd), b.data_fd = ::dup(a.data_fd), b.pages_fd = ::dup(a.pages_fd);
    auto const mine = mem::arena::open(a), yours = mem::arena::open(b);
    ASSERT_EQ(mine->reserve(1, 0, huge), status::ok);
    auto const s = mine->slice(1, 2 * huge), t = yours->slice(1, 2 * huge);
    t[5] = std::byte{7};
    EXPECT_EQ(s[5], std::byte{7});
    // Laid over base pages, they are seen there by who has laid them, and base pages again after that.
    auto const at = mine->huge_part() + huge;
    t[at + 5] = std::byte{9};
    ASSERT_EQ(yours->lay_pages(1, at, 0, huge), status::ok);
    EXPECT_EQ(t[at + 5], std::byte{7});
    EXPECT_EQ(s[at + 5], std::byte{9});
    t[at + huge - 1] = std::byte{3};
    EXPECT_EQ(s[huge - 1], std::byte{3});
    yours->lift_pages(1, at, huge);
    EXPECT_EQ(t[at + 5], std::byte{9});
    EXPECT_EQ(yours->lay_pages(1, at + 4096, 0, huge), status::too_large);
    EXPECT_EQ(yours->lay_pages(1, at, mine->huge_part(), huge), status::too_large);
    mine->release(1, 0, huge);
}

TEST(huge_pages, serve_who_asks_for_them_and_are_told_apart) {
    with_pages here{6};
    SKIP_WITHOUT_POOL(here);
    auto heap = here.heap(0);
    for (auto const page : {huge, 2 * huge}) {
        auto const s = heap.allocate(3 << 20, {.page = bytes{page}});
        EXPECT_EQ(s.size(), 2 * huge);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.data()) % page, 0u);
        auto const is = heap.placed_as(s.data());
        ASSERT_TRUE(is.has_value());
        EXPECT_EQ(is->pages_from, "hugetlb");
        EXPECT_EQ(is->page.value, huge);
        EXPECT_EQ(is->lacks, "");
        EXPECT_EQ(heap.look().user.touched, 0u);
        EXPECT_EQ(here.pool.free(), 4u);
        std::memset(s.data(), 1, s.size());
        auto const seen = heap.look().user;
        EXPECT_EQ(seen.huge, s.size());
        if (seen.touched != 0) { EXPECT_EQ(seen.touched, s.size()); }
        EXPECT_TRUE(heap.contains(s.data(), s.size()));
        EXPECT_EQ(here.arena().slice(0, here.arena().own_limit()).data() + heap.refer(s.data()).offset, s.data());
        EXPECT_EQ(heap.by_use()[mem::purpose::allocated].now, s.size());
        heap.deallocate(s);
        EXPECT_EQ(here.pool.free(), 6u);
        EXPECT_EQ(heap.used(), 0u);
    }
    auto const again = heap.allocate(huge, {.page = 2_MiB});
    for (std::size_t i = 0; i < huge; i += 4096) ASSERT_EQ(again[i], std::byte{0});
    auto const base = heap.allocate(huge);
    EXPECT_FALSE(heap.placed_as(base.data()).has_value()) << "who does not ask has base pages";
}

TEST(huge_pages, that_are_told_of_agree_with_smaps) {
    with_pages here{4};
    SKIP_WITHOUT_POOL(here);
    auto heap = here.heap(0);
    auto const s = heap.allocate(4 * huge, {.page = 2_MiB});
    auto const told = [&] { return in_smaps(heap.whole(), {"Shared_Hugetlb", "Private_Hugetlb"}); };
    EXPECT_EQ(heap.look().user.huge, 0u);
    EXPECT_EQ(told(), 0u);
    s[0] = s[2 * huge] = s[4 * huge - 1] = std::byte{1};
    EXPECT_EQ(heap.look().user.huge, 3 * huge);
    EXPECT_EQ(told(), 3 * huge);
}

TEST(huge_pages, that_were_given_back_are_remembered_by_who_watches) {
    with_pages here{2};
    SKIP_WITHOUT_POOL(here);
    for (bool const watches : {false, true}) {
        auto heap = here.heap(0);
        if (watches) heap.watch();
        auto const s = heap.allocate(2 * huge, {.page = 2_MiB});
        s[0] = std::byte{1};
        heap.deallocate(s);
        EXPECT_EQ(heap.look().user.huge, watches ? huge : 0u);
        EXPECT_EQ(heap.look().user.touched != 0, watches);
    }
}

TEST(huge_pages, that_are_too_few_leave_what_the_system_makes_by_itself) {
    with_pages here{2};
    SKIP_WITHOUT_POOL(here);
    auto mine = here.heap(0), theirs = here.heap(1);
    auto const s = mine.allocate(2 * huge, {.page = 2_MiB});
    EXPECT_EQ(mine.placed_as(s.data())->pages_from, "hugetlb");
    auto const t = theirs.allocate(huge, {.page = 2_MiB});
    auto const is = theirs.placed_as(t.data());
    ASSERT_TRUE(is.has_value());
    EXPECT_NE(is->pages_from, "hugetlb");
    EXPECT_EQ(is->lacks.empty(), mem::look_around({}, {}).shared_memory != mem::transparent::never) << is->lacks;
    std::memset(t.data(), 1, t.size());
    mine.deallocate(s);
    auto const u = theirs.allocate(2 * huge, {.page = 2_MiB});
    EXPECT_EQ(theirs.placed_as(u.data())->pages_from, "hugetlb") << "they are free again";
}

TEST(huge_pages, of_some_nodes_are_there_before_anybody_touches_them) {
    with_pages here{3};
    SKIP_WITHOUT_POOL(here);
    if (mem::look_around({}, {}).nodes.empty()) GTEST_SKIP() << "the system does not say which nodes of memory there are";
    ::setenv("MEMKIND_HBW_NODES", "0", 1);
    auto heap = here.heap(0);
    for (auto const policy : {mem::strictness::preferred, mem::strictness::mandatory, mem::strictness::interleave}) {
        auto const s = heap.allocate(2 * huge, {.kind = mem::affinity::mcdram, .policy = policy, .page = 2_MiB});
        auto const is = heap.placed_as(s.data());
        ASSERT_TRUE(is.has_value());
        EXPECT_EQ(is->kind, mem::affinity::mcdram) << is->lacks;
        EXPECT_EQ(is->pages_from, "hugetlb");
        auto const seen = mem::look_at(s);
        EXPECT_EQ(seen.on(0), seen.touched);
        EXPECT_EQ(seen.huge, s.size());
        heap.deallocate(s);
    }
    ::unsetenv("MEMKIND_HBW_NODES");
    EXPECT_EQ(here.pool.free(), 3u);
}

/// What a wish becomes, where fast nodes are named or not and the pool has enough pages, too few, or none.
void expect_wish(with_pages& here, mem::slice_heap& heap, mem::wish const& w, bool fast_is_there, bool pages_suffice) {
    constexpr std::size_t n = 8 << 20;
    bool const wants_fast = w.kind == mem::affinity::mcdram, wants_huge = w.page.value >= huge;
    std::span<std::byte> s;
    try {
        s = heap.allocate(n, w);
    } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::no_memory);
        EXPECT_TRUE(wants_fast && !fast_is_there && w.policy == mem::strictness::mandatory) << e.what();
        for (auto const* part : {"of MCDRAM were asked for with the policy Mandatory", "has none: node 0 is DDR", "Preferred"})
            EXPECT_NE(std::string_view{e.what()}.find(part), std::string_view::npos) << e.what();
        return;
    }
    EXPECT_FALSE(wants_fast && !fast_is_there && w.policy == mem::strictness::mandatory) << "was given";
    EXPECT_EQ(s.size(), n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.data()) % w.page.value, 0u);
    if (auto const is = heap.placed_as(s.data())) {
        auto const has_nodes = w.kind != mem::affinity::mcdram || fast_is_there;
        EXPECT_EQ(is->kind, has_nodes ? w.kind : mem::affinity::system);
        EXPECT_EQ(is->pages_from == "hugetlb", wants_huge && pages_suffice) << is->pages_from;
        auto const has_pages = !wants_huge || is->pages_from != "base";
        EXPECT_EQ(is->lacks.empty(), has_nodes && has_pages) << is->lacks;
    } else EXPECT_TRUE(w.is_plain());
    EXPECT_TRUE(std::ranges::all_of(s, [](std::byte b) { return b == std::byte{0}; }));
    std::memset(s.data(), 1, s.size());
    if (wants_huge && pages_suffice) { EXPECT_EQ(mem::look_at(s).huge, n); }
    heap.deallocate(s);
    EXPECT_EQ(heap.used(), 0u);
    EXPECT_EQ(test::huge_pages::free(), here.pool_size) << "a page was lost";
}

TEST(huge_pages, every_policy_of_every_kind_by_every_page_has_one_outcome) {
    using mem::affinity, mem::strictness;
    if (mem::look_around({}, {}).nodes.size() != 1) GTEST_SKIP() << "for a machine with one node of memory";
    for (std::uint64_t const pages : {4, 1, 0}) {
        with_pages here{pages};
        if (!here.pool.why_not().empty()) GTEST_SKIP() << here.pool.why_not();
        auto heap = here.heap(0);
        for (auto const* fast : {"0", ""}) {
            ::setenv("MEMKIND_HBW_NODES", fast, 1);
            for (auto const kind : {affinity::system, affinity::ddr, affinity::mcdram})
                for (auto const policy : {strictness::preferred, strictness::mandatory, strictness::interleave})
                    for (auto const page : {4_KiB, 2_MiB, 8_MiB}) {
                        SCOPED_TRACE(std::string{to_string(kind)} + ' ' + std::string{to_string(policy)} + ", pages of " +
                                     std::to_string(page.value) + ", pool of " + std::to_string(pages) + ", fast nodes " +
                                     fast);
                        auto const is = mem::settled({.kind = kind, .policy = policy, .page = page});
                        expect_wish(here, heap, is, *fast != 0, pages == 4);
                    }
        }
        ::unsetenv("MEMKIND_HBW_NODES");
    }
}

/// Of a control group that may touch two pages, where four are free: 0, or the line of what went wrong.
#define UNLESS(condition)                                                                                                      \
    if (!(condition)) return __LINE__ - first_line
int within_a_limit_of_two_pages() {
    constexpr int first_line = __LINE__;
    auto const who = test::job_of(2);
    mem::slice_heap heap{who[0].arena, 0, who[0].arena->own_limit()};
    auto const sort = [&](std::span<std::byte> s) { return heap.placed_as(s.data())->pages_from; };
    auto const s = heap.allocate(2 * huge, {.page = 2_MiB});
    UNLESS(sort(s) == "hugetlb");
    UNLESS(test::huge_pages::free() == 2);
    UNLESS(mem::look_around({}, {}).pool(huge)->allowed == 0); // the pages are there: nobody else's touch takes them away
    std::memset(s.data(), 1, s.size());
    for (auto const kind : {mem::affinity::system, mem::affinity::ddr}) {
        auto const t = heap.allocate(huge, {.kind = kind, .page = 2_MiB});
        UNLESS(sort(t) != "hugetlb");
        std::memset(t.data(), 1, t.size());
        heap.deallocate(t);
    }
    auto const m = mem::hugepage<2_MiB>::map(huge);
    UNLESS(m.from != "hugetlb");
    if (!m.range.empty()) std::memset(m.range.data(), 1, m.range.size());
    UNLESS(!heap.take_pages(huge));
    heap.deallocate(s);
    UNLESS(test::huge_pages::free() == 4);
    UNLESS(!heap.take_pages(3 * huge)); // two could be had: nothing is taken
    UNLESS(test::huge_pages::free() == 4);
    auto const ours = mem::hugepage<2_MiB>::map(2 * huge);
    UNLESS(ours.from == "hugetlb");
    std::memset(ours.range.data(), 1, ours.range.size());
    mem::hugepage<2_MiB>::unmap(ours.range);
    auto const u = heap.allocate(2 * huge, {.kind = mem::affinity::ddr, .page = 2_MiB});
    if (mem::look_around({}, {}).nodes.empty()) return 0;
    UNLESS(sort(u) == "hugetlb");
    std::memset(u.data(), 1, u.size());
    heap.deallocate(u);
    UNLESS(test::huge_pages::free() == 4);
    return 0;
}
#undef UNLESS

TEST(huge_pages, that_a_control_group_does_not_permit_are_not_promised) {
    with_pages here{4};
    SKIP_WITHOUT_POOL(here);
    auto const is = test::in_group_of(2, within_a_limit_of_two_pages);
    if (is == test::no_group) GTEST_SKIP() << "the system lets nobody here make a control group of huge pages";
    EXPECT_EQ(is, 0) << (is == test::died ? "a touch beyond the limit" : "the line of the function");
}

TEST(huge_pages, that_are_absent_leave_slices_as_they_were) {
    with_pages here{0};
    if (!here.pool.why_not().empty()) GTEST_SKIP() << here.pool.why_not();
    if (mem::look_around({}, {}).pool(huge)->may_grow != 0) GTEST_SKIP() << "this machine makes huge pages when asked";
    if (here.arena().huge_part() != 0) GTEST_SKIP() << "others of this machine have huge pages";
    EXPECT_EQ(here.arena().reserve(0, 0, huge), status::too_large);
    auto heap = here.heap(0);
    EXPECT_FALSE(heap.take_pages(huge).has_value());
    auto const s = heap.allocate(huge, {.page = 2_MiB});
    EXPECT_NE(heap.placed_as(s.data())->pages_from, "hugetlb");
}

TEST(heap, library_memory_of_several_ranks_is_in_their_own_slices) {
    test::run_ranks(3, [](boot::job& job, mem::slice_heap& heap, int me) {
        auto const s = heap.extent(256);
        s[0] = std::byte(me + 1);
        auto const at = heap.refer(s.data());
        job.publish(0, 0, std::as_bytes(std::span{&at, 1}));
        job.meet();
        for (int p = 0; p < 3; ++p) {
            mem::reference r;
            ASSERT_EQ(job.address(p, 0, 0).size(), sizeof r);
            std::memcpy(&r, job.address(p, 0, 0).data(), sizeof r);
            EXPECT_EQ(job.arena().slice(p, job.record(p).slice_bytes)[r.offset], std::byte(p + 1));
        }
        job.meet();
    });
}

} // namespace
