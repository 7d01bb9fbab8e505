/// protocol/wire - what the protocols say to each other: one struct per frame, every size pinned.
///
///   op            carries                              from -> to            machine
///   e0            context, label, data                 sender -> receiver    protocol/e0
///   e0_sync       + sender's request                   sender -> receiver    protocol/e0
///   e1            context, label, size, loan           sender -> receiver    protocol/e1
///   e1_sync       + sender's request                   sender -> receiver    protocol/e1
///   e1_begun      as e1 or e1_sync, while it is written  sender -> receiver    protocol/e1
///   rts           context, label, size, where          sender -> receiver    protocol/rndv_get, rndv_put
///   rts_begun     rts + a loan of the first bytes      sender -> receiver    protocol/rndv_put, engine/pull
///   rts_runs      + runs and their stride, or a table  sender -> receiver    protocol/rndv_get
///   cts           both requests, bytes wanted          receiver -> sender    protocol/rndv_put
///   chunk         receiver's request, offset, data     sender -> receiver    protocol/rndv_put
///   chunk_loan    receiver's request, offset, loan     sender -> receiver    protocol/rndv_put
///   chunk_begun   as chunk_loan, while it is written   sender -> receiver    protocol/rndv_put, engine/loans
///   fin           sender's request                     receiver -> sender    protocol/rndv_get
///   ack           sender's request                     receiver -> sender    e0_sync, e1_sync, e1_begun
///   retract       sender's request                     sender -> receiver    all that wait for the receiver: "if it is not
///                                                                            matched, forget it"
///   retracted     sender's request                     receiver -> sender    "it was not, and is forgotten"
///   throttle      on or off                            receiver -> sender    flow control, protocol/engine
///
///   Every header fits 48 bytes, the least that a transport's frame may hold; rts_runs and rts_begun want 52, and go where they fit.
///   Requests travel as pool indices with a generation, and are checked on arrival: a frame never makes us follow a pointer that came
///   from outside.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include <mpt/core/types.hpp>

namespace mpt::inline v0::protocol {

enum class op : std::uint16_t {
    none,
    e0,
    e0_sync,
    e1,
    e1_sync,
    rts,
    cts,
    chunk,
    chunk_loan,
    fin,
    ack,
    throttle,
    retract,
    retracted,
    ask,
    rts_runs,
    e1_begun,
    rts_begun,
    chunk_begun
};
inline constexpr std::uint16_t op_count = 19;

/// A request of a peer (or of ours, come back): an index into its owner's pool and the generation it was made in.
struct request_ref {
    std::uint32_t index = ~0u;
    std::uint32_t generation = 0;
    bool is_none() const noexcept { return index == ~0u; }
};

namespace wire {

/// What a message is matched by, in 12 bytes: it shares a cache line with up to 40 bytes of data.
struct [[gnu::packed, gnu::aligned(4)]] label {
    std::uint64_t context_bits; // one load, one compare
    std::int32_t tag;

    static label of(context_id c, mpt::tag t) noexcept { return {static_cast<std::uint64_t>(c), t}; }
    context_id context() const noexcept { return context_id{context_bits}; }
};
static_assert(sizeof(label) == 12 && alignof(label) == 4);

struct e0 {
    label what;
};
struct e0_sync {
    label what;
    std::uint32_t index, generation; // the sender's request
};
struct e1 {
    label what;
    std::uint32_t size;
    std::uint64_t loan;
    std::uint32_t index, generation; // the sender's request, for e1_sync; e1_begun: the same, or none
};
struct rts {
    label what;
    std::uint32_t ticket;  // joint copy: a ticket of the sender's, 0: none
    std::uint64_t size;    // of the message
    std::uint64_t address; // remote_memory, where the transport reads; else 0
    std::uint32_t index, generation;
    std::uint32_t in_slice;
    std::uint32_t readable; // 1: address is good for get()
};
/// Of a message whose bytes lie in many runs. They are told where `where` is that of the hull of them all, from the first byte to the
/// last: regular ones by their length and distance, others by a table of memory_run (request.hpp: far_runs).
struct [[gnu::packed, gnu::aligned(4)]] rts_runs {
    label what;
    std::uint32_t ticket;
    std::uint64_t size;    // of the message
    std::uint64_t address; // of the hull, or of the table
    std::uint32_t index, generation;
    std::uint32_t runs;  // bytes of each, or entries of the table
    std::int32_t stride; // 0: a table
    std::uint32_t in_slice;
};
/// Of a message whose memory may be read, and whose first bytes are being written to a loan.
struct [[gnu::packed, gnu::aligned(4)]] rts_begun {
    label what;
    std::uint32_t ticket;
    std::uint64_t size;    // of the message
    std::uint64_t address; // remote_memory
    std::uint32_t index, generation;
    std::uint32_t piece; // bytes in the loan, twice, and in_slice
    std::uint64_t loan;
};
struct cts {
    std::uint32_t index, generation;       // the sender's request
    std::uint32_t to_index, to_generation; // the receiver's request
    std::uint64_t size;                    // bytes wanted: less than offered when the receive buffer is shorter
};
struct ask { // a cts that the sender may come too late for: the receiver then pulls
    cts what;
    std::uint32_t ticket;
    std::uint32_t from; // bytes that need no push: they came with the announcement
};
struct chunk {
    std::uint32_t index, generation; // the receiver's request
    std::uint64_t offset;
};
struct chunk_loan {
    std::uint32_t index, generation; // the receiver's request
    std::uint64_t offset;
    std::uint64_t loan;
    std::uint32_t size;
    std::uint32_t written; // of it: less in a chunk_begun
};
struct fin {
    std::uint32_t index, generation; // the sender's request
};
using ack = fin;
using retract = fin;
using retracted = fin;
struct throttle {
    std::uint32_t on;
};

static_assert(sizeof(e0) == 12 && sizeof(e0_sync) == 20 && sizeof(e1) == 32 && sizeof(rts) == 48 && sizeof(rts_runs) == 52 &&
              sizeof(rts_begun) == 52 && sizeof(cts) == 24);
static_assert(sizeof(ask) == 32 && sizeof(chunk) == 16 && sizeof(chunk_loan) == 32 && sizeof(fin) == 8 &&
              sizeof(throttle) == 4);

// Member by member. What was put together on the stack by stores of four and eight bytes, and is then loaded by sixteen, as a copy of the
// whole is, waits until those stores are in the cache, and with them all before: those of the last frames, whose lines the peer holds.
// origin: windows of 64 messages between two cores of an AMD EPYC (Zen 5): one such copy took 80 % of a send of 64 bytes
[[gnu::always_inline]] inline std::byte* put(std::byte* at, auto value) noexcept {
    std::memcpy(at, &value, sizeof value);
    return at + sizeof value;
}
[[gnu::always_inline]] inline std::byte* write_label(std::byte* at, context_id c, mpt::tag t) noexcept {
    return put(put(at, static_cast<std::uint64_t>(c)), t.value);
}
[[gnu::always_inline]] inline std::byte* write(std::byte* at, label const& what) noexcept {
    return put(put(at, std::uint64_t{what.context_bits}), std::int32_t{what.tag});
}
[[gnu::always_inline]] inline void write(std::span<std::byte> payload, e0 const& h) noexcept { write(payload.data(), h.what); }
[[gnu::always_inline]] inline void write(std::span<std::byte> payload, e1 const& h) noexcept {
    put(put(put(put(write(payload.data(), h.what), h.size), h.loan), h.index), h.generation);
}

/// What is written of a message in a loan when its e1_begun goes, and of each piece that follows: both sides know it by the size.
constexpr std::uint64_t first_piece(std::uint64_t size) noexcept {
    return size <= 8_KiB ? 2_KiB : size <= 128_KiB ? 8_KiB : 16_KiB;
}

/// A header that came, or none. No std::optional, which is copied once more when it is made: see put().
template <class T> struct header {
    T body;
    bool there;
    explicit operator bool() const noexcept { return there; }
    T const* operator->() const noexcept { return &body; }
    T const& operator*() const noexcept { return body; }
};
/// Reads a header from the front of a payload, if the payload is long enough for one.
template <class T> [[gnu::always_inline]] inline header<T> read(std::span<std::byte const> payload) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    header<T> h;
    h.there = payload.size() >= sizeof(T);
    if (h.there) [[likely]]
        std::memcpy(&h.body, payload.data(), sizeof(T));
    return h;
}
template <class T> void write(std::span<std::byte> payload, T const& t) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(payload.data(), &t, sizeof t);
}

} // namespace wire
} // namespace mpt::inline v0::protocol
