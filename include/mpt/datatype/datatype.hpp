/// datatype/datatype - MPI's datatypes: what lies where, as a shared value that never changes.
///
///   A type is a list of (displacement, basic element), too long to be written down; it is kept as the tree of constructors that
///   made it. What is asked often (size, bounds, whether it is one run) is computed when it is made.
///
///        lower_bound      true_lower_bound             true upper bound   upper bound
///        |                |                                           |   |
///        v                v                                           v   v
///        .----------------[int]-----[double]----[int]------------[char]---.     resized() sets the outer two
///        '------------------------- extent -------------------------------'
///
///   Bounds are those of the standard's text. Where nothing was resized, the upper bound is rounded up so that the extent is a
///   multiple of the strictest alignment among the elements; where anything inside was resized, its bounds alone count.
///   A part without elements (a block of length 0) takes no part in any of this.
///
///   Cost    a copy counts a reference; of a named type nothing is counted. layout() is built once, by whoever asks first.
///   Limit   sizes and displacements have 63 bits, and what exceeds them is an error. Trees are walked recursively.
///   Tests   test/datatype_datatype_test.cpp: random types against their typemap by the text of the standard.
///   Source  MPI-4.1 section 5.1.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <mpt/datatype/contents.hpp>
#include <mpt/datatype/element.hpp>

namespace mpt::inline v0 {

namespace detail {
struct type_node;
struct step;

/// What is known of a type without walking its tree.
struct type_facts {
    std::int64_t size = 0, elements = 0, external = 0; // packed bytes, basic elements, bytes in external32
    std::int64_t lower = 0, upper = 0;                 // bounds
    std::int64_t true_lower = 0, true_upper = 0;       // of the data
    std::uint64_t signature = 0;                       // of the sequence of basic elements
    element_kind element = element_kind::mixed;
    element_kind named = element_kind::mixed; // mixed: derived
    bool one_run = true;                      // the packed order is the order in memory, without a hole
};
} // namespace detail

/// Where the data of a number of elements is, if it is in one piece: bytes from the buffer's address.
struct data_run {
    std::int64_t offset = 0, bytes = 0;
    friend bool operator==(data_run const&, data_run const&) = default;
};

/// The sequence of basic elements: a match is all but certain where both numbers are the same.
struct type_signature {
    std::int64_t elements = 0;
    std::uint64_t hash = 0;
    friend bool operator==(type_signature const&, type_signature const&) = default;
};

/// Basic elements in a number of packed bytes: whole ones, and the bytes of one that was cut.
struct element_count {
    std::int64_t elements = 0, rest = 0;
    friend bool operator==(element_count const&, element_count const&) = default;
};

class datatype {
    std::shared_ptr<detail::type_facts const> facts_; // the base of a type_node

    explicit datatype(std::shared_ptr<detail::type_facts const> facts) noexcept : facts_{std::move(facts)} {}
    friend struct detail::type_node;

public:
    using values = std::span<std::int64_t const>;

    /// No datatype: to be assigned to, and asked whether it is one.
    datatype() = default;
    explicit operator bool() const noexcept { return facts_ != nullptr; }

    static datatype named(element_kind k) noexcept;
    /// Fortran's types by precision and range: like the named type of that kind, but made by a call (f90_real, f90_complex: p, r;
    /// f90_integer: r). The integers are what the contents tell.
    static datatype selected(element_kind k, combiner made_by, values integers);
    /// A value and its index, as MINLOC and MAXLOC want them: the named pair, or a new one laid out as a C struct.
    static datatype value_index(element_kind value, element_kind index);

    static datatype dup(datatype const& old);
    static datatype contiguous(std::int64_t count, datatype const& old, count_form f = count_form::large);
    static datatype vector(std::int64_t count, std::int64_t length, std::int64_t stride, datatype const& old,
                           count_form f = count_form::large);
    static datatype hvector(std::int64_t count, std::int64_t length, std::int64_t stride, datatype const& old,
                            count_form f = count_form::large);
    static datatype indexed(values lengths, values displacements, datatype const& old, count_form f = count_form::large);
    static datatype hindexed(values lengths, values displacements, datatype const& old, count_form f = count_form::large);
    static datatype indexed_block(std::int64_t length, values displacements, datatype const& old,
                                  count_form f = count_form::large);
    static datatype hindexed_block(std::int64_t length, values displacements, datatype const& old,
                                   count_form f = count_form::large);
    static datatype structure(values lengths, values displacements, std::span<datatype const> types,
                              count_form f = count_form::large);
    static datatype resized(datatype const& old, std::int64_t lower, std::int64_t extent, count_form f = count_form::large);
    static datatype subarray(values sizes, values subsizes, values starts, array_order order, datatype const& old,
                             count_form f = count_form::large);
    /// The part of process `rank` of `processes`, which stand in a grid in C's order, whatever the array's order is.
    static datatype darray(std::int64_t processes, std::int64_t rank, values sizes, std::span<distribution const> how,
                           values arguments, values grid, array_order order, datatype const& old,
                           count_form f = count_form::large);

    std::int64_t size() const noexcept { return facts_->size; }
    std::int64_t lower_bound() const noexcept { return facts_->lower; }
    std::int64_t upper_bound() const noexcept { return facts_->upper; }
    std::int64_t extent() const noexcept { return facts_->upper - facts_->lower; }
    std::int64_t true_lower_bound() const noexcept { return facts_->true_lower; }
    std::int64_t true_extent() const noexcept { return facts_->true_upper - facts_->true_lower; }
    /// How many basic elements there are: a complex number is one, a pair is two.
    std::int64_t elements() const noexcept { return facts_->elements; }
    /// The kind of all elements where those of one of this type are an array of it; else mixed.
    element_kind element() const noexcept { return facts_->element; }
    bool is_predefined() const noexcept { return facts_->named != element_kind::mixed; }
    /// Bytes in external32.
    std::int64_t external_size() const noexcept { return facts_->external; }

    std::optional<data_run> contiguous_run(std::int64_t count) const noexcept {
        if (count <= 0 || size() == 0) return data_run{};
        std::int64_t bytes = 0;
        if (!facts_->one_run || (count > 1 && extent() != size())) return std::nullopt;
        if (__builtin_mul_overflow(count, size(), &bytes)) return std::nullopt;
        return data_run{facts_->true_lower, bytes};
    }
    bool is_contiguous(std::int64_t count) const noexcept { return contiguous_run(count).has_value(); }

    type_signature signature(std::int64_t count) const noexcept;
    /// The basic elements in the first `bytes` packed bytes of any number of this type.
    element_count elements_in(std::int64_t bytes) const noexcept;
    /// How it was made. Of a named type: nothing but that.
    datatype_contents const& contents() const noexcept;

    /// Builds the layout now. Whoever moves data of the type does so by itself.
    void commit() const { layout(); }
    detail::step const& layout() const;
    /// Null: nobody has built it yet.
    detail::step const* built_layout() const noexcept;
    /// For the engine (src/core): the tree.
    detail::type_node const& node() const noexcept;

    /// The same type, not an equal one.
    friend bool operator==(datatype const& a, datatype const& b) noexcept { return a.facts_ == b.facts_; }
};

struct datatype_contents {
    combiner made_by = combiner::named;
    count_form form = count_form::small;
    std::vector<std::int64_t> integers{}, addresses{}, counts{};
    std::vector<datatype> types{};
};

/// Whether the data of `n` elements of a and `m` of b are the same sequence of basic elements.
inline bool same_signature(datatype const& a, std::int64_t n, datatype const& b, std::int64_t m) noexcept {
    return a.signature(n) == b.signature(m);
}

} // namespace mpt::inline v0
