// Chapter 11: sessions.
#include <algorithm>
#include <array>

#include <mpt/mpi/hints.hpp>

#include "attributes.hpp"
#include "buffered.hpp"
#include "communicators.hpp"
#include "entries.hpp"
#include "text.hpp"
#include "transfer.hpp"

namespace mpt::c {

namespace {

struct level {
    char const* name;
    int value;
};
constexpr std::array<level, 4> levels{{{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                                       {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                                       {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
                                       {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}}};

/// Where none is asked for, it is the highest.
int level_wanted(info_object const* hints) {
    auto const name = hints ? hints->hints.get("thread_level") : std::nullopt;
    auto const at = std::ranges::find_if(levels, [&](level const& l) { return name && stripped(*name) == l.name; });
    return at == levels.end() ? MPI_THREAD_MULTIPLE : at->value;
}
char const* name_of_level(int value) noexcept { return std::ranges::find(levels, value, &level::value)->name; }

MPI_Info publish_info(binding& b, info hints) {
    auto object = ref<info_object>::adopt(new info_object);
    object->hints = std::move(hints);
    return binding::publish<MPI_Info>(b.infos, std::move(object));
}

group set_of(binding& b, char const* name) { return process_sets::members(name, b.run().me(), b.run().size()); }

std::vector<ref<comm>> comms_of(binding& b, session const& s) {
    std::lock_guard const g{b.changing};
    std::vector<ref<comm>> all;
    for (auto const handle : s.comms)
        if (auto* const c = b.comms.find_handle(handle)) all.emplace_back(*c);
    return all;
}

/// What is under way on these communicators would go on with them gone.
void refuse_pending(call& on, std::vector<ref<comm>> const& comms) {
    int pending = 0;
    on.of().requests.each_now([&](request& r) {
        if (r.active && std::ranges::any_of(comms, [&](auto const& c) { return c->handle == r.blamed.comm(); })) ++pending;
    });
    if (pending != 0)
        on.fail(MPI_ERR_PENDING, "operations are under way on communicators of the session: " + std::to_string(pending) +
                                     "; they must be completed first");
}

/// A communicator that the program has left: like MPI_Comm_free.
void discard(binding& b, comm& c) {
    remove_attributes(b, c);
    if (auto const attached = c.buffer.attached()) attached->flush();
    unpublish(b, c.handle);
}

} // namespace

std::string memory_kinds_of(session const* s) {
    return s ? s->memory_kinds : hints::kinds_provided(environment_info({}, {}).get(memory_kinds_key).value_or(""));
}

namespace impl {

void Session_init(call& on, info_object* hints, errhandler& h, MPI_Session& made) {
    auto& b = on.of();
    require_fitting(on, h, errhandler::action::session_function, "sessions");
    begin_use(b, use::session);
    auto s = ref<session>::adopt(new session);
    s->thread_level = level_provided(b, level_wanted(hints));
    auto const kinds = hints ? hints->hints.get(memory_kinds_key) : std::nullopt;
    s->memory_kinds = kinds ? hints::kinds_provided(*kinds) : memory_kinds_of(nullptr);
    s->handler = ref<errhandler>{h};
    auto& object = *s;
    made = object.handle = binding::publish<MPI_Session>(b.sessions, std::move(s));
}

void Session_finalize(call& on, MPI_Session& handle) {
    auto& b = on.of();
    ref<session> const s{b.sessions.get(handle)};
    auto const comms = comms_of(b, *s);
    refuse_pending(on, comms);
    for (auto const& c : comms) discard(b, *c);
    if (auto const attached = s->buffer.attached()) attached->close(); // it is detached
    {
        std::lock_guard const g{b.changing};
        s->open = false;
    }
    if (auto* const gone = b.sessions.remove(word_of(handle))) gone->let_go();
    handle = MPI_SESSION_NULL;
    end_use(b, use::session);
}

void Session_get_info(call& on, session& s, MPI_Info& used) {
    info hints;
    hints.set("thread_level", name_of_level(s.thread_level));
    hints.set(memory_kinds_key, s.memory_kinds);
    used = publish_info(on.of(), std::move(hints));
}

void Session_get_num_psets(call&, session&, info_object*, int& n) { n = static_cast<int>(process_sets::names.size()); }
/// A length of 0 asks for the length alone; it counts the zero.
void Session_get_nth_pset(call& on, session&, info_object*, int n, int& length, char* name) {
    auto const known = static_cast<int>(process_sets::names.size());
    if (n >= known) on.refuse(MPI_ERR_ARG, "n", n, "0 to " + std::to_string(known - 1));
    on.at_least(length, 0, "pset_len", MPI_ERR_ARG);
    auto const text = process_sets::names[static_cast<std::size_t>(n)];
    if (length > 0) {
        on.not_null(name, "pset_name");
        int put = 0;
        put_text(text, name, static_cast<std::size_t>(length), put);
    }
    length = static_cast<int>(text.size()) + 1;
}
void Session_get_pset_info(call& on, session&, char const* name, MPI_Info& made) {
    info known;
    known.set("mpi_size", std::to_string(set_of(on.of(), name).size()));
    made = publish_info(on.of(), std::move(known));
}
void Group_from_session_pset(call& on, session& s, char const* name, MPI_Group& made) {
    made = publish(on.of(), set_of(on.of(), name), ref<session>{s});
}

} // namespace impl
} // namespace mpt::c
