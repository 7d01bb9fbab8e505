#include <mpt/coll/under_way.hpp>

#include "support/team.hpp"

namespace {
using namespace mpt::test;
using mpt::coll::speaker;

template <class Stack> using coll_under_way = team_over<Stack>;
TYPED_TEST_SUITE(coll_under_way, wires);

struct end {
    std::int32_t peer;
    std::uint64_t came;
    std::size_t expected;
    friend bool operator==(end const&, end const&) = default;
};

/// Two ranks each send the other a short message and a long one.
template <class Wire>
std::vector<end> both(Wire const& wire, int me, std::size_t shorter, std::vector<int>& first, std::vector<int>& second) {
    std::vector<int> const longer(20'000, me + 1), few(shorter, me + 1);
    mpt::tag const label{5};
    mpt::rank const peer{1 - me};
    std::vector<end> ends;
    mpt::coll::detail::under_way<typename Wire::stack_type> all{wire, label, 4};
    all.receive(peer.value, peer, writable(first));
    all.receive(peer.value, peer, writable(second));
    all.send(peer.value, peer, readable(few));
    all.send(peer.value, peer, readable(longer));
    all.finish([&](mpt::outcome const& o, std::int32_t whose, std::size_t expected) {
        ends.push_back({whose, o.bytes, expected});
    });
    return ends;
}

TYPED_TEST(coll_under_way, all_have_ended_before_the_first_is_checked_in_their_order) {
    this->run_team(2, [](auto const& team, int me) {
        std::vector<int> first(3), second(20'000);
        auto const ends = both(team.wire(), me, 3, first, second);
        ASSERT_GE(ends.size(), 2u);
        EXPECT_EQ(ends[0], (end{1 - me, 12, 12}));
        EXPECT_EQ(ends[1], (end{1 - me, 80'000, 80'000}));
        EXPECT_EQ(first, std::vector<int>(3, 2 - me));
        EXPECT_EQ(second, std::vector<int>(20'000, 2 - me));
    });
}

TYPED_TEST(coll_under_way, tells_what_came_where_that_is_not_what_was_expected) {
    this->run_team(2, [](auto const& team, int me) {
        std::vector<int> first(3), second(20'000);
        auto const ends = both(team.wire(), me, 2, first, second);
        EXPECT_EQ(ends[0], (end{1 - me, 8, 12}));
    });
}

/// What an exception leaves is withdrawn: the messages are there for who asks next.
TYPED_TEST(coll_under_way, what_is_left_is_given_up) {
    this->run_team(2, [](auto const& team, int me) {
        mpt::tag const label{6};
        std::vector<int> got(1, -1), later(1);
        if (me == 0) {
            {
                mpt::coll::detail::under_way<typename std::remove_cvref_t<decltype(team)>::stack_type> all{team.wire(), label,
                                                                                                           1};
                all.receive(1, mpt::rank{1}, writable(got));
            }
            team.wire().send(mpt::rank{1}, label, std::span<std::byte const>{});
            team.wire().recv(mpt::rank{1}, label, writable(later));
            EXPECT_EQ(got[0], -1);
            EXPECT_EQ(later[0], 7);
        } else {
            std::vector<int> const seven{7};
            team.wire().recv(mpt::rank{0}, label, mpt::sink{});
            team.wire().send(mpt::rank{0}, label, readable(seven));
        }
    });
}

} // namespace
