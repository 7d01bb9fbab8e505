// Ranks as threads that send to each other at random: frames, long ones, loans, joint copies, sleeps. Run under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "support/smp_pair.hpp"

namespace {
using namespace mpt;
using world_type = world::threads;

std::uint64_t seed() {
    static auto const s = [] {
        auto const* given = std::getenv("MPT_STRESS_SEED");
        auto const v = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
        std::printf("seed %llu (repeat with MPT_STRESS_SEED)\n", static_cast<unsigned long long>(v));
        return static_cast<std::uint64_t>(v);
    }();
    return s;
}
double seconds() {
    auto const* given = std::getenv("MPT_STRESS_S");
    return given ? std::strtod(given, nullptr) : 2.0;
}

enum op : std::uint16_t { data, lent, offered, finished, stretched };
struct message {
    std::uint64_t number;
};
struct loan_message {
    std::uint64_t number, ref, size;
};
struct offer_message {
    std::uint64_t number;
    std::uint32_t ticket, size;
};

std::byte pattern(std::uint64_t number, std::size_t i) { return static_cast<std::byte>(number * 7 + i); }

/// One rank: sends what it likes, checks what it gets. Every message of a pair carries the next number of that pair.
template <class Transport> class player {
    using endpoint = typename Transport::template endpoint<world_type>;
    struct pull {
        rank from;
        std::uint32_t ticket;
        std::uint64_t number;
        std::vector<std::byte> into;
    };
    struct given {
        std::uint32_t ticket;
        std::vector<std::byte> memory;
    };

    boot::job& job_;
    endpoint end_;
    std::mt19937_64 random_;
    std::vector<std::uint64_t> sent_, got_;
    std::vector<pull> pulls_;
    std::vector<given> given_;
    std::size_t finished_ = 0;

public:
    std::uint64_t received = 0, copied = 0, lent_count = 0, long_count = 0, slept = 0;

    player(boot::job& job, mem::slice_heap& heap, smp::settings const& s)
        : job_{job}, end_{lane_context<world_type>{{}, job, heap, 0, 0, 1, {}}, s},
          random_{seed() + static_cast<unsigned>(job.me())}, sent_(static_cast<std::size_t>(job.size())), got_(sent_.size()) {
        auto const a = end_.local();
        job.publish(0, 0, std::as_bytes(std::span{&a, 1}));
        job.meet();
    }

    void play(double s) {
        auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>{s};
        while (std::chrono::steady_clock::now() < end)
            for (int k = 0; k < 50; ++k) {
                start_one();
                progress();
                if (random_() % 64 == 0) sleep();
            }
        while (!given_.empty() || !pulls_.empty()) progress();
        for (std::size_t p = 0; p < sent_.size(); ++p)
            if (rank{p} != job_.me())
                while (!send(rank{p}, finished, message{sent_[p]})) progress();
        while (finished_ + 1 < sent_.size()) progress();
        job_.meet();
    }

private:
    template <class T> bool send(rank to, op what, T m) {
        m.number = sent_[static_cast<std::size_t>(to)];
        auto c = end_.reserve(to, sizeof m);
        if (!c) return false;
        std::memcpy(c.payload().data(), &m, sizeof m);
        end_.commit(std::move(c), what);
        ++sent_[static_cast<std::size_t>(to)];
        return true;
    }
    void start_one() {
        auto const to = rank{random_() % sent_.size()};
        if (to == job_.me()) return;
        switch (random_() % 64) {
        case 0: return start_offer(to);
        case 1:
        case 2:
        case 3: return start_loan(to);
        case 4:
        case 5:
        case 6:
        case 7: return start_long(to);
        case 8: {
            auto const dropped = end_.reserve(to, 9);
            return;
        }
        default: send(to, data, message{});
        }
    }
    void start_loan(rank to) {
        auto const n = 1 + random_() % end_.max_loan();
        auto l = end_.lend(to, n);
        if (!l) return;
        auto const number = sent_[static_cast<std::size_t>(to)];
        for (std::size_t i = 0; i < n; ++i) l.memory()[i] = pattern(number, i);
        if (!send(to, lent, loan_message{0, l.ref(), n})) end_.revoke(std::move(l));
    }
    void start_long(rank to) {
        auto const n = 53 + random_() % 224;
        auto& number = sent_[static_cast<std::size_t>(to)];
        std::vector<std::byte> bytes(n);
        for (std::size_t i = 0; i < n; ++i) bytes[i] = pattern(number, i);
        std::memcpy(bytes.data(), &number, sizeof number);
        number += end_.stretch(to, n, stretched, [&](std::size_t at, std::span<std::byte> room) {
            std::memcpy(room.data(), bytes.data() + at, room.size());
        });
    }
    void start_offer(rank to) {
        if (given_.size() > 8) return;
        std::vector<std::byte> memory(random_() % 300'000);
        auto const number = sent_[static_cast<std::size_t>(to)];
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(number, i);
        auto const ticket = end_.offer(to, memory);
        if (ticket == 0) return;
        if (send(to, offered, offer_message{0, ticket, static_cast<std::uint32_t>(memory.size())}))
            given_.push_back({ticket, std::move(memory)});
        else end_.withdraw(ticket);
    }
    /// Takes long frames piece by piece, as the engine does.
    struct taker {
        player& on;
        void operator()(frame const& f) const { on.take(f); }
        template <class F> void stretched(F f) const {
            std::array<std::byte, F::most> whole;
            std::memcpy(whole.data(), f.front().data(), 12);
            f.template copy<12>(whole.data() + 12, f.size - 12u);
            on.take({f.from, f.op, std::span{whole}.first(f.size)});
        }
    };
    std::size_t progress() {
        auto const n = end_.poll(taker{*this}, 16);
        std::erase_if(given_, [this](given& g) {
            auto const s = end_.advance_offer(g.ticket);
            EXPECT_NE(s, joint_state::refused);
            if (s == joint_state::done) end_.withdraw(g.ticket);
            return s == joint_state::done;
        });
        std::erase_if(pulls_, [this](pull& p) {
            auto const s = end_.advance_accept(p.from, p.ticket);
            EXPECT_NE(s, joint_state::refused);
            if (s == joint_state::done) check(p);
            return s == joint_state::done;
        });
        return n;
    }
    void sleep() {
        if (!given_.empty() || !pulls_.empty()) return;
        auto const seen = end_.bell().arm(job_.fences());
        if (progress() == 0) end_.bell().sleep(world_type{}, seen, std::chrono::milliseconds{20}), ++slept;
        end_.bell().disarm();
    }
    void check(pull const& p) {
        for (std::size_t i = 0; i < p.into.size(); ++i)
            if (p.into[i] != pattern(p.number, i)) {
                ADD_FAILURE() << "byte " << i << " of a joint copy";
                return;
            }
        copied += p.into.size();
    }
    void take(frame const& f) {
        ++received;
        auto const number = test::value_of<std::uint64_t>(f);
        ASSERT_EQ(number, got_[static_cast<std::size_t>(f.from)]++) << "from " << f.from.value;
        if (f.op == lent) {
            auto const m = test::value_of<loan_message>(f);
            auto const seen = end_.borrow(f.from, m.ref, m.size);
            ASSERT_EQ(seen.size(), m.size);
            for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], pattern(number, i));
            end_.give_back(f.from, m.ref);
            ++lent_count;
        } else if (f.op == offered) {
            auto const m = test::value_of<offer_message>(f);
            pulls_.push_back({f.from, m.ticket, number, std::vector<std::byte>(m.size)});
            end_.accept(f.from, m.ticket, pulls_.back().into);
        } else if (f.op == op::stretched) {
            for (std::size_t i = sizeof number; i < f.payload.size(); ++i) ASSERT_EQ(f.payload[i], pattern(number, i));
            ++long_count;
        } else if (f.op == finished) ++finished_;
    }
};

template <class Transport> void stress(int n, smp::settings const& s) {
    seed();
    std::atomic<std::uint64_t> received{0}, copied{0}, lent{0}, long_ones{0}, slept{0};
    test::run_ranks(
        n,
        [&](boot::job& job, mem::slice_heap& heap, int) {
            player<Transport> p{job, heap, s};
            p.play(seconds() / 3);
            received += p.received, copied += p.copied, lent += p.lent_count, slept += p.slept;
            long_ones += p.long_count;
        },
        std::chrono::seconds{110});
    std::printf("%llu frames, %llu loans, %llu MB by joint copies, %llu sleeps\n", static_cast<unsigned long long>(received),
                static_cast<unsigned long long>(lent), static_cast<unsigned long long>(copied >> 20),
                static_cast<unsigned long long>(slept));
    EXPECT_GT(received, 100u);
    EXPECT_GT(lent, 0u);
    EXPECT_GT(long_ones, 0u);
    EXPECT_GT(copied, 0u);
}

using wrapping = transport::smp<0xffffff80u>;

TEST(transport_smp_stress, two_ranks_exchange_everything_in_order) {
    stress<wrapping>(2, {.ring_lines = 16, .loans = 8, .loan_bytes = 2048});
}
TEST(transport_smp_stress, five_ranks_that_poll_everybody_exchange_everything_in_order) {
    stress<transport::smp<>>(5, {.ring_lines = 32, .loans = 8, .loan_bytes = 8192});
}
TEST(transport_smp_stress, five_ranks_that_watch_a_board_exchange_everything_in_order) {
    stress<wrapping>(5, {.ring_lines = 16, .hot_peers = 2, .loans = 8, .loan_bytes = 2048});
}

} // namespace
