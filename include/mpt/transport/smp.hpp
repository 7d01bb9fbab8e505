/// transport::smp - ranks of one node, through cache lines that they share.
///
///        what goes                        how                                                     where it is explained
///        --------------------------------------------------------------------------------------------------------------
///        a frame of up to 52 bytes        one cache line: the pair's turn line, or its ring       smp/channel, line, ring,
///                                                                                                 turn_line
///        one of up to 276 bytes           several cells of the ring, or two lines as an answer     smp/stretched
///        an eager message above that      a buffer of the sender's, read in place                 smp/pool
///          the first few at a time        buffers that the pair passes to and fro                 smp/passed_buffers
///        a large message                  the receiver reads the sender's memory                  smp/copy
///          both ranks wait                both copy, from both ends                               smp/joint
///        "look here" (many ranks)         a counter on the receiver's board                       smp/board
///        "wake up"                        the lane's doorbell                                     wait/doorbell
///
///   Order    frames of a pair arrive in reserve() order, over turn line and ring. All hand-overs have names: see the parts.
///   Memory   everything lies in the slice of the rank that reads it first, but loans and tickets, which are the sender's, and passed
///            buffers, which are their maker's.
///            16.25 KiB per peer that ever sent to us, nothing for the others where a node has more than MPT_HOT_PEERS ranks.
///   Cost     a frame: one line transfer as an answer, two in a stream. An empty poll: two cached loads per hot peer, and
///            above MPT_HOT_PEERS ranks a sweep of ranks / 16 lines.
///   Limit    ranks of one node. Does not reach the rank itself: transport::self does. A cell that dies uncommitted becomes a
///            padding frame; several cells to a peer may be open at once, and go out in the order they were reserved.
///   Tests    test/transport_smp_test.cpp, test/transport_smp_stress_test.cpp, test/model/
#pragma once
#include <utility>

#include <mpt/core/processor.hpp>
#include <mpt/transport/smp/lending.hpp>
#include <mpt/transport/smp/stretched.hpp>

namespace mpt::inline v0::transport {

/// First: what all counters start from; 0, or in tests a value that is about to wrap.
template <std::uint32_t First = 0> struct basic_smp {
    using kind = mpt::kind::transport;
    static constexpr std::string_view name = "smp";
    static constexpr transport_facts facts{.max_frame = {smp::line_room},
                                           .max_stretch = {std::max(smp::pair_room, smp::stretch_room)},
                                           .ordered = true,
                                           .cross_process = true,
                                           .lends = true,
                                           .reads = true,
                                           .joins = true};

    template <class World> class endpoint;
};

template <std::uint32_t First> template <class World> class basic_smp<First>::endpoint : public smp::lending<World> {
    using base = smp::lending<World>;
    using base::heap_;
    using base::peers_;
    using atomics = typename World::atomics;
    using typename base::peers_type;
    using channel_type = typename peers_type::channel_type;
    using line_type = smp::line<atomics>;

    static constexpr std::size_t burst = 16;          // frames of one peer before the next peer's turn
    static constexpr std::uint32_t patience = 4096;   // empty polls before a peer is no longer hot
    static constexpr std::uint32_t turns_of_one = 32; // frames that are shown between two polls
    static constexpr std::uint32_t sweep_every = 8;   // polls between two looks at the board, while somebody is hot

    smp::hot_set hot_;
    smp::ticket_book tickets_;
    std::uint32_t start_ = 0; // of the hot set: who is polled first
    std::uint32_t polls_ = 0, shown_ = 0;
    bool const dense_;
    bool thorough_ = false; // the next poll looks at the board

public:
    static constexpr transport_facts facts = basic_smp::facts;
    using address = smp::lane_address;
    using typename base::loan;

    /// One frame under construction.
    class [[nodiscard]] cell {
        friend endpoint;
        smp::slot<atomics> slot_{};
        channel_type* to_ = nullptr;
        std::uint16_t size_ = 0;
        cell(smp::slot<atomics> s, channel_type& to, std::size_t n) noexcept
            : slot_{s}, to_{&to}, size_{static_cast<std::uint16_t>(n)} {}

    public:
        cell() = default;
        cell(cell&& o) noexcept : slot_{std::exchange(o.slot_, {})}, to_{o.to_}, size_{o.size_} {}
        cell& operator=(cell&& o) noexcept {
            if (this != &o) {
                abandon();
                slot_ = std::exchange(o.slot_, {});
                to_ = o.to_;
                size_ = o.size_;
            }
            return *this;
        }
        ~cell() { abandon(); }
        explicit operator bool() const noexcept { return slot_.at != nullptr; }
        std::span<std::byte> payload() noexcept { return {slot_.at->payload.data(), size_}; }

    private:
        void abandon() noexcept {
            if (slot_.at != nullptr) slot_.at->publish(smp::padding_size, 0, slot_.number);
        }
    };

    explicit endpoint(lane_context<World> const& c) : endpoint{c, smp::settings::of(c.config)} {}
    endpoint(lane_context<World> const& c, smp::settings const& s)
        : base{c, s, First}, hot_{peers_.size()}, tickets_{First}, dense_{peers_.dense()} {
        if (!dense_) return;
        for (std::size_t i = 0; i < peers_.size(); ++i)
            if (rank{i} != peers_.me()) hot_.insert(i);
    }

    address local() noexcept { return peers_.address(); }
    bool reaches(rank p) noexcept { return p != peers_.me() && exists(p) && peers_.find(p); }
    std::string_view why_not(rank p) const noexcept {
        return p == peers_.me() ? "carries only messages between different ranks" : peers_.why_unknown(p);
    }

    // What a small message calls is inlined whatever its size: as calls these cost a third of a send.
    // --- frames -----------------------------------------------------------------------------------------------------------

    [[gnu::always_inline]] cell reserve(rank p, std::size_t n) noexcept {
        if (n > smp::line_room) [[unlikely]]
            return {};
        auto& c = peers_.channel_of(p);
        auto s = c.reserve();
        if (s.at == nullptr) [[unlikely]]
            if (!first_slot(p, c, s)) return {};
        return cell{s, c, n};
    }

    [[gnu::always_inline]] void commit(cell&& c, std::uint16_t op) noexcept {
        publish(*c.to_, std::exchange(c.slot_, {}), c.size_, op);
    }

    bool our_turn(rank p) noexcept { return peers_.channel_of(p).our_turn(); }
    /// A long frame. Two lines, if it is our turn: the one flag brings both. Half way of 64 bytes: 80 ns in place of 115 by two frames.
    /// Else in several cells of the ring.
    template <class Fill> [[gnu::always_inline]] bool stretch(rank p, std::size_t n, std::uint16_t op, Fill&& fill) noexcept {
        auto& c = peers_.channel_of(p);
        if (n <= smp::line_room || n > facts.max_stretch) return false;
        if (!c.sends() && (!exists(p) || p == peers_.me() || !peers_.join(p))) [[unlikely]]
            return false;
        if (c.our_turn()) {
            if (n > smp::pair_room) return false;
            auto const s = c.reserve_turn();
            fill(0, std::span{s.at->long_front(), n});
            publish(c, s, n, op);
            return true;
        }
        std::uint64_t number = 0;
        auto const cells = c.reserve_cells(smp::cells_for(n), number);
        if (!cells) return false;
        smp::along_cells(cells, n, fill);
        publish(c, {&cells[0], number}, n | smp::in_cells, op);
        return true;
    }

    template <class Sink> std::size_t poll(Sink&& sink, std::size_t budget) noexcept {
        std::size_t done = 0;
        auto const members = hot_.members();
        for (std::size_t k = 0; k < members.size() && done < budget; ++k) {
            if (start_ >= members.size()) start_ = 0;
            auto const p = members[start_++];
            auto const got = drain(rank{p}, sink, std::min(burst, budget - done));
            done += got;
            if (!dense_ && hot_.cooled(p, got != 0, patience)) [[unlikely]] {
                hot_.erase(p);
                break; // the set has changed: the rest has its turn next time
            }
        }
        if (!dense_ && (members.empty() || thorough_ || ++polls_ % sweep_every == 0)) [[unlikely]]
            done += sweep(sink, budget - done);
        return done;
    }

    template <class Sink> [[gnu::always_inline]] std::size_t poll_from(rank p, Sink&& sink) noexcept {
        auto const how = peers_.how_to_look();
        if (auto const n = drain(p, sink, 1, how)) return n;
        if (how == smp::look::owning) World::atomics::rest(); // the peer needs the line for a moment
        if (dense_ || peers_.channel_of(p).receives()) [[likely]]
            return 0;
        if (peers_.counts().look(static_cast<std::size_t>(p))) welcome(p);
        return 0;
    }

    /// The same look by a rank that goes on whether there is something or not: a load of a line that is in its own cache, unless the peer
    /// has written it.
    template <class Sink> [[gnu::always_inline]] std::size_t glance(rank p, Sink&& sink) noexcept { return drain(p, sink, 1); }

    template <class Sink> sight peek(rank p, Sink&& sink) noexcept {
        if (!dense_ && !peers_.channel_of(p).receives()) [[unlikely]]
            return sight::unsure;
        return show_front(p, sink, peers_.how_to_look());
    }
    /// A poll that follows begins with the peer that was shown: who receives from any source then gets the same message. Now and then a poll
    /// is due all the same, so that all have their turns.
    template <class Sink> sight peek(Sink&& sink) noexcept {
        auto const members = hot_.members();
        if (!dense_ && (members.empty() || thorough_ || ++polls_ % sweep_every == 0)) [[unlikely]]
            return thorough_ = true, sight::unsure;
        auto seen = sight::nothing;
        for (auto left = members.size(); left != 0 && seen == sight::nothing; --left) {
            if (start_ >= members.size()) start_ = 0;
            seen = show_front(rank{members[start_]}, sink, members.size() == 1 ? peers_.how_to_look() : smp::look::loading);
            if (seen == sight::nothing) ++start_;
        }
        return seen == sight::frame && ++shown_ % turns_of_one == 0 ? sight::unsure : seen;
    }

    /// How many looks of poll_from() are one turn of a waiting rank: about 60 ns.
    unsigned looks() const noexcept { return peers_.how_to_look() == smp::look::owning ? 2 : 16; }

    bool flush() noexcept { return true; }
    std::span<int const> descriptors() noexcept { return {}; }
    /// Whoever asks for the bell may be about to sleep: the poll after it misses nobody.
    wait::doorbell<World>& bell() noexcept {
        thorough_ = true;
        return peers_.block().bell;
    }

    /// The bell of a peer's lane, for who shows it what is no frame; nullptr: its memory is not known here.
    wait::doorbell<World>* bell_of(rank p) noexcept { return peers_.find(p) ? &peers_.channel_of(p).far()->bell : nullptr; }

    /// How a peer's memory is reached: a copy of one's own, for who needs no lane for it; nothing: it is not known here.
    std::optional<smp::reach> reach_of(rank p) {
        if (!peers_.find(p)) return std::nullopt;
        return peers_.memory_of(p);
    }

    // --- one copy ---------------------------------------------------------------------------------------------------------

    remote_memory expose(std::span<std::byte const> memory) noexcept {
        if (heap_.contains(memory.data(), memory.size())) return {heap_.refer(memory.data()).offset, memory.size(), 1, 0};
        return {reinterpret_cast<std::uintptr_t>(memory.data()), memory.size(), 0, 0};
    }
    status get(rank p, std::span<std::byte> into, remote_memory const& from, std::size_t offset) noexcept {
        if (!peers_.find(p)) return status::refused;
        return peers_.memory_of(p).read(into.data(), from, offset, into.size());
    }

    status get_runs(rank p, std::span<memory_run const> into, remote_memory const& from,
                    std::span<memory_run const> theirs) noexcept {
        if (!peers_.find(p)) return status::refused;
        return peers_.memory_of(p).read_runs(into, from, theirs);
    }
    // The system takes 0.5 us for each run of the peer's, whatever its size up to a page, and 0.03 us for each of ours: reading from
    // these sizes on is not dearer than twice the same bytes in one run. By loads a run of 512 bytes takes as long as in pieces that
    // both cores copy, one of 64 three times as long.
    // origin: process_vm_readv of 4 MiB in blocks of 64 B to 16 KiB, AMD EPYC, Linux 6.18; bench/protocol_bench, layouts
    mpt::least_runs least_runs(rank p, remote_memory const& from) noexcept {
        if (peers_.find(p) && peers_.memory_of(p).loads(from)) return {512, 512};
        return {4096, 512};
    }

    // --- one copy from both ends --------------------------------------------------------------------------------------------

    std::uint32_t offer(rank p, std::span<std::byte const> memory) noexcept {
        if (!peers_.find(p)) return 0;
        auto const ticket = tickets_.open(peers_.tickets(), p, memory.data());
        if (ticket == 0) return 0;
        auto& t = peers_.tickets()[tickets_.place_of(ticket)];
        t.source = expose(memory);
        t.given.reset();
        t.claims.reset(ticket);
        return ticket;
    }
    void accept(rank p, std::uint32_t ticket, std::span<std::byte> into) noexcept {
        if (!peers_.find(p)) return;
        auto& t = peers_.tickets_of(p)[tickets_.place_of(ticket)];
        t.target = expose(into.first(std::min<std::size_t>(into.size(), t.source.size)));
        t.taken.reset();
        t.join(ticket);
        peers_.wake(p); // a sender that sleeps may as well help
    }
    joint_state advance_offer(std::uint32_t ticket, bool help = true) noexcept {
        if (!tickets_.holds(ticket)) return joint_state::refused;
        auto const& e = tickets_.of(ticket);
        auto& t = peers_.tickets()[tickets_.place_of(ticket)];
        auto& there = peers_.memory_of(rank{e.peer});
        return smp::step_sender(
            t, ticket, [&]() noexcept { return help && there.reaches(t.target); },
            [&](smp::piece_plan const& plan, smp::claim c) noexcept {
                return there.write(t.target, c.offset(plan), e.memory + c.offset(plan), c.bytes(plan));
            });
    }
    joint_state advance_accept(rank p, std::uint32_t ticket, bool alone = false) noexcept {
        if (!peers_.find(p)) return joint_state::refused;
        auto& t = peers_.tickets_of(p)[tickets_.place_of(ticket)];
        auto* const into = own(t.target);
        auto const s = smp::step_receiver(t, ticket, alone, [&](smp::piece_plan const& plan, smp::claim c) noexcept {
            return peers_.memory_of(p).read(into + c.offset(plan), t.source, c.offset(plan), c.bytes(plan));
        });
        if (s == joint_state::done || s == joint_state::refused) peers_.wake(p); // no frame tells the sender
        return s;
    }
    bool push_instead(std::uint32_t ticket) noexcept {
        return tickets_.holds(ticket) && peers_.tickets()[tickets_.place_of(ticket)].claims.push(ticket);
    }
    bool pull_instead(rank p, std::uint32_t ticket) noexcept {
        return peers_.find(p) && peers_.tickets_of(p)[tickets_.place_of(ticket)].claims.pull(ticket);
    }
    void withdraw(std::uint32_t ticket) noexcept {
        if (tickets_.holds(ticket)) tickets_.withdraw(ticket);
    }

private:
    [[gnu::always_inline]] void publish(channel_type& to, smp::slot<atomics> s, std::size_t n, std::uint16_t op) noexcept {
        s.at->publish(static_cast<std::uint16_t>(n), op, s.number);
        if (!dense_) [[unlikely]]
            smp::board<atomics>::knock(peers_.count_at(to), smp::count_of(s.number) + 1);
        to.far()->bell.ring(peers_.world(), peers_.fences());
    }

    bool exists(rank p) const noexcept { return p >= 0 && static_cast<std::size_t>(p) < peers_.size(); }

    /// The rare way to a slot: the pair's first frame. False: no room, or no mailbox yet.
    [[gnu::noinline]] bool first_slot(rank p, channel_type& c, smp::slot<atomics>& s) noexcept {
        if (c.sends() || p == peers_.me() || !peers_.join(p)) return false;
        s = c.reserve();
        return s.at != nullptr;
    }

    /// Hands over at most `most` frames of one peer.
    template <class Sink> [[gnu::always_inline]] std::size_t drain(rank p, Sink&& sink, std::size_t most,
                                                                   smp::look how = smp::look::loading) noexcept {
        std::size_t done = 0;
        auto& c = peers_.channel_of(p);
        auto const use = [&](line_type & l) __attribute__((always_inline)) {
            std::size_t n = l.size;
            std::byte const* front = l.payload.data();
            if (n > smp::line_room) [[unlikely]] {
                if (n > smp::in_cells + smp::line_room && n <= smp::in_cells + smp::stretch_room && &l == &c.in().front()) {
                    ++done;
                    return hand_over(smp::stretched<atomics>{&c.in(), p, l.op, static_cast<std::uint16_t>(n - smp::in_cells)},
                                     c, sink);
                }
                if (n > smp::pair_room) return;                           // padding
                front = l.long_front(), processor::fetch_to_write(front); // as our own, like the line itself
            }
            ++done;
            sink(frame{p, l.op, {front, n}});
        };
        while (done < most && c.take(
                                  use, [&]() noexcept { peers_.wake(p); }, how)) {}
        return done;
    }

    template <class Sink> sight show_front(rank p, Sink&& sink, smp::look how) noexcept {
        auto const seen = smp::show_front(peers_.channel_of(p), p, how, sink);
        if (seen == sight::nothing && how == smp::look::owning) World::atomics::rest(); // as in poll_from()
        return seen;
    }

    /// In the place where it is called: a sink that is handed on lies in memory.
    template <class Sink>
    [[gnu::always_inline]] static void hand_over(smp::stretched<atomics> f, channel_type& c, Sink&& sink) noexcept {
        if constexpr (requires { sink.stretched(f); }) sink.stretched(f);
        else {
            std::array<std::byte, smp::stretch_room> whole;
            f.template copy<0>(whole.data(), f.size);
            sink(frame{f.from, f.op, std::span{whole}.first(f.size)});
        }
        c.skip(smp::cells_for(f.size) - 1);
    }

    /// A peer's count has moved: it gets its mailbox, and is polled until it is found empty for long.
    void welcome(rank p) noexcept {
        peers_.invite(p);
        hot_.insert(static_cast<std::size_t>(p));
    }
    template <class Sink> [[gnu::noinline]] std::size_t sweep(Sink&& sink, std::size_t budget) noexcept {
        std::size_t done = 0;
        thorough_ = false;
        peers_.counts().sweep([&](std::size_t i) noexcept {
            welcome(rank{i});
            done += drain(rank{i}, sink, std::min(burst, budget - done));
        });
        return done;
    }

    /// Our own memory, as expose() named it.
    std::byte* own(remote_memory const& m) noexcept {
        return m.in_slice ? heap_.whole().data() + m.address : reinterpret_cast<std::byte*>(m.address);
    }
};

template <std::uint32_t First = 0> using smp = basic_smp<First>;
static_assert(transport_policy<smp<>>);

} // namespace mpt::inline v0::transport
