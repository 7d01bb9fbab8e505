#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/lock/lock.hpp>

namespace {

/// Writes down what was asked of it.
struct scribe {
    struct node {};
    std::vector<std::string> asked;
    void acquire(node&) noexcept { asked.emplace_back("acquire"); }
    bool try_acquire(node&) noexcept { return asked.emplace_back("try"), true; }
    void release(node&) noexcept { asked.emplace_back("release"); }
};
static_assert(mpt::lock_type<scribe>);

struct may_throw : scribe {
    void acquire(node&) {}
};
static_assert(!mpt::lock_type<may_throw>, "a lock may not throw");

struct of_another_kind {
    using kind = mpt::kind::wait;
    static constexpr std::string_view name = "of another kind";
    [[maybe_unused]] static constexpr bool process_shared = true, recursive = true, fair = true;
};
static_assert(!mpt::lock_policy<of_another_kind>);

TEST(guard, acquires_at_birth_and_releases_at_its_end) {
    scribe s;
    {
        mpt::guard g{s};
        EXPECT_EQ(s.asked, std::vector<std::string>{"acquire"});
    }
    EXPECT_EQ(s.asked, (std::vector<std::string>{"acquire", "release"}));
}

TEST(guard, releases_when_an_exception_leaves_its_block) {
    scribe s;
    try {
        mpt::guard g{s};
        throw 1;
    } catch (int) {}
    EXPECT_EQ(s.asked, (std::vector<std::string>{"acquire", "release"}));
}

} // namespace
