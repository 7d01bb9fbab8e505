/// rma/window/ask - small operations on memory that is not mapped, by a thread of the target that waits: rma/active_message.hpp.
///
///        not in time     8 puts or gets by the kernel, then 16, then 32 each time, until one is in time again
///
///   A put, a get, or an update of one run; what is asked for is complete when the call returns, here and there.
///
///   Order   of updates: nobody is asked while the target's agent owes a confirmation, so that all are done in program order.
///   Asking  each other: who looks for an answer does meanwhile what it is asked for itself.
///   Wake    a target that sleeps in a wait is rung after half the looks, and then looks for as long as after a message: it is awake the
///           next time.
///   Cost    8 bytes by a target that waits, on two CPUs of an AMD EPYC guest: put and flush 0.26 us in place of 1.45 by the kernel, get 0.24 in
///           place of 1.49, fetch-and-op 0.32 in place of 1.2 by an agent that is awake, and 36 by one that sleeps.
#pragma once
#include <array>

#include <mpt/rma/window.hpp>

namespace mpt::inline v0::rma {

template <class Stack> struct window<Stack>::small_operation {
    request what;
    operation op = operation::no_op;
    element_kind kind = element_kind::byte;
    typed_runs const* there;
    source const* from = nullptr; // the message's data; may be missing
    sink const* answer = nullptr; // the same
};

/// False: nothing was done.
template <class Stack> bool window<Stack>::ask_who_waits(target_type& t, small_operation const& o) {
    auto const n = o.there->size(), sent = o.from ? o.from->size() : 0;
    if (n == 0 || std::max(n, sent) > active_message::most || looks_ == 0) return false;
    auto const by = t.by.load(std::memory_order_relaxed); // order: either way is right
    bool const is_letter = by == way::agent || (o.what != request::put && o.what != request::get);
    if (!t.is_worth_asking(is_letter)) return false;
    std::array<memory_run, 1> run;
    if (o.there->list(0, n, run).bytes != n) return false;
    auto& lines = t.sync->asked;
    auto const first = static_cast<std::size_t>(me_.value);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto& line = lines[(first + i) % lines.size()];
        if (!line.try_take()) continue;
        auto& m = line.message();
        m.what = o.what, m.op = o.op, m.kind = o.kind, m.fetches = o.answer != nullptr;
        m.bytes = static_cast<std::uint32_t>(n), m.at = run[0].at;
        if (o.from) o.from->read(0, std::span{m.data}.first(sent));
        line.ask();
        auto const got = await_answer(t, line);
        t.was_asked(got != answered::not_yet);
        if (got == answered::not_yet) return false;
        if (got == answered::done && o.answer) o.answer->write(0, std::span{m.data}.first(o.answer->size()));
        line.give_back();
        return got == answered::done;
    }
    return false;
}

/// It may sleep in a wait.
template <class Stack> void window<Stack>::call(target_type& t) noexcept {
    t.sync->called.fetch_add(1, std::memory_order_relaxed); // order: a hint
    if (auto* const bell = wire_.on().bell_of(t.world)) bell->ring(run_->world(), run_->job().fences());
}

template <class Stack> answered window<Stack>::await_answer(target_type& t, active_line<typename world_type::atomics>& line) {
    constexpr std::uint32_t apart = 16; // looks for one at what we are asked for
    auto& lane = wire_.on();
    for (std::uint32_t i = 1; i <= looks_; ++i) {
        if (auto const got = line.look(); got != answered::not_yet) return got;
        if (i % apart == 0) lane.run_hooks();
        if (i == looks_ / 2) call(t);
    }
    if (line.take_back()) return answered::not_yet;
    for (;;) { // it has begun
        if (auto const got = line.look(); got != answered::not_yet) return got;
        run_->world().yield();
        lane.follow();
    }
}

} // namespace mpt::inline v0::rma
