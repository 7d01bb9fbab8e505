#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <mpt/mpi/attributes.hpp>

#include "support/expect_error.hpp"

namespace {
using mpt::attribute_copy;
using mpt::attributes;
using mpt::error_class;
using mpt::keyvals;
using mpt::test::expect_error;

void* number(std::intptr_t n) { return reinterpret_cast<void*>(n); }
std::intptr_t number(void* p) { return reinterpret_cast<std::intptr_t>(p); }
void* const object = number(1);
void* const other_object = number(2);

/// Keys whose callbacks write down what they are called with, and then do what a test wants.
struct mpi_attributes : testing::Test {
    keyvals keys;
    attributes set{keys}, copied{keys};
    std::vector<std::intptr_t> removed, copies;
    std::function<std::int32_t(std::int32_t, std::intptr_t)> at_remove = [](auto, auto) { return 0; };
    std::function<attribute_copy(std::int32_t, std::intptr_t)> at_copy = [](auto, auto v) {
        return attribute_copy{0, true, number(v + 1000)};
    };
    std::vector<void*> objects; // that remove callbacks were called for

    std::int32_t make() {
        return keys.create(
            [this](void*, std::int32_t k, void* v) {
                copies.push_back(number(v));
                return at_copy(k, number(v));
            },
            [this](void* o, std::int32_t k, void* v) {
                removed.push_back(number(v)), objects.push_back(o);
                return at_remove(k, number(v));
            });
    }
    std::intptr_t value(attributes const& a, std::int32_t key) {
        auto const v = a.get(key);
        return v ? number(*v) : -1;
    }
};
using list = std::vector<std::intptr_t>;

TEST_F(mpi_attributes, what_is_set_is_there_until_it_is_removed) {
    auto const k = make(), other = make();
    EXPECT_EQ(set.get(k), std::nullopt);
    set.set(object, k, number(7));
    set.set(object, other, nullptr);
    EXPECT_EQ(value(set, k), 7);
    EXPECT_EQ(value(set, other), 0) << "a null pointer is a value";
    EXPECT_TRUE(set.remove(object, k));
    EXPECT_EQ(set.get(k), std::nullopt);
    EXPECT_FALSE(set.remove(object, k));
    EXPECT_EQ(removed, list{7});
    EXPECT_EQ(objects, std::vector<void*>{object});
}

TEST_F(mpi_attributes, setting_again_removes_the_old_value_first) {
    auto const k = make();
    set.set(object, k, number(1));
    at_remove = [&](auto, auto) {
        EXPECT_EQ(set.get(k), std::nullopt);
        return 0;
    };
    set.set(object, k, number(2));
    EXPECT_EQ(removed, list{1});
    EXPECT_EQ(value(set, k), 2);
}

TEST_F(mpi_attributes, all_are_removed_the_other_way_round_than_they_were_set) {
    auto const a = make(), b = make(), c = make();
    set.set(object, c, number(1)), set.set(object, a, number(2)), set.set(object, b, number(3));
    set.set(object, c, number(4)); // now the last one
    removed.clear();
    set.remove_all(object);
    EXPECT_EQ(removed, (list{4, 3, 2}));
}

TEST_F(mpi_attributes, a_freed_key_lives_on_while_attributes_have_it) {
    auto const k = make();
    set.set(object, k, number(5));
    keys.free(k);
    keys.free(k); // by another holder of the number
    EXPECT_EQ(keys.find(k), nullptr);
    EXPECT_EQ(value(set, k), 5);
    set.set(object, k, number(6));
    EXPECT_EQ(removed, list{5});
    set.copy_to(object, copied, other_object);
    EXPECT_EQ(value(copied, k), 1006);
    EXPECT_TRUE(set.remove(object, k));
    expect_error(error_class::keyval, {std::to_string(k).c_str()}, [&] { set.get(k); });
    EXPECT_TRUE(copied.remove(other_object, k));
    EXPECT_EQ(removed, (list{5, 6, 1006}));
    expect_error(error_class::keyval, {std::to_string(k).c_str()}, [&] { keys.free(k); });
}

TEST_F(mpi_attributes, the_functions_of_a_freed_key_go_with_its_last_attribute) {
    auto const witness = std::make_shared<int>(1);
    auto const k = keys.create({}, [witness](void*, std::int32_t, void*) { return 0; });
    set.set(object, k, nullptr);
    keys.free(k);
    EXPECT_EQ(witness.use_count(), 2);
    set.remove(object, k);
    EXPECT_EQ(witness.use_count(), 1);
}

TEST_F(mpi_attributes, unknown_keys_are_errors_that_name_them) {
    auto const k = make();
    keys.free(k);
    for (std::int32_t bad : {k, 0, -1, 501, k + 1}) {
        auto const name = std::to_string(bad);
        expect_error(error_class::keyval, {"set", name.c_str()}, [&] { set.set(object, bad, nullptr); });
        expect_error(error_class::keyval, {"get", name.c_str()}, [&] { set.get(bad); });
        expect_error(error_class::keyval, {"delete", name.c_str()}, [&] { set.remove(object, bad); });
        expect_error(error_class::keyval, {"free", name.c_str()}, [&] { keys.free(bad); });
    }
    EXPECT_GT(make(), k) << "a number is not given out again";
}

TEST_F(mpi_attributes, a_copy_gets_what_the_copy_callbacks_grant) {
    auto const a = make(), b = make(), silent = keys.create({}, {}), same = keys.create(mpt::copy_value, {});
    for (auto const k : {b, silent, a, same}) set.set(object, k, number(k));
    at_copy = [&](std::int32_t k, auto) { return attribute_copy{0, k == b, number(3)}; };
    set.copy_to(object, copied, other_object);
    EXPECT_EQ(copies, (list{b, a})) << "in the order of setting";
    EXPECT_EQ(value(copied, b), 3);
    EXPECT_EQ(value(copied, a), -1);
    EXPECT_EQ(value(copied, silent), -1);
    EXPECT_EQ(value(copied, same), same);
    EXPECT_TRUE(removed.empty());
}

TEST_F(mpi_attributes, a_copy_that_fails_in_the_middle_leaves_nothing_on_the_copy) {
    auto const a = make(), b = make(), c = make(), d = make();
    for (auto const k : {a, b, c, d}) set.set(object, k, number(k));
    for (bool const throws : {false, true}) {
        copies.clear(), removed.clear(), objects.clear();
        at_copy = [&](std::int32_t k, std::intptr_t v) {
            if (k == c && throws) throw std::runtime_error{"of the user"};
            return attribute_copy{k == c ? 77 : 0, true, number(v + 1000)};
        };
        if (throws) EXPECT_THROW(set.copy_to(object, copied, other_object), std::runtime_error);
        else expect_error(77, {"copy", std::to_string(c).c_str(), "77"}, [&] { set.copy_to(object, copied, other_object); });
        EXPECT_EQ(copies, (list{a, b, c}));
        EXPECT_EQ(removed, (list{b + 1000, a + 1000}));
        EXPECT_EQ(objects, (std::vector<void*>{other_object, other_object}));
        for (auto const k : {a, b, c, d}) {
            EXPECT_EQ(value(copied, k), -1);
            EXPECT_EQ(value(set, k), k) << "the old object is as it was";
        }
    }
}

TEST_F(mpi_attributes, the_first_error_of_a_failed_copy_comes_back_even_when_removing_fails_too) {
    auto const a = make(), b = make(), c = make();
    for (auto const k : {a, b, c}) set.set(object, k, number(k));
    at_copy = [&](std::int32_t k, std::intptr_t v) { return attribute_copy{k == c ? 77 : 0, true, number(v)}; };
    at_remove = [&](std::int32_t k, auto) { return k == b ? throw 3 : 88; };
    expect_error(77, {}, [&] { set.copy_to(object, copied, other_object); });
    EXPECT_EQ(removed, (list{b, a}));
    EXPECT_EQ(value(copied, a), -1);
}

TEST_F(mpi_attributes, a_remove_callback_that_fails_leaves_everything_as_it_was) {
    auto const a = make(), b = make(), c = make();
    for (auto const k : {a, b, c}) set.set(object, k, number(k));
    at_remove = [&](std::int32_t k, auto) { return k == b ? 99 : 0; };
    expect_error(99, {"delete", std::to_string(b).c_str(), "99"}, [&] { set.remove(object, b); });
    expect_error(99, {}, [&] { set.set(object, b, number(1)); });
    EXPECT_EQ(value(set, b), b);
    removed.clear();
    expect_error(99, {}, [&] { set.remove_all(object); });
    EXPECT_EQ(removed, (list{c, b})) << "its place in the order, too";
    at_remove = [&](std::int32_t k, auto) { return k == b ? throw std::runtime_error{"of the user"} : 0; };
    EXPECT_THROW(set.remove_all(object), std::runtime_error);
    at_remove = [](auto, auto) { return 0; };
    removed.clear();
    set.remove_all(object);
    EXPECT_EQ(removed, (list{b, a}));
}

TEST_F(mpi_attributes, a_remove_callback_may_remove_set_and_ask_on_its_own_object) {
    auto const a = make(), b = make(), c = make(), late = make();
    for (auto const k : {a, b, c}) set.set(object, k, number(k));
    at_remove = [&](std::int32_t k, auto) {
        if (k == c) {
            EXPECT_FALSE(set.remove(object, c)) << "already off";
            EXPECT_TRUE(set.remove(object, a));
            set.set(object, late, number(late));
            EXPECT_EQ(value(set, b), b);
        }
        return 0;
    };
    set.remove_all(object);
    EXPECT_EQ(removed, (list{c, a, late, b}));
}

TEST_F(mpi_attributes, a_value_that_a_callback_sets_in_its_own_place_is_removed_too) {
    auto const k = make();
    set.set(object, k, number(1));
    at_remove = [&](auto, std::intptr_t v) {
        if (v == 1) set.set(object, k, number(2));
        return 0;
    };
    set.set(object, k, number(3));
    EXPECT_EQ(removed, (list{1, 2}));
    EXPECT_EQ(value(set, k), 3);
}

TEST_F(mpi_attributes, a_failing_callback_does_not_undo_what_it_set_in_its_own_place) {
    auto const k = make();
    set.set(object, k, number(1));
    at_remove = [&](auto, std::intptr_t v) {
        if (v == 1) set.set(object, k, number(2));
        return v == 1 ? 55 : 0;
    };
    expect_error(55, {}, [&] { set.remove(object, k); });
    EXPECT_EQ(value(set, k), 2);
}

TEST_F(mpi_attributes, a_copy_callback_may_remove_and_set_on_the_object_that_is_copied) {
    auto const a = make(), b = make(), c = make(), late = make();
    for (auto const k : {a, b, c}) set.set(object, k, number(k));
    at_copy = [&](std::int32_t k, std::intptr_t v) {
        if (k == a)
            set.remove(object, a), set.remove(object, b), set.set(object, c, number(5)), set.set(object, late, number(6));
        return attribute_copy{0, true, number(v)};
    };
    set.copy_to(object, copied, other_object);
    EXPECT_EQ(copies, (list{a, 5})) << "neither what is gone nor what came later";
    EXPECT_EQ(value(copied, a), a);
    EXPECT_EQ(value(copied, c), 5);
    EXPECT_EQ(value(copied, late), -1);
}

TEST_F(mpi_attributes, a_callback_may_free_its_own_key) {
    auto const k = make();
    set.set(object, k, number(1));
    at_remove = [&](std::int32_t key, auto) { return keys.free(key), 0; };
    set.remove_all(object);
    expect_error(error_class::keyval, {}, [&] { set.get(k); });
}

/// Random programs whose callbacks are random programs. Laws: a value that was set is removed with success once, and never
/// touched before or after; a copy callback sees only values that are there; what is left at the end is what was left.
class random_program {
    enum class state { there, leaving, gone };
    std::mt19937 random_;
    keyvals keys_;
    std::vector<std::int32_t> made_;
    std::vector<std::unique_ptr<attributes>> objects_;
    std::map<std::intptr_t, state> values_;
    std::set<std::intptr_t> failed_; // whose callback failed at least once: another value may be in its place now
    std::intptr_t last_ = 0;
    int depth_ = 0;
    bool calm_ = false;

    template <class T> auto& any_of(T& these) { return these[random_() % these.size()]; }

    std::int32_t remove(std::intptr_t v) {
        EXPECT_EQ(values_.at(v), state::there);
        values_[v] = state::leaving;
        auto const answer = outcome_of([&] { return user_code(); });
        values_[v] = answer == 0 ? state::gone : state::there;
        if (answer != 0) failed_.insert(v);
        if (answer < 0) throw std::runtime_error{"of the user"};
        return answer;
    }
    attribute_copy copy(std::intptr_t v) {
        EXPECT_EQ(values_.at(v), state::there);
        auto const answer = outcome_of([&] { return user_code(); });
        if (answer < 0) throw std::runtime_error{"of the user"};
        if (answer > 0 || random_() % 4 == 0) return {answer};
        values_[++last_] = state::there;
        return {0, true, number(last_)};
    }
    template <class F> std::int32_t outcome_of(F&& f) {
        ++depth_;
        auto const answer = f();
        --depth_;
        return answer;
    }
    /// What a callback does and answers: 0, an error code, or -1 where it throws.
    std::int32_t user_code() {
        if (calm_) return 0;
        if (depth_ < 4)
            for (auto n = random_() % 3; n > 0; --n) step();
        auto const dice = random_() % 10;
        return dice < 7 ? 0 : dice < 9 ? 77 : -1;
    }
    void step() {
        auto const chosen = random_() % objects_.size();
        try {
            act(*objects_[chosen], number(static_cast<std::intptr_t>(chosen)));
        } catch (mpt::mpi_error const& e) {
            EXPECT_TRUE(e.mpi_code() == 77 || e.mpi_code() == static_cast<std::int32_t>(error_class::keyval)) << e.what();
        } catch (std::runtime_error const& e) { EXPECT_STREQ(e.what(), "of the user"); }
    }
    void act(attributes& on, void* name) {
        auto const key = any_of(made_);
        switch (random_() % 12) {
        default: {
            auto const v = ++last_;
            on.set(name, key, number(v));
            values_[v] = state::there;
            break;
        }
        case 5:
        case 6: on.remove(name, key); break;
        case 7:
            if (auto const v = on.get(key)) { EXPECT_EQ(values_.at(number(*v)), state::there); }
            break;
        case 8: on.remove_all(name); break;
        case 9: {
            auto fresh = std::make_unique<attributes>(keys_);
            on.copy_to(name, *fresh, number(1 << 20));
            objects_.push_back(std::move(fresh));
            break;
        }
        case 10: keys_.free(key); break;
        case 11: make(); break;
        }
    }
    void make() {
        made_.push_back(keys_.create([this](void*, std::int32_t, void* v) { return copy(number(v)); },
                                     [this](void*, std::int32_t, void* v) { return remove(number(v)); }));
    }

public:
    explicit random_program(unsigned seed) : random_{seed} {
        for (int i = 0; i < 4; ++i) make();
        for (int i = 0; i < 3; ++i) objects_.push_back(std::make_unique<attributes>(keys_));
    }
    void run(int steps) {
        for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
        calm_ = true;
        for (auto& on : objects_) on->remove_all(nullptr);
        for (auto const& [v, s] : values_) EXPECT_TRUE(s == state::gone || failed_.contains(v)) << "value " << v << " was lost";
        for (auto& on : objects_)
            for (auto const key : made_)
                if (keys_.find(key) != nullptr) { EXPECT_EQ(on->get(key), std::nullopt); }
    }
};

TEST(mpi_attributes_random, callbacks_that_do_anything_break_no_law) {
    for (unsigned seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        random_program{seed}.run(150);
    }
}

TEST(mpi_attributes_random, threads_on_one_object_remove_every_value_once) {
    keyvals keys;
    attributes set{keys};
    std::mutex turn;
    std::vector<std::intptr_t> removed;
    auto const remove = [&](void*, std::int32_t, void* v) {
        std::scoped_lock const hold{turn};
        removed.push_back(number(v));
        return 0;
    };
    std::vector<std::int32_t> const made{keys.create({}, remove), keys.create({}, remove)};
    constexpr std::intptr_t each = 2000, threads = 4;
    std::vector<std::thread> running;
    for (std::intptr_t t = 0; t < threads; ++t)
        running.emplace_back([&, t] {
            for (std::intptr_t n = 0; n < each; ++n) {
                set.set(nullptr, made[static_cast<std::size_t>(n % 2)], number(t * each + n));
                if (n % 5 == 0) set.remove(nullptr, made[0]);
                set.get(made[1]);
            }
        });
    for (auto& t : running) t.join();
    set.remove_all(nullptr);
    std::ranges::sort(removed);
    list all(each * threads);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::intptr_t>(i);
    EXPECT_EQ(removed, all);
}
} // namespace
