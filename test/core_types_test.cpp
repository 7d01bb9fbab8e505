#include <set>
#include <string>

#include <gtest/gtest.h>
#include <mpt/core/types.hpp>

using namespace mpt::literals;

namespace {

TEST(types, sizes_read_as_numbers) {
    static_assert(4_KiB == 4096 && 2_MiB == 2097152 && 1_GiB == 1073741824 && 7_B == 7);
    static_assert(mpt::bytes{}.value == 0);
}

TEST(types, a_tag_is_not_a_rank_and_both_are_made_from_integers) {
    static_assert(!std::is_constructible_v<mpt::rank, mpt::tag> && !std::is_constructible_v<mpt::tag, mpt::rank>);
    static_assert(!std::is_constructible_v<mpt::rank, double>);
    constexpr mpt::rank r = 3u;
    constexpr mpt::tag t = std::int64_t{7};
    EXPECT_EQ(r + 1, 4);
    EXPECT_EQ(t, 7);
}

TEST(types, the_wildcards_have_the_values_of_the_standard_abi) {
    EXPECT_EQ(mpt::any_source, -1); // MPI_ANY_SOURCE of MPI 5.0
    EXPECT_EQ(mpt::any_tag, -2);
    EXPECT_EQ(mpt::proc_null, -3);
    EXPECT_EQ(mpt::tag_upper_bound, 0x7fffffff);
}

TEST(types, collective_traffic_of_a_context_never_meets_its_messages) {
    for (std::uint64_t const c : {0x0ull, 0x10ull, 0xfffffffffffffffeull}) {
        mpt::context_id const id{c};
        EXPECT_NE(collective(id), id);
        EXPECT_EQ(static_cast<std::uint64_t>(collective(id)) & ~1ull, c);
        EXPECT_EQ(collective(collective(id)), collective(id));
    }
}

TEST(types, every_status_has_a_text_of_its_own) {
    std::set<std::string> seen;
    for (auto i = 0; i <= static_cast<int>(mpt::status::cancelled); ++i) {
        std::string const s{to_string(static_cast<mpt::status>(i))};
        EXPECT_NE(s, "?");
        EXPECT_TRUE(seen.insert(s).second) << s;
    }
}

} // namespace
