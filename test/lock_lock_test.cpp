#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/lock/lock.hpp>
#include <mpt/lock/none.hpp>
#include <mpt/lock/pthread.hpp>
#include <mpt/lock/ticket.hpp>
#include <mpt/world/threads.hpp>

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

/// As `none`, but for its constructor.
template <class... Given> struct made_of {
    using kind = mpt::kind::lock;
    static constexpr std::string_view name = "made of";
    [[maybe_unused]] static constexpr bool process_shared = true, recursive = true, fair = true;
    template <class World> struct type : mpt::lock::none::type<World> {
        type() = default;
        explicit type(World, Given...) {}
        explicit type(World)
            requires(sizeof...(Given) != 0)
        {}
    };
};
static_assert(mpt::lock_policy_for<made_of<mpt::fence_mode>, mpt::world::native>);
static_assert(mpt::lock_policy<made_of<>> && !mpt::lock_policy_for<made_of<>, mpt::world::native>,
              "a lane gives its lock the node's fence mode");
static_assert(mpt::lock_policy_for<mpt::lock::none, mpt::world::native> &&
              mpt::lock_policy_for<mpt::lock::pthread, mpt::world::native> &&
              mpt::lock_policy_for<mpt::lock::ticket, mpt::world::native> &&
              mpt::lock_policy_for<mpt::lock::ticket, mpt::world::threads>);

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
