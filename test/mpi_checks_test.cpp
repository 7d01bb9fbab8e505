#include <string>

#include <gtest/gtest.h>
#include <mpt/mpi/checks.hpp>

namespace {
namespace checks = mpt::checks;
using mpt::errc;

/// f throws an mpt::error of that class whose sentence holds all the words.
template <class F> void expect_error(errc code, std::initializer_list<char const*> words, F&& f) {
    try {
        f();
        ADD_FAILURE() << "nothing was thrown";
    } catch (mpt::error const& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        for (auto const* w : words)
            EXPECT_NE(std::string{e.what()}.find(w), std::string::npos) << "no \"" << w << "\" in: " << e.what();
    }
}

TEST(mpi_checks, a_destination_is_a_rank_of_the_communicator) {
    for (int r : {0, 1, 3}) EXPECT_NO_THROW(checks::to("send", r, 4));
    for (int r : {4, 5, 0x7fffffff}) expect_error(errc::rank_range, {"send", "0 to 3"}, [r] { checks::to("send", r, 4); });
    expect_error(errc::rank_range, {"isend", "rank -1"}, [] { checks::to("isend", mpt::any_source, 4); });
}

TEST(mpi_checks, a_source_may_be_anybody) {
    EXPECT_NO_THROW(checks::from("recv", mpt::any_source, 4));
    EXPECT_NO_THROW(checks::from("recv", 3, 4));
    expect_error(errc::rank_range, {"recv", "rank 4"}, [] { checks::from("recv", 4, 4); });
    expect_error(errc::rank_range, {"recv", "rank -2"}, [] { checks::from("recv", -2, 4); });
}

TEST(mpi_checks, a_tag_is_not_negative_and_only_a_receive_may_want_any) {
    EXPECT_NO_THROW(checks::label("send", 0));
    EXPECT_NO_THROW(checks::label("send", mpt::tag_upper_bound));
    EXPECT_NO_THROW(checks::wanted("recv", mpt::any_tag));
    expect_error(errc::tag_range, {"send", "tag -2"}, [] { checks::label("send", mpt::any_tag); });
    expect_error(errc::tag_range, {"recv", "tag -1", "2147483647"}, [] { checks::wanted("recv", -1); });
}

TEST(mpi_checks, a_message_too_long_says_both_sizes_and_whose_it_was) {
    expect_error(errc::truncate, {"recv", "8589934592", "buffer 12", "rank 3", "tag 9"},
                 [] { checks::too_long("recv", std::size_t{8} << 30, 12, 3, 9); });
}

TEST(mpi_checks, part_of_an_element_is_an_error_with_both_sizes) {
    expect_error(errc::truncate, {"recv", "7 bytes", "4 bytes"}, [] { checks::not_whole("recv", 7, 4); });
}

TEST(mpi_checks, shares_that_do_not_come_out_even_are_told_with_all_the_numbers) {
    expect_error(errc::argument, {"neighbor", "7 elements", "2 for each of 3 neighbours are 6"},
                 [] { checks::bad_neighbours("neighbor", 7, 2, 3); });
}

TEST(mpi_checks, how_a_transfer_failed_is_told_by_the_class_of_the_error) {
    expect_error(errc::no_memory, {"wait", "no memory"}, [] { checks::failed("wait", mpt::status::no_memory); });
    expect_error(errc::peer_gone, {"wait", "peer gone"}, [] { checks::failed("wait", mpt::status::peer_gone); });
    expect_error(errc::system, {"wait", "bad address"}, [] { checks::failed("wait", mpt::status::bad_address); });
}
} // namespace
