// The configuration table for human eyes.
#include <mpt/config/show.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <mpt/core/version.hpp>

namespace mpt::inline v0::config {

namespace {

std::size_t longest_name() {
    return std::ranges::max_element(table, {}, [](row const& r) { return r.name.size(); })->name.size();
}

std::string came_from(row const& r, setting const& s) {
    return s.from == given::alias ? std::string{r.also.name} : std::string{to_string(s.from)};
}

std::string_view scope_text(scope s) { return s == scope::job ? "same on all ranks" : "each rank"; }

std::string alias_text(row const& r) {
    if (r.also.name.empty()) return {};
    return fmt::format("{}{}", r.also.name, r.also.means == meaning::opposite ? " (opposite)" : "");
}

std::string initial_text(row const& r) { return format(r, setting{r.initial}); }

} // namespace

std::string listing(values const& v) {
    std::string out;
    auto const width = longest_name();
    for (std::size_t i = 0; i < table.size(); ++i)
        out += fmt::format("{:<{}} = {} ({})\n", table[i].name, width, format(table[i], v.at(i)), came_from(table[i], v.at(i)));
    return out;
}

std::string announce(values const& v) {
    std::string out;
    for (auto const& w : v.warnings()) out += fmt::format("mpt: warning: {}\n", w);
    if (v.get<"MPT_VERSION_DISPLAY">()) out += fmt::format("mpt {}, {}\n", to_string(core_version()), core_build());
    if (v.get<"MPT_ENV_DISPLAY">()) out += listing(v);
    return out;
}

std::string explain(values const& v) {
    std::string out;
    auto const width = longest_name();
    out += fmt::format("{:<{}}  {:<11} {:<27} {:<11} {:<24} {}\n", "variable", width, "now", "from", "default", "allowed",
                       "scope");
    for (std::size_t i = 0; i < table.size(); ++i) {
        row const& r = table[i];
        auto const& s = v.at(i);
        out += fmt::format("{:<{}}  {:<11} {:<27} {:<11} {:<24} {}\n", r.name, width, format(r, s), came_from(r, s),
                           initial_text(r), range(r), scope_text(r.where));
        out += fmt::format("    {}\n", r.help);
        if (!r.also.name.empty()) out += fmt::format("    also {}\n", alias_text(r));
    }
    return out;
}

std::string markdown() {
    std::string out = R"(# Environment variables

Generated from `include/mpt/config/table.hpp` by `mptinfo --markdown`; do not edit.

Sizes take units of 1024: `4096`, `4K`, `2M`, `1G`. A bad value is an error that names the variable, the value and the range; an
unknown `MPT_...` name is a warning with the nearest name. `mptinfo --env` prints the values of a shell, `MPT_ENV_DISPLAY=1` those
of a job. Where the scope says *job*, every rank must hold the same value: this is checked when the ranks meet. A name that begins with
`SHMEM_` may begin with `SMA_`, as before OpenSHMEM 1.4.

| variable | default | allowed | scope | what it does | also | default from |
|---|---|---|---|---|---|---|
)";
    for (row const& r : table) {
        auto const also = r.also.name.empty()                 ? std::string{}
                          : r.also.means == meaning::opposite ? fmt::format("`{}`, its opposite", r.also.name)
                                                              : fmt::format("`{}`", r.also.name);
        out += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", r.name, initial_text(r), range(r),
                           r.where == scope::job ? "job" : "rank", r.help, also, r.origin);
    }
    out += "\nOn processors that are not AMD's `MPT_AWAITED_MAX` and `MPT_PIPELINE_MAX` are 0 where nobody sets them, and "
           "`MPT_EAGER_READABLE` is 32K where the environment sets neither it nor `MPT_EAGER_MAX` (docs/design.md).\n";
    out += "\nA running program may change these, each rank for itself (`MPI_T_cvar_write`, `mpt::insight`):\n";
    for (auto const name : live) out += fmt::format("{}`{}`", name == live.front() ? "" : ", ", name);
    out += ".\n";
    out += R"(
`MPT_BOOT` and names that begin with `MPT_BOOT_` are what `mptrun` tells the ranks that it starts. They are not for users and
change without notice.
)";
    return out;
}

} // namespace mpt::inline v0::config
