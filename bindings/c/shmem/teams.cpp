// Teams and contexts: what their handles stand for. A handle is a place in a table and, above it, a number that changes each time the
// place is used again, so one that was destroyed is found out by a comparison.
#include <optional>

#include <pthread.h>

#include "engine.hpp"

namespace mpt::c::shmem {

namespace {

constexpr std::uintptr_t world_handle = 1, shared_handle = 2; // as shmem.h has them

template <class Handle> Handle handle_of(std::uintptr_t place, std::uintptr_t generation, std::size_t most) {
    return reinterpret_cast<Handle>(generation * most + place);
}
std::uintptr_t number(shmem_team_t team) noexcept { return reinterpret_cast<std::uintptr_t>(team); }

team_slot* slot_of(engine& e, shmem_team_t team) noexcept {
    auto const place = number(team) % most_teams;
    if (team == nullptr || place >= e.teams.size() || e.teams[place].handle != number(team)) return nullptr;
    return &e.teams[place];
}

/// A handle for a team that was made; SHMEM_TEAM_INVALID for none.
shmem_team_t published(engine& e, std::unique_ptr<team_type> team) {
    if (!team) return SHMEM_TEAM_INVALID;
    std::lock_guard const g{e.changing};
    std::size_t place = 3;
    while (place < e.teams.size() && e.teams[place].handle != 0) ++place;
    if (place == most_teams)
        throw error{errc::no_memory, "mpt: there are " + std::to_string(most_teams - 3) + " teams, and no more can be made"};
    if (place == e.teams.size()) e.teams.emplace_back();
    e.team_generations.resize(e.teams.size());
    auto const handle = handle_of<shmem_team_t>(place, ++e.team_generations[place], most_teams);
    auto* const made = team.get();
    e.teams[place] = {number(handle), made, std::move(team)};
    return handle;
}

mpt::shmem::team_config config_of(shmem_team_config_t const* config, long mask) noexcept {
    if (!config || (mask & SHMEM_TEAM_NUM_CONTEXTS) == 0) return {};
    return {config->num_contexts};
}

/// Where the heaps of a team's PEs lie.
std::unique_ptr<std::byte*[]> places_of(engine& e, team_type const& t) {
    auto places = std::make_unique<std::byte*[]>(static_cast<std::size_t>(t.size()));
    for (rank pe = 0; pe < t.size(); pe = pe + 1)
        places[static_cast<std::size_t>(pe.value)] = e.places[static_cast<std::size_t>(t.world(pe).value)];
    return places;
}

/// With e.changing locked.
void end_context(engine& e, std::size_t place) {
    auto& slot = e.contexts[place];
    the_contexts[place] = {};
    e.job().destroy(std::move(slot.engine));
    slot.places.reset();
    slot.team = nullptr;
    e.first_free = std::min(e.first_free, place);
}

} // namespace

void predefine(engine& e) {
    e.teams[world_handle] = {world_handle, &e.job().world(), nullptr};
    e.teams[shared_handle] = {shared_handle, &e.job().node(), nullptr};
    if (e.contexts.size() < 2) e.contexts.resize(2);
    e.contexts[1].team = SHMEM_TEAM_WORLD;
    the_contexts[1] = {SHMEM_CTX_DEFAULT, e.places.data(), e.job().size()};
}
void forget_objects(engine& e) {
    std::lock_guard const g{e.changing};
    for (std::size_t i = 2; i < e.contexts.size(); ++i)
        if (e.contexts[i].engine) end_context(e, i);
    the_contexts = {};
    for (auto& t : e.teams) t = {};
}

// --- teams --------------------------------------------------------------------------------------------------------------------

team_type* find_team(shmem_team_t team) noexcept {
    auto& e = here();
    std::lock_guard const g{e.changing};
    auto const* const slot = slot_of(e, team);
    return slot ? slot->team : nullptr;
}
bool is_team(shmem_team_t team) noexcept { return find_team(team) != nullptr; }
int team_me(shmem_team_t team) noexcept {
    auto const* const t = find_team(team);
    return t ? t->me().value : -1;
}
int team_size(shmem_team_t team) noexcept {
    auto const* const t = find_team(team);
    return t ? t->size() : -1;
}
int team_config(shmem_team_t team, long mask, shmem_team_config_t* config) {
    auto const* const t = find_team(team);
    if (!t) return -1;
    if (config && (mask & SHMEM_TEAM_NUM_CONTEXTS)) config->num_contexts = t->config().num_contexts.value_or(0);
    return 0;
}
int translate(shmem_team_t from, int pe, shmem_team_t to) noexcept {
    auto const *const a = find_team(from), *const b = find_team(to);
    if (!a || !b) return -1;
    auto const there = a->translate(pe, *b);
    return there ? there->value : -1;
}

int split_strided(shmem_team_t parent, int start, int stride, int size, shmem_team_config_t const* config, long mask,
                  shmem_team_t* made) {
    *made = SHMEM_TEAM_INVALID;
    auto* const t = find_team(parent);
    if (!t) return -1;
    return guarded([&] {
        auto team = t->split_strided(start, stride, size, config_of(config, mask));
        if (!team) return -1;
        *made = published(here(), std::move(*team));
        return 0;
    });
}
int split_2d(shmem_team_t parent, int range, shmem_team_config_t const* x_config, long x_mask, shmem_team_t* x,
             shmem_team_config_t const* y_config, long y_mask, shmem_team_t* y) {
    *x = *y = SHMEM_TEAM_INVALID;
    auto* const t = find_team(parent);
    if (!t) return -1;
    return guarded([&] {
        auto teams = t->split_2d(range, config_of(x_config, x_mask), config_of(y_config, y_mask));
        if (!teams) return -1;
        *x = published(here(), std::move(teams->first));
        *y = published(here(), std::move(teams->second));
        return 0;
    });
}
int split_color(shmem_team_t parent, int color, int key, shmem_team_t* made) {
    *made = SHMEM_TEAM_INVALID;
    auto* const t = find_team(parent);
    if (!t) return -1;
    return guarded([&] {
        *made = published(here(), t->split(color, key));
        return 0;
    });
}
int split_grid(shmem_team_t parent, int x_range, int y_range, shmem_team_t* x, shmem_team_t* y) {
    *x = *y = SHMEM_TEAM_INVALID;
    auto* const t = find_team(parent);
    if (!t) return -1;
    return guarded([&] {
        auto teams = t->split_2d(x_range, y_range);
        if (!teams) return -1;
        *x = published(here(), std::move(teams->first));
        *y = published(here(), std::move(teams->second));
        return 0;
    });
}
int split_3d(shmem_team_t parent, int x_range, int y_range, int z_range, shmem_team_t* x, shmem_team_t* y, shmem_team_t* z) {
    *x = *y = *z = SHMEM_TEAM_INVALID;
    auto* const t = find_team(parent);
    if (!t) return -1;
    return guarded([&] {
        auto teams = t->split_3d(x_range, y_range, z_range);
        if (!teams) return -1;
        *x = published(here(), std::move(std::get<0>(*teams)));
        *y = published(here(), std::move(std::get<1>(*teams)));
        *z = published(here(), std::move(std::get<2>(*teams)));
        return 0;
    });
}
int local_pes(int* pes, std::size_t n) {
    auto const size = team_size(SHMEM_TEAM_SHARED);
    for (int i = 0; i < size && static_cast<std::size_t>(i) < n; ++i)
        pes[i] = translate(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);
    return size;
}
/// Its contexts end with it.
void destroy_team(shmem_team_t team) {
    guarded([team] {
        auto& e = here();
        std::unique_ptr<team_type> last; // ends when nothing is locked
        std::lock_guard const g{e.changing};
        auto* const slot = slot_of(e, team);
        if (!slot || !slot->owned) return;
        for (std::size_t i = 2; i < e.contexts.size(); ++i)
            if (e.contexts[i].engine && e.contexts[i].team == team) end_context(e, i);
        last = std::move(slot->owned);
        *slot = {};
    });
}

// --- contexts -----------------------------------------------------------------------------------------------------------------

int create_context(shmem_team_t team, long options, shmem_ctx_t* made) {
    *made = SHMEM_CTX_INVALID;
    auto* const t = find_team(team);
    if (!t) return -1;
    return guarded([&] {
        auto& e = here();
        std::lock_guard const g{e.changing};
        auto place = std::max<std::size_t>(e.first_free, 2);
        while (place < e.contexts.size() && e.contexts[place].engine) ++place;
        e.first_free = place;
        if (place == most_contexts) return -1;
        auto engine_context =
            e.job().create_context(*t, {(options & SHMEM_CTX_SERIALIZED) != 0, (options & SHMEM_CTX_PRIVATE) != 0,
                                        (options & SHMEM_CTX_NOSTORE) != 0});
        if (!engine_context) return -1;
        if (place == e.contexts.size()) e.contexts.emplace_back();
        auto& slot = e.contexts[place];
        slot.places = places_of(e, *t);
        slot.team = team;
        slot.maker = e.caller();
        slot.engine = std::move(engine_context);
        *made = handle_of<shmem_ctx_t>(place, ++slot.generation, most_contexts);
        the_contexts[place] = {*made, slot.places.get(), t->size()};
        return 0;
    });
}
void destroy_context(shmem_ctx_t ctx) {
    if (ctx == SHMEM_CTX_INVALID || ctx == SHMEM_CTX_DEFAULT) return;
    context_of(ctx);
    guarded([ctx] {
        std::lock_guard const g{here().changing};
        end_context(here(), place_in_table(ctx));
    });
}
context_promise promised(shmem_ctx_t ctx) {
    auto& e = here();
    std::lock_guard const g{e.changing};
    auto const place = place_in_table(ctx);
    if (place >= e.contexts.size() || !e.contexts[place].engine) return {};
    auto const& slot = e.contexts[place];
    auto const& o = slot.engine->options();
    return {o.is_serialized || o.is_private, o.is_private && slot.maker != e.caller()};
}
int team_of(shmem_ctx_t ctx, shmem_team_t* team) {
    *team = SHMEM_TEAM_INVALID;
    if (ctx == SHMEM_CTX_INVALID) return -1;
    context_of(ctx);
    std::lock_guard const g{here().changing};
    *team = here().contexts[place_in_table(ctx)].team;
    return 0;
}
namespace {

/// A thread that ends registered leaves its place. Its number may be the next thread's.
void thread_ends(void*) {
    auto& e = here();
    std::lock_guard const g{e.changing};
    if (e.env) e.job().drop_thread(e.caller());
}
/// Set in threads that are registered; nothing: the system has none left, and a thread that ends keeps its place.
std::optional<pthread_key_t> ending() {
    static std::optional<pthread_key_t> const key = [] {
        pthread_key_t made{};
        return pthread_key_create(&made, thread_ends) == 0 ? std::optional{made} : std::nullopt;
    }();
    return key;
}

} // namespace

int register_thread() {
    return guarded([] {
        if (!here().job().register_thread()) return 1;
        if (auto const key = ending()) pthread_setspecific(*key, &here());
        return 0;
    });
}
void unregister_thread() {
    guarded([] { here().job().unregister_thread(); });
}
void tell_use(int* places, int* unused, int* owned, int* contexts, int* threads) {
    guarded([=] {
        auto const use = here().job().use();
        *places = static_cast<int>(use.places);
        *unused = static_cast<int>(use.unused);
        *owned = static_cast<int>(use.owned);
        *contexts = static_cast<int>(use.contexts);
        *threads = static_cast<int>(use.threads);
    });
}
int world_of(shmem_ctx_t ctx, int pe) {
    if (ctx == SHMEM_CTX_DEFAULT) return pe;
    context_of(ctx);
    std::lock_guard const g{here().changing};
    return here().contexts[place_in_table(ctx)].engine->world(pe).value;
}
void refuse_context(shmem_ctx_t ctx) {
    if (!running())
        give_up(entered() ? "mpt: OpenSHMEM was called after shmem_finalize" : "mpt: OpenSHMEM was called before shmem_init");
    give_up(ctx == SHMEM_CTX_INVALID ? "mpt: a call of OpenSHMEM was given SHMEM_CTX_INVALID as its context"
                                     : "mpt: a call of OpenSHMEM was given a context that is none, or that was destroyed");
}

} // namespace mpt::c::shmem
