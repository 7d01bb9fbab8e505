// The model of memory against what C++ says of the classic small programs ("litmus tests"): what is allowed must be found,
// what is forbidden must not.
#include <array>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "scheduler.hpp"

namespace {

using namespace mpt::model;
using std::memory_order;
constexpr auto relaxed = memory_order::relaxed, acquire = memory_order::acquire, release = memory_order::release,
               acq_rel = memory_order::acq_rel, seq_cst = memory_order::seq_cst;
using word = model_atomics::atomic<int>;

/// Four words, four registers, and which register contents were seen at the end.
struct program {
    word x{0}, y{0}, z{0};
    std::array<int, 4> r{};
};
using ending = std::array<int, 4>;
using thread = std::function<void(program&)>;

std::set<ending> endings(std::vector<thread> const& threads, unsigned schedules = 3000) {
    std::set<ending> seen;
    auto const result = check({.schedules = schedules}, [&](execution& x) {
        auto p = std::make_shared<program>();
        for (auto const& t : threads) x.thread([p, &t] { t(*p); });
        x.finally([p, &seen] { seen.insert(p->r); });
    });
    EXPECT_TRUE(result.ok) << result.report;
    return seen;
}
void fence() { mpt::model::fences::heavy(mpt::fence_mode::both); }

TEST(memory_model, lets_both_sides_of_a_store_buffer_miss) {
    for (auto const& [st, ld] : {std::pair{relaxed, relaxed}, std::pair{release, acquire}}) {
        auto const seen = endings({[st, ld](program& p) { p.x.store(1, st), p.r[0] = p.y.load(ld); },
                                   [st, ld](program& p) { p.y.store(1, st), p.r[1] = p.x.load(ld); }});
        EXPECT_TRUE(seen.contains({0, 0})) << "the store buffer";
        EXPECT_TRUE(seen.contains({1, 0}) && seen.contains({0, 1}) && seen.contains({1, 1}));
    }
}

TEST(memory_model, lets_one_side_see_when_both_fence_or_all_is_seq_cst) {
    auto const fenced = endings({[](program& p) { p.x.store(1, relaxed), fence(), p.r[0] = p.y.load(relaxed); },
                                 [](program& p) { p.y.store(1, relaxed), fence(), p.r[1] = p.x.load(relaxed); }});
    EXPECT_FALSE(fenced.contains({0, 0}));
    auto const ordered = endings({[](program& p) { p.x.store(1, seq_cst), p.r[0] = p.y.load(seq_cst); },
                                  [](program& p) { p.y.store(1, seq_cst), p.r[1] = p.x.load(seq_cst); }});
    EXPECT_FALSE(ordered.contains({0, 0}));
    auto const mixed = endings({[](program& p) { p.x.store(1, seq_cst), p.r[0] = p.y.load(relaxed); },
                                [](program& p) { p.y.store(1, seq_cst), p.r[1] = p.x.load(seq_cst); }});
    EXPECT_TRUE(mixed.contains({0, 0})) << "a relaxed load is not held back by a seq_cst store";
    auto const one = endings({[](program& p) { p.x.store(1, relaxed), fence(), p.r[0] = p.y.load(relaxed); },
                              [](program& p) { p.y.store(1, relaxed), p.r[1] = p.x.load(relaxed); }});
    EXPECT_TRUE(one.contains({0, 0})) << "one fence is not enough";
}

TEST(memory_model, lets_one_side_see_when_the_other_calls_membarrier) {
    auto const seen = endings({[](program& p) { p.x.store(1, relaxed), p.r[0] = p.y.load(relaxed); },
                               [](program& p) {
                                   p.y.store(1, relaxed), mpt::model::fences::heavy(mpt::fence_mode::sleeper);
                                   p.r[1] = p.x.load(relaxed);
                               }});
    EXPECT_FALSE(seen.contains({0, 0}));
    EXPECT_TRUE(seen.contains({1, 0}) && seen.contains({0, 1}) && seen.contains({1, 1}));
}

TEST(memory_model, passes_a_message_only_by_release_and_acquire) {
    auto const with = [](memory_order st, memory_order ld) {
        return endings({[st](program& p) { p.x.store(1, relaxed), p.y.store(1, st); },
                        [ld](program& p) { p.r[0] = p.y.load(ld), p.r[1] = p.x.load(relaxed); }});
    };
    EXPECT_FALSE(with(release, acquire).contains({1, 0}));
    EXPECT_TRUE(with(relaxed, acquire).contains({1, 0}));
    EXPECT_TRUE(with(release, relaxed).contains({1, 0}));
}

TEST(memory_model, carries_a_release_through_read_modify_writes_but_not_through_stores) {
    auto const chain = [](thread const& middle) {
        return endings({[](program& p) { p.x.store(1, relaxed), p.y.store(1, release); }, middle,
                        [](program& p) { p.r[0] = p.y.load(acquire), p.r[1] = p.x.load(relaxed); }});
    };
    auto const modified = chain([](program& p) {
        auto one = 1;
        p.y.compare_exchange_strong(one, 2, relaxed);
    });
    EXPECT_FALSE(modified.contains({2, 0}));
    auto const stored = chain([](program& p) {
        if (p.y.load(relaxed) == 1) p.y.store(2, relaxed);
    });
    EXPECT_TRUE(stored.contains({2, 0}));
}

TEST(memory_model, is_cumulative_where_releases_are_acquired) {
    auto const seen = endings({[](program& p) { p.x.store(1, relaxed), p.y.store(1, release); },
                               [](program& p) {
                                   if (p.y.load(acquire) == 1) p.z.store(1, release);
                               },
                               [](program& p) { p.r[0] = p.z.load(acquire), p.r[1] = p.x.load(relaxed); }});
    EXPECT_TRUE(seen.contains({1, 1}));
    EXPECT_FALSE(seen.contains({1, 0}));
}

TEST(memory_model, lets_two_readers_disagree_on_the_order_of_two_writers_unless_seq_cst) {
    auto const with = [](memory_order st, memory_order ld) {
        return endings({[st](program& p) { p.x.store(1, st); }, [st](program& p) { p.y.store(1, st); },
                        [ld](program& p) { p.r[0] = p.x.load(ld), p.r[1] = p.y.load(ld); },
                        [ld](program& p) { p.r[2] = p.y.load(ld), p.r[3] = p.x.load(ld); }},
                       8000);
    };
    EXPECT_TRUE(with(release, acquire).contains({1, 0, 1, 0}));
    EXPECT_FALSE(with(seq_cst, seq_cst).contains({1, 0, 1, 0}));
}

TEST(memory_model, never_goes_back_in_one_word) {
    auto const seen = endings({[](program& p) { p.x.store(1, relaxed), p.x.store(2, relaxed); },
                               [](program& p) { p.r[0] = p.x.load(relaxed), p.r[1] = p.x.load(relaxed); }});
    EXPECT_FALSE(seen.contains({2, 1}) || seen.contains({2, 0}) || seen.contains({1, 0}));
    EXPECT_TRUE(seen.contains({1, 2}) && seen.contains({0, 1}) && seen.contains({0, 2}));
}

TEST(memory_model, lets_two_writers_of_two_words_be_ordered_differently_unless_they_fence_or_are_seq_cst) {
    auto const ends = [](memory_order st, bool fences) {
        std::set<ending> seen;
        auto const result = check({.schedules = 8000}, [&](execution& x) {
            auto p = std::make_shared<program>();
            auto const writer = [p, st, fences](word& first, word& second) {
                first.store(1, st);
                if (fences) fence();
                second.store(2, st);
            };
            x.thread([=] { writer(p->x, p->y); });
            x.thread([=] { writer(p->y, p->x); });
            x.finally([p, &seen] { seen.insert({p->x.load(relaxed), p->y.load(relaxed), 0, 0}); });
        });
        EXPECT_TRUE(result.ok) << result.report;
        return seen;
    };
    EXPECT_TRUE(ends(relaxed, false).contains({1, 1, 0, 0}));
    EXPECT_TRUE(ends(release, false).contains({1, 1, 0, 0}));
    EXPECT_FALSE(ends(relaxed, true).contains({1, 1, 0, 0}));
    EXPECT_FALSE(ends(seq_cst, false).contains({1, 1, 0, 0}));
}

TEST(memory_model, does_not_let_a_reader_fall_behind_what_it_was_told_was_read) {
    auto const seen = endings({[](program& p) { p.x.store(1, relaxed); },
                               [](program& p) { p.r[0] = p.x.load(relaxed), p.y.store(1, release); },
                               [](program& p) { p.r[1] = p.y.load(acquire), p.r[2] = p.x.load(relaxed); }});
    EXPECT_TRUE(seen.contains({1, 1, 1}));
    EXPECT_FALSE(seen.contains({1, 1, 0}));
}

TEST(memory_model, loses_no_increment) {
    auto const seen = endings({[](program& p) { p.x.fetch_add(1, relaxed), p.x.fetch_add(1, relaxed); },
                               [](program& p) { p.x.fetch_add(1, relaxed), p.x.fetch_add(1, relaxed); },
                               [](program& p) {
                                   while (p.x.load(relaxed) != 4) model_atomics::pause();
                               }});
    EXPECT_EQ(seen.size(), 1u);
}

TEST(memory_model, puts_no_store_between_a_read_modify_write_and_what_it_read) {
    auto const seen =
        endings({[](program& p) { p.r[0] = p.x.exchange(1, relaxed); }, [](program& p) { p.r[1] = p.x.exchange(2, relaxed); },
                 [](program& p) { p.x.store(3, relaxed), p.r[2] = p.x.load(relaxed); }});
    for (auto const& e : seen) EXPECT_FALSE(e[0] == e[1]) << "two exchanges took the same value " << e[0];
    EXPECT_TRUE(seen.contains({3, 1, 3, 0}) && seen.contains({0, 1, 3, 0}) && seen.contains({2, 3, 1, 0}));
}

TEST(memory_model, reports_a_race_on_plain_data_exactly_where_nothing_orders_it) {
    auto const with = [](memory_order st, memory_order ld, bool reader_waits) {
        return check({.schedules = 2000}, [=](execution& x) {
            struct state {
                word ready{0};
                model_data<int> data;
            };
            auto s = std::make_shared<state>();
            x.thread([=] { s->data.set(7), s->ready.store(1, st); });
            x.thread([=] {
                while (s->ready.load(ld) == 0 && reader_waits) model_atomics::pause();
                require(s->data.get() == 7 || !reader_waits, "the value arrived");
            });
        });
    };
    EXPECT_TRUE(with(release, acquire, true).ok);
    for (auto const& faulty : {with(relaxed, acquire, true), with(release, relaxed, true), with(release, acquire, false)}) {
        EXPECT_FALSE(faulty.ok);
        EXPECT_NE(faulty.what.find("data race"), std::string::npos) << faulty.what;
    }
}

TEST(memory_model, reports_a_race_on_bytes_but_not_on_their_neighbours) {
    auto const with = [](std::size_t first, std::size_t second) {
        return check({.schedules = 500}, [=](execution& x) {
            auto line = std::make_shared<std::array<std::byte, 64>>();
            x.thread([=] { plain_write(line->data() + first, 8); });
            x.thread([=] { plain_write(line->data() + second, 8); });
        });
    };
    EXPECT_TRUE(with(0, 8).ok);
    EXPECT_FALSE(with(0, 7).ok);
}

TEST(memory_model, does_not_take_a_fence_alone_for_a_hand_over) {
    auto const result = check({.schedules = 2000}, [](execution& x) {
        auto data = std::make_shared<model_data<int>>();
        x.thread([=] { data->set(1), fence(); });
        x.thread([=] { fence(), data->get(); });
    });
    EXPECT_FALSE(result.ok);
}

TEST(memory_model, takes_fences_around_relaxed_accesses_for_a_hand_over) {
    auto const result = check({.schedules = 2000}, [](execution& x) {
        struct state {
            word ready{0};
            model_data<int> data;
        };
        auto s = std::make_shared<state>();
        x.thread([=] { s->data.set(1), fence(), s->ready.store(1, relaxed); });
        x.thread([=] {
            while (s->ready.load(relaxed) == 0) model_atomics::pause();
            fence();
            s->data.get();
        });
    });
    EXPECT_TRUE(result.ok) << result.report;
}

TEST(scheduler, finds_threads_that_wait_for_each_other) {
    auto const result = check({.schedules = 200}, [](execution& x) {
        auto w = std::make_shared<model_world::word>(0u);
        x.thread([=] { model_world{}.wait(*w, 0, mpt::nanoseconds{1}); });
    });
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.what.find("lost wake-up"), std::string::npos) << result.what;
}

TEST(scheduler, lets_time_wake_a_sleeper_where_it_is_told_to) {
    auto const result = check({.schedules = 200, .timeouts = true}, [](execution& x) {
        auto w = std::make_shared<model_world::word>(0u);
        x.thread([=] {
            auto const before = model_world{}.now();
            model_world{}.wait(*w, 0, mpt::nanoseconds{500'000});
            require(model_world{}.now() - before >= mpt::nanoseconds{500'000}, "time has passed");
        });
    });
    EXPECT_TRUE(result.ok) << result.report;
}

TEST(scheduler, never_lets_a_changed_word_and_its_wake_up_both_be_missed) {
    auto const result = check({.schedules = 5000}, [](execution& x) {
        auto w = std::make_shared<model_world::word>(0u);
        x.thread([=] {
            while (w->load(relaxed) == 0) model_world{}.wait(*w, 0, mpt::nanoseconds{1});
        });
        x.thread([=] { w->store(1, relaxed), model_world{}.wake(*w, 1); });
    });
    EXPECT_TRUE(result.ok) << result.report;
}

TEST(scheduler, finds_a_loop_that_never_ends) {
    auto const result = check({.schedules = 1, .steps = 500}, [](execution& x) {
        auto w = std::make_shared<word>(0);
        x.thread([=] {
            while (w->load(acquire) == 0) {}
        });
    });
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.what.find("no end"), std::string::npos) << result.what;
}

TEST(scheduler, lets_a_bare_spin_be_overtaken) {
    auto const result = check({.schedules = 500}, [](execution& x) {
        auto w = std::make_shared<word>(0);
        x.thread([=] {
            while (w->load(acquire) == 0) {}
        });
        x.thread([=] { w->store(1, release); });
    });
    EXPECT_TRUE(result.ok) << result.report;
}

/// Sets a variable for as long as it lives.
class variable {
    char const* name_;
    std::optional<std::string> before_;

public:
    variable(char const* name, char const* value) : name_{name} {
        if (auto const* was = std::getenv(name)) before_ = was;
        ::setenv(name, value, 1);
    }
    ~variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
    variable(variable const&) = delete;
};

TEST(scheduler, begins_with_the_programs_own_seed_and_else_with_the_variables) {
    variable const set{"MPT_MODEL_SEED", "77"};
    auto const fails = [](execution& x) { x.thread([] { require(false, "never"); }); };
    EXPECT_EQ(check({.schedules = 1}, fails).seed, 77u);
    EXPECT_EQ(check({.schedules = 1, .seed = 5}, fails).seed, 5u);
}

TEST(scheduler, repeats_a_schedule_from_its_seed) {
    auto const racy = [](execution& x) {
        auto p = std::make_shared<program>();
        x.thread([=] { p->x.store(1, relaxed), p->r[0] = p->y.load(relaxed); });
        x.thread([=] { p->y.store(1, relaxed), p->r[1] = p->x.load(relaxed); });
        x.finally([=] { require(p->r[0] + p->r[1] > 0, "one of them saw the other"); });
    };
    auto const first = check({.schedules = 5000}, racy);
    ASSERT_FALSE(first.ok);
    auto const again = check({.schedules = 1, .seed = first.seed}, racy);
    ASSERT_FALSE(again.ok) << "the seed alone must bring the fault back";
    EXPECT_EQ(again.what, first.what);
    EXPECT_NE(first.report.find("scheduler_model_test.cpp"), std::string::npos) << "the report shows the schedule by its lines";
}

TEST(scheduler, names_each_order_that_no_schedule_needs) {
    auto const with = [](memory_order st) {
        return [st](execution& x) {
            struct state {
                word ready{0};
                model_data<int> data;
            };
            auto s = std::make_shared<state>();
            x.thread([=] { s->data.set(7), s->ready.store(1, st); });
            x.thread([=] {
                while (s->ready.load(acquire) == 0) model_atomics::pause();
                s->data.get();
            });
        };
    };
    EXPECT_TRUE(needless({.schedules = 500}, with(release), "scheduler_model_test.cpp").empty());
    auto const more_than_needed = needless({.schedules = 500}, with(acq_rel), "scheduler_model_test.cpp");
    ASSERT_EQ(more_than_needed.size(), 1u);
    EXPECT_NE(more_than_needed[0].find("acq_rel -> release"), std::string::npos) << more_than_needed[0];
}

TEST(scheduler, knows_zeroed_memory_for_atomics) {
    auto const result = check({.schedules = 200}, [](execution& x) {
        auto memory = std::make_shared<std::array<std::uint64_t, 8>>();
        auto* const w = reinterpret_cast<model_atomics::atomic<std::uint64_t>*>(memory->data());
        x.thread([=] { w[3].fetch_add(2, relaxed); });
        x.thread([=] { w[3].fetch_add(3, relaxed); });
        x.finally([=] { require(w[3].load(relaxed) == 5 && (*memory)[3] == 5, "the value lies in place"); });
    });
    EXPECT_TRUE(result.ok) << result.report;
    static_assert(sizeof(model_atomics::atomic<std::uint8_t>) == 1 && alignof(model_atomics::atomic<std::uint64_t>) == 8);
}

TEST(scheduler, reports_an_atomic_used_before_its_construction_is_known) {
    auto const result = check({.schedules = 500}, [](execution& x) {
        struct state {
            model_atomics::atomic<word*> published{nullptr};
            alignas(word) std::array<std::byte, sizeof(word)> room{};
        };
        auto s = std::make_shared<state>();
        x.thread([=] { s->published.store(::new (s->room.data()) word{5}, relaxed); });
        x.thread([=] {
            if (auto* const p = s->published.load(acquire); p != nullptr) require(p->load(relaxed) == 5, "constructed");
        });
    });
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.what.find("construction"), std::string::npos) << result.what;
}

} // namespace
