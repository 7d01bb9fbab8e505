#include <gtest/gtest.h>
#include <mpt/mem/memory.hpp>

namespace {
using namespace mpt;

struct good {
    using kind = mpt::kind::memory;
    static constexpr std::string_view name = "good";
    static constexpr bytes page = 4_KiB;
    static constexpr unsigned memfd_flags = 0;
    static status shape(std::span<std::byte>) noexcept { return status::ok; }
};
struct of_another_kind : good {
    using kind = mpt::kind::lock;
};
struct without_a_page {
    using kind = mpt::kind::memory;
    static constexpr std::string_view name = "without a page";
    [[maybe_unused]] static constexpr unsigned memfd_flags = 0;
    static status shape(std::span<std::byte>) noexcept { return status::ok; }
};
struct that_may_throw : good {
    static status shape(std::span<std::byte>) { return status::ok; }
};

TEST(memory_policy, is_what_the_contract_says_and_nothing_less) {
    EXPECT_TRUE(memory_policy<good>);
    EXPECT_FALSE(memory_policy<of_another_kind>);
    EXPECT_FALSE(memory_policy<without_a_page>);
    EXPECT_FALSE(memory_policy<that_may_throw>);
    EXPECT_FALSE(memory_policy<int>);
}
} // namespace
