// Chapter 20: what the library says of its binary interface. Chapter 9: what it knows of the hardware.
#include <cstring>

#include <mpt/datatype/element.hpp>
#include <mpt/mpi/hardware.hpp>

#include "binding.hpp"
#include "entries.hpp"

namespace mpt::c {

namespace {

ref<info_object> empty() { return ref<info_object>::adopt(new info_object); }
MPI_Info publish(binding& b, ref<info_object> i) { return binding::publish<MPI_Info>(b.infos, std::move(i)); }

void tell_size(info& i, char const* key, std::size_t size) { i.set(key, std::to_string(size)); }

/// Types that a Fortran compiler need not have.
struct optional_type {
    char const* key;
    element_kind kind;
};
constexpr optional_type optional_types[] = {
    {"mpi_logical1_supported", element_kind::logical1},
    {"mpi_logical2_supported", element_kind::logical2},
    {"mpi_logical4_supported", element_kind::logical4},
    {"mpi_logical8_supported", element_kind::logical8},
    {"mpi_logical16_supported", element_kind::logical16},
    {"mpi_integer1_supported", element_kind::integer1},
    {"mpi_integer2_supported", element_kind::integer2},
    {"mpi_integer4_supported", element_kind::integer4},
    {"mpi_integer8_supported", element_kind::integer8},
    {"mpi_integer16_supported", element_kind::integer16},
    {"mpi_real2_supported", element_kind::real2},
    {"mpi_real4_supported", element_kind::real4},
    {"mpi_real8_supported", element_kind::real8},
    {"mpi_real16_supported", element_kind::real16},
    {"mpi_complex4_supported", element_kind::complex4},
    {"mpi_complex8_supported", element_kind::complex8},
    {"mpi_complex16_supported", element_kind::complex16},
    {"mpi_complex32_supported", element_kind::complex32},
    {"mpi_double_complex_supported", element_kind::double_complex},
};

std::size_t length_of(call& on, int logical_size) {
    for (int const s : {1, 2, 4, 8, 16})
        if (s == logical_size) return static_cast<std::size_t>(s);
    on.refuse(MPI_ERR_ARG, "logical_size", logical_size, "1, 2, 4, 8, 16");
}

} // namespace

namespace impl {

void Abi_get_info(call& on, MPI_Info& made) {
    auto i = empty();
    tell_size(i->hints, "mpi_aint_size", sizeof(MPI_Aint));
    tell_size(i->hints, "mpi_count_size", sizeof(MPI_Count));
    tell_size(i->hints, "mpi_offset_size", sizeof(MPI_Offset));
    made = publish(on.of(), std::move(i));
}

/// The sizes of Fortran's types are those of our datatypes, whatever the program's compiler would like.
void Abi_get_fortran_info(call& on, MPI_Info& made) {
    auto i = empty();
    tell_size(i->hints, "mpi_logical_size", facts(element_kind::logical).size);
    tell_size(i->hints, "mpi_integer_size", facts(element_kind::integer).size);
    tell_size(i->hints, "mpi_real_size", facts(element_kind::real).size);
    tell_size(i->hints, "mpi_double_precision_size", facts(element_kind::double_precision).size);
    for (auto const& [key, kind] : optional_types) i->hints.set(key, facts(kind).size > 0 ? "true" : "false");
    made = publish(on.of(), std::move(i));
}
void Abi_set_fortran_info(call& on, info_object&) {
    on.fail(MPI_ERR_ABI, "the sizes of Fortran's types are set already (MPI_Abi_get_fortran_info tells them)");
}

void Abi_set_fortran_booleans(call& on, int size, void* yes, void* no) {
    auto const n = length_of(on, size);
    auto& b = on.of();
    std::lock_guard const g{b.changing};
    if (b.booleans)
        on.fail(MPI_ERR_ABI, "Fortran's booleans are set already, of " + std::to_string(b.booleans->size) + " bytes");
    b.booleans.emplace(fortran_booleans{size});
    std::memcpy(b.booleans->yes.data(), yes, n);
    std::memcpy(b.booleans->no.data(), no, n);
}
void Abi_get_fortran_booleans(call& on, int size, void* yes, void* no, int& is_set) {
    auto const n = length_of(on, size);
    auto& b = on.of();
    std::lock_guard const g{b.changing};
    is_set = b.booleans && b.booleans->size == size;
    if (!is_set) return;
    std::memcpy(yes, b.booleans->yes.data(), n);
    std::memcpy(no, b.booleans->no.data(), n);
}

/// Sorts of hardware that the system tells of: does the calling thread run on one instance alone?
void Get_hw_resource_info(call& on, MPI_Info& made) {
    auto known = empty();
    auto const mine = own_cpus();
    for (auto const sort : hardware_sorts)
        if (!mine.empty() && !cpus_beside(sort, mine.front()).empty())
            known->hints.set("hwloc://" + std::string{sort}, hardware_instance(sort, mine) ? "true" : "false");
    made = publish(on.of(), std::move(known));
}

} // namespace impl
} // namespace mpt::c
