#include <map>

#include "support/pes.hpp"

namespace {
thread_local int allocations_left = -1; // of this thread; less than 0: no end
}
// The program's: after allocations_left of them a thread has no memory.
void* operator new(std::size_t n) {
    if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc{};
    if (auto* const p = std::malloc(n)) return p;
    throw std::bad_alloc{};
}
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return std::malloc(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {
using namespace mpt::test;

struct shmem_team : pes<mpt::local_stack> {
    /// Who is in it, by number, as its members tell by a collective of its own.
    static std::vector<int> members(auto& t) {
        std::vector<int> all(static_cast<std::size_t>(t.size()));
        int const me = t.world(t.me());
        mpt::shmem::fcollect(t, all.data(), &me, sizeof me);
        return all;
    }
};

TEST_F(shmem_team, every_stride_of_a_team_is_a_team) {
    on(6, [](auto& pe) {
        for (int start = 0; start < 6; ++start)
            for (int stride : {-2, -1, 1, 2, 3})
                for (int size = 1; size <= 4; ++size) {
                    std::vector<int> want;
                    for (int i = 0; i < size; ++i) want.push_back(start + i * stride);
                    bool const is_one = want.back() >= 0 && want.back() < 6;
                    auto t = pe.world().split_strided(start, stride, size, {.num_contexts = size});
                    ASSERT_EQ(t.has_value(), is_one) << start << ' ' << stride << ' ' << size;
                    if (!is_one) continue;
                    auto const at = std::ranges::find(want, pe.me().value);
                    ASSERT_EQ(*t != nullptr, at != want.end());
                    if (!*t) continue;
                    EXPECT_EQ((*t)->me(), at - want.begin());
                    EXPECT_EQ((*t)->config().num_contexts, size);
                    EXPECT_EQ(members(**t), want);
                }
        EXPECT_FALSE(pe.world().split_strided(0, 1, 0));
        EXPECT_FALSE(pe.world().split_strided(-1, 1, 1));
        EXPECT_FALSE(pe.world().split_strided(0, 0, 2));
    });
}

TEST_F(shmem_team, a_grid_has_rows_and_columns) {
    on(7, [](auto& pe) {
        int const me = pe.me();
        for (int const x : {1, 3, 7, 20}) {
            auto both = pe.world().split_2d(x);
            ASSERT_TRUE(both);
            std::vector<int> row, column;
            for (int i = 0; i < 7; ++i) {
                if (i / x == me / x) row.push_back(i);
                if (i % x == me % x) column.push_back(i);
            }
            EXPECT_EQ(members(*both->first), row);
            EXPECT_EQ(members(*both->second), column);
        }
        EXPECT_FALSE(pe.world().split_2d(0));
    });
}

TEST_F(shmem_team, who_has_no_place_in_a_grid_is_in_no_team) {
    on(7, [](auto& pe) {
        int const me = pe.me();
        for (auto const& [x, y] : {std::pair{3, 2}, {2, 2}, {1, 1}, {3, 3}, {1, 7}, {1 << 30, 1 << 30}}) {
            auto both = pe.world().split_2d(x, y);
            ASSERT_TRUE(both);
            ASSERT_EQ(both->first != nullptr, me / x < y) << x << ' ' << y;
            ASSERT_EQ(both->second != nullptr, me / x < y) << x << ' ' << y;
            if (!both->first) continue;
            std::vector<int> row, column;
            for (int i = 0; i < 7 && i / x < y; ++i) {
                if (i / x == me / x) row.push_back(i);
                if (i % x == me % x) column.push_back(i);
            }
            EXPECT_EQ(members(*both->first), row);
            EXPECT_EQ(members(*both->second), column);
        }
        auto axes = pe.world().split_3d(2, 1, 2); // four places
        ASSERT_TRUE(axes);
        ASSERT_EQ(std::get<0>(*axes) != nullptr, me < 4);
        ASSERT_EQ(std::get<1>(*axes) != nullptr, me < 4);
        ASSERT_EQ(std::get<2>(*axes) != nullptr, me < 4);
        if (me < 4) {
            EXPECT_EQ(members(*std::get<0>(*axes)), (std::vector{me & ~1, me | 1}));
            EXPECT_EQ(members(*std::get<1>(*axes)), std::vector{me});
            EXPECT_EQ(members(*std::get<2>(*axes)), (std::vector{me & ~2, me | 2}));
        }
        EXPECT_FALSE(pe.world().split_2d(0, 7));
        EXPECT_FALSE(pe.world().split_2d(7, 0));
        EXPECT_FALSE(pe.world().split_3d(7, 1, 0));
    });
}

TEST_F(shmem_team, a_space_has_three_axes) {
    on(8, [](auto& pe) {
        int const me = pe.me();
        auto axes = pe.world().split_3d(2, 2, 2);
        ASSERT_TRUE(axes);
        EXPECT_EQ(members(*std::get<0>(*axes)), (std::vector{me & ~1, me | 1}));
        EXPECT_EQ(members(*std::get<1>(*axes)), (std::vector{me & ~2, me | 2}));
        EXPECT_EQ(members(*std::get<2>(*axes)), (std::vector{me & ~4, me | 4}));
        EXPECT_FALSE(pe.world().split_3d(1, 0, 8));
    });
}

TEST_F(shmem_team, colours_and_keys_make_teams_of_teams) {
    on(5, [](auto& pe) {
        int const me = pe.me();
        auto const made = pe.world().split(me == 4 ? -1 : me % 2, -me);
        ASSERT_TRUE(made);
        auto const& t = *made;
        EXPECT_EQ(t == nullptr, me == 4);
        if (!t) return;
        EXPECT_EQ(members(*t), (me % 2 == 0 ? std::vector{2, 0} : std::vector{3, 1}));
        auto alone = t->split_strided(1, 1, 1);
        EXPECT_EQ(*alone != nullptr, me < 2);
        if (*alone) { EXPECT_EQ(members(**alone), std::vector{me}); }
    });
}

/// Each allocation of a PE's fails once, until there is none left.
TEST_F(shmem_team, where_a_pe_has_no_memory_nobody_gets_a_team) {
    on(3, [](auto& pe) {
        auto& all = pe.world();
        auto const each = [&](auto const& split) {
            ASSERT_TRUE(split()); // and what the parent allocates once is there
            for (int n = 0;; ++n) {
                allocations_left = pe.me() == 1 ? n : -1;
                bool const is_made = split().has_value();
                allocations_left = -1;
                auto told = std::array<bool, 3>{};
                mpt::shmem::fcollect(all, told.data(), &is_made, 1);
                ASSERT_TRUE(told[0] == told[1] && told[1] == told[2]) << n;
                if (!is_made) continue;
                EXPECT_GT(n, 0);
                break;
            }
        };
        each([&] { return all.split_strided(0, 1, 3); });
        each([&] { return all.split_2d(2); });
        each([&] { return all.split_2d(2, 1); });
        each([&] { return all.split_3d(2, 1, 2); });
        each([&] { return all.split(pe.me().value % 2, 0); });
    });
}

TEST_F(shmem_team, numbers_are_translated_through_those_of_all) {
    on(6, [](auto& pe) {
        auto odd = pe.world().split_strided(1, 2, 3), low = pe.world().split_strided(0, 1, 4);
        if (*odd && *low) {
            std::map<int, int> const want{{0, 1}, {1, 3}};
            for (auto const& [a, b] : want) EXPECT_EQ((*odd)->translate(a, **low), mpt::rank{b});
            EXPECT_FALSE((*odd)->translate(2, **low));
            EXPECT_FALSE((*odd)->translate(3, **low));
            EXPECT_FALSE((*odd)->translate(-1, **low));
        }
        pe.sync_all();
    });
}

} // namespace
