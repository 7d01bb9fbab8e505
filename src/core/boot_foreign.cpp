// Launchers in whose step we are but whose job cannot be joined: a loud failure, never "rank 0 of 1" on every rank.
#include <mpt/boot/boot.hpp>
#include <mpt/core/error.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <poll.h>

namespace mpt::inline v0::boot {
namespace {

/// The variables by which a launcher tells a process which of how many ranks it is.
struct foreign_step {
    std::string_view launcher;
    char const* rank;
    std::array<char const*, 2> sizes; // the first that is set holds the number of ranks
    bool sure = false;                // a rank without a size counts too
};
constexpr foreign_step steps[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE", nullptr}},
    {"srun of Slurm", "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}},
    {"a PALS launcher (aprun, mpiexec)", "PALS_RANKID", {"PALS_SIZE", "PMI_SIZE"}, true},
    {"a PMIx launcher (prterun, srun --mpi=pmix)", "PMIX_RANK", {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}, true},
    {"a PMI launcher without PMI_FD", "PMI_RANK", {"PMI_SIZE", nullptr}},
    {"a PMI launcher with PMI_PORT (mpiexec -pmi-port)", "PMI_ID", {"PMI_SIZE", nullptr}, true},
};

long value_of(char const* name) noexcept {
    auto const* const text = name ? std::getenv(name) : nullptr;
    return text ? std::strtol(text, nullptr, 10) : -1;
}

/// A shell of an allocation, or its batch script, is told the job's size but is no rank: it has no step, or one of those that are
/// reserved for it (0xfffffffa and on).
bool in_a_step(foreign_step const& s) noexcept {
    if (std::string_view{s.rank} != "SLURM_PROCID") return true;
    auto const step = value_of(std::getenv("SLURM_STEP_ID") ? "SLURM_STEP_ID" : "SLURM_STEPID");
    return step >= 0 && step < 0xfffffff0;
}

/// How many ranks the launcher started; 0: it does not say, but this is one of its ranks; 1: nothing to join.
long ranks_of(foreign_step const& s) noexcept {
    if (!std::getenv(s.rank) || !in_a_step(s)) return 1;
    auto const size = std::ranges::find_if(s.sizes, [](char const* name) { return value_of(name) > 0; });
    return size != s.sizes.end() ? value_of(*size) : s.sure ? 0 : 1;
}

} // namespace

void refuse_foreign_launcher() {
    auto const here = std::ranges::find_if(steps, [](auto const& s) { return ranks_of(s) != 1; });
    if (here == std::end(steps)) return;
    auto const me = std::max(value_of(here->rank), 0l), size = ranks_of(*here);
    auto const who = fmt::format("mpt: this process was started as rank {} of {} by {}, whose job mpt cannot join", me,
                                 size == 0 ? "several" : std::to_string(size), here->launcher);
    if (me != 0) { // rank 0 says what to do, and with its end the launcher ends the others
        ::poll(nullptr, 0, 500);
        throw error{errc::launch, who + ": start it with mptrun; rank 0 says more."};
    }
    throw error{errc::launch,
                fmt::format("{}: start it with mptrun (inside an allocation: one mptrun, not one per rank), or unset "
                            "{} to run it alone.",
                            who, here->rank)};
}

} // namespace mpt::inline v0::boot
