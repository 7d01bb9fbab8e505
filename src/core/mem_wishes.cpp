// What the environment and a call's hints ask of memory: mem/wishes.hpp.
#include <mpt/mem/wishes.hpp>

namespace mpt::inline v0::mem {
namespace {

affinity affinity_at(std::uint64_t place) noexcept { // sys_default ddr mcdram d m
    switch (place) {
    case 1:
    case 3: return affinity::ddr;
    case 2:
    case 4: return affinity::mcdram;
    default: return affinity::system;
    }
}
strictness strictness_at(std::uint64_t place) noexcept { // preferred mandatory interleave p m i
    switch (place % 3) {
    case 1: return strictness::mandatory;
    case 2: return strictness::interleave;
    default: return strictness::preferred;
    }
}
bytes page_at(std::uint64_t place) noexcept { // 4K 2M 4M ... 512M
    return place == 0 ? bytes{4_KiB} : bytes{std::size_t{1} << (20 + place)};
}

template <text Name> std::uint64_t place_of(config::values const& v) { return v.at(config::row_of(Name.view())).number; }

/// What a hint says in a variable's words; nothing where it says nothing, or no such word.
template <text Name> std::optional<std::uint64_t> hinted(hint_source const& hint, std::string_view name) {
    constexpr auto row = config::row_of(Name.view());
    static_assert(row < config::table.size());
    auto const value = hint(name);
    if (!value) return {};
    try {
        return config::parse(config::table[row], name, *value).number;
    } catch (error const&) { return {}; }
}
} // namespace

wish wish_for_allocations(config::values const& v) {
    return {.kind = affinity_at(place_of<"MPT_ALLOC_MEM_AFFINITY">(v)),
            .policy = strictness_at(place_of<"MPT_ALLOC_MEM_POLICY">(v)),
            .page = page_at(place_of<"MPT_ALLOC_MEM_PG_SZ">(v))};
}
wish wish_for_internal(config::values const& v) {
    return {.kind = affinity_at(place_of<"MPT_INTERNAL_MEM_AFFINITY">(v)), .policy = strictness::preferred, .page = 4_KiB};
}

wish with_hints(wish is, hint_source const& hint) {
    if (auto const n = hinted<"MPT_ALLOC_MEM_AFFINITY">(hint, "mpt_mem_affinity")) is.kind = affinity_at(*n);
    if (auto const n = hinted<"MPT_ALLOC_MEM_POLICY">(hint, "mpt_mem_policy")) is.policy = strictness_at(*n);
    if (auto const n = hinted<"MPT_ALLOC_MEM_PG_SZ">(hint, "mpt_mem_pg_sz")) is.page = page_at(*n);
    return is;
}

} // namespace mpt::inline v0::mem
