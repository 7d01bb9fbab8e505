#include "options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <getopt.h>

namespace mptrun {
namespace {

enum : int { wdir = 256, timeout, version, ignored, ignored_two };

// Both dialects: one dash or two, "=value" or " value" (getopt_long_only).
constexpr std::array table{
    option{"n", required_argument, nullptr, 'n'},
    option{"np", required_argument, nullptr, 'n'},
    option{"x", required_argument, nullptr, 'x'},
    option{"wdir", required_argument, nullptr, wdir},
    option{"wd", required_argument, nullptr, wdir},
    option{"timeout", required_argument, nullptr, timeout},
    option{"tag-output", no_argument, nullptr, 'l'},
    option{"l", no_argument, nullptr, 'l'},
    option{"help", no_argument, nullptr, 'h'},
    option{"version", no_argument, nullptr, version},
    option{"allow-run-as-root", no_argument, nullptr, ignored},
    option{"oversubscribe", no_argument, nullptr, ignored},
    option{"mca", required_argument, nullptr, ignored_two},
    option{nullptr, 0, nullptr, 0},
};

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            auto const replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::string nearest(std::string_view name) {
    std::string best;
    std::size_t least = std::max<std::size_t>(name.size() / 2, 1) + 1;
    for (auto const& o : table) {
        if (!o.name) break;
        if (auto const d = distance(name, o.name); d < least) {
            least = d;
            best = o.name;
        }
    }
    return best.empty() ? best : fmt::format(" Did you mean {}{}?", best.size() == 1 ? "-" : "--", best);
}

[[noreturn]] void refuse(std::string_view word) {
    auto name = word.substr(0, word.find('='));
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    for (auto const& o : table)
        if (o.name && o.name == name && o.has_arg == required_argument)
            throw usage_error{fmt::format("the option {} needs a value.", word)};
    throw usage_error{fmt::format("there is no option {}.{}", word, nearest(name))};
}

int count(std::string_view text) {
    int n = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (failed != std::errc{} || end != text.data() + text.size() || n < 1 || n > 1'000'000)
        throw usage_error{fmt::format("-n wants a number of ranks from 1 to 1000000, not \"{}\".", text)};
    return n;
}

std::pair<std::string, std::string> variable(std::string_view text) {
    auto const equals = text.find('=');
    std::string const name{text.substr(0, equals)};
    if (name.empty()) throw usage_error{fmt::format("-x wants NAME or NAME=value, not \"{}\".", text)};
    if (equals != text.npos) return {name, std::string{text.substr(equals + 1)}};
    auto const* const value = std::getenv(name.c_str());
    if (!value) throw usage_error{fmt::format("-x {}: there is no such variable here; write -x {}=value.", name, name)};
    return {name, value};
}

void take(options& o, int what, char** argv) {
    std::string_view const value = optarg ? optarg : "";
    switch (what) {
    case 'n': o.ranks = count(value); break;
    case 'x': o.variables.push_back(variable(value)); break;
    case 'l': o.tag_output = true; break;
    case 'h': o.help = true; break;
    case wdir: o.directory = value; break;
    case timeout: o.timeout = duration(value, "--timeout"); break;
    case version: o.version = true; break;
    case ignored: o.notes.emplace_back(argv[optind - 1]); break;
    case ignored_two: // --mca name value
        o.notes.push_back(fmt::format("--mca {}", value));
        if (argv[optind]) ++optind;
        break;
    }
}
} // namespace

std::chrono::milliseconds duration(std::string_view text, std::string_view option) {
    double n = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    std::string_view const unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    auto const scale = unit == "ms" ? 1. : unit.empty() || unit == "s" ? 1e3 : unit == "m" ? 6e4 : unit == "h" ? 3.6e6 : 0.;
    if (failed != std::errc{} || scale == 0. || !(n > 0) || n * scale > 1e12)
        throw usage_error{fmt::format("{} wants a time such as 30, 30s, 500ms or 2m, not \"{}\".", option, text)};
    return std::chrono::milliseconds{std::max(1ll, static_cast<long long>(n * scale))};
}

options parse(int argc, char** argv) {
    options o;
    opterr = 0;
    if (auto const* const limit = std::getenv("MPIEXEC_TIMEOUT")) o.timeout = duration(limit, "MPIEXEC_TIMEOUT");
    for (int at = optind, what = 0; (what = ::getopt_long_only(argc, argv, "+n:x:lh", table.data(), nullptr)) != -1;
         at = optind) {
        if (what == '?' || what == ':') refuse(argv[at]);
        take(o, what, argv);
    }
    o.program = argv + optind;
    if (!*o.program && !o.help && !o.version)
        throw usage_error{"which program? Usage: mptrun [-n N] program [arguments...]; mptrun --help says more."};
    return o;
}

std::string_view help_text() noexcept {
    return R"(usage: mptrun [options] [--] program [arguments...]

  -n N, -np N          number of ranks (default 1); may exceed the number of CPUs
  -x NAME[=value]      sets a variable for the ranks (they inherit the environment anyway)
  -wdir DIR            the ranks' working directory
  --timeout T          ends the job after T (30, 30s, 500ms, 2m) with exit code 124; also MPIEXEC_TIMEOUT
  -l, --tag-output     puts "[rank] " before each line of output
  --help, --version

One dash or two, "--name value" or "--name=value". Signals are passed on to the ranks; those that do not end
within 2 s of Ctrl-C, SIGTERM or the failure of another are killed, and a second Ctrl-C kills at once.
Exit code: 0, or that of the first rank that failed; 128 + signal where a signal ended it; 124 after --timeout.
)";
}

} // namespace mptrun
