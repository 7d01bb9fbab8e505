// Reading the configuration table's variables: the one place where a value's text means something.
#include <mpt/config/config.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <mpt/core/processor.hpp>
#include <unistd.h>

namespace mpt::inline v0::config {

namespace {

struct unit {
    char letter;
    unsigned shift;
};
constexpr std::array units{unit{'T', 40}, unit{'G', 30}, unit{'M', 20}, unit{'K', 10}};

constexpr char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool same_word(std::string_view a, std::string_view b) noexcept {
    return std::ranges::equal(a, b, [](char x, char y) { return upper(x) == upper(y); });
}

constexpr std::string_view heap_size = "MPT_SYMMETRIC_SIZE";
/// What Cray and Open MPI call it, too, beside its name in OpenSHMEM.
bool is_elsewhere_heap_size(std::string_view name) noexcept {
    return name == "XT_SYMMETRIC_HEAP_SIZE" || name == "SHMEM_SYMMETRIC_HEAP_SIZE";
}
/// Of two other names of one variable the greater counts: OpenSHMEM-1.6 section 8 has its own before those of before 1.4.
int weight(std::string_view name) noexcept { return is_elsewhere_heap_size(name) ? 0 : name.starts_with("SMA_") ? 1 : 2; }

std::string_view trimmed(std::string_view s) noexcept {
    auto const first = s.find_first_not_of(" \t");
    if (first == s.npos) return {};
    return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

/// How many bits "K", "KB", "KiB" shift by; nothing for what is no unit.
std::optional<unsigned> shift_of(std::string_view s) noexcept {
    if (s.empty() || same_word(s, "B")) return 0;
    auto const u = std::ranges::find(units, upper(s.front()), &unit::letter);
    s.remove_prefix(1);
    if (u == units.end() || !(s.empty() || same_word(s, "B") || same_word(s, "iB"))) return std::nullopt;
    return u->shift;
}

enum class wrong : std::uint8_t { nothing, spelling, size };
struct number {
    std::uint64_t value = 0;
    wrong what = wrong::nothing;
};

/// A size with a point or an exponent: 1.5G, 1e9.
number read_fraction(std::string_view s) noexcept {
    double n = 0;
    auto const [end, problem] = std::from_chars(s.data(), s.data() + s.size(), n, std::chars_format::general);
    auto const shift = shift_of(trimmed({end, static_cast<std::size_t>(s.data() + s.size() - end)}));
    if (problem != std::errc{} || n < 0 || !shift) return {0, wrong::spelling};
    auto const all = std::ceil(n * static_cast<double>(std::uint64_t{1} << *shift)); // OpenSHMEM-1.6 section 8: at least
    if (all >= 0x1p64) return {0, wrong::size};
    return {static_cast<std::uint64_t>(all), wrong::nothing};
}

number read_number(std::string_view s, form type) noexcept {
    if (type == form::size && s.find_first_of(".eE") != s.npos) return read_fraction(s);
    std::uint64_t n = 0;
    auto const [end, problem] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (problem == std::errc::result_out_of_range) return {0, wrong::size};
    if (problem != std::errc{}) return {0, wrong::spelling};
    std::string_view const rest = trimmed({end, static_cast<std::size_t>(s.data() + s.size() - end)});
    if (type == form::count) return {n, rest.empty() ? wrong::nothing : wrong::spelling};
    auto const shift = shift_of(rest);
    if (!shift) return {0, wrong::spelling};
    if (n != (n << *shift) >> *shift) return {0, wrong::size};
    return {n << *shift, wrong::nothing};
}

/// OpenSHMEM's SHMEM_SYMMETRIC_SIZE has one multiplier, and whatever follows it is to be ignored, not refused: 20kk is 20k (section 8 of
/// OpenSHMEM-1.4 to 1.6).
std::string_view up_to_multiplier(std::string_view s) noexcept {
    auto const is_unit = [](char c) { return std::ranges::find(units, upper(c), &unit::letter) != units.end(); };
    auto const found = std::ranges::find_if(s, is_unit);
    return found == s.end() ? s : s.substr(0, static_cast<std::size_t>(found - s.begin()) + 1);
}

std::optional<std::uint64_t> read_toggle(std::string_view s) noexcept {
    for (auto const yes : {"on", "yes", "true", "1"})
        if (same_word(s, yes)) return 1;
    for (auto const no : {"off", "no", "false", "0"})
        if (same_word(s, no)) return 0;
    return std::nullopt;
}

std::optional<std::uint64_t> place_of(row const& r, std::string_view s) noexcept {
    for (std::uint64_t i = 0; i < word_count(r.words); ++i)
        if (same_word(word_at(r.words, i), s)) return i;
    return std::nullopt;
}

/// "a,b"; "all"; "none".
std::optional<std::uint64_t> read_set(row const& r, std::string_view s) noexcept {
    if (same_word(s, "all")) return r.most;
    if (same_word(s, "none")) return 0;
    std::uint64_t bits = 0;
    for (;;) {
        auto const comma = std::min(s.find(','), s.size());
        auto const place = place_of(r, trimmed(s.substr(0, comma)));
        if (!place) return std::nullopt;
        bits |= std::uint64_t{1} << *place;
        if (comma == s.size()) return bits;
        s.remove_prefix(comma + 1);
    }
}
std::string words_between(row const& r, std::uint64_t bits, std::string_view between) {
    std::string all;
    for (std::size_t i = 0; i < word_count(r.words); ++i)
        if (bits >> i & 1) all += fmt::format("{}{}", all.empty() ? "" : between, word_at(r.words, i));
    return all;
}

[[noreturn]] void refuse(row const& r, std::string_view name, std::string_view value, std::string_view why) {
    auto const also = name == r.name ? std::string{} : fmt::format(" (another name for {})", r.name);
    bool const turned = name != r.name && r.also.means == meaning::opposite;
    auto const initial = format(r, setting{turned ? 1 - r.initial : r.initial});
    throw error{errc::configuration,
                fmt::format("{}={}{} {}; allowed: {} (default {})", name, value, also, why, range(r), initial)};
}

std::string format_size(std::uint64_t n) {
    for (auto const& u : units)
        if (n != 0 && n % (std::uint64_t{1} << u.shift) == 0) return fmt::format("{}{}", n >> u.shift, u.letter);
    return fmt::format("{}", n);
}

/// Edits (one character more, less, other, or two neighbours swapped) that turn a into b.
std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, now);
    }
    return last[b.size()];
}

/// What an environment says of one row: under its own name and under its other one.
struct found {
    std::optional<std::string_view> own, other;
    std::string_view other_name{};
};

std::string unknown(std::string_view name) {
    auto const near = nearest(name);
    if (near.empty()) return fmt::format("mpt knows no variable {}; mptinfo --env shows those it knows", name);
    return fmt::format("mpt knows no variable {}; did you mean {}?", name, near);
}

/// Sorts an environment's entries by the row they belong to; gives the unknown names as warnings.
std::array<found, table.size()> sort_entries(char const* const* environment, std::vector<std::string>& warnings) {
    std::array<found, table.size()> rows;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        std::string_view const entry{*environment};
        auto const equals = entry.find('=');
        if (equals == entry.npos || equals == 0) continue;
        auto const name = entry.substr(0, equals), value = trimmed(entry.substr(equals + 1));
        auto const r = std::ranges::find_if(table, [&](row const& x) {
            return x.name == name || is_other_name(x, name) || (x.name == heap_size && is_elsewhere_heap_size(name));
        });
        if (r == table.end()) {
            bool const is_partition =
                name.starts_with("SHMEM_SYMMETRIC_PARTITION") || name.starts_with("SMA_SYMMETRIC_PARTITION");
            if (is_partition || (name.starts_with("MPT_") && !is_internal(name))) warnings.push_back(unknown(name));
            continue;
        }
        if (value.empty()) continue;
        auto& f = rows[static_cast<std::size_t>(r - table.begin())];
        auto& place = r->name == name ? f.own : f.other;
        bool const is_rather = r->name != name && weight(name) > weight(f.other_name);
        if (place && !is_rather) continue; // the first counts, as it does for getenv
        place = value;
        if (r->name != name) f.other_name = name;
    }
    return rows;
}

setting settle(row const& r, found const& f) {
    std::optional<setting> own, other;
    if (f.own) own = parse(r, r.name, *f.own), own->from = given::environment;
    if (f.other) other = parse(r, f.other_name, *f.other), other->from = given::alias;
    if (own && other && (own->number != other->number || own->text != other->text))
        throw error{errc::configuration,
                    fmt::format("{}={} and {}={} contradict each other: they are two names of one variable; "
                                "set one of them",
                                r.name, *f.own, f.other_name, *f.other)};
    return own ? *own : other ? *other : setting{r.initial};
}

} // namespace

std::string_view to_string(given s) noexcept {
    switch (s) {
    case given::initial: return "default";
    case given::environment: return "environment";
    case given::alias: return "alias";
    case given::program: return "program";
    }
    return "?";
}

setting parse(row const& r, std::string_view name, std::string_view value) {
    setting s;
    switch (r.type) {
    case form::size:
    case form::count: {
        auto const n = read_number(r.name == heap_size && name != r.name ? up_to_multiplier(value) : value, r.type);
        if (n.what == wrong::spelling)
            refuse(r, name, value, r.type == form::size ? "is not a size (4096, 4K, 2M, 1G)" : "is not a whole number");
        if (n.what == wrong::size || n.value < r.least || n.value > r.most) refuse(r, name, value, "is out of range");
        s.number = n.value;
        break;
    }
    case form::toggle: {
        auto const on = read_toggle(value);
        if (!on) refuse(r, name, value, "is neither on nor off");
        s.number = name != r.name && r.also.means == meaning::opposite ? 1 - *on : *on;
        break;
    }
    case form::word: {
        auto const place = place_of(r, value);
        if (!place) refuse(r, name, value, "is none of its words");
        s.number = *place;
        break;
    }
    case form::set: {
        auto const bits = read_set(r, value);
        if (!bits) refuse(r, name, value, "has what is none of its words");
        s.number = *bits;
        break;
    }
    case form::text: s.text = value; break;
    }
    return s;
}

std::string format(row const& r, setting const& s) {
    switch (r.type) {
    case form::size: return format_size(s.number);
    case form::count: return fmt::format("{}", s.number);
    case form::toggle: return s.number != 0 ? "on" : "off";
    case form::word: return std::string{word_at(r.words, s.number)};
    case form::set: return s.number == 0 ? "none" : words_between(r, s.number, ",");
    case form::text: return s.text;
    }
    return {};
}

std::string range(row const& r) {
    switch (r.type) {
    case form::size:
    case form::count: return fmt::format("{} .. {}", format(r, setting{r.least}), format(r, setting{r.most}));
    case form::toggle: return "on, off";
    case form::word: return words_between(r, (std::uint64_t{1} << word_count(r.words)) - 1, ", ");
    case form::set: return fmt::format("none, all, or any of {}", words_between(r, r.most, ","));
    case form::text: return "any text";
    }
    return {};
}

std::string_view nearest(std::string_view name) {
    std::string_view best;
    auto least = std::max<std::size_t>(2, name.size() / 4) + 1; // farther away than this it would be a riddle, not a hint
    for (row const& r : table)
        if (auto const n = edits(name, r.name); n < least) best = r.name, least = n;
    return best;
}

values::values() {
    for (std::size_t i = 0; i < table.size(); ++i) settings_[i].number = table[i].initial;
}

values values::read(char const* const* environment, std::vector<std::string>& problems) {
    values v;
    auto const rows = sort_entries(environment, v.warnings_);
    for (std::size_t i = 0; i < table.size(); ++i) {
        try {
            v.settings_[i] = settle(table[i], rows[i]);
        } catch (error const& e) { problems.emplace_back(e.what()); }
    }
    return v;
}

values values::read(char const* const* environment) {
    std::vector<std::string> problems;
    auto v = read(environment, problems);
    if (!problems.empty()) throw error{errc::configuration, fmt::format("{}", fmt::join(problems, "\n"))};
    return v;
}

/// On AMD's processors large messages are fastest through buffers that two ranks pass to and fro. On Intel's, where a line that another core
/// has written is dear, they are by one copy, which both ends make: 1 MiB in half the time, and more than twice as much a second; so are those of
/// more than 32 KiB in one piece. On others nobody has measured; one copy is what other libraries make there. docs/design.md has the figures.
values values::of_process() {
    auto v = read(environ);
    if (processor::is_of_amd()) return v;
    auto const is_set = [&](std::string_view name) { return v.settings_[row_of(name)].from != given::initial; };
    auto const prefer = [&](std::string_view name, std::uint64_t value) {
        if (!is_set(name)) v.settings_[row_of(name)].number = value;
    };
    prefer("MPT_AWAITED_MAX", 0), prefer("MPT_PIPELINE_MAX", 0);
    if (!is_set("MPT_EAGER_MAX")) prefer("MPT_EAGER_READABLE", 32_KiB); // who sets the former means all messages
    return v;
}

void values::assign(std::size_t at, std::string_view value) {
    settings_[at] = parse(table[at], table[at].name, trimmed(value));
    settings_[at].from = given::program;
}

std::string values::job_values() const {
    std::string out;
    for (std::size_t i = 0; i < table.size(); ++i)
        if (table[i].where == scope::job) out += fmt::format("{}={}\n", table[i].name, format(table[i], settings_[i]));
    return out;
}

} // namespace mpt::inline v0::config
