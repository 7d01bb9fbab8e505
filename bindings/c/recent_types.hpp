/// recent_types - the datatypes that calls of a few numbers made lately: the same call again gives the same datatype.
///
///        MPI_Type_vector(8, 1, 4, old) ----> made lately?  yes: that datatype, tree and layout       an object of its own,
///                                                          no: a new one, which is kept              whichever it is
///
///   A datatype never changes, so what is new is the object behind the handle alone, with its name, attributes and commit. Programs that make
///   a type, use it once and free it pay for its tree and its layout the first time.
///   origin: MPI_Type_vector, commit and free, AMD EPYC, Zen 4: 172 ns and 2512 instructions, so 68 and 1020
///
///   Kept     only what is small: of a predefined type, or of a type that one such call made of a predefined one. Lists of any length lie
///            in none of them, so what stays after it was freed is some hundred bytes each.
///   Threads  any, at once.
///   Tests    test/c/datatypes_test.cpp
#pragma once
#include <array>
#include <cstdint>

#include <mpt/datatype/datatype.hpp>

#include "recent.hpp"

namespace mpt::c {

/// A constructor of a type, with up to three numbers.
struct type_call {
    combiner made_by = combiner::named;
    count_form form = count_form::small;
    std::array<std::int64_t, 3> numbers{};
    datatype old{};

    std::uint32_t mark() const noexcept {
        return mark_of<5>({reinterpret_cast<std::uintptr_t>(&old.node()), static_cast<std::uint64_t>(made_by),
                           static_cast<std::uint64_t>(numbers[0]), static_cast<std::uint64_t>(numbers[1]),
                           static_cast<std::uint64_t>(numbers[2])});
    }
    friend bool operator==(type_call const&, type_call const&) = default;
};

class recent_types {
    struct type {
        type_call call{};
        datatype made{};
    };
    recent<type> kept_;

public:
    /// make(): the datatype that the call gives; it may throw.
    template <class Make> datatype made_by(type_call const& c, Make&& make) {
        if (!is_small(c.old)) return make();
        auto const mark = c.mark();
        auto t = kept_.find(mark, [&c](type const& one) { return one.call == c; }).made;
        if (!t) kept_.keep(mark, {c, t = make()});
        return t;
    }

private:
    static bool is_of_few_numbers(datatype const& t) noexcept {
        auto const by = t.contents().made_by;
        return by == combiner::contiguous || by == combiner::vector || by == combiner::hvector || by == combiner::resized;
    }
    static bool is_small(datatype const& old) noexcept {
        return old.is_predefined() || (is_of_few_numbers(old) && old.contents().types[0].is_predefined());
    }
};

} // namespace mpt::c
