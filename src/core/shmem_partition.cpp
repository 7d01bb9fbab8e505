// Partitions of a symmetric heap: shmem/partition.hpp. What they are asked to be, how they lie, and what the machine has for them.
#include <mpt/config/config.hpp>
#include <mpt/shmem/partition.hpp>

#include "arena_system.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

namespace mpt::inline v0::shmem {
namespace {

using namespace mpt::literals;

constexpr std::uint64_t huge = 2_MiB; // where partitions begin
constexpr std::uint64_t most_pages_in_one =
    512_MiB; // a size up to this is several huge pages; beyond is a page of the system's own
constexpr std::uint64_t up(std::uint64_t n, std::uint64_t to) noexcept { return (n + to - 1) / to * to; }

// --- a variable's value -------------------------------------------------------------------------------------------------------

struct trait {
    std::string_view variable, name, value;
    [[noreturn]] void refuse(std::string_view allowed) const {
        throw error{errc::configuration, fmt::format("{}: {}={}; allowed: {}", variable, name, value, allowed)};
    }
};

std::uint64_t size_of(trait const& t, std::uint64_t least, std::string_view allowed) {
    config::row const as{.name = t.name,
                         .type = config::form::size,
                         .initial = least,
                         .least = least,
                         .most = 65536_GiB,
                         .words = {},
                         .where = config::scope::local,
                         .help = {},
                         .origin = {}};
    try {
        return config::parse(as, t.name, t.value).number;
    } catch (error const&) { t.refuse(allowed); }
}

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> words) noexcept {
    auto const upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
    return std::ranges::any_of(
        words, [&](auto word) { return std::ranges::equal(value, word, [&](char a, char b) { return upper(a) == b; }); });
}

void read_trait(partition_traits& into, trait const& t) {
    if (is_one_of(t.name, {"SIZE"})) into.bytes = size_of(t, 1, "1 .. 64T");
    else if (is_one_of(t.name, {"PGSIZE"})) {
        constexpr auto allowed = "a power of two, 4K .. 64T";
        into.page_bytes = size_of(t, 4_KiB, allowed);
        if (!std::has_single_bit(into.page_bytes)) t.refuse(allowed);
    } else if (is_one_of(t.name, {"KIND"})) {
        bool const fast = is_one_of(t.value, {"FASTMEM", "F"});
        if (!fast && !is_one_of(t.value, {"NORMALMEM", "N", "DEFAULT", "D"}))
            t.refuse("NORMALMEM (N, DEFAULT, D), FASTMEM (F)");
        into.kind = fast ? memory_kind::fast : memory_kind::normal;
    } else if (is_one_of(t.name, {"POLICY"})) {
        into.is_mandatory = is_one_of(t.value, {"MANDATORY", "M"});
        if (!into.is_mandatory && !is_one_of(t.value, {"PREFERRED", "P"})) t.refuse("MANDATORY (M), PREFERRED (P)");
    } else
        throw error{errc::configuration,
                    fmt::format("{}: there is no trait \"{}\"; allowed: size, pgsize, kind, policy", t.variable, t.name)};
}

/// False: there are none of the nodes that the range is bound to.
bool touch(std::span<std::byte> range) noexcept {
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE, Linux 5.14; an older one leaves it to the first touch
    return ::madvise(range.data(), range.size(), populate_write) == 0 || errno == EINVAL;
}

void lacks(partition& p, std::string const& why) {
    auto const sentence = fmt::format("mpt: partition {} of the symmetric heap: {}.", p.id, why);
    if (p.asked.is_mandatory)
        throw error{errc::no_memory, sentence + " Its policy is MANDATORY; with PREFERRED it would be as the system has it."};
    p.lacks += (p.lacks.empty() ? "" : " ") + sentence;
}

} // namespace

std::string_view to_string(memory_kind k) noexcept { return k == memory_kind::fast ? "FASTMEM" : "NORMALMEM"; }

partition_traits read_partition(std::string_view variable, std::string_view value) {
    partition_traits traits;
    std::string seen;
    auto const whole = value;
    while (!value.empty()) {
        auto const end = std::min(value.find(':'), value.size());
        auto const one = value.substr(0, end);
        value.remove_prefix(std::min(end + 1, value.size()));
        auto const equals = std::min(one.find('='), one.size());
        trait const t{variable, one.substr(0, equals), one.substr(std::min(equals + 1, one.size()))};
        if (t.value.empty())
            throw error{errc::configuration,
                        fmt::format("{}={}: a trait is written NAME=VALUE, and traits are parted by a colon, "
                                    "as in size=2G:kind=FASTMEM:policy=M",
                                    variable, whole)};
        read_trait(traits, t);
        if (auto const mark = fmt::format(":{}=", t.name); seen.find(mark) != seen.npos)
            throw error{errc::configuration, fmt::format("{}={}: {} is there twice", variable, whole, t.name)};
        else seen += mark;
    }
    if (!whole.empty() && traits.bytes == 0)
        throw error{errc::configuration, fmt::format("{}={}: it lacks size=, which every partition has", variable, whole)};
    return traits;
}

partition_wishes agree(std::span<partition_wishes const> by_pe) {
    auto all = by_pe[0];
    for (std::size_t pe = 1; pe < by_pe.size(); ++pe)
        for (std::size_t i = 0; i < most_partitions; ++i) {
            auto theirs = by_pe[pe][i];
            auto const least = std::min(all[i].bytes, theirs.bytes), most = std::max(all[i].bytes, theirs.bytes);
            theirs.bytes = all[i].bytes;
            if ((least == 0) != (most == 0) || theirs != all[i])
                throw error{
                    errc::argument,
                    fmt::format("mpt: partition {} of the symmetric heap is asked for with other traits by PE {} than by "
                                "PE 0: all but size must be the same (MPT_SYMMETRIC_PARTITION{})",
                                i + 1, pe, i + 1)};
            all[i].bytes = least;
        }
    return all;
}

heap_layout lay_out(partition_wishes const& wishes) {
    heap_layout out;
    for (std::size_t i = 0; i < most_partitions; ++i) {
        if (wishes[i].bytes == 0) continue;
        auto const is_large = wants_large(wishes[i]);
        partition p{.id = static_cast<int>(i) + 1,
                    .asked = wishes[i],
                    .begin = up(out.bytes, is_large ? large_page : huge),
                    .bytes = up(wishes[i].bytes, 4_KiB),
                    .kind = {},
                    .page_bytes = 4_KiB,
                    .lacks = {}};
        out.bytes = p.begin + (is_large ? up(p.bytes, large_page) : p.bytes);
        if (is_large) out.alignment = large_page;
        out.partitions.push_back(std::move(p));
    }
    out.alignment = std::max(out.alignment, std::min(huge, std::bit_floor(out.bytes)));
    return out;
}

void place(partition& p, std::span<std::byte> range, mem::offer const& here, int pes) {
    if (p.asked.kind == memory_kind::fast) {
        auto const policy = p.asked.is_mandatory ? mem::strictness::mandatory : mem::strictness::preferred;
        auto const all = p.bytes * static_cast<std::uint64_t>(pes);
        if (auto const why = mem::take_nodes(range, mem::affinity::mcdram, policy, all, here); !why.empty())
            lacks(p, fmt::format("{} PEs ask for {} of FASTMEM, but {} (MEMKIND_HBW_NODES names nodes that count as such)", pes,
                                 detail::human(all), why));
        else p.kind = memory_kind::fast;
    }
    if (p.kind == memory_kind::fast && p.is_of_pool() && !touch(range)) // what binds such pages binds this process alone
        lacks(p, "its huge pages are not to be had of FASTMEM");
    if (p.asked.page_bytes <= p.page_bytes) return;
    if (here.transparent_page <= std::min(huge, p.bytes) && here.transparent_page > p.page_bytes)
        p.page_bytes = mem::take_pages(range, here);
    bool const is_several = p.page_bytes == large_page || (p.page_bytes == huge && p.asked.page_bytes <= most_pages_in_one);
    if (p.asked.page_bytes <= p.page_bytes || is_several) return;
    auto const* const why = p.page_bytes == huge
                                ? " (too few of the next larger are free, /sys/kernel/mm/hugepages/hugepages-1048576kB)"
                                : " (too few huge pages are free, /proc/sys/vm/nr_hugepages, and "
                                  "/sys/kernel/mm/transparent_hugepage/shmem_enabled gives it no others)";
    lacks(p, fmt::format("pages of {} are asked for, and shared memory has them here up to {}{}",
                         detail::human(p.asked.page_bytes), detail::human(p.page_bytes), why));
}

void advise_pages(partition const& p, std::span<std::byte> range) noexcept {
    if (p.page_bytes > 4_KiB && !p.is_of_pool())
        ::madvise(range.data(), range.size(), MADV_HUGEPAGE); // advice: who does not take it has small pages
}

// --- maps ---------------------------------------------------------------------------------------------------------------------

partitioned_map::partitioned_map(std::span<partition const> all) {
    for (auto const& p : all) parts_.push_back({p.id, p.begin, heap_map{p.bytes}});
}
std::size_t partitioned_map::find(int id) const noexcept {
    return static_cast<std::size_t>(std::ranges::find(parts_, id, &part::id) - parts_.begin());
}
std::size_t partitioned_map::at(std::uint64_t offset) const noexcept {
    auto i = parts_.size() - 1;
    while (i > 0 && parts_[i].begin > offset) --i;
    return i;
}
std::optional<std::uint64_t> partitioned_map::take(int id, std::uint64_t n, std::uint64_t align) {
    auto const i = find(id);
    if (i == parts_.size()) return std::nullopt;
    auto const at = parts_[i].map.take(n, align, parts_[i].begin);
    return at ? std::optional{parts_[i].begin + *at} : std::nullopt;
}
bool partitioned_map::give(std::uint64_t offset) {
    auto& p = parts_[at(offset)];
    return p.map.give(offset - p.begin);
}
bool partitioned_map::resize(std::uint64_t offset, std::uint64_t n) {
    auto& p = parts_[at(offset)];
    return p.map.resize(offset - p.begin, n);
}
std::uint64_t partitioned_map::size_of(std::uint64_t offset) const noexcept {
    auto const& p = parts_[at(offset)];
    return p.map.size_of(offset - p.begin);
}
auto partitioned_map::around(std::uint64_t offset) const noexcept -> std::optional<heap_map::asked_block> {
    auto const& p = parts_[at(offset)];
    auto b = p.map.around(offset - p.begin);
    if (b) b->at += p.begin;
    return b;
}
std::uint64_t partitioned_map::used() const noexcept {
    std::uint64_t n = 0;
    for (auto const& p : parts_) n += p.map.used();
    return n;
}

} // namespace mpt::inline v0::shmem
