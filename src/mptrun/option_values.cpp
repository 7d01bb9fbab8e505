#include "option_values.hpp"

#include "words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

namespace mptrun {
namespace {

struct level_name {
    std::string_view text;
    level is;
};
constexpr std::array level_names{
    level_name{"hwthread", level::hwthread}, level_name{"pu", level::hwthread},
    level_name{"core", level::core},         level_name{"l1", level::l1},
    level_name{"l1cache", level::l1},        level_name{"l2", level::l2},
    level_name{"l2cache", level::l2},        level_name{"l3", level::l3},
    level_name{"l3cache", level::l3},        level_name{"numa", level::numa},
    level_name{"numanode", level::numa},     level_name{"socket", level::socket},
    level_name{"package", level::socket},    level_name{"machine", level::machine},
    level_name{"node", level::machine},      level_name{"board", level::machine},
    level_name{"slot", level::machine},
};

std::optional<level> level_of(std::string_view text) {
    auto const found = std::ranges::find(level_names, text, &level_name::text);
    return found == level_names.end() ? std::nullopt : std::optional{found->is};
}

std::optional<int> whole(std::string_view text) {
    int n = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || failed != std::errc{} || end != text.data() + text.size()) return {};
    return n;
}

std::string lower(std::string_view text) {
    std::string s{text};
    for (auto& c : s)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return s;
}

std::pair<int, int> range(std::string_view text, std::string_view option) {
    auto const dash = text.find('-');
    auto const first = whole(text.substr(0, dash));
    auto const last = dash == text.npos ? first : whole(text.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
        throw usage_error{fmt::format("{} wants ranks such as 0,2-4 or all, not \"{}\".", option, text)};
    return {*first, *last};
}

[[noreturn]] void refuse_place(std::string_view option, std::string_view text, std::string_view more) {
    throw usage_error{fmt::format("{} wants hwthread, core, l1, l2, l3, numa, socket{}, not \"{}\".", option, more, text)};
}
constexpr std::string_view bind_more = " or none, and :N after it for several of them";
constexpr std::string_view map_more =
    ", node or slot, or ppr:N:socket and the like, and :PE=N after it for several CPUs a rank";

/// Words of Open MPI that ask for what we do anyway.
bool is_implied(std::string_view modifier) {
    constexpr std::array words{"overload-allowed", "if-supported", "oversubscribe", "span", "nooversubscribe", "no-overload"};
    return std::ranges::find(words, modifier) != words.end();
}

int objects_of(std::string_view text, std::string_view option) {
    return number(text, option, "a number of objects", 1, 1'000'000);
}

bool is_here(std::string_view name, surroundings const& here) {
    constexpr std::array always{"localhost", "127.0.0.1", "::1"};
    std::string_view const own = here.host;
    return std::ranges::find(always, name) != always.end() || name == own || name == own.substr(0, own.find('.')) ||
           name.substr(0, name.find('.')) == own;
}

void check_host(std::string_view name, surroundings const& here) {
    if (!is_here(name, here))
        throw usage_error{
            fmt::format("host \"{}\" is not this one (\"{}\"): this build starts ranks on one node only.", name, here.host)};
}
} // namespace

std::string_view name_of(level l) noexcept { return std::ranges::find(level_names, l, &level_name::is)->text; }

int number(std::string_view text, std::string_view option, std::string_view of_what, int least, int most) {
    auto const n = whole(text);
    if (!n || *n < least || *n > most)
        throw usage_error{fmt::format("{} wants {} from {} to {}, not \"{}\".", option, of_what, least, most, text)};
    return *n;
}

std::chrono::milliseconds duration(std::string_view text, std::string_view option) {
    double n = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    std::string_view const unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    auto const scale = unit == "ms" ? 1. : unit.empty() || unit == "s" ? 1e3 : unit == "m" ? 6e4 : unit == "h" ? 3.6e6 : 0.;
    if (failed != std::errc{} || scale == 0. || !(n > 0) || n * scale > 1e12)
        throw usage_error{fmt::format("{} wants a time such as 30, 30s, 500ms or 2m, not \"{}\".", option, text)};
    return std::chrono::milliseconds{std::max(1ll, static_cast<long long>(n * scale))};
}

rank_set ranks_in(std::string_view text, std::string_view option) {
    if (text == "all") return {true, {}};
    rank_set s;
    if (text == "none") return s;
    for (auto const& piece : split_list(text)) s.ranges.push_back(range(piece, option));
    if (s.empty()) range(text, option);
    return s;
}

std::string print(rank_set const& s) {
    if (s.empty()) return "none";
    std::string text;
    for (auto const& [first, last] : s.ranges)
        text += fmt::format("{}{}{}", text.empty() ? "" : ",", first, first == last ? "" : fmt::format("-{}", last));
    return s.all ? "all" : text;
}

bool rank_set::has(int rank) const noexcept {
    return all || std::ranges::any_of(ranges, [rank](auto const& r) { return r.first <= rank && rank <= r.second; });
}

std::string errhandler_in(std::string_view text, std::string_view option) {
    auto name = lower(text);
    if (name == "mpi_errors_are_fatal") return {};
    if (name == "mpi_errors_abort" || name == "mpi_errors_return") return name;
    throw usage_error{
        fmt::format("{} wants mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return, not \"{}\".", option, text)};
}

std::string flavour_in(std::string_view text, std::string_view option) {
    if (text.empty() || text.front() == '.' || text.find('/') != text.npos)
        throw usage_error{fmt::format("{} wants the name of a flavour, such as mt, not \"{}\".", option, text)};
    return std::string{text};
}

void read_bind_to(placing& p, std::string_view text) {
    auto const words = split_list(lower(text), ':');
    auto const object = words.empty() ? std::nullopt : level_of(words[0]);
    if (!object && (words.empty() || words[0] != "none")) refuse_place("--bind-to", text, bind_more);
    p.bind = object && *object != level::machine ? placing::how::objects : placing::how::none;
    p.width = 1;
    p.object = p.bind == placing::how::objects ? *object : level::core;
    for (std::size_t i = 1; i < words.size(); ++i)
        if (!is_implied(words[i])) p.width = objects_of(words[i], "--bind-to");
    if (p.bind == placing::how::none) p.width = 1;
}

int read_map_by(placing& p, std::string_view text) {
    auto words = split_list(lower(text), ':');
    p.per = 0;
    if (words.size() > 2 && words[0] == "ppr") {
        p.per = objects_of(words[1], "--map-by ppr");
        words.erase(words.begin(), words.begin() + 2);
    }
    auto const object = words.empty() ? std::nullopt : level_of(words[0]);
    if (!object) refuse_place("--map-by", text, map_more);
    p.by = *object;
    int pe = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i].starts_with("pe=")) pe = objects_of(std::string_view{words[i]}.substr(3), "--map-by PE=");
        else if (!is_implied(words[i])) refuse_place("--map-by", text, map_more);
    }
    return pe;
}

std::pair<std::string, std::string> variable(std::string const& text, surroundings const& here) {
    auto const equals = text.find('=');
    auto const name = text.substr(0, equals);
    if (name.empty()) throw usage_error{fmt::format("-x wants NAME or NAME=value, not \"{}\".", text)};
    if (equals != text.npos) return {name, text.substr(equals + 1)};
    auto const value = here.variable(name);
    if (!value) throw usage_error{fmt::format("-x {}: there is no such variable here; write -x {}=value.", name, name)};
    return {name, *value};
}

void check_hosts(std::string_view list, surroundings const& here) {
    for (auto const& entry : split_list(list)) {
        auto const colon = entry.rfind(':');
        auto const slots = colon != entry.npos && entry.find(':') == colon; // not in ::1
        check_host(slots ? entry.substr(0, colon) : entry, here);
    }
}

void check_host_file(std::string const& file, surroundings const& here) {
    std::istringstream lines{content_of(file, "the host file", here)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line.substr(0, line.find('#'))};
        if (std::string host; words >> host) check_hosts(host, here);
    }
}

std::string content_of(std::string const& file, std::string_view option, surroundings const& here) {
    auto content = here.file(file);
    if (!content) throw usage_error{fmt::format("{}: cannot read the file {}.", option, file)};
    return *content;
}

} // namespace mptrun
