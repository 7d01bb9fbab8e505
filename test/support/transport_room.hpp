/// test/support/transport_room - n ranks of one process with an endpoint per lane each, wired up: what the laws of a transport
/// are tried on.
///
///        members --- endpoints of lane 0 .. K-1 --- inbox per lane: every frame that pump() took, in order
///
///   A test drives one or more members from its own thread; the stress gives each member a thread of its own, so that
///   ThreadSanitizer sees every side.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "job_of.hpp"
#include <gtest/gtest.h>
#include <mpt/transport/transport.hpp>
#include <mpt/world/threads.hpp>
#include <poll.h>

namespace mpt::test {

/// A payload that tells where each of its bytes belongs.
inline std::byte pattern_at(std::uint64_t seed, std::size_t i) noexcept {
    auto const x = (seed + 1) * 0x9e3779b97f4a7c15u + (i + 1) * 0xbf58476d1ce4e5b9u;
    return static_cast<std::byte>(x >> 56);
}
inline void fill(std::span<std::byte> s, std::uint64_t seed) noexcept {
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = pattern_at(seed, i);
}
inline bool matches(std::span<std::byte const> s, std::uint64_t seed) noexcept {
    for (std::size_t i = 0; i < s.size(); ++i)
        if (s[i] != pattern_at(seed, i)) return false;
    return true;
}

/// Whether one of the descriptors a lane would sleep on wakes it; waits for that, longer than any machine should need.
inline bool becomes_readable(std::span<int const> fds, int ms = 10'000) {
    std::vector<pollfd> all;
    for (int fd : fds) all.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    return ::poll(all.data(), all.size(), ms) > 0;
}
inline bool is_quiet(std::span<int const> fds) { return !becomes_readable(fds, 0); }

/// How long a stress runs, in seconds: MPT_STRESS_S, else 2.
inline double stress_seconds() {
    auto const* said = std::getenv("MPT_STRESS_S");
    return said ? std::atof(said) : 2.0;
}
/// What a stress draws from: MPT_STRESS_SEED to see a failure again, else anything.
inline std::uint64_t stress_seed() {
    auto const* said = std::getenv("MPT_STRESS_SEED");
    return said ? std::strtoull(said, nullptr, 10) : std::random_device{}();
}

template <class Policy> class transport_room {
public:
    using world_type = world::threads;
    using endpoint = typename Policy::template endpoint<world_type>;

    struct letter {
        int from;
        std::uint16_t op;
        std::vector<std::byte> payload;
    };
    struct member {
        explicit member(boot::membership const& m)
            : job{m, 1, Policy::name}, heap{job.share_arena(), job.me(), job.arena().own_limit()} {}
        boot::job job;
        mem::slice_heap heap;
        std::vector<std::unique_ptr<endpoint>> lanes;
        std::vector<std::deque<letter>> inbox;
    };

    explicit transport_room(int n, unsigned lanes = 1) {
        for (auto const& m : job_of(n)) {
            auto& x = *members_.emplace_back(std::make_unique<member>(m));
            x.inbox.resize(lanes);
            for (unsigned lane = 0; lane < lanes; ++lane) {
                lane_context<world_type> const c{{}, x.job, x.heap, 0, lane, lanes};
                auto const address = x.lanes.emplace_back(std::make_unique<endpoint>(c))->local();
                x.job.publish(0, lane, std::as_bytes(std::span{&address, 1}));
            }
        }
        std::vector<std::thread> threads;
        for (auto& m : members_) threads.emplace_back([&m] { m->job.meet(); });
        for (auto& t : threads) t.join();
    }

    int size() const noexcept { return static_cast<int>(members_.size()); }
    member& at(int r) noexcept { return *members_[static_cast<std::size_t>(r)]; }
    endpoint& end(int r, unsigned lane = 0) noexcept { return *at(r).lanes[lane]; }
    std::deque<letter>& inbox(int r, unsigned lane = 0) noexcept { return at(r).inbox[lane]; }

    /// The ranks that a rank may send to.
    std::vector<int> reached_by(int r, unsigned lane = 0) {
        std::vector<int> all;
        for (int p = 0; p < size(); ++p)
            if (end(r, lane).reaches(p)) all.push_back(p);
        return all;
    }

    /// One step of a rank's progress: flush, and at most `budget` frames into the inbox.
    std::size_t pump(int r, unsigned lane = 0, std::size_t budget = 64) {
        if (at(r).lanes.empty()) return 0; // it has left
        end(r, lane).flush();
        auto& box = inbox(r, lane);
        return end(r, lane).poll(
            [&box](frame const& f) noexcept {
                box.push_back({f.from, f.op, {f.payload.begin(), f.payload.end()}});
            },
            budget);
    }
    void pump_all(unsigned lane = 0) {
        for (int r = 0; r < size(); ++r) pump(r, lane);
    }
    /// Long enough for a frame that was sent by mistake to show itself.
    void pump_for_a_while(unsigned lane = 0) {
        for (int i = 0; i < 50; ++i, std::this_thread::yield()) pump_all(lane);
    }

    /// Asks again and again until done(); false when that takes absurdly long.
    template <class Done> bool wait_until(Done done) {
        auto const end_of_patience = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        while (!done()) {
            if (std::chrono::steady_clock::now() > end_of_patience) return false;
            std::this_thread::yield();
        }
        return true;
    }
    /// The same, pumping everybody between.
    template <class Done> bool pump_until(Done done, unsigned lane = 0) {
        return wait_until([&] { return done() || (pump_all(lane), false); });
    }

    /// A cell, however often the wire says "again" before.
    typename endpoint::cell reserve(int from, int to, std::size_t n, unsigned lane = 0) {
        typename endpoint::cell c;
        pump_until([&] { return static_cast<bool>(c = end(from, lane).reserve(to, n)); }, lane);
        return c;
    }
    bool send(int from, int to, std::uint16_t op, std::span<std::byte const> bytes, unsigned lane = 0) {
        auto c = reserve(from, to, bytes.size(), lane);
        if (!c) return false;
        if (!bytes.empty()) std::memcpy(c.payload().data(), bytes.data(), bytes.size());
        end(from, lane).commit(std::move(c), op);
        return true;
    }
    /// n bytes of the pattern `seed`.
    bool send_pattern(int from, int to, std::uint16_t op, std::size_t n, std::uint64_t seed, unsigned lane = 0) {
        auto c = reserve(from, to, n, lane);
        if (!c) return false;
        fill(c.payload(), seed);
        end(from, lane).commit(std::move(c), op);
        return true;
    }
    bool receive(int r, std::size_t frames, unsigned lane = 0) {
        return pump_until([&] { return inbox(r, lane).size() >= frames; }, lane);
    }

private:
    std::vector<std::unique_ptr<member>> members_;
};

} // namespace mpt::test
