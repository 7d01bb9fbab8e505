/// coll/node - memory that the ranks of a communicator share for their collectives: agreed on, found again, given back.
///
///        collective number     1 ... MPT_NODE_CALLS - 1      MPT_NODE_CALLS                      from then on
///                              messages                      each takes a part of its slice,     rounds (coll/rounds.hpp)
///                                                            tells where, maps the others'
///
///        a rank's part   | entries | memory for pieces |        and, when something larger comes up first:  | 4 to 16 chunks | of two, 8 slots |
///
///   All ranks call the collectives of a communicator in the same order, so all of them count to the same call, and agree there by
///   messages: two times ceil(log2 n) of them. Where one has no memory left, or does not map another's slice, all go on with
///   messages, and do not ask again. A communicator with few collectives costs nothing but its count.
///
///   Every collective that may come through here shows what it is - which one, root, size - also when it then takes messages. Who
///   waits for a rank that called another one, with another root or size, finds it there, and throws. Sizes that differ are found
///   in the first round, so ranks stay in step where one round is all, and in a broadcast of any size. In a gatherv each shows its own
///   size, of which the root alone knows whether it is right.
///
///   Swap      Of two ranks in exchanges, where each writes and reads as much, a rank writes where it has read last, in the other's memory or
///             its own: those lines it has at hand, while what it wrote itself the other has taken since. origin: two ranks without a cache
///             in common, AMD EPYC, Zen 4, bare program: 512 KiB written in 217 us to one's own memory, in 13 to what was read last
///   Waiting   is the lane's: spinning, yielding, sleeping on its bell, while other requests go on (stack/lane.hpp). Who shows
///             something rings all others' bells: a load each.
///   End       is local. A rank that frees the communicator leaves every part; a part is used again when all have left it
///             (mem/parts.hpp).
///   Memory    12 KiB a rank, 48 where ranks outnumber their CPUs, and 16 chunks (of more than 8 ranks 128 of all, at least 4 of each) where
///             data are larger than 1 KiB, both in the rank's slice; of two ranks as much again to swap. A round takes as much of it as its data
///             are long (coll/recycled.hpp): a root runs ahead by as many rounds as have room, up to 31, or 127.
///   Limit     after gathers and scatters whose sizes differ and exceed a chunk or MPT_NODE_DIRECT, after such reduces of more than 16 KiB, and
///             where some called what is counted (coll/rooted.hpp) and some what is not, ranks are out of step: the communicator is of no use.
///             Ranks that all reach each other through mapped memory; up to MPT_NODE_RANKS of them, because each looks at all others.
///   Tests     test/coll_node_test.cpp
#pragma once
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mpt/coll/recycled.hpp>
#include <mpt/coll/rounds.hpp>
#include <mpt/coll/shared_block.hpp>
#include <mpt/coll/team.hpp>
#include <mpt/core/crossing.hpp>
#include <mpt/transport/smp/copy.hpp>

namespace mpt::inline v0::coll {

/// Of the chunks of a team's room.
template <class Stack> std::size_t chunk_bytes(team<Stack> const& t) noexcept {
    return t.template limit<"MPT_NODE_CHUNK">() / line_pair * line_pair;
}

template <class World> class node_room {
    using atomics = typename World::atomics;
    using bell_type = wait::doorbell<World>;

public:
    using rounds_type = rounds<atomics>;
    using entry = typename rounds_type::entry;
    /// Where data lie that a rank shows in a round: in its entry, or in memory that is used again sooner.
    enum class shelf : std::uint8_t { entry, piece, chunk, swap };
    static constexpr std::size_t piece = 1024, longest = 2 * piece; // the latter of a row of pieces

private:
    /// How far ahead who waits for nobody may be. Where each rank has a CPU, this memory is the better the less it is: what two ranks pass to and fro
    /// stays in their first caches. Where they take turns, the longer the turn of each is.
    /// origin: exscan, AMD EPYC, Zen 4, two CPUs, 64 sets and 16 KiB / as now, ns: two ranks, 512 bytes 125 / 70, 1 KiB 134 / 96; four ranks,
    /// 8 bytes 259 / 198, gather of 8 bytes 199 / 153, broadcast of 256 bytes 307 / 172
    struct extent {
        std::uint64_t sets;
        std::size_t bytes, in_lap;
    };
    static constexpr std::uint64_t most_sets = 128;
    static constexpr extent apart{32, 8 * piece, 32}, taking_turns{most_sets, 32 * piece, most_sets};
    static_assert(longest <= std::min(apart.bytes, taking_turns.bytes) / 4 && std::has_single_bit(apart.sets) &&
                  std::has_single_bit(taking_turns.sets) && std::max(apart.sets, taking_turns.sets) <= most_sets);
    /// As many as lie in no second cache at once: what the others have read lately is slow to write again, what a common cache has taken in
    /// is not. Fewer where there are many ranks.
    /// origin: two ranks, chunks of 128 KiB, 4 / 16 of them, AMD EPYC, Zen 4: allgather 64 KiB 12.3 / 6.3 us, alltoall 12.9 / 5.9
    static constexpr std::size_t least_chunks = 4, most_chunks = 16, chunks_of_all = 128, least_stretch = 32 * 1024;
    /// Of shelf swap: a round uses the slot that bears its number, or some of its units, each time others.
    static constexpr std::size_t slots = 8, units = 8;
    static std::size_t chunks(std::int32_t ranks) noexcept {
        return std::clamp(chunks_of_all / static_cast<std::size_t>(ranks), least_chunks, most_chunks);
    }

    shared_block near_, far_;
    rounds_type rounds_;
    recycled<most_sets> near_parts_, far_parts_;
    std::size_t where_ = 0;         // of the part that the next round shows
    std::vector<bell_type*> bells_; // of the others
    std::vector<smp::reach> ways_;  // to the others' memory
    struct {
        std::size_t first = 0, count = 0;
    } swapped_;                               // units that the last round used
    std::array<rank, slots * units> read_in_; // of two ranks, in whose memory this one has read each unit last
    [[no_unique_address]] World world_;
    fence_mode fences_;
    call_log* log_;
    std::size_t chunk_;
    crossing way_;            // to the others: the one of them that is farthest tells how we write
    std::uint32_t taken_ = 0; // speakers whose collectives come through here, as bits: what variables say of them never changes
    bool no_chunks_ = false;
    std::uint32_t there_ = 0; // rounds in a row that were there when we came; see look_ahead()
    static constexpr std::uint32_t before_looks = 4;

    static std::vector<entry*> entries_of(shared_block const& b, std::int32_t n) {
        std::vector<entry*> all;
        all.reserve(static_cast<std::size_t>(n));
        for (std::int32_t q = 0; q < n; ++q) all.push_back(reinterpret_cast<entry*>(b.of(q)));
        return all;
    }

public:
    template <class Stack> node_room(team<Stack> const& t, shared_block near, extent const& room, std::vector<bell_type*> bells)
        : near_{std::move(near)}, rounds_{entries_of(near_, t.size()), t.me(), room.sets},
          near_parts_{room.bytes, room.sets, room.in_lap}, bells_{std::move(bells)}, world_{t.wire().on().world()},
          fences_{t.wire().on().fences()}, log_{&t.wire().on().calls_of(t.wire().on().me())}, chunk_{chunk_bytes(t)} {
        read_in_.fill(t.me());
        for (auto s = speaker::barrier; s <= speaker::scan; s = static_cast<speaker>(static_cast<std::int32_t>(s) + 1))
            taken_ |= static_cast<std::uint32_t>(!by_messages(t, s)) << static_cast<std::uint32_t>(s);
    }
    node_room(node_room const&) = delete;

    /// The room of a team's communicator; nullptr: there is none, or not yet. Counts the call.
    template <class Stack> static node_room* of(team<Stack> const& t) {
        auto* const m = t.where();
        if (m == nullptr || t.size() == 1) return nullptr;
        if (m->room) [[likely]]
            return static_cast<node_room*>(m->room.get());
        return begin(t, *m);
    }
    /// The same of a collective that comes through it, where there is one already.
    template <class Stack> static node_room* there(team<Stack> const& t, speaker s) noexcept {
        auto* const m = t.where();
        auto* const room = m ? static_cast<node_room*>(m->room.get()) : nullptr;
        return room && (room->taken_ >> static_cast<std::uint32_t>(s) & 1) != 0 ? room : nullptr;
    }
    /// The least shelf that holds so many bytes, and how many it holds.
    static shelf shelf_for(std::size_t n) noexcept {
        return n <= rounds_type::room ? shelf::entry : n <= piece ? shelf::piece : shelf::chunk;
    }
    std::size_t room_on(shelf on) const noexcept {
        return on == shelf::entry ? rounds_type::room : on == shelf::piece ? piece : on == shelf::chunk ? chunk_ : slot_bytes();
    }
    /// The most that a round brings of what all have at once: as few rounds as the memory lets there be.
    std::size_t most_together(std::int32_t ranks) const noexcept { return chunks(ranks) * chunk_ / 4; }
    /// A lap of what all have at once: what lies there, and the data of all, have room in a common cache.
    /// origin: allreduce of 1 MiB, laps of 2 MiB a rank / of so much, 2 CPUs of an AMD EPYC, Zen 4: 4 ranks 247 / 228 us, 8 ranks 886 / 639
    static std::size_t lap_together(std::int32_t ranks) noexcept { return 4_MiB / static_cast<std::size_t>(ranks); }
    /// What a root shows at once of so many bytes: a quarter of them where that is much, so that the others copy the one while it writes
    /// the next.
    std::size_t stretch_of(std::size_t size) const noexcept {
        auto const on = shelf_for(size);
        auto const quarter = size / (4 * line_pair) * line_pair;
        return on == shelf::chunk ? std::min(chunk_, std::max(least_stretch, quarter)) : room_on(on);
    }
    /// And a lap of what a root shows: all there is, for what the others have in their caches is slow to write again; of many ranks, where its
    /// stretches are short, lines that are at hand.
    /// origin: broadcast of 64 KiB, 16 ranks, a CPU for each, Intel Xeon: laps of all there is 24 to 30 us, so 12; 2 CPUs of an AMD EPYC, Zen 4,
    /// that are near, laps of 512 KiB / of all: 4 KiB 2 ranks 0.67 / 0.21 us, 64 KiB 2, 4, 8 ranks 8.9, 10.8, 16 / 2.2, 6.2, 13; far as before
    static std::size_t lap_of_root(std::int32_t ranks, std::size_t size) noexcept {
        return ranks > 8 && size <= 4 * least_stretch ? lap_together(ranks) : ~std::size_t{0};
    }
    /// The chunks of all; false: there is no memory for them. Where they are not there yet, all ranks come to this in the same round.
    template <class Stack> bool has_chunks(team<Stack> const& t, speaker s, std::size_t size) {
        if (far_) [[likely]]
            return true;
        if (no_chunks_) return false;
        begin(t, s);
        show(t, s, size);
        see_all(t, s, size, [](std::int32_t) {}); // before messages: all of them come
        auto const bytes = chunks(t.size()) * chunk_;
        far_ = shared_block::agree(t, bytes + (t.size() == 2 ? slots * slot_bytes() : 0), true);
        far_parts_ = {bytes, rounds_.sets(), recycled<most_sets>::whole};
        no_chunks_ = !far_;
        return !no_chunks_;
    }

    /// Bytes that the next round is to show.
    void write(std::byte* to, std::byte const* from, std::size_t n) noexcept { way_.write(to, from, n); }

    // --- a round: begin, write, show, see ------------------------------------------------------------------------------------------
    /// The next round shows no data, or what fits beside its flag: when all are through with what lay there.
    template <class Stack> std::byte* begin(team<Stack> const& t, speaker s) {
        await_use(t, s, rounds_.awaited(rounds_.sets()));
        where_ = 0;
        return rounds_.own().data.data();
    }
    /// Where to write so many bytes that the next round is to show. lap: bytes after which memory may be used again.
    template <class Stack>
    std::byte* begin(team<Stack> const& t, speaker s, shelf on, std::size_t bytes, std::size_t lap = ~std::size_t{0}) {
        if (on == shelf::swap) return begin_swap(t, s, bytes);
        await_use(t, s, take(on, bytes, lap));
        return taken(t.me(), on, bytes);
    }
    template <class Stack> void show(team<Stack> const& t, speaker s, std::size_t size) noexcept { show(word_of(t, s), size); }
    /// Waits until a rank has shown the round that we showed last. Throws mpt::error where it has called something else.
    template <class Stack> void see(team<Stack> const& t, std::int32_t q, speaker s, std::size_t size) const {
        t.await(q, s, size, [&] { return rounds_.has_begun(q, rounds_.last()); });
        auto const& e = rounds_.of(q);
        if (e.call != word_of(t, s) || e.size != size) [[unlikely]]
            refuse(t, q, s, size);
    }
    /// The same, of any size: which it is.
    template <class Stack> std::uint64_t see_any(team<Stack> const& t, std::int32_t q, speaker s) const {
        t.await(q, s, 0, [&] { return rounds_.has_begun(q, rounds_.last()); });
        auto const& e = rounds_.of(q);
        if (e.call != word_of(t, s)) [[unlikely]]
            refuse(t, q, s, e.size);
        return e.size;
    }
    /// The same of a root that shows all that it has in pieces. Where it is not as much as ours, we show as many rounds all the same.
    template <class Stack> void see_root(team<Stack> const& t, std::int32_t root, speaker s, std::size_t size) {
        t.await(root, s, size, [&] { return rounds_.has_begun(root, rounds_.last()); });
        auto const& e = rounds_.of(root);
        if (e.call == word_of(t, s) && e.size != size) [[unlikely]]
            for (auto left = rounds_for(t, e.size); left > 1; --left) {
                begin(t, s);
                show(t, s, size);
            }
        see(t, root, s, size);
    }
    /// All others, one after the other: use(q) what each has shown.
    template <class Stack, class Use> void see_all(team<Stack> const& t, speaker s, std::size_t size, Use const& use) {
        each_other(t, [&](std::int32_t q) {
            see(t, q, s, size);
            use(q);
        });
        rounds_.all_have_begun(rounds_.last());
    }
    // The same for those who wait by themselves (catch_up, see), and are of one round.
    /// Takes so many bytes for the next round. The round that all others must have begun before they are written; 0: it may be done.
    std::uint64_t take(shelf on, std::size_t bytes, std::size_t lap = ~std::size_t{0}) noexcept {
        where_ = 0;
        auto const least = rounds_.awaited(rounds_.sets());
        if (on == shelf::entry) return least;
        auto const part = (on == shelf::piece ? near_parts_ : far_parts_).take(bytes, rounds_.next(), lap);
        where_ = part.at;
        return std::max(least, part.used == 0 ? 0 : rounds_.awaited_since(part.used));
    }
    /// Where they are.
    std::byte* taken(std::int32_t me, shelf on, std::size_t bytes) const noexcept {
        if (on == shelf::entry) return rounds_.own().data.data();
        if (on == shelf::piece) foresee(bytes);
        return shelf_of(me, on) + where_;
    }
    template <class Stack> [[gnu::noinline]] void catch_up(team<Stack> const& t, speaker s, std::uint64_t least) {
        if (auto const near = rounds_.last() - 1; near > least && all_began(t, near)) return rounds_.all_have_begun(near);
        each_other(t, [&](std::int32_t q) { t.await(q, s, 0, [&] { return rounds_.has_begun(q, least); }); });
        rounds_.all_have_begun(least);
    }
    void show(std::uint64_t word, std::size_t size) noexcept {
        rounds_.show(word, size, static_cast<std::uint32_t>(where_));
        for (auto* const bell : bells_) bell->ring(world_, fences_);
    }
    /// Has a rank shown the round that we showed last, and called the same?
    bool is_shown(std::int32_t q, std::uint64_t word, std::size_t size) const noexcept {
        auto const& e = rounds_.of(q);
        return rounds_.has_begun(q, rounds_.last()) && e.call == word && e.size == size;
    }
    /// Which size it has called that with; 0: it has not yet, or called something else.
    std::uint64_t size_in(std::int32_t q, std::uint64_t word) const noexcept {
        auto const& e = rounds_.of(q);
        return rounds_.has_begun(q, rounds_.last()) && e.call == word ? e.size : 0;
    }
    /// Of a rank whose round was there when we came, again and again: its next one may be there, too. Those bytes of it come here now, and the
    /// line that tells of the one after it. Where it is not there its owner is about to write it, and wants its line: so the next few times
    /// nobody looks, nor soon after a round in which all wait for all.
    /// origin: two ranks, AMD EPYC, Zen 4, ns, never / so: gather of 8 bytes 58 / 46 (nothing from 512 on); gather of 8 bytes and a barrier by
    /// turns 119, and 133 where barriers do not count
    void look_ahead(std::int32_t q, shelf on, std::size_t skip, std::size_t n) noexcept {
        if (++there_ <= before_looks) return;
        auto const next = rounds_.next();
        auto const& e = rounds_.at(q, next);
        __builtin_prefetch(&rounds_.at(q, next + 1));
        if (!rounds_.has_begun(q, next)) return nobody_is_ahead();
        fetch_ahead((on == shelf::entry ? e.data.data() : shelf_of(q, on) + e.where) + skip, n);
    }
    void nobody_is_ahead() noexcept { there_ = 0; }
    /// All others have.
    void all_are_shown() noexcept { rounds_.all_have_begun(rounds_.last()); }
    /// f(q) of all other ranks, from the next one on: not all look at the same at once.
    template <class Stack, class F> static void each_other(team<Stack> const& t, F const& f) {
        for (std::int32_t q = t.me() + 1; q < t.size(); ++q) f(q);
        for (std::int32_t q = 0; q < t.me(); ++q) f(q);
    }
    /// Where this rank notes the calls with a root.
    call_log& log() const noexcept { return *log_; }

    /// How the others' memory is reached, by rank, once somebody has asked; see coll/direct.hpp.
    std::vector<smp::reach>& ways() noexcept { return ways_; }
    /// What a rank has called the last round with, which may be another size than ours; 0: it is not there yet.
    std::uint64_t size_of(std::int32_t q) const noexcept {
        return rounds_.has_begun(q, rounds_.last()) ? rounds_.of(q).size : 0;
    }
    /// Rounds that this rank has shown.
    std::uint64_t shown() const noexcept { return rounds_.last(); }
    /// What a rank has shown in that round, once it was seen, or is our own.
    std::byte const* of(std::int32_t q, shelf on) const noexcept {
        auto const& e = rounds_.of(q);
        if (on == shelf::swap) return swap_memory(q, e.where);
        return on == shelf::entry ? e.data.data() : shelf_of(q, on) + e.where;
    }
    /// On shelf swap: what a rank has shown is being read.
    void reads(std::int32_t q) noexcept {
        auto const where = rounds_.of(q).where;
        if (where / 2 != where_ / 2) [[unlikely]]
            return; // elements of another size: an error that need not be told
        auto const in = read_in_.begin() + static_cast<std::ptrdiff_t>(swapped_.first);
        std::fill_n(in, swapped_.count, rank{q ^ static_cast<std::int32_t>(where % 2)});
    }

private:
    std::size_t slot_bytes() const noexcept { return chunks(2) * chunk_ / slots; }
    /// where: an offset, and whether it is in the other's memory.
    std::byte* swap_memory(std::int32_t q, std::size_t where) const noexcept {
        return far_.of(q ^ static_cast<std::int32_t>(where % 2)) + chunks(2) * chunk_ + where / 2 * 2;
    }
    /// The place follows from the round and the size. Of the two memories it is the one that this rank has read there last, never the same
    /// on both: either both have read what the other wrote, or neither, whatever they called before.
    template <class Stack> std::byte* begin_swap(team<Stack> const& t, speaker s, std::size_t bytes) {
        await_use(t, s, std::max(rounds_.awaited(rounds_.sets()), rounds_.awaited(slots)));
        auto const unit = slot_bytes() / units;
        auto const n = std::bit_ceil((bytes + unit - 1) / unit), lap = rounds_.next() / slots;
        swapped_ = {rounds_.next() % slots * units + lap % (units / n) * n, n};
        where_ = swapped_.first * unit | static_cast<std::size_t>(read_in_[swapped_.first] != t.me());
        return swap_memory(t.me(), where_);
    }
    template <class Stack> bool all_began(team<Stack> const& t, std::uint64_t number) const noexcept {
        for (std::int32_t q = 0; q < t.size(); ++q)
            if (q != t.me() && !rounds_.has_begun(q, number)) return false;
        return true;
    }
    std::byte* shelf_of(std::int32_t q, shelf on) const noexcept {
        return on == shelf::piece ? near_.of(q) + rounds_.bytes() : far_.of(q);
    }
    template <class Stack> void await_use(team<Stack> const& t, speaker s, std::uint64_t least) {
        if (least != 0) [[unlikely]]
            catch_up(t, s, least);
    }
    /// Another piece as long is likely to follow soon: the lines that it will be written to come here now, if nobody reads them any more.
    /// origin: broadcast of 1 KiB, two ranks, AMD EPYC, Zen 4: 137 / 112 ns, without a cache in common 554 / 398 (one run)
    void foresee(std::size_t bytes) const noexcept {
        auto const next = near_parts_.next(bytes);
        if (next.used != 0 && rounds_.awaited_since(next.used) != 0) return;
        auto* const there = near_.own() + rounds_.bytes() + next.at;
        for (std::size_t at = 0; at < bytes; at += cache_line) processor::fetch_to_write(there + at);
    }
    /// Of data that a rank shows in pieces; one where they go by messages.
    template <class Stack> std::size_t rounds_for(team<Stack> const& t, std::size_t size) const noexcept {
        auto const on = shelf_for(size);
        if (on == shelf::chunk && (!far_ || size > t.template limit<"MPT_NODE_MAX">())) return 1;
        return (size + stretch_of(size) - 1) / stretch_of(size);
    }
    static shown_call shown_by(void const* room, std::int32_t q) {
        auto const& r = static_cast<node_room const*>(room)->rounds_;
        return r.has_begun(q, r.last()) ? shown_call{r.of(q).size, r.of(q).call} : shown_call{};
    }
    template <class Stack> static std::uint64_t word_of(team<Stack> const& t, speaker s) noexcept {
        return shown_calls::word_of(s, t.call().root);
    }
    template <class Stack>
    [[noreturn, gnu::noinline]] void refuse(team<Stack> const& t, std::int32_t q, speaker s, std::size_t size) const {
        auto const& e = rounds_.of(q);
        rooted_call const mine{s, t.call().root, t.call().number};
        auto const theirs = shown_calls::call_of(e.call, mine.number);
        if (e.call != word_of(t, s)) detail::calls_differ(t.me(), mine, q, theirs);
        t.tell(); // what this rank sends to itself has another size: it shows that
        detail::sizes_differ(e.size, size, q);
    }
    template <class Stack> [[gnu::noinline]] static node_room* begin(team<Stack> const& t, meeting& m) {
        auto& lane = t.wire().on();
        auto const calls = t.template limit<"MPT_NODE_CALLS">();
        m.refused = m.refused || calls == 0 || static_cast<std::size_t>(t.size()) > t.template limit<"MPT_NODE_RANKS">();
        if (m.refused || ++m.calls < calls) return nullptr;
        std::vector<bell_type*> bells;
        bool may = true;
        each_other(t, [&](std::int32_t q) {
            bells.push_back(lane.bell_of(t.who().world(q)));
            may = may && bells.back() != nullptr;
        });
        auto const room_for = lane.takes_turns() ? taking_turns : apart;
        auto near = shared_block::agree(t, rounds_type::bytes(room_for.sets) + room_for.bytes, may);
        m.refused = !near;
        if (m.refused) return nullptr;
        auto room = std::make_shared<node_room>(t, std::move(near), room_for, std::move(bells));
        m.room = room, m.shown_by = &shown_by;
        return room.get();
    }
};

/// Is it a team whose ranks may share memory? Not a recorder; and not over streams alone.
template <class Team> inline constexpr bool may_share = false;
template <class Stack> inline constexpr bool may_share<team<Stack>> = lane<Stack>::neighbourly;

} // namespace mpt::inline v0::coll
