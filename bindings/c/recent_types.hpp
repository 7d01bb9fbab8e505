/// recent_types - the datatypes that calls of a few numbers made lately: the same call again gives the same datatype.
///
///        MPI_Type_vector(8, 1, 4, old) ----> its place, by the numbers ----> the same call?  yes: that datatype, tree and layout
///                                                                                            no: a new one, which takes the place
///
///   A datatype never changes, so what is new is the object behind the handle alone, with its name, attributes and commit. Programs that make
///   a type, use it once and free it pay for its tree and its layout the first time.
///   origin: MPI_Type_vector, commit and free, AMD EPYC, Zen 4: 172 ns and 2512 instructions, so 68 and 982
///
///   Kept     only what is small: of a predefined type, or of a type that one such call made of a predefined one. Lists of any length lie
///            in none of them, so what stays after it was freed is some hundred bytes a place.
///   Threads  any, at once.
///   Tests    test/c/datatypes_test.cpp
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <utility>

#include <mpt/datatype/datatype.hpp>

#include "handles.hpp"

namespace mpt::c {

/// A constructor that takes a type and up to three numbers.
struct type_call {
    combiner made_by = combiner::named;
    count_form form = count_form::small;
    std::array<std::int64_t, 3> numbers{};
    friend bool operator==(type_call const&, type_call const&) = default;
};

class recent_types {
    struct place {
        type_call call;
        datatype old, made;
    };
    static constexpr unsigned most_bits = 5;

    short_lock changing_;
    std::array<place, 1 << most_bits> places_;

public:
    /// make(): the datatype that the call gives, which is called without a lock, and may throw.
    template <class Make> datatype made_by(type_call const& c, datatype const& old, Make&& make) {
        if (!is_small(old)) return make();
        auto& p = places_[number_of(c, old)];
        {
            std::lock_guard const g{changing_};
            if (p.call == c && p.old == old) return p.made;
        }
        datatype const made = make();
        place now{c, old, made};
        std::lock_guard const g{changing_}; // `now` goes after it
        std::swap(p, now);
        return made;
    }

private:
    static bool is_of_few_numbers(datatype const& t) noexcept {
        auto const by = t.contents().made_by;
        return by == combiner::contiguous || by == combiner::vector || by == combiner::hvector || by == combiner::resized;
    }
    static bool is_small(datatype const& old) noexcept {
        return old.is_predefined() || (is_of_few_numbers(old) && old.contents().types[0].is_predefined());
    }
    static std::size_t number_of(type_call const& c, datatype const& old) noexcept {
        constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
        auto all = reinterpret_cast<std::uintptr_t>(&old.node()) + static_cast<std::uint64_t>(c.made_by);
        for (auto const n : c.numbers) all = (all ^ static_cast<std::uint64_t>(n)) * odd;
        return all >> (64 - most_bits);
    }
};

} // namespace mpt::c
