/// shmem/compare - waiting for what other PEs write into this PE's memory, and looking whether they have. OpenSHMEM-1.6 section 9.11.
///
///        one       wait_until(m, own, comparison::ge, 3)        test(own, comparison::ge, 3)
///        many      _all, _any, _some, each of all against one value, or, with values, each against its own
///
///   What waits is a memory, or anything else with await(come): a thing that returns when come() is true (bindings/c/shmem/bodies.hpp).
///   Elements that `skip` names (its entry is not 0) do not count; null: all count. Where none counts, there is nothing to wait for:
///   _any gives none_fits, _some 0, _all is true.
///   Of several that fit _any gives the first, from where its look begins and round. Calls that are to come to each of them begin
///   at another place each time: turns, one a thread, gives such places.      turns mine;    test_any(w, mine.next())
///
///   Cost     a load that acquires, and a compare; see memory::await for what happens when there is nothing yet.
///   Tests    test/shmem_compare_test.cpp
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <mpt/core/atomics.hpp>

namespace mpt::inline v0::shmem {

/// The numbers are those of SHMEM_CMP_EQ and so on.
enum class comparison : std::uint8_t { eq, ne, gt, le, lt, ge };

inline constexpr std::size_t none_fits = static_cast<std::size_t>(-1);

/// What an element of this PE's own is, now.
template <class T> T now(T const* own) noexcept {
    return native_atomics::atomic_ref<T>{const_cast<T&>(*own)}.load(std::memory_order_acquire); // sync(shmem.word): acquire
}

template <std::integral T> constexpr bool holds(T seen, comparison how, T value) noexcept {
    switch (how) {
    case comparison::eq: return seen == value;
    case comparison::ne: return seen != value;
    case comparison::gt: return seen > value;
    case comparison::le: return seen <= value;
    case comparison::lt: return seen < value;
    case comparison::ge: return seen >= value;
    }
    return false;
}

/// Places to begin at, in parts of 2^64 of the elements: steps of the golden section, so that no rhythm of calls for one set of
/// elements and another keeps looks away from any of them.
class turns {
    std::uint64_t at_ = 0;

public:
    std::uint64_t next() noexcept { return at_ += 0x9e37'79b9'7f4a'7c15; }
};

/// n elements of this PE's own, and what they are compared with.
template <std::integral T> class watched {
    T const* own_;
    std::size_t n_;
    int const* skip_;
    comparison how_;
    T const* values_; // as many, or
    T value_ = {};    // one for all

public:
    watched(T const* own, std::size_t n, int const* skip, comparison how, T value) noexcept
        : own_{own}, n_{n}, skip_{skip}, how_{how}, values_{nullptr}, value_{value} {}
    watched(T const* own, std::size_t n, int const* skip, comparison how, T const* values) noexcept
        : own_{own}, n_{n}, skip_{skip}, how_{how}, values_{values} {}

    std::size_t size() const noexcept { return n_; }
    bool counts(std::size_t i) const noexcept { return !skip_ || skip_[i] == 0; }
    bool fits(std::size_t i) const noexcept { return holds(now(own_ + i), how_, values_ ? values_[i] : value_); }
    bool any_counts() const noexcept {
        for (std::size_t i = 0; i < n_; ++i)
            if (counts(i)) return true;
        return false;
    }
    /// The first that counts and fits, of those before `to`.
    std::size_t first(std::size_t from, std::size_t to) const noexcept {
        for (; from < to; ++from)
            if (counts(from) && fits(from)) return from;
        return none_fits;
    }
    std::size_t first(std::size_t from = 0) const noexcept { return first(from, n_); }
    /// The same from there on and round.
    std::size_t first_round(std::uint64_t turn) const noexcept {
        auto const from = static_cast<std::size_t>((turn >> 32) * n_ >> 32);
        auto const found = first(from, n_);
        return found != none_fits ? found : first(0, from);
    }
};

// --- one element ----------------------------------------------------------------------------------------------------------------------
template <std::integral T> bool test(T const* own, comparison how, T value) noexcept {
    return watched<T>{own, 1, nullptr, how, value}.fits(0);
}
template <class Waiter, std::integral T> void wait_until(Waiter&& m, T const* own, comparison how, T value) {
    m.await([&] { return test(own, how, value); });
}
/// What the signal was that fits.
template <class Waiter>
std::uint64_t signal_wait_until(Waiter&& m, std::uint64_t const* signal, comparison how, std::uint64_t value) {
    std::uint64_t seen = 0;
    m.await([&] { return holds(seen = now(signal), how, value); });
    return seen;
}

// --- many -------------------------------------------------------------------------------------------------------------------------------
template <std::integral T> bool test_all(watched<T> const& w) noexcept {
    for (std::size_t i = 0; i < w.size(); ++i)
        if (w.counts(i) && !w.fits(i)) return false;
    return true;
}
/// Which one fits; none_fits.
template <std::integral T> std::size_t test_any(watched<T> const& w, std::uint64_t turn = 0) noexcept {
    return w.first_round(turn);
}
/// How many fit, and which.
template <std::integral T> std::size_t test_some(watched<T> const& w, std::size_t* which) noexcept {
    std::size_t n = 0;
    for (auto i = w.first(); i != none_fits; i = w.first(i + 1)) which[n++] = i;
    return n;
}

template <class Waiter, std::integral T> void wait_until_all(Waiter&& m, watched<T> const& w) {
    for (std::size_t i = 0; i < w.size(); ++i)
        if (w.counts(i)) m.await([&] { return w.fits(i); });
}
template <class Waiter, std::integral T> std::size_t wait_until_any(Waiter&& m, watched<T> const& w, std::uint64_t turn = 0) {
    auto found = none_fits;
    if (w.any_counts()) m.await([&] { return (found = w.first_round(turn)) != none_fits; });
    return found;
}
template <class Waiter, std::integral T> std::size_t wait_until_some(Waiter&& m, watched<T> const& w, std::size_t* which) {
    std::size_t n = 0;
    if (w.any_counts()) m.await([&] { return (n = test_some(w, which)) != 0; });
    return n;
}

} // namespace mpt::inline v0::shmem
