/// transport/transport - the contract of a transport: frames, and what more it may offer.
///
///   A transport policy is a tag with `facts` and a class template `endpoint<World>`; a lane of an environment owns one
///   endpoint. Endpoints of lane i talk to endpoints of lane i. An endpoint is entered by one thread at a time (the lane's
///   lock); its peers are other ranks that write at any time.
///
///        sender                                     receiver
///        cell = e.reserve(peer, n)  falsy: again
///        write into cell.payload()
///        e.commit(move(cell), op)   ------------->  e.poll(sink, budget): sink(frame{from, op, payload})
///
///   Nothing here blocks, throws or allocates. A cell that dies uncommitted becomes nothing, or a padding frame that the
///   receiver skips: an abandoned reserve never stalls the pair.
///
///   expression              returns       may fail with   meaning                                                   who
///   T::facts                facts         -               what protocols may branch on with `if constexpr`          -
///   e.local()               address       -               what peers need to reach us (published at boot)           lane
///   e.reaches(p)            bool          -               can frames go to p? final for the job's life              lane
///   e.reserve(p, n)         cell          falsy: again    room for one frame of n <= max_frame bytes; n above: falsy  lane
///   c.payload()             span          -               n bytes to write; valid until commit                      lane
///   e.commit(c, op)         -             -               publishes; the store that publishes releases              lane
///   e.poll(sink, budget)    size_t        -               hands at most budget frames over; a span is valid inside
///                                                         the sink only; the sink may reserve and commit            lane
///   e.poll_from(p, sink)    size_t        -               the same, one peer, at most one frame: the fast receive;
///                                                         0 where p is a rank that it does not reach                lane
///   e.flush()               bool          -               pushes what a full wire held back; true when nothing is left  lane
///   e.descriptors()         span<int>     -               file descriptors to poll() on before sleeping; empty: the
///                                                         doorbell alone wakes                                      lane
///
///   Refinements, each a concept of its own below; a protocol asks for what it needs and nothing more:
///     lending     eager buffers of the sender that the receiver reads in place (E1)
///     readable    the peer's memory can be read without its help (R0)
///     run_readable  the same for many runs of it at once (R0 of layouts)
///     joint       one large message copied from both ends at once (R0)
///     explaining  says why it does not reach a peer
///     answering   knows when a frame would be an answer
///     peeking     shows a frame before it is taken
///     stretching  carries frames of more than max_frame bytes, now and then
///     noticing    learns that a peer has gone (from its connection), so that nobody waits for it for ever
#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <mpt/boot/boot.hpp>
#include <mpt/config/config.hpp>
#include <mpt/core/cursor.hpp>
#include <mpt/core/policy.hpp>
#include <mpt/mem/arena.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0 {

/// One frame as it comes from a wire.
struct frame {
    rank from{};        // world rank of the sender
    std::uint16_t op{}; // which handler of the engine gets it
    std::span<std::byte const> payload{};
};

/// Facts, not opinions: no tuning numbers in here.
struct transport_facts {
    bytes max_frame{};          // most payload that one reserve() can return
    bytes max_stretch{};        // most payload of a longer frame (transport_stretching); 0: there are none
    bool ordered = false;       // frames of a pair arrive in reserve() order; mpt's protocols ask for it
    bool cross_process = false; // reaches ranks that are other processes
    bool lends = false;         // models transport_lending
    bool reads = false;         // models transport_readable
    bool joins = false;         // models transport_joint
};

/// Everything an endpoint may need at birth. References outlive it.
template <class World> struct lane_context {
    World world;
    boot::job& job;
    mem::slice_heap& heap; // this rank's slice; used under the environment's lock or at start
    unsigned slot = 0;     // this transport's place in the route: the key of its addresses
    unsigned lane = 0;
    unsigned lanes = 1;
    config::values config{}; // the variables; an endpoint copies what it needs when it is made

    /// What the peer's endpoint of this slot and lane returned from local(); nothing: it published none, or another type.
    template <class Address> std::optional<Address> address_of(rank p) const noexcept {
        auto const published = job.address(p, slot, lane);
        if (published.size() != sizeof(Address)) return {};
        Address a;
        std::memcpy(&a, published.data(), sizeof a);
        return a;
    }
};

/// What a transport knows after asking the system whether it may do a thing.
enum class leave : std::uint8_t { untried, granted, refused };

namespace detail {
struct any_sink {
    void operator()(frame const&) const noexcept {}
    void operator()(frame const&, std::size_t) const noexcept {}
};
} // namespace detail

template <class E, class World>
concept transport_endpoint =
    std::constructible_from<E, lane_context<World> const&> &&
    requires(E& e, rank p, std::size_t n, typename E::cell c, detail::any_sink sink, std::uint16_t op) {
        typename E::address;
        requires std::is_trivially_copyable_v<typename E::address>;
        requires sizeof(typename E::address) <= boot::control_record::address_bytes;
        { e.local() } noexcept -> std::same_as<typename E::address>;
        { e.reaches(p) } noexcept -> std::same_as<bool>;
        { e.reserve(p, n) } noexcept -> std::same_as<typename E::cell>;
        { c.payload() } noexcept -> std::same_as<std::span<std::byte>>;
        { static_cast<bool>(c) };
        { e.commit(std::move(c), op) } noexcept;
        { e.poll(sink, n) } noexcept -> std::same_as<std::size_t>;
        { e.poll_from(p, sink) } noexcept -> std::same_as<std::size_t>;
        { e.flush() } noexcept -> std::same_as<bool>;
        { e.descriptors() } noexcept -> std::same_as<std::span<int const>>;
    };

/// A transport policy: the tag. `endpoint<World>` is checked when a stack names its world.
template <class T>
concept transport_policy = policy<T> && std::same_as<typename T::kind, kind::transport> && requires {
    { T::facts } -> std::convertible_to<transport_facts>;
    requires(T::facts.max_frame >= 48);
};

/// A transport whose peers ring a doorbell (wait/doorbell.hpp) when they have sent and this lane sleeps. A transport without
/// one is woken through its descriptors, or has nobody who could wake it (self).
///
///   e.bell()                 wait::doorbell<World>&   lives where peers reach it
template <class E>
concept transport_belled = requires(E& e) { e.bell(); };

/// A transport whose ranks map each other's slices, so that they may show each other what is no frame.
///
///   e.bell_of(p)             wait::doorbell<World>*   to be rung after that; nullptr: p's memory is not known here
template <class E>
concept transport_neighbourly = transport_belled<E> && requires(E& e, rank p) { *e.bell_of(p); };

/// A transport that can say why it does not reach a rank of the job. Asked after reaches(p) said no; for the sentence of an error.
///
///   e.why_not(p)             string_view   "carries only a rank's messages to itself"
template <class E>
concept transport_explaining = requires(E& e, rank p) {
    { e.why_not(p) } noexcept -> std::same_as<std::string_view>;
};

/// A transport whose looks at one peer's wire are dear, or rest in between:
///
///   e.looks()                unsigned  how many calls of poll_from() make about 60 ns, one turn of a rank that waits; else 16 are
///                                      taken for that
///
/// One on which a look that finds nothing costs next to nothing, for receives that are begun and not waited for yet:
///
///   e.glance(p, sink)        size_t    as poll_from(), at once, whatever a waiting rank does
template <class E>
concept transport_glancing = requires(E& e, rank p, detail::any_sink sink) {
    { e.glance(p, sink) } noexcept -> std::same_as<std::size_t>;
};

/// A transport whose frames may be looked at and left where they are, for who asks what comes next.
///
///   e.peek(p, sink)          sight     hands p's next frame over, and keeps it. Of a longer one than max_frame the sink gets the front, and
///                                      its whole size: sink(frame, size). A look of a waiting rank's, as poll_from()
///   e.peek(sink)             sight     the same for the peers in turn, until there is one
enum class sight : std::uint8_t {
    nothing, // none was seen: of all peers, and a poll would hardly find one
    frame,   // there is one, and it was shown
    unsure   // a poll has to tell
};
template <class E>
concept transport_peeking = requires(E& e, rank p, detail::any_sink sink) {
    { e.peek(p, sink) } noexcept -> std::same_as<sight>;
    { e.peek(sink) } noexcept -> std::same_as<sight>;
};

/// A transport on which an answer, a frame to a peer whose own frame was the last of the pair, is carried in another way.
///
///   e.our_turn(p)            bool      a frame to p would be one
template <class E>
concept transport_answering = requires(E& e, rank p) {
    { e.our_turn(p) } noexcept -> std::same_as<bool>;
};

/// A transport whose frames may be longer than max_frame, where it has room.
///
///   T::facts.max_stretch      bytes    most payload of one
///   e.stretch(p, n, op, fill) bool     false: there is no room now, or n is none for it. Else fill(offset, span) has written the payload,
///                                      n > max_frame bytes, a piece with each call, and it is on its way. The piece at offset 0 has
///                                      max_frame bytes at least
///   sink.stretched(f)         -        how poll hands over one that does not lie in one piece, to a sink that has it; else it is put
///                                      together first. f.from, f.op, f.size; f.front(): its first max_frame bytes;
///                                      f.copy<skip>(into, n): n of the bytes behind the first `skip`, which are some of front()'s
template <class E>
concept transport_stretching =
    requires(E& e, rank p, std::size_t n, std::uint16_t op, void (*fill)(std::size_t, std::span<std::byte>)) {
        { e.stretch(p, n, op, fill) } noexcept -> std::same_as<bool>;
    };

/// A transport that learns from its wire that a peer died or left.
///
///   e.departures()           uint32    how many connections of peers have ended; 0: gone() is false for all
///   e.gone(p)                bool      p's end is closed, and nothing of p's is left to hand over. Final. reaches(p) stays true,
///                                      reserve(p) is falsy: ask gone() before a wait for p goes on for long
template <class E>
concept transport_noticing = requires(E& e, rank p) {
    { e.departures() } noexcept -> std::same_as<std::uint32_t>;
    { e.gone(p) } noexcept -> std::same_as<bool>;
};

/// E1: the sender copies a message into a buffer of its own that the receiver reads in place and gives back.
///
///   e.lend(p, n)          loan      a buffer of n bytes for p, or falsy: none free (again) or n above e.max_loan()
///   l.memory()            span      to be written before the frame that carries l.ref() is committed
///   l.ref()               uint64    what the frame carries
///   e.revoke(l)           -         the loan was never sent
///   e.borrow(p, ref, n)   span      receiver: the bytes, readable until give_back
///   e.give_back(p, ref)   -         receiver: the sender may use the buffer again
template <class E>
concept transport_lending = requires(E& e, rank p, std::size_t n, std::uint64_t ref, typename E::loan l) {
    { e.max_loan() } noexcept -> std::same_as<std::size_t>;
    { e.lend(p, n) } noexcept -> std::same_as<typename E::loan>;
    { static_cast<bool>(l) };
    { l.memory() } noexcept -> std::same_as<std::span<std::byte>>;
    { l.ref() } noexcept -> std::same_as<std::uint64_t>;
    { e.revoke(std::move(l)) } noexcept;
    { e.borrow(p, ref, n) } noexcept -> std::same_as<std::span<std::byte const>>;
    { e.give_back(p, ref) } noexcept;
};

/// One that prepares the next loan while nobody waits for it.
///
///   e.foresee(n)          -         a loan of n bytes was sent, and another one like it is likely to follow
template <class E>
concept transport_lending_again = transport_lending<E> && requires(E& e, std::size_t n) {
    { e.foresee(n) } noexcept -> std::same_as<void>;
};

/// One that may lend for parts of a longer message, few of which are lent at a time, from other buffers than for a whole message of their
/// length.
///
///   e.lend_part(p, n)     loan      as lend()
template <class E>
concept transport_lending_parts = transport_lending<E> && requires(E& e, rank p, std::size_t n) {
    { e.lend_part(p, n) } noexcept -> std::same_as<typename E::loan>;
};
template <transport_lending E> typename E::loan lend_part(E& e, rank p, std::size_t n) noexcept {
    if constexpr (transport_lending_parts<E>) return e.lend_part(p, n);
    else return e.lend(p, n);
}

/// One on which the two ranks of a pair pass buffers to and fro: who has read one is the next to write it. They may be longer than others.
///
///   e.max_passed()       size_t    0: it has none
///   e.lend_passed(p, n)  loan      one, for n bytes; falsy: the peer has them, or there is none
///   E::is_passed(ref)    bool      such a loan
template <class E>
concept transport_passing = transport_lending<E> && requires(E& e, rank p, std::size_t n, std::uint64_t ref) {
    { e.max_passed() } noexcept -> std::same_as<std::size_t>;
    { e.lend_passed(p, n) } noexcept -> std::same_as<typename E::loan>;
    { E::is_passed(ref) } noexcept -> std::same_as<bool>;
};

/// One that knows how its loans are written and read best, where the other side's bytes lie in one piece.
///
///   e.copy_in(p, l, at, from, n)    -    n bytes into the loan, from its byte `at` on
///   E::copy_out(ref, to, from, n)   -    n bytes of what borrow() gave
template <class E>
concept transport_copying =
    transport_lending<E> && requires(E& e, rank p, std::size_t n, std::uint64_t ref, typename E::loan l, std::byte* b) {
        { e.copy_in(p, l, n, b, n) } noexcept;
        { E::copy_out(ref, b, b, n) } noexcept;
    };

/// One whose loans are read while they are written.
///
///   e.begin(l)            -         the loan's frame goes before the loan is written, so nothing is shown yet
///   e.show(l, n)          -         the first n bytes of the loan are written
///   e.shown(p, ref)       size_t    receiver: so many are. What was not shown in pieces shows 0
template <class E>
concept transport_showing =
    transport_lending<E> && requires(E& e, rank p, std::size_t n, std::uint64_t ref, typename E::loan l) {
        { e.begin(l) } noexcept -> std::same_as<void>;
        { e.show(l, n) } noexcept -> std::same_as<void>;
        { e.shown(p, ref) } noexcept -> std::same_as<std::size_t>;
    };

/// Where a sender's bytes lie, in words the receiver can use. Goes over the wire.
struct remote_memory {
    std::uint64_t address = 0; // virtual address in the owner, or offset in its slice
    std::uint64_t size = 0;
    std::uint32_t in_slice = 0; // 1: address is an offset in the owner's slice
    std::uint32_t reserved = 0;
};
static_assert(sizeof(remote_memory) == 24);

/// R0: the receiver reads the sender's buffer by itself. `refused` may come at any time, also in the middle of a run.
///
///   e.expose(memory)                 remote_memory
///   e.get(p, into, from, offset)     status   ok, refused, peer_gone, bad_address (a buffer that is not mapped: the user's error);
///                                             all or nothing from the caller's view
template <class E>
concept transport_readable = requires(E& e, rank p, std::span<std::byte const> memory, std::span<std::byte> into,
                                      remote_memory const& from, std::size_t offset) {
    { e.expose(memory) } noexcept -> std::same_as<remote_memory>;
    { e.get(p, into, from, offset) } noexcept -> std::same_as<status>;
};

/// R0 of a message that lies in runs: many of them are read in one call, each straight to where it belongs.
///
///   e.get_runs(p, into, from, theirs)  status   as get(). into: runs of our own, by address. theirs: runs of `from`, by their offset in
///                                               it. Both have the same number of bytes, and at most most_runs_per_get runs
///   e.least_runs(p, from)              least_runs   what a run must have in the mean for this to be worth it
inline constexpr std::size_t most_runs_per_get = 128;
struct least_runs {
    std::size_t theirs = 0, ours = 0; // bytes
};

template <class E>
concept transport_run_readable =
    transport_readable<E> && requires(E& e, rank p, std::span<memory_run const> runs, remote_memory const& from) {
        { e.get_runs(p, runs, from, runs) } noexcept -> std::same_as<status>;
        { e.least_runs(p, from) } noexcept -> std::same_as<least_runs>;
    };

/// Both lists have the same number of bytes: move(into, from, n) for each piece that is in one piece on both sides, until it is false.
template <class Move>
bool along_runs(std::span<memory_run const> into, std::span<memory_run const> from, Move&& move) noexcept {
    std::size_t i = 0, k = 0;
    std::uint64_t in_into = 0, in_from = 0;
    while (i < into.size() && k < from.size()) {
        auto const n = std::min(into[i].bytes - in_into, from[k].bytes - in_from);
        if (!move(into[i].at + in_into, from[k].at + in_from, static_cast<std::size_t>(n))) return false;
        if ((in_into += n) == into[i].bytes) ++i, in_into = 0;
        if ((in_from += n) == from[k].bytes) ++k, in_from = 0;
    }
    return true;
}

/// R0 from both ends: sender and receiver, both waiting inside the library, copy one message together.
///
///   sender    e.offer(p, memory)        ticket (uint32), 0: none free -> fall back to plain get
///   receiver  e.accept(p, ticket, into) -    tells the sender where the bytes go, and that it may help
///   both      e.advance_offer(ticket, help)  joint_state   copies at most one piece (the sender where it may help), says where
///             e.advance_accept(p, ticket, alone)           the message stands. alone: the sender has a copy of its own to make
///   sender    e.push_instead(ticket)    bool  the receiver asked for another way, and the sender takes it: nobody will join
///   receiver  e.pull_instead(p, ticket) bool  it asked, and will not wait any longer: it joins, and nobody takes the other way.
///                                             Of both calls for a ticket one says true
///   sender    e.withdraw(ticket)        -    the ticket may be used again (after done or refused was seen by both)
enum class joint_state : std::uint8_t {
    waiting, // the other side has not joined, or still copies a piece it claimed
    copying, // a piece was copied, there may be more
    done,    // every byte has arrived
    refused, // a copy was refused: the receiver must take another way for the whole message
};

template <class E>
concept transport_joint = transport_readable<E> && requires(E& e, rank p, std::span<std::byte const> memory,
                                                            std::span<std::byte> into, std::uint32_t ticket) {
    { e.offer(p, memory) } noexcept -> std::same_as<std::uint32_t>;
    { e.accept(p, ticket, into) } noexcept;
    { e.advance_offer(ticket, true) } noexcept -> std::same_as<joint_state>;
    { e.advance_accept(p, ticket, true) } noexcept -> std::same_as<joint_state>;
    { e.push_instead(ticket) } noexcept -> std::same_as<bool>;
    { e.pull_instead(p, ticket) } noexcept -> std::same_as<bool>;
    { e.withdraw(ticket) } noexcept;
};

} // namespace mpt::inline v0
