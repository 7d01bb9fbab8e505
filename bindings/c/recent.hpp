/// recent - what was made lately, by the mark of what it was made of: who wants the same again need not make it again.
///
///        find(mark, is_it)    a copy of the kept one that is it                 a datatype (recent_types.hpp)
///        take(mark, is_it)    the kept one that is it, which is kept no more    a collective that is over (collective_request.hpp)
///        keep(mark, it)       in a place that is free, else in that of the one that has been kept longest
///
///   Cost     a look at sixteen words in one line, and is_it() where a mark is the same; one locked instruction, and a copy in find().
///   Threads  any, at once. What loses its place goes after the lock.
///   Tests    test/c/recent_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <utility>

#include "handles.hpp"

namespace mpt::c {

/// Kept: empty by default. A mark is not 0, and tells most apart.
template <class Kept> class recent {
    static constexpr unsigned most = 16;

    short_lock changing_;
    std::uint16_t times_ = 0;                                     // that something was kept, modulo 2^16
    std::array<std::uint16_t, most> since_{};                     // as times_ was
    alignas(cache_line) std::array<std::uint32_t, most> marks_{}; // 0: the place is free
    std::array<Kept, most> kept_;

public:
    template <class Is> Kept find(std::uint32_t mark, Is const& is_it) {
        std::lock_guard const g{changing_};
        auto const at = place_of(mark, is_it);
        return at < most ? kept_[at] : Kept{};
    }
    template <class Is> Kept take(std::uint32_t mark, Is const& is_it) {
        std::lock_guard const g{changing_};
        auto const at = place_of(mark, is_it);
        if (at == most) return {};
        marks_[at] = 0;
        return std::move(kept_[at]);
    }
    void keep(std::uint32_t mark, Kept it) {
        std::lock_guard const g{changing_}; // `it` goes after it
        unsigned at = 0;
        while (at < most && marks_[at] != 0) ++at;
        if (at == most) at = longest_kept();
        marks_[at] = mark, since_[at] = ++times_;
        std::swap(kept_[at], it);
    }
    void clear() {
        for (unsigned at = 0; at < most; ++at) {
            Kept gone{};
            std::lock_guard const g{changing_};
            marks_[at] = 0;
            std::swap(kept_[at], gone);
        }
    }

private:
    unsigned longest_kept() const noexcept {
        auto const age = [this](std::uint16_t since) { return static_cast<std::uint16_t>(times_ - since); };
        return static_cast<unsigned>(std::ranges::max_element(since_, {}, age) - since_.begin());
    }
    /// most: there is none.
    template <class Is> unsigned place_of(std::uint32_t mark, Is const& is_it) const noexcept {
        unsigned at = 0;
        while (at < most && !(marks_[at] == mark && is_it(kept_[at]))) ++at;
        return at;
    }
};

/// The mark of words: no product waits for another.
template <std::size_t N> std::uint32_t mark_of(std::array<std::uint64_t, N> const& words) noexcept {
    std::uint64_t all = 0, odd = 0x9e3779b97f4a7c15;
    for (auto const w : words) all += w * odd, odd += 0x6a09e667f3bcc90a;
    return static_cast<std::uint32_t>((all ^ (all >> 29)) * 0x9e3779b97f4a7c15 >> 32) | 1;
}

} // namespace mpt::c
