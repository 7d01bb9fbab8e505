/// test/memory_conformance - the laws of a memory policy (mpt/mem/memory.hpp), for every one of them.
///
///   Add a policy: one line in the list of test/mem_<name>_test.cpp:
///       INSTANTIATE_TYPED_TEST_SUITE_P(standard, memory_conformance, testing::Types<mem::standard>);
#pragma once
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <gtest/gtest.h>
#include <mpt/mem/memory.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpt::test {

/// A fresh, mapped, untouched range of two of the policy's pages in a segment made with its flags.
template <class M> class fresh_range {
    int fd_ = static_cast<int>(::syscall(SYS_memfd_create, "test", MFD_CLOEXEC | unsigned{M::memfd_flags}));
    void* at_ = MAP_FAILED;

public:
    static constexpr std::size_t size = 2 * std::size_t{M::page};
    fresh_range() {
        if (fd_ >= 0 && ::ftruncate(fd_, size) == 0) at_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    }
    ~fresh_range() {
        if (at_ != MAP_FAILED) ::munmap(at_, size);
        if (fd_ >= 0) ::close(fd_);
    }
    fresh_range(fresh_range const&) = delete;
    fresh_range& operator=(fresh_range const&) = delete;
    explicit operator bool() const { return at_ != MAP_FAILED; }
    std::span<std::byte> get() const { return {static_cast<std::byte*>(at_), size}; }
    /// No page behind it yet.
    bool untouched() const { return ::lseek(fd_, 0, SEEK_DATA) < 0 && errno == ENXIO; }
};

template <class M> struct memory_conformance : testing::Test {};
TYPED_TEST_SUITE_P(memory_conformance);

TYPED_TEST_P(memory_conformance, is_a_memory_policy_with_a_name) {
    static_assert(memory_policy<TypeParam>);
    EXPECT_FALSE(std::string_view{TypeParam::name}.empty());
}

TYPED_TEST_P(memory_conformance, page_is_a_power_of_two_that_the_system_can_map) {
    constexpr std::size_t page = TypeParam::page;
    EXPECT_TRUE(std::has_single_bit(page));
    EXPECT_EQ(page % static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), 0u);
}

TYPED_TEST_P(memory_conformance, shaping_touches_nothing_and_leaves_zeroes) {
    fresh_range<TypeParam> const range;
    if (!range) GTEST_SKIP() << "this system has no pages of this kind: " << std::strerror(errno);
    auto const s = TypeParam::shape(range.get());
    if (s == status::refused) GTEST_SKIP() << "the system refuses the advice";
    ASSERT_EQ(s, status::ok);
    EXPECT_TRUE(range.untouched());
    EXPECT_TRUE(std::ranges::all_of(range.get(), [](std::byte b) { return b == std::byte{0}; }));
    std::ranges::fill(range.get(), std::byte{1});
    EXPECT_FALSE(range.untouched());
}

TYPED_TEST_P(memory_conformance, shaping_nothing_is_fine) { EXPECT_EQ(TypeParam::shape({}), status::ok); }

REGISTER_TYPED_TEST_SUITE_P(memory_conformance, is_a_memory_policy_with_a_name, page_is_a_power_of_two_that_the_system_can_map,
                            shaping_touches_nothing_and_leaves_zeroes, shaping_nothing_is_fine);

} // namespace mpt::test
