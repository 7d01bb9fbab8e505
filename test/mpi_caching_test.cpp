#include <barrier>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/mpi/attributes.hpp>
#include <mpt/mpi/caching.hpp>

namespace {
/// What callbacks were told, in order.
struct diary {
    std::vector<std::pair<void*, void*>> removed, copied;
    std::int32_t key(mpt::keyvals& keys) {
        return keys.create(
            [this](void* object, std::int32_t, void* value) {
                copied.emplace_back(object, value);
                return mpt::copy_value(object, 0, value);
            },
            [this](void* object, std::int32_t, void* value) { return removed.emplace_back(object, value), 0; });
    }
};

TEST(mpi_caching, attributes_are_set_found_replaced_and_removed) {
    diary d;
    int object = 0, a = 1, b = 2;
    auto const key = d.key(mpt::communicator_keys());
    mpt::cached c{mpt::communicator_keys(), &object};
    EXPECT_FALSE(c.get(key) || c.remove(key));
    c.set(key, &a), c.set(key, &b);
    EXPECT_EQ(c.get(key), static_cast<void*>(&b));
    EXPECT_TRUE(c.remove(key));
    EXPECT_FALSE(c.get(key));
    using told = std::vector<std::pair<void*, void*>>;
    EXPECT_EQ(d.removed, (told{{&object, &a}, {&object, &b}}));
}

TEST(mpi_caching, a_copy_has_what_callbacks_give_and_what_goes_is_removed) {
    diary d;
    int one = 0, other = 0, a = 1, b = 2;
    auto const key = d.key(mpt::window_keys()), left_out = mpt::window_keys().create({}, {});
    {
        mpt::cached from{mpt::window_keys(), &one}, to{mpt::window_keys(), &other};
        from.copy_to(to);
        from.set(key, &a), from.set(left_out, &b);
        from.copy_to(to);
        EXPECT_EQ(to.get(key), static_cast<void*>(&a));
        EXPECT_FALSE(to.get(left_out));
        auto const moved = std::move(from);
        EXPECT_TRUE(d.removed.empty());
    }
    EXPECT_EQ(d.copied, (std::vector<std::pair<void*, void*>>{{&one, &a}}));
    EXPECT_EQ(d.removed.size(), 2u) << "each object's, once";
}

/// Whoever sets the first one makes the object's list: none is lost, and nobody reads what another one writes.
TEST(mpi_caching, several_threads_set_the_first_attribute_of_an_object_at_once) {
    std::vector<std::int32_t> keys;
    for (int t = 0; t < 4; ++t) keys.push_back(mpt::communicator_keys().create({}, {}));
    for (int round = 0; round < 200; ++round) {
        int object = 0;
        mpt::cached c{mpt::communicator_keys(), &object};
        std::barrier start{4};
        std::vector<std::jthread> threads;
        for (auto const key : keys)
            threads.emplace_back([&, key] {
                start.arrive_and_wait();
                c.set(key, &object);
            });
        threads.clear();
        for (auto const key : keys) ASSERT_EQ(c.get(key), static_cast<void*>(&object)) << "round " << round;
    }
}

TEST(mpi_caching, keys_of_one_sort_are_none_of_another) {
    int object = 0;
    auto const key = mpt::window_keys().create({}, {});
    mpt::cached c{mpt::datatype_keys(), &object};
    EXPECT_THROW(c.set(key, &object), mpt::error);
}

TEST(mpi_caching, a_callback_that_fails_does_not_stop_a_destructor) {
    int object = 0;
    auto const key = mpt::window_keys().create({}, [](void*, std::int32_t, void*) { return 1; });
    mpt::cached c{mpt::window_keys(), &object};
    c.set(key, &object);
    EXPECT_THROW(c.remove(key), mpt::error);
    EXPECT_TRUE(c.get(key));
}
} // namespace
