/// rma/window/update - accumulates of every sort: what changes a target's elements atomically, here or by its agent.
#pragma once
#include <mpt/rma/window.hpp>
#include <mpt/rma/window/move.hpp>

namespace mpt::inline v0::rma {

/// An operation, what it combines, and where what was there goes; either may be missing.
template <class Stack> struct window<Stack>::both_sides {
    element_action const& action;
    source const* operand;
    sink const* result;
};

namespace detail {
[[noreturn, gnu::noinline]] inline void no_operation(char const* call, element_kind kind) {
    auto const what = kind == element_kind::mixed ? std::string{"the target's elements are not all of one predefined type"}
                                                  : "the operation is not defined on " + std::string{facts(kind).name};
    throw error{errc::argument, "mpt: " + std::string{call} + ": " + what};
}
inline element_action checked_action(char const* call, operation op, element_kind kind) {
    element_action const a{op, kind};
    if (!a.is_valid()) [[unlikely]]
        no_operation(call, kind);
    return a;
}
} // namespace detail

template <class Stack> void window<Stack>::accumulate(own_source const& from, target_place const& to, operation op) {
    if (update_row(from, opened("accumulate", to.target), to, op)) [[likely]]
        return;
    update("accumulate", op == operation::no_op ? nullptr : &from, nullptr, to, op);
}
template <class Stack>
void window<Stack>::get_accumulate(own_source const& from, own_sink const& result, target_place const& to, operation op) {
    update("get_accumulate", op == operation::no_op ? nullptr : &from, &result, to, op);
}

/// Elements of one kind in one piece on both sides, where they are mapped: false where it is not that.
template <class Stack>
bool window<Stack>::update_row(own_source const& from, target_type& t, target_place const& to, operation op) {
    auto const mine = from.type.contiguous_run(from.count), there = to.type.contiguous_run(to.count);
    if (!mine || !there || op == operation::no_op) return false;
    auto const* const p = plain(t, to, mine->bytes, *there);
    return p && change_row(t, {reinterpret_cast<std::uintptr_t>(p), static_cast<std::uint64_t>(mine->bytes)}, to.type.element(),
                           op, static_cast<std::byte const*>(from.address) + mine->offset, nullptr);
}

/// False where the operation is not defined on that kind.
template <class Stack> bool window<Stack>::change_row(target_type& t, memory_run const& run, element_kind kind, operation op,
                                                      std::byte const* operand, std::byte* old) {
    element_action const action{op, kind};
    if (!action.is_valid()) return false;
    return combine_at(t, is_locked(t) ? action.under_lock() : action, {&run, 1}, operand, old), true;
}

/// f(), which changes an element of the target by the processor. False: it belongs to another, and f was not called; or f says so.
template <class Stack> template <class F>
[[gnu::always_inline]] inline bool window<Stack>::inside(target_type& t, F f) noexcept {
    if (!shares_rows_) return f();
    auto const visit = enter(t);
    if (visit.may == turn::nothing) [[unlikely]]
        return false;
    bool const done = f();
    return control_->stays.end(visit.place), done;
}

template <class Stack>
[[gnu::always_inline]] inline bool window<Stack>::try_change(void const* from, void* result, element_kind kind, rank target,
                                                             std::int64_t displacement, operation op) noexcept {
    auto& t = at(target);
    auto* const p = open_here(target, displacement, 0, facts(kind).size);
    auto const* const mine = static_cast<std::byte const*>(from);
    auto* const old = static_cast<std::byte*>(result);
    if (p != nullptr && is_locked(t)) [[unlikely]]
        return combine_one_locked(op, kind, p, mine, old, t.sync->wide);
    return p != nullptr && inside(t, [&] { return combine_one(op, kind, p, mine, old); });
}

/// Would this thread have the target's part to itself, after n bytes more? Threads of a rank that count at once count some bytes less.
template <class Stack> bool window<Stack>::takes(target_type& t, std::uint64_t n) noexcept {
    // origin: thread_bench rma, accumulate: 64 and 256 bytes by elements 61 and 131 ns, by who has the part 28
    constexpr std::uint64_t row = 64, most = 64 << 20;
    if (n < row) return false;
    auto const all = t.by_elements.load(std::memory_order_relaxed) + n;       // order: an estimate
    auto const patience = t.patience.load(std::memory_order_relaxed);         // order: an estimate
    t.by_elements.store(all < patience ? all : 0, std::memory_order_relaxed); // order: an estimate
    if (all < patience) return false;
    t.patience.store(std::min(4 * patience, most), std::memory_order_relaxed); // order: an estimate
    return true;
}

/// What a processor changes at once, as that thread's turn is; what lies under the part's lock, as combine() does.
template <class Stack> void window<Stack>::combine_at(target_type& t, element_action const& action,
                                                      std::span<memory_run const> runs, std::byte const* operand,
                                                      std::byte* old, std::uint64_t thread) {
    auto& part = *t.sync;
    if (!shares_rows_ || action.whole() == 0) return combine(action, runs, operand, old, part.wide);
    std::uint64_t n = 0;
    for (auto const& r : runs) n += r.bytes;
    for (bool asked = false;; asked = true) {
        auto const visit = enter(t, thread);
        if (visit.may == turn::nothing) {
            part.rows.give_to_all(run_->world(), size(), stays_of());
            continue;
        }
        bool const alone = visit.may == turn::rows;
        if (alone || asked || !takes(t, n)) {
            alone ? combine_rows(action, runs, operand, old, part.wide) : combine(action, runs, operand, old, part.wide);
            return control_->stays.end(visit.place);
        }
        control_->stays.end(visit.place);
        part.rows.take(run_->world(), me_.value, visit.place, size(), stays_of());
    }
}

template <class Stack> void window<Stack>::update(char const* call, own_source const* from, own_sink const* result,
                                                  target_place const& to, operation op) {
    auto& t = opened(call, to.target);
    auto const e = touched(call, t, to);
    std::optional<typed_source> mine;
    std::optional<typed_sink> old;
    source operand;
    sink room;
    if (from) operand = source::of(mine.emplace(from->address, from->count, from->type));
    if (result) room = sink::of(old.emplace(result->address, result->count, result->type));
    if (from && operand.size() != e.data) detail::sizes_differ(call, operand.size(), e.data);
    if (result && room.size() != e.data) detail::sizes_differ(call, room.size(), e.data);
    if (e.data == 0) return;
    auto const defined = detail::checked_action(call, op, uniform_element(to.type));
    auto const action = is_locked(t) ? defined.under_lock() : defined;
    both_sides const data{action, from ? &operand : nullptr, result ? &room : nullptr};
    auto const by = e.is_mapped ? way::mapped : t.by.load(std::memory_order_relaxed); // order: either way is right
    if (by != way::mapped && by != way::shared) return update_there(call, data, t, {e.origin, to.count, to.type});
    typed_runs const there{e.origin + t.shift, to.count, to.type};
    if (by == way::mapped) return update_here(data, t, there);
    within(t, [&] { update_here(data, t, there); });
}

template <class Stack> void window<Stack>::update_here(both_sides const& data, target_type& t, typed_runs const& there) {
    std::vector<std::byte> buffer, was;
    bool const keeps = data.result && !data.result->is_contiguous();
    bool const flat = !keeps && (!data.operand || data.operand->is_contiguous());
    detail::in_pieces<128>(
        there, flat ? there.size() : copy_piece, data.action.size(), [&](auto runs, std::size_t at, std::size_t n) {
            if (keeps) was.resize(n);
            auto const* const operand = data.operand ? detail::piece_of(*data.operand, at, n, buffer) : nullptr;
            auto* const old = keeps ? was.data() : data.result ? data.result->data() + at : nullptr;
            combine_at(t, data.action, runs, operand, old);
            if (keeps) data.result->write(at, was);
        });
}

template <class Stack>
void window<Stack>::update_there(char const* call, both_sides const& data, target_type& t, typed_runs const& there) {
    small_operation const o{.what = request::update,
                            .op = data.action.what(),
                            .kind = data.action.kind(),
                            .there = &there,
                            .from = data.operand,
                            .answer = data.result};
    scattering const s{there};
    bool const is_list =
        s.is_list() && (data.action.whole() != 0 || s.is_short()); // what one call does to wide elements happens at once
    auto const done = is_list ? ask_for_lists(t, o, data.action.size(), true) : ask_who_waits(t, o);
    if (done == there.size()) return;
    std::vector<std::byte> buffer;
    letter_head const head{.what = request::update, .op = data.action.what(), .kind = data.action.kind()};
    auto const send = [&](auto runs, std::size_t at, std::size_t n) {
        auto const operand = data.operand ? source{detail::piece_of(*data.operand, at, n, buffer), n} : source{};
        if (!data.result) return ask(t, {head, runs, operand});
        sink_part const part{*data.result, at, n};
        ask_for(call, t, head, runs, operand, sink::of(part));
    };
    detail::in_pieces(there, letter_bytes, data.action.size(), send, done);
}

// --- one element ------------------------------------------------------------------------------------------------------------------------
template <class Stack>
memory_run window<Stack>::element_at(char const* call, target_type const& t, target_place const& p) const {
    auto const n = static_cast<std::uint64_t>(p.type.size());
    auto const first = t.address(p.displacement);
    if (!first) [[unlikely]]
        too_many(call, t, p);
    if (!t.has(*first, n)) [[unlikely]]
        out_of_range(call, t, p.target, *first, n);
    return {*first, n};
}

/// Elements with a gap inside are updates of one element.
template <class Stack> void window<Stack>::fetch_and_op(void const* from, void* result, datatype const& type, rank target,
                                                        std::int64_t displacement, operation op) {
    constexpr auto call = "fetch_and_op";
    auto& t = opened(call, target);
    auto const action = detail::checked_action(call, op, type.element());
    auto const* const mine = static_cast<std::byte const*>(from);
    auto* const old = static_cast<std::byte*>(result);
    auto const* const p = t.mapped_at(displacement, 0, action.size());
    if (p && action.whole() != 0) [[likely]] {
        memory_run const run{reinterpret_cast<std::uintptr_t>(p), action.size()};
        return combine_at(t, is_locked(t) ? action.under_lock() : action, {&run, 1}, mine, old);
    }
    auto const by = t.by.load(std::memory_order_relaxed); // order: either way is right
    if (!p && action.whole() != 0 && (by == way::kernel || by == way::agent))
        return change_there(call, t, action, element_at(call, t, {target, displacement, 1, type}), mine, old);
    own_source const operand{from, 1, type};
    own_sink const room{result, 1, type};
    update(call, op == operation::no_op ? nullptr : &operand, result ? &room : nullptr, {target, displacement, 1, type}, op);
}

/// One element in one piece that is not mapped: in one message to who waits there, else in a letter.
template <class Stack> void window<Stack>::change_there(char const* call, target_type& t, element_action const& action,
                                                        memory_run const& run, std::byte const* from, std::byte* result) {
    source const operand = action.what() == operation::no_op ? source{} : source{from, run.bytes};
    sink const old{result, result ? run.bytes : 0};
    small_operation const o{.what = request::update,
                            .op = action.what(),
                            .kind = action.kind(),
                            .there = nullptr,
                            .from = operand.size() != 0 ? &operand : nullptr,
                            .answer = result ? &old : nullptr};
    if (looks_ != 0 && t.is_worth_asking(true) && ask_for_piece(t, o, run.at, {0, run.bytes})) return;
    letter_head const head{.what = request::update, .op = action.what(), .kind = action.kind()};
    if (result) ask_for(call, t, head, {&run, 1}, operand, old);
    else ask(t, {head, {&run, 1}, operand});
}

/// Asks as a put does: where nobody waited the last time, there is another way for the data.
template <class Stack> bool window<Stack>::try_put_and_change(void const* from, std::size_t n, rank target,
                                                              std::int64_t displacement, std::uint64_t value,
                                                              std::int64_t number_at, operation op) {
    auto& t = at(target);
    auto const by = t.by.load(std::memory_order_relaxed); // order: either way is right
    if (looks_ == 0 || n == 0 || n > active_message::most_before || (by != way::kernel && by != way::agent)) return false;
    auto const first = t.address(displacement), number = t.address(number_at);
    if (!first || !number || !is_open(t) || !t.has(*first, n) || !t.has(*number, sizeof value)) return false;
    if (!t.is_worth_asking(false)) return false;
    source const data{from, n};
    active_message::after const then{*number, value};
    small_operation const o{
        .what = request::put, .op = op, .kind = element_kind::uint64, .there = nullptr, .from = &data, .then = &then};
    return ask_for_piece(t, o, *first, {0, n});
}

/// Here, by this thread as its turn is; locked: under the part's lock.
template <class Stack> void window<Stack>::swap_at(target_type& t, std::size_t n, std::byte* p, void const* expected,
                                                   void const* desired, void* old, bool locked) {
    auto const swap = [&] {
        rma::compare_and_swap(n, p, static_cast<std::byte const*>(expected), static_cast<std::byte const*>(desired),
                              static_cast<std::byte*>(old), t.sync->wide, locked);
        return true;
    };
    if (locked) return void(swap());
    while (!inside(t, swap)) t.sync->rows.give_to_all(run_->world(), size(), stays_of());
}

template <class Stack> void window<Stack>::compare_and_swap(void const* from, void const* expected, void* result,
                                                            datatype const& type, rank target, std::int64_t displacement) {
    auto& t = opened("compare_and_swap", target);
    auto const n = static_cast<std::size_t>(type.size());
    auto const place = element_at("compare_and_swap", t, {target, displacement, 1, type});
    auto const* const desired = static_cast<std::byte const*>(from);
    auto const* const was = static_cast<std::byte const*>(expected);
    auto* const old = static_cast<std::byte*>(result);
    auto const here = [&] { swap_at(t, n, t.at(place.at), was, desired, old, is_locked(t)); };
    if (t.mapped(place.at, n)) [[likely]]
        return here();
    if (t.by.load(std::memory_order_relaxed) == way::shared) return within(t, here); // order: it never changes from this
    std::vector<std::byte> both(was, was + n);
    both.insert(both.end(), desired, desired + n);
    typed_runs const there{place.at, 1, type};
    source const values{both.data(), both.size()};
    sink const room{old, n};
    if (ask_who_waits(t, {.what = request::swap, .there = &there, .from = &values, .answer = &room}) != 0) return;
    ask_for("compare_and_swap", t, {.what = request::swap}, {&place, 1}, values, room);
}

} // namespace mpt::inline v0::rma
