// Values of options, from text. All throw usage_error with a sentence that names the option and the text.
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "options.hpp"

namespace mptrun {

/// A number from `least` to `most`.
int number(std::string_view text, std::string_view option, std::string_view of_what, int least, int most);
/// "30", "30s", "500ms", "2m", "1h".
std::chrono::milliseconds duration(std::string_view text, std::string_view option);
/// "all", "none", "0,2-4".
rank_set ranks_in(std::string_view text, std::string_view option);
std::string print(rank_set const& s);
/// "mpi_errors_return" and the like, as MPI-4.1 section 11.5 writes them; empty: fatal, as without.
std::string errhandler_in(std::string_view text, std::string_view option);
/// The name of a folder of libraries.
std::string flavour_in(std::string_view text, std::string_view option);
/// "core", "socket:2" into p; "none".
void read_bind_to(placing& p, std::string_view text);
/// "socket", "ppr:2:numa", "slot:PE=4"; returns the number after PE, or 0.
int read_map_by(placing& p, std::string_view text);
/// NAME=value, or NAME with our own value.
std::pair<std::string, std::string> variable(std::string const& text, surroundings const& here);
/// Throws unless each of "a,b:4" is this host.
void check_hosts(std::string_view list, surroundings const& here);
/// The same for the lines of a host file.
void check_host_file(std::string const& file, surroundings const& here);
std::string content_of(std::string const& file, std::string_view option, surroundings const& here);

} // namespace mptrun
