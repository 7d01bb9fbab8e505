#include <memory>

#include <gtest/gtest.h>
#include <mpt/core/function_ref.hpp>

namespace {
using mpt::function_ref;

int twice(function_ref<int(int)> f, int n) { return f(f(n)); }

TEST(core_function_ref, calls_what_it_refers_to_with_its_state) {
    int calls = 0;
    auto const add = [&calls](int n) { return ++calls, n + 3; };
    EXPECT_EQ(twice(add, 1), 7);
    EXPECT_EQ(twice([&](int n) { return ++calls, 2 * n; }, 5), 20);
    EXPECT_EQ(calls, 4);
    auto counter = [n = 0](int) mutable { return ++n; };
    EXPECT_EQ(twice(counter, 0), 2);
    EXPECT_EQ(counter(0), 3) << "the object itself was called, and no copy";
}

TEST(core_function_ref, copies_refer_to_the_same) {
    int sum = 0;
    auto add = [&sum](int n) { sum += n; };
    function_ref<void(int)> const first{add};
    auto const second = first;
    first(1), second(2);
    EXPECT_EQ(sum, 3);
}

TEST(core_function_ref, hands_on_what_can_only_be_moved_and_what_is_referred_to) {
    auto take = [](std::unique_ptr<int> p, int& n) { n += *p; };
    function_ref<void(std::unique_ptr<int>, int&)> const f{take};
    int n = 1;
    f(std::make_unique<int>(4), n);
    EXPECT_EQ(n, 5);
}

TEST(core_function_ref, ignores_a_result_that_nobody_asks_for) {
    int calls = 0;
    auto count = [&calls] { return ++calls; };
    function_ref<void()> const f{count};
    f();
    EXPECT_EQ(calls, 1);
}

static_assert(!std::is_constructible_v<function_ref<int(int)>, int(char const*)>);
static_assert(!std::is_constructible_v<function_ref<int(int)>, void (*&)(int)>);
} // namespace
