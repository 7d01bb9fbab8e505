#include <mpt/core/caller.hpp>

#include <cstdlib>

#include <gtest/gtest.h>
#include <search.h>

namespace {
std::string seen; // by what libc calls back

int compare(void const*, void const*) {
    seen = mpt::with_caller("two numbers are compared.", reinterpret_cast<void const*>(&::lfind));
    return 0;
}

TEST(caller, is_the_line_or_the_place_of_the_program_that_called_a_library) {
    int const number_of = 7;
    int numbers[2]{};
    std::size_t n = 2;
    ::lfind(&number_of, numbers, &n, sizeof(int), compare); // no sanitizer puts its own in its place
    EXPECT_TRUE(seen.starts_with("two numbers are compared, called at ")) << seen;
    auto const test = seen.find("core_caller");
    ASSERT_NE(test, seen.npos) << seen;
    auto const number = seen.find_first_of(":+", test); // FILE:LINE, or without debug information PROGRAM+OFFSET
    ASSERT_NE(number, seen.npos) << seen;
    EXPECT_GT(std::strtoul(seen.c_str() + number + 1, nullptr, 0), 0u) << seen;
}

TEST(caller, is_not_said_where_no_library_was_called) {
    EXPECT_EQ(mpt::called_at(nullptr), "");
    EXPECT_EQ(mpt::called_at(reinterpret_cast<void const*>(&compare)), "") << "part of the program itself";
    EXPECT_EQ(mpt::with_caller("The end.", nullptr), "The end.");
}

} // namespace
