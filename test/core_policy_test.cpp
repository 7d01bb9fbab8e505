#include <gtest/gtest.h>
#include <mpt/core/policy.hpp>

namespace {

struct good {
    using kind = mpt::kind::lock;
    static constexpr std::string_view name = "good";
};
struct nameless {
    using kind = mpt::kind::lock;
};
struct kindless {
    [[maybe_unused]] static constexpr std::string_view name = "kindless";
};
struct misnamed {
    using kind = mpt::kind::lock;
    [[maybe_unused]] static constexpr int name = 3;
};

TEST(policy, is_a_type_with_a_kind_and_a_name) {
    EXPECT_TRUE(mpt::policy<good>);
    EXPECT_FALSE(mpt::policy<nameless>);
    EXPECT_FALSE(mpt::policy<kindless>);
    EXPECT_FALSE(mpt::policy<misnamed>);
    EXPECT_FALSE(mpt::policy<int>);
}

} // namespace
