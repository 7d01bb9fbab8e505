/// parts - the parts of a buffer that a collective hands out or gets, one for each rank, as the algorithms take them.
///
///        even     count elements each, side by side                     MPI_Gather
///        listed   counts[r] elements, displs[r] extents from the start  MPI_Gatherv
///        typed    counts[r] of types[r], displs[r] bytes from the start MPI_Alltoallw
///
///   Memory   none where data are in one piece; else the layout of each part that was asked for, until the collective ends.
///   Tests    test/c/collectives_test.cpp    Source MPI-4.1 chapter 6.
#pragma once
#include <array>

#include <mpt/coll/pieces.hpp>

#include "transfer.hpp"

namespace mpt::c {

/// Elements of a datatype in memory.
struct part {
    void* at = nullptr;
    MPI_Count count = 0;
    datatype const* type = nullptr;

    part(void const* buffer, std::int64_t displacement, MPI_Count n, datatype const& t) noexcept
        : at{reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(displacement))},
          count{n}, type{&t} {}

    /// Do two parts begin with the same byte?
    bool starts_like(part const& o) const noexcept {
        if (count == 0 || o.count == 0 || type->size() == 0 || o.type->size() == 0) return false;
        return start() == o.start();
    }

private:
    std::uintptr_t start() const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(type->true_lower_bound());
    }
};

/// One part as a source and a sink, which refer to a layout of it.
class moved_part {
    moved_data out_, in_;

public:
    coll::place make(part const& p) { return {out_.out(p.at, p.count, *p.type), in_.in(p.at, p.count, *p.type)}; }
};

/// Where a rank's part is. same_size: the parts of all ranks have one size, on all ranks.
struct even {
    static constexpr bool same_size = true;
    void const* buffer;
    MPI_Count count;
    datatype_object const* type;
    part operator()(std::int32_t r) const noexcept { return {buffer, r * count * type->type.extent(), count, type->type}; }
};
struct listed {
    static constexpr bool same_size = false;
    void const* buffer;
    numbers counts, places;
    datatype_object const* type;
    part operator()(std::int32_t r) const noexcept { return {buffer, places[r] * type->type.extent(), counts[r], type->type}; }
};
struct typed {
    static constexpr bool same_size = false;
    void const* buffer;
    numbers counts, places;
    MPI_Datatype const* types; // they live; or are null where there are none
    handle_table<datatype_object> const& table;
    int how_many;
    datatype_object& type(std::int32_t r) const noexcept {
        return table.get(types[r] == MPI_DATATYPE_NULL ? MPI_BYTE : types[r]);
    }
    part operator()(std::int32_t r) const noexcept { return {buffer, places[r], counts[r], type(r).type}; }
};

/// The parts of all ranks, or neighbours.
template <class Where> class parts {
    Where where_;
    std::size_t how_many_;
    mutable std::vector<moved_part> layouts_;

public:
    static constexpr bool same_size = Where::same_size;

    parts(std::size_t how_many, Where where) : where_{where}, how_many_{how_many} {}
    parts(comm const& c, Where where) : parts{static_cast<std::size_t>(c.peers()), where} {}

    part where(std::int32_t r) const { return where_(r); }
    coll::place operator()(std::int32_t r) const {
        auto const p = where_(r);
        if (auto const run = p.type->contiguous_run(p.count)) [[likely]] {
            auto* const data = const_cast<std::byte*>(moved_data::at(p.at, *run));
            return coll::place{std::span{data, static_cast<std::size_t>(run->bytes)}};
        }
        if (layouts_.empty()) layouts_.resize(how_many_);
        return layouts_[static_cast<std::size_t>(r)].make(p);
    }
};

} // namespace mpt::c
