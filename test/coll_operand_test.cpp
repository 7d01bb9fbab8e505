#include <stdexcept>

#include "support/matrices.hpp"
#include "support/steps.hpp"
#include <mpt/coll/operand.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_operand = team_over<Stack>;
TYPED_TEST_SUITE(coll_operand, wires);

constexpr auto memory_of = [](std::size_t bytes) { return coll::scratch{bytes}; };

TEST(coll_operand_layout, a_work_buffer_holds_elements_of_any_layout_and_is_aligned) {
    for (auto const extent : {16, 24, 40, -16, -40})
        for (auto const lowest : {0, 4, 8, -4, -24})
            for (std::size_t n : {1u, 2u, 9u}) {
                matrix_layout layout{extent, lowest, 8};
                auto const op = layout.operand(&matrix_layout::combine<times>, false);
                coll::work_buffer const work{op, n, memory_of};
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(work.origin()) % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0u);
                for (std::size_t i = 0; i < n; ++i)
                    layout.store(work.origin(), i, element_of(1, 2, i)); // AddressSanitizer watches
                for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(layout.load(work.origin(), i), element_of(1, 2, i));
            }
}

TEST(coll_operand_layout, nothing_needs_no_work_buffer) {
    matrix_layout layout{16, 8, 8};
    coll::work_buffer const none{layout.operand(&matrix_layout::combine<times>, false), 0, memory_of};
    EXPECT_EQ(none.origin(), nullptr);
}

TYPED_TEST(coll_operand, messages_of_elements_travel_between_layouts) {
    random_steps<TestFixture>(4, 20, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        auto const n = common.one_of<std::size_t>({0, 1, 5, 300, 9000});
        matrices mine{n, own}, got{n, own};
        mine.bring(seed, team.me());
        auto const left = (team.me() - 1 + team.size()) % team.size(), right = (team.me() + 1) % team.size();
        auto const op = mine.product(), other = got.product();
        coll::elements_out const out{op, mine.origin(), n};
        coll::elements_in const in{other, got.origin(), n};
        team.exchange(right, mpt::source::of(out), left, mpt::sink::of(in), coll::speaker::scan);
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(got.get(i), element_of(seed, left, i));
    });
}

TYPED_TEST(coll_operand, joining_keeps_the_order_and_may_swap_the_buffers) {
    this->run_team(1, [](auto const& team, int) {
        dice d{1};
        matrices a{3, d}, b = a;
        auto const op = a.product();
        coll::reduction const r{team, op, coll::speaker::reduce};
        for (bool other_is_lower : {false, true}) {
            a.bring(1, 0), b.bring(1, 1);
            auto *have = a.origin(), *other = b.origin();
            r.join(have, other, 3, other_is_lower);
            auto& in = have == a.origin() ? a : b;
            auto const first = element_of(1, other_is_lower ? 1 : 0, 2), second = element_of(1, other_is_lower ? 0 : 1, 2);
            EXPECT_EQ(in.get(2), times(first, second));
        }
    });
}
} // namespace
