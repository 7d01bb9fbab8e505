// Section 15.3.6 of the standard: control variables, which are the rows of the configuration table.
#include <unistd.h>

#include <cstring>

#include "entries.hpp"
#include "tools.hpp"

namespace mpt::c {

namespace {

constexpr int longest_text = 1024; // characters of a variable that is a text, or a set of words

std::size_t checked(call& on, int index) { return index_of(on, index, config::table.size(), "cvar_index"); }

MPI_Datatype datatype_of(config::row const& row) noexcept {
    switch (row.type) {
    case config::form::size: return MPI_UNSIGNED_LONG_LONG;
    case config::form::count: return MPI_UNSIGNED;
    case config::form::toggle:
    case config::form::word: return MPI_INT;
    case config::form::set:
    case config::form::text: return MPI_CHAR;
    }
    return MPI_DATATYPE_NULL;
}

MPI_T_enum enumeration_of(tool_state const& t, config::row const& row) noexcept {
    if (row.type == config::form::toggle) return t.enumeration_of("off|on");
    return row.type == config::form::word ? t.enumeration_of(row.words) : MPI_T_ENUM_NULL;
}

/// The values as they are: of the environment, of the one that MPI_Init will make, or of the one that there was.
config::values values_now(binding& b, tool_state const& t) {
    if (b.life() == stage::running) return b.run().configuration();
    if (b.life() == stage::over) return t.values;
    std::vector<std::string> problems; // MPI_Init tells them
    auto v = config::values::read(environ, problems);
    for (auto const& [row, text] : t.early) v.set(row, text);
    return v;
}

template <class T> T taken(void const* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <class T> void put(void* to, T value) noexcept { std::memcpy(to, &value, sizeof value); }

/// What a program wrote, as the table's variables are written.
std::string written(call& on, config::row const& row, void const* buf) {
    switch (row.type) {
    case config::form::size: return std::to_string(taken<unsigned long long>(buf));
    case config::form::count: return std::to_string(taken<unsigned>(buf));
    case config::form::set:
    case config::form::text: {
        auto const* const text = static_cast<char const*>(buf);
        return {text, ::strnlen(text, longest_text)};
    }
    case config::form::toggle:
    case config::form::word: break;
    }
    auto const place = taken<int>(buf);
    if (place < 0 || static_cast<std::uint64_t>(place) > row.most)
        on.refuse(MPI_T_ERR_INVALID, "*buf", place, "0 to " + std::to_string(row.most) + " (" + config::range(row) + ')');
    return config::format(row, config::setting{static_cast<std::uint64_t>(place)});
}

} // namespace

config::values configuration_of(binding& b) {
    auto v = config::values::of_process();
    if (!b.tools) return v;
    std::lock_guard const g{b.tools->changing};
    for (auto const& [row, text] : b.tools->early) v.set(row, text);
    return v;
}
void keep_configuration(binding& b) {
    if (!b.tools) return;
    std::lock_guard const g{b.tools->changing};
    b.tools->values = b.run().configuration();
    b.tools->last = b.run().look();
}

namespace impl {

void T_cvar_get_num(call&, int& n) { n = static_cast<int>(config::table.size()); }
void T_cvar_get_info(call& on, int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                     MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) {
    auto const at = checked(on, cvar_index);
    auto const& row = config::table[at];
    give_text(row.name, name, name_len);
    give_text(row.help, desc, desc_len);
    give(verbosity, config::is_live(at) ? MPI_T_VERBOSITY_TUNER_BASIC : MPI_T_VERBOSITY_TUNER_DETAIL);
    if (datatype) *datatype = datatype_of(row);
    if (enumtype) *enumtype = enumeration_of(tools_of(on.of()), row);
    give(bind, MPI_T_BIND_NO_OBJECT);
    give(scope, row.where == config::scope::job ? MPI_T_SCOPE_ALL_EQ : MPI_T_SCOPE_LOCAL);
}
void T_cvar_get_index(call& on, char const* name, int& cvar_index) {
    auto const at = config::row_of(name);
    if (at == config::table.size())
        on.fail(MPI_T_ERR_INVALID_NAME, std::string{"name is \""} + name + "\", which is no control variable");
    cvar_index = static_cast<int>(at);
}

void T_cvar_handle_alloc(call& on, int cvar_index, void*, MPI_T_cvar_handle& handle, int& count) {
    auto const at = checked(on, cvar_index);
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    handle = t.publish<MPI_T_cvar_handle>(ref<cvar_handle>::adopt(new cvar_handle{at}));
    count = datatype_of(config::table[at]) == MPI_CHAR ? longest_text : 1;
}
void T_cvar_handle_free(call& on, MPI_T_cvar_handle& handle) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    living<cvar_handle>(on, t, handle, "handle");
    t.forget(std::exchange(handle, MPI_T_CVAR_HANDLE_NULL));
}

void T_cvar_read(call& on, MPI_T_cvar_handle handle, void* buf) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto const at = living<cvar_handle>(on, t, handle, "handle").row;
    auto const values = values_now(on.of(), t);
    auto const& s = values.at(at);
    switch (config::table[at].type) {
    case config::form::size: return put(buf, static_cast<unsigned long long>(s.number));
    case config::form::count: return put(buf, static_cast<unsigned>(s.number));
    case config::form::toggle:
    case config::form::word: return put(buf, static_cast<int>(s.number));
    case config::form::set:
    case config::form::text: {
        int room = longest_text;
        give_text(config::format(config::table[at], s), static_cast<char*>(buf), &room);
    }
    }
}

/// Before MPI_Init everything can be set, and holds from there on; later what may change while a job runs.
void T_cvar_write(call& on, MPI_T_cvar_handle handle, void const* buf) {
    on.not_null(buf, "buf");
    auto& b = on.of();
    auto& t = tools_of(b);
    std::lock_guard const g{t.changing};
    auto const at = living<cvar_handle>(on, t, handle, "handle").row;
    auto const& row = config::table[at];
    auto const text = written(on, row, buf);
    config::values{}.set(at, text); // throws where that is no value
    if (b.life() == stage::over) on.fail(MPI_T_ERR_CVAR_SET_NEVER, std::string{row.name} + " was written after MPI_Finalize");
    if (b.life() == stage::before) return void(t.early.emplace_back(at, text));
    if (!config::is_live(at))
        on.fail(MPI_T_ERR_CVAR_SET_NEVER, std::string{row.name} + " is read by MPI_Init, and cannot be changed after it");
    b.run().tune(at, text);
}

} // namespace impl
} // namespace mpt::c
