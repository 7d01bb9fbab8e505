/// transport_stress - every rank of a job, on a thread of its own, sends to everybody at random for a while: sizes, bursts,
/// abandoned cells, answers from inside the sink, pauses; then all counts must agree.
///
///        frame    op = 0x8000 | number of the frame in its pair, 15 bits; payload = pattern of (from, to, number)
///        last     op = 1, payload = how many frames came before it
///
///   A number that is not the next one is a frame lost, doubled or overtaken. The seed is printed; MPT_STRESS_SEED repeats it.
#pragma once
#include <atomic>

#include "support/transport_room.hpp"

namespace mpt::test {

template <class Policy> class transport_stress {
    using room = transport_room<Policy>;
    static constexpr std::uint16_t last_op = 1;
    static constexpr std::size_t largest = Policy::facts.max_frame;

    struct traffic {
        std::uint64_t sent = 0, got = 0;
        bool told = false, finished = false;
    };
    struct player {
        room& all;
        std::atomic<int>& failures;
        int me;
        std::mt19937_64 random;
        std::vector<traffic> with{};
        std::vector<int> peers{};

        std::uint64_t seed_of(int from, int to, std::uint64_t number) const noexcept {
            return (number << 16) ^ static_cast<std::uint64_t>(from * 256 + to);
        }
        std::size_t some_size() {
            switch (random() % 8) {
            case 0: return 0;
            case 1: return largest - random() % std::min<std::size_t>(largest, 9);
            case 2: return random() % (largest + 1);
            default: return random() % 48;
            }
        }
        void fail(char const* what, int from, std::uint64_t number) {
            if (failures.fetch_add(1) < 5) ADD_FAILURE() << what << ": frame " << number << " from " << from << " to " << me;
        }

        bool try_send(int to, std::size_t n) {
            auto& t = with[static_cast<std::size_t>(to)];
            auto c = all.end(me).reserve(to, n);
            if (!c) return false;
            fill(c.payload(), seed_of(me, to, t.sent));
            if (random() % 64 == 0) return true; // and the cell dies
            all.end(me).commit(std::move(c), static_cast<std::uint16_t>(0x8000 | (t.sent & 0x7fff)));
            ++t.sent;
            return true;
        }
        void on_frame(frame const& f, bool answers) {
            auto& t = with[static_cast<std::size_t>(f.from.value)];
            if (f.op == last_op) {
                std::uint64_t said = 0;
                if (f.payload.size() == sizeof said) std::memcpy(&said, f.payload.data(), sizeof said);
                if (said != t.got || f.payload.size() != sizeof said || t.finished) fail("the last", f.from, t.got);
                t.finished = true;
                return;
            }
            if (f.op != (0x8000 | (t.got & 0x7fff))) fail("lost, doubled or overtaken", f.from, t.got);
            if (!matches(f.payload, seed_of(f.from, me, t.got))) fail("torn", f.from, t.got);
            ++t.got;
            if (answers && random() % 4 == 0) try_send(f.from, some_size());
        }
        void receive(bool answers) {
            auto sink = [&](frame const& f) noexcept { on_frame(f, answers); };
            if (random() % 3 == 0) all.end(me).poll_from(peers[random() % peers.size()], sink);
            else all.end(me).poll(sink, 1 + random() % 32);
        }
        bool try_finish(int to) {
            auto& t = with[static_cast<std::size_t>(to)];
            if (t.told) return true;
            auto c = all.end(me).reserve(to, sizeof t.sent);
            if (!c) return false;
            std::memcpy(c.payload().data(), &t.sent, sizeof t.sent);
            all.end(me).commit(std::move(c), last_op);
            return t.told = true;
        }

        void play(std::chrono::steady_clock::time_point until) {
            while (std::chrono::steady_clock::now() < until && failures.load() == 0) {
                auto const to = peers[random() % peers.size()];
                for (auto burst = random() % 16; burst > 0 && try_send(to, some_size()); --burst) {}
                for (auto looks = random() % 8; looks > 0; --looks) receive(true);
                all.end(me).flush();
                if (random() % 32 == 0) std::this_thread::yield();
                if (random() % 4096 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
            }
            auto told = [&] { return std::all_of(peers.begin(), peers.end(), [&](int p) { return try_finish(p); }); };
            auto heard = [&] {
                return std::all_of(peers.begin(), peers.end(),
                                   [&](int p) { return with[static_cast<std::size_t>(p)].finished; });
            };
            while (!told() || !heard() || !all.end(me).flush()) { // the watchdog ends it if something is lost
                receive(false);
                std::this_thread::yield();
            }
        }
    };

    room room_;

public:
    explicit transport_stress(int n) : room_{n} {}

    void run(double seconds) {
        auto const seed = stress_seed();
        std::printf("transport_stress: %s, %d ranks, %.1f s, MPT_STRESS_SEED=%llu\n", std::string{Policy::name}.c_str(),
                    room_.size(), seconds, static_cast<unsigned long long>(seed));
        watchdog const guard{"transport_stress", std::chrono::seconds{60 + static_cast<int>(10 * seconds)}};
        auto const until = std::chrono::steady_clock::now() + std::chrono::microseconds{static_cast<long long>(seconds * 1e6)};
        std::atomic<int> failures{0};
        std::vector<std::unique_ptr<player>> players;
        std::vector<std::thread> threads;
        for (int r = 0; r < room_.size(); ++r) {
            auto& p =
                *players.emplace_back(new player{room_, failures, r, std::mt19937_64{seed + static_cast<std::uint64_t>(r)}});
            p.with.resize(static_cast<std::size_t>(room_.size()));
            p.peers = room_.reached_by(r);
        }
        for (auto& p : players) threads.emplace_back([&p, until] { p->play(until); });
        for (auto& t : threads) t.join();
        check(players);
    }

private:
    void check(std::vector<std::unique_ptr<player>> const& players) {
        std::uint64_t total = 0;
        for (auto const& a : players)
            for (int b : a->peers) {
                auto const sent = a->with[static_cast<std::size_t>(b)].sent;
                auto const got = players[static_cast<std::size_t>(b)]->with[static_cast<std::size_t>(a->me)].got;
                EXPECT_EQ(sent, got) << "from " << a->me << " to " << b;
                total += got;
            }
        EXPECT_GT(total, 0u);
        std::printf("transport_stress: %llu frames\n", static_cast<unsigned long long>(total));
    }
};

} // namespace mpt::test
