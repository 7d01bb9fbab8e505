// mptinfo: what this mpt is, what this machine lets it do, and every variable that changes it.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <getopt.h>
#include <unistd.h>

#include <mpt/config/show.hpp>
#include <mpt/core/probe.hpp>
#include <mpt/core/version.hpp>
#include <mpt/mem/offer.hpp>
#include <mpt/stack/figures.hpp>
#include <mpt/transport/self.hpp>
#include <mpt/transport/smp.hpp>
#include <mpt/transport/stream.hpp>

namespace {

using mpt::feature;
namespace config = mpt::config;

constexpr std::string_view help = R"(usage: mptinfo [option]
  (none)           version, transports and what a probe says of them, variables that are set
  -e, --env        every variable: its value now, where it came from, default, range, scope, what it does
  -f, --figures    what a rank can tell of its work: figures (performance variables of MPI_T) and what they count
  -p, --probe      every system call that a container may refuse
  -M, --memory     nodes of memory and their kinds, huge pages, and how much of each is free
  -m, --markdown   docs/environment.md
  -V, --version    version and build
  -h, --help       this
)";

/// What a transport is made of, in words.
std::string abilities(mpt::transport_facts const& f) {
    auto text = fmt::format("frames of up to {} bytes", f.max_frame.value);
    if (f.lends) text += ", lent buffers";
    if (f.reads) text += ", one copy";
    if (f.joins) text += " from both ends";
    return text;
}

/// One transport and, below it, what the probes it leans on say.
template <mpt::transport_policy T> void show_transport(std::string_view reach, std::vector<feature> const& leans_on) {
    fmt::print("  {:<8} {:<26} {}\n", T::name, reach, abilities(T::facts));
    for (auto const f : leans_on) {
        auto const r = mpt::probe(f);
        fmt::print("  {:<8} {:<26} {} {}\n", "", mpt::row_of(f).call, r.available() ? "yes:" : to_string(r) + ":",
                   consequence(r));
    }
}

void show_version() {
    fmt::print("mpt {}, interface {}, {}\n", to_string(mpt::core_version()), mpt::abi_name, mpt::core_build());
}

void show_set(config::values const& v) {
    bool any = false;
    for (std::size_t i = 0; i < config::table.size(); ++i) {
        if (v.at(i).from == config::given::initial) continue;
        if (!any) fmt::print("\nvariables that are set\n");
        any = true;
        fmt::print("  {} = {}\n", config::table[i].name, config::format(config::table[i], v.at(i)));
    }
}

void show_summary(config::values const& v) {
    show_version();
    fmt::print("\ntransports\n");
    show_transport<mpt::transport::self<>>("the rank itself", {});
    show_transport<mpt::transport::smp<>>("ranks of a node", {feature::memfd, feature::membarrier, feature::read_peer});
    show_transport<mpt::transport::stream<>>("ranks of a host", {});
    show_set(v);
    fmt::print("\nmptinfo --env shows every variable, --probe every system call, --help the rest\n");
}

void show_probes() {
    fmt::print("{:<28} {:<18} {}\n", "system call", "here", "so");
    for (auto const& f : mpt::features) {
        auto const r = mpt::probe(f.what);
        fmt::print("{:<28} {:<18} {}\n", f.call, to_string(r), consequence(r));
    }
}

std::string_view word_of(mpt::figure_sort s) {
    switch (s) {
    case mpt::figure_sort::counter: return "counter";
    case mpt::figure_sort::sum: return "sum";
    case mpt::figure_sort::level: return "level";
    case mpt::figure_sort::most: return "most";
    case mpt::figure_sort::size: return "size";
    case mpt::figure_sort::share: return "share";
    case mpt::figure_sort::timer: return "timer";
    case mpt::figure_sort::state: return "state";
    }
    return "?";
}

void show_figures() {
    for (auto const& row : mpt::figure_table) fmt::print("{:<28} {:<8} {}\n", row.name, word_of(row.sort), row.help);
}

int choose(int argc, char** argv) {
    static constexpr option options[] = {{"env", no_argument, nullptr, 'e'},      {"probe", no_argument, nullptr, 'p'},
                                         {"figures", no_argument, nullptr, 'f'},  {"memory", no_argument, nullptr, 'M'},
                                         {"markdown", no_argument, nullptr, 'm'}, {"version", no_argument, nullptr, 'V'},
                                         {"help", no_argument, nullptr, 'h'},     {nullptr, 0, nullptr, 0}};
    int const chosen = ::getopt_long(argc, argv, "efMpmVh", options, nullptr);
    if (chosen == '?') return '?';
    if (chosen == -1 ? optind < argc : optind < argc || ::getopt_long(argc, argv, "efMpmVh", options, nullptr) != -1) {
        fmt::print(stderr, "mptinfo: one option at a time\n");
        return '?';
    }
    return chosen;
}

/// The values of this environment; what is wrong with them goes to standard error. True when nothing is.
bool read(config::values& v) {
    std::vector<std::string> problems;
    v = config::values::read(environ, problems);
    for (auto const& p : problems) fmt::print(stderr, "mptinfo: error: {}\n", p);
    for (auto const& w : v.warnings()) fmt::print(stderr, "mptinfo: warning: {}\n", w);
    return problems.empty();
}

int run(int argc, char** argv) {
    config::values v;
    switch (choose(argc, argv)) {
    case 'V': show_version(); return 0;
    case 'h': fmt::print("{}", help); return 0;
    case 'm': fmt::print("{}", config::markdown()); return 0;
    case 'p': show_probes(); return 0;
    case 'f': show_figures(); return 0;
    case 'M': fmt::print("{}", describe(mpt::mem::look_around())); return 0;
    case 'e': {
        bool const good = read(v);
        fmt::print("{}", config::explain(v));
        return good ? 0 : 1;
    }
    case -1: {
        bool const good = read(v);
        show_summary(v);
        return good ? 0 : 1;
    }
    default: fmt::print(stderr, "{}", help); return 2;
    }
}

} // namespace

int main(int argc, char** argv) {
    try {
        mpt::require_matching_core();
        return run(argc, argv);
    } catch (std::exception const& e) {
        fmt::print(stderr, "mptinfo: {}\n", e.what());
        return 1;
    }
}
