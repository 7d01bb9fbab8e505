/// test/support/smp_pair - endpoints of transport::smp for n ranks inside one thread: deterministic tests of both sides.
#pragma once
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <mpt/transport/smp.hpp>
#include <mpt/world/threads.hpp>

#include "job_of.hpp"

namespace mpt::test {

/// Every rank's job, heap and endpoint. Ranks join from threads of their own, because meeting waits; then one thread drives all.
template <class Transport = transport::smp<>, class World = world::threads> class smp_ranks {
public:
    using endpoint = typename Transport::template endpoint<World>;

private:
    struct one {
        boot::job job;
        mem::slice_heap heap;
        endpoint end;
        one(boot::membership const& m, smp::settings const& s, unsigned lane)
            : job{m, 1, "test"}, heap{job.share_arena(), job.me(), job.arena().own_limit()},
              end{lane_context<World>{World{}, job, heap, 0, lane, lane + 1, {}}, s} {
            auto const a = end.local();
            job.publish(0, lane, std::as_bytes(std::span{&a, 1}));
            job.meet();
        }
    };
    std::vector<std::unique_ptr<one>> ranks_;

public:
    explicit smp_ranks(int n, smp::settings const& s = {}, unsigned lane = 0) : ranks_(static_cast<std::size_t>(n)) {
        auto const members = job_of(n);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < ranks_.size(); ++i)
            threads.emplace_back([&, i] { ranks_[i] = std::make_unique<one>(members[i], s, lane); });
        for (auto& t : threads) t.join();
    }
    endpoint& operator[](std::size_t i) noexcept { return ranks_[i]->end; }
    mem::slice_heap& heap(std::size_t i) noexcept { return ranks_[i]->heap; }
    boot::job& job(std::size_t i) noexcept { return ranks_[i]->job; }
    std::size_t size() const noexcept { return ranks_.size(); }
};

template <class E> bool send_text(E& e, rank to, std::string_view text, std::uint16_t op = 1) {
    auto c = e.reserve(to, text.size());
    if (!c) return false;
    std::memcpy(c.payload().data(), text.data(), text.size());
    e.commit(std::move(c), op);
    return true;
}
template <class E, class T> bool send_value(E& e, rank to, T const& v, std::uint16_t op = 1) {
    return send_text(e, to, {reinterpret_cast<char const*>(&v), sizeof v}, op);
}
template <class T> T value_of(frame const& f) {
    T v{};
    std::memcpy(&v, f.payload.data(), std::min(sizeof v, f.payload.size()));
    return v;
}
inline std::string text_of(frame const& f) { return {reinterpret_cast<char const*>(f.payload.data()), f.payload.size()}; }
/// All that comes, as "from:op:text ".
template <class E> std::string drain(E& e) {
    std::string all;
    auto sink = [&](frame const& f) { all += std::to_string(f.from) + ':' + std::to_string(f.op) + ':' + text_of(f) + ' '; };
    do e.bell(); // the poll that follows looks everywhere
    while (e.poll(sink, 8));
    return all;
}

} // namespace mpt::test
