// The one table of options: names, what they take, what they mean, and a line of help. Reading, help, docs/mptrun.md and the
// nearest match all come from it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace mptrun {

/// What has been read so far.
struct reading {
    explicit reading(surroundings const& s) : here{s} {}

    surroundings const& here;
    options all;
    part now;                                               // the part being read
    std::optional<bool> inherits;                           // -envall, -envnone of this part
    std::vector<std::optional<bool>> inherited;             // the same of the parts before
    std::vector<std::pair<std::string, std::string>> every; // -genv: variables of all parts
    bool every_inherits = true;
    std::optional<int> per_node;
    bool bind_said = false;
    int pe = 0; // --map-by ...:PE=N
    bool in_file = false, file_read = false;
    std::string option; // the one being taken, as the user wrote it
};

/// after_equals: a value only as --name=value. one_or_two: NAME VALUE, or NAME=value.
enum class takes { nothing, one, two, one_or_two, after_equals };

enum class topic { ranks, environment, streams, binding, trouble, other, hidden, ignored };

struct option_row {
    std::string_view names; // of one meaning, separated by blanks; the first one is the one we write
    takes arity;
    std::string_view values; // in the help
    topic about;
    void (*take)(reading&, std::string const& value, std::string const& second);
    std::string_view help;
};

std::span<option_row const> option_table();
option_row const* find_option(std::string_view name);
/// The name with its dashes: -n, --timeout.
std::string dashed(std::string_view name);
/// " Did you mean --timeout?", or nothing where no name is near.
std::string nearest_option(std::string_view name);

/// Reads one command line into r: options, programs, parts.
void read_words(reading& r, std::vector<std::string> const& words);

} // namespace mptrun
