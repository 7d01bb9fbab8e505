// One rank's part in a job (boot/boot.hpp).
#include <mpt/boot/boot.hpp>
#include <mpt/core/caller.hpp>
#include <mpt/core/error.hpp>
#include <mpt/core/hash.hpp>
#include <mpt/core/registry.hpp>
#include <mpt/world/native.hpp>

#include "arena_system.hpp"
#include "boot_parts.hpp"
#include "boot_pmi1.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>

namespace mpt::inline v0::boot {
namespace {

template <std::size_t N> void put(std::array<char, N>& to, std::string_view from) noexcept {
    auto const n = std::min(from.size(), N - 1);
    if (n != 0) std::memcpy(to.data(), from.data(), n); // an empty text may have no address
    to[n] = 0;
}
template <std::size_t N> std::string_view text(std::array<char, N> const& a) noexcept {
    return {a.data(), ::strnlen(a.data(), N)};
}

void futex_wait(native::atomic<std::uint32_t>& word, std::uint32_t seen, long nanoseconds) noexcept {
    timespec const t{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &t, nullptr, 0);
}
void futex_wake_all(native::atomic<std::uint32_t>& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
}

/// "NAME=value" lines: calls f(name, value).
template <class F> void each_value(std::string_view lines, F f) {
    while (!lines.empty()) {
        auto const end = lines.find('\n');
        auto const line = lines.substr(0, end);
        auto const equals = line.find('=');
        if (equals != line.npos) f(line.substr(0, equals), line.substr(equals + 1));
        lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
    }
}

std::string difference(std::string_view mine, std::string_view theirs, rank me, rank peer) {
    std::string found;
    each_value(mine, [&](std::string_view name, std::string_view value) {
        std::string_view other = "not set";
        each_value(theirs, [&](std::string_view n, std::string_view v) {
            if (n == name) other = v;
        });
        if (found.empty() && other != value)
            found = fmt::format("{} is {} on rank {} but {} on rank {}", name, value, me.value, other, peer.value);
    });
    return found;
}

/// The sentence when they differ; else empty.
std::string compare_configuration(control_record const& a, control_record const& b, rank x, rank y) {
    if (a.configuration == b.configuration) return {};
    auto what = difference(text(a.job_values), text(b.job_values), x, y);
    if (what.empty()) what = difference(text(b.job_values), text(a.job_values), y, x);
    if (what.empty()) what = fmt::format("the job-wide configuration of rank {} is not that of rank {}", x.value, y.value);
    return "mpt: " + what + ": this must be the same on all ranks of a job.";
}

std::string compare_layout(control_record const& a, control_record const& b, rank x, rank y) {
    if (a.layout == b.layout) return {};
    return fmt::format(
        "mpt: rank {} runs the stack \"{}\" (layout {:016x}) but rank {} runs \"{}\" (layout {:016x}): all ranks of "
        "a job must be built with the same stack and the same version of mpt.",
        x.value, text(a.stack_name), a.layout, y.value, text(b.stack_name), b.layout);
}

constexpr std::int64_t shortest_pause = 1'000'000,
                       longest_pause = 1'000'000'000; // nanoseconds from one look at CPUs to the next
constexpr std::uint32_t passers = std::tuple_size_v<decltype(control_header::passed)>; // ranks that pass every CPU
} // namespace

struct job::impl {
    std::shared_ptr<mem::arena> arena;
    control_header* header = nullptr;
    std::byte* records = nullptr;
    pid_t pid = ::getpid();
    int exceptions = std::uncaught_exceptions();
    bool left = false;
    std::uint64_t cpus = 0;                                     // cpus_to_pass(), of a rank that has met others
    std::shared_ptr<pmi1_line> launcher;                        // who must hear of our end by words; mptrun sees it
    std::mutex naming;                                          // threads of this rank may name communicators at once
    native_atomics::atomic<std::int64_t> look_at{0};            // when keep_apart() looks again
    native_atomics::atomic<std::int64_t> pause{shortest_pause}; // nanoseconds until then; longer after each move
    native_atomics::atomic<std::uint32_t> moved{0};             // threads, by keep_together()
    native_atomics::atomic<std::uint32_t> yields{0};            // calls of keep_apart() where CPUs are scarce
};

job::job(membership m, std::uint64_t layout, std::string_view stack_name, std::string_view job_values)
    : me_{m.me}, size_{m.size}, shares_process_{m.shares_process}, impl_{std::make_unique<impl>()} {
    process_registry::instance().refuse_fork("join a job");
    impl_->arena = m.arena ? std::move(m.arena) : mem::arena::open(m.plan);
    auto const control = impl_->arena->control();
    impl_->header = reinterpret_cast<control_header*>(control.data());
    impl_->records = control.data() + control_records_at;
    if (!shares_process_) impl_->launcher = kept_pmi1_line();

    // Before others see that we are here: see pass_cpus().
    bool const registered = fences() == fence_mode::both || register_heavy();
    auto& mine = record(me_);
    auto was = mine.state.load(std::memory_order_acquire); // sync(boot.record): acquire
    auto const free = was == rank_state::absent || (was == rank_state::finalized && mine.pid == impl_->pid);
    if (!free ||
        !mine.state.compare_exchange_strong(was, rank_state::attached, std::memory_order_acq_rel)) // sync(boot.record): acq_rel
        throw error{errc::launch, fmt::format("mpt: rank {} of this job is already taken by process {}: a program that a rank "
                                              "starts is not the same rank twice.",
                                              me_.value, mine.pid)};
    mine.pid = impl_->pid;
    mine.tid = static_cast<std::int32_t>(::syscall(SYS_gettid));
    mine.layout = layout;
    put(mine.stack_name, stack_name);
    compare_by(job_values);
    mine.slice_bytes = impl_->arena->own_limit();
    mine.speaks.store(static_cast<std::uint32_t>(m.by), std::memory_order_relaxed); // order: as in speak()
    mine.addresses = {};
    mine.calls.clear();
    if (!shares_process_ && size_ > 1 && me_ < static_cast<std::int32_t>(passers))
        futex_wake_all(impl_->header->arrived); // see pass_cpus()
    if (!registered) {
        impl_->header->fences.store(fence_mode::both, std::memory_order_relaxed); // order: meet() publishes it
        impl_->header->no_membarrier.store(1, std::memory_order_relaxed);         // order: meet() publishes it
    }
}

/// By an exception, a rank goes without a word, and whoever started it hears of the failure by the process's end. Where nobody
/// did and there is no other rank, nobody is failed: the process may begin again.
job::~job() {
    bool const alone = size_ == 1 && header().launcher_pid == 0;
    if (alone || std::uncaught_exceptions() <= impl_->exceptions) leave();
    if (impl_->left || impl_->pid != ::getpid()) return;
    record(me_).state.store(rank_state::failed, std::memory_order_release); // sync(boot.record): release
}

void job::compare_by(std::string_view job_values) noexcept {
    auto& mine = record(me_);
    mine.configuration = hash_of(job_values);
    put(mine.job_values, job_values);
}

control_header& job::header() noexcept { return *impl_->header; }
control_record& job::record(rank r) noexcept {
    return *reinterpret_cast<control_record*>(impl_->records + static_cast<std::size_t>(r.value) * sizeof(control_record));
}
mem::arena& job::arena() noexcept { return *impl_->arena; }
std::shared_ptr<mem::arena> job::share_arena() noexcept { return impl_->arena; }
fence_mode job::fences() const noexcept {
    return impl_->header->fences.load(std::memory_order_relaxed);
} // order: final after meet()
bool job::scarce() const noexcept { return impl_->header->scarce != 0; }
unsigned job::cpus_for_each() const noexcept {
    auto const all = impl_->header->cpus;
    return all == 0 ? 0 : std::max(all / static_cast<unsigned>(size_), 1u);
}
unsigned job::ranks_on_each() const noexcept {
    auto const all = impl_->header->cpus, ranks = static_cast<unsigned>(size_);
    return all == 0 ? 1 : std::max((ranks + all - 1) / all, 1u);
}

namespace {
/// To that CPU, and then free to go wherever it was free to go before. False: the system refuses.
bool move_to(int cpu, cpu_set_t const& allowed) noexcept {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpu), &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) return false;
    ::sched_setaffinity(0, sizeof allowed, &allowed);
    return true;
}
} // namespace

void job::keep_apart() noexcept {
    constexpr std::uint32_t yields_apart = 8; // where each wait yields, the clock is not looked at each time
    if (size_ == 1 || shares_process_) return;
    if (scarce()) {
        auto const yields = impl_->yields.load(std::memory_order_relaxed) + 1; // order: a number, nothing hangs on it
        impl_->yields.store(yields, std::memory_order_relaxed);                // order: as above
        if (yields % yields_apart != 0) return;
    }
    auto const here = ::sched_getcpu();
    if (here < 0) return;
    auto const seen = [this](std::int32_t r) {
        return static_cast<int>(record(rank{r}).cpu.load(std::memory_order_relaxed)) - 1; // order: a hint, which may be old
    };
    auto& mine = record(me_).cpu;
    if (seen(me_.value) != here) mine.store(static_cast<std::uint32_t>(here + 1), std::memory_order_relaxed); // order: as above

    auto const now = static_cast<std::int64_t>(world::detail::monotonic_now().count());
    auto due = impl_->look_at.load(std::memory_order_relaxed);       // order: a time, nothing hangs on it
    auto const pause = impl_->pause.load(std::memory_order_relaxed); // order: as above
    auto const until = now + std::min(scarce() ? pause * size_ : pause, longest_pause);
    if (now < due || !impl_->look_at.compare_exchange_strong(due, until, std::memory_order_relaxed)) return; // order: as above
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return; // more CPUs than the set has room for
    std::array<std::int32_t, CPU_SETSIZE> ranks{};
    auto const ranks_on = [&ranks](int cpu) { return ranks[static_cast<std::size_t>(cpu)]; };
    for (std::int32_t r = 0; r < size_; ++r)
        if (auto const cpu = seen(r); cpu >= 0 && cpu < CPU_SETSIZE) ++ranks[static_cast<std::size_t>(cpu)];
    auto next = here;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed) && ranks_on(cpu) < ranks_on(next)) next = cpu;
    if (ranks_on(next) + 2 > ranks_on(here) || !move_to(next, allowed)) return;
    mine.store(static_cast<std::uint32_t>(next + 1), std::memory_order_relaxed);       // order: as above
    impl_->pause.store(std::min(2 * pause, longest_pause), std::memory_order_relaxed); // order: as above
}

void job::fall_asleep() noexcept {
    if (!shares_process_) record(me_).cpu.store(0, std::memory_order_relaxed); // order: a hint
}
void job::wake_up() noexcept {
    auto const here = shares_process_ ? -1 : ::sched_getcpu();
    if (here >= 0) record(me_).cpu.store(static_cast<std::uint32_t>(here + 1), std::memory_order_relaxed); // order: a hint
}

namespace {
/// When a thread looks again, and how long after that.
struct look {
    std::int64_t at = 0, pause = shortest_pause;
};
thread_local look next_look;

/// CPUs of which each of some ranks has a share, in their order, as large as the others'.
class shared_cpus {
    cpu_set_t const& allowed_;
    std::int64_t all_, ranks_;
    std::int64_t first_of(std::int32_t r) const noexcept { return (r * all_ + ranks_ - 1) / ranks_; }
    bool has(int cpu) const noexcept {
        return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &allowed_);
    }

public:
    shared_cpus(cpu_set_t const& allowed, std::int32_t ranks) noexcept
        : allowed_{allowed}, all_{CPU_COUNT(&allowed)}, ranks_{ranks} {}
    bool suffice() const noexcept { return all_ >= ranks_; }
    /// In whose share it is; -1: in none.
    std::int32_t owner(int cpu) const noexcept {
        if (!has(cpu)) return -1;
        std::int64_t before = 0;
        for (int c = 0; c < cpu; ++c) before += has(c) ? 1 : 0;
        return static_cast<std::int32_t>(before * ranks_ / all_);
    }
    /// One of that rank's, another for each number.
    int one_of(std::int32_t r, std::uint32_t number) const noexcept {
        auto n = first_of(r) + number % (first_of(r + 1) - first_of(r));
        for (int cpu = 0;; ++cpu)
            if (has(cpu) && n-- == 0) return cpu;
    }
};
} // namespace

void job::keep_together() noexcept {
    if (size_ == 1 || shares_process_ || scarce()) return;
    auto const now = static_cast<std::int64_t>(world::detail::monotonic_now().count());
    if (now < next_look.at) return;
    next_look.at = now + next_look.pause;
    auto const here = ::sched_getcpu();
    cpu_set_t allowed;
    if (here < 0 || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    auto const seen = [this](std::int32_t r) -> auto& { return record(rank{r}).cpu; };
    auto const say = [&](int cpu) {
        seen(me_.value).store(static_cast<std::uint32_t>(cpu + 1), std::memory_order_relaxed); // order: a hint
    };
    say(here);
    shared_cpus const cpus{allowed, size_};
    auto const whose = cpus.owner(here);
    if (!cpus.suffice() || whose < 0 || whose == me_.value) return;
    auto const theirs = static_cast<int>(seen(whose).load(std::memory_order_relaxed)) - 1; // order: a hint, which may be old
    if (cpus.owner(theirs) != whose) return;
    auto const next = cpus.one_of(me_.value, impl_->moved.fetch_add(1, std::memory_order_relaxed)); // order: a number
    if (!move_to(next, allowed)) return;
    say(next);
    next_look.pause = std::min(2 * next_look.pause, longest_pause);
}

void job::publish(unsigned slot, unsigned lane, std::span<std::byte const> address) {
    auto& all = record(me_).addresses;
    auto const room =
        std::ranges::find_if(all, [&](auto const& a) { return a.size == 0 || (a.slot == slot && a.lane == lane); });
    if (address.empty() || address.size() > control_record::address_bytes || room == all.end())
        throw error{errc::argument, fmt::format("mpt: the address of transport {} lane {} ({} bytes) does not fit the control "
                                                "record ({} addresses of up to {} bytes).",
                                                slot, lane, address.size(), all.size(), control_record::address_bytes)};
    room->slot = static_cast<std::uint16_t>(slot);
    room->lane = static_cast<std::uint16_t>(lane);
    std::ranges::copy(address, room->data.begin());
    room->size = static_cast<std::uint32_t>(address.size());
}

std::span<std::byte const> job::address(rank peer, unsigned slot, unsigned lane) noexcept {
    for (auto const& a : record(peer).addresses)
        if (a.size != 0 && a.slot == slot && a.lane == lane) return std::span{a.data}.first(a.size);
    return {};
}

void job::speak(facade by) noexcept {
    record(me_).speaks.fetch_or(static_cast<std::uint32_t>(by), std::memory_order_relaxed); // order: words of a report
}

/// The name is there when its context is. One that finds no room goes without: reports then give the context's number.
void job::name(context_id context, std::string_view what) noexcept {
    std::scoped_lock const turn{impl_->naming};
    auto const number = static_cast<std::uint64_t>(context);
    for (auto& n : record(me_).names) {
        auto const now = n.context.load(std::memory_order_relaxed); // order: written in turns, by this rank alone
        if (now != 0 && now != number) continue;
        put(n.text, what);
        n.context.store(number, std::memory_order_release); // sync(boot.name): release
        return;
    }
}

std::uint32_t job::arrive() {
    process_registry::instance().refuse_fork("meet the other ranks");
    auto const meeting = ++record(me_).rounds * static_cast<std::uint32_t>(size_);
    auto const came = impl_->header->arrived.fetch_add(1, std::memory_order_acq_rel) + 1; // sync(boot.meet): acq_rel
    bool const passers_may = came + passers == static_cast<std::uint32_t>(size_);
    if (passers_may || all_here(meeting)) futex_wake_all(impl_->header->arrived);
    return meeting;
}

bool job::all_here(std::uint32_t meeting) const noexcept {
    auto const seen = impl_->header->arrived.load(std::memory_order_acquire); // sync(boot.meet): acquire
    return static_cast<std::int32_t>(seen - meeting) >= 0;
}

/// Of the sleeper's barriers (core/fences.hpp, Limit): when all others have come to the first meeting, and so have registered, two ranks
/// pass every CPU, once in a job. Each does it for the other's sake, too.
void job::pass_cpus() {
    auto const all = static_cast<std::uint32_t>(size_), me = static_cast<std::uint32_t>(me_.value);
    if (all < passers || shares_process_ || fences() != fence_mode::sleeper) return;
    if (me >= passers || impl_->header->passed[me].load(std::memory_order_relaxed) != 0) { // order: our own
        impl_->cpus = cpus_to_pass();
        return;
    }
    rank const other{1 - me_.value};
    wait_for_start([&] { return all_here(all - passers) && state_of(other) != rank_state::absent; },
                   200'000L); // who looks while the other one registers is not woken
    impl_->cpus = pass_every_cpu();
    impl_->header->passed[me].store(impl_->cpus, std::memory_order_relaxed); // order: arrive() publishes it
}
/// Where the passers may be given the same CPUs as this rank, which was on no other.
bool job::fences_reach_all() const noexcept {
    auto const same = [this](native_atomics::atomic<std::uint64_t> const& cpus) {
        return cpus.load(std::memory_order_relaxed) == impl_->cpus; // order: arrive() has published it
    };
    return size_ == 1 || shares_process_ || (impl_->cpus != 0 && std::ranges::all_of(impl_->header->passed, same));
}

void job::wait_for_start(function_ref<bool()> is_here, long longest_nap) {
    auto& h = *impl_->header;
    long nap = 50'000;
    for (int looks = 0;; ++looks) {
        auto const seen = h.arrived.load(std::memory_order_acquire); // sync(boot.meet): acquire
        if (is_here()) break;
        if (aborted() || (looks > 100 && launcher_gone())) follow_abort();
        if (looks == 100) record(me_).waiting.write(wait_for::start, {}, any_source, any_tag, 0, world::native{}.now().count());
        if (looks < 100) ::sched_yield();
        else futex_wait(h.arrived, seen, nap = std::min(nap * 2, longest_nap));
    }
    record(me_).waiting.clear();
}

void job::meet() {
    if (record(me_).state.load(std::memory_order_relaxed) == rank_state::attached) pass_cpus(); // order: our own
    auto const meeting = arrive();
    wait_for_start([&] { return all_here(meeting); }, 10'000'000L);
    if (record(me_).state.load(std::memory_order_relaxed) != rank_state::attached)
        return; // order: only this rank writes it now
    for (rank r = 0; r < size_; r = r + 1) compare(0, r);
    open();
}

void job::compare(rank x, rank y) {
    if (auto const bad = compare_layout(record(x), record(y), x, y); !bad.empty())
        throw_once(header(), shares_process_, errc::launch, bad);
    if (auto const bad = compare_configuration(record(x), record(y), x, y); !bad.empty())
        throw_once(header(), shares_process_, errc::configuration, bad);
}
void job::compare_with(rank r) { compare(std::min(me_, r), std::max(me_, r)); }

void job::open() noexcept {
    record(me_).state.store(rank_state::running, std::memory_order_release); // sync(boot.record): release
}
bool job::is_open(rank r) const noexcept {
    auto const now = state_of(r);
    return now == rank_state::running || now == rank_state::finalized;
}

void job::leave() noexcept {
    if (impl_->left || impl_->pid != ::getpid()) return;
    impl_->left = true;
    if (impl_->launcher) impl_->launcher->finalize();
    record(me_).state.store(rank_state::finalized, std::memory_order_release); // sync(boot.record): release
}

void job::come_back() noexcept {
    if (std::exchange(impl_->left, false)) open();
}

rank_state job::state_of(rank r) const noexcept {
    auto const& of =
        *reinterpret_cast<control_record const*>(impl_->records + static_cast<std::size_t>(r.value) * sizeof(control_record));
    return of.state.load(std::memory_order_acquire); // sync(boot.record): acquire
}
bool job::failed(rank r) const noexcept { return state_of(r) == rank_state::failed; }

bool job::begin_copy() noexcept {
    // Whoever saw the end of the job and then no copy here, came before us in this word's order, and we see that end.
    impl_->header->copying.fetch_add(1, std::memory_order_acq_rel); // sync(boot.copying): acq_rel
    if (!aborted()) [[likely]]
        return true;
    end_copy();
    return false;
}
void job::end_copy() noexcept { impl_->header->copying.fetch_sub(1, std::memory_order_release); } // sync(boot.copying): release
void job::await_copies() noexcept {
    while (impl_->header->copying.fetch_add(0, std::memory_order_acq_rel) != 0) ::sched_yield(); // sync(boot.copying): acq_rel
}

bool job::aborted() const noexcept {
    return impl_->header->aborted.load(std::memory_order_relaxed) != 0;
} // order: a hint to look closer

bool job::launcher_gone() const noexcept {
    auto const pid = impl_->header->launcher_pid;
    return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

void job::follow_abort() {
    auto const word = impl_->header->aborted.load(std::memory_order_acquire); // sync(boot.abort): acquire
    if (!shares_process_) ::_exit(word == 0 ? 1 : static_cast<int>(word - 1) & 255);
    auto const who = impl_->header->abort_rank.load(std::memory_order_relaxed); // order: stored before `aborted` was released
    throw error{errc::peer_gone, fmt::format("mpt: rank {} ended the job.", who - 1)};
}

/// Several ranks may make the same mistake at once: one of them says so. It says so first, because mptrun tells more when it sees
/// the end of the job.
void job::abort(int code, std::string_view why, void const* library) noexcept {
    end_all((code & 255) == 0 ? 1 : code & 255, why, library);
}
namespace {
/// What the program has printed comes out. Half a second is enough: a stream may be locked by a thread that waits for its input.
void flush_streams() {
    auto const done = std::make_shared<native_atomics::atomic<bool>>(false);
    std::thread{[done] {
        std::fflush(nullptr);
        std::cout.flush();
        done->store(true, std::memory_order_release); // sync(boot.flushed): release
    }}.detach();
    for (int i = 0; i < 500 && !done->load(std::memory_order_acquire); ++i)
        ::poll(nullptr, 0, 1); // sync(boot.flushed): acquire
}
} // namespace

void job::end(int code) noexcept {
    try {
        flush_streams();
    } catch (std::exception const&) {} // no memory, no thread: it ends all the same
    end_all(code & 255, {}, nullptr);
}
void job::end_all(int code, std::string_view why, void const* library) noexcept {
    auto& h = *impl_->header;
    std::uint32_t nobody = 0, none = 0;
    auto const mine = 1u + static_cast<std::uint32_t>(me_.value);
    if (!h.abort_rank.compare_exchange_strong(nobody, mine, std::memory_order_relaxed)) { // order: only who is first
        for (int i = 0; i < 500 && !aborted(); ++i)
            ::poll(nullptr, 0, 10); // the launcher ends the job at the first end of a rank, and that one has to speak first
        ::_exit(code);
    }
    if (code != 0) {
        std::array<char, 256> host{};
        ::gethostname(host.data(), host.size() - 1);
        auto const whole = with_caller(why, library);
        std::fprintf(stderr, "mpt: rank %d of %d on %s (process %d) ended the job with exit code %d%s%s\n", me_.value, size_,
                     host.data(), impl_->pid, code, why.empty() ? "." : ": ", whole.c_str());
        std::fflush(stderr);
    }
    if (impl_->launcher) impl_->launcher->abort(code); // before the others leave: their end, too, is a reason to end the job
    h.aborted.compare_exchange_strong(none, 1u + static_cast<std::uint32_t>(code),
                                      std::memory_order_acq_rel); // sync(boot.abort): acq_rel
    futex_wake_all(h.arrived);
    ::_exit(code);
}

} // namespace mpt::inline v0::boot
