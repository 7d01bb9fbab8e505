/// rma/agent/letter - what is asked of a target's agent, as one message: what to do, where, and with what.
///
///        head 16 B     runs: address, length each     data, packed
///        [what|...]    [at|bytes][at|bytes] ...       [##########]
///
///   An operation on more than a letter holds is several letters. Addresses are the target's. Those that fetch are answered with the
///   packed bytes, in a message of the tag that they name; with less where a run is not the window's.
///
///        what      data                  the answer
///        put       the new bytes         none
///        get       none                  the bytes
///        update    elements              none, or where a tag is named, what was there
///        swap      expected, desired     what was there
///        confirm   none                  a number: letters of this sender that were refused since the last confirmation
///
///   Count   letters without an answer are counted at the target from before they leave until they are done: an origin that finds none
///           under way knows that all of its own are done, without asking.
///   Order   rma.letters: what letters have changed is seen by who finds none under way. Every change of the count is a
///           read-modify-write, so it is seen of all of them.
///   Tests   test/rma_agent_test.cpp, test/model/letters_model_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include <mpt/core/atomics.hpp>
#include <mpt/core/cursor.hpp>
#include <mpt/core/error.hpp>
#include <mpt/datatype/operation.hpp>
#include <mpt/datatype/runs.hpp>

namespace mpt::inline v0::rma {

/// list: never a letter's; an active message's, whose letter stands on the origin's desk (window/ask.hpp).
enum class request : std::uint8_t { put, get, update, swap, confirm, list };

struct letter_head {
    request what = request::confirm;
    operation op = operation::no_op; // update
    element_kind kind = element_kind::byte;
    std::uint8_t reserved = 0;
    std::uint32_t runs = 0;
    std::uint32_t bytes = 0; // of data
    std::int32_t answer = 0; // tag; 0: none
};
static_assert(sizeof(letter_head) == 16);

/// Letters without an answer, of whomever, that are under way to one agent.
template <class Atomics = native_atomics> class letters_under_way {
    typename Atomics::template atomic<std::uint32_t> count_{0};

public:
    /// Before one leaves.
    void one_more() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }       // order: the frame is published after it
    void one_done() noexcept { count_.fetch_sub(1, std::memory_order_release); }       // sync(rma.letters): release
    bool none() const noexcept { return count_.load(std::memory_order_acquire) == 0; } // sync(rma.letters): acquire
};

inline constexpr std::size_t letter_runs = 512, letter_bytes = 64 * 1024;
/// Data that stay where the origin's program has them are asked for in pieces: each keeps who waits at the target some 15 us from its own.
/// origin: accumulates of 1 MiB by pieces that are read 16, 32, 64, 128, 256 KiB at a time 254, 212, 166, 148, 129 us (AMD EPYC, Zen 4, CPUs near)
inline constexpr std::size_t most_afar = 128 * 1024;
/// Memory of an origin's that the target maps: so many bytes of data, or of a letter, and as many of an answer.
inline constexpr std::size_t desk_bytes = 16 * 1024;
/// A letter on a desk: so many runs, and bytes of data.
inline constexpr std::size_t list_runs = 256, list_bytes = desk_bytes - sizeof(letter_head) - list_runs * sizeof(memory_run);

/// Room for n runs, which nobody fills before they come.
template <std::size_t N> class run_room {
    alignas(memory_run) std::array<std::byte, N * sizeof(memory_run)> bytes_;

public:
    std::span<memory_run> all() noexcept { return {reinterpret_cast<memory_run*>(bytes_.data()), N}; }
    std::span<memory_run const> all() const noexcept { return {reinterpret_cast<memory_run const*>(bytes_.data()), N}; }
};

/// What lies scattered at a target, by its first runs.
class scattering {
    static constexpr std::size_t few = 4, dear = 24, many = 96; // runs
    static constexpr std::size_t small = 512;                   // bytes of one in the middle
    static constexpr std::size_t gap = 2048;                    // that are read beside a run;
    static constexpr std::size_t around = 64 << 10;             // in all, where letters would go else,
    static constexpr std::size_t far = 1 << 20;                 // and where the kernel would read each
    static constexpr std::size_t most_in_lists = 3 * list_bytes;
    std::size_t runs_, bytes_, size_; // the first ones, and their bytes; of all

public:
    explicit scattering(typed_runs const& there) noexcept {
        run_room<many> place;
        auto const listed = there.list(0, there.size(), place.all());
        runs_ = listed.runs, bytes_ = listed.bytes, size_ = there.size();
    }
    /// Many small ones.
    bool is_fine() const noexcept { return runs_ == many && bytes_ < many * small; }
    /// The same of a put: what is read in such runs is sooner read with what lies between.
    /// origin: two ranks, AMD EPYC guest, near CPUs: put of 512 times 512 B by the kernel 190 us, by letters 32; get 200, with what lies between 66
    bool is_fine_to_put() const noexcept { return runs_ == many && bytes_ < many * 4 * small; }
    /// Is it sooner read with all that lies between? n: bytes from the first one to the last.
    bool is_close(std::uint64_t n) const noexcept {
        if (runs_ < 2) return false;
        auto const all = size_ / (bytes_ / runs_); // runs, about
        return n <= (bytes_ < runs_ * small ? std::min(around, runs_ * gap) : std::min(far, all * gap));
    }
    /// So many that the kernel takes long, a third of a microsecond for each: who waits there is asked whatever it did the last time.
    bool is_dear() const noexcept { return runs_ >= dear; }
    /// So few that all were looked at, and one list holds them.
    bool is_short() const noexcept { return runs_ < many && size_ <= list_bytes; }
    /// More than a few small ones, and no more than one list holds, or three by their bytes. origin: two ranks, AMD EPYC guest, near CPUs, put,
    /// lists / else: 128 times 8 B 1.5 / 5.9 us, 256 times 128 B 9.9 / 11.5, 64 times 512 B 5.1 / 25, 512 times 4 B 11.5 / 6.5
    bool is_list() const noexcept {
        return runs_ >= few && size_ <= most_in_lists && bytes_ < runs_ * 2 * small && size_ * runs_ <= bytes_ * list_runs;
    }
};

namespace detail {

/// Cuts what is there into pieces of whole units, but its first `at` bytes: f(runs, offset of the first byte, bytes).
template <std::size_t Runs = letter_runs, class F>
void in_pieces(typed_runs const& there, std::size_t most, std::size_t unit, F f, std::size_t at = 0) {
    run_room<Runs> place;
    auto const runs = place.all();
    while (at < there.size()) {
        auto piece = there.list(at, most / unit * unit, runs);
        if (auto const rest = piece.bytes % unit; rest != 0) piece = there.list(at, piece.bytes - rest, runs);
        f(std::span<memory_run const>{runs.first(piece.runs)}, at, piece.bytes);
        at += piece.bytes;
    }
}

/// A piece of a source as bytes in a row: in place, or in the buffer.
inline std::byte const* piece_of(source const& from, std::size_t at, std::size_t n, std::vector<std::byte>& buffer) {
    if (from.is_contiguous()) return from.data() + at;
    buffer.resize(n);
    from.read(at, buffer);
    return buffer.data();
}

} // namespace detail

/// A letter as it is sent: what it refers to outlives it.
class letter {
    letter_head head_;
    std::span<memory_run const> runs_;
    source data_;

public:
    letter(letter_head head, std::span<memory_run const> runs, source data) noexcept : head_{head}, runs_{runs}, data_{data} {
        head_.runs = static_cast<std::uint32_t>(runs.size());
        head_.bytes = static_cast<std::uint32_t>(data.size());
    }
    std::size_t size() const noexcept { return sizeof head_ + runs_.size_bytes() + data_.size(); }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept {
        read_part(std::as_bytes(std::span{&head_, 1}), offset, into);
        read_part(std::as_bytes(runs_), offset, into);
        if (!into.empty()) data_.read(offset, into);
    }
    std::optional<std::span<std::byte const>> contiguous() const noexcept { return std::nullopt; }

private:
    /// Reads what lies in the first part, and goes on behind it.
    static void read_part(std::span<std::byte const> part, std::size_t& offset, std::span<std::byte>& into) noexcept {
        if (offset >= part.size()) {
            offset -= part.size();
            return;
        }
        auto const n = std::min(into.size(), part.size() - offset);
        copy_bytes(into.data(), part.data() + offset, n);
        into = into.subspan(n);
        offset = 0;
    }
};
static_assert(byte_source<letter>);

/// A letter as it came. Throws mpt::error(protocol) where it is none.
struct opened_letter {
    letter_head head;
    run_room<letter_runs> places;
    std::span<std::byte const> data;

    explicit opened_letter(std::span<std::byte const> message);
    std::span<memory_run const> runs() const noexcept { return places.all().first(head.runs); }
    std::size_t bytes_of_runs() const noexcept {
        std::size_t n = 0;
        for (auto const& r : runs()) n += r.bytes;
        return n;
    }
};

inline opened_letter::opened_letter(std::span<std::byte const> message) {
    auto const bad = [&] {
        throw error{errc::protocol, "mpt: a one-sided operation came as a message of " + std::to_string(message.size()) +
                                        " bytes that is no letter to an agent."};
    };
    if (message.size() < sizeof head) bad();
    copy_bytes(reinterpret_cast<std::byte*>(&head), message.data(), sizeof head);
    auto const rest = message.subspan(sizeof head);
    auto const list = std::size_t{head.runs} * sizeof(memory_run);
    if (head.runs > letter_runs || rest.size() < list || rest.size() - list != head.bytes) bad();
    copy_bytes(reinterpret_cast<std::byte*>(places.all().data()), rest.data(), list);
    data = rest.subspan(list);
    if (bytes_of_runs() > letter_bytes) bad();
}

} // namespace mpt::inline v0::rma
