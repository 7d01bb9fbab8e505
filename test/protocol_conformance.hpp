// The contract of a protocol's state machine, as tests: a new protocol instantiates them.
#pragma once
#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <mpt/protocol/machine.hpp>

template <mpt::protocol_policy P> struct protocol_conformance : testing::Test {
    using state = typename P::state;
    static bool reaches(state from, state goal, int steps = 16) {
        if (from == goal) return true;
        for (auto const& e : P::edges)
            if (steps > 0 && e.from == from && e.to != from && reaches(e.to, goal, steps - 1)) return true;
        return false;
    }
    static bool is_end(state s) {
        for (auto const& e : P::edges)
            if (e.from == s) return false;
        return true;
    }
};
TYPED_TEST_SUITE_P(protocol_conformance);

TYPED_TEST_P(protocol_conformance, a_state_and_an_event_lead_to_one_place) {
    std::set<std::pair<int, int>> seen;
    for (auto const& e : TypeParam::edges) EXPECT_TRUE(seen.emplace(static_cast<int>(e.from), static_cast<int>(e.on)).second);
}
TYPED_TEST_P(protocol_conformance, next_says_what_the_table_says_and_refuses_the_rest) {
    using place = typename TypeParam::state;
    using event = typename TypeParam::event;
    std::size_t found = 0;
    for (int s = 0; s <= static_cast<int>(place::done); ++s)
        for (int e = 0; e < 16; ++e)
            if (auto const to = TypeParam::next(static_cast<place>(s), static_cast<event>(e))) {
                ++found;
                bool there = false;
                for (auto const& x : TypeParam::edges)
                    there = there || (static_cast<int>(x.from) == s && static_cast<int>(x.on) == e && x.to == *to);
                EXPECT_TRUE(there);
            }
    EXPECT_EQ(found, std::size(TypeParam::edges));
}
TYPED_TEST_P(protocol_conformance, every_state_is_reached_and_comes_to_an_end) {
    using place = typename TypeParam::state;
    for (int s = 0; s <= static_cast<int>(place::done); ++s) {
        EXPECT_TRUE(this->reaches(place::idle, static_cast<place>(s))) << "state " << s << " is never entered";
        bool ends = this->is_end(static_cast<place>(s));
        for (int t = 0; t <= static_cast<int>(place::done); ++t)
            ends = ends || (this->is_end(static_cast<place>(t)) && this->reaches(static_cast<place>(s), static_cast<place>(t)));
        EXPECT_TRUE(ends) << "state " << s << " never ends";
    }
    EXPECT_TRUE(this->is_end(place::done));
}
REGISTER_TYPED_TEST_SUITE_P(protocol_conformance, a_state_and_an_event_lead_to_one_place,
                            next_says_what_the_table_says_and_refuses_the_rest, every_state_is_reached_and_comes_to_an_end);
