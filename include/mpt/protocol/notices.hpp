/// protocol/notices - single things that happened in an engine, with their time, for whoever watches it.
///
///        engine, under its lane's lock                             who watches, with no lock
///        tell(what, ...) --> wants(what)? post --> | queue | ----> waiting()? take(notice), take_lost(what)
///                                                  1024 at most; what finds it full is lost, and counted
///
///   A queue may be filled by the engines of all lanes of a rank: its notices are in one order, and their times never go back.
///
///   Cost     an engine that nobody watches: one test where something rare happens, none on the fast paths.
///   Order    the queue's mutex; `waiting` and `wants` are hints.
///   Threads  everything by anybody at any time.
///   Tests    test/protocol_notices_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <mpt/core/atomics.hpp>
#include <mpt/core/types.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0::protocol {

enum class notice_kind : std::uint8_t {
    unexpected, // a message came before its receive
    offered,    // a message was announced to its receiver
    sent,       // ... and has left: the sender's memory is its own again
    received,   // ... and is here
    throttled,  // a peer keeps too much of ours that it has not asked for: messages to it are announced from now on
    relieved,   // ... no more
};
inline constexpr std::size_t notice_kinds = 6;
/// A set of kinds.
constexpr std::uint32_t bit_of(notice_kind k) noexcept { return 1u << static_cast<unsigned>(k); }

struct notice {
    notice_kind what{};
    context_id context{};
    rank peer{}; // world rank
    tag label{};
    std::uint64_t bytes = 0;
    nanoseconds when{}; // of the world's clock
};

class notice_queue {
    template <class T> using atomic = native_atomics::atomic<T>;

    std::mutex changing_;
    std::vector<notice> ring_; // made when something is wanted
    std::uint64_t first_ = 0, end_ = 0;
    nanoseconds latest_{};
    std::array<std::uint64_t, notice_kinds> lost_{};
    atomic<std::uint32_t> wanted_{0};
    atomic<bool> waiting_{false};

public:
    static constexpr std::size_t room = 1024;

    notice_queue() = default;
    notice_queue(notice_queue const&) = delete;

    /// Only these kinds from here on. What was taken in before stays.
    void want(std::uint32_t kinds) {
        std::lock_guard const g{changing_};
        if (kinds != 0 && ring_.empty()) ring_.resize(room);
        wanted_.store(kinds, std::memory_order_relaxed); // order: a hint, the mutex decides
    }
    bool wants(notice_kind k) const noexcept {
        return (wanted_.load(std::memory_order_relaxed) & bit_of(k)) != 0; // order: a hint, as above
    }
    void post(notice n) noexcept {
        std::lock_guard const g{changing_};
        if (!wants(n.what)) return;
        waiting_.store(true, std::memory_order_relaxed); // order: a hint, the mutex decides
        if (end_ - first_ == room) {
            ++lost_[static_cast<std::size_t>(n.what)];
            return;
        }
        n.when = latest_ = std::max(n.when, latest_);
        ring_[end_++ % room] = n;
    }
    /// Is there anything to take?
    bool waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); } // order: a hint, as above
    /// The earliest; false: there is none.
    bool take(notice& n) noexcept {
        std::lock_guard const g{changing_};
        if (first_ == end_) return waiting_.store(false, std::memory_order_relaxed), false; // order: as above
        n = ring_[first_++ % room];
        return true;
    }
    /// How many of a kind were lost since it was asked for last.
    std::uint64_t take_lost(notice_kind k) noexcept {
        std::lock_guard const g{changing_};
        return std::exchange(lost_[static_cast<std::size_t>(k)], 0);
    }
};

} // namespace mpt::inline v0::protocol
