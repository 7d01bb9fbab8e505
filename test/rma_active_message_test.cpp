#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/rma/window.hpp>

#include "support/wires.hpp"

namespace {
using namespace mpt::test;
using mpt::datatype;
using mpt::element_kind;
using mpt::operation;
namespace rma = mpt::rma;

TEST(rma_active_message, is_asked_for_answered_and_its_line_used_again) {
    rma::active_line<> line;
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(line.try_begin());
        ASSERT_TRUE(line.try_take());
        EXPECT_FALSE(line.try_take()) << "it is somebody's";
        EXPECT_FALSE(line.try_begin()) << "nothing is asked for";
        line.message().at = 17;
        line.ask();
        EXPECT_EQ(line.look(), rma::answered::not_yet);
        ASSERT_TRUE(line.try_begin());
        EXPECT_FALSE(line.try_begin()) << "another has begun";
        EXPECT_FALSE(line.take_back());
        EXPECT_EQ(line.message().at, 17u);
        line.end(i != 1, i == 2);
        EXPECT_EQ(line.look(), i == 1 ? rma::answered::refused : i == 2 ? rma::answered::done_by_agent : rma::answered::done);
        line.give_back();
    }
}

TEST(rma_active_message, is_taken_back_where_nobody_has_begun) {
    rma::active_line<> line;
    ASSERT_TRUE(line.try_take());
    line.ask();
    EXPECT_TRUE(line.take_back());
    EXPECT_FALSE(line.try_begin());
    EXPECT_TRUE(line.try_take());
}

/// Ranks over streams, which reach each other's memory by agents alone; nobody gives up asking before he is answered.
template <class F> void on_streams(rma::flavor how, std::uint32_t looks, F&& fn, std::size_t numbers = 16) {
    using stack = mpt::local_stream_stack;
    over<stack>::job(2, [&](auto world) {
        auto const& s = world.native();
        std::vector<std::int64_t> own(numbers, 5);
        rma::wanted const w{.how = how,
                            .memory =
                                how == rma::flavor::create ? std::as_writable_bytes(std::span{own}) : std::span<std::byte>{},
                            .unit = how == rma::flavor::create ? 8 : 1,
                            .looks = looks};
        auto const win = rma::make_window(*s.run, mpt::coll::team<stack>{s.wire, s.who, s.me, s.rooted_calls}, w);
        fn(world, *win, own);
        win->free();
    });
}
datatype const number = datatype::named(element_kind::int64);
constexpr std::uint32_t patient = ~std::uint32_t{0} / 2;

TEST(rma_active_message, takes_data_and_the_number_after_them) {
    for (std::size_t const numbers : {1u, 11u})
        on_streams(rma::flavor::create, patient, [&](auto world, auto& w, std::vector<std::int64_t>& own) {
            auto const n = numbers * sizeof(std::int64_t);
            w.lock_all();
            if (world.rank() == 0) {
                std::vector<std::int64_t> const data(numbers, 8);
                EXPECT_TRUE(w.try_put_and_change(data.data(), n, 1, 0, 40, 15, operation::replace));
                EXPECT_TRUE(w.try_put_and_change(data.data(), n, 1, 1, 2, 15, operation::sum));
                EXPECT_EQ(w.done_by_waiting(1), 2u) << "one message each";
                std::int64_t const more[12]{};
                EXPECT_FALSE(w.try_put_and_change(more, sizeof more, 1, 0, 1, 15, operation::sum)) << "no line holds them";
                EXPECT_FALSE(w.try_put_and_change(more, 8, 1, 16, 1, 15, operation::sum)) << "outside of its part";
                EXPECT_FALSE(w.try_put_and_change(more, 8, 1, 0, 1, 16, operation::sum));
                EXPECT_EQ(w.done_by_waiting(1), 2u);
            }
            world.barrier();
            w.unlock_all();
            world.barrier();
            if (world.rank() == 1) {
                EXPECT_EQ(own[15], 42);
                for (std::size_t i = 0; i <= 11; ++i) EXPECT_EQ(own[i], i <= numbers ? 8 : 5) << i;
            }
        });
}

TEST(rma_active_message, takes_lists_of_runs) {
    constexpr std::size_t room = 9000;
    auto const test = [](auto world, auto& w, std::vector<std::int64_t>& own) {
        auto const count = [](datatype const& t) { return static_cast<std::int64_t>(t.size() / 8); };
        std::vector<std::int64_t> data(room), was(room);
        std::iota(data.begin(), data.end(), 100);
        auto const fifty = datatype::vector(50, 1, 3, number), wide = datatype::vector(60, 64, 100, number),
                   three = datatype::vector(3, 1, 3, number), many = datatype::vector(300, 1, 3, number);
        auto const bytes = datatype::vector(40, 2, 3, datatype::named(element_kind::byte));
        w.lock_all();
        if (world.rank() == 0) {
            auto asks = [&, before = 0u](std::uint32_t n) mutable {
                w.flush(1);
                EXPECT_EQ(w.done_by_waiting(1) - before, n);
                before = w.done_by_waiting(1);
            };
            w.put({data.data(), 50, number}, {1, 0, 1, fifty}), asks(1);
            w.get({was.data(), 50, number}, {1, 0, 1, fifty}), asks(1);
            EXPECT_TRUE(std::equal(was.begin(), was.begin() + 50, data.begin()));
            w.accumulate({data.data(), 50, number}, {1, 0, 1, fifty}, operation::sum), asks(1);
            w.get_accumulate({data.data(), 50, number}, {was.data(), 1, fifty}, {1, 0, 1, fifty}, operation::sum), asks(1);
            for (std::size_t i = 0; i < 50; ++i) ASSERT_EQ(was[3 * i], 2 * data[i]) << i;
            w.get_accumulate({nullptr, 0, number}, {was.data(), 50, number}, {1, 0, 1, fifty}, operation::no_op), asks(1);
            for (std::size_t i = 0; i < 50; ++i) ASSERT_EQ(was[i], 3 * data[i]) << i;
            w.put({data.data(), count(wide), number}, {1, 1000, 1, wide}), asks(3);
            w.put({data.data(), 3, number}, {1, 8000, 1, three}), asks(0);
            w.put({data.data(), 300, number}, {1, 8050, 1, many}), asks(0);
            w.accumulate({data.data(), 80, datatype::named(element_kind::byte)}, {1, 7900, 1, bytes}, operation::replace),
                asks(1);
        }
        w.unlock_all();
        world.barrier(); // where rank 1 waits
        if (world.rank() != 1) return;
        std::vector<std::int64_t> expected(room, 5);
        for (std::size_t i = 0; i < 50; ++i) expected[3 * i] = 3 * data[i];
        for (std::size_t i = 0; i < 60 * 64; ++i) expected[1000 + i / 64 * 100 + i % 64] = data[i];
        for (std::size_t i = 0; i < 3; ++i) expected[8000 + 3 * i] = data[i];
        for (std::size_t i = 0; i < 300; ++i) expected[8050 + 3 * i] = data[i];
        auto* const at = reinterpret_cast<std::byte*>(&expected[7900]);
        auto const* const from = reinterpret_cast<std::byte const*>(data.data());
        for (std::size_t i = 0; i < 80; ++i) at[i / 2 * 3 + i % 2] = from[i];
        EXPECT_EQ(own, expected);
    };
    on_streams(rma::flavor::create, patient, test, room);
}

TEST(rma_active_message, does_every_operation_as_an_agent_does) {
    on_streams(rma::flavor::create, patient, [](auto world, auto& w, std::vector<std::int64_t>& own) {
        w.lock_all();
        if (world.rank() == 0) {
            std::int64_t x = 40, seen = 0;
            w.put({&x, 1, number}, {1, 3, 1, number});
            w.get({&seen, 1, number}, {1, 3, 1, number});
            EXPECT_EQ(seen, 40);
            w.accumulate({&x, 1, number}, {1, 3, 1, number}, operation::sum);
            std::int64_t const two[]{1, 2};
            std::int64_t was[2]{};
            w.get_accumulate({two, 2, number}, {was, 2, number}, {1, 3, 2, number}, operation::sum);
            EXPECT_EQ(was[0], 80);
            EXPECT_EQ(was[1], 5);
            w.fetch_and_op(&x, &seen, number, 1, 4, operation::no_op);
            EXPECT_EQ(seen, 7);
            std::int64_t const expected = 7, desired = 70;
            w.compare_and_swap(&desired, &expected, &seen, number, 1, 4);
            EXPECT_EQ(seen, 7);
            w.compare_and_swap(&x, &expected, &seen, number, 1, 4);
            EXPECT_EQ(seen, 70);
            auto const pairs = datatype::vector(2, 1, 2, number);
            w.put({two, 2, number}, {1, 8, 1, pairs}); // two runs there: not one of these
            w.flush(1);
            std::int64_t every_second[3]{10, 0, 20};
            w.put({every_second, 1, pairs}, {1, 12, 2, number});
            EXPECT_EQ(w.done_by_waiting(1), 8u);
            w.flush(1);
        }
        w.unlock_all();
        world.barrier(); // where rank 1 waits
        if (world.rank() == 1) {
            EXPECT_EQ(own[3], 81);
            EXPECT_EQ(own[4], 70);
            EXPECT_EQ(own[8], 1);
            EXPECT_EQ(own[9], 5);
            EXPECT_EQ(own[10], 2);
            EXPECT_EQ(own[12], 10);
            EXPECT_EQ(own[13], 20);
        }
    });
}

TEST(rma_active_message, for_memory_that_is_not_attached_is_refused_and_goes_another_way) {
    on_streams(rma::flavor::dynamic, patient, [](auto world, auto& w, std::vector<std::int64_t>& own) {
        for (std::size_t i = 0; i < 16; i += 2) w.attach(std::as_writable_bytes(std::span{own}).subspan(8 * i, 8));
        std::vector<std::int64_t> many(200); // more than origins can tell apart
        for (std::size_t i = 0; i < 200; i += 2) w.attach(std::as_writable_bytes(std::span{many}).subspan(8 * i, 8));
        auto const all = world.allgather(reinterpret_cast<std::uint64_t>(own.data()));
        w.lock_all();
        if (world.rank() == 0) {
            auto const there = static_cast<std::int64_t>(all[1]);
            std::int64_t x = 9;
            w.put({&x, 1, number}, {1, there, 1, number});
            EXPECT_THROW(w.get({&x, 1, number}, {1, there + 8, 1, number}), mpt::error);
        }
        w.unlock_all();
        world.barrier();
        EXPECT_EQ(own[0], world.rank() == 1 ? 9 : 5);
        EXPECT_EQ(own[1], 5);
    });
}

/// Three pieces each, the last one short enough for a line.
TEST(rma_active_message, of_more_than_a_line_holds_goes_by_pieces) {
    constexpr std::size_t many = 2 * 2048 + 5;
    on_streams(
        rma::flavor::create, patient,
        [](auto world, auto& w, std::vector<std::int64_t>& own) {
            w.lock_all();
            if (world.rank() == 0) {
                std::vector<std::int64_t> x(many), seen(many);
                std::iota(x.begin(), x.end(), 1);
                rma::own_source const from{x.data(), many, number};
                rma::own_sink const into{seen.data(), many, number};
                rma::target_place const all{1, 0, many, number};
                w.put(from, all);
                w.get(into, all);
                EXPECT_EQ(seen, x);
                std::ranges::fill(seen, 0);
                w.get_accumulate(from, into, all, operation::sum);
                EXPECT_EQ(seen, x);
                w.accumulate(from, all, operation::sum);
                w.get_accumulate(from, into, all, operation::no_op);
                for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(seen[i], 3 * x[i]) << i;
                EXPECT_EQ(w.done_by_waiting(1), 15u);
                // A line holds 13 numbers.
                w.accumulate({x.data(), 13, number}, {1, 0, 13, number}, operation::replace);
                w.get_accumulate(from, {seen.data(), 14, number}, {1, 0, 14, number}, operation::no_op);
                EXPECT_EQ(seen[12], x[12]);
                EXPECT_EQ(seen[13], 3 * x[13]);
                EXPECT_EQ(w.done_by_waiting(1), 17u);
                auto const pairs = datatype::vector(2, 20, 40, number);
                w.accumulate({x.data(), 1, pairs}, {1, 100, 40, number}, operation::replace); // not in one piece here
                w.accumulate({x.data(), 40, number}, {1, 200, 1, pairs}, operation::replace); // nor there: a letter
                EXPECT_EQ(w.done_by_waiting(1), 18u);
                w.flush(1);
            }
            w.unlock_all();
            world.barrier(); // where rank 1 waits
            if (world.rank() == 1) {
                EXPECT_EQ(own[many - 1], 3 * std::int64_t{many});
                EXPECT_EQ(own[119], 20);
                EXPECT_EQ(own[120], 41);
                EXPECT_EQ(own[219], 20);
                EXPECT_EQ(own[220], 3 * 221);
                EXPECT_EQ(own[240], 21);
            }
        },
        many);
}

/// What is begun and not gone on with is a letter's to end; threads take turns at the memory that it goes through.
TEST(rma_active_message, of_any_length_counts_whoever_does_it) {
    constexpr std::int64_t many = 3000;
    for (auto const looks : {std::uint32_t{1}, std::uint32_t{50}, std::uint32_t{2000}})
        on_streams(
            rma::flavor::create, looks,
            [](auto world, auto& w, std::vector<std::int64_t>& own) {
                constexpr int turns = 20;
                w.lock_all();
                std::vector<std::thread> threads;
                for (int t = 0; t < 3; ++t)
                    threads.emplace_back([&w] {
                        std::vector<std::int64_t> const ones(many, 1);
                        std::vector<std::int64_t> was(many);
                        for (int i = 0; i < turns; ++i) {
                            auto const n = i % 4 == 0 ? many : 15 + i;
                            if (i % 3 != 0) w.accumulate({ones.data(), n, number}, {i % 2, 0, n, number}, operation::sum);
                            else
                                w.get_accumulate({ones.data(), n, number}, {was.data(), n, number}, {i % 2, 0, n, number},
                                                 operation::sum);
                        }
                    });
                for (auto& t : threads) t.join();
                w.flush_all();
                w.unlock_all();
                world.barrier();
                // Of 20 turns 10 are at each rank; those of all numbers are at rank 0.
                bool const first = world.rank() == 0;
                EXPECT_EQ(own[0], 5 + 2 * 3 * turns / 2);
                EXPECT_EQ(own[many - 1], 5 + (first ? 2 * 3 * turns / 4 : 0));
                if (!first) { EXPECT_EQ(own[17], 5 + 2 * 3 * (turns / 2 - 1)) << "15 + 1 numbers are not so many"; }
            },
            many);
}

/// Both ask at once, and a computing rank keeps nobody waiting.
TEST(rma_active_message, is_done_for_each_other_and_nobody_depends_on_it) {
    for (auto const looks : {std::uint32_t{0}, std::uint32_t{1}, std::uint32_t{50}, std::uint32_t{2000}})
        on_streams(rma::flavor::create, looks, [looks](auto world, auto& w, std::vector<std::int64_t>& own) {
            constexpr int turns = 300;
            w.lock_all();
            std::int64_t const one = 1;
            for (int i = 0; i < turns; ++i) w.accumulate({&one, 1, number}, {i % 2, i % 16, 1, number}, operation::sum);
            w.flush_all();
            w.unlock_all();
            EXPECT_TRUE(looks != 0 || w.done_by_waiting(1 - world.rank()) == 0);
            world.barrier();
            std::int64_t sum = 0;
            for (auto const x : own) sum += x - 5;
            EXPECT_EQ(sum, turns);
        });
}

/// Nobody confirms the letter: that it is done is seen by its count, and who waits is asked again.
TEST(rma_active_message, is_asked_for_again_when_letters_are_done) {
    on_streams(rma::flavor::create, patient, [](auto world, auto& w, std::vector<std::int64_t>& own) {
        std::int64_t sent = 0;
        w.lock_all();
        if (world.rank() == 0) {
            std::int64_t const ones[]{1, 1};
            auto const pairs = datatype::vector(2, 1, 2, number);
            w.accumulate({ones, 2, number}, {1, 0, 1, pairs}, operation::sum); // two runs there: a letter
            for (; w.done_by_waiting(1) < 10 && sent < 100'000; ++sent) {
                w.accumulate({ones, 1, number}, {1, 1, 1, number}, operation::sum);
                // Or letters are always under way.
                if (sent % 16 == 15) std::this_thread::sleep_for(std::chrono::milliseconds{1});
            }
            EXPECT_EQ(w.done_by_waiting(1), 10u);
        }
        w.unlock_all();
        sent = world.allgather(sent)[0];
        if (world.rank() == 1) {
            EXPECT_EQ(own[0], 6);
            EXPECT_EQ(own[1], 5 + sent);
            EXPECT_EQ(own[2], 6);
        }
    });
}

TEST(rma_active_message, of_several_threads_count_all) {
    on_streams(rma::flavor::create, 200, [](auto world, auto& w, std::vector<std::int64_t>& own) {
        constexpr int turns = 200;
        w.lock_all();
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&] {
                std::int64_t const one = 1;
                std::int64_t was = 0;
                for (int i = 0; i < turns; ++i) w.fetch_and_op(&one, &was, number, 1 - world.rank(), i % 3, operation::sum);
            });
        for (auto& t : threads) t.join();
        w.unlock_all();
        world.barrier();
        EXPECT_EQ(own[0] + own[1] + own[2] - 15, 3 * turns);
    });
}
} // namespace
