// The program of a part: where it is, and in words why it does not run.
#pragma once
#include <string>
#include <string_view>

namespace mptrun {

/// The program as execve wants it, seen from `directory` (empty: ours); `path` is searched before PATH. Throws usage_error when there
/// is no such program.
std::string find_program(std::string const& name, std::string const& directory, std::string_view path);

/// Why execve refused this file with this errno.
std::string why_not_run(std::string const& file, int error);

} // namespace mptrun
