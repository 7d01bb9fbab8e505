// Which hints there are, and which values they may have.
#include <mpt/mpi/hints.hpp>

#include <algorithm>
#include <bit>
#include <iterator>

namespace mpt::inline v0::hints {

namespace {

constexpr std::string_view asserted[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length",
                                         "mpi_assert_allow_overtaking", "mpi_assert_strict_start_ordering"};

bool is_boolean(std::string_view value) { return as_boolean(value).has_value(); }
bool is_alignment(std::string_view value) {
    constexpr std::int64_t most = 1 << 30;
    auto const n = as_integer(value).value_or(0);
    return n > 0 && n <= most && std::has_single_bit(static_cast<std::uint64_t>(n));
}
bool is_size(std::string_view value) { return as_integer(value).value_or(-1) >= 0; }
bool is_same_op(std::string_view value) { return value == "same_op" || value == "same_op_no_op"; }
bool is_order(std::string_view value) {
    constexpr std::string_view orders[] = {"rar", "raw", "war", "waw"};
    auto const all = as_list(value);
    return value == "none" ||
           (!all.empty() && std::ranges::all_of(all, [&](auto const& o) { return std::ranges::count(orders, o) == 1; }));
}

struct window_hint {
    char const* name;
    char const* value; // unless it is given
    bool (*allowed)(std::string_view);
    bool settled = false; // when the window is made
};
constexpr window_hint window_hints[] = {
    {"no_locks", "false", is_boolean},
    {"accumulate_ordering", "rar,raw,war,waw", is_order},
    {"accumulate_ops", "same_op_no_op", is_same_op},
    {"mpi_accumulate_granularity", "0", is_size, true},
    {"same_size", "false", is_boolean},
    {"same_disp_unit", "false", is_boolean},
    {"mpi_minimum_memory_alignment", "1", is_alignment, true},
    {"alloc_shared_noncontig", "false", is_boolean, true},
};
constexpr std::size_t locks = 0, granularity = 3, noncontiguous_parts = std::size(window_hints) - 1;

/// Elements that a processor changes at once are not longer: who asks for more at a time has rows.
constexpr std::int64_t processors_word = 8;

void take(of_window& values, info const& given, bool made) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        auto const value = given.get(window_hints[i].name);
        auto const is = value ? stripped(*value) : std::string_view{};
        if (value && window_hints[i].allowed(is) && !(made && window_hints[i].settled)) values[i] = is;
    }
}

// --- kinds of memory ------------------------------------------------------------------------------------------------------------
/// Their names are written in either case.
std::string lower(std::string_view text) {
    std::string all{text};
    std::ranges::transform(all, all.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return all;
}

/// "system", "mpi", or mpi with restrictors: which calls of MPI the memory is from.
bool is_provided(std::string_view kind) {
    constexpr std::string_view restrictors[] = {"alloc_mem", "win_allocate", "win_allocate_shared"};
    if (kind == "system" || kind == "mpi") return true;
    if (!kind.starts_with("mpi:")) return false;
    for (auto rest = kind.substr(3); !rest.empty();) { // ":alloc_mem:win_allocate"
        auto const end = std::min(rest.find(':', 1), rest.size());
        if (std::ranges::find(restrictors, rest.substr(1, end - 1)) == std::end(restrictors)) return false;
        rest.remove_prefix(end);
    }
    return true;
}

} // namespace

std::string kinds_provided(std::string_view wanted) {
    std::vector<std::string> all{"mpi", "system"};
    std::string text = "mpi,system";
    for (auto const& element : as_list(wanted)) {
        auto const kind = lower(element);
        if (!is_provided(kind) || std::ranges::count(all, kind) != 0 || text.size() + 1 + kind.size() >= max_info_value)
            continue;
        text += ',' + kind;
        all.push_back(kind);
    }
    return text;
}
std::optional<std::string> kinds_asserted(info const& given, std::optional<std::string> before) {
    auto const value = given.get("mpi_assert_memory_alloc_kinds");
    if (!value || !std::ranges::all_of(as_list(*value), [](auto const& kind) { return is_provided(lower(kind)); }))
        return before;
    return std::string{stripped(*value)};
}

assertions taken(info const& given, assertions set) {
    for (std::uint32_t i = 0; i < std::size(asserted); ++i) {
        auto const value = given.get(asserted[i]);
        auto const yes = value ? as_boolean(*value) : std::nullopt;
        if (yes) set = (set & ~(1u << i)) | std::uint32_t{*yes} << i;
    }
    return set;
}
info shown(assertions set) {
    info all;
    for (std::uint32_t i = 0; i < std::size(asserted); ++i) all.set(asserted[i], (set >> i & 1) != 0 ? "true" : "false");
    return all;
}

of_window made_with(info const& given) {
    of_window all;
    for (auto const& h : window_hints) all.emplace_back(h.value);
    take(all, given, false);
    return all;
}
void change(of_window& values, info const& given) { take(values, given, true); }
info shown(of_window const& values) {
    info all;
    for (std::size_t i = 0; i < values.size(); ++i) all.set(window_hints[i].name, values[i]);
    return all;
}
bool noncontiguous(of_window const& values) { return values[noncontiguous_parts] == "true"; }
bool never_locked(of_window const& values) { return values[locks] == "true"; }
bool rows_locked(of_window const& values) { return as_integer(values[granularity]).value_or(0) > processors_word; }

std::size_t alignment(info const& given) {
    auto const value = given.get("mpi_minimum_memory_alignment");
    return value && is_alignment(*value) ? static_cast<std::size_t>(*as_integer(*value)) : 1;
}

} // namespace mpt::inline v0::hints
