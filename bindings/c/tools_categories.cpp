// Section 15.3.9 of the standard: categories, a tree of two floors. A variable that no row of `placed` names stands at the root.
#include <algorithm>

#include "entries.hpp"
#include "tools.hpp"

namespace mpt::c {

namespace {

struct category {
    std::string_view name, help;
};
constexpr category categories[] = {
    {"mpt", "everything"},
    {"mpt_traffic", "which ways messages take, and how they are copied"},
    {"mpt_matching", "messages and receives that wait for each other"},
    {"mpt_waiting", "what a rank does while it has nothing to do"},
    {"mpt_memory", "shared memory and what lies there"},
    {"mpt_reports", "what mpt says by itself"},
};

struct place {
    std::string_view name;
    tool_group group;
};
constexpr place placed[] = {
    {"MPT_EAGER_MAX", tool_group::traffic},
    {"MPT_SINGLE_COPY", tool_group::traffic},
    {"MPT_PIPELINE_MAX", tool_group::traffic},
    {"MPT_CACHED_MAX", tool_group::traffic},
    {"MPT_CHUNK", tool_group::traffic},
    {"MPT_SINGLE_COPY_SIZE", tool_group::traffic},
    {"MPT_BOTH_ENDS", tool_group::traffic},
    {"MPT_EAGER_READABLE", tool_group::traffic},
    {"MPT_STREAM", tool_group::traffic},
    {"MPT_RMA_DIRECT", tool_group::traffic},
    {"MPT_LOANS", tool_group::traffic},
    {"MPT_LOAN_BYTES", tool_group::traffic},
    {"MPT_RING_LINES", tool_group::traffic},
    {"MPT_HOT_PEERS", tool_group::traffic},
    {"MPT_NODE_CALLS", tool_group::traffic},
    {"MPT_NODE_RANKS", tool_group::traffic},
    {"MPT_NODE_FLAT", tool_group::traffic},
    {"MPT_NODE_CHUNK", tool_group::traffic},
    {"MPT_NODE_PIECE", tool_group::traffic},
    {"MPT_NODE_MAX", tool_group::traffic},
    {"MPT_ALLREDUCE_SHORT", tool_group::traffic},
    {"MPT_ALLGATHER_SHORT", tool_group::traffic},
    {"MPT_ALLTOALL_SHORT", tool_group::traffic},
    {"MPT_GATHER_SHORT", tool_group::traffic},
    {"MPT_SCATTER_SHORT", tool_group::traffic},
    {"MPT_BCAST_LONG", tool_group::traffic},
    {"MPT_REDUCE_LONG", tool_group::traffic},
    {"MPT_UNEXPECTED_MAX", tool_group::matching},
    {"MPT_SPIN", tool_group::waiting},
    {"MPT_YIELD", tool_group::waiting},
    {"MPT_NAP", tool_group::waiting},
    {"MPT_WAIT", tool_group::waiting},
    {"MPT_FENCES", tool_group::waiting},
    {"MPT_LOOK", tool_group::waiting},
    {"MPT_SLICE", tool_group::memory},
    {"MPT_HANG_REPORT", tool_group::reports},
    {"MPT_ENV_DISPLAY", tool_group::reports},
    {"MPT_INFO", tool_group::reports},
    {"MPT_VERSION_DISPLAY", tool_group::reports},
};

tool_group group_of(config::row const& row) noexcept {
    auto const* const p = std::ranges::find(placed, row.name, &place::name);
    return p == std::end(placed) ? tool_group::all : p->group;
}
tool_group group_of(figure_row const& row) noexcept {
    switch (row.group) {
    case figure_group::traffic: return tool_group::traffic;
    case figure_group::matching: return tool_group::matching;
    case figure_group::waiting: return tool_group::waiting;
    case figure_group::memory: return tool_group::memory;
    }
    return tool_group::all;
}
tool_group group_of(event_row const& row) noexcept { return row.group; }

tool_group checked(call& on, int cat_index) {
    return static_cast<tool_group>(index_of(on, cat_index, std::size(categories), "cat_index"));
}

/// The places of a table's rows that are in a category.
template <class Table> std::vector<int> members(Table const& table, tool_group g) {
    std::vector<int> found;
    for (std::size_t i = 0; i < table.size(); ++i)
        if (group_of(table[i]) == g) found.push_back(static_cast<int>(i));
    return found;
}
std::vector<int> children(tool_group g) {
    std::vector<int> found;
    for (std::size_t i = 1; g == tool_group::all && i < std::size(categories); ++i) found.push_back(static_cast<int>(i));
    return found;
}
void give_list(std::vector<int> const& found, int len, int* indices) {
    std::copy_n(found.begin(), std::min(found.size(), static_cast<std::size_t>(len)), indices);
}

} // namespace

namespace impl {

void T_category_get_num(call&, int& n) { n = static_cast<int>(std::size(categories)); }
void T_category_get_info(call& on, int cat_index, char* name, int* name_len, char* desc, int* desc_len, int* num_cvars,
                         int* num_pvars, int* num_categories) {
    auto const g = checked(on, cat_index);
    auto const& row = categories[cat_index];
    give_text(row.name, name, name_len);
    give_text(row.help, desc, desc_len);
    give(num_cvars, members(config::table, g).size());
    give(num_pvars, members(figure_table, g).size());
    give(num_categories, children(g).size());
}
void T_category_get_index(call& on, char const* name, int& cat_index) {
    auto const* const found = std::ranges::find(categories, name, &category::name);
    if (found == std::end(categories))
        on.fail(MPI_T_ERR_INVALID_NAME, std::string{"name is \""} + name + "\", which is no category");
    cat_index = static_cast<int>(found - categories);
}
void T_category_get_cvars(call& on, int cat_index, int len, int* indices) {
    give_list(members(config::table, checked(on, cat_index)), len, indices);
}
void T_category_get_pvars(call& on, int cat_index, int len, int* indices) {
    give_list(members(figure_table, checked(on, cat_index)), len, indices);
}
void T_category_get_events(call& on, int cat_index, int len, int* indices) {
    give_list(members(event_table, checked(on, cat_index)), len, indices);
}
void T_category_get_num_events(call& on, int cat_index, int& n) {
    n = static_cast<int>(members(event_table, checked(on, cat_index)).size());
}
void T_category_get_categories(call& on, int cat_index, int len, int* indices) {
    give_list(children(checked(on, cat_index)), len, indices);
}
/// They never change.
void T_category_changed(call&, int& update_number) { update_number = 0; }

} // namespace impl
} // namespace mpt::c
