// Section 5.2 and 5.3: data packed by hand, as they lie in messages and in external32; addresses.
#include <string_view>

#include <mpt/datatype/external32.hpp>

#include "binding.hpp"
#include "entries.hpp"
#include "transfer.hpp"

namespace mpt::c {

namespace {

/// How many bytes `count` elements take; MPI_UNDEFINED: more than 63 bits can tell.
MPI_Count bytes_of(MPI_Count count, MPI_Count each) {
    MPI_Count all = 0;
    return __builtin_mul_overflow(count, each, &all) ? MPI_Count{MPI_UNDEFINED} : all;
}

/// The part of a packed buffer from `position` on that `count` elements take.
std::span<std::byte> part(call const& on, void const* buffer, MPI_Count size, MPI_Count position, MPI_Count count,
                          MPI_Count each, char const* argument) {
    auto const wanted = bytes_of(count, each);
    if (position > size || wanted < 0 || wanted > size - position)
        on.fail(MPI_ERR_TRUNCATE, std::string{argument} + " has " + std::to_string(size) + " bytes; from position " +
                                      std::to_string(position) + " on there is no room for " + std::to_string(count) +
                                      " elements of " + std::to_string(each) + " bytes");
    return {static_cast<std::byte*>(const_cast<void*>(buffer)) + position, static_cast<std::size_t>(wanted)};
}

void check_representation(call const& on, std::string_view name) {
    if (name != "external32") on.fail(MPI_ERR_ARG, "datarep is \"" + std::string{name} + "\"; allowed: \"external32\"");
}

} // namespace

namespace impl {

void Get_address(call&, void const* location, MPI_Aint& address) { address = reinterpret_cast<MPI_Aint>(location); }

void Pack(call& on, void const* in, MPI_Count n, datatype_object& t, void* out, MPI_Count size, MPI_Count& position, comm&) {
    auto const room = part(on, out, size, position, n, t.type.size(), "outbuf");
    moved_data layout;
    layout.out(in, n, t.type).read(0, room);
    position += static_cast<MPI_Count>(room.size());
}
void Unpack(call& on, void const* in, MPI_Count size, MPI_Count& position, void* out, MPI_Count n, datatype_object& t, comm&) {
    auto const data = part(on, in, size, position, n, t.type.size(), "inbuf");
    moved_data layout;
    layout.in(out, n, t.type).write(0, data);
    position += static_cast<MPI_Count>(data.size());
}
void Pack_size(call&, MPI_Count n, datatype_object& t, comm&, MPI_Count& size) { size = bytes_of(n, t.type.size()); }

void Pack_external(call& on, char const* name, void const* in, MPI_Count n, datatype_object& t, void* out, MPI_Count size,
                   MPI_Count& position) {
    check_representation(on, name);
    auto const room = part(on, out, size, position, n, t.type.external_size(), "outbuf");
    pack_external32(in, n, t.type, room);
    position += static_cast<MPI_Count>(room.size());
}
void Unpack_external(call& on, char const* name, void const* in, MPI_Count size, MPI_Count& position, void* out, MPI_Count n,
                     datatype_object& t) {
    check_representation(on, name);
    auto const data = part(on, in, size, position, n, t.type.external_size(), "inbuf");
    unpack_external32(data, out, n, t.type);
    position += static_cast<MPI_Count>(data.size());
}
void Pack_external_size(call& on, char const* name, MPI_Count n, datatype_object& t, MPI_Count& size) {
    check_representation(on, name);
    size = bytes_of(n, t.type.external_size());
}

} // namespace impl
} // namespace mpt::c
