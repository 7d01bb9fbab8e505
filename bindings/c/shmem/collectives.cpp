// Collectives over teams and active sets.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "engine.hpp"

namespace mpt::c::shmem {

namespace {

/// f(the team), and 0; where the handle is none, -1.
template <class F> int over(shmem_team_t team, common const& mine, F const& f) {
    auto* const t = find_team(team);
    if (!t) return -1;
    return guarded(mine, [&] { return must_match(*t, mine), f(*t), 0; });
}
/// An active set that is none, or that the caller is not in, ends the job.
template <class F> int over(set const& who, common const& mine, F const& f) {
    return guarded(mine, [&] {
        auto& t = here().job().active_set(who.start, who.log_stride, who.size);
        return must_match(t, mine), f(t), 0;
    });
}

/// A call as others see it.
struct shown_call {
    std::array<char, 32> what;
    std::array<char, 96> name;
    std::uint64_t bytes;
    std::int32_t root, op;
};
template <std::size_t N> void note(std::array<char, N>& into, std::string_view text) {
    std::memcpy(into.data(), text.data(), std::min(text.size(), N - 1));
}
std::string name_of(team_type& t) {
    auto& job = here().job();
    if (&t == &job.world()) return "SHMEM_TEAM_WORLD";
    if (&t == &job.node()) return "SHMEM_TEAM_SHARED";
    std::string text = "the team of PEs";
    for (std::int32_t pe = 0; pe < t.size() && pe < 16; ++pe) text += " " + std::to_string(t.world(pe).value);
    return text + (t.size() > 16 ? " ..." : "");
}
/// What two PEs do that is not the same; empty: it is.
std::string difference(std::string const& pe, shown_call const& a, std::string const& other, shown_call const& b) {
    auto const both = [&](std::string const& what, std::string const& x, std::string const& y) {
        return "PE " + pe + what + x + ", and PE " + other + " " + y;
    };
    if (a.what != b.what || a.op != b.op) return both(" calls ", a.name.data(), b.name.data());
    if (a.root != b.root) return both(" names ", "root " + std::to_string(a.root), "root " + std::to_string(b.root));
    if (a.bytes != b.bytes) return both(" gives ", std::to_string(a.bytes) + " bytes", std::to_string(b.bytes) + " bytes");
    return {};
}

/// As whose wait a report shows what the PEs exchange before the call itself.
coll::speaker speaker_of(common const& call) {
    using enum coll::speaker;
    auto const is = [&](auto const... names) { return ((call.what == names) || ...); };
    if (is("barrier", "sync", "shmem_finalize")) return barrier;
    if (is("broadcast")) return broadcast;
    if (is("collect", "fcollect")) return allgather;
    if (is("alltoall", "alltoalls", "shmemx_alltoallv", "shmemx_alltoallv_packed")) return alltoall;
    return is("inscan", "exscan") ? scan : allreduce;
}

/// How much of its block of the heap follows an address, for calls that are checked; of static data that is not known.
std::size_t room_at(void const* dest) {
    if (!call_name() || !is_in_heap(dest)) return ~std::size_t{0};
    auto const block = block_around(dest);
    if (block.bytes == 0) return 0;
    auto const before = static_cast<std::size_t>(static_cast<std::byte const*>(dest) - static_cast<std::byte const*>(block.at));
    return block.bytes - std::min(before, block.bytes);
}

/// For calls that are checked: nothing that comes to dest lies in source. The entry point knows the caller's own piece alone.
void keep_apart(team_type& t, void const* dest, std::size_t room, void const* source, std::size_t n) {
    std::vector<std::size_t> sizes(static_cast<std::size_t>(t.size()));
    mpt::shmem::fcollect(t, sizes.data(), &n, sizeof n);
    auto const all = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    auto const into = reinterpret_cast<std::uintptr_t>(dest), from = reinterpret_cast<std::uintptr_t>(source);
    bool const apart = n == 0 || (into >= from ? into - from >= n : from - into >= all);
    if (apart || all > room) return; // what dest has no room for, collect finds
    std::array<char, 160> text{};
    std::snprintf(text.data(), text.size(), "mpt: collect: dest (%p, %zu bytes) and source (%p, %zu bytes) overlap", dest, all,
                  source, n);
    throw error{errc::usage, text.data()};
}
template <class Who> int collect_over(Who const& who, void* dest, void const* source, std::size_t n) {
    return over(who, {"collect"}, [=](team_type& t) {
        auto const room = room_at(dest);
        if (call_name()) keep_apart(t, dest, room, source, n);
        mpt::shmem::collect(t, dest, source, n, room);
    });
}

} // namespace

void compare_calls(team_type& t, char const* name, common const& mine) {
    shown_call own{{}, {}, mine.bytes, mine.root, static_cast<std::int32_t>(mine.op)};
    note(own.what, mine.what), note(own.name, name);
    std::vector<shown_call> all(static_cast<std::size_t>(t.size()));
    auto const native = t.native();
    auto& lane = native.wire().on();
    coll::rooted_call const noted{speaker_of(mine), 0, coll::rooted_call::for_reports};
    lane.calls_of(lane.me()).note(native.wire().context(), noted.word());
    mpt::shmem::fcollect(t, all.data(), &own, sizeof own);
    for (std::int32_t pe = 1; pe < t.size(); ++pe) {
        auto const found = difference(std::to_string(t.world(0).value), all.front(), std::to_string(t.world(pe).value),
                                      all[static_cast<std::size_t>(pe)]);
        if (!found.empty()) throw error{errc::usage, "mpt: " + found + ", on " + name_of(t) + "; all its PEs call the same"};
    }
}

void barrier_all() {
    guarded("shmem_barrier_all", [] { must_match(here().job().world(), {"barrier"}), here().env->barrier_all(); });
}
void sync_all() {
    guarded("shmem_sync_all", [] { must_match(here().job().world(), {"sync"}), here().env->sync_all(); });
}
void barrier(set const& who) {
    over(who, {"barrier"}, [](team_type& t) { here().job().barrier(t); });
}
void barrier(shmem_team_t team) {
    over(team, {"barrier"}, [](team_type& t) { here().job().barrier(t); });
}

int sync(shmem_team_t team) { return over(team, {"sync"}, mpt::shmem::sync<stack>); }
int sync(set const& who) { return over(who, {"sync"}, mpt::shmem::sync<stack>); }

int alltoall(shmem_team_t team, void* dest, void const* source, std::size_t n) {
    return over(team, {"alltoall", n}, [=](team_type& t) { mpt::shmem::alltoall(t, dest, source, n); });
}
int alltoall(set const& who, void* dest, void const* source, std::size_t n) {
    return over(who, {"alltoall", n}, [=](team_type& t) { mpt::shmem::alltoall(t, dest, source, n); });
}
int alltoalls(shmem_team_t team, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t n,
              std::size_t width) {
    return over(team, {"alltoalls", n * width},
                [=](team_type& t) { mpt::shmem::alltoalls(t, dest, source, dst, sst, n, width); });
}
int alltoalls(set const& who, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t n,
              std::size_t width) {
    return over(who, {"alltoalls", n * width},
                [=](team_type& t) { mpt::shmem::alltoalls(t, dest, source, dst, sst, n, width); });
}
int broadcast(shmem_team_t team, void* dest, void const* source, std::size_t n, int root) {
    return over(team, {"broadcast", n, root}, [=](team_type& t) { mpt::shmem::broadcast(t, dest, source, n, root); });
}
int broadcast(set const& who, void* dest, void const* source, std::size_t n, int root) {
    return over(who, {"broadcast", n, root}, [=](team_type& t) { mpt::shmem::broadcast(t, dest, source, n, root, true); });
}
int collect(shmem_team_t team, void* dest, void const* source, std::size_t n) { return collect_over(team, dest, source, n); }
int collect(set const& who, void* dest, void const* source, std::size_t n) { return collect_over(who, dest, source, n); }
int fcollect(shmem_team_t team, void* dest, void const* source, std::size_t n) {
    return over(team, {"fcollect", n}, [=](team_type& t) { mpt::shmem::fcollect(t, dest, source, n); });
}
int fcollect(set const& who, void* dest, void const* source, std::size_t n) {
    return over(who, {"fcollect", n}, [=](team_type& t) { mpt::shmem::fcollect(t, dest, source, n); });
}

int alltoallv(shmem_team_t team, void* dest, std::size_t const* offsets, std::size_t* sizes, void const* source,
              std::size_t const* source_offsets, std::size_t const* source_sizes) {
    return over(team, {"shmemx_alltoallv"},
                [=](team_type& t) { mpt::shmem::alltoallv(t, dest, offsets, sizes, source, source_offsets, source_sizes); });
}
int alltoallv(set const& who, void* dest, std::size_t const* offsets, std::size_t* sizes, void const* source,
              std::size_t const* source_offsets, std::size_t const* source_sizes) {
    return over(who, {"shmemx_alltoallv"},
                [=](team_type& t) { mpt::shmem::alltoallv(t, dest, offsets, sizes, source, source_offsets, source_sizes); });
}
std::size_t alltoallv_packed(shmem_team_t team, void* dest, std::size_t room, void const* source,
                             std::size_t const* source_offsets, std::size_t const* source_sizes) {
    std::size_t came = 0;
    over(team, {"shmemx_alltoallv_packed"},
         [&](team_type& t) { came = mpt::shmem::alltoallv_packed(t, dest, room, source, source_offsets, source_sizes); });
    return came;
}
std::size_t alltoallv_packed(set const& who, void* dest, std::size_t room, void const* source,
                             std::size_t const* source_offsets, std::size_t const* source_sizes) {
    std::size_t came = 0;
    over(who, {"shmemx_alltoallv_packed"},
         [&](team_type& t) { came = mpt::shmem::alltoallv_packed(t, dest, room, source, source_offsets, source_sizes); });
    return came;
}

namespace far {

int reduce(shmem_team_t team, operation op, element_kind kind, void* dest, void const* source, std::size_t n) {
    return over(team, {"reduce", n, 0, op, "_reduce"}, [=](team_type& t) { mpt::shmem::reduce(t, dest, source, n, op, kind); });
}
int reduce(set const& who, operation op, element_kind kind, void* dest, void const* source, std::size_t n) {
    return over(who, {"reduce", n, 0, op, "_to_all"}, [=](team_type& t) { mpt::shmem::reduce(t, dest, source, n, op, kind); });
}
int scan(shmem_team_t team, element_kind kind, void* dest, void const* source, std::size_t n, bool with_own) {
    using mpt::shmem::scan_kind;
    auto const which = with_own ? scan_kind::inclusive : scan_kind::exclusive;
    return over(team, {with_own ? "inscan" : "exscan", n, 0, operation::sum, with_own ? "_inscan" : "_exscan"},
                [=](team_type& t) { mpt::shmem::scan(t, dest, source, n, which, kind); });
}

} // namespace far
} // namespace mpt::c::shmem
