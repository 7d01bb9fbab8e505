// The handles of the named datatypes, and the kinds that they stand for.
#include "binding.hpp"

namespace mpt::c {

namespace {

struct named_type {
    MPI_Datatype handle;
    element_kind kind;
};

named_type const named_types[] = {
    {MPI_AINT, element_kind::aint},
    {MPI_COUNT, element_kind::count},
    {MPI_OFFSET, element_kind::offset},
    {MPI_PACKED, element_kind::packed},
    {MPI_SHORT, element_kind::c_short},
    {MPI_INT, element_kind::c_int},
    {MPI_LONG, element_kind::c_long},
    {MPI_LONG_LONG, element_kind::c_long_long},
    {MPI_UNSIGNED_SHORT, element_kind::c_unsigned_short},
    {MPI_UNSIGNED, element_kind::c_unsigned},
    {MPI_UNSIGNED_LONG, element_kind::c_unsigned_long},
    {MPI_UNSIGNED_LONG_LONG, element_kind::c_unsigned_long_long},
    {MPI_FLOAT, element_kind::c_float},
    {MPI_C_FLOAT_COMPLEX, element_kind::c_float_complex},
    {MPI_CXX_FLOAT_COMPLEX, element_kind::cxx_float_complex},
    {MPI_DOUBLE, element_kind::c_double},
    {MPI_C_DOUBLE_COMPLEX, element_kind::c_double_complex},
    {MPI_CXX_DOUBLE_COMPLEX, element_kind::cxx_double_complex},
    {MPI_LOGICAL, element_kind::logical},
    {MPI_INTEGER, element_kind::integer},
    {MPI_REAL, element_kind::real},
    {MPI_COMPLEX, element_kind::complex},
    {MPI_DOUBLE_PRECISION, element_kind::double_precision},
    {MPI_DOUBLE_COMPLEX, element_kind::double_complex},
    {MPI_CHARACTER, element_kind::character},
    {MPI_LONG_DOUBLE, element_kind::c_long_double},
    {MPI_C_LONG_DOUBLE_COMPLEX, element_kind::c_long_double_complex},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, element_kind::cxx_long_double_complex},
    {MPI_FLOAT_INT, element_kind::float_int},
    {MPI_DOUBLE_INT, element_kind::double_int},
    {MPI_LONG_INT, element_kind::long_int},
    {MPI_2INT, element_kind::int_int},
    {MPI_SHORT_INT, element_kind::short_int},
    {MPI_LONG_DOUBLE_INT, element_kind::long_double_int},
    {MPI_2REAL, element_kind::two_real},
    {MPI_2DOUBLE_PRECISION, element_kind::two_double_precision},
    {MPI_2INTEGER, element_kind::two_integer},
    {MPI_C_BOOL, element_kind::c_bool},
    {MPI_CXX_BOOL, element_kind::cxx_bool},
    {MPI_WCHAR, element_kind::c_wchar},
    {MPI_INT8_T, element_kind::int8},
    {MPI_UINT8_T, element_kind::uint8},
    {MPI_CHAR, element_kind::c_char},
    {MPI_SIGNED_CHAR, element_kind::c_signed_char},
    {MPI_UNSIGNED_CHAR, element_kind::c_unsigned_char},
    {MPI_BYTE, element_kind::byte},
    {MPI_INT16_T, element_kind::int16},
    {MPI_UINT16_T, element_kind::uint16},
    {MPI_INT32_T, element_kind::int32},
    {MPI_UINT32_T, element_kind::uint32},
    {MPI_INT64_T, element_kind::int64},
    {MPI_UINT64_T, element_kind::uint64},
    {MPI_LOGICAL1, element_kind::logical1},
    {MPI_INTEGER1, element_kind::integer1},
    {MPI_LOGICAL2, element_kind::logical2},
    {MPI_INTEGER2, element_kind::integer2},
    {MPI_REAL2, element_kind::real2},
    {MPI_LOGICAL4, element_kind::logical4},
    {MPI_INTEGER4, element_kind::integer4},
    {MPI_REAL4, element_kind::real4},
    {MPI_COMPLEX4, element_kind::complex4},
    {MPI_LOGICAL8, element_kind::logical8},
    {MPI_INTEGER8, element_kind::integer8},
    {MPI_REAL8, element_kind::real8},
    {MPI_COMPLEX8, element_kind::complex8},
    {MPI_LOGICAL16, element_kind::logical16},
    {MPI_INTEGER16, element_kind::integer16},
    {MPI_REAL16, element_kind::real16},
    {MPI_COMPLEX16, element_kind::complex16},
    {MPI_COMPLEX32, element_kind::complex32},
};
static_assert(std::size(named_types) == element_kinds);

} // namespace

void predefine_datatypes(binding& b) {
    for (auto const [handle, kind] : named_types) {
        auto* const t = new datatype_object{datatype::named(kind)};
        t->committed = true;
        t->handle = handle;
        t->name = facts(kind).name;
        b.datatypes.predefine(word_of(handle), t);
    }
}

void forget_datatypes(binding& b) {
    for (auto const [handle, kind] : named_types) b.datatypes.get(handle).let_go();
}

} // namespace mpt::c
