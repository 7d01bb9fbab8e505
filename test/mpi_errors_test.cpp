#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <mpt/mpi/errors.hpp>

namespace {
using namespace mpt;

error bad() { return {errc::argument, "mpt: a sentence", 5}; }

TEST(mpi_errors, a_result_is_a_value_or_an_error) {
    result<int> const good{7};
    EXPECT_TRUE(good);
    EXPECT_TRUE(good.has_value());
    EXPECT_EQ(good.value(), 7);
    result<int> none{bad()};
    EXPECT_FALSE(none);
    EXPECT_EQ(none.error().code(), errc::argument);
    EXPECT_EQ(none.error().system(), 5);
    EXPECT_STREQ(none.error().what(), "mpt: a sentence");
}

TEST(mpi_errors, what_is_returned_keeps_its_code) {
    auto const code = static_cast<std::int32_t>(error_class::keyval);
    auto const closer = errors::returning::run([]() -> int { throw mpi_error{error_class::keyval, "mpt: no such key"}; });
    EXPECT_EQ(closer.error().mpi_code(), code);
    EXPECT_EQ(mpi_code_of(closer.error()), code);
    EXPECT_STREQ(closer.error().what(), "mpt: no such key");
    auto const of_user = errors::returning::run([] { throw mpi_error{20'000, "mpt: a callback"}; });
    EXPECT_EQ(of_user.error().mpi_code(), 20'000);
    try {
        closer.value();
        ADD_FAILURE() << "nothing was thrown";
    } catch (error const& e) { EXPECT_EQ(mpi_code_of(e), code); }
    result<int> const plain{bad()};
    EXPECT_EQ(plain.error().mpi_code(), static_cast<std::int32_t>(error_class::arg));
}

TEST(mpi_errors, asking_an_error_for_its_value_throws_the_error) {
    result<std::string> none{bad()};
    EXPECT_THROW(none.value(), error);
    EXPECT_THROW(*none, error);
    EXPECT_THROW(none->size(), error);
    EXPECT_THROW(std::move(none).value(), error);
    EXPECT_THROW(result<void>{bad()}.value(), error);
    EXPECT_NO_THROW(result<void>{}.value());
}

TEST(mpi_errors, a_result_gives_its_value_away_by_moving) {
    result<std::unique_ptr<int>> r{std::make_unique<int>(3)};
    auto const p = *std::move(r);
    EXPECT_EQ(*p, 3);
}

TEST(mpi_errors, a_result_of_a_string_changes_in_place) {
    result<std::string> r{std::string{"a"}};
    *r += "b";
    EXPECT_EQ(r->size(), 2u);
    EXPECT_EQ(r.value(), "ab");
}

TEST(mpi_errors, throwing_lets_the_error_pass) {
    EXPECT_EQ(errors::throwing::run([] { return 4; }), 4);
    EXPECT_THROW(errors::throwing::run([]() -> int { throw bad(); }), error);
    static_assert(std::is_same_v<errors::throwing::as<int>, int>);
}

TEST(mpi_errors, returning_turns_an_error_into_a_result) {
    static_assert(std::is_same_v<errors::returning::as<int>, result<int>>);
    auto const good = errors::returning::run([] { return 4; });
    EXPECT_EQ(good.value(), 4);
    auto const none = errors::returning::run([]() -> int { throw bad(); });
    EXPECT_EQ(none.error().code(), errc::argument);
    EXPECT_TRUE(errors::returning::run([] {}));
    EXPECT_FALSE(errors::returning::run([]() -> void { throw bad(); }));
}

TEST(mpi_errors, returning_lets_other_exceptions_pass) {
    EXPECT_THROW(static_cast<void>(errors::returning::run([]() -> int { throw 3; })), int);
}

TEST(mpi_errors_death, aborting_prints_the_sentence_and_ends_the_process) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EQ(errors::aborting::run([] { return 4; }), 4);
    EXPECT_DEATH(errors::aborting::run([]() -> int { throw bad(); }), "mpt: a sentence");
}
} // namespace
