// Checks of data: a buffer, how many elements, of which type.
#include "binding.hpp"

namespace mpt::c {

namespace {

/// Can the displacements of the type be addresses? Nothing is mapped below the first 64 KiB (vm.mmap_min_addr).
bool is_absolute(datatype const& t) noexcept { return t.true_lower_bound() >= 65536; }

// Never inlined: a call whose data are good pays for no text.
[[noreturn, gnu::noinline, gnu::cold]] void refuse_in_place(call const& on, char const* argument) {
    on.fail(MPI_ERR_BUFFER, std::string{argument} + " is MPI_IN_PLACE, which is not allowed here");
}
[[noreturn, gnu::noinline, gnu::cold]] void refuse_null(call const& on, std::int64_t count, datatype_object const& t,
                                                        char const* argument) {
    auto const name = name_of(on.of(), t.name);
    on.fail(MPI_ERR_BUFFER, std::string{argument} + " is a null pointer (MPI_BOTTOM), and should hold " +
                                std::to_string(count) + " elements of " +
                                (name.empty() ? "a datatype whose displacements are no addresses" : name));
}
[[noreturn, gnu::noinline, gnu::cold]] void refuse_uncommitted(call const& on, char const* argument) {
    on.fail(MPI_ERR_TYPE, std::string{argument} + " is not committed (MPI_Type_commit)");
}

} // namespace

void call::committed(datatype_object const& t, char const* argument) const {
    if (!t.committed) [[unlikely]]
        refuse_uncommitted(*this, argument);
}

void call::data(void const* p, std::int64_t count, datatype_object const& t, char const* argument) const {
    if (p == MPI_IN_PLACE) [[unlikely]]
        refuse_in_place(*this, argument);
    if (p != MPI_BOTTOM || count == 0 || t.type.size() == 0 || is_absolute(t.type)) [[likely]]
        return;
    refuse_null(*this, count, t, argument);
}

void call::data(void const* p, numbers counts, std::int64_t n, datatype_object const& t, char const* argument) const {
    std::int64_t all = 0;
    for (std::int64_t i = 0; i < n; ++i) all |= counts[i];
    data(p, all, t, argument);
}

} // namespace mpt::c
