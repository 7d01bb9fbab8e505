/// coll/together - collectives in memory that the ranks of a communicator share (coll/node.hpp), in rounds (coll/rounds.hpp).
///
///        up to 96 bytes a rank   in an entry, beside the flag: one round
///        up to 1 KiB             in a piece: one round
///        above                   in parts of chunks, one a round; up to four whole ones are in use at once, so that copying in and out
///                                overlap
///
///   barrier      every rank shows a round and sees all others'.
///   broadcast    the root shows piece after piece, and runs ahead by a few rounds; the others copy out.
///   allgather    each shows its piece, and copies out those of the others. gather: the root alone does. alltoall, scatter: a rank
///                shows a row of one piece for each, and each takes its own.
///   What is combined goes by coll/combined.hpp, scans by coll/scan.hpp, gathers of lists by coll/gather.hpp.
///
///   Cost      a byte is copied in once and out once by each who wants it; nobody's memory but a chunk is between.
///   Source    MPI-4.1 chapter 6.    Tests  test/coll_together_test.cpp
#pragma once
#include <algorithm>

#include <mpt/coll/brief.hpp>

namespace mpt::inline v0::coll::detail {

/// One collective of a team in its room.
template <class Stack> class joint {
public:
    using room_type = node_room<typename Stack::world_type>;
    using shelf = typename room_type::shelf;

    static constexpr bool one_round = false;

private:
    team<Stack> const& t_;
    room_type* room_;
    speaker s_;
    std::size_t size_; // what all show
    shelf on_ = shelf::entry;
    bool past_ = false; // the caches: they do not hold what this rank reads in all

public:
    /// size: what all ranks call it with.
    joint(team<Stack> const& t, speaker s, std::size_t size)
        : t_{t}, room_{by_messages(t, s) ? nullptr : room_type::of(t)}, s_{s}, size_{size} {}

    std::int32_t me() const noexcept { return t_.me(); }
    std::int32_t ranks() const noexcept { return t_.size(); }

    /// Does it go through the room, where a rank shows so many bytes? If not, the others are told that messages are to come; where it is
    /// not counted, nothing is sent before all are known to send: labels do not tell one such collective's messages from the next one's.
    bool takes(std::size_t bytes, bool fits = true) {
        if (!room_) return false;
        if (t_.differs()) [[unlikely]]
            show_mistake();
        on_ = room_type::shelf_for(bytes);
        if (on_ != shelf::chunk) return true;
        auto const parts = s_ == speaker::gather || s_ == speaker::alltoall ? static_cast<std::size_t>(ranks()) : 1;
        past_ = size_ > t_.template limit<"MPT_CACHED_MAX">() / parts;
        if (fits && bytes <= t_.template limit<"MPT_NODE_MAX">() && room_->has_chunks(t_, s_, size_)) return true;
        show_nothing();
        if (t_.call().number == 0) see_all();
        t_.go_by_messages(size_);
        return false;
    }
    /// All show as much, and read it. Two ranks then write where they have read last: lines that are at hand.
    void is_exchange() noexcept {
        if (on_ == shelf::chunk && t_.size() == 2) on_ = shelf::swap;
    }
    /// How many bytes a round brings.
    std::size_t most() const noexcept { return room_->room_on(on_); }
    /// The same where all have something to show in each round.
    std::size_t most_together() const noexcept { return room_->most_together(t_.size()); }
    /// The same of a root that shows all that it has.
    std::size_t stretch() const noexcept { return room_->stretch_of(size_); }
    /// Where to write so many bytes, which the next round is to bring, once nobody looks there any more.
    std::byte* begin(std::size_t bytes) { return room_->begin(t_, s_, on_, std::max<std::size_t>(bytes, 1)); }
    /// The same where all show as much as they can at once.
    std::byte* begin_together(std::size_t bytes) {
        return room_->begin(t_, s_, on_, std::max<std::size_t>(bytes, 1), room_->lap_together(t_.size()));
    }
    /// The same of a root.
    std::byte* begin_stretch(std::size_t bytes) {
        return room_->begin(t_, s_, on_, std::max<std::size_t>(bytes, 1), room_->lap_of_root(t_.size(), size_));
    }
    void show() noexcept { room_->show(t_, s_, size_); }
    void show_nothing() {
        room_->begin(t_, s_);
        show();
    }
    void see(std::int32_t q) const { room_->see(t_, q, s_, size_); }
    void see_ahead(std::int32_t q, std::size_t, std::size_t) const { see(q); } // as a brief one's, which knows more
    /// The same of a root that shows all that it has in pieces.
    void see_root(std::int32_t root) { room_->see_root(t_, root, s_, size_); }
    void see_all() {
        see_all([](std::int32_t) {});
    }
    /// use(q) what each other rank has shown.
    template <class Use> void see_all(Use const& use) {
        room_->see_all(t_, s_, size_, [&](std::int32_t q) {
            if (on_ == shelf::swap) room_->reads(q);
            use(q);
        });
    }
    template <class Use> void see_all_ahead(std::size_t, Use const& use) { see_all(use); }
    /// What a rank has shown: seen, or our own.
    std::byte const* of(std::int32_t q) const noexcept { return room_->of(q, on_); }
    void write(std::byte* to, std::byte const* from, std::size_t n) noexcept {
        if (on_ == shelf::swap) copy_string(to, from, n);
        else room_->write(to, from, n);
    }
    /// What another rank has written.
    void read(std::byte* to, std::byte const* from, std::size_t n) const noexcept {
        if (past_) copy_past(to, from, n);
        else if (on_ == shelf::swap) copy_string(to, from, n);
        else copy_ahead<false>(to, from, n);
    }

private:
    /// What this rank sends to itself has not the size that it expects: the others are told by one that nobody has.
    [[gnu::noinline]] void show_mistake() {
        size_ = odd_lengths[size_ == odd_lengths[0]];
        show_nothing();
        see_all();
        t_.tell();
    }
};

/// In a collective that is counted as those with a root are, for where ranks share memory: its messages are then known from the
/// next one's, and nobody waits for all to come before the first is sent.
/// origin: 16 KiB by messages, AMD EPYC, Zen 4, two CPUs, after all have come / at once, us: 4 ranks 21.6 / 17.9, 8 ranks 98 / 47
template <team_type Team> Team counted(Team const& t, speaker s) {
    if constexpr (may_share<Team>) return t.rooted(s, rooted_call::nobody);
    else return t;
}

/// f(offset, bytes) for pieces of at most `most`; once where there is nothing.
template <class F> void in_pieces(std::size_t size, std::size_t most, F const& f) {
    for (std::size_t at = 0; at == 0 || at < size; at += most) f(at, std::min(most, size - at));
}
/// The same of what j brings in rounds.
template <class J, class F> void in_rounds(J const&, std::size_t size, std::size_t most, F const& f) {
    if constexpr (J::one_round) f(std::size_t{0}, size);
    else in_pieces(size, most, f);
}

/// Bytes [at, at + n) of what we have to where we show them, and of what we get from where another rank shows them.
template <class J> void give(J& j, source const& data, std::size_t at, std::byte* to, std::size_t n) noexcept {
    if (data.is_contiguous()) j.write(to, data.data() + at, n);
    else data.read(at, {to, n});
}
template <class J> void take(J const& j, sink const& data, std::size_t at, std::byte const* from, std::size_t n) noexcept {
    if (n >= least_ahead && data.is_contiguous()) j.read(data.data() + at, from, n);
    else data.write(at, {from, n});
}

// --- data that move ---------------------------------------------------------------------------------------------------------------

template <class J> void barrier_in(J& j) {
    j.show_nothing();
    j.see_all();
}
template <class Stack> bool barrier_together(team<Stack> const& t) {
    joint<Stack> j{t, speaker::barrier, 0};
    if (!j.takes(0)) return false;
    return barrier_in(j), true;
}

// Each is written for a joint one and for a brief one.

template <class J> void broadcast_in(J& j, place const& data, std::int32_t root) {
    in_rounds(j, data.in.size(), j.stretch(), [&](std::size_t at, std::size_t n) {
        if (j.me() == root) {
            give(j, data.out, at, j.begin_stretch(n), n);
            return j.show();
        }
        j.show_nothing();
        j.see_root(root);
        take(j, data.in, at, j.of(root), n);
    });
}
template <class Stack> bool broadcast_together(team<Stack> const& t, place const& data, std::int32_t root) {
    joint<Stack> j{t, speaker::broadcast, data.in.size()};
    if (!j.takes(data.in.size())) return false;
    return broadcast_in(j, data, root), true;
}

/// mine: what another rank than the root brings. all: asked for at the root.
template <class J>
void gather_in(J& j, std::optional<source> const& mine, by_rank<sink> all, std::size_t size, std::int32_t root) {
    in_rounds(j, size, j.most(), [&](std::size_t at, std::size_t n) {
        if (j.me() != root) {
            give(j, *mine, at, j.begin(n), n);
            return j.show();
        }
        j.show_nothing();
        j.see_all_ahead(n, [&](std::int32_t q) { take(j, all(q), at, j.of(q), n); });
    });
}
template <class Stack> bool gather_together(team<Stack> const& t, std::optional<source> const& mine, by_rank<sink> all,
                                            std::size_t size, std::int32_t root) {
    joint<Stack> j{t, speaker::gather, size};
    if (!j.takes(size)) return false;
    return gather_in(j, mine, all, size, root), true;
}

/// Bytes of a piece that a round brings where a rank shows one for each.
template <class J> std::size_t most_of_row(J const& j, std::size_t size) noexcept {
    return std::max<std::size_t>(1, std::min(size, j.most() / static_cast<std::size_t>(j.ranks() - 1)));
}
/// Of the piece for rank `to` in the row that rank `of` shows: all others' side by side.
constexpr std::size_t place_in_row(std::int32_t to, std::int32_t of) noexcept {
    return static_cast<std::size_t>(to < of ? to : to - 1);
}
template <class J> void write_row(J& j, std::byte* row, by_rank<source> pieces, std::size_t at, std::size_t n) {
    for (std::int32_t q = 0; q < j.ranks(); ++q)
        if (q != j.me()) give(j, pieces(q), at, row + place_in_row(q, j.me()) * n, n);
}

/// mine: what another rank than the root gets. all: asked for at the root.
template <class J>
void scatter_in(J& j, by_rank<source> all, std::optional<sink> const& mine, std::size_t size, std::int32_t root) {
    in_rounds(j, size, most_of_row(j, size), [&](std::size_t at, std::size_t n) {
        if (j.me() == root) {
            write_row(j, j.begin(n * static_cast<std::size_t>(j.ranks() - 1)), all, at, n);
            return j.show();
        }
        j.show_nothing();
        auto const skip = place_in_row(j.me(), root) * n;
        j.see_ahead(root, skip, n);
        take(j, *mine, at, j.of(root) + skip, n);
    });
}
template <class Stack> bool scatter_together(team<Stack> const& t, by_rank<source> all, std::optional<sink> const& mine,
                                             std::size_t size, std::int32_t root) {
    joint<Stack> j{t, speaker::scatter, size};
    if (!j.takes(size * static_cast<std::size_t>(j.ranks() - 1), size <= t.template limit<"MPT_NODE_PIECE">())) return false;
    return scatter_in(j, all, mine, size, root), true;
}

/// What all pieces are, and the largest.
struct piece_sizes {
    std::size_t total = 0, largest = 0;

    piece_sizes(by_rank<place> all, std::int32_t n) {
        for (std::int32_t q = 0; q < n; ++q) {
            auto const size = all(q).in.size();
            total += size, largest = std::max(largest, size);
        }
    }
    static constexpr std::size_t too_much = ~std::size_t{0};
    bool are_even(std::int32_t n) const noexcept { return total == largest * static_cast<std::size_t>(n); }
};

/// This rank's piece is in its place.
template <class J> void allgather_in(J& j, by_rank<place> all, std::size_t largest) {
    auto const part = [](std::size_t size, std::size_t at, std::size_t n) { return at < size ? std::min(n, size - at) : 0; };
    in_rounds(j, largest, j.most(), [&](std::size_t at, std::size_t n) {
        auto const own = all(j.me()).out;
        auto const given = part(own.size(), at, n);
        auto* const into = j.begin(n);
        if (given != 0) give(j, own, at, into, given);
        j.show();
        j.see_all([&](std::int32_t q) {
            auto const room = all(q).in;
            auto const taken = part(room.size(), at, n);
            if (taken != 0) take(j, room, at, j.of(q), taken);
        });
    });
}
template <class Stack> bool allgather_together(team<Stack> const& t, by_rank<place> all) {
    if (!t.where()) return false;
    piece_sizes const sizes{all, t.size()};
    if (!sizes.are_even(t.size()) && is_off<"mpi_allgatherv">(t)) return false;
    joint<Stack> j{t, speaker::allgather, sizes.total};
    if (!j.takes(sizes.largest)) return false;
    j.is_exchange();
    return allgather_in(j, all, sizes.largest), true;
}

/// Pieces of one size; this rank's to itself is not moved.
template <class J> void alltoall_in(J& j, std::size_t size, by_rank<source> mine, by_rank<sink> all) {
    in_rounds(j, size, most_of_row(j, size), [&](std::size_t at, std::size_t n) {
        write_row(j, j.begin(n * static_cast<std::size_t>(j.ranks() - 1)), mine, at, n);
        j.show();
        j.see_all([&](std::int32_t q) { take(j, all(q), at, j.of(q) + place_in_row(j.me(), q) * n, n); });
    });
}
/// Longer ones of more than two ranks go by messages: who has sent all of its own waits for nobody in particular, where each piece of this
/// memory takes all of them along.
/// origin: all at once by messages / through this memory, AMD EPYC, Zen 4, two CPUs, us: 8 ranks, 2 KiB 30 / 18, 4 KiB 24 / 26, 8 KiB 31 / 47,
/// 64 KiB 186 / 287; 4 ranks, 8 KiB 8.2 / 7.2, 16 KiB 16 / 22; 16 ranks, 2 KiB 480 / 89, 4 KiB 136 / 141, 8 KiB 179 / 211
inline constexpr std::size_t alltoall_piece_there = 8_KiB, alltoall_row_there = 32_KiB, alltoall_small_there = 2_KiB;
template <class Stack> bool alltoall_together(team<Stack> const& t, std::size_t size, by_rank<source> mine, by_rank<sink> all) {
    joint<Stack> j{t, speaker::alltoall, size};
    auto const row = size * static_cast<std::size_t>(j.ranks() - 1);
    auto const most = row <= alltoall_row_there ? alltoall_piece_there : alltoall_small_there;
    bool const short_ones = size <= std::min(most, t.template limit<"MPT_NODE_PIECE">());
    if (!j.takes(row, t.size() == 2 || short_ones)) return false;
    j.is_exchange();
    return alltoall_in(j, size, mine, all), true;
}

} // namespace mpt::inline v0::coll::detail
