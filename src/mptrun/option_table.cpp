#include "option_table.hpp"

#include "option_values.hpp"
#include "pages.hpp"
#include "words.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace mptrun {
namespace {

using text = std::string const&;
constexpr int most_ranks = 1'000'000;

void named(reading& r, std::vector<std::pair<std::string, std::string>>& into, text name, text value) {
    if (auto const equals = name.find('='); equals != name.npos) return void(into.emplace_back(variable(name, r.here)));
    if (name.empty()) throw usage_error{fmt::format("{} wants NAME VALUE, not an empty name.", r.option)};
    into.emplace_back(name, value);
}

/// Only these of our environment; what we have not is left out.
void listed(reading& r, std::vector<std::pair<std::string, std::string>>& into, text names) {
    for (auto const& name : split_list(names))
        if (auto value = r.here.variable(name)) into.emplace_back(name, std::move(*value));
}

void read_config_file(reading& r, text file) {
    if (std::exchange(r.in_file, true))
        throw usage_error{fmt::format("{} {}: a file of options cannot name another.", r.option, file)};
    auto content = content_of(file, r.option, r.here);
    for (std::size_t at = 0; (at = content.find("\\\n", at)) != content.npos;) content.replace(at, 2, " ");
    for (auto const& line : split_list(content, '\n'))
        if (auto const words = split_words(line); !words.empty() && !words[0].starts_with('#')) read_words(r, words);
    r.in_file = false;
    r.file_read = true;
}

/// Open MPI 5: --output tag,dir=D,file=F.
void read_output(reading& r, text value) {
    for (auto const& word : split_list(value)) {
        if (word == "tag" || word == "rank") r.all.tag = "[%r] ";
        else if (word.starts_with("dir=")) {
            r.all.out_file = word.substr(4) + "/rank.%r.out";
            r.all.err_file = word.substr(4) + "/rank.%r.err";
        } else if (word.starts_with("file=")) {
            r.all.out_file = word.substr(5) + ".%r.out";
            r.all.err_file = word.substr(5) + ".%r.err";
        } else throw usage_error{fmt::format("--output wants tag, dir=DIR or file=NAME, not \"{}\".", word)};
    }
}

void map_by(reading& r, text value) {
    placing asked = r.all.place;
    auto const pe = read_map_by(asked, value);
    if (asked.by == level::machine) { // every rank is on this one
        if (asked.per > 0) r.per_node = asked.per;
        asked.by.reset();
        asked.per = 0;
    }
    r.all.place.by = asked.by;
    r.all.place.per = asked.per;
    r.pe = pe;
}

void prefix_for(reading& r, text ranks, text command) {
    auto words = split_words(command);
    if (words.empty()) throw usage_error{fmt::format("{} {} wants a command.", r.option, ranks)};
    r.all.prefixes.push_back({ranks_in(ranks, r.option), std::move(words)});
}

void wrap(reading& r, text command) {
    auto const words = split_words(command);
    if (words.empty()) throw usage_error{fmt::format("{} wants a command.", r.option)};
    r.now.prefix.insert(r.now.prefix.end(), words.begin(), words.end());
}

std::string not_empty(reading const& r, text value) {
    if (value.empty()) throw usage_error{fmt::format("{} wants a value, not an empty one.", r.option)};
    return value;
}

void note(reading& r, text value, text second) {
    auto words = r.option;
    for (auto const* v : {&value, &second})
        if (!v->empty()) words += ' ' + *v;
    r.all.notes.push_back(words);
}

// clang-format off
constexpr std::array rows{
    option_row{"n np c", takes::one, "N", topic::ranks,
        [](reading& r, text v, text) { r.now.ranks = number(v, r.option, "a number of ranks", 1, most_ranks); },
        "number of ranks (default 1); may exceed the number of CPUs"},
    option_row{"N ppn npernode", takes::one, "N", topic::ranks,
        [](reading& r, text v, text) { r.per_node = number(v, r.option, "a number of ranks", 1, most_ranks); },
        "ranks on this node, where -n does not say; with it, the most there may be"},
    option_row{"wdir wd", takes::one, "DIR", topic::ranks,
        [](reading& r, text v, text) { r.now.directory = not_empty(r, v); },
        "working directory of these ranks"},
    option_row{"path", takes::one, "DIRS", topic::ranks,
        [](reading& r, text v, text) { r.now.path = v; },
        "where to look for the program before PATH (DIR:DIR...)"},
    option_row{"initial-errhandler", takes::one, "HANDLER", topic::ranks,
        [](reading& r, text v, text) { r.now.errhandler = errhandler_in(v, r.option); },
        "what errors of MPI do until the program says: mpi_errors_are_fatal, mpi_errors_abort, mpi_errors_return"},
    option_row{"memory-alloc-kinds", takes::one, "KINDS", topic::ranks,
        [](reading& r, text v, text) { r.now.memory_kinds = not_empty(r, v); },
        "kinds of memory that the program brings (mpi,system,mpi:alloc_mem...), for MPI_INFO_ENV; which are provided, the infos of MPI_COMM_WORLD and sessions say"},
    option_row{"flavour", takes::one, "NAME", topic::ranks,
        [](reading& r, text v, text) { r.now.flavour = flavour_in(v, r.option); },
        "libraries of that name in place of the standard ones: mt (MPI, a lock for each object), nocheck (MPI without checks of arguments), debug (further checks of one-sided MPI and OpenSHMEM)"},
    option_row{"m", takes::one, "SIZEh[s]", topic::ranks,
        [](reading& r, text v, text) { r.now.pages = pages_in(v, r.option); },
        "each of these ranks wants SIZE MB of huge pages (700h, 1Gh); with s (700hs) nothing starts where there are fewer"},
    option_row{"wrap prefix-command", takes::one, "COMMAND", topic::ranks,
        [](reading& r, text v, text) { wrap(r, v); },
        "puts COMMAND before the program: \"strace -f -o trace.%r\", numactl, perf; %r is the rank"},
    option_row{"on", takes::two, "RANKS COMMAND", topic::ranks,
        [](reading& r, text v, text w) { prefix_for(r, v, w); },
        "the same for some ranks of the job: 2, 0,4-7, all"},
    option_row{"configfile app", takes::one, "FILE", topic::ranks,
        [](reading& r, text v, text) { read_config_file(r, v); },
        "reads options and programs from FILE, one program a line"},
    option_row{"host H hosts", takes::one, "HOSTS", topic::ranks,
        [](reading& r, text v, text) { check_hosts(v, r.here); },
        "where to run: this build starts ranks on this node only"},
    option_row{"hostfile f machinefile default-hostfile", takes::one, "FILE", topic::ranks,
        [](reading& r, text v, text) { check_host_file(v, r.here); },
        "the same from a file, one host a line"},

    option_row{"x", takes::one, "NAME[=value]", topic::environment,
        [](reading& r, text v, text) { r.now.variables.push_back(variable(v, r.here)); },
        "sets a variable for these ranks (they inherit our environment anyway)"},
    option_row{"env", takes::one_or_two, "NAME VALUE", topic::environment,
        [](reading& r, text v, text w) { named(r, r.now.variables, v, w); },
        "the same in Hydra's way"},
    option_row{"genv", takes::one_or_two, "NAME VALUE", topic::environment,
        [](reading& r, text v, text w) { named(r, r.every, v, w); },
        "the same for all ranks of all programs"},
    option_row{"envnone", takes::nothing, "", topic::environment,
        [](reading& r, text, text) { r.inherits = false; },
        "these ranks inherit nothing"},
    option_row{"envall", takes::nothing, "", topic::environment,
        [](reading& r, text, text) { r.inherits = true; },
        "these ranks inherit all, which is the default"},
    option_row{"envlist", takes::one, "NAMES", topic::environment,
        [](reading& r, text v, text) { r.inherits = false; listed(r, r.now.variables, v); },
        "these ranks inherit only NAMES (A,B,C)"},
    option_row{"genvnone", takes::nothing, "", topic::environment,
        [](reading& r, text, text) { r.every_inherits = false; },
        "no rank inherits anything"},
    option_row{"genvall", takes::nothing, "", topic::environment,
        [](reading& r, text, text) { r.every_inherits = true; },
        "all ranks inherit all, which is the default"},
    option_row{"genvlist", takes::one, "NAMES", topic::environment,
        [](reading& r, text v, text) { r.every_inherits = false; listed(r, r.every, v); },
        "all ranks inherit only NAMES"},

    option_row{"l tag-output prepend-rank", takes::nothing, "", topic::streams,
        [](reading& r, text, text) { r.all.tag = "[%r] "; },
        "puts \"[rank] \" before each line of output; lines stay whole"},
    option_row{"prepend-pattern", takes::one, "TEXT", topic::streams,
        [](reading& r, text v, text) { r.all.tag = v; },
        "puts TEXT before each line; %r is the rank, %h the host"},
    option_row{"out output-filename", takes::one, "DIR", topic::streams,
        [](reading& r, text v, text) { read_output(r, "dir=" + not_empty(r, v)); },
        "output of each rank into DIR/rank.R.out and DIR/rank.R.err"},
    option_row{"outfile-pattern", takes::one, "FILE", topic::streams,
        [](reading& r, text v, text) { r.all.out_file = not_empty(r, v); },
        "standard output into FILE, with %r for the rank"},
    option_row{"errfile-pattern", takes::one, "FILE", topic::streams,
        [](reading& r, text v, text) { r.all.err_file = not_empty(r, v); },
        "standard error into FILE, with %r for the rank"},
    option_row{"output", takes::one, "LIST", topic::streams,
        [](reading& r, text v, text) { read_output(r, v); },
        "the same in Open MPI's words: tag, dir=DIR, file=NAME"},
    option_row{"stdin s", takes::one, "RANKS", topic::streams,
        [](reading& r, text v, text) { r.all.input = ranks_in(v, r.option); },
        "who reads standard input: a rank (default 0), 0,2-4, all or none"},

    option_row{"bind-to", takes::one, "OBJECT", topic::binding,
        [](reading& r, text v, text) { read_bind_to(r.all.place, v); r.bind_said = true; },
        "each rank on one hwthread, core, l1, l2, l3, numa or socket; OBJECT:N on N of them; none"},
    option_row{"map-by", takes::one, "OBJECT", topic::binding,
        [](reading& r, text v, text) { map_by(r, v); },
        "ranks go round these; ppr:N:OBJECT puts N ranks on each; :PE=N gives a rank N cores"},
    option_row{"npersocket", takes::one, "N", topic::binding,
        [](reading& r, text v, text) { map_by(r, "ppr:" + v + ":socket"); },
        "the same as --map-by ppr:N:socket"},
    option_row{"report-bindings", takes::nothing, "", topic::binding,
        [](reading& r, text, text) { r.all.report_bindings = true; },
        "says on which CPUs each rank runs"},

    option_row{"timeout", takes::one, "T", topic::trouble,
        [](reading& r, text v, text) { r.all.timeout = duration(v, r.option); },
        "ends the job after T (30, 30s, 500ms, 2m) with exit code 124; also MPIEXEC_TIMEOUT"},
    option_row{"dry-run", takes::nothing, "", topic::trouble,
        [](reading& r, text, text) { r.all.dry_run = true; },
        "prints the commands that would be run, to be copied into a shell, and starts nothing"},
    option_row{"gdb", takes::after_equals, "RANKS", topic::trouble,
        [](reading& r, text v, text) { r.all.debugged = v.empty() ? rank_set{true, {}} : ranks_in(v, r.option); },
        "one rank: gdb on this terminal; several: a gdbserver each, and how to connect is said"},
    option_row{"gdb-port", takes::one, "PORT", topic::trouble,
        [](reading& r, text v, text) { r.all.debug_port = number(v, r.option, "a port", 1024, 65535); },
        "gdbserver of rank R listens on PORT + R of localhost (default 40000)"},

    option_row{"help h", takes::nothing, "", topic::other,
        [](reading& r, text, text) { r.all.help = true; },
        "prints this"},
    option_row{"version V", takes::nothing, "", topic::other,
        [](reading& r, text, text) { r.all.version = true; },
        "prints mpt's version"},
    option_row{"markdown", takes::nothing, "", topic::hidden,
        [](reading& r, text, text) { r.all.markdown = true; }, ""},

    option_row{"allow-run-as-root oversubscribe nooversubscribe use-hwthread-cpus bynode byslot bycore display-map display-allocation "
               "timestamp-output v verbose q quiet info print-all-exitcodes enable-x disable-x disable-auto-cleanup "
               "disable-hostname-propagation debug-daemons", takes::nothing, "", topic::ignored, note, ""},
    option_row{"prefix launcher launcher-exec rmk iface topolib membind usize rank-by display personality nameserver order-nodes am tune "
               "report-pid report-uri arch soft", takes::one, "", topic::ignored, note, ""},
    option_row{"mca gmca pmca prtemca", takes::two, "", topic::ignored, note, ""},
};
// clang-format on
} // namespace

std::span<option_row const> option_table() { return rows; }

option_row const* find_option(std::string_view name) {
    for (auto const& row : rows)
        for (auto const& n : split_list(row.names, ' '))
            if (n == name) return &row;
    return nullptr;
}

std::string dashed(std::string_view name) { return fmt::format("{}{}", name.size() == 1 ? "-" : "--", name); }

std::string nearest_option(std::string_view name) {
    std::string best;
    auto least = std::max<std::size_t>(name.size() / 2, 1) + 1;
    for (auto const& row : rows)
        for (auto const& n : split_list(row.names, ' ')) {
            if (row.about == topic::hidden || row.about == topic::ignored) continue;
            if (auto const d = distance(name, n); d < least) {
                least = d;
                best = n;
            }
        }
    return best.empty() ? best : fmt::format(" Did you mean {}?", dashed(best));
}

} // namespace mptrun
