#include <gtest/gtest.h>
#include <mpt/mpi/message.hpp>

namespace {
TEST(mpi_message, of_nobody_says_any_source_and_any_tag) {
    mpt::message_info const m;
    EXPECT_EQ(m.source, mpt::any_source);
    EXPECT_EQ(m.tag, mpt::any_tag);
    EXPECT_EQ(m.bytes, 0u);
    EXPECT_FALSE(m.cancelled);
}

TEST(mpi_message, counts_whole_elements) {
    mpt::message_info m{1, 2, 24};
    EXPECT_EQ(m.count<double>(), 3u);
    EXPECT_EQ(m.count<char>(), 24u);
    m.bytes = 23;
    EXPECT_EQ(m.count<double>(), 2u);
}

TEST(mpi_message, counts_beyond_what_an_int_holds) {
    mpt::message_info const m{0, 0, std::size_t{5} << 32};
    EXPECT_EQ(m.count<char>(), std::size_t{5} << 32);
    EXPECT_EQ(m.count<std::int32_t>(), std::size_t{5} << 30);
}
} // namespace
