/// stack/p2p - point-to-point operations on bytes: what collectives and facades are made of.
///
///   A channel is a lane and a context; ranks are world ranks, sizes bytes. Nothing here knows a communicator's group, a
///   datatype or an error policy: those are the facades'.
///
///        send(p, n)    send_now: one cache line written, or ---> request, wait
///        recv(p, n)    receive_now on the peer's wire while nothing else is posted or kept, or ---> request, wait
///
///   Cost      the fast paths take no request, no matching table, no allocation, no system call.
///   Memory    buffers belong to the operation until it completes. MPI-4.1 section 3.4, 3.7.
#pragma once
#include <mpt/stack/lane.hpp>

namespace mpt::inline v0 {

using protocol::outcome, protocol::send_mode;

template <class Stack> class channel {
    using engine_type = typename Stack::engine_type;

    lane<Stack>* lane_;
    context_id context_;

public:
    using stack_type = Stack;

    channel(lane<Stack>& l, context_id c) noexcept : lane_{&l}, context_{c} {}

    lane<Stack>& on() const noexcept { return *lane_; }
    context_id context() const noexcept { return context_; }
    /// The same lane, the collective side of the context.
    channel collective() const noexcept { return {*lane_, mpt::collective(context_)}; }

    /// Throws mpt::error(unreachable), with what each transport says, where none reaches the peer. Every operation that names
    /// such a peer throws it, before it has done anything; what others send and receive goes on.
    void reach(rank peer) const {
        lane_->enter([&](engine_type& e) { must_reach(e, peer); });
    }

    // --- blocking ---------------------------------------------------------------------------------------------------------
    void send(rank to, tag label, std::span<std::byte const> data) const {
        if (try_send(to, label, data)) [[likely]]
            return;
        send_long(to, label, source{data}, send_mode::standard);
    }
    /// A value, whose size the compiler knows: the code for it is made in place, a third shorter.
    template <std::size_t N>
        requires(N != std::dynamic_extent)
    [[gnu::always_inline]] void send(rank to, tag label, std::span<std::byte const, N> data) const {
        if (send_now(to, label, data.data(), N)) [[likely]]
            return;
        send_long(to, label, source{data}, send_mode::standard);
    }
    /// Sends what fits a frame if nothing stands in its way; false: nothing was sent.
    [[gnu::noinline]] bool try_send(rank to, tag label, std::span<std::byte const> data) const noexcept {
        return send_now(to, label, data.data(), data.size());
    }
    /// What the caller would have to copy otherwise, of any layout: it has left when it comes back. False: nothing was sent.
    bool try_send_copied(rank to, tag label, source const& data) const noexcept {
        return try_send(to, label, data) || lane_->enter([&](engine_type& e) { return e.lend_now(to, context_, label, data); });
    }
    void ssend(rank to, tag label, std::span<std::byte const> data) const { ssend(to, label, source{data}); }
    template <std::same_as<source> S> void ssend(rank to, tag label, S const& data) const {
        send_long(to, label, data, send_mode::synchronous);
    }
    /// The same of a value.
    template <std::size_t N>
        requires(N != std::dynamic_extent)
    [[gnu::always_inline]] bool try_send(rank to, tag label, std::span<std::byte const, N> data) const noexcept {
        return send_now(to, label, data.data(), N);
    }
    /// Of any layout: what is contiguous.
    template <std::same_as<source> S> bool try_send(rank to, tag label, S const& data) const noexcept {
        auto const bytes = data.contiguous();
        return bytes && try_send(to, label, *bytes);
    }
    /// Receives at most into.size() bytes; the outcome says truncated when the message was longer. from may be any_source.
    outcome recv(rank from, tag label, std::span<std::byte> into) const {
        if (from != any_source)
            if (auto const got = try_recv(from, label, into)) [[likely]]
                return outcome_of(from, got, into.size());
        return recv_long(from, label, sink{into}, nullptr, nullptr);
    }
    /// Looks for a message for a while, where nothing is posted or kept. from: not any_source. False: nothing was received.
    [[gnu::noinline]] protocol::received try_recv(rank from, tag label, std::span<std::byte> into) const noexcept {
        return spin_for(from, label, into.data(), into.size());
    }
    /// Takes a small message that is here already, where nothing is posted or kept. One look: a message that is not here costs a few
    /// loads of lines that this processor has, and is received by a request. Into more room than what goes in frames nothing is
    /// received: a longer message would be kept as one that nobody awaits. from: not any_source. False: nothing was received.
    template <std::size_t N> [[gnu::always_inline]] protocol::received
    receive_if_here(rank from, tag label, std::span<std::byte, N> into) const noexcept {
        if (into.size() + sizeof(protocol::wire::e0) > Stack::route_type::max_stretch) return {};
        return lane_->enter([&](engine_type & e) __attribute__((always_inline)) {
            return e.quiet() ? e.look_now(from, context_, label, into.data(), into.size()) : protocol::received{};
        });
    }
    template <std::same_as<sink> S> protocol::received receive_if_here(rank from, tag label, S const& into) const noexcept {
        auto const bytes = into.contiguous();
        return bytes ? receive_if_here(from, label, *bytes) : protocol::received{};
    }
    static outcome outcome_of(rank from, protocol::received const& got, std::size_t room) noexcept {
        auto const n = static_cast<std::uint64_t>(got.bytes);
        return {from, tag{got.label}, n, n <= room ? status::ok : status::truncated};
    }
    /// A value, in place.
    template <std::size_t N>
        requires(N != std::dynamic_extent)
    [[gnu::always_inline]] outcome recv(rank from, tag label, std::span<std::byte, N> into) const {
        if (from != any_source)
            if (auto const got = spin_for(from, label, into.data(), N)) [[likely]]
                return outcome_of(from, got, N);
        return recv_long(from, label, sink{into}, nullptr, nullptr);
    }
    /// Data of any layout; what is contiguous goes as above.
    template <std::same_as<source> S> void send(rank to, tag label, S const& data) const {
        if (auto const bytes = data.contiguous()) return send(to, label, *bytes);
        send_long(to, label, data, send_mode::standard);
    }
    template <std::same_as<sink> S> outcome recv(rank from, tag label, S const& into) const {
        if (auto const bytes = into.contiguous()) return recv(from, label, *bytes);
        return recv_long(from, label, into, nullptr, nullptr);
    }
    /// Receives a message of unknown size: provide(request, bytes) sets request.into once the size is known.
    outcome recv_provided(rank from, tag label, status (*provide)(protocol::request&, std::uint64_t), void* user) const {
        return recv_long(from, label, sink{}, provide, user);
    }
    /// The first half of a sendrecv, where nothing stands in its way: it travels while the other message is looked for. False: nothing was
    /// sent, and the other message is to be asked for first. Throws where one of the two is not reached.
    template <class Source> bool sent_first(rank to, tag label, Source const& data, rank from) const {
        lane_->enter([&](engine_type& e) { must_reach(e, to), must_reach(e, from); });
        return try_send(to, label, data);
    }
    /// Both at once, without a deadlock. MPI-4.1 section 3.10.
    outcome sendrecv(rank to, tag out_label, std::span<std::byte const> data, rank from, tag in_label,
                     std::span<std::byte> into) const {
        if (sent_first(to, out_label, data, from)) [[likely]]
            return recv(from, in_label, into);
        waiting const about{wait_for::receive, context_, from, in_label, into.size()};
        return finish(*begun(from, in_label, sink{into}, about, [&] { send(to, out_label, data); }), about);
    }
    /// A receive that is begun, and then something else done; where that throws, it is given up.
    template <class Then>
    protocol::request* begun(rank from, tag label, sink into, waiting const& about, Then const& then) const {
        auto* const in = start_recv(from, label, into);
        try {
            return then(), in;
        } catch (...) {
            abandon(*in, about);
            throw;
        }
    }

    // --- blocking, until it is in vain ------------------------------------------------------------------------------------------
    /// The same three for data of any layout. A wait asks stop() now and then, under the lane's lock: where it says true the
    /// operation is given up, and the outcome says cancelled. stop() goes on saying so.
    template <class Stop> outcome send(rank to, tag label, source const& data, Stop& stop) const {
        if (auto const bytes = data.contiguous(); bytes && try_send(to, label, *bytes)) [[likely]]
            return {};
        return finish(*start_send(to, label, data), {wait_for::send, context_, to, label, data.size()}, stop);
    }
    template <class Stop> outcome recv(rank from, tag label, sink const& into, Stop& stop) const {
        if (auto const bytes = into.contiguous())
            if (auto const got = try_recv(from, label, *bytes)) [[likely]]
                return outcome_of(from, got, bytes->size());
        return finish(*start_recv(from, label, into), {wait_for::receive, context_, from, label, into.size()}, stop);
    }
    template <class Stop>
    outcome sendrecv(rank to, source const& data, rank from, sink const& into, tag label, Stop& stop) const {
        if (sent_first(to, label, data, from)) [[likely]]
            return recv(from, label, into, stop);
        waiting const about{wait_for::receive, context_, from, label, into.size()};
        return finish(*begun(from, label, into, about, [&] { send(to, label, data, stop); }), about, stop);
    }

    // --- non-blocking -------------------------------------------------------------------------------------------------------
    /// The request is the caller's until finish() or test() gave its outcome. Throws mpt::error(no_memory).
    protocol::request* start_send(rank to, tag label, source data, send_mode mode = send_mode::standard) const {
        return lane_->enter([&](engine_type& e) { return sent(e, to, label, data, mode); });
    }
    /// The same for a send of which nothing but errors is asked later. nullptr: it is over, and went well.
    protocol::request* begin_send(rank to, tag label, source data, send_mode mode) const {
        return lane_->enter([&](engine_type& e) {
            auto* r = sent(e, to, label, data, mode);
            if (r->complete && r->result.how == status::ok) e.drop(*std::exchange(r, nullptr));
            return r;
        });
    }
    protocol::request* start_recv(rank from, tag label, sink into,
                                  status (*provide)(protocol::request&, std::uint64_t) = nullptr, void* user = nullptr) const {
        return lane_->enter([&](engine_type& e) {
            must_reach(e, from);
            auto* r = fresh(e);
            r->into = into, r->wanted = {context_, from, label}, r->provide = provide, r->user = user;
            e.receive(*r);
            if (r->complete && !r->matched && r->result.how == status::no_memory) [[unlikely]]
                e.drop(*r), lane_->no_request(); // the tables had no room for it
            return r;
        });
    }
    /// A request of an operation that is somebody else's: complete() ends it, from any thread, once.
    protocol::request* start_user() const {
        return lane_->enter([&](engine_type& e) {
            auto* r = fresh(e);
            r->kind = protocol::role::task, r->at = protocol::phase::parked;
            r->wanted = {context_, any_source, any_tag};
            return r;
        });
    }
    void complete(protocol::request& r, outcome const& how) const {
        lane_->enter([&](engine_type& e) {
            r.result = how;
            e.finish(r, how.how);
        });
    }
    /// Waits, gives the outcome, and drops the request.
    outcome finish(protocol::request& r, waiting const& about) const {
        return finish(r, [&about] { return about; });
    }
    /// about(): what it is about, asked for where there is something to wait for.
    template <std::invocable About> outcome finish(protocol::request& r, About const& about) const {
        outcome out;
        rank peer = any_source;
        auto const take = [&](engine_type& e) {
            if (!r.complete) return peer = r.awaited(), false;
            out = r.result;
            e.drop(r);
            return true;
        };
        if (!lane_->enter(take)) lane_->wait(about(), take, &r, peer);
        return out;
    }
    template <class Stop> outcome finish(protocol::request& r, waiting const& about, Stop& stop) const {
        bool in_vain = false;
        lane_->wait(about, [&](engine_type&) { return r.complete || (in_vain = stop()); });
        if (!in_vain) [[likely]]
            return collect(r);
        abandon(r, about);
        return {about.peer, about.label, 0, status::cancelled};
    }
    /// Gives a request up whose buffer is about to go: withdraws it where that can be done, and where its message is under way
    /// waits for the end of that. What the peer has not matched it forgets at its next progress; a peer that an exception has
    /// taken out of its environment is not waited for.
    void abandon(protocol::request& r, waiting const& about) const {
        cancel(r);
        lane_->wait(about, [&](engine_type& e) {
            if (!r.complete && lane_->has_failed(r.peer)) [[unlikely]]
                e.forsake(r);
            return r.complete;
        });
        collect(r);
    }
    /// One round of progress; true: complete (collect it). Throws when the job was ended.
    bool test(protocol::request& r) const {
        bool const complete = lane_->enter([&](engine_type&) {
            if (!r.complete) lane_->step();
            return r.complete;
        });
        if (!complete) lane_->go_on_polling();
        return complete;
    }
    /// The outcome of a complete request, which is dropped.
    outcome collect(protocol::request& r) const {
        auto const out = r.result;
        lane_->enter([&](engine_type& e) { e.drop(r); });
        return out;
    }
    bool cancel(protocol::request& r) const {
        return lane_->enter([&](engine_type& e) { return e.cancel(r); });
    }

    // --- probe: the earliest message that fits, if one is here. MPI-4.1 section 3.8.1. Defined in stack/p2p/probe.hpp. ---------------
    bool iprobe(rank from, tag label, outcome& out) const;
    outcome probe(rank from, tag label) const;
    /// Matched probe: the message is the caller's, and only recv(arrival) gets it. nullptr: none is here. Section 3.8.2.
    protocol::arrival* improbe(rank from, tag label) const;
    protocol::arrival* mprobe(rank from, tag label) const;
    outcome recv(protocol::arrival& taken, std::span<std::byte> into) const {
        if (taken.is_whole()) {
            auto const from = taken.from;
            return outcome_of(from, lane_->enter([&](engine_type& e) { return e.take_out(taken, into); }), into.size());
        }
        return finish(*start_recv(taken, sink{into}), {wait_for::receive, context_, any_source, any_tag, into.size()});
    }
    protocol::request* start_recv(protocol::arrival& taken, sink into) const {
        return lane_->enter([&](engine_type& e) {
            auto* r = fresh(e);
            r->into = into, r->wanted = {taken.context, taken.from, taken.label};
            e.receive(*r, taken);
            return r;
        });
    }

private:
    sight peek(engine_type& e, rank from, tag label, outcome& out) const;
    void must_reach(engine_type& e, rank peer) const {
        if (peer != any_source && !e.reaches(peer)) [[unlikely]]
            unreachable(e, peer);
    }
    [[noreturn, gnu::noinline]] void unreachable(engine_type& e, rank peer) const {
        throw error{errc::unreachable, "mpt: rank " + std::to_string(lane_->me().value) + " cannot reach rank " +
                                           std::to_string(peer.value) + ": no transport of its stack does (" + e.why_not(peer) +
                                           "). All ranks count as in the whole job."};
    }
    protocol::request* sent(engine_type& e, rank to, tag label, source const& data, send_mode mode) const {
        must_reach(e, to);
        auto* r = fresh(e);
        r->from = data, r->peer = to, r->mode = mode;
        r->wanted = {context_, to, label};
        e.send(*r);
        return r;
    }
    protocol::request* fresh(engine_type& e) const {
        auto* r = e.make();
        if (!r) [[unlikely]]
            lane_->no_request();
        return r;
    }

    [[gnu::always_inline]] bool send_now(rank to, tag label, std::byte const* data, std::size_t n) const {
        return lane_->enter([&](engine_type & e)
                                __attribute__((always_inline)) { return e.send_now(to, context_, label, data, n); });
    }
    static constexpr unsigned brief = 256; // looks of a receive that are made in place
    /// going: whether it makes sense to look on.
    [[gnu::always_inline]] protocol::received look(engine_type& e, rank from, tag label, std::byte* into, std::size_t room,
                                                   bool& going) const noexcept {
        going = e.quiet();
        if (!going) [[unlikely]]
            return e.take_kept({context_, from, label}, {into, room});
        auto const seen = e.receive_now(from, context_, label, into, room);
        if (!seen && lane_->looked_in_vain()) [[unlikely]]
            going = false; // others look already: see lane::wait
        return seen;
    }
    [[gnu::always_inline]] protocol::received spin_for(rank from, tag label, std::byte* into, std::size_t room) const noexcept {
        auto const spins = lane_->looks();
        bool going = true;
        for (unsigned i = engine_type::looks; i <= spins && i < brief; i += engine_type::looks) {
            auto const got = lane_->enter([&](engine_type & e) __attribute__((always_inline)) {
                return look(e, from, label, into, room, going);
            });
            if (got || !going) return got;
        }
        return spins < brief ? protocol::received{} : spin_longer(from, label, into, room);
    }
    /// Every 256th look (2 us) is a full round, or who needs us would starve. Not oftener: a round does not know that the message is awaited,
    /// and keeps it as unexpected. Leaving costs one request, and is right where more threads of the rank wait than it has CPUs.
    [[gnu::noinline]] protocol::received spin_longer(rank from, tag label, std::byte* into, std::size_t room) const noexcept {
        passer on_its_way{lane_->of_rank()};
        bool going = true;
        for (unsigned i = brief; i <= lane_->looks(); i += engine_type::looks) {
            auto const got = lane_->enter([&](engine_type& e) {
                auto const seen = look(e, from, label, into, room, going);
                if (seen || !going || i % brief != 0) return seen;
                going = e.reaches(from) && !(lane_->has_others() && on_its_way.is_one_too_many());
                if (going) e.progress();
                return seen;
            });
            if (got || !going) return got;
        }
        return {};
    }
    void send_long(rank to, tag label, source data, send_mode mode) const {
        auto* r = start_send(to, label, data, mode);
        finish(*r, {wait_for::send, context_, to, label, data.size()});
    }
    outcome recv_long(rank from, tag label, sink into, status (*provide)(protocol::request&, std::uint64_t), void* user) const {
        auto* r = start_recv(from, label, into, provide, user);
        return finish(*r, {wait_for::receive, context_, from, label, into.size()});
    }
};

} // namespace mpt::inline v0

#include <mpt/stack/p2p/probe.hpp>
