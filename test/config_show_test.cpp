#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <mpt/config/show.hpp>
#include <mpt/core/version.hpp>

namespace config = mpt::config;
using config::table;
using config::values;

namespace {

std::ptrdiff_t lines(std::string const& s) { return std::ranges::count(s, '\n'); }

TEST(show, every_row_appears_in_every_output_once) {
    auto const list = config::listing(values{}), all = config::explain(values{}), page = config::markdown();
    for (auto const& r : table) {
        auto const name = std::string{r.name};
        EXPECT_TRUE(list.find(name + ' ') != list.npos) << name;
        EXPECT_TRUE(all.find(name + ' ') != all.npos) << name;
        EXPECT_TRUE(all.find(r.help) != all.npos) << name;
        auto const first = page.find("| `" + name + "` |");
        ASSERT_TRUE(first != page.npos) << name;
        EXPECT_EQ(page.find("| `" + name + "` |", first + 1), page.npos) << name;
        if (!r.also.name.empty()) {
            EXPECT_TRUE(all.find(r.also.name) != all.npos) << name;
            EXPECT_TRUE(page.find('`' + std::string{r.also.name} + '`') != page.npos) << name;
        }
    }
    EXPECT_EQ(lines(list), static_cast<std::ptrdiff_t>(table.size()));
    auto const aliases = std::ranges::count_if(table, [](config::row const& r) { return !r.also.name.empty(); });
    EXPECT_EQ(lines(all), static_cast<std::ptrdiff_t>(2 * table.size() + 1) + aliases);
}

TEST(show, a_value_stands_with_where_it_came_from) {
    char const* const e[] = {"MPT_SPIN=7", "MPICH_SMP_SINGLE_COPY_SIZE=4096", nullptr};
    auto const list = config::listing(values::read(e));
    EXPECT_TRUE(list.find("= 7 (environment)\n") != list.npos) << list;
    EXPECT_TRUE(list.find("= 4K (MPICH_SMP_SINGLE_COPY_SIZE)\n") != list.npos) << list;
    EXPECT_TRUE(list.find("= 200 (default)\n") != list.npos) << list;
}

TEST(show, a_job_starts_silently_unless_asked_or_something_is_wrong) {
    EXPECT_EQ(config::announce(values{}), "");
    char const* const version[] = {"MPICH_VERSION_DISPLAY=1", nullptr};
    EXPECT_EQ(config::announce(values::read(version)).find("mpt " + to_string(mpt::core_version())), 0u);
    char const* const all[] = {"MPT_ENV_DISPLAY=on", "MPT_SPNI=3", nullptr};
    auto const v = values::read(all);
    EXPECT_EQ(config::announce(v),
              "mpt: warning: mpt knows no variable MPT_SPNI; did you mean MPT_SPIN?\n" + config::listing(v));
}

TEST(show, columns_are_aligned) {
    auto const all = config::explain(values{});
    auto const at = all.find("allowed"); // of the first line, which names the columns
    for (auto const& r : table) {
        auto const line = all.find('\n' + std::string{r.name} + ' ') + 1;
        EXPECT_EQ(all.compare(line + at, config::range(r).size(), config::range(r)), 0) << r.name;
    }
}

TEST(show, the_page_depends_on_the_table_alone) {
    auto const before = config::markdown();
    ::setenv("MPT_SPIN", "31", 1);
    EXPECT_EQ(config::markdown(), before);
    EXPECT_TRUE(config::listing(values::of_process()).find("= 31 ") != std::string::npos); // which would have seen it
    ::unsetenv("MPT_SPIN");
}

} // namespace
