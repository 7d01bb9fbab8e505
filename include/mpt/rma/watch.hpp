/// rma/watch - one rank's look at a window's accesses and epochs, for programs that are being tested: what MPI leaves undefined is told.
///
///        Win_lock  --> locked()        Put, and then note() --- a finding: the program is told
///        Win_flush --> flushed()                      `---- none: it is noted in the target's access_log
///
///   It stands beside a window (rma/window.hpp) and hears of each call before or after the window does, as the functions say. What the
///   window refuses by itself (no epoch, a wrong order, outside its memory) is not told here.
///
///   Finds     accesses that conflict, of one origin and of several; a put or an accumulate where the target has promised that there
///             is none; operations in front of a fence that was to have none; a lock whose promise that nobody competes is not true;
///             a start whose promise that the target has posted is not true, or was not given to the post; a fence in an exposure
///             epoch; a part that is exposed and locked; a promise to a fence that not all ranks gave.
///   Not       loads and stores: nobody sees them.
///   Threads   as the window.
///   Memory    an access_log for each rank of the window, in its slice of the arena.
///   Tests     test/rma_watch_test.cpp    Source MPI-4.1 sections 12.5 and 12.7.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include <mpt/coll/allgather.hpp>
#include <mpt/rma/access_log.hpp>
#include <mpt/rma/window.hpp>

namespace mpt::inline v0::rma {

/// What is wrong: accesses conflict, or else something is done at a wrong time or against a promise.
struct finding {
    bool conflicts = false;
    std::string what;
};
using findings = std::optional<finding>; // none or one

template <class Stack> class watch {
    using world_type = typename Stack::world_type;
    using log_type = access_log<typename world_type::atomics>;
    template <class T> using atomic = typename world_type::atomics::template atomic<T>;

    struct card {
        std::uint64_t log_at = 0;
        std::int64_t unit = 1;
        std::uint64_t failed = 0;
    };
    struct target {
        log_type* log = nullptr;
        std::int64_t unit = 1;
        held lock = held::nothing; // what was told of in its log
    };
    class holding { // a log's lock, for as long as a list is compared
        log_type& log_;

    public:
        holding(log_type& l, world_type const& world) noexcept : log_{l} {
            while (!log_.lock.try_exclusive()) world.yield();
        }
        ~holding() { log_.lock.release_exclusive(); }
        holding(holding const&) = delete;
        log_type* operator->() const noexcept { return &log_; }
        log_type& operator*() const noexcept { return log_; }
    };

    runtime<Stack>& run_;
    rank const me_;
    std::span<std::byte> memory_;
    std::vector<target> targets_;
    std::uint64_t fences_ = 0;
    // order: of all below: the program's own threads, which know from each other in which epoch they are
    enum class mode : std::uint8_t { fence, start, passive };
    atomic<mode> mode_{mode::fence};
    atomic<std::uint32_t> calls_{0}, made_{0}; // of all time; since the last fence

public:
    /// Collective, by the ranks of a window that is being made. Throws mpt::error(no_memory) on all of them where one has none.
    watch(runtime<Stack>& run, coll::team<Stack> const& parent, std::int64_t unit);
    watch(watch const&) = delete;
    ~watch() {
        if (!memory_.empty()) run_.deallocate(memory_);
    }

    /// After the window's operation: what the window refuses is no access. No finding: it is noted under this number.
    std::pair<std::uint32_t, findings> note(target_place const& to, access a);
    void drop(rank r, std::uint32_t call);

    /// Before the window's fence, and after it.
    findings may_fence();
    /// Then, also before it; a finding is told after it, since the others wait for this rank there.
    findings before_fence(promises p);
    findings fenced();
    /// Before the window's start: targets in ranks of the window.
    findings before_start(std::span<rank const> targets, promises p);
    void started() noexcept { enter(mode::start); }
    /// Before the window's post, which refuses a second one.
    findings before_post(promises p);
    void waited() { of(me_)->exposed = false; }
    /// After the window's lock, which is to be undone where there is a finding.
    findings locked(lock_kind kind, rank r);
    /// Before the window's unlock.
    void unlocked(rank r);
    /// After a flush; `here`: of this side alone, which completes what fetches.
    void flushed(rank r, bool here = false);
    std::int32_t size() const noexcept { return static_cast<std::int32_t>(targets_.size()); }

private:
    target& at(rank r) noexcept { return targets_[static_cast<std::size_t>(r.value)]; }
    holding of(rank r) noexcept { return {*at(r).log, run_.world()}; }
    void enter(mode m) noexcept { mode_.store(m, std::memory_order_relaxed); } // order: see mode_
    std::uint64_t epoch_of(log_type const& log) const noexcept {
        switch (mode_.load(std::memory_order_relaxed)) { // order: see mode_
        case mode::fence: return fence_epoch(fences_);
        case mode::start: return exposure_epoch(log.exposures);
        case mode::passive: break;
        }
        return passive_epoch;
    }
    static bool only_read(log_type const& log, std::uint64_t epoch) noexcept {
        return epoch % 2 == 1 ? log.exposed && log.exposed_to_reads
                              : epoch != passive_epoch && log.reads_fences[epoch / 2 % 2] == epoch;
    }
    static std::string holders_of(log_type const& log) {
        if (log.alone >= 0) return "rank " + std::to_string(log.alone);
        return std::to_string(log.sharers) + (log.sharers == 1 ? " rank" : " ranks");
    }
    static std::string part_of(rank r) { return "rank " + std::to_string(r.value) + "'s part of the window"; }
};

template <class Stack> watch<Stack>::watch(runtime<Stack>& run, coll::team<Stack> const& parent, std::int64_t unit)
    : run_{run}, me_{parent.me()} {
    card mine{0, unit, 0};
    std::string why_not;
    try {
        memory_ = run.allocate(bytes{sizeof(log_type)});
        new (memory_.data()) log_type{};
        mine.log_at = run.heap().refer(memory_.data()).offset;
    } catch (error const& e) { mine.failed = 1, why_not = e.what(); }
    std::vector<card> all(static_cast<std::size_t>(parent.size()));
    coll::allgather(parent, source{&mine, sizeof mine}, coll::blocks{std::as_writable_bytes(std::span{all}), sizeof mine});
    for (rank r = 0; r < parent.size(); r = r + 1) {
        auto const& c = all[static_cast<std::size_t>(r.value)];
        auto const world = parent.who().world(r);
        auto const slice = run.job().arena().slice(world, run.job().record(world).slice_bytes);
        if (c.failed != 0 || slice.empty()) {
            if (!memory_.empty()) run_.deallocate(std::exchange(memory_, {}));
            throw error{errc::no_memory, why_not.empty() ? "mpt: rank " + std::to_string(r.value) +
                                                               " has no memory to note accesses to its part of a window."
                                                         : why_not};
        }
        targets_.push_back({reinterpret_cast<log_type*>(slice.data() + c.log_at), c.unit, held::nothing});
    }
}

template <class Stack> std::pair<std::uint32_t, findings> watch<Stack>::note(target_place const& to, access a) {
    static constexpr std::size_t most_runs = 4096;
    auto& t = at(to.target);
    a.by = me_.value;
    a.call = calls_.fetch_add(1, std::memory_order_relaxed) + 1; // order: a number, which is nobody else's
    typed_runs const there{static_cast<std::uint64_t>(to.displacement) * static_cast<std::uint64_t>(t.unit), to.count, to.type};
    std::array<memory_run, 64> runs;
    auto const log = of(to.target);
    a.epoch = epoch_of(*t.log);
    log->drop_before(a.epoch);
    if (a.what != touch::get && a.op != operation::no_op && there.size() != 0 && only_read(*t.log, a.epoch))
        return {a.call, finding{false, part_of(to.target) + " is changed, and that rank has promised by MPI_MODE_NOPUT that it "
                                                            "is not"}};
    std::size_t seen = 0;
    for (std::size_t done = 0; done < there.size() && seen < most_runs;) {
        auto const piece = there.list(done, there.size() - done, runs);
        for (std::size_t i = 0; i < piece.runs; ++i) {
            a.where = runs[i];
            auto const other = log->add(a);
            if (!other) continue;
            log->drop([&a](access const& x) { return x.by == a.by && x.call == a.call; });
            return {a.call, finding{true, told_conflict(a, *other, to.target.value)}};
        }
        done += piece.bytes, seen += piece.runs;
    }
    made_.fetch_add(1, std::memory_order_relaxed); // order: see mode_
    return {a.call, std::nullopt};
}

template <class Stack> void watch<Stack>::drop(rank r, std::uint32_t call) {
    of(r)->drop([this, call](access const& x) { return x.by == me_.value && x.call == call; });
}

template <class Stack> void watch<Stack>::flushed(rank r, bool here) {
    of(r)->drop(
        [this, here](access const& x) { return x.by == me_.value && x.epoch == passive_epoch && (x.fetches || !here); });
}

// --- promises -----------------------------------------------------------------------------------------------------------------------
template <class Stack> findings watch<Stack>::may_fence() {
    if (of(me_)->exposed) return finding{false, "an exposure epoch is open: MPI_Win_wait or MPI_Win_test ends it"};
    return std::nullopt;
}
template <class Stack> findings watch<Stack>::before_fence(promises p) {
    auto const own = of(me_);
    auto const next = fences_ + 1; // others may be in the one before still
    if (p.no_put) own->reads_fences[next % 2] = fence_epoch(next);
    own->fences[next % 2] = {p.no_precede, p.no_succeed};
    auto const n = made_.load(std::memory_order_relaxed);                                // order: see mode_
    if (!p.no_precede || mode_.load(std::memory_order_relaxed) != mode::fence || n == 0) // order: see mode_
        return std::nullopt;
    return finding{false, std::to_string(n) + " operations were made since the last fence, and MPI_MODE_NOPRECEDE promises "
                                              "that there are none"};
}

template <class Stack> findings watch<Stack>::fenced() {
    ++fences_;
    made_.store(0, std::memory_order_relaxed); // order: see mode_
    enter(mode::fence);
    auto const mine = of(me_)->fences[fences_ % 2];
    for (rank r = 0; r < size(); r = r + 1) {
        auto const theirs = of(r)->fences[fences_ % 2];
        bool const precede = theirs.no_precede != mine.no_precede;
        if (!precede && theirs.no_succeed == mine.no_succeed) continue;
        bool const is_mine = precede ? mine.no_precede : mine.no_succeed;
        auto const there = "rank " + std::to_string(r.value) + " of the window";
        return finding{false, std::string{precede ? "MPI_MODE_NOPRECEDE" : "MPI_MODE_NOSUCCEED"} +
                                  " is given to this fence by " +
                                  (is_mine ? "this rank and not by " + there : there + " and not by this one") +
                                  "; all ranks are to give it, or none"};
    }
    return std::nullopt;
}

template <class Stack> findings watch<Stack>::before_start(std::span<rank const> targets, promises p) {
    if (!p.no_check) return std::nullopt;
    for (auto const r : targets) {
        auto const log = of(r);
        auto const who = "rank " + std::to_string(r.value) + " of the window has ";
        if (!log->exposed) return finding{false, who + "not posted, and MPI_MODE_NOCHECK promises that it has"};
        if (!log->exposed_untold)
            return finding{false,
                           who + "posted without MPI_MODE_NOCHECK, which this start is given; both are to be, or neither"};
    }
    return std::nullopt;
}

template <class Stack> findings watch<Stack>::before_post(promises p) {
    auto const own = of(me_);
    if (own->exposed) return std::nullopt;
    if (own->alone >= 0 || own->sharers != 0)
        return finding{false,
                       part_of(me_) + " is locked by " + holders_of(*own) + ", and is not to be exposed before it is unlocked"};
    own->exposed = true, own->exposed_to_reads = p.no_put, own->exposed_untold = p.no_check;
    ++own->exposures;
    return std::nullopt;
}

template <class Stack> findings watch<Stack>::locked(lock_kind kind, rank r) {
    bool const wants_all = kind == lock_kind::exclusive;
    auto const log = of(r);
    if (log->alone >= 0 || (wants_all && log->sharers != 0))
        return finding{false, part_of(r) + " is locked by " + holders_of(*log) +
                                  ", and MPI_MODE_NOCHECK promises that no lock competes"};
    if (log->exposed)
        return finding{false, part_of(r) + " is exposed by MPI_Win_post, and is not to be locked before MPI_Win_wait"};
    if (wants_all) log->alone = me_.value;
    else ++log->sharers;
    at(r).lock = wants_all ? held::exclusive : held::shared;
    enter(mode::passive);
    return std::nullopt;
}

template <class Stack> void watch<Stack>::unlocked(rank r) {
    auto const had = std::exchange(at(r).lock, held::nothing);
    if (had == held::nothing) return;
    flushed(r);
    auto const log = of(r);
    if (had == held::exclusive) log->alone = -1;
    else --log->sharers;
}

} // namespace mpt::inline v0::rma
