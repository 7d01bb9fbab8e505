/// coll/under_way - a collective's messages that are under way at once, each with a request.
///
///        receive, receive, ... send, send, ...    finish(check) ---> all have ended; then check(outcome, peer, bytes) of each, in that order
///
///   Memory   one block for all; a request for each, but for sends that leave at once.
///   Errors   what an exception leaves of them is given up, and waited for where peers may still touch the data.
///   Tests    test/coll_under_way_test.cpp
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpt/stack/p2p.hpp>

namespace mpt::inline v0::coll::detail {

template <class Stack> class under_way {
    struct message {
        protocol::request* r;
        std::int32_t peer;
        waiting about;
        outcome end;
    };
    channel<Stack> wire_;
    tag label_;
    std::vector<message> all_;
    std::size_t ended_ = 0; // the first ones

public:
    under_way(channel<Stack> wire, tag label, std::size_t most) : wire_{wire}, label_{label} { all_.reserve(most); }
    under_way(under_way const&) = delete;
    ~under_way() {
        for (; ended_ < all_.size(); ++ended_) give_up(all_[ended_]);
    }
    void receive(std::int32_t from, rank world, sink const& into) {
        auto* const r = wire_.start_recv(world, label_, into);
        all_.push_back({r, from, {wait_for::receive, wire_.context(), world, label_, into.size()}, {}});
    }
    void send(std::int32_t to, rank world, source const& data) {
        if (auto const bytes = data.contiguous(); bytes && wire_.try_send(world, label_, *bytes)) return;
        auto* const r = wire_.start_send(world, label_, data);
        all_.push_back({r, to, {wait_for::send, wire_.context(), world, label_, data.size()}, {}});
    }
    /// Waits for all, or until it is in vain: then one is given up, and the others are where this ends.
    template <class Stop> void wait(Stop& stop) {
        for (; ended_ < all_.size(); ++ended_) {
            auto& m = all_[ended_];
            m.end = wire_.finish(*m.r, m.about, stop);
            if (m.end.how == status::cancelled) return void(++ended_);
        }
    }
    /// Waits for all. check(outcome, peer, bytes) of each.
    template <class Check> void finish(Check const& check) {
        for (; ended_ < all_.size(); ++ended_) all_[ended_].end = wire_.finish(*all_[ended_].r, all_[ended_].about);
        for (auto const& m : all_) check(m.end, m.peer, m.about.size);
    }

private:
    void give_up(message const& m) const noexcept {
        try {
            wire_.abandon(*m.r, m.about);
        } catch (error const&) { // the job is over: nobody will touch the data any more
        }
    }
};

} // namespace mpt::inline v0::coll::detail
