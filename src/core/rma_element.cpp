// Elements of a window, combined at once: by the processor, or under the part's lock.
#include <mpt/rma/element.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include <mpt/core/cursor.hpp>
#include <mpt/core/processor.hpp>
#include <mpt/world/native.hpp>

namespace mpt::inline v0::rma {

namespace {

template <class Word> Word load_from(std::byte const* p) noexcept {
    Word w;
    std::memcpy(&w, p, sizeof w);
    return w;
}
template <class Word> void store_to(std::byte* p, Word w) noexcept { std::memcpy(p, &w, sizeof w); }

constexpr bool is_integer(element_kind k) noexcept {
    auto const values = facts(k).values;
    return values == element_class::signed_integer || values == element_class::unsigned_integer;
}

// --- by the processor ---------------------------------------------------------------------------------------------------------
/// An element where it lies. Elements of windows are made by programs, which know nothing of atomics.
template <class Word> using element_ref = native_atomics::atomic_ref<Word>;

template <class Word> Word by_exchange(element_action const& a, element_ref<Word> at, std::byte const* operand) noexcept {
    Word seen = at.load(std::memory_order_relaxed); // order: the compare-exchange decides
    for (;;) {
        Word next = seen;
        a.function()(operand, reinterpret_cast<std::byte*>(&next), 1);
        if (at.compare_exchange_weak(seen, next, std::memory_order_acq_rel, // sync(rma.element): acq_rel
                                     std::memory_order_relaxed))            // order: another try
            return seen;
    }
}

/// The processor has an instruction for it.
constexpr bool is_an_instruction(operation what, element_kind kind) noexcept {
    switch (what) {
    case operation::no_op:
    case operation::replace: return true;
    case operation::sum:
    case operation::band:
    case operation::bor:
    case operation::bxor: return is_integer(kind);
    default: return false;
    }
}
bool is_an_instruction(element_action const& a) noexcept { return is_an_instruction(a.what(), a.kind()); }

/// Changes one element by such an instruction; what it was.
template <class Word>
[[gnu::always_inline]] inline Word change_at_once(operation what, element_ref<Word> at, std::byte const* operand) noexcept {
    if (what == operation::no_op) return at.load(std::memory_order_acquire); // sync(rma.element): acquire
    auto const with = load_from<Word>(operand);
    switch (what) {
    case operation::sum: return at.fetch_add(with, std::memory_order_acq_rel);  // sync(rma.element): acq_rel
    case operation::band: return at.fetch_and(with, std::memory_order_acq_rel); // sync(rma.element): acq_rel
    case operation::bor: return at.fetch_or(with, std::memory_order_acq_rel);   // sync(rma.element): acq_rel
    case operation::bxor: return at.fetch_xor(with, std::memory_order_acq_rel); // sync(rma.element): acq_rel
    default: return at.exchange(with, std::memory_order_acq_rel);               // sync(rma.element): acq_rel
    }
}
/// As the kernel adds, without a call of it.
template <class Real, class Word> void add_real(std::byte* at, std::byte const* operand, std::byte* old) noexcept {
    static_assert(sizeof(Real) == sizeof(Word));
    element_ref<Word> const element{*reinterpret_cast<Word*>(at)};
    auto const with = load_from<Real>(operand);
    Word seen = element.load(std::memory_order_relaxed); // order: the compare-exchange decides
    while (!element.compare_exchange_weak(seen, std::bit_cast<Word>(with + std::bit_cast<Real>(seen)),
                                          std::memory_order_acq_rel,    // sync(rma.element): acq_rel
                                          std::memory_order_relaxed)) { // order: another try
    }
    if (old) store_to(old, seen);
}
/// Changes one element; what it was.
template <class Word> Word change(element_action const& a, element_ref<Word> at, std::byte const* operand) noexcept {
    return is_an_instruction(a) ? change_at_once<Word>(a.what(), at, operand) : by_exchange<Word>(a, at, operand);
}

// --- one element, in few instructions -----------------------------------------------------------------------------------------------
enum class single : std::uint8_t { nothing, real4, real8, sum4, sum8, replace4, replace8, other4, other8 };

constexpr single single_of(operation what, element_kind kind) noexcept {
    auto const size = facts(kind).size;
    if (what == operation::sum && kind == element_kind::c_double) return single::real8;
    if (what == operation::sum && kind == element_kind::c_float) return single::real4;
    if ((size != 4 && size != 8) || !is_integer(kind) || !is_an_instruction(what, kind)) return single::nothing;
    if (what == operation::sum) return size == 4 ? single::sum4 : single::sum8;
    if (what == operation::replace) return size == 4 ? single::replace4 : single::replace8;
    return size == 4 ? single::other4 : single::other8;
}
constexpr auto singles = [] {
    std::array<std::array<single, element_kinds>, operations> all{};
    for (std::size_t o = 0; o < operations; ++o)
        for (std::size_t k = 0; k < element_kinds; ++k)
            all[o][k] = single_of(static_cast<operation>(o), static_cast<element_kind>(k));
    return all;
}();

template <class T> bool is_aligned_to(std::byte const* at) noexcept {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(T) == 0;
}
template <class Word> [[gnu::always_inline]] inline bool change_any(operation what, std::byte* at, std::byte const* operand,
                                                                    std::byte* old) noexcept {
    if (!is_aligned_to<Word>(at)) return false;
    element_ref<Word> const element{*reinterpret_cast<Word*>(at)};
    if (!old && what == operation::replace)
        return element.store(load_from<Word>(operand), std::memory_order_release), true; // sync(rma.element): release
    auto const was = change_at_once<Word>(what, element, operand);
    if (old) store_to(old, was);
    return true;
}
template <operation What, class Word> bool change_single(std::byte* at, std::byte const* operand, std::byte* old) noexcept {
    return change_any<Word>(What, at, operand, old);
}

// --- several elements by one instruction ----------------------------------------------------------------------------------------
constexpr std::size_t quad = 16; // bytes

/// ThreadSanitizer would not see what the instruction does.
bool swaps_wide() noexcept {
    if constexpr (!processor::may_swap_wide || MPT_THREAD_SANITIZER) return false;
    static bool const does = processor::swaps_wide();
    return does;
}

/// A compare-and-swap of 16 bytes costs what one of 8 does, and that is what an addition costs: rows of elements that are changed go by it.
bool goes_wide(element_action const& a, memory_run const& run) noexcept {
    return run.bytes >= 4 * quad && a.what() != operation::no_op && a.what() != operation::replace && swaps_wide();
}

/// A block of elements by one call of the kernel, and then a compare-and-swap for 16 bytes or for each: who was changed meanwhile is
/// combined alone.
template <class Word>
void exchange_run(element_action const& a, memory_run const& run, std::byte const* operand, std::byte* old) noexcept {
    constexpr std::uint64_t together = quad / sizeof(Word);
    bool const goes = goes_wide(a, run);
    std::array<Word, 64> seen, next;
    auto const at = [&run](std::uint64_t i) { return element_ref<Word>{*reinterpret_cast<Word*>(run.at + i * sizeof(Word))}; };
    for (std::uint64_t done = 0, all = run.bytes / sizeof(Word); done < all;) {
        auto const n = std::min<std::uint64_t>(all - done, seen.size());
        for (std::uint64_t i = 0; i < n; ++i)
            next[i] = seen[i] = at(done + i).load(std::memory_order_relaxed); // order: the compare-exchange decides
        a.function()(operand + done * sizeof(Word), reinterpret_cast<std::byte*>(next.data()), n);
        for (std::uint64_t i = 0; i < n; ++i, ++done) {
            auto const place = run.at + done * sizeof(Word);
            if (goes && place % quad == 0 && n - i >= together &&
                processor::swap_wide(place, reinterpret_cast<std::byte const*>(&seen[i]),
                                     reinterpret_cast<std::byte const*>(&next[i]))) { // sync(rma.element): acq_rel
                if (old) std::memcpy(old + done * sizeof(Word), &seen[i], quad);
                i += together - 1, done += together - 1;
                continue;
            }
            if (!at(done).compare_exchange_strong(seen[i], next[i], std::memory_order_acq_rel, // sync(rma.element): acq_rel
                                                  std::memory_order_relaxed))                  // order: another try
                seen[i] = by_exchange<Word>(a, at(done), operand + done * sizeof(Word));
            if (old) store_to(old + done * sizeof(Word), seen[i]);
        }
    }
}

template <class Word>
void change_run(element_action const& a, memory_run const& run, std::byte const* operand, std::byte* old) noexcept {
    if (!is_an_instruction(a) || goes_wide(a, run)) return exchange_run<Word>(a, run, operand, old);
    for (std::uint64_t i = 0; i < run.bytes; i += sizeof(Word)) {
        element_ref<Word> const element{*reinterpret_cast<Word*>(run.at + i)};
        if (!old && a.what() == operation::replace) {                               // nobody asks what was there
            element.store(load_from<Word>(operand + i), std::memory_order_release); // sync(rma.element): release
            continue;
        }
        auto const was = change<Word>(a, element, operand ? operand + i : nullptr);
        if (old) store_to(old + i, was);
    }
}

template <class Word>
void swap_where(std::byte* at, std::byte const* expected, std::byte const* desired, std::byte* old) noexcept {
    auto seen = load_from<Word>(expected);
    element_ref<Word>{*reinterpret_cast<Word*>(at)}.compare_exchange_strong(
        seen, load_from<Word>(desired), std::memory_order_acq_rel, // sync(rma.element): acq_rel
        std::memory_order_acquire);                                // sync(rma.element): acquire
    store_to(old, seen);
}

/// Calls f(word) with an unsigned integer of this size.
template <class F> void by_size(std::size_t size, F f) {
    switch (size) {
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
    }
}

bool is_aligned(std::uint64_t at, std::size_t whole) noexcept { return whole != 0 && at % whole == 0; }

// --- under the lock -------------------------------------------------------------------------------------------------------------
/// Held while a row is combined, so that who waits looks again, and gives the CPU away where its holder may have none.
class holding {
    lock_word<>& lock_;

public:
    explicit holding(lock_word<>& l) noexcept : lock_{l} {
        for (unsigned tries = 1; !lock_.try_exclusive(); ++tries) {
            if (tries % 64 == 0) world::native{}.yield();
            else native_atomics::pause();
        }
    }
    ~holding() { lock_.release_exclusive(); }
    holding(holding const&) = delete;
};

/// One element by who alone is at elements: becomes f(what it was, the operand).
template <class T, class F>
bool change_held(lock_word<>& wide, std::byte* at, std::byte const* operand, std::byte* old, F f) noexcept {
    auto const with = load_from<T>(operand);
    holding const alone{wide};
    auto const was = load_from<T>(at);
    store_to<T>(at, f(was, with));
    if (old) store_to(old, was);
    return true;
}
/// What it is, where anybody asks: it is not written.
bool read_held(std::size_t size, lock_word<>& wide, std::byte const* at, std::byte* old) noexcept {
    holding const alone{wide};
    if (old) copy_bytes(old, at, size);
    return true;
}
template <class Word> Word changed(operation what, Word was, Word with) noexcept {
    switch (what) {
    case operation::band: return was & with;
    case operation::bor: return was | with;
    case operation::bxor: return was ^ with;
    default: return with;
    }
}

/// A message has pairs without gaps; kernels want them as C's structs.
void spread(element_facts const& f, std::byte const* packed, std::byte* whole, std::size_t n) noexcept {
    std::size_t const first = facts(f.first).size, second = facts(f.second).size;
    for (std::size_t i = 0; i < n; ++i, packed += first + second, whole += f.extent) {
        std::memcpy(whole, packed, first);
        std::memcpy(whole + f.second_at, packed + first, second);
    }
}
void gather(element_facts const& f, std::byte const* whole, std::byte* packed, std::size_t n) noexcept {
    std::size_t const first = facts(f.first).size, second = facts(f.second).size;
    for (std::size_t i = 0; i < n; ++i, packed += first + second, whole += f.extent) {
        std::memcpy(packed, whole, first);
        std::memcpy(packed + first, whole + f.second_at, second);
    }
}

/// packed = packed op operand, for n elements.
void combine_packed(element_action const& a, std::byte const* operand, std::byte* packed, std::size_t n) {
    auto const& f = facts(a.kind());
    if (a.what() == operation::no_op) return;
    if (!f.is_pair()) return a.function()(operand, packed, n);
    std::vector<std::byte> left(n * f.extent), right(n * f.extent);
    spread(f, operand, left.data(), n);
    spread(f, packed, right.data(), n);
    a.function()(left.data(), right.data(), n);
    gather(f, right.data(), packed, n);
}

/// Elements without gaps, by who alone is at them.
void combine_row(element_action const& a, memory_run const& run, std::byte const* operand, std::byte* old) {
    auto* const at = reinterpret_cast<std::byte*>(run.at);
    if (old) copy_bytes(old, at, run.bytes);
    if (a.what() != operation::no_op) a.function()(operand, at, run.bytes / a.size());
}

/// A short row of sums, without a call of the kernel. origin: 1024 rows of a double, 256 of three floats, AMD EPYC guest,
/// us: 6.6, 2.3, and so 4.1, 1.6
template <class Real> void add_row(memory_run const& run, std::byte const* operand) noexcept {
    auto* at = reinterpret_cast<std::byte*>(run.at);
    for (auto* const end = at + run.bytes; at < end; at += sizeof(Real), operand += sizeof(Real))
        store_to(at, static_cast<Real>(load_from<Real>(at) + load_from<Real>(operand)));
}

/// Where elements have no gaps a run has whole ones.
void combine_in_place(element_action const& a, std::span<memory_run const> runs, std::byte const* operand, std::byte* old,
                      lock_word<>& wide) {
    holding const alone{wide};
    for (auto const& r : runs) {
        combine_row(a, r, operand, old);
        if (operand) operand += r.bytes;
        if (old) old += r.bytes;
    }
}

void combine_wide(element_action const& a, std::span<memory_run const> runs, std::byte const* operand, std::byte* old,
                  lock_word<>& wide) {
    if (!facts(a.kind()).is_pair()) return combine_in_place(a, runs, operand, old, wide);
    std::size_t bytes = 0;
    for (auto const& r : runs) bytes += r.bytes;
    std::vector<std::byte> packed(bytes);
    holding const alone{wide};
    auto* p = packed.data();
    for (auto const& r : runs) copy_bytes(p, reinterpret_cast<std::byte const*>(r.at), r.bytes), p += r.bytes;
    if (old) copy_bytes(old, packed.data(), bytes);
    if (a.what() == operation::no_op) return;
    combine_packed(a, operand, packed.data(), bytes / a.size());
    p = packed.data();
    for (auto const& r : runs) copy_bytes(reinterpret_cast<std::byte*>(r.at), p, r.bytes), p += r.bytes;
}

template <class Real>
void add_rows(element_action const& a, std::span<memory_run const> runs, std::byte const* operand, lock_word<>& wide) {
    constexpr std::uint64_t most = 64; // bytes of a short one
    for (auto const& r : runs) {
        if (!is_aligned(r.at, a.whole())) combine_wide(a, {&r, 1}, operand, nullptr, wide);
        else if (r.bytes <= most) add_row<Real>(r, operand);
        else combine_row(a, r, operand, nullptr);
        operand += r.bytes;
    }
}

} // namespace

void combine(element_action const& a, std::span<memory_run const> runs, std::byte const* operand, std::byte* old,
             lock_word<>& wide) {
    if (a.whole() == 0) return combine_wide(a, runs, operand, old, wide);
    for (auto const& r : runs) {
        if (!is_aligned(r.at, a.whole())) combine_wide(a, {&r, 1}, operand, old, wide);
        else by_size(a.whole(), [&]<class Word>(Word) { change_run<Word>(a, r, operand, old); });
        if (operand) operand += r.bytes;
        if (old) old += r.bytes;
    }
}

void combine_rows(element_action const& a, std::span<memory_run const> runs, std::byte const* operand, std::byte* old,
                  lock_word<>& wide) {
    if (!old && a.what() == operation::sum) {
        switch (a.kind()) {
        case element_kind::c_float: return add_rows<float>(a, runs, operand, wide);
        case element_kind::c_double: return add_rows<double>(a, runs, operand, wide);
        default: break;
        }
    }
    for (auto const& r : runs) {
        if (is_aligned(r.at, a.whole())) combine_row(a, r, operand, old);
        else combine_wide(a, {&r, 1}, operand, old, wide);
        if (operand) operand += r.bytes;
        if (old) old += r.bytes;
    }
}

bool combine_one(operation what, element_kind kind, std::byte* at, std::byte const* operand, std::byte* old) noexcept {
    switch (singles[static_cast<std::size_t>(what)][static_cast<std::size_t>(kind)]) {
    case single::nothing: return false;
    case single::real4: return is_aligned_to<float>(at) && (add_real<float, std::uint32_t>(at, operand, old), true);
    case single::real8: return is_aligned_to<double>(at) && (add_real<double, std::uint64_t>(at, operand, old), true);
    case single::sum4: return change_single<operation::sum, std::uint32_t>(at, operand, old);
    case single::sum8: return change_single<operation::sum, std::uint64_t>(at, operand, old);
    case single::replace4: return change_single<operation::replace, std::uint32_t>(at, operand, old);
    case single::replace8: return change_single<operation::replace, std::uint64_t>(at, operand, old);
    case single::other4: return change_any<std::uint32_t>(what, at, operand, old);
    case single::other8: return change_any<std::uint64_t>(what, at, operand, old);
    }
    return false;
}

bool combine_one_locked(operation what, element_kind kind, std::byte* at, std::byte const* operand, std::byte* old,
                        lock_word<>& wide) noexcept {
    auto const sum = [](auto was, auto more) { return static_cast<decltype(was)>(was + more); };
    auto const other = [what](auto was, auto more) { return changed(what, was, more); };
    auto const how = singles[static_cast<std::size_t>(what)][static_cast<std::size_t>(kind)];
    if (what == operation::no_op && how != single::nothing) return read_held(facts(kind).size, wide, at, old);
    switch (how) {
    case single::nothing: return false;
    case single::real4: return change_held<float>(wide, at, operand, old, sum);
    case single::real8: return change_held<double>(wide, at, operand, old, sum);
    case single::sum4: return change_held<std::uint32_t>(wide, at, operand, old, sum);
    case single::sum8: return change_held<std::uint64_t>(wide, at, operand, old, sum);
    case single::replace4:
    case single::other4: return change_held<std::uint32_t>(wide, at, operand, old, other);
    case single::replace8:
    case single::other8: return change_held<std::uint64_t>(wide, at, operand, old, other);
    }
    return false;
}

bool swap_one(std::size_t size, std::byte* at, std::byte const* expected, std::byte const* desired, std::byte* old) noexcept {
    if ((size != 2 && size != 4 && size != 8) || !is_aligned(reinterpret_cast<std::uintptr_t>(at), size)) return false;
    by_size(size, [&]<class Word>(Word) { swap_where<Word>(at, expected, desired, old); });
    return true;
}

void compare_and_swap(std::size_t size, std::byte* at, std::byte const* expected, std::byte const* desired, std::byte* old,
                      lock_word<>& wide, bool locked) {
    if (!locked && swap_one(size, at, expected, desired, old)) return;
    holding const alone{wide};
    bool const equal = std::memcmp(at, expected, size) == 0;
    std::memcpy(old, at, size);
    if (equal) std::memcpy(at, desired, size);
}

} // namespace mpt::inline v0::rma
