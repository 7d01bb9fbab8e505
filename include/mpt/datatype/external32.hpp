/// datatype/external32 - data in the one form that every machine reads: MPI_Pack_external's.
///
///   Elements in the order of the type, without holes: big-endian, two's complement, IEEE; a long has 4 bytes, a wchar_t 2, a
///   long double 16 (binary128).
///
///        [ int 7 | hole | double 1.5 ]   ->   00 00 00 07  3f f8 00 00 00 00 00 00
///
///   Errors  a number that the smaller form does not hold is an error that names it; nothing is written beyond it.
///   Limit   the tree is walked element by element: for exchange with other machines and for files, not for speed.
///   Tests   test/datatype_external32_test.cpp
///   Source  MPI-4.1 sections 5.3 and 15.5.2.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <mpt/datatype/datatype.hpp>

namespace mpt::inline v0 {

/// Packs `count` elements; `out` has at least count * type.external_size() bytes.
void pack_external32(void const* buffer, std::int64_t count, datatype const& type, std::span<std::byte> out);

/// The other way round; `in` has at least count * type.external_size() bytes.
void unpack_external32(std::span<std::byte const> in, void* buffer, std::int64_t count, datatype const& type);

} // namespace mpt::inline v0
