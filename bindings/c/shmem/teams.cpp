// Teams and contexts: what their handles stand for. A handle is a place in a table and, above it, a number that changes each time the
// place is used again, so one that was destroyed is found out by a comparison.
#include <optional>
#include <tuple>

#include <pthread.h>

#include "engine.hpp"

namespace mpt::c::shmem {

namespace {

constexpr std::uintptr_t world_handle = 1, shared_handle = 2; // as shmem.h has them
constexpr auto most_teams = std::uintptr_t{1} << 32;          // memory has an end before

template <class Handle> Handle handle_of(std::uintptr_t place, std::uintptr_t generation, std::size_t most) {
    return reinterpret_cast<Handle>(generation * most + place);
}
std::uintptr_t number(shmem_team_t team) noexcept { return reinterpret_cast<std::uintptr_t>(team); }

team_slot* slot_of(engine& e, shmem_team_t team) noexcept {
    auto const place = number(team) % most_teams;
    if (team == nullptr || place >= e.teams.size() || e.teams[place].handle != number(team)) return nullptr;
    return &e.teams[place];
}

/// With e.changing locked. A handle that no team has yet; throws where the table cannot grow.
std::size_t take_place(engine& e) {
    auto& place = e.first_free_team;
    while (place < e.teams.size() && e.teams[place].handle != 0) ++place;
    if (place == e.teams.size()) e.teams.emplace_back();
    e.teams[place].handle = number(handle_of<shmem_team_t>(place, ++e.teams[place].generation, most_teams));
    return place;
}
/// With e.changing locked.
void leave_place(engine& e, std::size_t place) noexcept {
    auto& slot = e.teams[place];
    slot.handle = 0, slot.team = nullptr, slot.owned = nullptr;
    e.first_free_team = std::min(e.first_free_team, place);
}
/// SHMEM_TEAM_INVALID for no team.
shmem_team_t published(engine& e, std::size_t place, std::unique_ptr<team_type> team) noexcept {
    std::lock_guard const g{e.changing};
    if (!team) return leave_place(e, place), SHMEM_TEAM_INVALID;
    e.teams[place].team = team.get();
    e.teams[place].owned = std::move(team);
    return reinterpret_cast<shmem_team_t>(e.teams[place].handle);
}

auto parts(std::unique_ptr<team_type>& one) { return std::tie(one); }
template <class Several> Several& parts(Several& teams) { return teams; }

/// The teams that split(parent) gives, told by their handles. Not 0, and none: where it gives none, or a PE of the parent has no memory
/// for handles.
template <class... Handle, class Split>
int make_teams(shmem_team_t parent, std::string_view what, Split const& split, Handle*... made) {
    ((*made = SHMEM_TEAM_INVALID), ...);
    auto* const t = find_team(parent);
    if (!t) return -1;
    common const call{what};
    return guarded(call, [&] {
        must_match(*t, call);
        auto& e = here();
        std::vector<std::size_t> taken;
        bool const has_places = team_type::tries([&] {
            taken.reserve(sizeof...(made));
            std::lock_guard const g{e.changing};
            (taken.push_back((static_cast<void>(made), take_place(e))), ...);
            return true;
        });
        if (t->all_can(has_places))
            if (auto teams = split(*t)) {
                auto place = taken.begin();
                std::apply([&](auto&... team) { ((*made = published(e, *place++, std::move(team))), ...); }, parts(*teams));
                return 0;
            }
        std::lock_guard const g{e.changing};
        for (auto const place : taken) leave_place(e, place);
        return -1;
    });
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
    e.teams[world_handle].handle = world_handle, e.teams[world_handle].team = &e.job().world();
    e.teams[shared_handle].handle = shared_handle, e.teams[shared_handle].team = &e.job().node();
    if (e.contexts.size() < 2) e.contexts.resize(2);
    e.contexts[1].team = SHMEM_TEAM_WORLD;
    the_contexts[1] = {SHMEM_CTX_DEFAULT, e.places.data(), e.job().size()};
}
void forget_objects(engine& e) {
    std::lock_guard const g{e.changing};
    for (std::size_t i = 2; i < e.contexts.size(); ++i)
        if (e.contexts[i].engine) end_context(e, i);
    the_contexts = {};
    for (std::size_t i = 1; i < e.teams.size(); ++i) leave_place(e, i);
    e.first_free_team = first_team;
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
    return make_teams(
        parent, "shmem_team_split_strided",
        [=](auto& t) { return t.split_strided(start, stride, size, config_of(config, mask)); }, made);
}
int split_2d(shmem_team_t parent, int range, shmem_team_config_t const* x_config, long x_mask, shmem_team_t* x,
             shmem_team_config_t const* y_config, long y_mask, shmem_team_t* y) {
    auto const split = [=](auto& t) { return t.split_2d(range, config_of(x_config, x_mask), config_of(y_config, y_mask)); };
    return make_teams(parent, "shmem_team_split_2d", split, x, y);
}
int split_color(shmem_team_t parent, int color, int key, shmem_team_t* made) {
    return make_teams(
        parent, "shmemx_team_split_color", [=](auto& t) { return t.split(color, key); }, made);
}
int split_grid(shmem_team_t parent, int x_range, int y_range, shmem_team_t* x, shmem_team_t* y) {
    return make_teams(
        parent, "shmemx_team_split_2d", [=](auto& t) { return t.split_2d(x_range, y_range); }, x, y);
}
int split_3d(shmem_team_t parent, int x_range, int y_range, int z_range, shmem_team_t* x, shmem_team_t* y, shmem_team_t* z) {
    return make_teams(
        parent, "shmemx_team_split_3d", [=](auto& t) { return t.split_3d(x_range, y_range, z_range); }, x, y, z);
}
int local_pes(int* pes, std::size_t n) {
    auto const size = team_size(SHMEM_TEAM_SHARED);
    for (int i = 0; i < size && static_cast<std::size_t>(i) < n; ++i)
        pes[i] = translate(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);
    return size;
}
/// Its contexts end with it.
void destroy_team(shmem_team_t team) {
    guarded("shmem_team_destroy", [team] {
        auto& e = here();
        std::unique_ptr<team_type> last; // ends when nothing is locked
        std::lock_guard const g{e.changing};
        auto* const slot = slot_of(e, team);
        if (!slot || !slot->owned) return;
        for (std::size_t i = 2; i < e.contexts.size(); ++i)
            if (e.contexts[i].engine && e.contexts[i].team == team) end_context(e, i);
        last = std::move(slot->owned);
        leave_place(e, number(team) % most_teams);
    });
}

// --- contexts -----------------------------------------------------------------------------------------------------------------

int create_context(shmem_team_t team, long options, shmem_ctx_t* made) {
    *made = SHMEM_CTX_INVALID;
    auto* const t = find_team(team);
    if (!t) return -1;
    return guarded("shmem_ctx_create", [&] {
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
    guarded("shmem_ctx_destroy", [ctx] {
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
    return guarded("shmemx_thread_register", [] {
        if (!here().job().register_thread()) return 1;
        if (auto const key = ending()) pthread_setspecific(*key, &here());
        return 0;
    });
}
void unregister_thread() {
    guarded("shmemx_thread_unregister", [] { here().job().unregister_thread(); });
}
void tell_use(int* places, int* unused, int* owned, int* contexts, int* threads) {
    guarded("shmemx_resource_use", [=] {
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
    give_up_call(ctx == SHMEM_CTX_INVALID ? "mpt: a call of OpenSHMEM was given SHMEM_CTX_INVALID as its context"
                                          : "mpt: a call of OpenSHMEM was given a context that is none, or that was destroyed");
}

} // namespace mpt::c::shmem
