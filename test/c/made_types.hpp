// test/c/made_types - the engine's random types once more, by calls of the C interface.
#pragma once
#include "../support/room.hpp"
#include "ranks.hpp"

namespace mpt::c::test {

using ::test::numbers;

/// The arguments of the call that made a type, in their order.
class arguments {
    datatype_contents const& how_;
    std::size_t integer_ = 0, address_ = 0, count_ = 0;

    std::int64_t next(std::vector<std::int64_t> const& from, std::size_t& at) { return from.at(at++); }

public:
    explicit arguments(datatype_contents const& how) : how_{how} {}
    bool large() const { return how_.form == count_form::large; }
    int integer() { return static_cast<int>(next(how_.integers, integer_)); }
    MPI_Count count() { return large() ? next(how_.counts, count_) : integer(); }
    MPI_Aint address() { return large() ? next(how_.counts, count_) : next(how_.addresses, address_); }
    std::vector<MPI_Count> counts(MPI_Count n) {
        std::vector<MPI_Count> v;
        for (MPI_Count i = 0; i < n; ++i) v.push_back(count());
        return v;
    }
    std::vector<MPI_Aint> addresses(MPI_Count n) {
        std::vector<MPI_Aint> v;
        for (MPI_Count i = 0; i < n; ++i) v.push_back(address());
        return v;
    }
    std::vector<int> integers(MPI_Count n) {
        std::vector<int> v;
        for (MPI_Count i = 0; i < n; ++i) v.push_back(integer());
        return v;
    }
};

inline std::vector<int> small(std::vector<MPI_Count> const& v) { return {v.begin(), v.end()}; }
inline int small(MPI_Count n) { return static_cast<int>(n); }

inline MPI_Datatype made_lattice(datatype_contents const& how, MPI_Datatype old) {
    arguments a{how};
    MPI_Datatype t = MPI_DATATYPE_NULL;
    auto const n = a.count(), length = how.made_by == combiner::contiguous ? 0 : a.count();
    switch (how.made_by) {
    case combiner::contiguous: a.large() ? MPI_Type_contiguous_c(n, old, &t) : MPI_Type_contiguous(small(n), old, &t); break;
    case combiner::vector: {
        auto const stride = a.count();
        a.large() ? MPI_Type_vector_c(n, length, stride, old, &t)
                  : MPI_Type_vector(small(n), small(length), small(stride), old, &t);
        break;
    }
    default: {
        auto const stride = a.address();
        a.large() ? MPI_Type_create_hvector_c(n, length, stride, old, &t)
                  : MPI_Type_create_hvector(small(n), small(length), stride, old, &t);
    }
    }
    return t;
}

inline MPI_Datatype made_blocks(datatype_contents const& how, MPI_Datatype old) {
    arguments a{how};
    MPI_Datatype t = MPI_DATATYPE_NULL;
    auto const n = a.count();
    auto const lengths = a.counts(how.made_by == combiner::indexed || how.made_by == combiner::hindexed ? n : 1);
    auto const l = small(lengths);
    if (how.made_by == combiner::indexed || how.made_by == combiner::indexed_block) {
        auto const at = a.counts(n);
        if (how.made_by == combiner::indexed)
            a.large() ? MPI_Type_indexed_c(n, lengths.data(), at.data(), old, &t)
                      : MPI_Type_indexed(small(n), l.data(), small(at).data(), old, &t);
        else
            a.large() ? MPI_Type_create_indexed_block_c(n, lengths[0], at.data(), old, &t)
                      : MPI_Type_create_indexed_block(small(n), l[0], small(at).data(), old, &t);
        return t;
    }
    auto const at = a.addresses(n);
    if (how.made_by == combiner::hindexed)
        a.large() ? MPI_Type_create_hindexed_c(n, lengths.data(), at.data(), old, &t)
                  : MPI_Type_create_hindexed(small(n), l.data(), at.data(), old, &t);
    else
        a.large() ? MPI_Type_create_hindexed_block_c(n, lengths[0], at.data(), old, &t)
                  : MPI_Type_create_hindexed_block(small(n), l[0], at.data(), old, &t);
    return t;
}

inline MPI_Datatype made_struct(datatype_contents const& how, std::vector<MPI_Datatype> const& olds) {
    arguments a{how};
    MPI_Datatype t = MPI_DATATYPE_NULL;
    auto const n = a.count();
    auto const lengths = a.counts(n);
    auto const at = a.addresses(n);
    a.large() ? MPI_Type_create_struct_c(n, lengths.data(), at.data(), olds.data(), &t)
              : MPI_Type_create_struct(small(n), small(lengths).data(), at.data(), olds.data(), &t);
    return t;
}

inline MPI_Datatype made_array(datatype_contents const& how, MPI_Datatype old) {
    arguments a{how};
    MPI_Datatype t = MPI_DATATYPE_NULL;
    if (how.made_by == combiner::subarray) {
        auto const n = a.integer();
        auto const sizes = a.counts(n), part = a.counts(n), start = a.counts(n);
        auto const order = a.integer();
        a.large() ? MPI_Type_create_subarray_c(n, sizes.data(), part.data(), start.data(), order, old, &t)
                  : MPI_Type_create_subarray(n, small(sizes).data(), small(part).data(), small(start).data(), order, old, &t);
        return t;
    }
    auto const size = a.integer(), rank = a.integer(), n = a.integer();
    auto const sizes = a.counts(n);
    auto const dealt = a.integers(n), by = a.integers(n), grid = a.integers(n);
    auto const order = a.integer();
    a.large()
        ? MPI_Type_create_darray_c(size, rank, n, sizes.data(), dealt.data(), by.data(), grid.data(), order, old, &t)
        : MPI_Type_create_darray(size, rank, n, small(sizes).data(), dealt.data(), by.data(), grid.data(), order, old, &t);
    return t;
}

inline MPI_Datatype made_resized(datatype_contents const& how, MPI_Datatype old) {
    arguments a{how};
    MPI_Datatype t = MPI_DATATYPE_NULL;
    auto const lower = a.address(), extent = a.address();
    a.large() ? MPI_Type_create_resized_c(old, lower, extent, &t) : MPI_Type_create_resized(old, lower, extent, &t);
    return t;
}

/// A new handle, or a predefined one. What it is made of is freed at once: the type goes on.
inline MPI_Datatype made(datatype const& t) {
    auto const& how = t.contents();
    if (how.made_by == combiner::named) return named_handle(t.element());
    std::vector<MPI_Datatype> olds;
    for (auto const& old : how.types) olds.push_back(made(old));
    MPI_Datatype h = MPI_DATATYPE_NULL;
    switch (how.made_by) {
    case combiner::dup: MPI_Type_dup(olds[0], &h); break;
    case combiner::structure: h = made_struct(how, olds); break;
    case combiner::resized: h = made_resized(how, olds[0]); break;
    case combiner::contiguous:
    case combiner::vector:
    case combiner::hvector: h = made_lattice(how, olds[0]); break;
    case combiner::subarray:
    case combiner::darray: h = made_array(how, olds[0]); break;
    default: h = made_blocks(how, olds[0]);
    }
    for (std::size_t i = 0; i < olds.size(); ++i)
        if (!how.types[i].is_predefined()) { EXPECT_EQ(MPI_Type_free(&olds[i]), MPI_SUCCESS); }
    return h;
}

/// The same, ready for communication, for as long as this lives.
class committed_type {
    MPI_Datatype handle_;

public:
    explicit committed_type(datatype const& t) : handle_{made(t)} { EXPECT_EQ(MPI_Type_commit(&handle_), MPI_SUCCESS); }
    committed_type(committed_type const&) = delete;
    ~committed_type() {
        if (reinterpret_cast<std::uintptr_t>(handle_) >= first_number) MPI_Type_free(&handle_);
    }
    operator MPI_Datatype() const { return handle_; }
};

} // namespace mpt::c::test
