/// rma/active_message - one operation on memory that is not mapped, done by a thread of its owner that waits in mpt anyway.
///
///        origin                                                 a thread of the target that waits
///        ------                                                 ---------------------------------
///        free -> taken      a line of the target's
///        message            taken -> asked    ------------->    asked -> begun
///        looks for a while                                      does it; the answer is the message's data
///        done, refused      the answer; -> free <-----------    begun -> done, refused
///        still asked        asked -> free: nothing was done
///
///   A put may have an update of one number with it, which is done after it: data, and the signal that they are there.
///
///   Data that no line holds stand in memory of the origin's, which the target maps; the answer of an update follows them there. Or the
///   data of an update stand where the origin's program has them, and the target reads them through the kernel, and writes the answer.
///
///   A round trip of a cache line in place of a system call, or of a message and its answer. Nobody depends on the target: what it does
///   not begin in time the origin takes back, and goes another way (rma/window/ask.hpp). What has begun is waited for.
///
///   States   taken and done are the origin's, asked is both's, begun the target's: who changes `asked` does so by a compare-exchange.
///   Order    active.asked: the message is there for who begins it. active.done: what it did, and the answer, are there for who asked.
///            active.free: who takes the line next writes after its last user has read, or after ask() where that was taken back.
///   Memory   two lines, zero at birth, in the target's control block; with up to 40 bytes of data one is used.
///   Limit    an origin that dies keeps its line.
///   Tests    test/rma_active_message_test.cpp, test/model/active_message_model_test.cpp
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <mpt/core/atomics.hpp>
#include <mpt/core/types.hpp>
#include <mpt/rma/agent/letter.hpp>

namespace mpt::inline v0::rma {

/// What is to be done to one run of bytes of the target's; or, list: a letter of some runs, which stands elsewhere (window/ask.hpp).
struct active_message {
    static constexpr std::size_t most = 104; // bytes of data: two lines in all

    request what = request::confirm; // never that
    operation op = operation::no_op; // update; put: of the number after it, if any
    element_kind kind = element_kind::byte;
    bool fetches = false;    // update, list: there is an answer
    std::uint32_t bytes = 0; // of the run, or of the letter; afterwards 0 where the kernel refused to write the answer
    std::uint64_t at = 0;
    std::array<std::byte, most> data; // put, update: as many; swap: expected, then desired. The answer of get, update, swap

    /// What a put has behind its data: a number that is updated after it.
    struct after {
        std::uint64_t at = 0, value = 0;
    };
    static constexpr std::size_t most_before = most - sizeof(after);
    void put_after(after const& a) noexcept { std::memcpy(&data[most_before], &a, sizeof a); }
    after what_follows() const noexcept {
        after a;
        std::memcpy(&a, &data[most_before], sizeof a);
        return a;
    }

    /// Of more bytes: where they are.
    struct place {
        std::int32_t of = -1;        // in the slice of that rank of the job; or in the memory of that rank of the window,
        std::uint32_t is_afar = 0;   // which the kernel reads and writes
        std::uint64_t at = 0;        // the data; nothing afar where there are none
        std::uint64_t answer_at = 0; // afar; else it follows the data, or the half of the desk that a letter stands on
    };
    void put_elsewhere(place const& p) noexcept { std::memcpy(data.data(), &p, sizeof p); }
    place elsewhere() const noexcept {
        place p;
        std::memcpy(&p, data.data(), sizeof p);
        return p;
    }
};

enum class answered : std::uint8_t { not_yet, done, done_by_agent, refused };

/// Where one is asked for. Message: what model tests replace.
template <class Atomics = native_atomics, class Message = active_message> class alignas(line_pair) active_line {
    enum : std::uint32_t { free, taken, asked, begun, was_done, was_done_by_agent, was_refused };
    typename Atomics::template atomic<std::uint32_t> state_{free};
    Message message_;

public:
    /// The origin's from try_take() to ask(), and after an answer; the target's from try_begin() to end().
    Message& message() noexcept { return message_; }

    // --- origin -----------------------------------------------------------------------------------------------------------------
    bool try_take() noexcept {
        std::uint32_t nobody = free;
        return state_.load(std::memory_order_relaxed) == free &&                        // order: the compare-exchange decides
               state_.compare_exchange_strong(nobody, taken, std::memory_order_acquire, // sync(active.free): acquire
                                              std::memory_order_relaxed);               // order: refused, nothing hangs on it
    }
    void ask() noexcept { state_.store(asked, std::memory_order_release); } // sync(active.asked): release
    answered look() const noexcept {
        switch (state_.load(std::memory_order_acquire)) { // sync(active.done): acquire
        case was_done: return answered::done;
        case was_done_by_agent: return answered::done_by_agent;
        case was_refused: return answered::refused;
        default: return answered::not_yet;
        }
    }
    /// True: nobody has begun, and nobody will. The line is free.
    bool take_back() noexcept {
        std::uint32_t seen = asked;
        // order: who takes the line next reads what ask() has released; one that has begun is waited for by look()
        return state_.compare_exchange_strong(seen, free, std::memory_order_relaxed);
    }
    /// After an answer, which was read.
    void give_back() noexcept { state_.store(free, std::memory_order_release); } // sync(active.free): release

    // --- target -----------------------------------------------------------------------------------------------------------------
    bool try_begin() noexcept {
        std::uint32_t seen = asked;
        return state_.load(std::memory_order_relaxed) == asked &&                     // order: the compare-exchange decides
               state_.compare_exchange_strong(seen, begun, std::memory_order_acquire, // sync(active.asked): acquire
                                              std::memory_order_relaxed);             // order: it was taken back
    }
    /// by_agent: perhaps not by a thread that waits, but by the agent, which sleeps soon.
    void end(bool done, bool by_agent = false) noexcept {
        auto const how = !done ? was_refused : by_agent ? was_done_by_agent : was_done;
        state_.store(how, std::memory_order_release); // sync(active.done): release
    }
};
static_assert(sizeof(active_line<>) == line_pair);

} // namespace mpt::inline v0::rma
