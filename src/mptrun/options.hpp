// What mptrun was asked to do, read from its arguments alone: parse() opens nothing and asks nothing but `surroundings`.
//
//        mptrun -genv A 1 -n 2 -x B=2 one : -n 3 --wrap "strace -f" two    both dialects: Hydra's and Open MPI's
//                              '-- part 0: ranks 0, 1    '-- part 1: ranks 2 to 4
//
//   The table of option_table.cpp says what options there are; help and docs/mptrun.md are made of it.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mptrun {

/// Something the user wrote that cannot be done; what() is the sentence.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Huge pages of a rank; 0 bytes: it does not ask for any.
struct page_wish {
    std::uint64_t bytes = 0;
    bool is_required = false;
    bool operator==(page_wish const&) const = default;
};

/// One program of the job and its ranks.
struct part {
    int ranks = 0;        // 0, until the machine has been looked at: as many as --map-by ppr says
    bool inherits = true; // our environment
    std::vector<std::pair<std::string, std::string>> variables; // set in this order
    std::string directory;                                      // -wdir
    std::string path;                                           // -path: searched before PATH
    std::string errhandler;                                     // -initial-errhandler; empty: fatal
    std::string memory_kinds;                                   // -memory-alloc-kinds, as written
    std::string flavour;                                        // --flavour: a folder of lib/mpt; empty: the standard libraries
    page_wish pages;                                            // -m, of each rank
    std::vector<std::string> prefix;                            // --wrap
    std::vector<std::string> command;                           // the program and its arguments
    bool operator==(part const&) const = default;
};

/// "all", or "0,2-4".
struct rank_set {
    bool all = false;
    std::vector<std::pair<int, int>> ranges; // both ends are in
    bool operator==(rank_set const&) const = default;
    bool has(int rank) const noexcept;
    bool empty() const noexcept { return !all && ranges.empty(); }
};

/// A command put before the program of some ranks.
struct prefix_on {
    rank_set ranks;
    std::vector<std::string> words;
    bool operator==(prefix_on const&) const = default;
};

/// What CPUs can have in common, the smallest first.
enum class level { hwthread, core, l1, l2, l3, numa, socket, machine };
std::string_view name_of(level l) noexcept;

/// Which CPUs a rank may use.
struct placing {
    enum class how { standard, none, objects };
    how bind = how::standard;
    level object = level::core; // how::objects: a rank gets so many of these
    int width = 1;
    std::optional<level> by; // and ranks go round these
    int per = 0;             // this many ranks on one before the next; 0: one
    bool operator==(placing const&) const = default;
};

struct options {
    std::vector<part> parts;
    int ranks = 0;                        // of all parts
    std::chrono::milliseconds timeout{0}; // 0: none
    std::string tag;                      // a pattern before each line of output; empty: none
    std::string out_file, err_file;       // patterns; empty: mptrun's own streams
    rank_set input{false, {{0, 0}}};      // who gets standard input; empty: nobody
    placing place;
    bool report_bindings = false;
    std::vector<prefix_on> prefixes; // --on
    rank_set debugged;               // --gdb
    int debug_port = 40000;          // gdbserver's for rank 0
    bool dry_run = false, help = false, version = false, markdown = false;
    std::vector<std::string> notes; // options of other launchers that mean nothing here
    bool operator==(options const&) const = default;
};

/// All that an answer may depend on beside the arguments.
struct surroundings {
    std::function<std::optional<std::string>(std::string const&)> variable, file; // a variable's value, a file's content
    std::string host;                                                             // this host's name
};
surroundings const& this_process();

/// Throws usage_error. `words` are the arguments without mptrun's own name.
options parse(std::vector<std::string> const& words, surroundings const& here);

/// How many ranks there are in all; `counted` stands for those of parts that leave it to --map-by. Throws usage_error where an
/// option names a rank that is not in the job.
void count_ranks(options& o, int counted);

/// The part that a rank belongs to.
part const& part_of(options const& o, int rank);

/// Arguments that mean the same, in one form: parse(canonical(o)) == o but for the notes.
std::vector<std::string> canonical(options const& o);

/// From the table of options.
std::string help_text();
std::string markdown();

} // namespace mptrun
