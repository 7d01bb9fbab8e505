#include <gtest/gtest.h>

#undef MPT_ASSERT_LEVEL
#define MPT_ASSERT_LEVEL 1 // cheap on, paranoid off, whatever the build
#include <mpt/core/assert.hpp>

namespace {

int asked = 0;
bool ask(bool answer) {
    ++asked;
    return answer;
}

TEST(assertion, passes_silently_when_true) {
    asked = 0;
    MPT_ASSERT(cheap, ask(true));
    EXPECT_EQ(asked, 1);
}

TEST(assertion, above_the_active_level_is_compiled_but_not_evaluated) {
    asked = 0;
    MPT_ASSERT(paranoid, ask(false));
    EXPECT_EQ(asked, 0);
}

TEST(assertion, is_an_expression_and_takes_commas) {
    asked = 0;
    if (asked == 0) MPT_ASSERT(cheap, std::is_same_v<int, int>);
    else MPT_ASSERT(cheap, false);
    asked == 0 ? MPT_ASSERT(cheap, ask(true)) : void();
    EXPECT_EQ(asked, 1);
}

TEST(assertion, levels_include_those_below) {
    static_assert(!mpt::asserts(mpt::assertion::cheap, 0));
    static_assert(mpt::asserts(mpt::assertion::cheap, 1) && !mpt::asserts(mpt::assertion::paranoid, 1));
    static_assert(mpt::asserts(mpt::assertion::cheap, 2) && mpt::asserts(mpt::assertion::paranoid, 2));
}

TEST(assertion_death_test, says_condition_file_and_function_and_aborts) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(MPT_ASSERT(cheap, 1 + 1 == 3), "a bug: .*1 \\+ 1 == 3 .*core_assert_test.cpp:[0-9]+, in ");
}

} // namespace
