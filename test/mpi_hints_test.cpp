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
    EXPECT_EQ(hints::shown(plain).size(), 8);
    EXPECT_EQ(hints::shown(plain).get("accumulate_ordering"), "rar,raw,war,waw");
    EXPECT_FALSE(hints::noncontiguous(plain) || hints::rows_locked(plain) || hints::never_locked(plain));
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
    hints::change(w, info_of({{"no_locks", "true"}}));
    EXPECT_TRUE(hints::never_locked(w));
    hints::change(w, info_of({{"no_locks", "false"}}));
    EXPECT_FALSE(hints::never_locked(w));
}

TEST(mpi_hints, memory_begins_at_a_power_of_two_or_anywhere) {
    auto const of = [](char const* value) { return hints::alignment(info_of({{"mpi_minimum_memory_alignment", value}})); };
    EXPECT_EQ(hints::alignment(info_of({})), 1u);
    EXPECT_EQ(of("1"), 1u);
    EXPECT_EQ(of("65536"), 65536u);
    EXPECT_EQ(of("1073741824"), 1u << 30);
    for (auto const* no : {"", "0", "3", "-64", "65537", "2147483648", "64 KB", "true"}) EXPECT_EQ(of(no), 1u) << no;
}

TEST(mpi_hints, kinds_of_memory_that_are_provided_are_two_and_their_parts_that_are_wanted) {
    EXPECT_EQ(hints::kinds_provided(""), "mpi,system");
    EXPECT_EQ(hints::kinds_provided("system, MPI"), "mpi,system");
    EXPECT_EQ(hints::kinds_provided("mpi:alloc_mem,cuda:device,mpi:win_allocate:WIN_ALLOCATE_SHARED, mpi:alloc_mem"),
              "mpi,system,mpi:alloc_mem,mpi:win_allocate:win_allocate_shared");
    for (auto const* unknown : {"cuda", "mpi:", "mpi:device", "mpi:alloc_mem:", "system:alloc_mem", "mpix", ",", ":"})
        EXPECT_EQ(hints::kinds_provided(unknown), "mpi,system") << unknown;
    std::string many;
    for (int i = 0; i < 100; ++i) {
        many += "mpi";
        for (int bit = 0; bit < 7; ++bit) many += (i >> bit & 1) != 0 ? ":alloc_mem" : ":win_allocate";
        many += ',';
    }
    EXPECT_LT(hints::kinds_provided(many).size(), mpt::max_info_value) << "what an info object can say";
}

TEST(mpi_hints, kinds_of_memory_are_asserted_where_all_of_them_are_provided) {
    auto const asserted = [](char const* value, std::optional<std::string> before = {}) {
        return hints::kinds_asserted(info_of({{"mpi_assert_memory_alloc_kinds", value}}), std::move(before));
    };
    EXPECT_EQ(asserted("system"), "system");
    EXPECT_EQ(asserted(" mpi:alloc_mem, system "), "mpi:alloc_mem, system");
    EXPECT_EQ(asserted(""), "") << "no buffers of any kind";
    EXPECT_EQ(asserted("system,cuda:device"), std::nullopt);
    EXPECT_EQ(asserted("rocm", "system"), "system") << "what is no such value changes nothing";
    EXPECT_EQ(hints::kinds_asserted(info_of({}), "mpi"), "mpi");
}
} // namespace
