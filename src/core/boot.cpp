// How a rank learns who it is (boot/boot.hpp).
#include <mpt/boot/announced.hpp>
#include <mpt/boot/boot.hpp>
#include <mpt/config/config.hpp>
#include <mpt/core/error.hpp>
#include <mpt/core/hash.hpp>
#include <mpt/core/registry.hpp>

#include "arena_system.hpp"
#include "boot_environment.hpp"
#include "boot_parts.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <typeinfo>

#include <cxxabi.h>

#include <fmt/format.h>
#include <poll.h>
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

void verify(control_header_prefix const& found, handed const& h) {
    if (found.cookie != h.cookie || static_cast<std::int32_t>(found.ranks) != h.size || found.stride == 0)
        throw error{errc::launch,
                    "mpt: MPT_BOOT does not belong to the job whose descriptors are here; it must not be set by hand."};
}
} // namespace

control_header_prefix read_control(int fd, std::string_view maker) {
    control_header_prefix found{};
    auto const n = ::pread(fd, &found, sizeof found, 0);
    if (n != static_cast<ssize_t>(sizeof found) || found.magic != control_header::magic_value)
        throw error{errc::launch, fmt::format("mpt: what {} handed over is not a control segment of mpt.", maker)};
    if (found.version != control_header::current_version)
        throw error{errc::launch,
                    fmt::format("mpt: this program was built with version {} of the control segment, {} with version "
                                "{}: all programs of a job, and mptrun, must belong to the same version of mpt.",
                                control_header::current_version, maker, found.version)};
    return found;
}

namespace {
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
    auto const mine = registry.forked() ? nullptr : std::static_pointer_cast<membership>(registry.kept(kept_name));
    if (!mine) __gnu_cxx::__verbose_terminate_handler(); // not a rank yet, or not any more
    auto& to = reinterpret_cast<control_record*>(mine->arena->control().data() + control_records_at)[mine->me.value].exception;
    auto const text = told_of(std::current_exception());
    text.copy(to.data(), to.size() - 1);
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
} // namespace

void tie_to(int launcher) noexcept {
    if (::getppid() != launcher) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(1); // it died in between
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
    auto control = adopt(h->control, h->launcher);
    auto const header = read_control(control.get(), "mptrun");
    verify(header, *h);
    auto data = adopt(h->data, h->launcher);
    auto pages = h->pages.fd < 0 ? descriptor{} : adopt(h->pages, h->launcher);
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
    m.plan.pages_fd = pages.release();
    m.plan.pages_stride = h->pages_stride;
    return m;
}

bool alone::present() noexcept { return true; }

membership alone::join() {
    membership m;
    m.plan = make_segments(1);
    return m;
}

namespace {
membership join_any() {
    if (launched::present()) return launched::join();
    if (pmi1::present()) return pmi1::join();
    refuse_foreign_launcher();
    return alone::join();
}

/// A program that this rank starts is not this rank again.
void forget_launcher() noexcept {
    ::unsetenv(handed_variable);
    for (auto const* name : pmi1::variables) ::unsetenv(name);
}

/// Every rank reads the variables, and most often finds the same: said once, before anybody waits for anybody.
void refuse_bad_configuration(membership const& m) {
    std::vector<std::string> problems;
    static_cast<void>(config::values::read(environ, problems));
    if (problems.empty()) return;
    auto& header = *reinterpret_cast<control_header*>(m.arena->control().data());
    throw_once(header, m.shares_process, errc::configuration, fmt::format("mpt: {}.", fmt::join(problems, ".\nmpt: ")));
}
} // namespace

void throw_once(control_header& job, bool shares_process, errc code, std::string const& sentence) {
    auto const mine = hash_of(sentence) | 1;
    std::uint64_t told = 0;
    job.told.compare_exchange_strong(told, mine, std::memory_order_relaxed); // order: only who was first matters
    for (int waits = 0; told == mine && !shares_process && waits < 200; ++waits) {
        if (auto const end = job.aborted.load(std::memory_order_relaxed); end != 0) // order: only its own value is used
            ::_exit(static_cast<int>(end - 1) & 255);
        ::poll(nullptr, 0, 10);
    }
    throw error{code, sentence};
}

membership detect() {
    auto& registry = process_registry::instance();
    registry.refuse_fork("join a job");
    auto const known = registry.kept_or(kept_name, [] {
        auto m = std::make_shared<membership>(join_any());
        m->arena = mem::arena::open(m->plan); // once per process
        refuse_bad_configuration(*m);
        forget_launcher();
        return m;
    });
    return *std::static_pointer_cast<membership>(known);
}

std::optional<std::int32_t> announced_size() {
    // While it is found out nobody joins, and the variables stay; it is the same afterwards.
    auto& registry = process_registry::instance();
    auto const found = registry.kept_or("mpt::boot::announced_size", [&registry] {
        auto size = std::make_shared<std::optional<std::int32_t>>();
        if (auto const joined = registry.kept(kept_name)) *size = std::static_pointer_cast<membership>(joined)->size;
        else if (auto const* handed_over = std::getenv(handed_variable)) {
            if (auto const h = parse_handed(handed_over)) *size = h->size;
        } else if (pmi1::present()) {
            std::string_view const text = std::getenv("PMI_SIZE");
            std::int32_t n = 0;
            auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
            if (problem == std::errc{} && end == text.data() + text.size() && n > 0) *size = n;
        } else {
            try {
                refuse_foreign_launcher();
                *size = 1;
            } catch (error const&) { size->reset(); }
        }
        return size;
    });
    return *std::static_pointer_cast<std::optional<std::int32_t>>(found);
}

} // namespace mpt::inline v0::boot
