// How a rank learns who it is (boot/boot.hpp).
#include <mpt/boot/boot.hpp>
#include <mpt/core/error.hpp>
#include <mpt/core/registry.hpp>

#include "arena_system.hpp"
#include "boot_environment.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <typeinfo>

#include <cxxabi.h>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>

namespace mpt::inline v0::boot {
namespace {
using mpt::detail::descriptor;

constexpr std::string_view kept_name = "boot::membership";

bool is(int fd, handed_segment const& what) noexcept {
    struct stat s {};
    return ::fstat(fd, &s) == 0 && s.st_ino == what.inode && s.st_dev == what.device;
}

/// The segment that the launcher handed over: the inherited descriptor, or, where something on the way closed it (Python's
/// subprocess does), the launcher's own by way of /proc.
descriptor adopt(handed_segment const& what, int launcher) {
    if (is(what.fd, what) && ::fcntl(what.fd, F_SETFD, FD_CLOEXEC) == 0) return descriptor{what.fd};
    auto const path = fmt::format("/proc/{}/fd/{}", launcher, what.fd);
    descriptor found{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
    if (found && is(found.get(), what)) return found;
    throw error{errc::launch,
                fmt::format("mpt: descriptor {} that mptrun handed to this rank was closed or replaced on the way, and {} "
                            "cannot be opened ({}). "
                            "Start the program directly from mptrun, or let the script between them keep descriptors open.",
                            what.fd, path, std::strerror(errno)),
                errno};
}

void verify(descriptor const& control, handed const& h) {
    control_header_prefix found{};
    auto const n = ::pread(control.get(), &found, sizeof found, 0);
    if (n != static_cast<ssize_t>(sizeof found) || found.magic != control_header::magic_value)
        throw error{errc::launch, "mpt: what mptrun handed over is not a control segment of mpt."};
    if (found.version != control_header::current_version)
        throw error{
            errc::launch,
            fmt::format(
                "mpt: this program was built with version {} of the control segment, mptrun with version {}: use the mptrun "
                "that belongs to the library.",
                control_header::current_version, found.version)};
    if (found.cookie != h.cookie || static_cast<std::int32_t>(found.ranks) != h.size || found.stride == 0)
        throw error{errc::launch,
                    "mpt: MPT_BOOT does not belong to the job whose descriptors are here; it must not be set by hand."};
}

#ifdef __GLIBCXX__
std::string demangled(char const* name) {
    int failed = 0;
    std::unique_ptr<char, decltype(&std::free)> const text{abi::__cxa_demangle(name, nullptr, nullptr, &failed), &std::free};
    return failed == 0 ? text.get() : name;
}

std::string told_of(std::exception_ptr const& e) {
    if (!e) return "std::terminate() was called";
    try {
        std::rethrow_exception(e);
    } catch (std::exception const& thrown) {
        return fmt::format("{}: {}", demangled(typeid(thrown).name()), thrown.what());
    } catch (...) {
        auto const* const type = abi::__cxa_current_exception_type();
        return type ? demangled(type->name()) : "of a foreign language";
    }
}

[[noreturn]] void terminate_telling() noexcept {
    auto& registry = process_registry::instance();
    if (registry.forked()) __gnu_cxx::__verbose_terminate_handler(); // not the rank any more
    if (auto const mine = std::static_pointer_cast<membership>(registry.kept(kept_name))) {
        auto& to =
            reinterpret_cast<control_record*>(mine->arena->control().data() + control_records_at)[mine->me.value].exception;
        auto const text = told_of(std::current_exception());
        text.copy(to.data(), to.size() - 1);
    }
    std::abort();
}

/// What an exception that nobody catches says goes into this rank's record, and mptrun tells of it with the rest. A program's
/// own handler stays.
void tell_of_exceptions() noexcept {
    if (std::get_terminate() == __gnu_cxx::__verbose_terminate_handler) std::set_terminate(terminate_telling);
}

#else
void tell_of_exceptions() noexcept {}
#endif

/// The end of mptrun, however it comes, is the end of its ranks; but only its own child may ask for that.
void tie_to(int launcher) noexcept {
    if (::getppid() != launcher) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(1); // it died in between
}

/// A launcher's variables say that we are one of several ranks.
struct foreign_step {
    std::string_view launcher;
    char const* size; // variable that holds the number of ranks; nullptr: being there is enough
    char const* rank;
};
constexpr foreign_step foreign_steps[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"a PMI launcher (mpiexec of MPICH, or srun --mpi=pmi2)", "PMI_SIZE", "PMI_RANK"},
    {"srun of Slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
    {"srun of Slurm", "SLURM_NTASKS", "SLURM_PROCID"},
    {"a PALS launcher (aprun, mpiexec)", nullptr, "PALS_RANKID"},
    {"a PMIx launcher (prterun, srun --mpi=pmix)", nullptr, "PMIX_RANK"},
    {"a PMI launcher (mpiexec of MPICH)", nullptr, "PMI_FD"},
};

long value_of(char const* name) noexcept {
    auto const* text = std::getenv(name);
    return text ? std::strtol(text, nullptr, 10) : -1;
}

bool inside(foreign_step const& s) noexcept {
    if (!std::getenv(s.rank)) return false;
    if (s.size) return value_of(s.size) > 1;
    // These say a rank but no size: one that belongs to a step of one rank is no trouble.
    for (auto const* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
        if (value_of(size) == 1) return false;
    return true;
}

/// The batch script itself is step 0xfffffffb of its job: no rank of anything.
bool in_batch_script() noexcept { return value_of("SLURM_STEP_ID") >= 0xfffffff0; }
} // namespace

void refuse_foreign_launcher() {
    for (auto const& s : foreign_steps) {
        if (!inside(s) || (std::string_view{s.rank} == "SLURM_PROCID" && in_batch_script())) continue;
        throw error{
            errc::launch,
            fmt::format("mpt: this process was started as rank {} of {} by {}, whose job mpt cannot join. Start it with mptrun "
                        "(inside an allocation: one mptrun, not one per rank), or unset {} to run it alone.",
                        std::getenv(s.rank), s.size ? std::getenv(s.size) : "several", s.launcher, s.rank)};
    }
}

bool launched::present() noexcept { return std::getenv(handed_variable) != nullptr; }

membership launched::join() {
    auto const* text = std::getenv(handed_variable);
    if (!text) throw error{errc::launch, "mpt: this process was not started by mptrun."};
    auto const h = parse_handed(text);
    if (!h)
        throw error{errc::launch,
                    fmt::format("mpt: {}=\"{}\" is not what mptrun of this version hands over; it must not be set by hand.",
                                handed_variable, text)};
    ::unsetenv(handed_variable); // a program that this rank starts is not this rank again
    auto control = adopt(h->control, h->launcher);
    verify(control, *h);
    auto data = adopt(h->data, h->launcher);
    control_header_prefix header{};
    if (::pread(control.get(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header))
        throw error{errc::launch, "mpt: the control segment is cut short."};
    tie_to(h->launcher);
    tell_of_exceptions();
    membership m;
    m.me = h->me;
    m.size = h->size;
    m.plan.ranks = header.ranks;
    m.plan.stride = header.stride;
    m.plan.control_bytes = control_bytes(header.ranks);
    m.plan.control_fd = control.release();
    m.plan.data_fd = data.release();
    return m;
}

bool alone::present() noexcept { return true; }

membership alone::join() {
    membership m;
    m.plan = make_segments(1);
    return m;
}

membership detect() {
    auto& registry = process_registry::instance();
    registry.refuse_fork("join a job");
    auto const known = registry.kept_or(kept_name, [] {
        if (!launched::present()) refuse_foreign_launcher();
        auto m = std::make_shared<membership>(launched::present() ? launched::join() : alone::join());
        m->arena = mem::arena::open(m->plan); // once per process
        return m;
    });
    return *std::static_pointer_cast<membership>(known);
}

} // namespace mpt::inline v0::boot
