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
#include <cstddef>
#include <cstdint>
#include <memory>

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

    struct impl;
    std::unique_ptr<impl> impl_;
    atomic<std::uint32_t> wanted_{0};
    atomic<bool> waiting_{false};

public:
    static constexpr std::size_t room = 1024;

    notice_queue();
    ~notice_queue();
    notice_queue(notice_queue const&) = delete;

    /// Only these kinds from here on. What was taken in before stays.
    void want(std::uint32_t kinds);
    bool wants(notice_kind k) const noexcept {
        return (wanted_.load(std::memory_order_relaxed) & bit_of(k)) != 0; // order: a hint, the mutex decides
    }
    void post(notice n) noexcept;
    /// Is there anything to take?
    bool waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); } // order: a hint, as above
    /// The earliest; false: there is none.
    bool take(notice& n) noexcept;
    /// How many of a kind were lost since it was asked for last.
    std::uint64_t take_lost(notice_kind k) noexcept;
};

} // namespace mpt::inline v0::protocol
