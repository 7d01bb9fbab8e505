#include <stdexcept>

#include "support/matrices.hpp"
#include "support/steps.hpp"
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/reduce.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_reduce = team_over<Stack>;
TYPED_TEST_SUITE(coll_reduce, wires);

TYPED_TEST(coll_reduce, the_root_has_the_combination_in_rank_order) {
    random_steps<TestFixture>(16, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        auto const root = static_cast<int>(common.below(static_cast<unsigned>(team.size())));
        bool const commutes = common.coin(), at_root = team.me() == root, in_place = at_root && own.coin();
        auto const n = common.one_of<std::size_t>({0, 1, 3, 100, 32767, 32768, 32769});
        matrices all{n, own};
        all.bring(seed, team.me());
        auto mine = all; // of the same type
        if (!in_place) all.bring(0, 0);
        either_way(team, common, [&](auto const& t) {
            coll::reduce(t, all.either(commutes), in_place ? nullptr : mine.origin(), at_root ? all.origin() : nullptr, n,
                         root);
        });
        for (std::size_t i = 0; i < n; ++i) {
            auto const expected = at_root ? combined(commutes, seed, 0, team.size() - 1, i) : element_of(seed, team.me(), i);
            if ((at_root ? all : mine).get(i) == expected) continue;
            ADD_FAILURE() << "element " << i << " of " << n << (commutes ? ", commutes" : "") << ", root " << root;
            break;
        }
    });
}

/// What a user's operation may do beside combining.
struct user {
    mpt::test::matrix_layout layout{16, 0, 8};
    void (*act)(void*) = nullptr;
    void* team = nullptr;
    static void combine(void* what, std::byte const* left, std::byte* right, std::size_t n) {
        auto& u = *static_cast<user*>(what);
        u.act(u.team);
        matrix_layout::combine<times>(&u.layout, left, right, n);
    }
    coll::operand operand() { return coll::operand::array(16, false, this, &combine); }
};

TYPED_TEST(coll_reduce, an_operation_that_throws_is_the_callers_exception) {
    try {
        this->run_team(4, [](auto const& team, int) {
            user u{.act = [](void*) { throw std::domain_error{"no such product"}; }};
            matrix m{1, 2, 3, 4}, result;
            coll::reduce(team, u.operand(), reinterpret_cast<std::byte*>(&m), reinterpret_cast<std::byte*>(&result), 1, 0);
            coll::barrier(team);
        });
        FAIL() << "nothing was thrown";
    } catch (std::domain_error const& e) { EXPECT_STREQ(e.what(), "no such product"); }
}

TYPED_TEST(coll_reduce, an_operation_may_send_messages) {
    this->job(4, [](auto world) {
        auto const& s = world.native();
        typename TestFixture::team_type const team{s.wire, s.who, s.me, s.rooted_calls};
        user u{.act =
                   [](void* w) {
                       auto& me = *static_cast<decltype(world)*>(w);
                       me.send(17, me.rank(), 3);
                       EXPECT_EQ(me.template recv<int>(me.rank(), 3), 17);
                   },
               .team = &world};
        matrix const m = element_of(1, world.rank(), 0);
        matrix result;
        coll::reduce(team, u.operand(), reinterpret_cast<std::byte const*>(&m), reinterpret_cast<std::byte*>(&result), 1, 2);
        if (world.rank() == 2) { EXPECT_EQ(result, combined(false, 1, 0, 3, 0)); }
    });
}

TYPED_TEST(coll_reduce, other_sizes_on_other_ranks_are_a_sentence) {
    auto const said = this->failure_of_team(2, [](auto const& team, int me) {
        dice d{1};
        matrices v{me == 0 ? 3u : 5u, d};
        auto const op = v.product();
        coll::reduce(team, op, v.origin(), v.origin(), v.size(), 0);
    });
    EXPECT_NE(said.find("different sizes: 80 bytes came where 48 were expected"), std::string::npos) << said;
}
} // namespace
