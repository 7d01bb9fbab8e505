/// mpi/hints - the hints that communicators and windows know, out of what an info object says.
///
///        communicator    a set of the standard's five assertions, a bit for each
///        window          seven texts; two of them are settled when the window is made
///        memory          where what is allocated begins
///
///        both            which kinds of memory their buffers are of, where the program says so (section 11.4.3)
///
///   What is no hint here, or no value of one, is ignored, as the standard has it. shown() tells what is in use.
///
///   Tests   test/mpi_hints_test.cpp    Source MPI-4.1 sections 7.4.4 and 12.2.1
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mpt/mpi/info.hpp>

namespace mpt::inline v0::hints {

using assertions = std::uint32_t;
/// What is told changes, the rest stays.
assertions taken(info const& given, assertions before = 0);
info shown(assertions set);

/// Kinds of memory, as mpi_memory_alloc_kinds has them: what serves whether it is asked for or not, "mpi,system", and of what is wanted
/// the parts of it that are known, as mpi:alloc_mem. MPI-4.1 section 11.4.3.
std::string kinds_provided(std::string_view wanted);
/// What mpi_assert_memory_alloc_kinds says, where all of it is provided; else what was asserted before.
std::optional<std::string> kinds_asserted(info const& given, std::optional<std::string> before = {});

using of_window = std::vector<std::string>;
/// Of a window that is being made.
of_window made_with(info const& given);
/// Of one that is there.
void change(of_window& values, info const& given);
info shown(of_window const& values);
/// Each rank's part of shared memory lies where that rank is at home.
bool noncontiguous(of_window const& values);
/// Nobody locks it: no_locks.
bool never_locked(of_window const& values);
/// Accumulates are of more at a time than a processor changes at once.
bool rows_locked(of_window const& values);

/// What mpi_minimum_memory_alignment asks for beyond what every allocation has, a power of two. Any other value, and more than 1 GiB, is
/// ignored.
std::size_t alignment(info const& given);

} // namespace mpt::inline v0::hints
