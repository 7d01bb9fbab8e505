#include <algorithm>
#include <numeric>

#include "support/any_collective.hpp"
#include "support/job_of.hpp"
#include "support/other_sizes.hpp"
#include "support/sanitized.hpp"
#include "support/team.hpp"
#include "support/together.hpp"

namespace {
using namespace mpt::test;
using mpt::errc;
namespace coll = mpt::coll;
using any = any_collective<team_type>;
using room = coll::node_room<mpt::local_stack::world_type>;

/// Pieces from this size on go so: scatters, too, which shared memory has in between.
config::values from(std::string_view size) {
    return from_the_first_call().set<"MPT_NODE_DIRECT">(size).set<"MPT_NODE_PIECE">("0");
}

/// How many rounds f(team) takes on this rank.
template <class F> std::uint64_t rounds_of(team_type const& team, F const& f) {
    auto const before = room::of(team)->shown();
    f();
    return room::of(team)->shown() - before;
}

TEST(coll_direct, gives_what_each_collective_must_give_whatever_comes_before_and_after_it) {
    seeds const s{sanitized ? 6u : 24u};
    for (unsigned seed = s.first; seed != s.first + s.count && !HasFailure(); ++seed) {
        dice first{seed};
        auto const n = static_cast<int>(2 + first.below(8));
        auto values = from(first.one_of<std::string_view>({"1", "1K", "8K"}));
        values.set<"MPT_LANES">(first.coin() ? "1" : "3").set<"MPT_SINGLE_COPY">(first.below(4) ? "on" : "off");
        together(n, values, [&](team_type const& team, int me) {
            dice common{seed}, own{seed + 7919u * static_cast<unsigned>(me + 1)};
            for (int i = 0; i < 25; ++i) any{team, common, own};
            coll::barrier(team);
        });
        if (HasFailure()) ADD_FAILURE() << n << " ranks; replay with MPT_SEED=" << seed;
    }
}

/// Pieces of `ints` for each rank, `step` apart.
struct row {
    std::size_t ints;
    std::ptrdiff_t step;
    std::vector<int> memory;

    row(int n, std::size_t each, std::ptrdiff_t apart)
        : ints{each}, step{apart}, memory(each + static_cast<std::size_t>((n - 1) * std::abs(apart))) {}
    std::span<std::byte> piece(std::int32_t r) {
        auto const at = lowest() + r * step;
        return std::as_writable_bytes(std::span{memory}.subspan(static_cast<std::size_t>(at), ints));
    }
    std::ptrdiff_t lowest() const { return step < 0 ? std::ssize(memory) - static_cast<std::ptrdiff_t>(ints) : 0; }
};

TEST(coll_direct, takes_two_rounds_wherever_the_pieces_lie) {
    for (int n : {2, 3, 5})
        for (std::ptrdiff_t step : {1000, 1007, -1000, 3000}) {
            SCOPED_TRACE(testing::Message() << n << " ranks, " << step << " apart");
            together(n, from("1K"), [&](team_type const& team, int me) {
                coll::barrier(team);
                row out{n, 1000, step}, in{n, 1000, -step};
                auto const fill = [&](int r, int salt) {
                    auto const p = out.piece(r);
                    std::iota(reinterpret_cast<int*>(p.data()), reinterpret_cast<int*>(p.data() + p.size()),
                              salt * 100'000 + r * 10'000);
                };
                auto const expect = [&](int r, int value) {
                    auto const* const p = reinterpret_cast<int const*>(in.piece(r).data());
                    EXPECT_EQ(p[0], value) << r;
                    EXPECT_EQ(p[999], value + 999) << r;
                };
                auto const pieces = [&](std::int32_t r) { return mpt::source{out.piece(r)}; };
                auto const places = [&](std::int32_t r) { return mpt::sink{in.piece(r)}; };
                for (int r = 0; r < n; ++r) fill(r, me);
                auto const exchanged = rounds_of(team, [&] { coll::alltoall(team, pieces, places); });
                if (n > 2) { EXPECT_EQ(exchanged, 2u); }
                for (int r = 0; r < n; ++r) expect(r, r * 100'000 + me * 10'000);
                EXPECT_EQ(rounds_of(team, [&] { coll::scatter(team, pieces, places(me), n - 1); }), 2u);
                expect(me, (n - 1) * 100'000 + me * 10'000);
                auto const gathered = rounds_of(team, [&] { coll::gather(team, pieces(me), places, n - 1); });
                if (n > 4) { EXPECT_EQ(gathered, 2u); } // of fewer from larger sizes on
                for (int r = 0; me == n - 1 && r < n; ++r) expect(r, r * 100'000 + r * 10'000);
                coll::barrier(team);
            });
        }
}

TEST(coll_direct, pieces_that_lie_unevenly_go_another_way) {
    together(3, from("1K"), [&](team_type const& team, int me) {
        std::vector<int> out(9000), in(9000, -1);
        std::iota(out.begin(), out.end(), me * 10'000);
        std::size_t const at[]{0, 2000, 6000};
        auto const of = [&](std::vector<int>& v, std::int32_t r) {
            return std::as_writable_bytes(
                std::span{v}.subspan(at[me == 1 ? r : 0] + (me == 1 ? 0u : 2000u * static_cast<unsigned>(r)), 2000));
        };
        auto const pieces = [&](std::int32_t r) { return mpt::source{of(out, r)}; };
        auto const places = [&](std::int32_t r) { return mpt::sink{of(in, r)}; };
        for (int i = 0; i < 3; ++i) {
            std::ranges::fill(in, -1);
            coll::alltoall(team, pieces, places);
            for (int r = 0; r < 3; ++r) {
                auto const first = static_cast<std::size_t>(r == 1 ? at[me] : 2000u * static_cast<unsigned>(me));
                EXPECT_EQ(*reinterpret_cast<int const*>(places(r).data()), r * 10'000 + static_cast<int>(first));
            }
            std::ranges::fill(in, -1);
            coll::scatter(team, pieces, places(0), 1); // the root's are uneven
            EXPECT_EQ(*reinterpret_cast<int const*>(places(0).data()), 10'000 + static_cast<int>(at[me]));
        }
        coll::barrier(team);
    });
}

TEST(coll_direct, ranks_stay_in_step_after_sizes_that_differ) {
    watchdog const guard{"collectives with different sizes"};
    seeds const s{sanitized ? 4u : 12u};
    for (unsigned seed = s.first; seed != s.first + s.count && !HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        auto const n = dice{seed}.one_of<int>({3, 5, 8});
        together(n, from("8"), [&](team_type const& team, int) {
            dice common{seed};
            for (int i = 0; i < 30; ++i) { // all of them from MPT_NODE_DIRECT on
                other_sizes const what{other_sizes::call::alltoall, {200, 300, 5000}, common, n};
                auto data = what.data(team.me());
                bool failed = false;
                try {
                    what.run(team, data);
                } catch (mpt::error const& e) {
                    failed = true;
                    EXPECT_EQ(e.code(), errc::truncate) << e.what();
                }
                EXPECT_EQ(failed, !what.agree());
                coll::barrier(team);
            }
        });
    }
}

TEST(coll_direct, other_sizes_of_a_root_are_sentences) {
    watchdog const guard{"a root and others with different sizes"};
    for (auto const what : {other_sizes::call::scatter, other_sizes::call::gather})
        for (std::size_t const other : {1u, 200u, 1000u, 30'000u, 100'000u}) {
            SCOPED_TRACE(testing::Message() << "call " << static_cast<unsigned>(what) << ", " << other);
            auto const all = said(5, from("64K"), [&](team_type const& team, int me) {
                auto const size = me == 1 ? other : 20'000u; // longs
                std::vector<long> v(6 * size);
                auto const bytes = std::as_writable_bytes(std::span{v});
                auto const one = bytes.first(size * sizeof(long));
                coll::blocks const places{bytes.subspan(one.size()), one.size()};
                if (what == other_sizes::call::gather) coll::gather(team, mpt::source{one}, places, 0);
                else coll::scatter(team, coll::const_blocks{places.all, one.size()}, mpt::sink{one}, 0);
            });
            EXPECT_TRUE(any_says(all, "called a collective with different sizes")) << testing::PrintToString(all);
        }
}

} // namespace
