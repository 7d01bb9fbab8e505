/// rma/window/move - put and get: by a copy where both sides lie in one piece and are mapped, else by the target's way.
///
///   What is small, or up to some 256 runs, who waits at the target may do (window/ask.hpp). What lies scattered there is cut into pieces of so
///   many runs and bytes; each is written by the kernel, or is a letter.
///
///   Scattered  the kernel looks up the pages of each run, 0.34 us, as long as it takes to copy 3 KiB. So of runs that lie close together a get
///              reads what lies between them, too, and leaves it; and what is many small runs goes to the target's agent, packed.
///              The first runs tell for all. A buffer of the origin's that is not there is a fault of its own where the kernel
///              does not copy, and no error.
///              origin: 128 and 1024 times 8 B, 64 B and 4 KiB apart, two ranks, AMD EPYC guest: put 43 and 347 us by the kernel
#pragma once
#include <memory>

#include <mpt/core/copy.hpp>
#include <mpt/rma/window.hpp>
#include <mpt/rma/window/ask.hpp>

namespace mpt::inline v0::rma {

/// Where the data are here, if they are in one piece of `own` bytes, in the window, and mapped; else null.
template <class Stack> std::byte* window<Stack>::plain(target_type const& t, target_place const& p, std::int64_t own,
                                                       data_run const& run) const noexcept {
    if (run.bytes != own) return nullptr;
    return t.mapped_at(p.displacement, run.offset, static_cast<std::uint64_t>(run.bytes));
}

template <class Stack> void window<Stack>::put(own_source const& from, target_place const& to) {
    auto& t = opened("put", to.target);
    auto const mine = from.type.contiguous_run(from.count), there = to.type.contiguous_run(to.count);
    if (mine && there) [[likely]]
        if (auto* const p = plain(t, to, mine->bytes, *there)) [[likely]]
            return copy_bytes(p, static_cast<std::byte const*>(from.address) + mine->offset,
                              static_cast<std::size_t>(mine->bytes));
    put_far(from, t, to);
}

template <class Stack> void window<Stack>::get(own_sink const& into, target_place const& from) {
    auto& t = opened("get", from.target);
    auto const mine = into.type.contiguous_run(into.count), there = from.type.contiguous_run(from.count);
    if (mine && there) [[likely]]
        if (auto const* const p = plain(t, from, mine->bytes, *there)) [[likely]]
            return copy_bytes(static_cast<std::byte*>(into.address) + mine->offset, p, static_cast<std::size_t>(mine->bytes));
    get_far(into, t, from);
}

/// Throws where it is not all in the window.
template <class Stack> auto window<Stack>::touched(char const* call, target_type const& t, target_place const& p) const
    -> extent {
    extent e{0, 0, 0, 0};
    if (p.count <= 0 || p.type.size() == 0) return e;
    std::int64_t data = 0, far = 0, low = p.type.true_lower_bound(), high = low + p.type.true_extent();
    if (__builtin_mul_overflow(p.count, p.type.size(), &data) || __builtin_mul_overflow(p.count - 1, p.type.extent(), &far) ||
        __builtin_add_overflow(low, std::min<std::int64_t>(far, 0), &low) ||
        __builtin_add_overflow(high, std::max<std::int64_t>(far, 0), &high)) [[unlikely]]
        too_many(call, t, p);
    auto const first = t.address(p.displacement, low);
    if (!first) [[unlikely]]
        too_many(call, t, p);
    e.data = static_cast<std::uint64_t>(data);
    e.first = *first;
    e.origin = e.first - static_cast<std::uint64_t>(low);
    e.n = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    if (!t.has(e.first, e.n)) [[unlikely]]
        out_of_range(call, t, p.target, e.first, e.n);
    e.is_mapped = t.mapped(e.first, e.n) != nullptr;
    return e;
}

/// More than an address can count.
template <class Stack> void window<Stack>::too_many(char const* call, target_type const& t, target_place const& p) const {
    throw error{errc::rma_range, "mpt: " + std::string{call} + ": " + std::to_string(p.count) + " elements of " +
                                     std::to_string(p.type.size()) + " bytes at displacement " +
                                     std::to_string(p.displacement) + " are not within rank " + std::to_string(p.target.value) +
                                     "'s part of the window" +
                                     (how_ == flavor::dynamic ? "" : ", which has " + std::to_string(t.size) + " bytes")};
}

template <class Stack>
void window<Stack>::out_of_range(char const* call, target_type const& t, rank r, std::uint64_t first, std::uint64_t n) const {
    if (how_ == flavor::dynamic)
        throw error{errc::rma_range, "mpt: " + std::string{call} + ": the " + std::to_string(n) + " bytes at address " +
                                         std::to_string(first) + " of rank " + std::to_string(r.value) +
                                         " are not attached to the window"};
    auto const at = static_cast<std::int64_t>(first - t.base);
    throw error{errc::rma_range, "mpt: " + std::string{call} + ": bytes " + std::to_string(at) + " to " +
                                     std::to_string(at + static_cast<std::int64_t>(n)) + " of rank " + std::to_string(r.value) +
                                     "'s part of the window, which has " + std::to_string(t.size) + " bytes"};
}

/// Runs f() on memory of a rank that is a thread of this process, which keeps it until we are through.
template <class Stack> template <class F> void window<Stack>::within(target_type& t, F&& f) {
    auto& job = run_->job();
    if (!job.begin_copy()) {
        wire_.on().follow();
        throw error{errc::peer_gone, "mpt: rank " + std::to_string(t.world.value) + " of the job has ended it."};
    }
    f();
    job.end_copy();
}

// --- by the kernel ------------------------------------------------------------------------------------------------------------------
/// What it said. False: it refuses what it has granted before, and the agent is to do it, from now on.
template <class Stack> bool window<Stack>::done_by_kernel(char const* call, target_type& t, status s,
                                                          std::span<std::byte const> own, bool writes_own) {
    if (s == status::ok) [[likely]]
        return true;
    if (s == status::refused) return t.by.store(way::agent, std::memory_order_relaxed), false; // order: either way is right
    auto const said = "mpt: " + std::string{call} + ": ";
    if (s == status::bad_address && !smp::is_there(own.data(), own.size(), writes_own))
        throw error{errc::buffer, said + "the origin's " + std::to_string(own.size()) + " bytes are not mapped" +
                                      (writes_own ? ", or cannot be written" : ", or cannot be read")};
    auto const what = s == status::bad_address ? errc::rma_range : s == status::peer_gone ? errc::peer_gone : errc::system;
    throw error{what, said + "memory of rank " + std::to_string(t.world.value) + " of the job: " + std::string{to_string(s)}};
}

/// False: not all of it is there, or the kernel refuses.
template <class Stack>
bool window<Stack>::get_around(sink const& room, target_type& t, extent const& e, target_place const& from) {
    auto const n = static_cast<std::size_t>(e.n);
    auto const all = std::make_unique_for_overwrite<std::byte[]>(n);
    auto const said = smp::read_process(t.pid, all.get(), e.first, n);
    if (said == status::refused) t.by.store(way::agent, std::memory_order_relaxed); // order: either way is right
    if (said != status::ok) return false;
    auto const origin = reinterpret_cast<std::uintptr_t>(all.get()) + (e.origin - e.first);
    typed_source const there{reinterpret_cast<std::byte const*>(origin), from.count, from.type};
    copy(source::of(there), room);
    return true;
}

template <class Stack> bool window<Stack>::put_by_kernel(source const& data, target_type& t, typed_runs const& there) {
    std::vector<std::byte> buffer;
    auto said = status::ok;
    detail::in_pieces<most_runs_per_get>(there, data.is_contiguous() ? data.size() : letter_bytes, 1,
                                         [&](auto runs, std::size_t at, std::size_t n) {
                                             if (said != status::ok) return;
                                             auto const* const p = detail::piece_of(data, at, n, buffer);
                                             memory_run const mine{reinterpret_cast<std::uintptr_t>(p), n};
                                             said = runs.size() == 1 ? smp::write_process(t.pid, runs[0].at, p, n)
                                                                     : smp::write_process_runs(t.pid, {&mine, 1}, 0, runs);
                                         });
    return done_by_kernel("put", t, said,
                          data.is_contiguous() ? std::span{data.data(), data.size()} : std::span<std::byte const>{}, false);
}

template <class Stack> bool window<Stack>::get_by_kernel(sink const& room, target_type& t, typed_runs const& there) {
    std::vector<std::byte> buffer;
    auto said = status::ok;
    bool const flat = room.is_contiguous();
    detail::in_pieces<most_runs_per_get>(there, flat ? room.size() : letter_bytes, 1,
                                         [&](auto runs, std::size_t at, std::size_t n) {
                                             if (said != status::ok) return;
                                             if (!flat) buffer.resize(n);
                                             auto* const p = flat ? room.data() + at : buffer.data();
                                             memory_run const mine{reinterpret_cast<std::uintptr_t>(p), n};
                                             said = runs.size() == 1 ? smp::read_process(t.pid, p, runs[0].at, n)
                                                                     : smp::read_process_runs(t.pid, {&mine, 1}, 0, runs);
                                             if (!flat && said == status::ok) room.write(at, std::span{buffer}.first(n));
                                         });
    return done_by_kernel("get", t, said,
                          flat ? std::span<std::byte const>{room.data(), room.size()} : std::span<std::byte const>{}, true);
}

// --- what is not in one piece, or not mapped --------------------------------------------------------------------------------------------
template <class Stack> void window<Stack>::put_far(own_source const& from, target_type& t, target_place const& to) {
    typed_source const layout{from.address, from.count, from.type};
    auto const data = source::of(layout);
    auto const e = touched("put", t, to);
    if (data.size() != e.data) detail::sizes_differ("put", data.size(), e.data);
    auto const by = e.is_mapped ? way::mapped : t.by.load(std::memory_order_relaxed); // order: either way is right
    if (by == way::mapped || by == way::shared) {
        typed_sink const there{t.at(e.origin), to.count, to.type};
        if (by == way::mapped) return copy(data, sink::of(there));
        return within(t, [&] { copy(data, sink::of(there)); });
    }
    typed_runs const there{e.origin, to.count, to.type};
    small_operation const o{.what = request::put, .there = &there, .from = &data};
    scattering const s{there};
    auto const done = s.is_list() ? ask_for_lists(t, o, 1, by == way::agent || s.is_dear()) : ask_who_waits(t, o);
    if (done == data.size()) return;
    if (by == way::kernel && t.is_known(e.first, e.n) && !s.is_fine_to_put() && put_by_kernel(data, t, there)) return;
    std::vector<std::byte> buffer;
    auto const send = [&](auto runs, std::size_t at, std::size_t n) {
        ask(t, {{.what = request::put}, runs, source{detail::piece_of(data, at, n, buffer), n}});
    };
    detail::in_pieces(there, letter_bytes, 1, send, done);
}

template <class Stack> void window<Stack>::get_far(own_sink const& into, target_type& t, target_place const& from) {
    typed_sink const layout{into.address, into.count, into.type};
    auto const room = sink::of(layout);
    auto const e = touched("get", t, from);
    if (room.size() != e.data) detail::sizes_differ("get", room.size(), e.data);
    auto const by = e.is_mapped ? way::mapped : t.by.load(std::memory_order_relaxed); // order: either way is right
    if (by == way::mapped || by == way::shared) {
        typed_source const there{t.at(e.origin), from.count, from.type};
        if (by == way::mapped) return copy(source::of(there), room);
        return within(t, [&] { copy(source::of(there), room); });
    }
    typed_runs const there{e.origin, from.count, from.type};
    small_operation const o{.what = request::get, .there = &there, .answer = &room};
    scattering const s{there};
    bool const is_known = by == way::kernel && t.is_known(e.first, e.n);
    if (is_known && s.is_close(e.n) && get_around(room, t, e, from)) return;
    auto const done = s.is_list() ? ask_for_lists(t, o, 1, by == way::agent || s.is_dear()) : ask_who_waits(t, o);
    if (done == room.size() || (is_known && !s.is_fine() && get_by_kernel(room, t, there))) return;
    auto const send = [&](auto runs, std::size_t at, std::size_t n) {
        sink_part const part{room, at, n};
        ask_for("get", t, {.what = request::get}, runs, {}, sink::of(part));
    };
    detail::in_pieces(there, letter_bytes, 1, send, done);
}

// --- by the agent ---------------------------------------------------------------------------------------------------------------------
/// Sends a letter that has no answer. Until its confirmation nobody knows that it was done.
template <class Stack> void window<Stack>::ask(target_type& t, letter const& l) {
    t.sync->letters.one_more();
    send_letter(t, l);
    t.asked.fetch_add(1, std::memory_order_relaxed); // order: read by who confirms, who synchronises with us
}

/// Its data may be used again then.
template <class Stack> void window<Stack>::send_letter(target_type& t, letter const& l) {
    auto* const r = wire_.start_send(t.world, ask_tag, source::of(l));
    finish_ringing(t, *r, {wait_for::send, wire_.context(), t.world, ask_tag, l.size()});
}

/// A frame may leave long after its send began: the agent is rung at each look, and after the last one.
template <class Stack> outcome window<Stack>::finish_ringing(target_type& t, protocol::request& r, waiting const& about) {
    auto const ring = [&] { return t.ring_agent(run_->world(), run_->job().fences()), false; };
    auto const got = wire_.finish(r, about, ring);
    ring();
    return got;
}

/// Sends a letter and waits for its answer, which is as long as the room for it, or the letter was refused.
template <class Stack> void window<Stack>::ask_for(char const* call, target_type& t, letter_head head,
                                                   std::span<memory_run const> runs, source const& data, sink const& answer) {
    auto const n = answers_.fetch_add(1, std::memory_order_relaxed); // order: only uniqueness
    tag const label{first_answer + static_cast<std::int32_t>(n % (1u << 20))};
    head.answer = label;
    waiting const about{wait_for::answer, wire_.context(), t.world, label, answer.size()};
    auto* const in = wire_.start_recv(t.world, label, answer);
    try {
        send_letter(t, {head, runs, data});
    } catch (...) {
        wire_.abandon(*in, about);
        throw;
    }
    auto const got = finish_ringing(t, *in, about);
    if (got.how != status::ok || got.bytes != answer.size())
        throw error{errc::rma_range, "mpt: " + std::string{call} + ": memory of rank " + std::to_string(t.world.value) +
                                         " of the job that is not attached to the window"};
}

} // namespace mpt::inline v0::rma
