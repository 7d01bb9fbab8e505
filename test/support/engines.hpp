/// test/support/engines - n ranks of a job in one thread: their engines, driven step by step.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "job_of.hpp"
#include <mpt/protocol/engine.hpp>
#include <mpt/transport/self.hpp>
#include <mpt/transport/smp.hpp>
#include <mpt/world/threads.hpp>

namespace mpt::test {

inline constexpr protocol::protocol_set all_protocols{{8192}, {8192}, {16384}, {32768}, true, true};

template <class Transport, protocol::protocol_set Use = all_protocols> class engines {
    using world = world::threads;
    using route = transport::route<transport::self<>, Transport>;

public:
    using engine = protocol::engine<world, route, Use>;

    explicit engines(int n, protocol::engine_limits limits = {}, config::values const& v = {}) {
        for (auto const& m : job_of(n)) {
            auto& r = ranks_.emplace_back();
            r.job = std::make_unique<boot::job>(m, 1, "test");
            r.heap = std::make_unique<mem::slice_heap>(r.job->share_arena(), r.job->me(), r.job->arena().own_limit());
            memory_source const memory{[](void* heap, std::size_t size, std::size_t align) noexcept -> void* {
                                           return static_cast<mem::slice_heap*>(heap)->extent(size, align).data();
                                       },
                                       r.heap.get()};
            r.core = std::make_unique<engine>(lane_context<world>{world{}, *r.job, *r.heap, 0, 0, 1, v}, limits, memory);
        }
        for (auto& r : ranks_) r.job->arrive();
    }
    mem::slice_heap& heap(int r) { return *ranks_[static_cast<std::size_t>(r)].heap; }
    engine& operator[](int r) { return *ranks_[static_cast<std::size_t>(r)].core; }
    /// Progress on all ranks until nothing moves for a while, or `enough`.
    template <class Enough> bool run(Enough&& enough) {
        for (int idle = 0; idle < 2000; ++idle) {
            if (enough()) return true;
            for (auto& r : ranks_)
                if (r.core->progress()) idle = 0;
        }
        return enough();
    }
    void settle() {
        run([] { return false; });
    }

private:
    struct rank_state {
        std::unique_ptr<boot::job> job;
        std::unique_ptr<mem::slice_heap> heap;
        std::unique_ptr<engine> core;
    };
    std::deque<rank_state> ranks_;
};

/// Messages of one context, whose bytes tell which they are.
inline constexpr context_id here{6};

inline std::vector<std::byte> pattern(std::size_t n, unsigned seed = 1) {
    std::vector<std::byte> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>(i * 7 + seed);
    return v;
}

template <class Engine> protocol::request* start_send(Engine& e, int to, int tag, std::vector<std::byte> const& data,
                                                      protocol::send_mode mode = protocol::send_mode::standard) {
    auto* r = e.make();
    r->from = source{data}, r->peer = to, r->mode = mode, r->wanted = {here, to, tag};
    e.send(*r);
    return r;
}
template <class Engine> protocol::request* start_receive(Engine& e, int from, int tag, std::vector<std::byte>& into) {
    auto* r = e.make();
    r->into = sink{into}, r->wanted = {here, from, tag};
    e.receive(*r);
    return r;
}

} // namespace mpt::test
