#include <gtest/gtest.h>

#include <vector>

#include <mpt/core/list.hpp>

namespace {

struct by_age : mpt::list_node {};
struct by_name : mpt::list_node {};
struct thing : by_name, by_age {
    int value = 0;
    explicit thing(int v) : value{v} {}
};
struct simple : mpt::list_node {
    int value = 0;
    explicit simple(int v) : value{v} {}
};

template <class List> std::vector<int> values(List& l) {
    std::vector<int> v;
    for (auto& x : l) v.push_back(x.value);
    return v;
}
using ints = std::vector<int>;

TEST(core_list, a_new_list_is_empty) {
    mpt::list<simple> l;
    EXPECT_TRUE(l.empty());
    EXPECT_EQ(l.begin(), l.end());
}

TEST(core_list, objects_stand_in_the_order_they_were_pushed) {
    mpt::list<simple> l;
    simple a{1}, b{2}, c{3};
    l.push_back(b);
    l.push_back(c);
    l.push_front(a);
    EXPECT_EQ(values(l), (ints{1, 2, 3}));
    EXPECT_EQ(&l.front(), &a);
    EXPECT_EQ(&l.back(), &c);
}

TEST(core_list, an_object_leaves_from_any_place) {
    simple a{1}, b{2}, c{3};
    for (int gone = 1; gone <= 3; ++gone) {
        mpt::list<simple> l;
        for (auto* x : {&a, &b, &c}) l.push_back(*x);
        l.erase(gone == 1 ? a : gone == 2 ? b : c);
        ints expected{1, 2, 3};
        expected.erase(expected.begin() + gone - 1);
        EXPECT_EQ(values(l), expected);
    }
}

TEST(core_list, an_object_can_come_back_after_it_left) {
    mpt::list<simple> l;
    simple a{1}, b{2};
    l.push_back(a);
    l.push_back(b);
    EXPECT_EQ(&l.pop_front(), &a);
    l.push_back(a);
    EXPECT_EQ(values(l), (ints{2, 1}));
    l.pop_front();
    l.pop_front();
    EXPECT_TRUE(l.empty());
}

TEST(core_list, a_walk_may_take_off_the_object_it_just_passed) {
    mpt::list<simple> l;
    std::vector<simple> all;
    for (int i = 0; i < 10; ++i) all.emplace_back(i);
    for (auto& x : all) l.push_back(x);
    for (auto it = l.begin(); it != l.end();) {
        auto& x = *it++;
        if (x.value % 2) l.erase(x);
    }
    EXPECT_EQ(values(l), (ints{0, 2, 4, 6, 8}));
}

TEST(core_list, a_walk_goes_backwards_too) {
    mpt::list<simple> l;
    simple a{1}, b{2}, c{3};
    for (auto* x : {&a, &b, &c}) l.push_back(*x);
    ints seen;
    for (auto it = l.end(); it != l.begin();) seen.push_back((--it)->value);
    EXPECT_EQ(seen, (ints{3, 2, 1}));
}

TEST(core_list, splice_moves_everything_in_order) {
    mpt::list<simple> l, other, nothing;
    simple a{1}, b{2}, c{3}, d{4};
    l.push_back(a);
    other.push_back(b);
    other.push_back(c);
    l.splice_back(other);
    EXPECT_TRUE(other.empty());
    l.splice_back(nothing);
    l.push_back(d);
    EXPECT_EQ(values(l), (ints{1, 2, 3, 4}));
    other.splice_back(l);
    EXPECT_EQ(values(other), (ints{1, 2, 3, 4}));
    EXPECT_TRUE(l.empty());
}

TEST(core_list, an_object_stands_on_two_lists_by_two_nodes) {
    mpt::list<thing, by_name> names;
    mpt::list<thing, by_age> ages;
    thing a{1}, b{2};
    names.push_back(a);
    names.push_back(b);
    ages.push_back(b);
    ages.push_back(a);
    names.erase(a);
    EXPECT_EQ(values(names), (ints{2}));
    EXPECT_EQ(values(ages), (ints{2, 1}));
}

#if MPT_ASSERT_LEVEL > 0
TEST(core_list_death, erasing_an_object_twice_is_caught) {
    mpt::list<simple> l;
    simple a{1}, b{2};
    l.push_back(a);
    l.push_back(b);
    l.erase(a);
    EXPECT_DEATH(l.erase(a), "previous->next == this");
}
TEST(core_list_death, the_front_of_an_empty_list_is_caught) {
    mpt::list<simple> l;
    EXPECT_DEATH(l.front(), "empty");
}
#endif

} // namespace
