#include <atomic>

#include <gtest/gtest.h>
#include <mpt/core/error.hpp>
#include <mpt/core/registry.hpp>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {
using namespace mpt;

TEST(registry, finds_the_environment_that_somebody_else_made) {
    auto& r = process_registry::instance();
    int a = 0, b = 0;
    environment_calls const calls{.of = "mpt"};
    r.add({.stack = "one", .layout = 1, .me = 2, .size = 4, .environment = &a, .calls = &calls});
    r.add({.stack = "two", .layout = 2, .me = 2, .size = 4, .environment = &b, .calls = &calls});
    auto const found = r.find([](auto const& row) { return row.layout == 2; });
    ASSERT_TRUE(found);
    EXPECT_EQ(found->environment, &b);
    EXPECT_EQ(found->stack, "two");
    EXPECT_EQ(r.rows().size(), 2u);
    EXPECT_THROW(r.add({.environment = &a}), error);
    r.remove(&a);
    r.remove(&b);
    EXPECT_FALSE(r.find(&a));
    EXPECT_TRUE(r.rows().empty());
}

TEST(registry, takes_environments_from_many_threads) {
    auto& r = process_registry::instance();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            int me = 0;
            for (int i = 0; i < 500; ++i) {
                r.add({.environment = &me});
                EXPECT_TRUE(r.find(&me));
                r.remove(&me);
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_TRUE(r.rows().empty());
}

TEST(registry, keeps_things_alive_by_name) {
    auto& r = process_registry::instance();
    auto const thing = std::make_shared<int>(5);
    r.keep("test", thing);
    EXPECT_EQ(r.kept("test"), thing);
    EXPECT_EQ(r.kept("other"), nullptr);
    r.keep("test", nullptr);
    EXPECT_EQ(thing.use_count(), 1);
}

TEST(registry, what_several_threads_ask_for_is_made_once) {
    auto& r = process_registry::instance();
    std::atomic<int> made{0};
    EXPECT_THROW(r.kept_or("once", []() -> std::shared_ptr<void> { throw error{errc::launch, "no"}; }), error);
    std::vector<std::thread> threads;
    std::vector<std::shared_ptr<void>> got(4);
    for (std::size_t t = 0; t < got.size(); ++t)
        threads.emplace_back([&, t] { got[t] = r.kept_or("once", [&] { return std::make_shared<int>(made.fetch_add(1)); }); });
    for (auto& t : threads) t.join();
    EXPECT_EQ(made.load(), 1);
    for (auto const& g : got) EXPECT_EQ(g, got[0]);
    r.keep("once", nullptr);
}

TEST(registry, a_child_of_fork_that_goes_on_inside_mpt_is_refused_with_a_message) {
    auto& r = process_registry::instance();
    int a = 0;
    r.add({.environment = &a});
    auto const child = ::fork();
    if (child == 0) {
        try {
            r.refuse_fork("send a message");
        } catch (error const& e) {
            ::_exit(std::string_view{e.what()}.find("cannot send a message") != std::string_view::npos ? 7 : 8);
        }
        ::_exit(9);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_NO_THROW(r.refuse_fork("send a message"));
    r.remove(&a);
}

} // namespace
