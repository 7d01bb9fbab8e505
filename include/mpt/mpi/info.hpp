/// mpi/info - an info object: hints as pairs of texts, in the order in which their keys came.
///
///        set(a,1) set(b,2) set(a,3)  ->  0: a=3   1: b=2          erase(a)  ->  0: b=2
///
///   A key has one value; setting it again changes the value and keeps its place. A copy (MPI_Info_dup) has the same keys in
///   the same order and changes on its own. Texts are kept as they come, blanks and all: a door to Fortran strips them
///   (stripped()), and whoever reads a hint as a boolean, a number or a list takes the readers below, which strip too.
///
///   Cost    one look along the keys for each call.
///   Order   one mutex each: any thread may call anything at any time, also before a program has entered MPI.
///   Limit   A key has 1 to max_info_key - 1 characters, a value at most max_info_value - 1; else an mpi_error.
///   Tests   test/mpi_info_test.cpp
///   Source  MPI-4.1 chapter 10, section 11.2.1 (MPI_INFO_ENV)
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpt/mpi/error_classes.hpp>

namespace mpt::inline v0 {

inline constexpr std::size_t max_info_key = 256;    // MPI_MAX_INFO_KEY, with the closing zero
inline constexpr std::size_t max_info_value = 1024; // MPI_MAX_INFO_VAL, likewise

class info {
public:
    info();
    info(info const& other);
    info(info&& other) noexcept;
    info& operator=(info other) noexcept;
    ~info();

    void set(std::string_view key, std::string_view value);
    /// Class info_nokey where there is no such key.
    void erase(std::string_view key);
    std::optional<std::string> get(std::string_view key) const;
    /// MPI_Info_get_string: puts as much of the value as fits into buffer, with a zero at its end, and nothing where buffer is
    /// empty or there is no such key. Returns what the whole value needs, its zero included.
    std::optional<std::int32_t> get_string(std::string_view key, std::span<char> buffer) const;

    std::int32_t size() const;
    /// The n-th key. 0 <= n < size(), else class arg.
    std::string key(std::int32_t n) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

/// What MPI_INFO_ENV holds: command, argv, host, arch and wdir as this process finds them, maxprocs where it is known, and
/// mpi_memory_alloc_kinds where mptrun was told some. A value that is longer than allowed is left out. arguments: as main() got them, or none.
info environment_info(std::span<char const* const> arguments, std::optional<std::int32_t> maxprocs);

/// Without the blanks before and behind.
std::string_view stripped(std::string_view text) noexcept;

/// A hint's value as the standard has every library read it; nothing where it is not of that form.
std::optional<bool> as_boolean(std::string_view value) noexcept;
std::optional<std::int64_t> as_integer(std::string_view value) noexcept;
/// The elements between commas; none of a blank value.
std::vector<std::string> as_list(std::string_view value);

} // namespace mpt::inline v0
