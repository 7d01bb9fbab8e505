/// smp/board - who has sent: how a receiver of many learns which few to poll.
///
///        sender 3: after publishing its frame, board[3] = frames it has sent        (one store, its own word)
///
///        the owner's copy   | 0 | 7 | 0 | 40 | ...          not the same: peer 3 is active, make it hot
///        the board          | 0 | 7 | 0 | 41 | ...          (and if it has no mailbox yet: it asks for one)
///
///   One counter per sender, written by that sender alone and compared by the owner with what it saw last. Never a bit that
///   one side sets and the other clears: that needs a fence per message. A peer stays hot (its channel is polled always) until
///   it was found empty many times; nothing can be lost, because what was counted when it became hot was visible then, and
///   what comes later moves the counter again.
///
///   A node with few ranks polls all of them and has no use for the board.
///
///   Order    sync smp.board: a frame is published before its count.
///   Cost     sender: a store a frame, to a line that 16 senders share. Owner: ranks / 16 lines a sweep.
///   Tests    test/transport_smp_board_test.cpp, test/model/board_model_test.cpp
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <mpt/core/atomics.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0::smp {

/// The owner's private half.
template <class Atomics = native_atomics> class board {
public:
    using word = typename Atomics::template atomic<std::uint32_t>;

private:
    std::span<word> counts_;
    std::vector<std::uint32_t> seen_;

public:
    board() = default;
    /// first: what every counter starts from.
    board(std::span<word> counts, std::uint32_t first) : counts_{counts}, seen_(counts.size(), first) {}

    /// The sender's half: publish frames first, then their count.
    static void knock(word& own, std::uint32_t count) noexcept {
        own.store(count, std::memory_order_release); // sync(smp.board): release
    }

    /// Calls moved(sender) for every counter that is not as it was at the last look.
    template <class Moved> void sweep(Moved&& moved) noexcept {
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if (look(i)) [[unlikely]]
                moved(i);
    }
    /// Has this one moved since the last look?
    bool look(std::size_t sender) noexcept {
        auto const now = counts_[sender].load(std::memory_order_acquire); // sync(smp.board): acquire
        if (now == seen_[sender]) [[likely]]
            return false;
        seen_[sender] = now;
        return true;
    }
};

/// The hot set: peers that are polled always. Membership and place in constant time, no allocation after construction.
class hot_set {
    static constexpr std::uint32_t absent = ~0u;
    std::vector<std::uint32_t> members_;
    std::vector<std::uint32_t> place_; // of a peer in members_
    std::vector<std::uint32_t> idle_;  // empty polls in a row, of a peer

public:
    hot_set() = default;
    explicit hot_set(std::size_t peers) : place_(peers, absent), idle_(peers, 0) { members_.reserve(peers); }

    std::span<std::uint32_t const> members() const noexcept { return members_; }
    bool contains(std::size_t peer) const noexcept { return place_[peer] != absent; }

    void insert(std::size_t peer) noexcept {
        idle_[peer] = 0;
        if (contains(peer)) return;
        place_[peer] = static_cast<std::uint32_t>(members_.size());
        members_.push_back(static_cast<std::uint32_t>(peer));
    }
    void erase(std::size_t peer) noexcept {
        auto const last = members_.back();
        members_[place_[peer]] = last;
        place_[last] = place_[peer];
        place_[peer] = absent;
        members_.pop_back();
    }
    /// After a poll of a member: true when it was found empty `patience` times in a row.
    bool cooled(std::size_t peer, bool found, std::uint32_t patience) noexcept {
        idle_[peer] = found ? 0 : idle_[peer] + 1;
        return idle_[peer] >= patience;
    }
};

} // namespace mpt::inline v0::smp
