/// coll/combined - reductions in memory that the ranks of a communicator share (coll/together.hpp).
///
///   flat      each shows its elements, and who wants the result combines all ranks' by itself: one round. Small data, and reduces of few ranks.
///   halves    allreduce of two ranks: each shows the half that the other combines, and then the half that it has combined.
///        round 1   of in 0, half 1              round 2   half 0 of the result
///   parts     from three ranks on (reduce: from four): each combines the part of a chunk that bears its number, from all ranks' chunks, into
///             its next one; a round brings the parts of one chunk and the input of the next. Each byte is combined once.
///        round 1   in 0 |                 round 2   in 1 | part of 0         round 3        | part of 1
///
///   Order     of combination: that of the messages (coll/fold.hpp), element by element, whatever the size and the algorithm. Sums of
///             floating-point numbers have the same bits each time, and on all ranks, also while a communicator's first collectives
///             go by messages; but for a reduce of more than 512 KiB, which by messages takes another order. Needs no commuting operation.
///   Cost      what a rank combines it reads once, and writes once for itself and once for all others: a few KiB at a time, so that it is in
///             the first cache between.
///   Source    MPI-4.1 chapter 6.    Tests  test/coll_combined_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include <mpt/coll/fold.hpp>
#include <mpt/coll/together.hpp>

namespace mpt::inline v0::coll::detail {

/// A round's memory: a part that this rank has combined of the round before, and behind it its elements, for others to combine. The same
/// whatever the layout of a rank's elements, which is its own.
struct cutting {
    std::size_t ranks, each = 0, part = 0; // elements that a round brings; bytes

    /// most: bytes that a round can bring. All rounds but the last bring as much, as few as there can be. None: each == 0.
    cutting(operand const& op, std::int32_t n_ranks, std::size_t n, std::size_t most) noexcept
        : ranks{static_cast<std::size_t>(n_ranks)} {
        auto const room = (most - cache_line) / std::max<std::size_t>(op.packed, 1); // elements and a part, which is rounded up
        auto const fits = room < 2 ? 0 : (room - 1) * ranks / (ranks + 1);
        if (fits == 0) return;
        auto const rounds = std::max<std::size_t>(1, (n + fits - 1) / fits);
        each = (n + rounds - 1) / rounds;
        part = ((each / ranks + 1) * op.packed + cache_line - 1) / cache_line * cache_line;
    }
    /// What a round takes.
    std::size_t bytes(operand const& op) const noexcept { return part + each * op.packed; }
    /// The part of n elements that rank q combines.
    std::size_t first(std::size_t n, std::int32_t q) const noexcept { return n * static_cast<std::size_t>(q) / ranks; }
    std::size_t count(std::size_t n, std::int32_t q) const noexcept { return first(n, q + 1) - first(n, q); }
};

/// Of an array as much as lies in the first cache beside what it is made of.
inline constexpr std::size_t in_cache = 8192;
inline bool is_dense(operand const& op) noexcept { return op.is_contiguous() && op.packed <= in_cache; }

/// The part that this rank combines, of arrays: `part` is what others read, and `own` the same place of the result, or null. A few KiB of
/// it at a time, made in the first cache: neither is read before it is written, and the one may go around the caches.
template <class J, class At>
void fold_part(J& j, operand const& op, fold_order const& order, std::size_t n, At const& at, std::byte* part, std::byte* own) {
    alignas(cache_line) std::array<std::byte, in_cache> sum;
    auto const each = in_cache / op.packed;
    for (std::size_t i = 0; i < n; i += each) {
        auto const now = std::min(each, n - i), skip = i * op.packed;
        fold(
            op, order, now, [&](std::int32_t q) { return at(q) + skip; }, sum.data());
        if (auto const next = std::min({each, n - i - now, 2048 / op.packed}); next != 0)
            for (std::int32_t q = 0; q < order.ranks(); ++q) fetch_ahead(at(q) + skip + now * op.packed, next * op.packed);
        j.write(part + skip, sum.data(), now * op.packed);
        if (own) copy_string(own + skip, sum.data(), now * op.packed);
    }
}

/// Of n elements those that others combine: of an array, what this rank combines by itself it reads where it lies.
template <class J> void pack_for_others(J& j, operand const& op, cutting const& cut, std::byte const* mine, std::size_t n,
                                        std::byte* packed) noexcept {
    if (!is_dense(op)) return pack(op, mine, n, packed);
    auto const end = cut.first(n, j.me() + 1), skip = end * op.packed;
    j.write(packed, mine, cut.first(n, j.me()) * op.packed);
    j.write(packed + skip, mine + skip, (n - end) * op.packed);
}
/// What another rank has combined.
template <class J> void take_combined(J const& j, operand const& op, std::byte const* packed, std::size_t n, std::byte* into) {
    if (is_dense(op)) j.read(into, packed, n * op.packed);
    else unpack(op, packed, n, into);
}

/// result: null where this rank does not want it.
template <class Stack> void reduce_in_parts(joint<Stack>& j, operand const& op, fold_order const& order, std::byte const* mine,
                                            std::byte* result, std::size_t n) {
    cutting const cut{op, j.ranks(), n, j.most_together()};
    std::size_t before = 0; // elements that the last round brought
    for (std::size_t at = 0;;) {
        auto const now = std::min(cut.each, n - at), first = cut.first(before, j.me()), count = cut.count(before, j.me());
        auto* const chunk = j.begin_together(cut.bytes(op));
        auto const part = [&](std::int32_t q) {
            return q == j.me() && is_dense(op) ? op.at(mine, at - before + first) : j.of(q) + cut.part + first * op.packed;
        };
        auto const at_result = [&](std::int32_t q) { return op.at(result, at - before + cut.first(before, q)); };
        if (is_dense(op)) fold_part(j, op, order, count, part, chunk, result ? at_result(j.me()) : nullptr);
        else fold_packed(op, order, count, part, chunk);
        pack_for_others(j, op, cut, op.at(mine, at), now, chunk + cut.part);
        j.show();
        if (now != 0 || result) j.see_all();
        for (std::int32_t q = 0; result && q < j.ranks(); ++q)
            if (q != j.me() || !is_dense(op)) take_combined(j, op, j.of(q), cut.count(before, q), at_result(q));
        if (now == 0) return;
        before = now, at += now;
    }
}

/// Of two ranks each combines a half. A round brings halves, the next one what has become of them.
template <class J> void allreduce_in_halves(J& j, operand const& op, fold_order const& order, std::byte const* mine,
                                            std::byte* result, std::size_t n) {
    auto const me = static_cast<std::size_t>(j.me()), other = 1 - me;
    std::vector<std::byte> own; // of other elements than an array's, packed
    in_pieces(n, 2 * (j.most() / op.packed), [&](std::size_t at, std::size_t now) {
        std::array const count{now / 2, now - now / 2}, first{at, at + now / 2};
        auto const largest = count[1] * op.packed; // the same on both ranks
        auto* const given = j.begin(largest);
        if (is_dense(op)) j.write(given, op.at(mine, first[other]), count[other] * op.packed);
        else pack(op, op.at(mine, first[other]), count[other], given);
        j.show();
        j.see_all();
        auto const* const got = j.of(static_cast<std::int32_t>(other));
        std::byte const* kept = op.at(mine, first[me]);
        if (!is_dense(op)) {
            own.resize(count[me] * op.packed);
            pack(op, kept, count[me], own.data());
            kept = own.data();
        }
        auto const halves = [&](std::int32_t q) { return q == j.me() ? kept : got; };
        auto* const combined = j.begin(largest);
        auto* const to = op.at(result, first[me]);
        if (is_dense(op)) fold_part(j, op, order, count[me], halves, combined, to);
        else fold_packed(op, order, count[me], halves, combined), unpack(op, combined, count[me], to);
        j.show();
        j.see_all();
        take_combined(j, op, j.of(static_cast<std::int32_t>(other)), count[other], op.at(result, first[other]));
    });
}

template <class J> void show_packed(J& j, operand const& op, std::byte const* from, std::size_t n) {
    auto* const to = j.begin(n * op.packed);
    if (op.is_contiguous()) j.write(to, from, n * op.packed);
    else pack(op, from, n, to);
    j.show();
}

/// Who wants the result combines all, in as many rounds as it takes: the others run ahead by a few. What all want, all show; else who
/// wants the result keeps its own elements where they are, unless they make room for it.
template <class J> void reduce_flat(J& j, operand const& op, fold_order const& order, std::byte const* mine, std::byte* result,
                                    std::size_t n, bool all_want) {
    auto const each = std::max<std::size_t>(1, j.stretch() / std::max<std::size_t>(op.packed, 1)); // elements
    bool const keeps = op.is_contiguous() && mine != result, shows = !result || all_want || !keeps;
    in_rounds(j, n, each, [&](std::size_t at, std::size_t now) {
        if (!shows) j.show_nothing();
        else show_packed(j, op, op.at(mine, at), now);
        if (!result) return;
        all_want ? j.see_all() : j.see_all_ahead(now * op.packed, [](std::int32_t) {});
        auto const lies_at = [&](std::int32_t q) { return keeps && q == j.me() ? op.at(mine, at) : j.of(q); };
        fold(op, order, now, lies_at, op.at(result, at));
    });
}

/// From so many ranks on each combines a part of large data. Of a reduce of fewer the root combines all, while the others run ahead.
/// origin: 64 KiB and 1 MiB, us, flat or by messages / as now: allreduce of two 5.7 and 88 / 4.3 and 66 (without a cache in common 13.6 and
/// 205 / 4.9 and 85), of three 42 and 284 / 16 and 218 (AMD EPYC, Zen 4); reduce of two flat 0.9 and 0.75 times (Zen 5)
inline constexpr std::int32_t allreduce_parts = 3, reduce_parts = 4;

/// mine: may be the result's memory. result: null where this rank does not want it.
template <class Stack> bool reduce_together(team<Stack> const& t, speaker s, operand const& op, fold_order const& order,
                                            std::byte const* mine, std::byte* result, std::size_t n) {
    auto const size = n * op.packed;
    joint<Stack> j{t, s, size};
    bool const large = size > std::max(node_room<typename Stack::world_type>::piece, t.template limit<"MPT_NODE_FLAT">());
    bool const in_halves = large && s == speaker::allreduce && t.size() == 2;
    bool const in_parts = large && t.size() >= (s == speaker::allreduce ? allreduce_parts : reduce_parts);
    bool const fits = in_parts ? cutting{op, t.size(), n, chunk_bytes(t)}.each != 0 : !large || op.packed <= chunk_bytes(t);
    if (!j.takes(size, fits)) return false;
    if (in_halves) j.is_exchange(), allreduce_in_halves(j, op, order, mine, result, n);
    else if (in_parts) reduce_in_parts(j, op, order, mine, result, n);
    else reduce_flat(j, op, order, mine, result, n, s == speaker::allreduce);
    return true;
}

} // namespace mpt::inline v0::coll::detail
