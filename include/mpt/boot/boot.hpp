/// boot/boot - how a rank learns who it is: the contract of a boot policy, and the job that comes of it.
///
///        mptrun ----- control + data memfd, MPT_BOOT=... ---->  boot::launched --.
///        hydra, Flux ... -- PMI_FD, PMI_RANK, PMI_SIZE ------>  boot::pmi1 ------+
///        nothing (a program started by hand) ---------------->  boot::alone -----+-->  membership --> boot::job
///        mpt::local_job(n, fn) ------------------------------>  boot::local -----'
///
///   expression        returns       meaning
///   B::present()      bool          was this process started this way?
///   B::join()         membership    who we are; throws mpt::error with a sentence when it cannot be done
///
///   A launcher in whose step we are but that cannot be joined is a loud failure (design section 9), never "rank 0 of 1".
#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpt/boot/control.hpp>
#include <mpt/core/function_ref.hpp>
#include <mpt/core/types.hpp>
#include <mpt/mem/arena.hpp>

namespace mpt::inline v0::config {
class values;
}

namespace mpt::inline v0::boot {

/// What a boot policy finds out.
struct membership {
    rank me{0};
    std::int32_t size = 1;
    mem::arena_plan plan{};              // descriptors of the node's segments
    std::shared_ptr<mem::arena> arena{}; // already open, where ranks are threads of one process
    bool shares_process = false;         // other ranks live in this process
    facade by = facade::mpi;             // what the rank begins first
};

template <class B>
concept boot_policy = requires {
    { B::name } -> std::convertible_to<std::string_view>;
    { B::present() } noexcept -> std::same_as<bool>;
    { B::join() } -> std::same_as<membership>;
};

/// Started by mptrun: descriptors inherited, verified by identity and a cookie.
struct launched {
    static constexpr std::string_view name = "mptrun";
    static bool present() noexcept;
    static membership join();
};
/// Started by a launcher that speaks PMI-1 (MPICH's and Intel's hydra, Flux, srun --mpi=pmi2): rank 0 makes the segments and
/// hands them to the others. One node only.
struct pmi1 {
    static constexpr std::string_view name = "PMI-1";
    static constexpr std::array variables{"PMI_FD", "PMI_RANK", "PMI_SIZE"};
    static bool present() noexcept;
    static membership join();
};
/// Started by hand: a job of one.
struct alone {
    static constexpr std::string_view name = "alone";
    static bool present() noexcept;
    static membership join();
};
static_assert(boot_policy<launched> && boot_policy<pmi1> && boot_policy<alone>);

/// The first boot policy that is present; remembered, so that every environment of the process is the same rank of the same
/// arena. Throws when we are in another launcher's step and cannot join it, and when a variable has a bad value: a sentence that
/// all ranks find is said by one of them.
membership detect();
/// Throws mpt::error(launch) when another launcher's variables say that this process is one of several ranks.
void refuse_foreign_launcher();

/// Makes the segments of a job on this node: used by mptrun, by `alone` and by local_job. Throws mpt::error.
/// The descriptors are close-on-exec and the caller's to close (arena::open takes them over).
mem::arena_plan make_segments(std::int32_t ranks);

/// A job of n ranks that are threads of this process: one set of segments, mapped once, one membership for each rank.
std::vector<membership> local_members(std::int32_t n);
/// A rank of a local job failed: whoever waits in it is to give up (job::follow_abort throws there).
void end_local_job(membership const& failed) noexcept;
/// Runs rank(membership) for each rank of a local job of n, on n threads, and joins them. When one throws, the job is ended, and what
/// the first one threw is thrown here. Throws mpt::error(argument) for n < 1.
void run_local_job(std::int32_t n, function_ref<void(membership const&)> rank);

/// One rank's part in a job: who it is, its control record, the exchange of addresses, and meeting the others.
class job {
public:
    /// layout: hash of the stack's wire layout; it and the job-wide configuration are compared with every other rank's in
    /// meet(), and a difference is an error that names both. job_values: "NAME=value\n..." of the rows that must agree.
    job(membership m, std::uint64_t layout, std::string_view stack_name, std::string_view job_values = {});
    ~job();
    job(job const&) = delete;
    job& operator=(job const&) = delete;

    rank me() const noexcept { return me_; }
    std::int32_t size() const noexcept { return size_; }
    bool shares_process() const noexcept { return shares_process_; }

    control_header& header() noexcept;
    control_record& record(rank r) noexcept;
    mem::arena& arena() noexcept;
    std::shared_ptr<mem::arena> share_arena() noexcept;

    /// Puts this rank's address of (transport slot, lane) where peers find it. Before meet().
    /// At most control_record::address_bytes.
    void publish(unsigned slot, unsigned lane, std::span<std::byte const> address);
    /// A peer's address, after meet(); empty when it published none for that slot and lane.
    std::span<std::byte const> address(rank peer, unsigned slot, unsigned lane) noexcept;

    /// The rank has begun by that one, too.
    void speak(facade by) noexcept;
    /// What reports call a context.
    void name(context_id context, std::string_view text) noexcept;

    /// Waits until every rank of the job is here. Compares layouts and configurations the first time. Throws mpt::error.
    void meet();
    /// The two halves of meet(), for a rank that has to go on serving its peers while it waits (leaving, design section 4):
    /// arrive() counts this rank in, and all_here() says whether everybody has come to that meeting.
    std::uint32_t arrive();
    bool all_here(std::uint32_t meeting) const noexcept;
    /// In place of meet(), for a rank that begins alone: it can be reached from here on. Whom it wants to reach it waits for, and
    /// then compares with itself, as meet() does with all.
    void open() noexcept;
    /// Has that rank met the others, or opened? Then it can be reached, until it has left for good.
    bool is_open(rank r) const noexcept;
    void compare_with(rank r);
    /// Other values than those of the constructor, before this rank meets others.
    void compare_by(std::string_view job_values) noexcept;

    /// The node's fence mode; final after the first meet().
    fence_mode fences() const noexcept;
    /// Where the sleeper fences: does its barrier reach every thread of this rank on every CPU (core/fences.hpp, Limit)? Two ranks see to it
    /// before the first meet() ends. No, where this rank began alone, or may be given other CPUs than those two.
    bool fences_reach_all() const noexcept;
    /// Ranks of this node outnumber the CPUs they may use.
    bool scarce() const noexcept;
    /// Of the CPUs that the ranks may use as many as there are for each of them, at least one; 0: this is a job of one, which does not ask.
    unsigned cpus_for_each() const noexcept;
    /// How many ranks share each of those CPUs, or some of them, at least one.
    unsigned ranks_on_each() const noexcept;
    /// For a rank that has waited for long, or yields because CPUs are scarce: where two ranks less than on its CPU, or still fewer, were
    /// seen on another one, this thread moves there. A system that has two ranks on one CPU, or three of four on one of two, may leave
    /// them there for a tenth of a second and more, in which each message costs as much as a rank spins, or each collective a switch more.
    /// The CPUs that the thread may use stay what they are.
    void keep_apart() noexcept;
    /// The same for one of several threads of a rank that wait on one lane. Each rank has a share of the CPUs, as large as the others': where
    /// the thread is on a CPU of another's share, and that rank was seen there, it moves to one of its own. Threads of a rank that share a
    /// CPU seldom meet in its lock, and their partners run at the same time as they do.
    void keep_together() noexcept;
    /// For a rank of which nobody is awake but who goes to sleep now: it needs no CPU, and is in nobody's way on the one that it had; and for
    /// who wakes.
    void fall_asleep() noexcept;
    void wake_up() noexcept;

    /// This rank has finalized: its end is no longer a failure of the job. The destructor does it too, unless an exception
    /// is on its way. (Started by hand, the only rank: then too, and the process may join again.)
    void leave() noexcept;
    /// After leave(): it has begun something again, and has to leave once more.
    void come_back() noexcept;

    /// An exception has taken that rank out of its environment, while its process lives on: it will not answer any more.
    bool failed(rank r) const noexcept;

    /// Ranks that are threads copy from and to each other's buffers, whose owner may throw and free them once the job is ended.
    /// A copy begins by this; false: the job is ended, and nothing must be touched. Where it was true, end_copy() follows.
    bool begin_copy() noexcept;
    void end_copy() noexcept;
    /// After aborted(): returns when no copy is under way; none begins any more.
    void await_copies() noexcept;

    /// Some rank asked for, or died into, the end of the job.
    bool aborted() const noexcept;
    /// What a wait does when it sees aborted(), or that the launcher is gone. A process ends quietly with the job's exit code,
    /// because whoever ended the job has said why; a rank that is a thread throws mpt::error(peer_gone).
    [[noreturn]] void follow_abort();
    /// The launcher died without a word (kill -9). Costs a system call: for waits that sleep.
    bool launcher_gone() const noexcept;
    /// Ends the whole job with this exit code, as far as we can reach it. Does not return.
    /// library: an address in the one that the program called, where it is to be told which line of it did; or null.
    [[noreturn]] void abort(int code, std::string_view why, void const* library = nullptr) noexcept;
    /// The same by a program that is through: the exit code may be 0, of which nobody says a word. What it has printed is not lost.
    [[noreturn]] void end(int code) noexcept;

private:
    rank_state state_of(rank r) const noexcept;
    void compare(rank x, rank y);
    void wait_for_start(function_ref<bool()> is_here, long longest_nap);
    void pass_cpus();
    [[noreturn]] void end_all(int code, std::string_view why, void const* library) noexcept;
    rank me_;
    std::int32_t size_;
    bool shares_process_;
    struct impl;
    std::unique_ptr<impl> impl_;
};

/// How a rank is reached: the transport by name (or why none), and whether it can read the peer's memory.
struct path {
    std::string transport;
    bool reads = false;
};
/// What rank 0 tells at start when MPT_INFO asks: who runs where, how it reaches each rank and why, the variables that are set.
/// After meet(). ways: from rank 0 to each rank.
std::string start_up_table(job& j, config::values const& v, std::span<path const> ways);

} // namespace mpt::inline v0::boot
