#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <mpt/transport/smp/copy.hpp>

#include <sys/mman.h>
#include <unistd.h>

namespace {
using namespace mpt;

/// Whether this machine lets us try at all.
bool may_read_itself() {
    int a = 1, b = 0;
    return smp::read_process(smp::own_process(), &b, reinterpret_cast<std::uintptr_t>(&a), sizeof a) == status::ok;
}
struct smp_copy : testing::Test {
    void SetUp() override {
        if (!may_read_itself()) GTEST_SKIP() << "the kernel refuses process_vm_readv";
    }
};
std::uint64_t address(void const* p) { return reinterpret_cast<std::uintptr_t>(p); }

struct mapping {
    std::size_t n;
    std::byte* at;
    explicit mapping(std::size_t bytes, int protection = PROT_READ | PROT_WRITE)
        : n{bytes}, at{static_cast<std::byte*>(::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))} {}
    ~mapping() { ::munmap(at, n); }
};

TEST_F(smp_copy, reads_and_writes_another_place_of_memory_through_the_kernel) {
    std::vector<std::byte> a(100'000, std::byte{5}), b(a.size()), c(a.size());
    EXPECT_EQ(smp::read_process(smp::own_process(), b.data(), address(a.data()), a.size()), status::ok);
    EXPECT_EQ(b, a);
    EXPECT_EQ(smp::write_process(smp::own_process(), address(c.data()), a.data(), a.size()), status::ok);
    EXPECT_EQ(c, a);
    EXPECT_EQ(smp::read_process(smp::own_process(), nullptr, 0, 0), status::ok) << "nothing is no error";
}

TEST_F(smp_copy, memory_that_is_not_mapped_is_a_bad_address_also_behind_good_pages) {
    mapping const m{8 * 4096};
    ASSERT_EQ(::mprotect(m.at + 5 * 4096, 3 * 4096, PROT_NONE), 0);
    std::vector<std::byte> into(m.n);
    EXPECT_EQ(smp::read_process(smp::own_process(), into.data(), address(m.at), 5 * 4096), status::ok);
    EXPECT_EQ(smp::read_process(smp::own_process(), into.data(), address(m.at), m.n), status::bad_address);
    EXPECT_EQ(smp::read_process(smp::own_process(), m.at, address(into.data()), m.n), status::bad_address);
    EXPECT_EQ(smp::read_process(smp::own_process(), into.data(), 4096, 16), status::bad_address);
}

TEST_F(smp_copy, what_lies_just_behind_but_for_the_page_is_moved_exactly_or_is_a_bad_address) {
    constexpr std::size_t page = 4096;
    for (std::size_t const n : {8191, 8192, 33'000, 140'001})
        for (std::size_t const ahead : {0, 1, 16, 31, 32}) {
            mapping const a{160'000}, b{160'000};
            for (std::size_t i = 0; i < n; ++i) a.at[page + i] = static_cast<std::byte>(i * 7 % 251);
            auto* const from = a.at + page;
            auto* const to = b.at + page + ahead;
            EXPECT_EQ(smp::read_process(smp::own_process(), to, address(from), n), status::ok);
            EXPECT_TRUE(std::equal(from, from + n, to)) << n << ", " << ahead;
            EXPECT_TRUE(to[-1] == std::byte{} && to[n] == std::byte{}) << n << ", " << ahead;
            std::fill_n(to, n, std::byte{});
            EXPECT_EQ(smp::write_process(smp::own_process(), address(to), from, n), status::ok);
            EXPECT_TRUE(std::equal(from, from + n, to)) << n << ", " << ahead;
            EXPECT_TRUE(to[-1] == std::byte{} && to[n] == std::byte{}) << n << ", " << ahead;
        }
    mapping const good{8 * page}, bad{8 * page};
    ASSERT_EQ(::mprotect(bad.at + 4 * page, 4 * page, PROT_NONE), 0);
    auto const me = smp::own_process();
    EXPECT_EQ(smp::read_process(me, bad.at + 16, address(good.at), 7 * page), status::bad_address) << "ours to write";
    EXPECT_EQ(smp::read_process(me, good.at + 16, address(bad.at), 7 * page), status::bad_address) << "theirs to read";
    EXPECT_EQ(smp::write_process(me, address(good.at) + 16, bad.at, 7 * page), status::bad_address) << "ours to read";
    EXPECT_EQ(smp::write_process(me, address(bad.at) + 16, good.at, 7 * page), status::bad_address) << "theirs to write";
}

TEST_F(smp_copy, runs_go_to_runs_of_other_lengths_and_a_page_that_is_not_there_is_a_bad_address) {
    mapping const m{4 * 4096};
    for (std::size_t i = 0; i < m.n; ++i) m.at[i] = static_cast<std::byte>(i % 251);
    std::vector<std::byte> into(3000, std::byte{0xee}), wanted = into;
    memory_run const theirs[]{{5, 700}, {4000, 1}, {2000, 799}};
    memory_run const ours[]{{address(into.data()) + 10, 1000}, {address(into.data()) + 2000, 500}};
    std::copy_n(m.at + 5, 700, wanted.data() + 10);
    wanted[710] = m.at[4000];
    std::copy_n(m.at + 2000, 299, wanted.data() + 711);
    std::copy_n(m.at + 2299, 500, wanted.data() + 2000);
    EXPECT_EQ(smp::read_process_runs(smp::own_process(), ours, address(m.at), theirs), status::ok);
    EXPECT_EQ(into, wanted);
    ASSERT_EQ(::mprotect(m.at + 2 * 4096, 2 * 4096, PROT_NONE), 0);
    memory_run const bad[]{{5, 700}, {2 * 4096 + 8, 800}};
    EXPECT_EQ(smp::read_process_runs(smp::own_process(), ours, address(m.at), bad), status::bad_address);
    EXPECT_EQ(smp::read_process_runs(0x3fffffff, ours, address(m.at), theirs), status::peer_gone);
}
TEST_F(smp_copy, runs_are_written_to_runs_as_they_are_read) {
    mapping const m{4 * 4096};
    std::vector<std::byte> from(3000), wanted(m.n), seen(m.n);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 251);
    memory_run const theirs[]{{5, 700}, {4000, 1}, {2000, 799}};
    memory_run const ours[]{{address(from.data()) + 10, 1000}, {address(from.data()) + 2000, 500}};
    std::copy_n(from.data() + 10, 700, wanted.data() + 5);
    wanted[4000] = from[710];
    std::copy_n(from.data() + 711, 299, wanted.data() + 2000);
    std::copy_n(from.data() + 2000, 500, wanted.data() + 2299);
    EXPECT_EQ(smp::write_process_runs(smp::own_process(), ours, address(m.at), theirs), status::ok);
    std::copy_n(m.at, m.n, seen.data());
    EXPECT_EQ(seen, wanted);
    ASSERT_EQ(::mprotect(m.at + 2 * 4096, 2 * 4096, PROT_READ), 0);
    memory_run const bad[]{{5, 700}, {2 * 4096 + 8, 800}};
    EXPECT_EQ(smp::write_process_runs(smp::own_process(), ours, address(m.at), bad), status::bad_address);
    EXPECT_EQ(smp::write_process_runs(0x3fffffff, ours, address(m.at), theirs), status::peer_gone);
}

TEST_F(smp_copy, a_read_only_buffer_cannot_be_written) {
    mapping const m{4096, PROT_READ};
    std::vector<std::byte> from(4096);
    EXPECT_EQ(smp::write_process(smp::own_process(), address(m.at), from.data(), from.size()), status::bad_address);
    EXPECT_EQ(smp::read_process(smp::own_process(), m.at, address(from.data()), from.size()), status::bad_address);
}

TEST(smp_copy_own, pages_are_there_as_far_as_they_may_be_used) {
    constexpr std::size_t page = 4096;
    mapping const m{4 * page};
    ASSERT_EQ(::mprotect(m.at + 2 * page, page, PROT_READ), 0);
    ASSERT_EQ(::mprotect(m.at + 3 * page, page, PROT_NONE), 0);
    for (bool const writable : {false, true}) {
        EXPECT_TRUE(smp::is_there(m.at, 2 * page, writable));
        EXPECT_EQ(smp::is_there(m.at + 1, 3 * page - 1, writable), !writable);
        EXPECT_EQ(smp::is_there(m.at + 2 * page, page, writable), !writable);
        EXPECT_FALSE(smp::is_there(m.at + 3 * page - 1, 2, writable));
        EXPECT_FALSE(smp::is_there(nullptr, 1, writable));
        EXPECT_TRUE(smp::is_there(nullptr, 0, writable));
        int here = 0;
        EXPECT_TRUE(smp::is_there(&here, sizeof here, writable));
    }
}

TEST_F(smp_copy, a_process_that_does_not_exist_is_gone) {
    int a = 0;
    EXPECT_EQ(smp::read_process(0x3fffffff, &a, address(&a), sizeof a), status::peer_gone); // above any pid_max
}

TEST_F(smp_copy, a_probe_that_reads_other_words_than_the_peer_shows_refuses_the_peer) {
    std::uint64_t const truth[2]{1, 2}, other[2]{1, 3};
    smp::reach good{{}, smp::own_process(), false, leave::untried, address(truth), truth};
    smp::reach bad{{}, smp::own_process(), false, leave::untried, address(other), truth};
    EXPECT_TRUE(good.may_cma());
    EXPECT_EQ(good.cma, leave::granted);
    EXPECT_FALSE(bad.may_cma());
    EXPECT_EQ(bad.cma, leave::refused);
    char x = 'x', y = 0;
    EXPECT_EQ(good.read(&y, {address(&x), 1, 0, 0}, 0, 1), status::ok);
    EXPECT_EQ(y, 'x');
    EXPECT_EQ(bad.read(&y, {address(&x), 1, 0, 0}, 0, 1), status::refused);
    EXPECT_EQ(bad.write({address(&y), 1, 0, 0}, 0, &x, 1), status::refused);
}

TEST(smp_copy_mapped, memory_in_a_slice_needs_no_leave_and_is_checked_against_its_bounds) {
    std::vector<std::byte> slice(4096);
    smp::reach r{smp::slice_view{std::span{slice}}, 0, false, leave::refused, 0, nullptr};
    std::uint32_t const value = 0x12345678;
    std::uint32_t back = 0;
    EXPECT_EQ(r.write({96, 8, 1, 0}, 4, &value, 4), status::ok);
    EXPECT_EQ(r.read(&back, {96, 8, 1, 0}, 4, 4), status::ok);
    EXPECT_EQ(back, value);
    EXPECT_EQ(std::memcmp(slice.data() + 100, &value, 4), 0);
    EXPECT_EQ(r.read(&back, {96, 8, 1, 0}, 5, 4), status::bad_address);
    EXPECT_EQ(r.read(&back, {4090, 8, 1, 0}, 0, 4), status::bad_address);
    EXPECT_EQ(smp::reach{}.read(&back, {0, 4, 1, 0}, 0, 4), status::refused) << "a slice that cannot be mapped";
    EXPECT_TRUE(r.reaches({96, 8, 1, 0}));
    EXPECT_FALSE(r.reaches({96, 8, 0, 0}));
}

TEST(smp_copy_mapped, memory_of_this_process_is_copied_without_the_kernel) {
    smp::reach r{{}, 0, true, leave::refused, 0, nullptr};
    char from[4] = "abc", into[4] = "";
    EXPECT_EQ(r.read(into, {address(from), 4, 0, 0}, 0, 4), status::ok);
    EXPECT_STREQ(into, "abc");
    EXPECT_EQ(r.write({address(from), 4, 0, 0}, 1, "X", 1), status::ok);
    EXPECT_STREQ(from, "aXc");
}

} // namespace
