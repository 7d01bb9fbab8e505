#include "pages.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace mptrun {
namespace {
constexpr std::uint64_t page = 2 << 20;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Bits that a unit's letter shifts a number by; -1: none of ours.
int shift_of(std::string_view unit) noexcept {
    if (unit.size() != 1) return -1;
    switch (lower(unit[0])) {
    case 'k': return 10;
    case 'm': return 20;
    case 'g': return 30;
    default: return -1;
    }
}

/// A number and its unit, in bytes; 0: it is none.
std::uint64_t bytes_in(std::string_view text, std::string_view unit_if_none) noexcept {
    constexpr std::uint64_t most = std::uint64_t{1} << 50;
    std::uint64_t n = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    auto const unit = text.substr(static_cast<std::size_t>(end - text.data()));
    auto const shift = shift_of(unit.empty() ? unit_if_none : unit);
    return failed != std::errc{} || shift < 0 || n > most >> shift ? 0 : n << shift;
}

std::string megabytes(std::uint64_t n) { return fmt::format("{} MB", (n + (1 << 20) - 1) >> 20); }

std::uint64_t pages_of(page_wish const& w) noexcept { return (w.bytes + page - 1) / page; }
} // namespace

page_wish pages_in(std::string_view text, std::string_view option) {
    page_wish w;
    auto size = text;
    if (w.is_required = size.ends_with('s'); w.is_required) size.remove_suffix(1);
    auto const is_huge = size.ends_with('h');
    if (is_huge) size.remove_suffix(1);
    w.bytes = bytes_in(size, "M");
    if (!is_huge || w.bytes == 0)
        throw usage_error{
            fmt::format("{} wants the huge pages of a rank: 700h (700 MB, or base pages), 700hs (or nothing starts); "
                        "K, M or G may follow the number; not \"{}\".",
                        option, text)};
    return w;
}

std::string print(page_wish const& w) {
    auto const is_whole = w.bytes % (1 << 20) == 0;
    return fmt::format("{}{}h{}", w.bytes >> (is_whole ? 20 : 10), is_whole ? "M" : "K", w.is_required ? "s" : "");
}

bool asks_for_pages(options const& o) noexcept {
    return std::ranges::any_of(o.parts, [](part const& p) { return p.pages.bytes != 0; });
}

std::string check_pages(options const& o, mpt::mem::offer const& here) {
    std::uint64_t asked = 0, ranks = 0;
    bool is_required = false;
    for (auto const& p : o.parts) {
        if (p.pages.bytes == 0) continue;
        auto const n = static_cast<std::uint64_t>(p.ranks);
        asked += pages_of(p.pages) * n;
        ranks += n;
        is_required = is_required || p.pages.is_required;
    }
    auto const* const pool = here.pool(page);
    auto const free = pool ? pool->available() : 0;
    if (asked <= free) return {};
    bool const is_limited = pool && pool->is_limited();
    auto const there =
        fmt::format("{} ranks ask for {} of huge pages ({} of 2 MB), but {}", ranks, megabytes(asked * page), asked,
                    is_limited ? fmt::format("{} leaves {} to this job", pool->allowed_by, free)
                               : fmt::format("{} of {} are free", free, pool ? pool->pages : 0));
    if (is_required && is_limited)
        throw usage_error{
            fmt::format("{}: nothing was started. Raise that limit, or ask for fewer; without the s of -m...hs, base "
                        "pages take their place.",
                        there)};
    if (is_required)
        throw usage_error{fmt::format("{}: nothing was started. More pages: as root, echo {} > /proc/sys/vm/nr_hugepages; "
                                      "without the s of -m...hs, base pages take their place.",
                                      there, asked - free + (pool ? pool->pages : 0))};
    return fmt::format("{}: base pages take their place.", there);
}

std::string reserve_pages(options const& o, mpt::mem::arena& shared, std::function<bool(part const&)> const& is_for_malloc) {
    auto const is_told = !check_pages(o, mpt::mem::look_around({}, {})).empty();
    constexpr auto looked =
        mpt::mem::arena::touches::by_caller; // at the limits: they would be made here, and thrown away by the rank
    mpt::rank rank{0};
    std::string line;
    for (auto const& p : o.parts) {
        auto const end = mpt::rank{rank.value + p.ranks};
        auto const n = is_for_malloc(p) ? 0 : pages_of(p.pages) * page;
        for (; n != 0 && rank.value < end.value; ++rank.value) {
            auto const huge = shared.huge_part();
            if (n <= huge && shared.reserve(rank, huge - n, n, looked) == mpt::status::ok)
                continue; // from the end, as ranks take them
            auto const why =
                fmt::format("the {} of huge pages of rank {} cannot be reserved, though the node has as many free: "
                            "somebody else took them since, or a limit keeps them from this job (see hugetlb.2MB.* of "
                            "its cgroup, and ulimit -v)",
                            megabytes(n), rank.value);
            if (p.pages.is_required)
                throw usage_error{
                    fmt::format("{}: nothing was started. Try again, raise the limit, or ask for fewer; without the s "
                                "of -m...hs, base pages take their place.",
                                why)};
            if (!is_told) line = why + ": base pages take their place.";
        }
        rank = end;
    }
    return line;
}

namespace {
/// The pages of the machine that serve who asks for some of that size: the largest that are not larger, else the smallest.
std::uint64_t served_by(std::uint64_t size, std::vector<mpt::mem::page_pool> const& by_size) {
    if (by_size.empty()) return size;
    auto served = by_size.front().page;
    for (auto const& p : by_size)
        if (p.page <= size) served = p.page;
    return served;
}
std::uint64_t size_in(std::string_view value, std::string_view variable, std::string_view allowed) {
    if (auto const size = bytes_in(value, ""); size != 0) return size;
    throw usage_error{fmt::format("{}={}: allowed are {}a size of pages such as 2M.", variable, value, allowed)};
}
} // namespace

std::string with_morecore(std::string_view tunables, morecore const& asked, mpt::mem::offer const& here) {
    constexpr std::string_view name = "glibc.malloc.hugetlb=";
    auto const& as = asked.pages;
    if (as.empty() || as == "no" || tunables.find(name) != tunables.npos) return std::string{tunables};
    constexpr std::uint64_t transparent = 1, by_default = 2; // glibc's numbers for them
    auto value = as == "thp" ? transparent : by_default;
    if (as != "thp" && as != "yes") value = served_by(size_in(as, "HUGETLB_MORECORE", "yes, no, thp, and "), here.pools);
    else if (as == "yes" && !asked.default_size.empty())
        value = served_by(size_in(asked.default_size, "HUGETLB_DEFAULT_PAGE_SIZE", ""), here.pools);
    return fmt::format("{}{}{}{}", tunables, tunables.empty() ? "" : ":", name, value);
}

bool malloc_takes_of_pool(std::string_view tunables) noexcept {
    constexpr std::string_view name = "glibc.malloc.hugetlb=";
    auto const at = tunables.find(name);
    if (at == tunables.npos) return false;
    auto const rest = tunables.substr(at + name.size());
    auto const value = rest.substr(0, rest.find(':'));
    return value != "0" && value != "1"; // 1: transparent ones
}

} // namespace mptrun
