// MPT_BOOT: what mptrun tells a rank through its environment. Written by mptrun, read once by boot::launched.
//
//   MPT_BOOT=1:rank:size:launcher:control fd:inode:device:data fd:inode:device:pages fd:inode:device:pages stride:cookie:cookie
//   Numbers, the cookie's in hex. Where a job has no huge pages, their descriptor is -1.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mpt::inline v0::boot {

inline constexpr char const* handed_variable = "MPT_BOOT";
/// In a job of several programs: which of them this rank runs, from 0 (MPI_APPNUM).
inline constexpr char const* program_variable = "MPT_BOOT_APPNUM";
/// The error handler that the program begins with, where it was told: mpi_errors_return, mpi_errors_abort. MPI-4.1 section 11.5.
inline constexpr char const* errhandler_variable = "MPT_BOOT_ERRHANDLER";
/// The sorts of memory that a job asks for as it starts (mpi_memory_alloc_kinds). MPI-4.1 section 11.4.3.
inline constexpr char const* memory_kinds_variable = "MPT_BOOT_MEMORY_KINDS";

/// A descriptor and the identity of the file behind it.
struct handed_segment {
    int fd = -1;
    std::uint64_t inode = 0, device = 0;
};

struct handed {
    std::int32_t me = 0, size = 0, launcher = 0;
    handed_segment control, data, pages;
    std::uint64_t pages_stride = 0;
    std::array<std::uint64_t, 2> cookie{};
};

std::string print_handed(handed const& h);
std::optional<handed> parse_handed(std::string_view text);

/// The start of control_header as plain bytes: what is read before anything is trusted enough to be mapped.
struct control_header_prefix {
    std::uint64_t magic;
    std::uint32_t version, ranks;
    std::array<std::uint64_t, 2> cookie;
    std::uint64_t stride;
};

} // namespace mpt::inline v0::boot
