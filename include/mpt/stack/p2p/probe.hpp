/// stack/p2p/probe - whether a message is here, and of what size, before it is received. Included by stack/p2p.hpp.
///
///        probe    look at the wire, and leave the message there --> found      else wait for one that is kept
///        iprobe   the same look, once; where that cannot tell, a round and a look at what is kept
///        mprobe   the same: it is taken from the wire, or out of what is kept, and no other receive gets it
///
///   Source    MPI-4.1 section 3.8
///   Tests     test/stack_probe_test.cpp
#pragma once
#include <mpt/stack/p2p.hpp>

namespace mpt::inline v0 {

template <class Stack> sight channel<Stack>::peek(engine_type& e, rank from, tag label, outcome& out) const {
    must_reach(e, from);
    return lane_->is_over() ? sight::unsure : e.peek({context_, from, label}, out);
}

template <class Stack> bool channel<Stack>::iprobe(rank from, tag label, outcome& out) const {
    bool due = false;
    bool const found = lane_->enter([&](engine_type& e) {
        auto const seen = peek(e, from, label, out);
        if (seen == sight::frame && !(due = lane_->found())) return true;
        if (seen == sight::nothing && e.idle_beside(from)) return lane_->looked_in_vain(), false;
        auto* a = e.find({context_, from, label});
        if (!a || due) lane_->step(), a = e.find({context_, from, label});
        if (a) out = {a->from, a->label, a->size, status::ok};
        return a != nullptr;
    });
    if (!found) lane_->go_on_polling();
    else if (due) lane_->follow(), lane_->serve_others();
    return found;
}

template <class Stack> outcome channel<Stack>::probe(rank from, tag label) const {
    outcome out;
    auto seen = sight::nothing;
    auto const most = std::min<std::uint32_t>(lane_->looks(), brief); // then whoever else needs this rank has its turn
    for (std::uint32_t i = 0; i <= most && seen == sight::nothing; ++i)
        seen = lane_->enter([&](engine_type& e) {
            auto const now = peek(e, from, label, out);
            return now == sight::nothing && lane_->looked_in_vain() ? sight::unsure : now;
        });
    if (seen == sight::frame) return out;
    auto const find = [&](engine_type& e) {
        auto* a = e.find({context_, from, label});
        if (a) out = {a->from, a->label, a->size, status::ok};
        return a != nullptr;
    };
    if (!lane_->enter(find)) lane_->wait({wait_for::probe, context_, from, label, 0}, find, nullptr, from);
    return out;
}

template <class Stack> protocol::arrival* channel<Stack>::improbe(rank from, tag label) const {
    bool due = false;
    auto* const taken = lane_->enter([&](engine_type& e) {
        must_reach(e, from);
        auto* a = e.take({context_, from, label});
        if (!a) lane_->step(), a = e.take({context_, from, label});
        due = a && lane_->found();
        return a;
    });
    if (!taken) lane_->go_on_polling();
    else if (due) lane_->follow(), lane_->serve_others();
    return taken;
}

/// Now and then a round is due after one that was found, so that all have their turns.
template <class Stack> protocol::arrival* channel<Stack>::mprobe(rank from, tag label) const {
    protocol::arrival* a = nullptr;
    bool going = from != any_source, due = false;
    auto const most = std::min<std::uint32_t>(lane_->looks(), brief);
    for (std::uint32_t i = 0; i <= most && going && !a; i += engine_type::looks)
        lane_->enter([&](engine_type& e) {
            must_reach(e, from);
            going = e.quiet() && e.is_at_rest() && !lane_->is_over();
            if (!going) return;
            a = e.take_now({context_, from, label});
            if (!a) going = !lane_->looked_in_vain();
            else if (due = lane_->found(); due) lane_->step();
        });
    if (due) lane_->follow(), lane_->serve_others();
    auto const take = [&](engine_type& e) { return must_reach(e, from), (a = e.take({context_, from, label})) != nullptr; };
    if (!a && !lane_->enter(take)) lane_->wait({wait_for::probe, context_, from, label, 0}, take, nullptr, from);
    return a;
}

} // namespace mpt::inline v0
