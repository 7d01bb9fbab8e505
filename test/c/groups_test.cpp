// Chapter 7 of the C interface: groups.
#include <algorithm>

#include "shared.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::members;
using mpt::c::test::ranks;

using list = std::vector<int>;

bool has(list const& l, int x) { return std::ranges::find(l, x) != l.end(); }

/// A group and the world ranks that should be in it.
struct pair {
    MPI_Group group;
    list model;
};

/// Random groups made of random groups, each beside a list of world ranks that goes through the same.
class program {
    std::mt19937 random_;
    std::vector<pair> pool_;

    int below(int n) { return n > 0 ? static_cast<int>(random_() % static_cast<unsigned>(n)) : 0; }
    pair const& any() { return pool_[static_cast<std::size_t>(below(static_cast<int>(pool_.size())))]; }
    list some_ranks(int n) {
        list all(static_cast<std::size_t>(n));
        std::iota(all.begin(), all.end(), 0);
        std::ranges::shuffle(all, random_);
        all.resize(static_cast<std::size_t>(below(n + 1)));
        return all;
    }
    static list picked(list const& from, list const& ranks) {
        list out;
        for (int const r : ranks) out.push_back(from[static_cast<std::size_t>(r)]);
        return out;
    }
    static list without(list const& from, list const& ranks) {
        list out;
        for (int i = 0; i < static_cast<int>(from.size()); ++i)
            if (!has(ranks, i)) out.push_back(from[static_cast<std::size_t>(i)]);
        return out;
    }
    template <class Keep> static list those(list const& from, Keep keep) {
        list out;
        std::ranges::copy_if(from, std::back_inserter(out), keep);
        return out;
    }
    pair combined(int way) {
        auto const a = any(), b = any();
        pair made{MPI_GROUP_NULL, {}};
        auto const in_b = [&](int x) { return has(b.model, x); };
        if (way == 0) {
            MPI_Group_union(a.group, b.group, &made.group);
            made.model = a.model;
            for (int const x : b.model)
                if (!has(a.model, x)) made.model.push_back(x);
        } else if (way == 1) {
            MPI_Group_intersection(a.group, b.group, &made.group);
            made.model = those(a.model, in_b);
        } else {
            MPI_Group_difference(a.group, b.group, &made.group);
            made.model = those(a.model, [&](int x) { return !in_b(x); });
        }
        return made;
    }
    pair selected(int way) {
        auto const a = any();
        int const n = static_cast<int>(a.model.size());
        pair made{MPI_GROUP_NULL, {}};
        auto const chosen = some_ranks(n);
        int const k = static_cast<int>(chosen.size());
        if (way == 3) MPI_Group_incl(a.group, k, chosen.data(), &made.group), made.model = picked(a.model, chosen);
        if (way == 4) MPI_Group_excl(a.group, k, chosen.data(), &made.group), made.model = without(a.model, chosen);
        if (way < 5) return made;
        int range[1][3] = {{below(n), below(n), 1 + below(3)}};
        if (range[0][1] < range[0][0]) range[0][2] = -range[0][2];
        list in_range;
        for (int r = range[0][0]; n > 0 && (range[0][2] > 0 ? r <= range[0][1] : r >= range[0][1]); r += range[0][2])
            in_range.push_back(r);
        int const ranges = n > 0;
        if (way == 5) MPI_Group_range_incl(a.group, ranges, range, &made.group), made.model = picked(a.model, in_range);
        else MPI_Group_range_excl(a.group, ranges, range, &made.group), made.model = without(a.model, in_range);
        return made;
    }

public:
    explicit program(unsigned seed, int size) : random_{seed} {
        pair world{MPI_GROUP_NULL, list(static_cast<std::size_t>(size))};
        std::iota(world.model.begin(), world.model.end(), 0);
        MPI_Comm_group(MPI_COMM_WORLD, &world.group);
        pool_.push_back(world);
    }
    ~program() {
        for (auto& p : pool_) {
            EXPECT_EQ(MPI_Group_free(&p.group), MPI_SUCCESS);
            EXPECT_EQ(p.group, MPI_GROUP_NULL);
        }
    }
    void step(int me) {
        int const way = below(7);
        auto const made = way < 3 ? combined(way) : selected(way);
        EXPECT_EQ(members(made.group), made.model) << "way " << way;
        int rank = -1, result = -1;
        MPI_Group_rank(made.group, &rank);
        auto const at = std::ranges::find(made.model, me);
        EXPECT_EQ(rank, at == made.model.end() ? MPI_UNDEFINED : static_cast<int>(at - made.model.begin()));
        EXPECT_EQ(made.group == MPI_GROUP_EMPTY, made.model.empty());
        auto const& other = any();
        MPI_Group_compare(made.group, other.group, &result);
        auto x = made.model, y = other.model;
        bool const same = x == y;
        std::ranges::sort(x), std::ranges::sort(y);
        EXPECT_EQ(result, same ? MPI_IDENT : x == y ? MPI_SIMILAR : MPI_UNEQUAL);
        pool_.push_back(made);
    }
};

TEST(CGroups, RandomProgramsOfGroupsAgreeWithLists) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    ranks(5, [seed](int me, int size) {
        program p{seed, size};
        for (int i = 0; i < 60; ++i) p.step(me);
    });
}

TEST(CGroups, RanksAreTranslatedWithNobodyAndThoseWhoAreNotThere) {
    ranks(4, [](int, int) {
        MPI_Group world = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        int const chosen[] = {3, 1};
        MPI_Group_incl(world, 2, chosen, &some);
        int const from[] = {0, 1, MPI_PROC_NULL, 3};
        int into[4] = {};
        EXPECT_EQ(MPI_Group_translate_ranks(world, 4, from, some, into), MPI_SUCCESS);
        EXPECT_EQ((list{into, into + 4}), (list{MPI_UNDEFINED, 1, MPI_PROC_NULL, 0}));
        MPI_Group_free(&some);
        MPI_Group_free(&world);
    });
}

TEST(CGroups, TheEmptyGroupStaysWhenItIsFreed) {
    ranks(1, [](int, int) {
        MPI_Group g = MPI_GROUP_EMPTY;
        int size = -1, rank = 0;
        EXPECT_EQ(MPI_Group_free(&g), MPI_SUCCESS);
        EXPECT_EQ(g, MPI_GROUP_NULL);
        EXPECT_EQ(MPI_Group_size(MPI_GROUP_EMPTY, &size), MPI_SUCCESS);
        EXPECT_EQ(size, 0);
        MPI_Group_rank(MPI_GROUP_EMPTY, &rank);
        EXPECT_EQ(rank, MPI_UNDEFINED);
    });
}

TEST(CGroups, BadSelectionsAreRefused) {
    ranks(2, [](int, int) {
        MPI_Group world = MPI_GROUP_NULL, g = MPI_GROUP_NULL;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        int const twice[] = {1, 1}, beyond[] = {0, 2};
        int still[1][3] = {{0, 1, 0}};
        expect_failure(MPI_Group_incl(world, 2, twice, &g), MPI_ERR_RANK, {"MPI_Group_incl", "1"});
        expect_failure(MPI_Group_excl(world, 2, beyond, &g), MPI_ERR_RANK, {"ranks", "2", "0 to 1"});
        expect_failure(MPI_Group_range_incl(world, 1, still, &g), MPI_ERR_ARG, {"MPI_Group_range_incl"});
        expect_failure(MPI_Group_incl(world, -1, twice, &g), MPI_ERR_ARG, {"n is -1"});
        expect_failure(MPI_Group_size(MPI_GROUP_NULL, nullptr), MPI_ERR_ARG, {"size is a null pointer"});
        int n = 0;
        expect_failure(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP, {"MPI_GROUP_NULL"});
        auto dead = world;
        MPI_Group_free(&world);
        expect_failure(MPI_Group_free(&dead), MPI_ERR_GROUP, {"group is 0x", "freed"});
        EXPECT_EQ(g, MPI_GROUP_NULL);
    });
}

} // namespace
