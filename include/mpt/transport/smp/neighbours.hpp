/// smp/neighbours - one lane's peers on this node: who they are, where their memory is, and the channel to each.
///
///        nobody yet   --- find: the peer's address is published, its slice can be mapped --->   known: bell, board, memory
///        known        --- join: its directory shows a mailbox for us ----------------------->   joined: we can send
///             `-- no mailbox yet: knock on its board and ring its bell; again
///        deaf         --- invite (at birth, or when the peer's count on our board moved) --->   inviting: it can send
///
///   The two directions come about independently. Looking a peer up is lazy, because addresses can be read only after the job
///   has met, and because a rank of a large job knows few of its peers.
///
///   Memory   192 bytes private per rank of the node; the shared part is drawn in smp/layout.hpp.
///   Limit    a mailbox for which there is no memory becomes a smaller one (16 cells); if even that fails, the job ends with a
///            sentence, since a peer would wait for it for ever.
///   Tests    test/transport_smp_neighbours_test.cpp
#pragma once
#include <string>
#include <vector>

#include <mpt/config/config.hpp>
#include <mpt/core/error.hpp>
#include <mpt/transport/smp/board.hpp>
#include <mpt/transport/smp/channel.hpp>
#include <mpt/transport/smp/copy.hpp>
#include <mpt/transport/smp/joint.hpp>
#include <mpt/transport/smp/layout.hpp>
#include <mpt/transport/transport.hpp>

namespace mpt::inline v0::smp {

/// What the configuration table says (job-wide rows), copied when the lane is made.
struct settings {
    std::uint32_t ring_lines = 256;  // a power of two (MPT_RING_LINES, rounded up)
    std::uint32_t hot_peers = 16;    // MPT_HOT_PEERS
    std::uint32_t loans = 64;        // MPT_LOANS
    std::size_t loan_bytes = 64_KiB; // MPT_LOAN_BYTES
    std::size_t long_loan = 4_MiB;   // MPT_AWAITED_MAX
    bool single_copy = true;         // MPT_SINGLE_COPY
    look how = look::loading;        // MPT_LOOK; auto: natural_look()

    static settings of(config::values const& v) {
        return {std::bit_ceil(v.get<"MPT_RING_LINES">()),
                v.get<"MPT_HOT_PEERS">(),
                v.get<"MPT_LOANS">(),
                v.get<"MPT_LOAN_BYTES">(),
                v.get<"MPT_AWAITED_MAX">(),
                v.get<"MPT_SINGLE_COPY">(),
                look_of(v.get<"MPT_LOOK">().view())};
    }
};

template <class World> class neighbours {
public:
    using atomics = typename World::atomics;
    using block_type = lane_block<World>;
    using channel_type = channel<atomics, block_type>;
    using mailbox_type = mailbox<atomics>;
    using place_type = ticket_place<atomics>;
    using entry_type = directory_entry<atomics>;
    using count_type = typename board<atomics>::word;

private:
    /// What is needed less often than once a frame.
    struct far_side {
        reach memory{};
        place_type* tickets = nullptr;
        count_type* count = nullptr;     // our word on the peer's board
        entry_type* directory = nullptr; // where the peer shows our mailbox
    };

    lane_context<World> context_;
    settings settings_;
    std::uint32_t first_;
    block_type* block_ = nullptr;
    entry_type* directory_ = nullptr;
    place_type* tickets_ = nullptr;
    lane_address address_{};
    line<atomics> nothing_{};
    std::vector<channel_type> channels_;
    std::vector<far_side> far_;
    board<atomics> board_;
    fence_mode fences_ = fence_mode::both; // until the job has met

public:
    /// first: what all counters start from. Throws mpt::error(no_memory).
    neighbours(lane_context<World> const& c, settings const& s, std::uint32_t first)
        : context_{c}, settings_{s}, first_{first}, far_(size()) {
        make_block();
        for (std::size_t i = 0; i < size(); ++i) {
            bool const above = rank{i} > me();
            channels_.emplace_back(nothing_, above ? direction::from_lower : direction::from_higher,
                                   above ? direction::from_higher : direction::from_lower, first);
        }
        if (dense()) invite_all();
        if (auto const launcher = c.job.header().launcher_pid; launcher > 0 && size() > 1) allow_tracer(launcher);
    }
    neighbours(neighbours const&) = delete;
    neighbours& operator=(neighbours const&) = delete;

    std::size_t size() const noexcept { return static_cast<std::size_t>(context_.job.size()); }
    rank me() const noexcept { return context_.job.me(); }
    /// Few ranks: every mailbox is made at birth, every channel is polled always, and nobody writes the board.
    look how_to_look() const noexcept { return settings_.how; }
    bool dense() const noexcept { return size() <= settings_.hot_peers; }

    lane_address const& address() const noexcept { return address_; }
    block_type& block() noexcept { return *block_; }
    channel_type& channel_of(rank p) noexcept { return channels_[static_cast<std::size_t>(p)]; }
    rank rank_of(channel_type const& c) const noexcept { return rank{&c - channels_.data()}; }
    board<atomics>& counts() noexcept { return board_; }
    place_type* tickets() noexcept { return tickets_; }
    fence_mode fences() const noexcept { return fences_; }
    World const& world() const noexcept { return context_.world; }

    /// Only after find(p).
    reach& memory_of(rank p) noexcept { return far_[static_cast<std::size_t>(p)].memory; }
    place_type* tickets_of(rank p) noexcept { return far_[static_cast<std::size_t>(p)].tickets; }
    count_type& count_at(channel_type const& c) noexcept { return *far_[static_cast<std::size_t>(rank_of(c))].count; }

    /// Is the peer's memory mapped and its lane known? Looks it up if need be.
    bool find(rank p) noexcept { return channel_of(p).far() != nullptr || look_up(p); }

    /// Why find(p) said no.
    std::string_view why_unknown(rank p) const noexcept {
        bool const published = context_.job.address(p, context_.slot, context_.lane).size() == sizeof(lane_address);
        return published ? "that rank's memory cannot be mapped here" : "that rank has published no address for it";
    }

    /// Can we send to the peer? If not, asks it for a mailbox; ask again later.
    bool join(rank p) noexcept {
        auto& c = channel_of(p);
        if (c.sends()) return true;
        if (!find(p)) return false;
        auto& f = far_[static_cast<std::size_t>(p)];
        auto const where = f.directory->look();
        if (where != 0) return attach(p, where);
        board<atomics>::knock(*f.count, c.next_count());
        c.far()->bell.ring(world(), fences_);
        return false;
    }

    /// Makes a mailbox for the peer, unless it has one, and wakes the peer that may sleep over the lack of it.
    void invite(rank p) noexcept {
        if (channel_of(p).receives()) [[likely]]
            return;
        auto lines = settings_.ring_lines;
        auto memory = take(mailbox_type::bytes_for(lines));
        if (memory.empty()) memory = take(mailbox_type::bytes_for(lines = 16));
        if (memory.empty())
            context_.job.abort(1, "mpt: no shared memory is left for a mailbox (smp); the job's memory limit is too small");
        open(p, memory, lines);
        wake(p);
    }

    void wake(rank p) noexcept {
        if (find(p)) channel_of(p).far()->bell.ring(world(), fences_);
    }

private:
    std::span<std::byte> take(std::size_t n) noexcept { return context_.heap.extent(n, line_pair, mem::purpose::mailboxes); }
    template <class T> T* carve(std::size_t n, std::uint64_t& offset) {
        auto const made = context_.heap.template make<T>(n, "a lane of the shared-memory transport", mem::purpose::mailboxes);
        offset = context_.heap.refer(made.data()).offset;
        return made.data();
    }
    void make_block() {
        block_ = carve<block_type>(1, address_.block);
        auto* const counts = carve<count_type>(size(), address_.board);
        directory_ = carve<entry_type>(size(), address_.directory);
        tickets_ = carve<place_type>(ticket_book::places, address_.tickets);
        for (std::size_t i = 0; i < size(); ++i)
            counts[i].store(first_, std::memory_order_relaxed); // order: meet() publishes it
        board_ = board<atomics>{{counts, size()}, first_};
        block_->nonce[0] = context_.world.random();
        block_->nonce[1] = context_.world.random();
        address_.here = reinterpret_cast<std::uintptr_t>(block_->nonce);
    }
    void invite_all() {
        if (size() == 1) return;
        auto const each = mailbox_type::bytes_for(settings_.ring_lines);
        auto const memory = take(each * (size() - 1));
        if (memory.empty())
            throw error{errc::no_memory, "mpt: no shared memory is left for the mailboxes of the shared-memory transport (" +
                                             std::to_string(each * (size() - 1)) + " bytes); lower MPT_RING_LINES"};
        std::size_t at = 0;
        for (std::size_t i = 0; i < size(); ++i)
            if (rank{i} != me()) open(rank{i}, memory.subspan(each * at++, each), settings_.ring_lines);
    }
    void open(rank p, std::span<std::byte> memory, std::uint32_t lines) noexcept {
        auto& m = mailbox_type::make(memory, lines, first_);
        auto& c = channel_of(p);
        c.attach(ring_reader<atomics>{m.ring, m.consumed, lines, first_});
        if (me() < p) c.attach(turn_line<atomics>{m.turn, false});
        directory_[static_cast<std::size_t>(p)].publish(context_.heap.refer(memory.data()).offset);
    }

    bool look_up(rank p) noexcept {
        auto& job = context_.job;
        auto const published = context_.template address_of<lane_address>(p);
        if (!published) return false;
        auto const& a = *published;
        auto& record = job.record(p);
        slice_view const slice{job.arena().slice(p, record.slice_bytes)};
        auto* const block = slice.object<block_type>(a.block);
        auto* const counts = slice.object<count_type>(a.board, size());
        auto* const directory = slice.object<entry_type>(a.directory, size());
        auto* const tickets = slice.object<place_type>(a.tickets, ticket_book::places);
        if (slice.base == nullptr || !block || !counts || !directory || !tickets) return false;
        auto& f = far_[static_cast<std::size_t>(p)];
        auto const self = static_cast<std::size_t>(me());
        f.memory.slice = slice;
        f.memory.pid = record.pid;
        f.memory.same_process = record.pid == own_process();
        f.memory.cma = settings_.single_copy ? leave::untried : leave::refused;
        f.memory.probe_address = a.here;
        f.memory.probe_words = block->nonce;
        f.memory.job = job.shares_process() ? &job : nullptr;
        f.tickets = tickets;
        f.count = counts + self;
        f.directory = directory + self;
        fences_ = job.fences(); // final now: the job has met
        channel_of(p).attach(block);
        return true;
    }
    bool attach(rank p, std::uint64_t where) noexcept {
        slice_view const& slice = far_[static_cast<std::size_t>(p)].memory.slice;
        auto* const m = slice.object<mailbox_type>(where);
        if (m == nullptr || !std::has_single_bit(m->lines) || !slice.holds(where, mailbox_type::bytes_for(m->lines)))
            return false;
        auto& c = channel_of(p);
        c.attach(ring_writer<atomics>{m->ring, m->consumed, m->lines, first_});
        if (me() > p) c.attach(turn_line<atomics>{m->turn, true});
        return true;
    }
};

} // namespace mpt::inline v0::smp
