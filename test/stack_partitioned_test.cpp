#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <thread>

#include "support/dice.hpp"
#include "support/job_of.hpp"
#include "support/wires.hpp"
#include <mpt/stack/partitioned.hpp>

namespace {
using namespace mpt;
using mpt::test::dice;
using mpt::test::seeds;

constexpr context_id somewhere = drawn_context(77);

template <class Stack> struct stack_partitioned : test::over<Stack> {
    using sender = partitioned_send<Stack>;
    using receiver = partitioned_recv<Stack>;

    /// fn(lane, rank) on each of n ranks.
    template <class F> static void on(int n, F&& fn) {
        stack_partitioned::job(
            n, [&](environment<Stack>& env) { fn(env.native().lane_of(somewhere), static_cast<int>(env.rank())); });
    }
    static channel<Stack> pair(lane<Stack>& l, int from, int to, std::uint32_t number = 0) {
        return {l, pair_context(somewhere, rank{from}, rank{to}, tag{3}, number)};
    }
};
TYPED_TEST_SUITE(stack_partitioned, test::wires);

/// Bytes that do not lie side by side: every other one of a buffer.
struct spread {
    std::vector<std::byte> memory;
    explicit spread(std::size_t n) : memory(2 * n) {}
    std::size_t size() const noexcept { return memory.size() / 2; }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept {
        for (auto& b : into) b = memory[2 * offset++];
    }
    void write(std::size_t offset, std::span<std::byte const> from) noexcept {
        for (auto const b : from) memory[2 * offset++] = b;
    }
    std::optional<std::span<std::byte>> contiguous() const noexcept { return std::nullopt; }
};
struct spread_source {
    spread const& data;
    std::size_t size() const noexcept { return data.size(); }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept { data.read(offset, into); }
    std::optional<std::span<std::byte const>> contiguous() const noexcept { return std::nullopt; }
};
struct spread_sink {
    spread& data;
    std::size_t size() const noexcept { return data.size(); }
    void write(std::size_t offset, std::span<std::byte const> from) const noexcept { data.write(offset, from); }
    std::optional<std::span<std::byte>> contiguous() const noexcept { return std::nullopt; }
};

std::byte nth(std::size_t i, unsigned round) { return static_cast<std::byte>(i * 7 + i / 251 + round * 13 + 1); }

/// What both sides draw alike: bytes, parts of both, rounds.
struct drawn {
    std::size_t sent_parts, received_parts, bytes;
    unsigned rounds;
    bool scattered, threads;
    explicit drawn(dice& d)
        : sent_parts{1 + d.below(20)}, received_parts{1 + d.below(20)},
          bytes{sent_parts * received_parts * d.one_of({1u, 3u, 40u, 700u, 3000u})}, rounds{1 + d.below(4)},
          scattered{d.coin()}, threads{d.coin()} {}
};

/// Parts in any order, by one thread or three.
template <class Sender> void all_ready(Sender& s, drawn const& w, dice own) {
    std::vector<std::size_t> order(w.sent_parts);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), std::mt19937{own.seed()});
    auto const some = [&](std::size_t first, std::size_t step) {
        for (auto k = first; k < order.size(); k += step) s.ready(order[k]);
    };
    if (!w.threads) return some(0, 1);
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < 3; ++t) all.emplace_back(some, t, 3);
    for (auto& t : all) t.join();
}

template <class Stack> void send_rounds(lane<Stack>& l, drawn const& w, dice own) {
    spread far{w.bytes};
    std::vector<std::byte> near(w.bytes);
    spread_source const layout{far};
    partitioned_send<Stack> s{stack_partitioned<Stack>::pair(l, 0, 1),
                              1,
                              w.scattered ? source::of(layout) : source{std::span<std::byte const>{near}},
                              w.sent_parts,
                              {}};
    for (unsigned round = 0; round < w.rounds; ++round) {
        s.start();
        EXPECT_TRUE(s.is_active());
        for (std::size_t i = 0; i < w.bytes; ++i) far.memory[2 * i] = near[i] = nth(i, round);
        all_ready(s, w, dice{own.seed()});
        s.wait();
        EXPECT_EQ(s.how(), status::ok);
        s.collect();
    }
}
/// What has arrived is there, and in the end all is.
template <class Stack> void receive_rounds(lane<Stack>& l, drawn const& w, dice own) {
    spread far{w.bytes};
    std::vector<std::byte> near(w.bytes);
    spread_sink layout{far};
    partitioned_recv<Stack> r{stack_partitioned<Stack>::pair(l, 0, 1),
                              0,
                              w.scattered ? sink::of(layout) : sink{std::span{near}},
                              w.received_parts,
                              {}};
    auto const each = w.bytes / w.received_parts;
    auto const right = [&](std::size_t first, unsigned round) {
        for (auto i = first; i < first + each; ++i)
            if ((w.scattered ? far.memory[2 * i] : near[i]) != nth(i, round)) return false;
        return true;
    };
    for (unsigned round = 0; round < w.rounds; ++round) {
        std::ranges::fill(near, std::byte{});
        r.start();
        for (int looks = 0; looks < 20; ++looks)
            if (auto const part = own.below(static_cast<unsigned>(w.received_parts)); r.arrived(part)) {
                EXPECT_TRUE(right(part * each, round)) << "part " << part;
            }
        r.wait();
        EXPECT_EQ(r.how(), status::ok);
        EXPECT_TRUE(r.fits());
        EXPECT_EQ(r.theirs().count, w.sent_parts);
        r.collect();
        for (std::size_t part = 0; part < w.received_parts; ++part) EXPECT_TRUE(right(part * each, round)) << "part " << part;
    }
}

TYPED_TEST(stack_partitioned, parts_of_any_number_and_size_arrive_in_any_order) {
    seeds const drawn_seeds{40};
    this->on(2, [&](auto& l, int me) {
        for (auto seed = drawn_seeds.first; seed != drawn_seeds.first + drawn_seeds.count && !this->HasFailure(); ++seed) {
            SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
            dice d{seed};
            drawn const w{d};
            // One context serves all programs: each ends its rounds, but the layout is told once for each pair of objects.
            if (me == 0) send_rounds(l, w, dice{seed + 1});
            else receive_rounds(l, w, dice{seed + 2});
        }
    });
}

TYPED_TEST(stack_partitioned, a_part_moves_while_others_are_not_ready) {
    for (std::size_t size : {8u, 5000u, 300000u})
        this->on(2, [&](auto& l, int me) {
            std::vector<std::byte> data(4 * size);
            channel<TypeParam> const other{l, somewhere};
            if (me == 0) {
                partitioned_send<TypeParam> s{this->pair(l, 0, 1), 1, source{std::span<std::byte const>{data}}, 4, {}};
                for (std::size_t i = 0; i < data.size(); ++i) data[i] = nth(i, 0);
                s.start();
                s.ready(2);
                other.recv(1, 1, {}); // part 2 is there
                for (std::uint64_t i : {0u, 1u, 3u}) s.ready(i);
                s.wait();
                s.collect();
                return;
            }
            partitioned_recv<TypeParam> r{this->pair(l, 0, 1), 0, sink{std::span{data}}, 4, {}};
            EXPECT_TRUE(r.arrived(0)) << "an inactive one has all";
            r.start();
            while (!r.arrived(2)) {}
            for (std::uint64_t i : {0u, 1u, 3u}) EXPECT_FALSE(r.arrived(i));
            EXPECT_FALSE(r.test());
            for (auto i = 2 * size; i < 3 * size; ++i) ASSERT_EQ(data[i], nth(i, 0));
            other.send(0, 1, std::span<std::byte const>{});
            r.wait();
            r.collect();
            for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], nth(i, 0));
        });
}

TYPED_TEST(stack_partitioned, pairs_of_one_tag_keep_apart) {
    this->on(2, [&](auto& l, int me) {
        std::vector<std::vector<std::byte>> data(3, std::vector<std::byte>(6));
        std::deque<partitioned_send<TypeParam>> out;
        std::deque<partitioned_recv<TypeParam>> in;
        for (std::uint32_t k = 0; k < 3; ++k) {
            auto const wire = this->pair(l, 0, 1, k);
            if (me == 1) {
                in.emplace_back(wire, 0, sink{std::span{data[k]}}, k + 1, waiting{});
                continue;
            }
            std::ranges::fill(data[k], std::byte(k + 1));
            out.emplace_back(wire, 1, source{std::span<std::byte const>{data[k]}}, 3 - k, waiting{});
        }
        for (std::uint32_t k : {2u, 0u, 1u}) {
            if (me == 1) in[k].start();
            else out[k].start();
        }
        for (std::uint32_t k : {1u, 2u, 0u}) {
            for (std::uint64_t i = 0; me == 0 && i < 3 - k; ++i) out[k].ready(i);
            if (me == 0) out[k].wait(), out[k].collect();
            else in[k].wait(), in[k].collect();
            EXPECT_EQ(data[k], std::vector<std::byte>(6, std::byte(k + 1)));
        }
    });
}

TYPED_TEST(stack_partitioned, a_receive_of_another_size_says_so_and_takes_what_fits) {
    for (std::size_t room : {10u, 30u})
        this->on(2, [&](auto& l, int me) {
            std::vector<std::byte> data(me == 0 ? 20 : room, std::byte{5});
            if (me == 0) {
                partitioned_send<TypeParam> s{this->pair(l, 0, 1), 1, source{std::span<std::byte const>{data}}, 4, {}};
                s.start();
                for (std::uint64_t i = 0; i < 4; ++i) s.ready(i);
                EXPECT_THROW(s.ready(2), error);
                s.wait();
                s.collect();
                return;
            }
            std::ranges::fill(data, std::byte{});
            partitioned_recv<TypeParam> r{this->pair(l, 0, 1), 0, sink{std::span{data}}, 2, {}};
            r.start();
            r.wait();
            EXPECT_FALSE(r.fits());
            EXPECT_EQ(r.theirs().bytes(), 20u);
            EXPECT_EQ(r.how(), room < 20 ? status::truncated : status::ok);
            r.collect();
            EXPECT_EQ(std::ranges::count(data, std::byte{5}), static_cast<std::ptrdiff_t>(std::min<std::size_t>(room, 20)));
        });
}

TYPED_TEST(stack_partitioned, what_is_given_up_waits_for_nobody) {
    this->on(2, [&](auto& l, int me) {
        std::vector<std::byte> data(12);
        partitioned_send<TypeParam> s{this->pair(l, me, 1 - me, 1), 1 - me, source{std::span<std::byte const>{data}}, 3, {}};
        partitioned_recv<TypeParam> greeted{this->pair(l, 1 - me, me, 1), 1 - me, sink{std::span{data}}, 3, {}};
        partitioned_recv<TypeParam> never{this->pair(l, 1 - me, me, 2), 1 - me, sink{std::span{data}}, 3, {}};
        channel<TypeParam> const other{l, somewhere};
        never.start();
        s.start(), s.ready(1);
        greeted.start();
        while (!greeted.arrived(1)) {}
        other.sendrecv(1 - me, 1, std::span<std::byte const>{}, 1 - me, 1, std::span<std::byte>{});
        greeted.abandon();
        never.abandon();
        s.abandon();
        EXPECT_FALSE(greeted.is_active() || never.is_active() || s.is_active());
    });
}

} // namespace
