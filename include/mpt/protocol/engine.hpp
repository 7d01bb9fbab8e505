/// protocol/engine - a lane's engine: starts operations, matches arrivals, drives every state machine. One progress loop.
///
///        facade            send(r)   receive(r)   find/take (probe)         test/wait: r.complete
///                             |          |             |                        ^
///        engine            start_send  matching <--- sink(frame) <-- poll      complete(r)
///                             |          |             ^                        ^
///                             v          v             |                        |
///        wires             e0 e1 rts   e1 borrow   get / joint / push ---- active lists: hopes, pulls, pushes, offers, tasks
///
///   States   the machines of protocol/{e0,e1,rndv_get,rndv_put}; a request's `phase` says which list it is on.
///   Order    sends to one peer start in call order: while one waits for the wire, later ones queue behind it. Control
///            frames (cts, fin, ack, throttle) may overtake data.
///   Memory   unexpected data is capped (MPT_UNEXPECTED_MAX): beyond it the sender is asked (throttle) to announce instead of
///            send, so that payload stays with it; unexpected E1 data stays in the sender's loan anyway.
///   Cost     an empty progress(): one poll per transport and one test per list.
///   Limit    entered by one thread at a time (the lane's lock). Calls user code never, but for `provide` and `completed`.
///   Tests    test/protocol_engine_test.cpp, test/mpi_semantics_test.cpp
///
/// Files: engine.hpp declares and holds what is common; engine/limits.hpp the numbers; engine/send.hpp and engine/receive.hpp hold the two
/// sides, engine/keep.hpp what came before its receive, engine/announce.hpp the beginning of a rendezvous, engine/pull.hpp its receiving side,
/// engine/stretched.hpp small messages in long frames, engine/loans.hpp data in lent buffers.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <mpt/core/assert.hpp>
#include <mpt/core/pool.hpp>
#include <mpt/protocol/arrival.hpp>
#include <mpt/protocol/counts.hpp>
#include <mpt/protocol/engine/limits.hpp>
#include <mpt/protocol/notices.hpp>
#include <mpt/protocol/peers.hpp>
#include <mpt/protocol/request.hpp>
#include <mpt/transport/route.hpp>
#include <mpt/wait/berths.hpp>
#include <mpt/wait/doorbell.hpp>

namespace mpt::inline v0::protocol {

/// What receive_now() took from the wire: nothing, or a message of so many bytes, of which as many are there as fit.
struct received {
    std::int32_t bytes = -1;
    std::int32_t label = 0;
    explicit operator bool() const noexcept { return bytes >= 0; }
};

/// World: the stack's world. Route: transport::route<...>. Use: a protocol_set.
template <class World, class Route, protocol_set Use> class engine {
    using wires_type = typename Route::template wires<World>;

public:
    static constexpr std::uint32_t most_requests = 1u << 24;

    engine(lane_context<World> const& context, engine_limits const& limits, memory_source memory)
        : limits_{limits}, job_{context.job}, wires_{context}, matching_{memory}, requests_{memory, most_requests},
          arrivals_{memory}, controls_{memory}, peers_{context.job.size()}, world_{context.world} {
        find_bell();
        take_first_memory();
    }
    engine(engine const&) = delete;
    engine& operator=(engine const&) = delete;
    ~engine() {
        matching_.each_arrival([](arrival_hook const& hook) noexcept { // nobody will receive it any more
            auto const& a = static_cast<arrival const&>(hook);
            if (a.keeps_a_copy()) ::operator delete(a.buffer);
        });
    }

    // --- requests -------------------------------------------------------------------------------------------------------
    /// A fresh request; nullptr: no memory, or full().
    request* make() noexcept { return requests_.create(); }
    bool full() const noexcept { return requests_.alive() == most_requests; }
    /// The request is complete, or was never started.
    void drop(request& r) noexcept {
        MPT_ASSERT(cheap, r.at == phase::idle);
        requests_.destroy(&r);
    }

    // --- operations (engine/send.hpp, engine/receive.hpp) ---------------------------------------------------------------
    /// Starts a send whose from, what, peer and mode are set. Completes at once where it can.
    void send(request& r) noexcept;
    /// Starts a receive whose into (or provide) and what are set.
    [[gnu::always_inline]] inline void receive(request& r) noexcept;
    /// Starts a receive into one piece. nullptr: nothing was done, for the peer is not reached, or there is no memory.
    [[gnu::always_inline]] inline request* receive(envelope const& wanted, sink into) noexcept;
    /// Receives a message that take() returned; take_out(): one that is_whole(), at once. MPI-4.1 section 3.8.2.
    void receive(request& r, arrival& taken) noexcept;
    received take_out(arrival& taken, std::span<std::byte> into) noexcept;
    /// The earliest message that fits, or nullptr. find leaves it there; take makes it the caller's.
    arrival* find(envelope const& wanted) noexcept { return entry_of(matching_.find(wanted)); }
    arrival* take(envelope const& wanted) noexcept { return entry_of(matching_.take(wanted)); }
    /// While quiet() and is_at_rest(): some looks at the wire of one source; the wanted message is the caller's if it comes there, else nullptr.
    arrival* take_now(envelope const& wanted) noexcept;
    /// A receive that has not matched, and a send that has not left, is withdrawn and completes as cancelled: true. The receiver
    /// of a send that waits for it is asked to forget the message; when it has not matched it, it says so, and the send completes
    /// as cancelled, else as if nothing had been asked. Anything else goes on.
    bool cancel(request& r) noexcept;
    /// The peer's engine is no more: completes a request that only the peer could have brought to its end.
    void forsake(request& r) noexcept;
    /// Runs r.advance at every progress until it has set r.complete by finish(), or one of these:
    ///   r.at = phase::parked   it waits for other requests, and costs nothing meanwhile: start_task() when they are complete
    ///   r.at = phase::errand   its next step runs code of the user's: whoever takes it (take_errand) calls r.advance without the
    ///                          lane's lock, then resume()
    void start_task(request& r) noexcept {
        r.kind = role::task, r.at = phase::working;
        r.go_on();
        ++active_;
        tasks_.push_back(r);
    }
    void resume(request& r) noexcept;
    /// As start_task(), and its first step is taken here and now: not by a task, for its round goes on.
    void begin_task(request& r) noexcept;
    request* take_errand() noexcept;
    bool has_errand() const noexcept { return errands_left_.load(std::memory_order_relaxed) != 0; } // order: a hint
    void finish(request& r, status how) noexcept { r.result.how = how, complete(r); }

    /// Does a transport of the route reach the peer? Ask before the first send to it, or receive from it, by the long way. why_not(): transport by transport.
    bool reaches(rank r) noexcept { return at(r).wire != wires_type::none; }
    std::string why_not(rank r) { return wires_.why_not(r); }
    // --- the fast paths: everything at hand, nothing in the way, or nothing done -------------------------------------------
    /// The whole of a small standard send. False: take the long way. in_round: by a task, whose round of progress goes on.
    [[gnu::always_inline]] inline bool send_now(rank to, context_id context, tag label, void const* data, std::size_t n,
                                                bool in_round = false) noexcept;
    /// The same of what that left, of any layout, and of data that the caller would have to copy otherwise: through a lent buffer also what is
    /// better_read() where it lies.
    bool lend_now(rank to, context_id context, tag label, source const& data) noexcept;
    /// Looks at one peer's wire until something comes, `looks` times at most. What came is the wanted message, received into data,
    /// or was handled. Only while quiet().
    static constexpr unsigned looks = 16; // a round of the caller's costs as much as several looks
    [[gnu::always_inline]] inline received receive_now(rank from, context_id context, tag label, void* data,
                                                       std::size_t capacity) noexcept;
    /// The same with one look, where that is cheap.
    [[gnu::always_inline]] inline received look_now(rank from, context_id context, tag label, void* data,
                                                    std::size_t capacity) noexcept;
    /// The earliest message that fits, where it is kept here as a whole, and nobody waits for its match.
    received take_kept(envelope const& wanted, std::span<std::byte> into) noexcept;
    /// Is the next message of that peer's (any_source: of one) the one? It stays on its wire. idle_beside(): has nobody else one either?
    sight peek(envelope const& wanted, outcome& out) noexcept;
    bool idle_beside(rank peer) noexcept;
    /// No receive is posted and nothing unexpected is kept: the next fitting frame is the match.
    bool quiet() const noexcept { return matching_.quiet(); }
    /// No message is under way that rounds of progress move.
    bool is_at_rest() const noexcept { return stuck_.empty() && offers_.empty() && active_ == 0; }

    // --- progress ---------------------------------------------------------------------------------------------------------
    /// One round over everything; how many things moved. With one peer: looks at its wire as receive_now() does, if that is all.
    std::size_t progress() noexcept;
    std::size_t progress_with(rank from) noexcept;
    /// Every send's data has left this process (or lies where peers may still read it until the job has met).
    bool drained() noexcept;

    // --- sleeping -----------------------------------------------------------------------------------------------------------
    /// arm and disarm go in pairs, each under the lane's lock; sleep between them, outside it. over: what the thread waits for, where it
    /// is a request; then others that complete wake nobody.
    std::uint32_t arm(request* over) noexcept;
    void disarm(request* over) noexcept;
    /// Where threads sleep of which another one looks; a request's completion rouses who lies in the berth that it names.
    wait::berths<World>& berths() noexcept { return berths_; }
    /// A thread that sleeps here is woken by one that completes its operation, not only by a peer's frame.
    static constexpr bool wakes_threads = wires_type::belled;
    void sleep(World const& world, std::uint32_t armed, nanoseconds longest) noexcept;
    bool can_sleep() const noexcept { return active_ == 0; }
    matching const& tables() const noexcept { return matching_; }
    std::uint64_t unexpected_bytes() const noexcept { return unexpected_; }
    std::uint64_t unexpected_high_water() const noexcept { return unexpected_high_; }
    wires_type& wires() noexcept { return wires_; }
    /// What a rank's waits sleep on, or ours, whose threads one may ring for another; nullptr: the rank is not reached through memory.
    wait::doorbell<World>* bell_of(rank r) noexcept;

    // --- for who looks on -----------------------------------------------------------------------------------------------------
    counts const& counted() const noexcept { return counts_; }
    std::uint32_t requests_alive() const noexcept { return requests_.alive(); }
    /// From here on this queue is told what it wants.
    void watch(notice_queue& by) { watchers_.push_back(&by); }
    void unwatch(notice_queue& by) noexcept { std::erase(watchers_, &by); }
    /// Other numbers from here on; messages under way are not touched.
    void tune(engine_limits const& limits) noexcept { limits_ = limits; }

private:
    using peer_state = peer;
    struct landing;
    struct delivery;
    struct arriving;
    template <class E> static constexpr std::size_t max_frame = wires_type::template facts_of<E>().max_frame;
    template <class E> static constexpr bool lends = transport_lending<E>;
    template <class E> static constexpr bool reads = Use.rndv_get && transport_readable<E>;
    template <class E> static constexpr bool reads_runs =
        Use.rndv_get && transport_run_readable<E> && max_frame<E> >= sizeof(wire::rts_runs);
    template <class E> static constexpr bool begins =
        Use.rndv_get && transport_joint<E> && transport_showing<E> && max_frame<E> >= sizeof(wire::rts_begun);
    template <class E> static constexpr bool joins = Use.rndv_get && transport_joint<E>;

    /// Frames on this wire end at ourselves, and nobody rings for them.
    template <class E> static constexpr bool to_ourselves =
        !transport_belled<E> && !wires_type::template facts_of<E>().cross_process;

    /// The first chunk of everything, at start: a program that then takes all there is can go on with what fits those.
    void take_first_memory() noexcept {
        if (auto* r = requests_.create()) requests_.destroy(r);
        if (auto* c = controls_.create()) controls_.destroy(c);
        auto* a = arrivals_.create();
        if (!a) return;
        envelope const nobody{context_id{}, rank{0}, tag{0}};
        if (matching_.store(*a, nobody) == status::ok) static_cast<void>(matching_.take(nobody));
        arrivals_.destroy(a);
    }
    static arrival* entry_of(arrival_hook* h) noexcept { return static_cast<arrival*>(h); }

    [[gnu::always_inline]] peer_state& at(rank r) noexcept {
        auto& p = peers_.at(r);
        if (p.wire == wires_type::none) [[unlikely]]
            find_wire(p, r);
        return p;
    }
    /// A peer that nobody reaches is never clear: send_now() leaves it to the long way, which says so.
    [[gnu::noinline]] void find_wire(peer_state& p, rank r) noexcept {
        p.wire = wires_.pick(r);
        p.clear = p.wire != wires_type::none && !p.throttled && p.waiting.empty();
    }
    template <class F> [[gnu::always_inline]] decltype(auto) with(peer_state const& p, F&& f) {
        return wires_.with(p.wire, std::forward<F>(f));
    }

    void complete(request& r) noexcept {
        r.at = phase::idle;
        r.end();
        if ((asleep_ | r.berth) != 0) [[unlikely]]
            wake_over(r);
        if (r.completed) r.completed(r);
    }
    /// Another thread of this rank may sleep over what was done just now: wait/doorbell.hpp, rule 2.
    void wake_threads() noexcept {
        if (asleep_ != 0) [[unlikely]]
            ring_own_bell();
    }
    void ring_own_bell() noexcept;
    [[gnu::noinline]] void wake_over(request& r) noexcept;
    static constexpr std::uint32_t at_bell = ~std::uint32_t{0}; // in place of a berth
    void find_bell() noexcept;
    void leave_errand(request& r) noexcept;
    request* find_request(std::uint32_t index, std::uint32_t generation) noexcept { return requests_.at(index, generation); }

    // sending
    enum class pushed : std::uint8_t { yes, again };
    pushed start(request& r, peer_state& p) noexcept;
    template <class E> pushed start_on(E& wire, request& r, peer_state& p) noexcept;
    template <class E> pushed push_e0(E& wire, request& r) noexcept;
    template <class E> bool push_stretched(E& wire, rank to, wire::label const& what, source const& data) noexcept;
    template <class E> static bool is_small(source const& data) noexcept {
        return data.size() <= std::min<std::size_t>(max_frame<E> - sizeof(wire::e0), Use.e0_max);
    }
    template <class E, class Head>
    static bool push_eager(E& wire, rank to, op kind, Head const& head, source const& data) noexcept;
    template <class E> pushed push_e1(E& wire, request& r, bool& no_loan) noexcept;
    template <class E> pushed push_rts(E& wire, request& r) noexcept;
    template <class E> void push_begun(E& wire, request& r, wire::rts const& head, typename E::cell cell) noexcept;
    bool may_begin(request const& r) noexcept;
    bool advance_push(request& r) noexcept;
    std::uint64_t next_chunk(request const& r) noexcept;
    template <class E> bool push_chunk(E& wire, request& r) noexcept;
    template <class E> bool push_frame(E& wire, request& r) noexcept;
    bool advance_offer(request& r) noexcept;
    void begin_push(request& r, wire::cts const& wanted, std::uint64_t from) noexcept;
    void withdraw_offer(request& r) noexcept;
    void on_cts(frame const& f) noexcept;
    void on_ask(frame const& f) noexcept;
    void on_fin(frame const& f) noexcept;
    void on_ack(frame const& f) noexcept;
    void on_throttle(frame const& f) noexcept;
    void on_retracted(frame const& f) noexcept;

    // loans
    template <class E> pushed push_loan(E& wire, rank to, op kind, wire::label const& what, request_ref sender,
                                        source const& data, bool& no_loan) noexcept;
    struct part { // of a message
        source const& whole;
        std::uint64_t first, size;
    };
    template <class E> void write_loan(E& wire, rank to, typename E::cell cell, op kind, typename E::loan& loan,
                                       part const& data, std::uint64_t piece) noexcept;
    template <class E> bool fits_loan(E& wire, source const& data) noexcept;
    template <class E> bool may_be_read(context_id context, source const& data) const noexcept;
    template <class E> bool better_read(rank to, context_id context, source const& data) noexcept;
    template <class E> void note_way(rank to, context_id context, source const& data) noexcept;
    template <class E> bool is_awaited(E& wire, rank to, std::size_t n) noexcept;
    template <class E> std::uint64_t piece_of(std::uint64_t n, source const& data) const noexcept;
    template <class E> [[gnu::noinline]] bool send_longer_now(E& wire, rank to, context_id context, tag label, void const* from,
                                                              std::size_t n) noexcept;
    void read_loan(rank from, std::uint64_t loan, std::uint64_t size, delivery const& d) noexcept;
    template <class E>
    static void copy_lent(std::uint64_t loan, delivery const& d, std::uint64_t got, std::span<std::byte const> piece) noexcept;
    void await_writer(bool first) noexcept;
    void read_begun(rank from, std::uint64_t loan, std::uint64_t size, delivery const& d, std::uint64_t there) noexcept;
    void read_lent(op kind, rank from, std::uint64_t loan, std::uint64_t size, delivery const& d,
                   std::uint64_t there) noexcept {
        if (kind == op::e1_begun || kind == op::chunk_begun) read_begun(from, loan, size, d, there);
        else read_loan(from, loan, size, d);
    }
    [[gnu::noinline]] received take_other(frame const& f, envelope const& wanted, std::span<std::byte> into) noexcept;

    // control frames
    template <class T> void control(rank to, op what, T const& body) noexcept;
    bool flush_peer(peer_state& p) noexcept;
    std::size_t flush_stuck() noexcept;
    // receiving
    [[gnu::always_inline]] inline void receive(request& r, envelope const& wanted) noexcept;
    void on_frame(frame const& f) noexcept;
    [[gnu::always_inline]] inline void on_e0(frame const& f) noexcept;
    void on_e1(frame const& f) noexcept;
    template <class F> [[gnu::noinline]] void on_stretched(F f) noexcept;
    template <class F>
    [[gnu::noinline]] received take_stretched(F f, envelope const& wanted, std::span<std::byte> into) noexcept;
    void landed(request& r, rank from, tag label, std::uint64_t size, status how, way by) noexcept;
    [[gnu::always_inline]] inline bool land(request& r, frame const& f, wire::label const& what) noexcept;
    bool land_lent(request& r, rank from, wire::e1 const& h) noexcept;
    void on_message(frame const& f, op what, posted_hook* matched) noexcept;
    void deliver(request& r, arrival& a) noexcept;
    bool prepare(request& r, std::uint64_t size) noexcept;
    bool hold(arrival& a) noexcept;
    void keep(arrival const& came) noexcept;
    void release(arrival& a) noexcept;
    void begin_pull(request& r, arrival const& a) noexcept;
    void start_pull(request& r) noexcept;
    bool advance_pull(request& r) noexcept;
    bool copies_from_us(rank peer) noexcept;
    template <class E> std::uint32_t take_ticket(E& wire, request& r, std::span<std::byte const> memory) noexcept;
    template <class E> bool write_runs(E& wire, request& r, std::span<std::byte> into) noexcept;
    template <class E> bool offer_runs(E& wire, request& r, wire::rts_runs& head, memory_run& hull) noexcept;
    template <class E> bool find_runs(E& wire, request& r, arrival const& a) noexcept;
    template <class E> status read_table(E& wire, request& r) noexcept;
    template <class E> status pull_runs(E& wire, request& r, std::uint64_t most, std::uint64_t& n) noexcept;
    void forget_runs(request& r) noexcept;
    wire::cts wanted_of(request& r) noexcept;
    void ask_push(request& r) noexcept;
    void hope_for_push(request& r, arrival const& a) noexcept;
    bool advance_hope(request& r) noexcept;
    void heard_of(request& r) noexcept;
    void filled(request& r, std::uint64_t bytes) noexcept;
    void on_chunk(frame const& f) noexcept;
    void on_chunk_loan(frame const& f) noexcept;
    void on_retract(frame const& f) noexcept;
    arrival* kept_of(rank from, wire::retract const& sender) noexcept;
    void account(std::int64_t bytes, rank from) noexcept;
    struct taking;
    template <class E> bool is_silent(E& wire) noexcept;
    [[noreturn]] void broken(std::string_view what, rank from) noexcept;

    // who looks on
    void tell(notice_kind what, envelope const& about, rank peer, std::uint64_t size) noexcept {
        if (!watchers_.empty()) [[unlikely]]
            tell_watchers({what, about.context, peer, about.label, size, {}});
    }
    void tell_watchers(notice n) noexcept;
    void tell_received(request const& r) noexcept {
        tell(notice_kind::received, {r.wanted.context, r.peer, r.result.label}, r.peer, r.result.bytes);
    }
    void tell_sent(request const& r) noexcept { tell(notice_kind::sent, r.wanted, r.peer, r.from.size()); }

    engine_limits limits_;
    boot::job& job_;
    wires_type wires_;
    matching matching_;
    pool<request> requests_;
    pool<arrival> arrivals_;
    pool<control_frame> controls_;
    far_book far_;
    peer_table peers_;
    list<request> hopes_, pulls_, pushes_, offers_, tasks_, errands_;
    std::vector<peer_state*> stuck_;      // peers with waiting sends or control frames
    std::vector<peer_state*> flushing_;   // the same, while they are walked
    std::vector<peer_state*> throttling_; // peers that we asked to announce
    counts counts_;
    std::vector<notice_queue*> watchers_;
    rank read_last_ = any_source; // to whom the last message went that may_be_read()
    std::uint32_t loanless_ = 0;  // chunks in a row that found no loan
    std::uint32_t active_ = 0;    // requests on an active list, or errands: sleeping would stop them
    typename World::atomics::template atomic<std::uint32_t> errands_left_{0}; // changed under the lane's lock
    std::uint32_t asleep_ = 0;             // threads of this rank that sleep at this lane's bell, or are about to
    std::uint32_t asleep_over_others_ = 0; // those that wait for something else than one request
    wait::berths<World> berths_;
    std::uint64_t unexpected_ = 0, unexpected_high_ = 0;
    std::uint64_t outstanding_ = 0;         // sends that the wire has, and that wait for a peer: ack, fin, cts, last chunk
    wait::doorbell<World>* bell_ = nullptr; // what a thread of ours sleeps on; never changes
    [[no_unique_address]] World world_;
};

} // namespace mpt::inline v0::protocol

#include <mpt/protocol/engine/announce.hpp>
#include <mpt/protocol/engine/keep.hpp>
#include <mpt/protocol/engine/loans.hpp>
#include <mpt/protocol/engine/peek.hpp>
#include <mpt/protocol/engine/progress.hpp>
#include <mpt/protocol/engine/pull.hpp>
#include <mpt/protocol/engine/receive.hpp>
#include <mpt/protocol/engine/runs.hpp>
#include <mpt/protocol/engine/send.hpp>
#include <mpt/protocol/engine/stretched.hpp>
