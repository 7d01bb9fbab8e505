#include <set>
#include <string>

#include <gtest/gtest.h>
#include <mpt/config/table.hpp>

namespace config = mpt::config;
using config::row_of;
using config::table;

namespace {

TEST(table, holds_the_variables_of_the_spine) {
    static_assert(row_of("MPT_SPIN") < table.size() && row_of("MPT_LANES") < table.size());
    static_assert(row_of("MPT_STREAM") < table.size() && row_of("MPT_ENV_DISPLAY") < table.size());
    static_assert(row_of("MPT_EAGRE_MAX") == table.size());
    static_assert(row_of("") == table.size());
}

TEST(table, has_no_name_twice_and_every_name_is_a_name_of_ours) {
    std::set<std::string> seen;
    for (auto const& r : table) {
        EXPECT_TRUE(seen.insert(std::string{r.name}).second) << r.name;
        if (!r.also.name.empty()) { EXPECT_TRUE(seen.insert(std::string{r.also.name}).second) << r.also.name; }
        EXPECT_TRUE(r.name.starts_with("MPT_") && !config::is_internal(r.name)) << r.name;
        EXPECT_EQ(r.name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), r.name.npos) << r.name;
        EXPECT_FALSE(r.also.name.starts_with("MPT_")) << r.name << ": an alias is somebody else's name";
    }
}

TEST(table, every_default_lies_in_its_range_and_every_row_explains_itself) {
    for (auto const& r : table) {
        EXPECT_LE(r.least, r.initial) << r.name;
        EXPECT_LE(r.initial, r.most) << r.name;
        EXPECT_GT(r.help.size(), 10u) << r.name;
        EXPECT_FALSE(r.origin.empty()) << r.name;
        EXPECT_EQ(r.help.find('|'), r.help.npos) << r.name << ": the help stands in a Markdown table";
        EXPECT_EQ(r.words.empty(), r.type != config::form::word && r.type != config::form::set) << r.name;
    }
}

TEST(table, finds_words_and_their_places) {
    static_assert(config::word_count("auto|smp|stream") == 3);
    static_assert(config::word_at("auto|smp|stream", 0) == "auto" && config::word_at("auto|smp|stream", 2) == "stream");
    static_assert(config::word_place("auto|smp|stream", "smp") == 1);
    static_assert(config::word_place("auto|smp|stream", "sm") == 3);
    static_assert(config::word_place("one", "one") == 0 && config::word_count("one") == 1);
}

TEST(table, the_job_wide_values_fit_the_control_record_whatever_they_are) {
    static_assert(config::longest_job_text() <= config::job_text_limit);
    EXPECT_GT(config::longest_job_text(), 0u);
}

} // namespace
