// Words of a shell, and patterns with a rank in them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mptrun {

/// As a shell splits a line: blanks separate, '...', "..." and \ hold together. Throws usage_error where a quote is left open.
std::vector<std::string> split_words(std::string_view text);

/// The word as a shell reads it back.
std::string shell_quoted(std::string_view word);
std::string joined(std::vector<std::string> const& words);

/// "a,b,c" without empty pieces.
std::vector<std::string> split_list(std::string_view text, char separator = ',');

/// %r is the rank, %h this host, %% a percent sign; %g and %p, which count groups and proxies elsewhere, are 0.
std::string expanded(std::string_view pattern, int rank);

/// How many single insertions, deletions and replacements make b of a.
std::size_t distance(std::string_view a, std::string_view b);

} // namespace mptrun
