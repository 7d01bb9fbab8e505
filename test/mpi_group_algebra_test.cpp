#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include <mpt/mpi/group_algebra.hpp>

#include "support/constants.hpp"
#include "support/expect_error.hpp"

namespace {
namespace groups = mpt::groups;
using mpt::comparison;
using mpt::error_class;
using mpt::group;
using mpt::test::expect_error;
using ranks = std::vector<std::int32_t>;

ranks members(group const& g) {
    ranks all;
    for (std::int32_t r = 0; r < g.size(); ++r) all.push_back(g.world(r));
    return all;
}
bool has(ranks const& list, std::int32_t r) { return std::ranges::find(list, r) != list.end(); }

TEST(mpi_group_algebra, numbers_are_those_of_the_c_interface) {
    auto const values = mpt::test::constants_of("comparisons");
    EXPECT_EQ(values.at("MPI_IDENT"), static_cast<int>(comparison::ident));
    EXPECT_EQ(values.at("MPI_CONGRUENT"), static_cast<int>(comparison::congruent));
    EXPECT_EQ(values.at("MPI_SIMILAR"), static_cast<int>(comparison::similar));
    EXPECT_EQ(values.at("MPI_UNEQUAL"), static_cast<int>(comparison::unequal));
    EXPECT_EQ(mpt::test::constants_of("special_ranks").at("MPI_UNDEFINED"), mpt::undefined);
}

TEST(mpi_group_algebra, set_operations_keep_the_order_of_the_first_group) {
    auto const a = group::of({2, 5, 7}), b = group::of({7, 1, 5});
    EXPECT_EQ(members(groups::union_of(a, b)), (ranks{2, 5, 7, 1}));
    EXPECT_EQ(members(groups::union_of(b, a)), (ranks{7, 1, 5, 2}));
    EXPECT_EQ(members(groups::intersection(a, b)), (ranks{5, 7}));
    EXPECT_EQ(members(groups::intersection(b, a)), (ranks{7, 5}));
    EXPECT_EQ(members(groups::difference(a, b)), (ranks{2}));
    EXPECT_EQ(members(groups::difference(b, a)), (ranks{1}));
    EXPECT_EQ(members(groups::union_of(group{}, a)), members(a));
    EXPECT_EQ(groups::difference(a, a).size(), 0);
}

TEST(mpi_group_algebra, incl_keeps_the_lists_order_and_excl_the_groups) {
    auto const g = group::of({10, 30, 20, 40});
    EXPECT_EQ(members(groups::incl(g, ranks{3, 0, 2})), (ranks{40, 10, 20}));
    EXPECT_EQ(members(groups::excl(g, ranks{3, 0})), (ranks{30, 20}));
    EXPECT_EQ(groups::incl(g, {}).size(), 0);
    EXPECT_EQ(members(groups::excl(g, {})), members(g));
    EXPECT_EQ(groups::excl(g, ranks{0, 1, 2, 3}).size(), 0);
}

TEST(mpi_group_algebra, ranges_go_up_and_down_and_need_not_meet_their_end) {
    auto const g = group::range(100, 10);
    std::int32_t const up[][3] = {{1, 8, 3}, {9, 9, 5}};
    EXPECT_EQ(members(groups::range_incl(g, up)), (ranks{101, 104, 107, 109}));
    std::int32_t const down[][3] = {{6, 1, -2}, {0, 0, -1}};
    EXPECT_EQ(members(groups::range_incl(g, down)), (ranks{106, 104, 102, 100}));
    EXPECT_EQ(members(groups::range_excl(g, down)), (ranks{101, 103, 105, 107, 108, 109}));
    std::int32_t const beyond[][3] = {{8, 10, 3}}; // names rank 8 only
    EXPECT_EQ(members(groups::range_incl(g, beyond)), (ranks{108}));
    EXPECT_EQ(groups::range_incl(g, {}).size(), 0);
}

TEST(mpi_group_algebra, a_selection_names_each_rank_once_and_only_ranks_of_the_group) {
    auto const g = group::range(0, 6);
    expect_error(error_class::rank, {"group incl", "rank 6", "0 to 5"}, [&] { groups::incl(g, ranks{1, 6}); });
    expect_error(error_class::rank, {"group excl", "rank -1"}, [&] { groups::excl(g, ranks{-1}); });
    expect_error(error_class::rank, {"rank 4", "twice"}, [&] { groups::incl(g, ranks{4, 1, 4}); });
    expect_error(error_class::rank, {"rank 2", "twice"}, [&] { groups::excl(g, ranks{2, 2}); });
    expect_error(error_class::rank, {"without ranks"}, [] { groups::incl(group{}, ranks{0}); });
}

TEST(mpi_group_algebra, a_range_leads_to_its_end_within_the_group_and_meets_no_other) {
    auto const g = group::range(0, 6);
    auto const both = [&](error_class which, std::initializer_list<char const*> words,
                          std::vector<std::array<int, 3>> const& list) {
        std::vector<std::int32_t> flat;
        for (auto const& r : list) flat.insert(flat.end(), r.begin(), r.end());
        groups::rank_ranges const ranges{reinterpret_cast<std::int32_t const(*)[3]>(flat.data()), list.size()};
        expect_error(which, words, [&] { groups::range_incl(g, ranges); });
        expect_error(which, words, [&] { groups::range_excl(g, ranges); });
    };
    both(error_class::arg, {"stride of 0"}, {{0, 3, 0}});
    both(error_class::arg, {"stride of 0"}, {{3, 3, 0}});
    both(error_class::arg, {"stride of -1", "rank 0 to rank 3"}, {{0, 3, -1}});
    both(error_class::arg, {"stride of 2", "rank 3 to rank 0"}, {{3, 0, 2}});
    both(error_class::rank, {"rank 6"}, {{0, 6, 2}});
    both(error_class::rank, {"rank -1"}, {{5, -1, -3}});
    both(error_class::rank, {"rank -2"}, {{-2, 3, 1}});
    both(error_class::rank, {"rank 3", "twice"}, {{0, 4, 1}, {3, 3, 1}});
    both(error_class::rank, {"rank 2147483647"}, {{0, 0x7fffffff, 1}});
    both(error_class::rank, {"twice"}, std::vector<std::array<int, 3>>(1000, {0, 5, 1}));
}

TEST(mpi_group_algebra, translation_keeps_proc_null_and_tells_who_is_missing) {
    auto const a = group::of({4, 9, 2}), b = group::of({2, 3, 4});
    ranks into(4);
    groups::translate_ranks(a, ranks{0, 1, mpt::proc_null, 2}, b, into);
    EXPECT_EQ(into, (ranks{2, mpt::undefined, mpt::proc_null, 0}));
    expect_error(error_class::rank, {"translate", "rank 3"}, [&] { groups::translate_ranks(a, ranks{3}, b, into); });
    expect_error(error_class::rank, {"translate", "rank -1"}, [&] { groups::translate_ranks(a, ranks{-1}, b, into); });
}

TEST(mpi_group_algebra, comparison_looks_at_members_then_at_their_order) {
    auto const a = group::of({4, 9, 2});
    EXPECT_EQ(groups::compare(a, group::of({4, 9, 2})), comparison::ident);
    EXPECT_EQ(groups::compare(a, group::of({2, 4, 9})), comparison::similar);
    EXPECT_EQ(groups::compare(a, group::of({4, 9})), comparison::unequal);
    EXPECT_EQ(groups::compare(a, group::of({4, 9, 3})), comparison::unequal);
    EXPECT_EQ(groups::compare(group{}, group{}), comparison::ident);
}

TEST(mpi_group_algebra, a_large_job_is_no_trouble) {
    constexpr std::int32_t n = 300'000;
    std::mt19937 random{1};
    ranks mixed(n), everyone(n);
    std::iota(everyone.begin(), everyone.end(), 0);
    mixed = everyone;
    std::ranges::shuffle(mixed, random);
    auto const a = group::range(0, n), b = group::of(mixed);
    EXPECT_EQ(groups::compare(a, b), comparison::similar);
    EXPECT_EQ(groups::union_of(b, a), b);
    EXPECT_EQ(groups::intersection(a, b), a);
    EXPECT_EQ(groups::difference(a, b).size(), 0);
    EXPECT_EQ(groups::incl(a, mixed), b);
    EXPECT_EQ(groups::excl(b, ranks(everyone.begin() + 1, everyone.end())), group::of({mixed[0]}));
    std::int32_t const even[][3] = {{0, n - 1, 2}};
    EXPECT_EQ(groups::range_incl(b, even).size() + groups::range_excl(b, even).size(), n);
    ranks into(n);
    groups::translate_ranks(b, everyone, a, into);
    EXPECT_EQ(into, mixed);
}

/// Groups as lists, and every operation by looking for members one by one.
TEST(mpi_group_algebra, random_groups_agree_with_lists) {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        auto const draw = [&](std::int32_t below) {
            ranks all(static_cast<std::size_t>(below));
            std::iota(all.begin(), all.end(), 0);
            if (random() % 3 != 0) std::ranges::shuffle(all, random);
            all.resize(random() % (all.size() + 1));
            return all;
        };
        auto const a = draw(20), b = draw(20);
        auto const ga = group::of(a), gb = group::of(b);
        ranks both, only_a, united = a;
        for (auto const r : a) (has(b, r) ? both : only_a).push_back(r);
        for (auto const r : b)
            if (!has(a, r)) united.push_back(r);
        EXPECT_EQ(members(groups::union_of(ga, gb)), united);
        EXPECT_EQ(members(groups::intersection(ga, gb)), both);
        EXPECT_EQ(members(groups::difference(ga, gb)), only_a);

        auto const list = draw(ga.size());
        ranks in, out;
        for (auto const r : list) in.push_back(a[static_cast<std::size_t>(r)]);
        for (std::int32_t r = 0; r < ga.size(); ++r)
            if (!has(list, r)) out.push_back(a[static_cast<std::size_t>(r)]);
        EXPECT_EQ(members(groups::incl(ga, list)), in);
        EXPECT_EQ(members(groups::excl(ga, list)), out);

        ranks into(list.size()), wanted;
        for (auto const r : in) {
            auto const at = std::ranges::find(b, r) - b.begin();
            wanted.push_back(at == std::ssize(b) ? mpt::undefined : static_cast<std::int32_t>(at));
        }
        groups::translate_ranks(ga, list, gb, into);
        EXPECT_EQ(into, wanted);

        bool const similar = a.size() == b.size() && both.size() == a.size();
        EXPECT_EQ(groups::compare(ga, gb), a == b ? comparison::ident : similar ? comparison::similar : comparison::unequal);
    }
}

TEST(mpi_group_algebra, random_ranges_agree_with_the_list_they_stand_for) {
    int good = 0;
    for (unsigned seed = 1; seed <= 3000; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        auto const g = group::range(7, 12);
        auto const draw = [&](int from, int to) { return std::uniform_int_distribution{from, to}(random); };
        std::int32_t const range[][3] = {{draw(-1, 12), draw(-1, 13), draw(-3, 3)}, {draw(0, 11), draw(0, 11), draw(-4, 4)}};
        ranks list;
        bool valid = true;
        for (auto const& [first, last, stride] : range) {
            valid = valid && stride != 0 && (stride > 0 ? first <= last : first >= last);
            for (auto r = first; valid && (stride > 0 ? r <= last : r >= last); r += stride) {
                valid = r >= 0 && r < 12 && !has(list, r);
                list.push_back(r);
            }
        }
        if (!valid) {
            EXPECT_THROW(groups::range_incl(g, range), mpt::error);
            EXPECT_THROW(groups::range_excl(g, range), mpt::error);
            continue;
        }
        ++good;
        EXPECT_EQ(members(groups::range_incl(g, range)), members(groups::incl(g, list)));
        EXPECT_EQ(members(groups::range_excl(g, range)), members(groups::excl(g, list)));
    }
    EXPECT_GT(good, 100);
}
} // namespace
