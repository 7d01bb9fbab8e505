#include <gtest/gtest.h>
#include <mpt/mpi/hints.hpp>

namespace {
namespace hints = mpt::hints;

mpt::info info_of(std::initializer_list<std::pair<char const*, char const*>> pairs) {
    mpt::info i;
    for (auto const& [key, value] : pairs) i.set(key, value);
    return i;
}

TEST(mpi_hints, assertions_change_one_by_one) {
    auto set = hints::taken(info_of({{"mpi_assert_no_any_tag", " true "}, {"mpi_assert_exact_length", "true"}}));
    EXPECT_EQ(hints::shown(set).size(), 5);
    EXPECT_EQ(hints::shown(set).get("mpi_assert_no_any_tag"), "true");
    EXPECT_EQ(hints::shown(set).get("mpi_assert_no_any_source"), "false");
    set = hints::taken(info_of({{"mpi_assert_no_any_tag", "false"}, {"mpi_assert_exact_length", "TRUE"}, {"other", "true"}}),
                       set);
    EXPECT_EQ(hints::shown(set).get("mpi_assert_no_any_tag"), "false");
    EXPECT_EQ(hints::shown(set).get("mpi_assert_exact_length"), "true") << "no boolean changes nothing";
    EXPECT_FALSE(hints::shown(set).get("other"));
}

TEST(mpi_hints, a_window_ignores_what_is_no_value_of_a_hint) {
    auto const plain = hints::made_with({});
    EXPECT_EQ(hints::shown(plain).size(), 7);
    EXPECT_EQ(hints::shown(plain).get("accumulate_ordering"), "rar,raw,war,waw");
    EXPECT_FALSE(hints::noncontiguous(plain) || hints::rows_locked(plain));
    auto const made = hints::made_with(info_of({{"accumulate_ordering", "rar,rar,xyz"},
                                                {"accumulate_ops", "same_op"},
                                                {"mpi_accumulate_granularity", "-1"},
                                                {"no_locks", "sometimes"}}));
    EXPECT_EQ(hints::shown(made).get("accumulate_ordering"), "rar,raw,war,waw");
    EXPECT_EQ(hints::shown(made).get("accumulate_ops"), "same_op");
    EXPECT_EQ(hints::shown(made).get("mpi_accumulate_granularity"), "0");
    EXPECT_EQ(hints::shown(made).get("no_locks"), "false");
}

TEST(mpi_hints, what_is_settled_when_a_window_is_made_stays) {
    auto w = hints::made_with(info_of({{"alloc_shared_noncontig", "true"}, {"mpi_accumulate_granularity", "16"}}));
    EXPECT_TRUE(hints::noncontiguous(w) && hints::rows_locked(w));
    hints::change(w,
                  info_of({{"alloc_shared_noncontig", "false"}, {"mpi_accumulate_granularity", "4"}, {"same_size", "true"}}));
    EXPECT_TRUE(hints::noncontiguous(w) && hints::rows_locked(w));
    EXPECT_EQ(hints::shown(w).get("same_size"), "true");
}
} // namespace
