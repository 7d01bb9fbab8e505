/// core/caller - where a program called us: the first frame of the stack that is not in a library of ours.
///
///        called_at(address in libmpi_abi.so)  ->  "/home/me/solver.c:41"      the program has line numbers (-g, -g1)
///                                                 "solver+0x1f2c"             it has none: as addr2line -e solver 0x1f2c reads it
///
///   For the sentence with which a job ends: it runs addr2line, two seconds at most. A call that the compiler made the last jump of
///   a function is seen at that function's own caller.
///   Tests   test/core_caller_test.cpp, test/proc/messages_test.cpp
#pragma once
#include <string>
#include <string_view>

namespace mpt::inline v0 {

/// library: an address in the library that was called (null: there is none). Empty where that is part of the program itself, or the
/// stack cannot be read.
std::string called_at(void const* library) noexcept;
/// A sentence, and where it was called for if that can be said.
std::string with_caller(std::string_view sentence, void const* library) noexcept;

} // namespace mpt::inline v0
