// Section 15.3.8 of the standard: event types, their source, registrations, and the calls of a tool's functions.
//
//   Engines put notices into binding::news; tell_tools() takes them out where a call of MPI begins.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "entries.hpp"
#include "tools.hpp"

namespace mpt::c {

namespace {

/// What MPI_T_event_copy writes.
struct event_data {
    unsigned long long context, bytes;
    int peer, tag;
};
struct element {
    MPI_Datatype type;
    std::size_t at, size;
};
element const elements[] = {
    {MPI_UNSIGNED_LONG_LONG, offsetof(event_data, context), sizeof(unsigned long long)},
    {MPI_UNSIGNED_LONG_LONG, offsetof(event_data, bytes), sizeof(unsigned long long)},
    {MPI_INT, offsetof(event_data, peer), sizeof(int)},
    {MPI_INT, offsetof(event_data, tag), sizeof(int)},
};
event_data data_of(protocol::notice const& n) noexcept {
    return {static_cast<std::uint64_t>(n.context), n.bytes, n.peer.value, n.label.value};
}

std::size_t checked(call& on, int index) { return index_of(on, index, event_table.size(), "event_index"); }
void one_source(call& on, int index) { index_of(on, index, 1, "source_index"); }

/// Which of a registration's functions a safety level has.
std::size_t level_of(MPI_T_cb_safety s) noexcept {
    switch (s) {
    case MPI_T_CB_REQUIRE_NONE: return 0;
    case MPI_T_CB_REQUIRE_MPI_RESTRICTED: return 1;
    case MPI_T_CB_REQUIRE_THREAD_SAFE: return 2;
    case MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE: break;
    }
    return 3;
}

/// No hints are used: none of those that come, and none in those that are asked for.
void give_hints(binding& b, MPI_Info* info) {
    if (info) *info = binding::publish<MPI_Info>(b.infos, ref<info_object>::adopt(new info_object));
}

/// Only one thread calls tools at a time; who comes meanwhile goes on.
class turn {
    tool_state& t_;
    bool mine_;

public:
    explicit turn(tool_state& t) : t_{t} {
        std::lock_guard const g{t.changing};
        mine_ = !std::exchange(t.telling, true);
    }
    ~turn() {
        if (!mine_) return;
        std::lock_guard const g{t_.changing};
        t_.telling = false;
    }
    turn(turn const&) = delete;
    explicit operator bool() const noexcept { return mine_; }
};

/// While one lives, a function of the registration's is being called. Then it may turn out that the registration was freed.
class calling {
    tool_state& t_;
    ref<registration> r_;

public:
    calling(tool_state& t, ref<registration> r) : t_{t}, r_{std::move(r)} {}
    ~calling() {
        {
            std::lock_guard const g{t_.changing};
            r_->calling = false;
            if (!r_->freed) return;
        }
        if (auto* const f = std::exchange(r_->when_freed, nullptr)) f(r_->handle, MPI_T_CB_REQUIRE_NONE, r_->freed_data);
    }
    calling(calling const&) = delete;
};

/// Calls f(registration, callback) for those of a kind that have a callback.
template <class F> void each_registered(tool_state& t, protocol::notice_kind kind, F&& f) {
    std::vector<ref<registration>> all;
    {
        std::lock_guard const g{t.changing};
        all = t.registrations;
    }
    for (auto& r : all) {
        registration::callback callback;
        {
            std::lock_guard const g{t.changing};
            auto const* const c = r->chosen();
            if (r->about != kind || r->freed || !c) continue;
            callback = *c;
            r->calling = true;
        }
        calling const now{t, r};
        f(*r, callback);
    }
}

void raise_event(tool_state& t, protocol::notice const& n) {
    auto const instance = ref<event_instance>::adopt(new event_instance{n});
    MPI_T_event_instance handle{};
    {
        std::lock_guard const g{t.changing};
        handle = t.publish<MPI_T_event_instance>(ref<event_instance>{instance});
    }
    each_registered(t, n.what, [&](registration const& r, registration::callback const& c) {
        c.f(handle, r.handle, MPI_T_CB_REQUIRE_NONE, c.user_data);
    });
    std::lock_guard const g{t.changing};
    t.forget(handle);
}

void raise_dropped(binding& b, tool_state& t, protocol::notice_kind kind) {
    auto const lost = static_cast<MPI_Count>(b.news.take_lost(kind));
    if (lost == 0) return;
    each_registered(t, kind, [&](registration const& r, registration::callback const& c) {
        if (r.dropped) r.dropped(lost, r.handle, 0, MPI_T_CB_REQUIRE_NONE, c.user_data);
    });
}

} // namespace

void tell_tools(binding& b) {
    auto& t = tools_of(b);
    turn const mine{t};
    if (!mine) return;
    for (protocol::notice n; b.news.take(n);) raise_event(t, n);
    for (auto const& row : event_table) raise_dropped(b, t, row.what);
}

void watch_for_tools(binding& b) {
    if (!b.tools) return;
    auto& t = *b.tools;
    std::lock_guard const g{t.changing};
    std::uint32_t kinds = 0;
    for (auto const& r : t.registrations)
        if (r->chosen()) kinds |= protocol::bit_of(r->about);
    b.news.want(kinds);
    if (b.life() != stage::running || (kinds != 0) == t.watching) return;
    t.watching = kinds != 0;
    if (t.watching) b.run().watch(b.news);
    else b.run().unwatch(b.news);
}
void leave_tools(binding& b) {
    if (!b.tools) return;
    tell_tools(b);
    keep_configuration(b);
    std::lock_guard const g{b.tools->changing};
    if (std::exchange(b.tools->watching, false)) b.run().unwatch(b.news);
}

namespace impl {

void T_event_get_num(call&, int& n) { n = static_cast<int>(event_table.size()); }
void T_event_get_index(call& on, char const* name, int& event_index) {
    auto const* const found = std::ranges::find(event_table, name, &event_row::name);
    if (found == event_table.end())
        on.fail(MPI_T_ERR_INVALID_NAME, std::string{"name is \""} + name + "\", which is no event type");
    event_index = static_cast<int>(found - event_table.begin());
}
void T_event_get_info(call& on, int event_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatypes,
                      MPI_Aint* displacements, int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc,
                      int* desc_len, int* bind) {
    auto const& row = event_table[checked(on, event_index)];
    auto const room = num_elements && *num_elements > 0 ? static_cast<std::size_t>(*num_elements) : 0;
    for (std::size_t i = 0; i < std::min(room, std::size(elements)); ++i) {
        if (datatypes) datatypes[i] = elements[i].type;
        if (displacements) displacements[i] = static_cast<MPI_Aint>(elements[i].at);
    }
    give(num_elements, std::size(elements));
    give_text(row.name, name, name_len);
    give_text(row.help, desc, desc_len);
    give(verbosity, MPI_T_VERBOSITY_TUNER_BASIC);
    if (enumtype) *enumtype = MPI_T_ENUM_NULL;
    give_hints(on.of(), info);
    give(bind, MPI_T_BIND_NO_OBJECT);
}

void T_event_handle_alloc(call& on, int event_index, void*, info_object*, MPI_T_event_registration& handle) {
    auto const kind = event_table[checked(on, event_index)].what;
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto const r = ref<registration>::adopt(new registration{kind});
    t.registrations.reserve(t.registrations.size() + 1);
    handle = r->handle = t.publish<MPI_T_event_registration>(ref<registration>{r});
    t.registrations.push_back(r);
}
void T_event_handle_free(call& on, MPI_T_event_registration handle, void* user_data, MPI_T_event_free_cb_function* f) {
    auto& t = tools_of(on.of());
    bool later = false;
    {
        std::lock_guard const g{t.changing};
        auto& r = living<registration>(on, t, handle, "event_registration");
        r.freed = true;
        r.when_freed = f;
        r.freed_data = user_data;
        later = r.calling; // who calls it says so when it is back
        std::erase_if(t.registrations, [&r](auto const& other) { return other.get() == &r; });
        t.forget(handle);
    }
    watch_for_tools(on.of());
    if (f && !later) f(handle, MPI_T_CB_REQUIRE_NONE, user_data);
}
void T_event_register_callback(call& on, MPI_T_event_registration handle, MPI_T_cb_safety cb_safety, info_object*,
                               void* user_data, MPI_T_event_cb_function* f) {
    auto& t = tools_of(on.of());
    {
        std::lock_guard const g{t.changing};
        living<registration>(on, t, handle, "event_registration").callbacks[level_of(cb_safety)] = {f, user_data};
    }
    watch_for_tools(on.of());
}
void T_event_set_dropped_handler(call& on, MPI_T_event_registration handle, MPI_T_event_dropped_cb_function* f) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    living<registration>(on, t, handle, "event_registration").dropped = f;
}

void T_event_handle_set_info(call& on, MPI_T_event_registration handle, info_object*) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    living<registration>(on, t, handle, "event_registration");
}
void T_event_handle_get_info(call& on, MPI_T_event_registration handle, MPI_Info& info) {
    T_event_handle_set_info(on, handle, nullptr);
    give_hints(on.of(), &info);
}
void T_event_callback_set_info(call& on, MPI_T_event_registration handle, MPI_T_cb_safety, info_object*) {
    T_event_handle_set_info(on, handle, nullptr);
}
void T_event_callback_get_info(call& on, MPI_T_event_registration handle, MPI_T_cb_safety, MPI_Info& info) {
    T_event_handle_get_info(on, handle, info);
}

void T_event_read(call& on, MPI_T_event_instance handle, int element_index, void* buffer) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto const data = data_of(living<event_instance>(on, t, handle, "event_instance").what);
    auto const& e = elements[index_of(on, element_index, std::size(elements), "element_index")];
    std::memcpy(buffer, reinterpret_cast<std::byte const*>(&data) + e.at, e.size);
}
void T_event_copy(call& on, MPI_T_event_instance handle, void* buffer) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto const data = data_of(living<event_instance>(on, t, handle, "event_instance").what);
    std::memcpy(buffer, &data, sizeof data);
}
void T_event_get_timestamp(call& on, MPI_T_event_instance handle, MPI_Count& ticks) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    ticks = living<event_instance>(on, t, handle, "event_instance").what.when.count();
}
void T_event_get_source(call& on, MPI_T_event_instance handle, int& source_index) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    living<event_instance>(on, t, handle, "event_instance");
    source_index = 0;
}

void T_source_get_num(call&, int& n) { n = 1; }
void T_source_get_info(call& on, int source_index, char* name, int* name_len, char* desc, int* desc_len,
                       MPI_T_source_order* ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks, MPI_Info* info) {
    one_source(on, source_index);
    give_text("mpt", name, name_len);
    give_text("this rank's lanes; the clock is the one of MPI_Wtime", desc, desc_len);
    if (ordering) *ordering = MPI_T_SOURCE_ORDERED;
    give(ticks_per_second, 1'000'000'000);
    give(max_ticks, std::numeric_limits<MPI_Count>::max());
    give_hints(on.of(), info);
}
void T_source_get_timestamp(call& on, int source_index, MPI_Count& timestamp) {
    one_source(on, source_index);
    timestamp = world::native{}.now().count();
}

} // namespace impl
} // namespace mpt::c
