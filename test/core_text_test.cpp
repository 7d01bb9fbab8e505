#include <gtest/gtest.h>
#include <mpt/core/text.hpp>

namespace {

template <mpt::text Name> struct named {
    static constexpr std::string_view name = Name.view();
};

TEST(text, is_a_template_argument_that_remembers_its_characters) {
    static_assert(named<"MPT_SPIN">::name == "MPT_SPIN");
    EXPECT_EQ(named<"two words">::name, "two words");
    EXPECT_EQ(named<"">::name.size(), 0u);
}

TEST(text, equal_texts_name_the_same_type_and_others_do_not) {
    static_assert(std::is_same_v<named<"a">, named<"a">>);
    static_assert(!std::is_same_v<named<"a">, named<"b">>);
    static_assert(mpt::text{"ab"} == mpt::text{"ab"});
    static_assert(!(mpt::text{"ab"} == mpt::text{"abc"}));
    static_assert(mpt::text<4>::size() == 3);
}

} // namespace
