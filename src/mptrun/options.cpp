#include "options.hpp"

#include "option_table.hpp"
#include "option_values.hpp"
#include "pages.hpp"
#include "words.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include <unistd.h>

namespace mptrun {
namespace {

constexpr std::string_view which_program =
    "which program? Usage: mptrun [-n N] program [arguments...]; mptrun --help says more.";

/// A word as an option: its name, and what stands behind "=".
struct spelled {
    option_row const* row;
    std::string option; // as it was written, without the value
    std::optional<std::string> value;
};

spelled spell(std::string const& word) {
    auto const start = word.starts_with("--") ? 2u : 1u;
    auto const equals = word.find('=');
    spelled s{find_option(std::string_view{word}.substr(start, equals - start)), word.substr(0, equals), {}};
    if (equals != word.npos) s.value = word.substr(equals + 1);
    constexpr std::string_view digits = "0123456789";
    if (s.row || start == 2 || word.size() < 3 || digits.find(word[2]) == digits.npos) return s;
    if (word[1] != 'm' && word.find_first_not_of(digits, 2) != word.npos) return s;
    return {find_option(word.substr(1, 1)), word.substr(0, 2), word.substr(2)}; // -n4, -m700hs
}

std::string next_word(std::vector<std::string> const& words, std::size_t& at, std::string const& option) {
    if (++at >= words.size()) throw usage_error{fmt::format("the option {} needs a value.", option)};
    return words[at];
}

/// Takes the option at words[at], and leaves `at` behind it.
void read_option(reading& r, std::vector<std::string> const& words, std::size_t& at) {
    auto const s = spell(words[at]);
    if (!s.row) {
        auto const name = s.option.substr(std::min(s.option.find_first_not_of('-'), s.option.size()));
        throw usage_error{fmt::format("there is no option {}.{}", s.option, nearest_option(name))};
    }
    r.option = s.option;
    std::string first, second;
    if (s.row->arity == takes::nothing) {
        if (s.value) throw usage_error{fmt::format("the option {} takes no value.", s.option)};
    } else if (s.row->arity == takes::after_equals) first = s.value.value_or("");
    else first = s.value ? *s.value : next_word(words, at, s.option);
    auto const two = s.row->arity == takes::two || (s.row->arity == takes::one_or_two && first.find('=') == first.npos);
    if (two) second = next_word(words, at, s.option);
    ++at;
    s.row->take(r, first, second);
}

std::size_t read_options(reading& r, std::vector<std::string> const& words, std::size_t at) {
    while (at < words.size() && words[at].size() > 1 && words[at].front() == '-') {
        if (words[at] == "--") return at + 1;
        read_option(r, words, at);
    }
    return at;
}

void close_part(reading& r) {
    r.all.parts.push_back(std::exchange(r.now, {}));
    r.inherited.push_back(std::exchange(r.inherits, {}));
}

void settle_environment(reading& r) {
    for (std::size_t i = 0; i < r.all.parts.size(); ++i) {
        auto& p = r.all.parts[i];
        p.inherits = r.inherited[i].value_or(r.every_inherits);
        p.variables.insert(p.variables.begin(), r.every.begin(), r.every.end());
    }
}

void settle_place(reading& r) {
    auto& p = r.all.place;
    auto const bound = p.bind != placing::how::none;
    if (!r.bind_said && (p.by || r.pe > 0)) {
        p.bind = placing::how::objects;
        p.object = r.pe > 0 ? level::core : *p.by;
    }
    if (r.pe > 0 && bound) p.width = r.pe;
}

/// Ranks of a part that did not say: one, all of -N, or what the machine will tell.
void settle_ranks(reading& r) {
    auto const alone = r.all.parts.size() == 1;
    for (auto& p : r.all.parts)
        if (p.ranks == 0 && !(alone && r.all.place.per > 0)) p.ranks = alone ? r.per_node.value_or(1) : 1;
    long long total = 0;
    for (auto const& p : r.all.parts) total += p.ranks;
    if (total > 1'000'000) throw usage_error{fmt::format("{} ranks are more than 1000000.", total)};
    if (r.per_node && total > *r.per_node)
        throw usage_error{fmt::format("{} ranks at {} on a node need {} nodes: this build starts ranks on one node only.",
                                      total, *r.per_node, (total + *r.per_node - 1) / *r.per_node)};
    if (total > 0) count_ranks(r.all, 0);
}

void check_ranks(rank_set const& s, std::string_view option, int ranks) {
    for (auto const& [first, last] : s.ranges)
        if (last >= ranks)
            throw usage_error{fmt::format("{} names rank {}: this job has ranks 0 to {}.", option, last, ranks - 1)};
}

std::optional<std::string> file_content(std::string const& name) {
    std::ifstream in{name};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    return in.is_open() && !in.bad() ? std::optional{text} : std::nullopt;
}

std::optional<std::string> variable_here(std::string const& name) {
    auto const* const value = std::getenv(name.c_str());
    return value ? std::optional<std::string>{value} : std::nullopt;
}

void print_part(std::vector<std::string>& words, part const& p) {
    auto const add = [&](auto... w) { (words.emplace_back(w), ...); };
    if (p.ranks > 0) add("-n", std::to_string(p.ranks));
    if (!p.inherits) add("--envnone");
    for (auto const& [name, value] : p.variables) add("-x", fmt::format("{}={}", name, value));
    if (!p.directory.empty()) add("--wdir", p.directory);
    if (!p.path.empty()) add("--path", p.path);
    if (!p.errhandler.empty()) add("--initial-errhandler", p.errhandler);
    if (!p.memory_kinds.empty()) add("--memory-alloc-kinds", p.memory_kinds);
    if (!p.flavour.empty()) add("--flavour", p.flavour);
    if (p.pages.bytes != 0) add("-m", print(p.pages));
    if (!p.prefix.empty()) add("--wrap", joined(p.prefix));
    if (p.command[0].starts_with('-')) add("--");
    words.insert(words.end(), p.command.begin(), p.command.end());
}

void print_place(std::vector<std::string>& words, placing const& p) {
    auto const add = [&](auto... w) { (words.emplace_back(w), ...); };
    if (p.bind == placing::how::none) add("--bind-to", "none");
    if (p.bind == placing::how::objects)
        add("--bind-to", fmt::format("{}{}", name_of(p.object), p.width > 1 ? fmt::format(":{}", p.width) : ""));
    if (p.by) add("--map-by", p.per > 0 ? fmt::format("ppr:{}:{}", p.per, name_of(*p.by)) : std::string{name_of(*p.by)});
}
} // namespace

surroundings const& this_process() {
    static surroundings const here = [] {
        char name[256] = "";
        ::gethostname(name, sizeof name - 1);
        return surroundings{variable_here, file_content, name};
    }();
    return here;
}

void read_words(reading& r, std::vector<std::string> const& words) {
    for (std::size_t at = 0;;) {
        at = read_options(r, words, at);
        auto const from = words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size()));
        auto const end = std::find(from, words.end(), ":");
        auto const from_file = r.file_read && end == words.end() && r.now == part{};
        auto const complete = r.all.help || r.all.version || r.all.markdown || from_file;
        r.now.command.assign(from, end);
        if (!r.now.command.empty() && !r.now.command[0].empty()) close_part(r);
        else if (!complete) throw usage_error{std::string{which_program}};
        if (end == words.end()) return;
        at = static_cast<std::size_t>(end - words.begin()) + 1;
    }
}

options parse(std::vector<std::string> const& words, surroundings const& here) {
    reading r{here};
    if (auto const limit = here.variable("MPIEXEC_TIMEOUT")) r.all.timeout = duration(*limit, "MPIEXEC_TIMEOUT");
    read_words(r, words);
    settle_environment(r);
    settle_place(r);
    settle_ranks(r);
    return std::move(r.all);
}

void count_ranks(options& o, int counted) {
    o.ranks = 0;
    for (auto& p : o.parts) {
        if (p.ranks == 0) p.ranks = counted;
        o.ranks += p.ranks;
    }
    check_ranks(o.input, "--stdin", std::max(o.ranks, 1));
    check_ranks(o.debugged, "--gdb", o.ranks);
    for (auto const& p : o.prefixes) check_ranks(p.ranks, "--on", o.ranks);
}

part const& part_of(options const& o, int rank) {
    for (auto const& p : o.parts)
        if ((rank -= p.ranks) < 0) return p;
    return o.parts.back();
}

std::vector<std::string> canonical(options const& o) {
    std::vector<std::string> words;
    auto const add = [&](auto... w) { (words.emplace_back(w), ...); };
    if (o.timeout.count() > 0) add("--timeout", fmt::format("{}ms", o.timeout.count()));
    if (!o.tag.empty()) add("--prepend-pattern", o.tag);
    if (!o.out_file.empty()) add("--outfile-pattern", o.out_file);
    if (!o.err_file.empty()) add("--errfile-pattern", o.err_file);
    if (o.input != rank_set{false, {{0, 0}}}) add("--stdin", print(o.input));
    print_place(words, o.place);
    if (o.report_bindings) add("--report-bindings");
    for (auto const& p : o.prefixes) add("--on", print(p.ranks), joined(p.words));
    if (!o.debugged.empty()) add("--gdb=" + print(o.debugged));
    if (o.debug_port != options{}.debug_port) add("--gdb-port", std::to_string(o.debug_port));
    if (o.dry_run) add("--dry-run");
    for (std::size_t i = 0; i < o.parts.size(); ++i) {
        if (i > 0) add(":");
        print_part(words, o.parts[i]);
    }
    return words;
}

} // namespace mptrun
