// Section 15.3 of the standard: entering and leaving the tools' interface, enumerations, texts.
#include "tools.hpp"

#include <algorithm>
#include <cstring>

#include "entries.hpp"

namespace mpt::c {

namespace {
constexpr std::string_view switches = "off|on";
}

tool_state::tool_state() {
    auto const add = [this](std::string_view name, std::string_view words) {
        auto e = ref<enumeration>::adopt(new enumeration{name, words});
        e->handle = publish<MPI_T_enum>(ref<enumeration>{e});
        enumerations.push_back(std::move(e));
    };
    add("mpt_switch", switches);
    for (auto const& row : config::table)
        if (row.type == config::form::word) add(row.name, row.words);
    for (auto const& row : figure_table)
        if (row.sort == figure_sort::state) add(row.name, row.words);
}
tool_state::~tool_state() {
    objects.each([](tool_object& object, std::uintptr_t) { object.let_go(); });
}

MPI_T_enum tool_state::enumeration_of(std::string_view words) const noexcept {
    for (auto const& e : enumerations)
        if (e->words == words) return e->handle;
    return MPI_T_ENUM_NULL;
}

tool_state& tools_of(binding& b) {
    std::call_once(b.tools_made, [&b] { b.tools = std::make_unique<tool_state>(); });
    return *b.tools;
}

void require_tools(call& c) {
    auto& t = tools_of(c.of());
    std::lock_guard const g{t.changing};
    if (t.entered == 0) c.fail(MPI_T_ERR_NOT_INITIALIZED, "called before MPI_T_init_thread, or after the last MPI_T_finalize");
}

void give_text(std::string_view text, char* into, int* length) noexcept {
    if (!length) return;
    if (into && *length > 0) {
        auto const n = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
        std::memcpy(into, text.data(), n);
        into[n] = 0;
    }
    *length = static_cast<int>(text.size()) + 1;
}

namespace impl {

/// Threads may always call; every level is provided.
void T_init_thread(call& on, int required, int& provided) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    ++t.entered;
    provided = required;
}

/// The last one frees every handle but those of enumerations, which are for good.
void T_finalize(call& on) {
    auto& t = tools_of(on.of());
    std::vector<std::uintptr_t> all;
    {
        std::lock_guard const g{t.changing};
        if (--t.entered > 0) return;
        for (auto const& r : t.registrations) r->freed = true;
        t.registrations.clear();
        t.objects.each([&](tool_object& object, std::uintptr_t word) {
            if (object.is != tool_object::sort::enumeration) all.push_back(word);
        });
        for (auto const word : all) t.forget(handle_of<void*>(word));
    }
    watch_for_tools(on.of());
}

void T_enum_get_info(call& on, MPI_T_enum handle, int* num, char* name, int* name_len) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto const& e = living<enumeration>(on, t, handle, "enumtype");
    give(num, config::word_count(e.words));
    give_text(e.name, name, name_len);
}
void T_enum_get_item(call& on, MPI_T_enum handle, int indx, int* value, char* name, int* name_len) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto const& e = living<enumeration>(on, t, handle, "enumtype");
    auto const place = index_of(on, indx, config::word_count(e.words), "indx");
    give(value, place);
    give_text(config::word_at(e.words, place), name, name_len);
}

} // namespace impl
} // namespace mpt::c
