// Chapters 3 and 5: what a status holds.
#include "binding.hpp"
#include "entries.hpp"
#include "status.hpp"

namespace mpt::c {

namespace {

constexpr MPI_Count undefined = MPI_UNDEFINED;

/// How many packed bytes `elements` basic elements of a type take: the least number that holds so many.
std::int64_t bytes_of(datatype const& t, std::int64_t elements) {
    if (elements == 0 || t.elements() == 0) return 0;
    auto const whole = elements / t.elements() * t.size();
    auto const rest = elements % t.elements();
    std::int64_t low = 0, high = t.size();
    while (low < high) { // elements_in grows with the bytes
        auto const middle = low + (high - low) / 2;
        if (t.elements_in(middle).elements >= rest) high = middle;
        else low = middle + 1;
    }
    return whole + low;
}

} // namespace

namespace impl {

void Get_count(call&, MPI_Status const* s, datatype_object& t, MPI_Count& count) {
    auto const n = c::bytes_of(*s);
    auto const size = t.type.size();
    count = size == 0 ? (n == 0 ? 0 : c::undefined) : n % size == 0 ? n / size : c::undefined;
}
void Get_elements(call&, MPI_Status const* s, datatype_object& t, MPI_Count& count) {
    auto const found = t.type.elements_in(c::bytes_of(*s));
    count = found.rest == 0 ? found.elements : c::undefined;
}
void Get_elements_x(call& on, MPI_Status const* s, datatype_object& t, MPI_Count& count) { Get_elements(on, s, t, count); }
void Status_set_elements(call&, MPI_Status* s, datatype_object& t, MPI_Count count) { set_bytes(*s, bytes_of(t.type, count)); }
void Status_set_elements_x(call& on, MPI_Status* s, datatype_object& t, MPI_Count count) { Status_set_elements(on, s, t, count); }

void Test_cancelled(call&, MPI_Status const* s, int& flag) { flag = is_cancelled(*s); }
void Status_set_cancelled(call&, MPI_Status* s, int flag) { set_cancelled(*s, flag != 0); }
void Status_get_error(call&, MPI_Status const* s, int& error) { error = s->MPI_ERROR; }
void Status_get_source(call&, MPI_Status const* s, int& source) { source = s->MPI_SOURCE; }
void Status_get_tag(call&, MPI_Status const* s, int& tag) { tag = s->MPI_TAG; }
void Status_set_error(call&, MPI_Status* s, int error) { s->MPI_ERROR = error; }
void Status_set_source(call&, MPI_Status* s, int source) { s->MPI_SOURCE = source; }
void Status_set_tag(call&, MPI_Status* s, int tag) { s->MPI_TAG = tag; }

} // namespace impl
} // namespace mpt::c
