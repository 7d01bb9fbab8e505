#include <algorithm>

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
    /// Those of n PEs whose number differs from this one's in this bit alone, or in none.
    static std::vector<int> pair_of(int me, int bit, int n) {
        return (me | bit) < n ? std::vector{me & ~bit, me | bit} : std::vector{me};
    }
};

TEST_F(shmem_team, every_stride_of_a_team_is_a_team) {
    on_several([](auto& pe) {
        int const n = pe.size();
        for (int start = 0; start < n; ++start)
            for (int stride : {-2, -1, 1, 2, 3})
                for (int size = 1; size <= 4; ++size) {
                    std::vector<int> want;
                    for (int i = 0; i < size; ++i) want.push_back(start + i * stride);
                    bool const is_one = want.back() >= 0 && want.back() < n;
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
    on_several([](auto& pe) {
        int const me = pe.me(), n = pe.size();
        for (int const x : {1, 3, n, 20}) {
            auto both = pe.world().split_2d(x);
            ASSERT_TRUE(both);
            std::vector<int> row, column;
            for (int i = 0; i < n; ++i) {
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
    on_several([](auto& pe) {
        int const me = pe.me(), n = pe.size();
        for (auto const& [x, y] : {std::pair{3, 2}, {2, 2}, {1, 1}, {3, 3}, {1, 7}, {1 << 30, 1 << 30}}) {
            auto both = pe.world().split_2d(x, y);
            ASSERT_TRUE(both);
            ASSERT_EQ(both->first != nullptr, me / x < y) << x << ' ' << y;
            ASSERT_EQ(both->second != nullptr, me / x < y) << x << ' ' << y;
            if (!both->first) continue;
            std::vector<int> row, column;
            for (int i = 0; i < n && i / x < y; ++i) {
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
            EXPECT_EQ(members(*std::get<0>(*axes)), pair_of(me, 1, n));
            EXPECT_EQ(members(*std::get<1>(*axes)), std::vector{me});
            EXPECT_EQ(members(*std::get<2>(*axes)), pair_of(me, 2, n));
        }
        EXPECT_FALSE(pe.world().split_2d(0, 7));
        EXPECT_FALSE(pe.world().split_2d(7, 0));
        EXPECT_FALSE(pe.world().split_3d(7, 1, 0));
    });
}

TEST_F(shmem_team, a_space_has_three_axes) {
    on_several([](auto& pe) {
        int const me = pe.me(), n = pe.size();
        auto axes = pe.world().split_3d(2, 2, 2);
        ASSERT_TRUE(axes);
        EXPECT_EQ(members(*std::get<0>(*axes)), pair_of(me, 1, n));
        EXPECT_EQ(members(*std::get<1>(*axes)), pair_of(me, 2, n));
        EXPECT_EQ(members(*std::get<2>(*axes)), pair_of(me, 4, n));
        EXPECT_FALSE(pe.world().split_3d(1, 0, 8));
    });
}

TEST_F(shmem_team, colours_and_keys_make_teams_of_teams) {
    on_several([](auto& pe) {
        int const me = pe.me(), n = pe.size();
        bool const is_out = n > 1 && me == n - 1;
        auto const made = pe.world().split(is_out ? -1 : me % 2, -me);
        ASSERT_TRUE(made);
        auto const& t = *made;
        EXPECT_EQ(t == nullptr, is_out);
        if (!t) return;
        std::vector<int> want; // from the highest number down
        for (int i = std::max(n - 2, 0); i >= 0; --i)
            if (i % 2 == me % 2) want.push_back(i);
        EXPECT_EQ(members(*t), want);
        auto alone = t->split_strided(t->size() - 1, 1, 1);
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

/// What is said of a team's PEs is for them alone: puts, sums and places of those of a team of a team.
TEST_F(shmem_team, a_context_of_a_team_of_a_team_counts_by_it) {
    on_several([](auto& pe) {
        int const me = pe.me(), n = pe.size();
        array<long> a{pe, 2};
        auto const half_made = pe.world().split(me % 2, -me);
        auto const& half = *half_made;
        auto const pair_made = half->split(half->me() / 2, 0);
        auto const& pair = *pair_made;
        for (auto* const t : {half.get(), pair.get()}) {
            a[0] = -1, a[1] = 0;
            pe.barrier_all();
            int const size = t->size(), here = t->me();
            auto c = pe.job().create_context(*t);
            c->p(&a[0], me, (here + 1) % size);
            c->inc(&a[1], 0);
            c->quiet();
            mpt::shmem::sync(*t);
            EXPECT_EQ(a[0], t->world((here + size - 1) % size));
            EXPECT_EQ(c->fetch(&a[1], 0), size);
            EXPECT_EQ(t->translate(here, pe.world()), mpt::rank{me});
            long const mine = me;
            long sum = 0, want = 0;
            mpt::shmem::reduce(*t, std::span{&sum, 1}, std::span{&mine, 1}, std::plus{});
            for (int p = 0; p < size; ++p) want += t->world(p);
            EXPECT_EQ(sum, want);
            pe.barrier_all();
        }
        EXPECT_EQ(pair->size(), std::min(half->size() - half->me() / 2 * 2, 2)) << n;
    });
}

TEST_F(shmem_team, numbers_are_translated_through_those_of_all) {
    on_several([](auto& pe) {
        int const n = pe.size(), in_low = (n + 1) / 2;
        auto const made = pe.world().split(0, -pe.me());
        auto const& back = *made; // the last is the first
        auto low = pe.world().split_strided(0, 1, in_low);
        if (*low) {
            for (int i = 0; i < n; ++i) {
                auto const there = back->translate(i, **low);
                EXPECT_EQ(there.has_value(), n - 1 - i < in_low);
                if (there) { EXPECT_EQ(*there, n - 1 - i); }
            }
            EXPECT_FALSE(back->translate(n, **low));
            EXPECT_FALSE(back->translate(-1, **low));
            for (int i = 0; i < in_low; ++i) EXPECT_EQ((*low)->translate(i, *back), mpt::rank{n - 1 - i});
        }
        pe.sync_all();
    });
}

} // namespace
