// Chapter 7: communicators.
#include "communicators.hpp"

#include <algorithm>
#include <numeric>

#include <mpt/coll/allgather.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/core/hash.hpp>
#include <mpt/mpi/communicators.hpp>

#include "attributes.hpp"
#include "buffered.hpp"
#include "collective_request.hpp"
#include "entries.hpp"
#include "text.hpp"

namespace mpt::c {

ref<comm> derived(binding& b, comm const& parent, group members, context_id context) {
    auto const me = *members.find(b.run().me());
    auto c = ref<comm>::adopt(new comm{std::move(members), me, context, &b.run().lane_of(context)});
    c->of_session = parent.of_session;
    std::lock_guard const g{b.changing};
    c->handler = parent.handler;
    return c;
}

ref<comm> derived(binding& b, comm const& parent, group members, group others, context_id context) {
    auto c = derived(b, parent, std::move(members), context);
    c->others = std::move(others);
    c->two_sided = true;
    return c;
}

void require_one_side(call const& on, comm const& c, char const* argument) {
    if (c.is_inter()) on.fail(MPI_ERR_COMM, std::string{argument} + " is an intercommunicator, which is not allowed here");
}

MPI_Comm publish(binding& b, ref<comm> c) {
    auto& object = *c;
    object.handle = binding::publish<MPI_Comm>(b.comms, std::move(c));
    if (auto* const s = object.of_session.get()) {
        std::lock_guard const g{b.changing};
        s->comms.insert(object.handle);
    }
    return object.handle;
}
void unpublish(binding& b, MPI_Comm handle) {
    auto const c = ref<comm>::adopt(b.comms.remove(word_of(handle)));
    if (!c || !c->of_session) return;
    std::lock_guard const g{b.changing};
    c->of_session->comms.erase(handle);
}

namespace {

using team = coll::team<stack>;

/// The processes of a communicator, of both sides where it has two, in an order that is the same on all.
class everybody {
    binding& at_;
    comm const& of_;
    group both_;

public:
    everybody(binding& b, comm const& c) : at_{b}, of_{c}, both_{c.is_inter() ? coll::both(c.members, c.others) : group{}} {}
    group const& who() const noexcept { return of_.is_inter() ? both_ : of_.members; }
    team together() const noexcept {
        if (!of_.is_inter()) return team_of(of_);
        auto const joint = coll::joint_context(of_.context);
        return {wire{at_.run().lane_of(joint), joint}, both_, *both_.find(of_.members.world(of_.me)), of_.joint_calls};
    }
    template <class T> std::vector<T> allgathered(T const& mine) const {
        std::vector<T> all(static_cast<std::size_t>(who().size()));
        coll::blocks const places{std::as_writable_bytes(std::span{all}), sizeof(T)};
        coll::allgather(together(), source{&mine, sizeof mine}, places);
        return all;
    }
};

/// Drawn by the first of a team.
context_id agreed(binding& b, team const& t) {
    auto context = b.run().new_context();
    std::span<std::byte> const bytes = std::as_writable_bytes(std::span{&context, 1});
    coll::broadcast(t, coll::place{bytes}, 0);
    return context;
}

// --- hints --------------------------------------------------------------------------------------------------------------------

void take_hints(binding& b, comm& c, info_object const* given) {
    std::lock_guard const g{b.changing};
    if (!given) return;
    c.assertions = hints::taken(given->hints, c.assertions);
    c.asserted_kinds = hints::kinds_asserted(given->hints, c.asserted_kinds);
}

// --- the life of a communicator -------------------------------------------------------------------------------------------------

/// Like another one, but for the context; then(twin) comes after the callbacks of its attributes.
template <class Then> MPI_Comm twin_of(call& on, comm& c, info_object const* hints, context_id context, Then const& then) {
    auto& b = on.of();
    ref<comm> const kept{c}; // callbacks may free it
    auto const twin = c.is_inter() ? derived(b, c, c.members, c.others, context) : derived(b, c, c.members, context);
    twin->shape = c.shape;
    take_hints(b, *twin, hints);
    auto const handle = publish(b, twin);
    try {
        copy_attributes(b, c, *twin);
        then(twin);
    } catch (...) {
        unpublish(b, handle);
        throw;
    }
    return handle;
}

MPI_Comm duplicate(call& on, comm& c, info_object const* hints) {
    return twin_of(on, c, hints, agreed(on.of(), everybody{on.of(), c}.together()), [](ref<comm> const&) {});
}

/// The context that the first process draws for a twin, on its way to the others. The twin is good for nothing until it has come.
class context_request final : public collective_request {
    context_id context_;
    ref<comm> twin_;

public:
    context_request(binding& b, comm& parent, ref<comm> twin)
        : collective_request{parent}, context_{b.run().new_context()}, twin_{std::move(twin)} {
        std::span<std::byte> const bytes = std::as_writable_bytes(std::span{&context_, 1});
        everybody const all{b, parent};
        write_down(all.together(), [bytes](auto const& t) { coll::broadcast(t, coll::place{bytes}, 0); });
    }
    ending finish() override {
        auto e = collective_request::finish();
        if (e.code == MPI_SUCCESS) {
            twin_->context = context_;
            twin_->lane = &here().run().lane_of(context_);
        }
        return e;
    }
};

MPI_Comm duplicate_later(call& on, comm& c, info_object const* hints, MPI_Request& r) {
    return twin_of(on, c, hints, context_id{}, [&](ref<comm> const& twin) {
        r = launch(on.of(), ref<request>::adopt(new context_request{on.of(), c, twin}));
    });
}

MPI_Comm handle_or_null(binding& b, ref<comm> c) { return c ? publish(b, std::move(c)) : MPI_COMM_NULL; }

// --- parts of a split by type: one color each; all ranks of this version are on one host ------------------------------------

std::optional<split_kind> kind_of(int type) noexcept {
    switch (type) {
    case MPI_COMM_TYPE_SHARED: return split_kind::shared;
    case MPI_COMM_TYPE_HW_GUIDED: return split_kind::hw_guided;
    case MPI_COMM_TYPE_HW_UNGUIDED: return split_kind::hw_unguided;
    case MPI_COMM_TYPE_RESOURCE_GUIDED: return split_kind::resource_guided;
    default: return std::nullopt; // MPI_UNDEFINED
    }
}
/// One that takes no part in the split is asked, too: it cannot know by what the others go.
int color_by_type(binding& b, comm const& c, int type, info_object const* given) {
    using detail::hardware_colors;
    auto const kind = kind_of(type);
    auto const mine = kind == split_kind::hw_unguided ? hardware_colors::here() : hardware_colors::none();
    auto const parting = detail::parting_color(mine, everybody{b, c}.allgathered(mine));
    if (kind == split_kind::hw_unguided) return parting;
    return kind ? detail::guided_color(*kind, given ? given->hints : info{}, c.members.world(c.me)) : MPI_UNDEFINED;
}

/// Waits until all that this process has started here is done; its requests stay for who waits for them. No other thread begins or
/// ends one here meanwhile.
void complete_pending(binding& b, comm const& c) {
    std::vector<ref<request>> all;
    auto const take = [&](request& r) {
        if (r.active && r.blamed.comm() == c.handle) all.emplace_back(r);
    };
    b.requests.each_now(take);
    {
        std::lock_guard const g{b.changing};
        for (auto const& r : b.orphans) take(*r);
    }
    for (auto const& r : all) {
        auto& home = r->home();
        home.wait(r->about(), [&](auto&) { return r->peek(home); });
    }
}

/// Requests outlive their communicator, and its handler hears of their errors. MPI-4.1 section 7.4.3. Forgets those of communicators
/// whose requests are over.
void keep_handler(binding& b, comm const& c) {
    std::vector<MPI_Comm> blamed;
    b.requests.each_now([&](request& r) { blamed.push_back(r.blamed.comm()); });
    auto const is_blamed = [&](MPI_Comm which) { return std::ranges::find(blamed, which) != blamed.end(); };
    std::lock_guard const g{b.changing};
    std::erase_if(b.outlived, [&](auto const& one) { return !is_blamed(one.first); });
    if (is_blamed(c.handle)) b.outlived.emplace_back(c.handle, c.handler);
}

void free_comm(call& on, MPI_Comm& handle, bool when_done) {
    auto& b = on.of();
    ref<comm> const c{b.comms.get(handle)};
    if (c.get() == b.world || c.get() == b.self)
        on.fail(MPI_ERR_COMM, "comm is " + name_of(b, c->name) + ", which cannot be freed");
    if (when_done) complete_pending(b, *c);
    remove_attributes(b, *c);
    if (auto const attached = c->buffer.attached()) attached->close(); // it is detached
    keep_handler(b, *c);
    unpublish(b, handle);
    handle = MPI_COMM_NULL;
}

/// The session that the group comes from, if any, has not been finalized.
void require_open(call& on, group_object const& g) {
    std::lock_guard const lock{on.of().changing};
    if (g.of_session && !g.of_session->open) on.fail(MPI_ERR_SESSION, "the session that group comes from was finalized");
}

/// Collective over the group: a communicator that nobody has a handle of yet.
ref<comm> from_group(call& on, group_object const& g, char const* tag, info_object const* hints, errhandler& h) {
    auto& b = on.of();
    require_fitting(on, h, errhandler::action::comm_function, "communicators");
    require_open(on, g);
    auto const context = agreed_context(b.run(), g.members, tag);
    auto c = ref<comm>::adopt(new comm{g.members, *g.members.find(b.run().me()), context, &b.run().lane_of(context)});
    c->of_session = g.of_session;
    c->handler = ref<errhandler>{h};
    take_hints(b, *c, hints);
    return c;
}

/// Where two leaders talk that have no communicator in common.
wire leaders_wire(binding& b, char const* tag, mpt::rank a, mpt::rank c) {
    auto const both = std::minmax(a.value, c.value);
    auto const context = drawn_context(hash_of(std::string_view{"leaders"}, std::string_view{tag}, both.first, both.second));
    return {b.run().lane_of(context), context};
}

void require_two_sides(call const& on, comm const& c, char const* argument) {
    if (!c.is_inter()) on.fail(MPI_ERR_COMM, std::string{argument} + " is an intracommunicator: it has no remote group");
}

} // namespace

ref<comm> created(binding& b, comm const& parent, group const& members) {
    auto const contexts = everybody{b, parent}.allgathered(b.run().new_context());
    if (!members.find(b.run().me())) return {};
    auto const leader = *parent.members.find(members.world(0));
    return derived(b, parent, members, contexts[static_cast<std::size_t>(leader.value)]);
}

namespace {

/// The communicator of the processes of one color, of both sides where there are two; nothing where one of those has none.
ref<comm> of_color(binding& b, comm const& parent, detail::color_vote const& mine) {
    everybody const all{b, parent};
    auto const votes = all.allgathered(mine);
    if (!mine.colored) return {};
    auto const part = [&](group const& side) { return detail::of_color(side, all.who(), votes, mine); };
    auto const context = detail::context_of_color(votes, mine);
    if (!parent.is_inter()) return derived(b, parent, part(parent.members), context);
    auto others = part(parent.others);
    if (others.size() == 0) return {};
    return derived(b, parent, part(parent.members), std::move(others), context);
}

/// As created(), on an intercommunicator: all processes of a side name the same group.
ref<comm> created_on_both(binding& b, comm const& parent, group const& members) {
    auto const place = members.find(b.run().me());
    return of_color(b, parent, {place.has_value(), 0, place.value_or(0), b.run().new_context()});
}

} // namespace

ref<comm> split(binding& b, comm const& parent, int color, int key) {
    return of_color(b, parent, {color != MPI_UNDEFINED, color, key, b.run().new_context()});
}

namespace impl {

void Comm_size(call&, comm& c, int& size) { size = c.size(); }
void Comm_rank(call&, comm& c, int& rank) { rank = c.me; }
void Comm_group(call& on, comm& c, MPI_Group& group) { group = publish(on.of(), c.members, c.of_session); }
void Comm_compare(call&, comm& a, comm& b, int& result) {
    auto const like = std::max(groups::compare(a.members, b.members), groups::compare(a.others, b.others));
    result = &a == &b                       ? MPI_IDENT
             : a.is_inter() != b.is_inter() ? MPI_UNEQUAL
             : like == comparison::ident    ? MPI_CONGRUENT
                                            : static_cast<int>(like);
}
void Comm_test_inter(call&, comm& c, int& flag) { flag = c.is_inter(); }
void Comm_remote_size(call& on, comm& c, int& size) {
    require_two_sides(on, c, "comm");
    size = c.others.size();
}
void Comm_remote_group(call& on, comm& c, MPI_Group& group) {
    require_two_sides(on, c, "comm");
    group = publish(on.of(), c.others, c.of_session);
}
/// No process of this version was spawned.
void Comm_get_parent(call&, MPI_Comm& parent) { parent = MPI_COMM_NULL; }

void Comm_dup(call& on, comm& c, MPI_Comm& made) { made = duplicate(on, c, nullptr); }
void Comm_dup_with_info(call& on, comm& c, info_object* hints, MPI_Comm& made) { made = duplicate(on, c, hints); }
void Comm_idup(call& on, comm& c, MPI_Comm& made, MPI_Request& r) { made = duplicate_later(on, c, nullptr, r); }
void Comm_idup_with_info(call& on, comm& c, info_object* hints, MPI_Comm& made, MPI_Request& r) {
    made = duplicate_later(on, c, hints, r);
}
void Comm_create(call& on, comm& c, group_object& g, MPI_Comm& made) {
    require_one_origin(on, c, g, "comm", "group");
    detail::require_subset(g.members, c.members);
    made = handle_or_null(on.of(), c.is_inter() ? created_on_both(on.of(), c, g.members) : created(on.of(), c, g.members));
}
void Comm_create_group(call& on, comm& c, group_object& g, int tag, MPI_Comm& made) {
    auto& b = on.of();
    require_one_side(on, c, "comm");
    require_one_origin(on, c, g, "comm", "group");
    detail::require_subset(g.members, c.members);
    made = MPI_COMM_NULL;
    auto const me = g.members.find(b.run().me());
    std::uint32_t calls = 0; // of the side context, which is there for this one alone
    if (!me) return;
    auto const side = detail::aside_for_group(c.context, tag);
    made = publish(b, derived(b, c, g.members, agreed(b, {wire{b.run().lane_of(side), side}, g.members, *me, calls})));
}
void Comm_create_from_group(call& on, group_object& g, char const* tag, info_object* hints, errhandler& h, MPI_Comm& made) {
    made = MPI_COMM_NULL;
    if (g.size() != 0) made = publish(on.of(), from_group(on, g, tag, hints, h));
}
void Comm_split(call& on, comm& c, int color, int key, MPI_Comm& made) {
    made = handle_or_null(on.of(), split(on.of(), c, color, key));
}
void Comm_split_type(call& on, comm& c, int type, int key, info_object* hints, MPI_Comm& made) {
    made = handle_or_null(on.of(), split(on.of(), c, color_by_type(on.of(), c, type, hints), key));
}

void Intercomm_create(call& on, comm& local, int leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm& made) {
    auto& b = on.of();
    require_one_side(on, local, "local_comm");
    made = publish(b, joined(on, local, leader, [&] {
                       auto const& peers = on.object(peer, "peer_comm");
                       require_one_origin(on, local, peers, "local_comm", "peer_comm");
                       on.rank(remote_leader, peers.peers(), "remote_leader", also::none);
                       auto const aside = coll::aside(peers.context, tag);
                       return coll::bridge<stack>{{b.run().lane_of(aside), aside}, peers.world(remote_leader)};
                   }));
}
void Intercomm_create_from_groups(call& on, group_object& g, int leader, MPI_Group remote, int remote_leader, char const* tag,
                                  info_object* hints, errhandler& h, MPI_Comm& made) {
    auto& b = on.of();
    made = MPI_COMM_NULL;
    auto const local = from_group(on, g, tag, hints, h);
    auto c = joined(on, *local, leader, [&] {
        auto const& others = on.object(remote, "remote_group");
        require_one_origin(on, g, others, "local_group", "remote_group");
        on.rank(remote_leader, others.size(), "remote_leader", also::none);
        auto const peer = others.members.world(remote_leader);
        b.run().await(group::of({peer.value}));
        return coll::bridge<stack>{leaders_wire(b, tag, b.run().me(), peer), peer};
    });
    b.run().await(c->others);
    take_hints(b, *c, hints);
    made = publish(b, std::move(c));
}
void Intercomm_merge(call& on, comm& c, int high, MPI_Comm& made) {
    auto& b = on.of();
    require_two_sides(on, c, "intercomm");
    everybody const all{b, c};
    auto const merged = coll::merge(all.together(), c.members, c.others, high != 0, b.run().new_context());
    made = publish(b, derived(b, c, merged.members, merged.context));
}

void Comm_free(call& on, MPI_Comm& handle) { free_comm(on, handle, false); }
void Comm_disconnect(call& on, MPI_Comm& handle) { free_comm(on, handle, true); }

void Comm_set_info(call& on, comm& c, info_object* hints) { take_hints(on.of(), c, hints); }
void Comm_get_info(call& on, comm& c, MPI_Info& used) {
    auto told = ref<info_object>::adopt(new info_object);
    {
        std::lock_guard const g{on.of().changing};
        told->hints = hints::shown(c.assertions);
        if (c.asserted_kinds) told->hints.set(asserted_kinds_key, *c.asserted_kinds);
    }
    told->hints.set(memory_kinds_key, memory_kinds_of(c.of_session.get()));
    used = binding::publish<MPI_Info>(on.of().infos, std::move(told));
}
void Comm_set_name(call& on, comm& c, char const* name) {
    rename(on.of(), c.name, name);
    on.of().run().job().name(c.context, std::string_view{name});
}
void Comm_get_name(call& on, comm* c, char* name, int& length) {
    put_text(c ? name_of(on.of(), c->name) : "MPI_COMM_NULL", name, MPI_MAX_OBJECT_NAME, length);
}

} // namespace impl
} // namespace mpt::c
