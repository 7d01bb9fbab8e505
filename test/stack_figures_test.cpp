// The table of figures, and differences of two looks. What the figures say of messages: test/mpi_insight_test.cpp, test/c/tools_test.cpp.
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <mpt/stack/figures.hpp>

namespace {
using namespace mpt;

TEST(stack_figures, every_row_is_found_by_its_own_name) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < figure_table.size(); ++i) {
        auto const& row = figure_table[i];
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_TRUE(row.name.starts_with("mpt_")) << row.name;
        EXPECT_EQ(figure_place(row.name), i);
        EXPECT_EQ(row.words.empty(), row.sort != figure_sort::state) << row.name;
    }
    EXPECT_EQ(figure_place("mpt_nothing"), figure_table.size());
}

TEST(stack_figures, a_difference_is_one_of_what_grows_only) {
    figures earlier, later;
    for (auto const& row : figure_table) earlier[row.what] = 10, later[row.what] = 17;
    auto const f = later.since(earlier);
    for (auto const& row : figure_table) {
        bool const grows = row.sort == figure_sort::counter || row.sort == figure_sort::sum || row.sort == figure_sort::timer;
        EXPECT_EQ(f[row.what], grows ? 7u : 17u) << row.name;
    }
}

TEST(stack_figures, lanes_are_summed_and_the_most_of_them_is_told) {
    protocol::counts one, other;
    one.tried = 5, one.sent_now_bytes = 40, one.kept_most = 3;
    other.tried = 6, other.declined = 2, other.sent_now_bytes = 30, other.kept_most = 9;
    other.pushed.count(100);
    figures f;
    add(f, one);
    add(f, other);
    add(f, protocol::counts{});
    EXPECT_EQ(f[figure::e0_messages_sent], 9u);
    EXPECT_EQ(f[figure::e0_bytes_sent], 70u);
    EXPECT_EQ(f[figure::unexpected_queue_most], 9u);
    EXPECT_EQ(f[figure::messages_pushed], 1u);
    EXPECT_EQ(f[figure::bytes_pushed], 100u);
}

} // namespace
