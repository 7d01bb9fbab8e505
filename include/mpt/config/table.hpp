/// config/table - THE table: every knob of mpt is one row here, and nowhere else.
///
///        row --+--> parsing and range check           config/config.hpp
///              +--> comparison between ranks           boot, from values::job_values()
///              +--> mptinfo --env, MPT_ENV_DISPLAY     config/show.hpp
///              +--> docs/environment.md                mptinfo --markdown
///
///   To add a variable, add a row to one of the lists in config/table. A row whose default lies outside its range, a name used
///   twice, or a word that is not among a row's words does not compile. `most` is what the compiled layout can hold: a value
///   moves inside what was compiled, never beyond.
///
///   Aliases are names that job scripts already carry (Cray MPT, MPICH); they are accepted where they mean the same thing, or
///   exactly its opposite. SHMEM_NAME is also read as SMA_NAME, which it was before OpenSHMEM 1.4. What mptrun hands to its
///   ranks (MPT_BOOT, MPT_BOOT_...) and what the test suite hands to its programs (MPT_TEST_...) are no knobs: they have no row.
///
///   Scope   job: every rank must hold the same value, compared at start; local: each rank for itself.
///   Limit   the job-wide values of a rank fit job_text_limit bytes of its control record, whatever they are.
///   Tests   test/config_table_test.cpp
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <mpt/config/table/collectives.hpp>
#include <mpt/config/table/engine.hpp>
#include <mpt/config/table/memory.hpp>
#include <mpt/config/table/row.hpp>
#include <mpt/config/table/shmem.hpp>

namespace mpt::inline v0::config {

namespace detail {

template <std::size_t A, std::size_t B> consteval auto joined(std::array<row, A> const& a, std::array<row, B> const& b) {
    std::array<row, A + B> all{};
    for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
    for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
    return all;
}

} // namespace detail

inline constexpr auto table = detail::joined(detail::joined(detail::rows_of_engine(), detail::rows_of_collectives()),
                                             detail::joined(detail::rows_of_memory(), detail::rows_of_shmem()));

/// Room that a control record keeps for the job-wide values.
inline constexpr std::size_t job_text_limit = 1023;

/// Characters of a value, as it is written.
constexpr std::size_t longest_value(row const& r) noexcept {
    std::size_t digits = 1;
    for (auto n = r.most; n >= 10; n /= 10) ++digits;
    switch (r.type) {
    case form::size:
    case form::count: return digits;
    case form::toggle: return 3;
    case form::word:
    case form::set: return r.words.size();
    case form::text: break;
    }
    return 0;
}
/// Longest that "NAME=value\n" of the job-wide rows can become.
consteval std::size_t longest_job_text() {
    std::size_t n = 0;
    for (row const& r : table)
        if (r.where == scope::job) n += r.name.size() + 2 + longest_value(r);
    return n;
}
static_assert(longest_job_text() <= job_text_limit,
              "mpt::config: the job-wide values outgrew their room in the control record");

consteval bool names_are_unique() {
    for (std::size_t i = 0; i < table.size(); ++i)
        for (std::size_t j = 0; j < table.size(); ++j) {
            if (i != j && table[i].name == table[j].name) return false;
            if (i != j && !table[i].also.name.empty() && table[i].also.name == table[j].also.name) return false;
            if (table[i].also.name == table[j].name) return false;
        }
    return true;
}
static_assert(names_are_unique(), "mpt::config: a name stands twice in the table");

/// Where a name stands in the table; table.size() when it does not.
constexpr std::size_t row_of(std::string_view name) noexcept {
    std::size_t at = 0;
    while (at < table.size() && table[at].name != name) ++at;
    return at;
}

/// Variables that a program may change while its job runs, each rank for itself (runtime::tune, MPI_T_cvar_write). The job-wide ones
/// among them rule what a sender does; ranks that hold different values disagree in nothing but speed.
inline constexpr std::array<std::string_view, 12> live{"MPT_SPIN",           "MPT_YIELD",        "MPT_NAP",
                                                       "MPT_WAIT",           "MPT_EAGER_MAX",    "MPT_EAGER_READABLE",
                                                       "MPT_UNEXPECTED_MAX", "MPT_SINGLE_COPY",  "MPT_SINGLE_COPY_SIZE",
                                                       "MPT_BOTH_ENDS",      "MPT_PIPELINE_MAX", "MPT_CHUNK"};
constexpr bool is_live(std::size_t row) noexcept {
    for (auto const name : live)
        if (row < table.size() && table[row].name == name) return true;
    return false;
}
consteval bool live_names_are_rows() {
    for (auto const name : live)
        if (row_of(name) == table.size()) return false;
    return true;
}
static_assert(live_names_are_rows(), "mpt::config: a live variable is not in the table");

} // namespace mpt::inline v0::config
