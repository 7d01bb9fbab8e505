/// core/version - the version of these headers, and of the libmpt_core that they run with.
///
///   Headers are compiled into programs, libmpt_core is found when they start: the two can come from different builds. Each
///   entry into mpt (environment, local_job, the bindings) asks once whether they fit, before it touches anything shared.
///   Semantic versioning: before 1.0 the minor number may break, from 1.0 on only the major one. The inline namespace v0
///   names the binary interface, so objects of two interfaces do not even link.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <mpt/core/error.hpp>

namespace mpt::inline v0 {

struct version {
    std::uint16_t major_number = 0; // not `major`: old C libraries make a macro of that word
    std::uint16_t minor_number = 0;
    std::uint16_t patch_number = 0;

    friend constexpr auto operator<=>(version, version) = default;
};

inline constexpr version header_version{0, 1, 0};
/// The inline namespace of this binary interface.
inline constexpr std::string_view abi_name = "v0";

/// May a program compiled against `header` run with a library of version `library`? The patch number never matters.
constexpr bool fits(version header, version library) noexcept {
    if (header.major_number != library.major_number) return false;
    if (header.major_number == 0) return header.minor_number == library.minor_number;
    return library.minor_number >= header.minor_number;
}

inline std::string to_string(version v) {
    return std::to_string(v.major_number) + '.' + std::to_string(v.minor_number) + '.' + std::to_string(v.patch_number);
}

/// src/core/version.cpp: what the library was built as.
version core_version() noexcept;
/// Compiler, kind of build, machine and commit of the library: "g++ 12.2.0, release, x86_64, 9b4de1d of 2026-11-22".
std::string_view core_build() noexcept;

/// Throws mpt::error(usage) when `library` cannot serve programs compiled against `header`.
inline void require_matching_core(version header = header_version, version library = core_version()) {
    if (fits(header, library)) return;
    throw error{errc::usage, "this program was compiled with the headers of mpt " + to_string(header) +
                                 " but found libmpt_core " + to_string(library) +
                                 ": rebuild it, or put the library it was built with first in LD_LIBRARY_PATH"};
}

} // namespace mpt::inline v0
