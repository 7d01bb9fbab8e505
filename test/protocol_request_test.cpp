#include <gtest/gtest.h>
#include <mpt/core/list.hpp>
#include <mpt/protocol/request.hpp>

namespace {
using namespace mpt::protocol;

TEST(protocol_request, a_fresh_one_is_idle_and_belongs_to_nobody) {
    request const r{};
    EXPECT_EQ(r.at, phase::idle);
    EXPECT_EQ(r.kind, role::none);
    EXPECT_FALSE(r.complete);
    EXPECT_EQ(r.completed, nullptr);
    EXPECT_EQ(r.result.source, mpt::any_source);
}
TEST(protocol_request, its_place_on_a_list_and_in_the_tables_lead_back_to_it) {
    request r{};
    mpt::list<request> l;
    l.push_back(r);
    EXPECT_EQ(&l.front(), &r);
    posted_hook& hook = r;
    EXPECT_EQ(&static_cast<request&>(hook), &r);
    l.erase(r);
    EXPECT_TRUE(l.empty());
}
} // namespace
