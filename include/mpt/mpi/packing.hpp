/// mpi/packing - data of any datatype packed by hand, one after the other, as messages carry them or in external32.
///
///        std::vector<std::byte> box(mpt::pack_size(1, header) + mpt::pack_size(100, column));
///        std::size_t at = 0;
///        mpt::pack(&head, 1, header, box, at), mpt::pack(matrix, 100, column, box, at);        `at` moves on
///        world.send(std::span{box}.first(at), 1);
///        ...
///        std::size_t from = 0;
///        mpt::unpack(box, from, &head, 1, header), mpt::unpack(box, from, matrix, 100, column);
///
///   pack_external and its like: big-endian, sizes of the standard (datatype/external32.hpp). What was packed is a message of bytes.
///   Errors  mpi_error(error_class::truncate) where the rest of the box is too small, with the numbers; nothing has moved then.
///   Tests   test/mpi_packing_test.cpp    Source MPI-4.1 sections 5.2 and 5.3
#pragma once
#include <span>
#include <string>

#include <mpt/datatype/external32.hpp>
#include <mpt/datatype/typed.hpp>
#include <mpt/mpi/error_classes.hpp>

namespace mpt::inline v0 {

namespace detail {
/// Bytes of n elements of `each` bytes.
inline std::size_t packed_bytes(char const* call, std::int64_t n, std::int64_t each) {
    std::int64_t all = 0;
    if (n < 0 || __builtin_mul_overflow(n, each, &all))
        throw mpi_error{error_class::count, "mpt: " + std::string{call} + ": " + std::to_string(n) + " elements of " +
                                                std::to_string(each) + " bytes are no number of bytes"};
    return static_cast<std::size_t>(all);
}
/// The part of a box from `at` on that they take.
template <class Byte>
std::span<Byte> part_of_box(char const* call, std::span<Byte> box, std::size_t at, std::int64_t n, std::int64_t each) {
    auto const wanted = packed_bytes(call, n, each);
    if (at > box.size() || wanted > box.size() - at)
        throw mpi_error{error_class::truncate, "mpt: " + std::string{call} + ": the box has " + std::to_string(box.size()) +
                                                   " bytes; from position " + std::to_string(at) + " on there is no room for " +
                                                   std::to_string(n) + " elements of " + std::to_string(each) + " bytes"};
    return box.subspan(at, wanted);
}
} // namespace detail

inline std::size_t pack_size(std::int64_t n, datatype const& type) { return detail::packed_bytes("pack_size", n, type.size()); }
inline void pack(void const* data, std::int64_t n, datatype const& type, std::span<std::byte> box, std::size_t& at) {
    auto const room = detail::part_of_box("pack", box, at, n, type.size());
    typed_source{data, n, type}.read(0, room);
    at += room.size();
}
inline void unpack(std::span<std::byte const> box, std::size_t& at, void* data, std::int64_t n, datatype const& type) {
    auto const part = detail::part_of_box("unpack", box, at, n, type.size());
    typed_sink{data, n, type}.write(0, part);
    at += part.size();
}

inline std::size_t pack_external_size(std::int64_t n, datatype const& type) {
    return detail::packed_bytes("pack_external_size", n, type.external_size());
}
inline void pack_external(void const* data, std::int64_t n, datatype const& type, std::span<std::byte> box, std::size_t& at) {
    auto const room = detail::part_of_box("pack_external", box, at, n, type.external_size());
    pack_external32(data, n, type, room);
    at += room.size();
}
inline void unpack_external(std::span<std::byte const> box, std::size_t& at, void* data, std::int64_t n, datatype const& type) {
    auto const part = detail::part_of_box("unpack_external", box, at, n, type.external_size());
    unpack_external32(part, data, n, type);
    at += part.size();
}

} // namespace mpt::inline v0
