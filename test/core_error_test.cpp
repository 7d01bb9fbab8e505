#include <cerrno>
#include <string>

#include <gtest/gtest.h>
#include <mpt/core/error.hpp>

namespace {

TEST(error, carries_sentence_class_and_errno) {
    mpt::error const e{mpt::errc::system, "mapping 4096 bytes failed", ENOMEM};
    EXPECT_STREQ(e.what(), "mapping 4096 bytes failed");
    EXPECT_EQ(e.code(), mpt::errc::system);
    EXPECT_EQ(e.system(), ENOMEM);
    EXPECT_EQ((mpt::error{mpt::errc::usage, "x"}.system()), 0);
}

TEST(error, is_caught_as_a_runtime_error_and_survives_a_copy) {
    try {
        throw mpt::error{mpt::errc::truncate, "the message has 9 bytes, the buffer 8"};
    } catch (std::runtime_error const& e) {
        auto const copy = dynamic_cast<mpt::error const&>(e);
        EXPECT_EQ(copy.code(), mpt::errc::truncate);
        EXPECT_EQ(std::string{copy.what()}, "the message has 9 bytes, the buffer 8");
    }
}

} // namespace
