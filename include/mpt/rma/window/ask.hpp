/// rma/window/ask - operations on memory that is not mapped, by a thread of the target that waits: rma/active_message.hpp.
///
///        not in time     8 puts or gets by the kernel, then 16, then 32 each time, until one is in time again
///
///   A put, a get, or an update of one run or of a list of some, or a put and the number after it; what is asked for is complete when the
///   call returns, here and there.
///
///   Long    ones, of more bytes than a line holds, go by pieces of 16 KiB through memory of the origin's that the target maps, where they
///           would be letters; and puts and gets of up to 4 KiB, where the kernel would be called. What a piece that is not done in time
///           leaves is a letter, or the kernel's.
///   Lists   of runs, where there are more than a few: a letter that stands on the desk in place of being sent, whose answer goes behind it.
///
///   Far     updates of more than one piece of 16 KiB that are in one run here too go by pieces of 128 KiB, which the target reads through the
///           kernel, where that reaches: one side copies nothing, and the other no more than its cache holds at a time.
///
///   Order   of updates: nobody is asked while letters are under way that the target's agent has not confirmed, so that all are done in
///           program order. One that nobody waits for is seen to be done by their count (rma/agent/letter.hpp).
///   Patience where the other way is a letter to an agent that sleeps: looks for as long as its waking takes, after one that a thread of the
///           target's has done. What is late by less (an interrupt, a thread that slept and was rung) then wakes no agent.
///   Asking  each other: who looks for an answer does meanwhile what it is asked for itself; and who goes to the kernel does it before, or
///           two that put to each other would find each other there for ever.
///   CPU     who hears nothing yields once, and says where it is (job::keep_apart): the target's thread may stand in line for this CPU while
///           another one is free, and neither would know that of the other.
///           origin: 300 times 10 ms of compare-and-swaps, get-accumulates (8 B) and accumulates (64 KiB), AMD EPYC guest: 20 to 27, 7 to 29
///           and 21 to 130 of them took 20 to 100 us a call, now 0 to 4
///   Wake    a target that sleeps in a wait is rung after half the looks, and then looks for as long as after a message: it is awake the
///           next time.
///   Cost    8 bytes by a target that waits, on two CPUs of an AMD EPYC guest: put and flush 0.26 us in place of 1.45 by the kernel, get 0.24 in
///           place of 1.49, fetch-and-op 0.32 in place of 1.2 by an agent that is awake, and 36 by one that sleeps. Accumulates of 256 bytes and
///           of 4 KiB of doubles 0.7 and 0.8 in place of 1 and 2.6 by an agent that is awake, and 40; of 1 MiB 130 to 150. Two that put to each
///           other, then wait for all: 128 bytes 0.8 to 1.4 in place of 2.3 to 3.1, 2 KiB 1.3 to 2.4 in place of 2.7 to 3.9.
#pragma once
#include <array>
#include <utility>

#include <mpt/rma/window.hpp>

namespace mpt::inline v0::rma {

template <class Stack> struct window<Stack>::small_operation {
    request what;
    operation op = operation::no_op;
    element_kind kind = element_kind::byte;
    typed_runs const* there;
    source const* from = nullptr;                // the message's data; may be missing
    sink const* answer = nullptr;                // the same
    active_message::after const* then = nullptr; // what follows a put
};
template <class Stack> struct window<Stack>::piece {
    std::size_t at, bytes;     // of the operation's
    std::byte* room = nullptr; // for data that its line does not hold, and for an answer behind them; null: it gets at ours
};

/// Memory of this rank's that others map, for data that no line holds: one thread's at a time.
template <class Stack> class window<Stack>::desk {
    window& of_;
    bool const mine_;

public:
    static constexpr std::size_t most = desk_bytes;
    explicit desk(window& w) noexcept
        : of_{w}, mine_{!w.desk_taken_.exchange(true, std::memory_order_acquire)} { // sync(rma.desk): acquire
        if (mine_ && !w.desk_) w.desk_ = static_cast<std::byte*>(w.run_->heap().object(2 * most, line_pair));
    }
    ~desk() {
        if (mine_) of_.desk_taken_.store(false, std::memory_order_release); // sync(rma.desk): release
    }
    desk(desk const&) = delete;
    /// Null: another thread has it, or there is no memory.
    std::byte* room() const noexcept { return mine_ ? of_.desk_ : nullptr; }
};

/// Long puts and gets that the kernel could do, too, are asked for up to so many bytes: more it copies in less time.
inline constexpr std::size_t most_besides_kernel = 4_KiB;
/// So many more looks for an answer, with a yield after each sixteenth, or eight times as many without, where a letter would be sent else.
/// origin: accumulates of 8 B, AMD EPYC guest: an agent that sleeps has done one after 90 to 200 us, and until then none that follow may be asked
/// for; who waits and is rung has after 45; 600 looks take 2, these 65. Of 3000 calls 1 to 100 were late, and now 0 to 3
inline constexpr std::uint32_t looks_before_a_letter = 2048;

/// How many of its bytes were done, from the first one on. Those of a put or a get that the kernel can do are few, or none.
template <class Stack> std::size_t window<Stack>::ask_who_waits(target_type& t, small_operation const& o) {
    auto const n = o.there->size(), sent = o.from ? o.from->size() : 0;
    if (n == 0 || looks_ == 0) return 0;
    auto const by = t.by.load(std::memory_order_relaxed); // order: either way is right
    bool const is_letter = is_a_letter_else(t, o.what);
    bool const is_long = std::max(n, sent) > active_message::most;
    if (is_long && (o.what == request::swap || (!is_letter && n > most_besides_kernel))) return 0;
    std::array<memory_run, 1> run;
    if (o.there->list(0, n, run).bytes != n) return 0;
    bool const is_afar = n > desk::most && by == way::kernel && is_in_reach(t, o);
    std::optional<desk> mine;
    if (is_long && !is_afar && !mine.emplace(*this).room()) return 0;
    std::size_t const unit = facts(o.kind).size, most = is_long ? (is_afar ? most_afar : desk::most) / unit * unit : n;
    for (std::size_t at = 0; at < n; at += std::min(most, n - at)) {
        if (!t.is_worth_asking(is_letter)) return wire_.on().run_hooks(), at;
        if (!ask_for_piece(t, o, run[0].at, {at, std::min(most, n - at), mine ? mine->room() : nullptr})) return at;
    }
    return n;
}

/// May the target read and write through the kernel what is ours of an update?
template <class Stack> bool window<Stack>::is_in_reach(target_type const& t, small_operation const& o) const noexcept {
    return o.what == request::update && (!o.from || o.from->is_contiguous()) && (!o.answer || o.answer->is_contiguous()) &&
           t.reads_us.load(std::memory_order_relaxed); // order: a hint
}

template <class Stack> bool window<Stack>::is_a_letter_else(target_type const& t, request what) noexcept {
    return (what != request::put && what != request::get) ||
           t.by.load(std::memory_order_relaxed) == way::agent; // order: either way is right
}

/// One message, which fill() writes; read(message, is_done) after its answer. False: nothing was done.
template <class Stack> template <class Fill, class Read>
bool window<Stack>::ask_by_line(target_type& t, bool is_letter, Fill fill, Read read) {
    auto& lines = t.sync->asked;
    auto const first = static_cast<std::size_t>(me_.value);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto& line = lines[(first + i) % lines.size()];
        if (!line.try_take()) continue;
        fill(line.message());
        line.ask();
        bool const waits = t.waits.load(std::memory_order_relaxed); // order: an estimate
        auto const got = await_answer(t, line, waits && is_letter ? looks_before_a_letter : 0);
        t.was_asked(got != answered::not_yet, got == answered::done);
        if (got == answered::not_yet) return false;
        bool const is_done = got != answered::refused;
        read(line.message(), is_done);
        line.give_back();
        return is_done;
    }
    return false;
}

/// False: nothing was done.
template <class Stack>
bool window<Stack>::ask_for_piece(target_type& t, small_operation const& o, std::uint64_t place, piece const& p) {
    auto const sent = o.what == request::swap ? 2 * p.bytes : p.bytes;
    bool const is_long = sent > active_message::most; // or it is the last one
    bool const is_afar = is_long && !p.room;
    auto* const room = is_long ? p.room : nullptr;
    if (room && o.from) o.from->read(p.at, std::span{room, sent});
    auto const fill = [&](active_message& m) {
        m.what = o.what, m.op = o.op, m.kind = o.kind, m.fetches = o.answer != nullptr;
        m.bytes = static_cast<std::uint32_t>(p.bytes), m.at = place + p.at;
        if (o.then) m.put_after(*o.then);
        if (room) m.put_elsewhere({.of = run_->me().value, .at = run_->heap().refer(room).offset});
        else if (is_afar) m.put_elsewhere(afar(o, p));
        else if (o.from) o.from->read(p.at, std::span{m.data}.first(sent));
    };
    bool is_lost = false;
    auto const read = [&](active_message& m, bool is_done) {
        if (is_afar && !is_done) t.reads_us.store(false, std::memory_order_relaxed); // order: a hint
        auto const* const answer = !room ? m.data.data() : o.what == request::get ? room : room + p.bytes;
        if (is_done && o.answer && !is_afar) o.answer->write(p.at, std::span{answer, p.bytes});
        is_lost = is_afar && is_done && m.bytes == 0;
    };
    bool const is_done = ask_by_line(t, is_a_letter_else(t, o.what), fill, read);
    if (is_lost)
        throw error{errc::buffer, "mpt: memory for what was there, of an update of rank " + std::to_string(t.world.value) +
                                      " of the job, cannot be written by the kernel; the update was made"};
    return is_done;
}

/// What lies scattered at the target: up to three letters that are not sent, but stand on the desk. unit: pieces are of whole ones. is_letter:
/// each is sent, else, or takes as long by the kernel. How many bytes were done, from the first one on.
template <class Stack>
std::size_t window<Stack>::ask_for_lists(target_type& t, small_operation const& o, std::size_t unit, bool is_letter) {
    if (looks_ == 0) return 0;
    desk const mine{*this};
    auto* const room = mine.room();
    if (!room) return 0;
    std::vector<std::byte> buffer;
    std::size_t done = 0;
    int left = 3;
    detail::in_pieces<list_runs>(*o.there, list_bytes, unit, [&](auto runs, std::size_t at, std::size_t n) {
        if (left-- <= 0) return;
        if (!t.is_worth_asking(is_letter)) {
            wire_.on().run_hooks();
            left = 0;
            return;
        }
        auto const operand = o.from ? source{detail::piece_of(*o.from, at, n, buffer), n} : source{};
        letter const l{{.what = o.what, .op = o.op, .kind = o.kind}, runs, operand};
        l.read(0, std::span{room, l.size()});
        auto const fill = [&](active_message& m) {
            m.what = request::list, m.op = operation::no_op, m.kind = o.kind, m.fetches = o.answer != nullptr;
            m.bytes = static_cast<std::uint32_t>(l.size()), m.at = 0;
            m.put_elsewhere({.of = run_->me().value, .at = run_->heap().refer(room).offset});
        };
        auto const read = [&](active_message const&, bool is_done) {
            if (is_done && o.answer) o.answer->write(at, std::span{room + desk_bytes, n});
        };
        if (ask_by_line(t, is_letter, fill, read)) done = at + n;
        else left = 0;
    });
    return done;
}

template <class Stack> auto window<Stack>::afar(small_operation const& o, piece const& p) const noexcept {
    auto const address = [&](auto const* of) { return of ? reinterpret_cast<std::uintptr_t>(of->data() + p.at) : 0; };
    return active_message::place{.of = me_.value, .is_afar = 1, .at = address(o.from), .answer_at = address(o.answer)};
}

/// It may sleep in a wait.
template <class Stack> void window<Stack>::call(target_type& t) noexcept {
    t.sync->called.fetch_add(1, std::memory_order_relaxed); // order: a hint
    if (auto* const bell = wire_.on().bell_of(t.world)) bell->ring(run_->world(), run_->job().fences());
}

template <class Stack> answered window<Stack>::await_answer(target_type& t, active_line<typename world_type::atomics>& line,
                                                            std::uint32_t more_looks) {
    constexpr std::uint32_t apart = 16; // looks for one at what we are asked for
    auto& lane = wire_.on();
    bool first = true, yields = true;
    auto const give_way = [&] {
        if (std::exchange(first, false)) yields = lane.begins_to_yield();
        if (yields) yields = lane.yields_on();
    };
    for (std::uint32_t i = 1; i <= looks_ + (yields ? 1 : 8) * more_looks; ++i) {
        if (auto const got = line.look(); got != answered::not_yet) return got;
        if (i % apart == 0) {
            lane.run_hooks();
            if (i > looks_) give_way();
        }
        if (i == looks_ / 2) call(t);
    }
    give_way(); // the target's thread may wait for this very CPU
    if (!yields) lane.say_where();
    if (auto const got = line.look(); got != answered::not_yet) return got;
    if (line.take_back()) return answered::not_yet;
    for (;;) { // it has begun
        if (auto const got = line.look(); got != answered::not_yet) return got;
        run_->world().yield();
        lane.follow();
    }
}

} // namespace mpt::inline v0::rma
