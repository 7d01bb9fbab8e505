/// core/text - a string that can be a template argument: get<"MPT_SPIN">().
///
///   Structural (public array, no pointers), so that two equal texts name the same instantiation wherever they are written.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mpt::inline v0 {

template <std::size_t N> struct text {
    char characters[N]{}; // with the closing zero of the literal

    consteval text(char const (&literal)[N]) { std::copy_n(literal, N, characters); }

    constexpr std::string_view view() const noexcept { return {characters, N - 1}; }
    constexpr operator std::string_view() const noexcept { return view(); }
    static constexpr std::size_t size() noexcept { return N - 1; }

    template <std::size_t M> friend constexpr bool operator==(text const& a, text<M> const& b) noexcept {
        return a.view() == b.view();
    }
};

} // namespace mpt::inline v0
