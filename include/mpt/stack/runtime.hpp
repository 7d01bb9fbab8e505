/// stack/runtime - the state of one rank: its job, its memory, its lanes. Facades stand on it; all state of mpt is here.
///
///        runtime
///        +-- config     the variables, read once
///        +-- job        who we are; control segment; addresses; meeting
///        +-- heap       our slice of the arena
///        +-- lane 0 .. K-1    lock + engine each; a context is bound to one of them for its life
///
///   Made in this order, and met: when the constructor returns, every rank is reachable. Leaving (design section 4): every send
///   whose data still lies in this process is finished, then all ranks meet while each goes on serving the others; only then
///   is memory unmapped.
///
///   A rank may also begin alone (MPI's sessions): it meets nobody, and waits for those whom it wants to reach. It leaves as it
///   came: when its sends are finished, without a meeting. It may meet the others later, as they do (MPI_Init after a session),
///   and then leaves with them; and it may go on after that, and leave once more.
///
///   Tests    test/stack_runtime_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <mpt/boot/boot.hpp>
#include <mpt/config/config.hpp>
#include <mpt/config/show.hpp>
#include <mpt/core/fences.hpp>
#include <mpt/core/registry.hpp>
#include <mpt/core/version.hpp>
#include <mpt/mem/wishes.hpp>
#include <mpt/stack/figures.hpp>
#include <mpt/stack/group.hpp>
#include <mpt/stack/lane.hpp>
#include <mpt/stack/memory_report.hpp>
#include <mpt/wait/cpus.hpp>

namespace mpt::inline v0 {

namespace rma {
template <class Stack> class clerk;
}

enum class beginning : std::uint8_t { together, alone };

template <class Stack> class runtime {
public:
    using stack_type = Stack;
    using world_type = typename Stack::world_type;

    explicit runtime(boot::membership m) : runtime{std::move(m), config::values::of_process()} {}
    runtime(boot::membership m, config::values const& v, beginning how = beginning::together)
        : config_{of_policy(v)}, job_{checked(std::move(m)), Stack::layout(), Stack::describe(), config_.job_values()},
          heap_{job_.share_arena(), job_.me(), slice_bytes(v), mem::wish_for_internal(config_), "MPT_SLICE"} {
        require_matching_core();
        if (reports_memory()) heap_.watch();
        auto const lanes = choose_lanes(v);
        auto const limits = make_limits();
        auto const facts = make_facts();
        memory_source const memory{
            [](void* self, std::size_t n, std::size_t align) noexcept -> void* {
                return static_cast<mem::slice_heap*>(self)->extent(n, align, mem::purpose::buffers).data();
            },
            &heap_};
        for (unsigned i = 0; i < lanes; ++i)
            lanes_.push_back(std::make_unique<lane<Stack>>(lane_context<world_type>{world_, job_, heap_, 0, i, lanes, config_},
                                                           limits, facts, memory));
        for (auto& l : lanes_) l->join(lanes_, waiting_, hooks_);
        if (job_.me() == 0) std::fputs(config::announce(config_).c_str(), stderr); // nothing, when all is well and nobody asks
        if (how == beginning::alone) {
            job_.open();
        } else {
            job_.meet();
            all_met();
        }
    }
    ~runtime() {
        // An exception is leaving the rank: the others must not wait for it, and it cannot wait for them.
        if (std::uncaught_exceptions() > exceptions_ || job_.aborted()) return;
        try {
            if (met_) leave();
            else depart();
        } catch (error const&) { // the job was ended while we left: nothing remains to be done
        }
    }
    runtime(runtime const&) = delete;
    runtime& operator=(runtime const&) = delete;

    rank me() const noexcept { return job_.me(); }
    std::int32_t size() const noexcept { return job_.size(); }
    boot::job& job() noexcept { return job_; }
    /// Does a waiting thread of this rank give its CPU away at once: are CPUs scarce, or does MPT_WAIT say so?
    bool sleeps_soon() { return make_facts().scarce; }
    mem::slice_heap& heap() noexcept { return heap_; }
    config::values configuration() const {
        return lanes_.front()->enter([this](auto&) { return config_; });
    }
    /// Changes a variable of a running job, here alone: what begins from now on follows it. One of config::live, else, and for a
    /// bad value, mpt::error. The first lane's lock keeps the variables; whoever holds it may take the others'.
    void tune(std::size_t row, std::string_view value) {
        if (!config::is_live(row))
            throw error{errc::usage, "mpt: " + std::string{config::table[row].name} +
                                         " is read when a job starts, and cannot be changed now"};
        lanes_.front()->enter([&](auto&) {
            config_.set(row, value);
            lanes_.front()->tune(make_limits(), make_facts());
            for (std::size_t i = 1; i < lanes_.size(); ++i)
                lanes_[i]->enter([&](auto&) { lanes_[i]->tune(make_limits(), make_facts()); });
        });
    }
    world_type const& world() const noexcept { return world_; }
    unsigned lanes() const noexcept { return static_cast<unsigned>(lanes_.size()); }
    lane<Stack>& lane_at(unsigned i) noexcept { return *lanes_[i]; }
    /// Says that the calling thread will be the only one that calls: locks that know a favourite let it in by plain stores at once. Whoever
    /// comes all the same (a session's thread, this rank's agent) is let in, too.
    void favour_caller() noexcept {
        if constexpr (requires(typename Stack::lock_type& l) { l.favour_caller(); })
            if (register_heavy())
                for (auto const& l : lanes_) l->lock().favour_caller();
    }

    /// The lane a context is bound to: the same on every rank, because it follows from the context alone.
    lane<Stack>& lane_of(context_id c) noexcept {
        return *lanes_[lanes_.size() == 1 ? 0 : (static_cast<std::uint64_t>(c) >> 1) % lanes_.size()];
    }
    /// A context nobody else has, on the lane after that of the one before.
    context_id new_context() noexcept {
        auto const drawn = drawn_context(world_.random());
        auto const lanes = lanes_.size();
        if (lanes == 1) [[likely]]
            return drawn;
        static_assert(config::table[config::row_of("MPT_LANES")].most <= 16, "four bits of a context choose its lane");
        auto const turn = contexts_.fetch_add(1, std::memory_order_relaxed) % lanes; // order: only to go on
        auto const bits = static_cast<std::uint64_t>(drawn) & ~(std::uint64_t{15} << 1);
        return context_id{bits + 2 * ((turn + lanes - (bits >> 1) % lanes) % lanes)};
    }
    static constexpr context_id world_context{2}, self_context{4};

    /// What its threads do for others while they wait.
    wait_hooks<world_type>& hooks() noexcept { return hooks_; }
    /// f(places of threads that work for windows): one thread at a time, and it does not wait.
    template <class F> auto with_clerks(F f) {
        return lanes_.front()->enter([&](auto&) { return f(std::span{clerks_}); });
    }

    /// Memory that peers reach by plain loads and stores: whole pages, zeroed, untouched as a rule (mem/arena.hpp). Throws
    /// mpt::error(no_memory) with the numbers when it exceeds the slice or what the machine (its cgroup) has left.
    std::span<std::byte> allocate(bytes n) { return heap_.allocate(n); }
    void deallocate(std::span<std::byte> s) noexcept { heap_.deallocate(s); }
    /// The same, placed: what it has become tells heap().placed_as(). Throws mpt::error(no_memory) where a mandatory kind is not there.
    std::span<std::byte> allocate(bytes n, mem::wish const& w, mem::purpose what = mem::purpose::allocated) {
        return heap_.allocate(n, mem::settled(w), what);
    }
    /// What MPT_ALLOC_MEM_AFFINITY and its like ask for.
    mem::wish allocation_wish() const { return mem::wish_for_allocations(config_); }

    /// What the constructor does where all begin together, for a rank that has begun alone. Serves the others meanwhile.
    void meet() {
        if (met_) return;
        meet_serving({wait_for::start});
        for (rank r = 0; r < size(); r = r + 1) job_.compare_with(r);
        all_met();
    }
    /// Waits until these ranks can be reached.
    void await(group const& who) {
        for (std::int32_t i = 0; i < who.size(); ++i) {
            auto const r = who.world(i);
            lanes_.front()->wait({.what = wait_for::others, .peer = r}, [&](auto&) { return job_.is_open(r); });
            job_.compare_with(r);
        }
        if (who.size() == size()) tell_start_up();
    }
    /// What this rank can tell of its own work, now (stack/figures.hpp). By any thread; takes the locks of the lanes in turn.
    figures look() {
        figures f;
        for (auto& l : lanes_) l->add_to(f);
        f[figure::waiting_for] = static_cast<std::uint64_t>(read(job_.record(me()).waiting).what);
        f[figure::lanes] = lanes_.size();
        f[figure::arena_used] = heap_.used();
        f[figure::arena_size] = heap_.whole().size();
        auto const used = static_cast<double>(f[figure::arena_used]), size = static_cast<double>(f[figure::arena_size]);
        if (size > 0) f[figure::arena_share] = static_cast<std::uint64_t>(1e9 * used / size);
        return f;
    }
    /// A figure of a communicator, by its context. Walks what is posted or kept.
    std::uint64_t look_at(figure f, context_id c) {
        auto const [posted, kept] = lane_of(c).queues_of(c);
        return f == figure::comm_posted_queue ? posted : kept;
    }
    /// From here on the queue is told what it wants of what happens in the lanes, until unwatch().
    void watch(protocol::notice_queue& by) {
        for (auto& l : lanes_) l->enter([&](auto& engine) { engine.watch(by); });
    }
    void unwatch(protocol::notice_queue& by) noexcept {
        for (auto& l : lanes_) l->enter([&](auto& engine) { engine.unwatch(by); });
    }

    /// For a rank that has left with the others and begins with them again: leave() meets them once more.
    void begin_again() noexcept { left_ = false; }
    /// Finishes every send, then meets the others. Called by the destructor; a second call does nothing.
    void leave() {
        if (left_) return;
        left_ = true;
        dismiss_clerks();
        drain();
        leave_marks();
        meet_serving({wait_for::finalize}); // a peer may need us until it has arrived
        tell_memory();
        if (me() == 0) tell_marks();
        job_.leave();
    }
    /// Finishes every send, and meets nobody.
    void depart() {
        dismiss_clerks();
        drain();
        tell_memory();
        job_.leave();
    }

private:
    void dismiss_clerks() {
        with_clerks([this](auto) { return std::exchange(clerks_, {}); });
    }
    void drain() {
        for (auto& l : lanes_) l->wait({wait_for::finalize}, [](auto& engine) { return engine.drained(); });
    }
    /// For rank 0: what was handed out at most, by use.
    void leave_marks() {
        auto const use = heap_.by_use();
        auto& marks = job_.record(me()).memory;
        static_assert(std::tuple_size_v<std::remove_reference_t<decltype(marks)>> == mem::purposes + 1);
        for (std::size_t i = 0; i < mem::purposes; ++i) marks[i] = use.of[i].most;
        marks[mem::purposes] = look()[figure::unexpected_memory_most];
    }
    void tell_marks() {
        auto const asked = config_.template get<"MPT_MEMORY_REPORT">();
        if (asked == "off" || asked == "0" || asked == "2") return;
        memory_marks all;
        for (rank r = 0; r < size(); r = r + 1) all.add(r, job_.record(r).memory);
        std::fputs(report(all).c_str(), stderr);
    }
    bool reports_memory() const noexcept {
        auto const asked = config_.template get<"MPT_MEMORY_REPORT">();
        return asked == "on" || asked == "2" || asked == "3";
    }
    void tell_memory() {
        if (!reports_memory()) return;
        auto const f = look();
        memory_facts const facts{.who = me(),
                                 .use = heap_.by_use(),
                                 .stands = heap_.look(),
                                 .unexpected = {f[figure::unexpected_memory], f[figure::unexpected_memory_most]},
                                 .lacks = heap_.internal_lacks()};
        tell_report(report(facts), me(), config_.template get<"MPT_MEMORY_REPORT_FILE">());
    }
    void meet_serving(waiting const& about) {
        auto const meeting = job_.arrive();
        if (job_.all_here(meeting)) ring_the_others();
        lanes_.front()->wait(about, [&](auto&) { return job_.all_here(meeting); });
    }
    /// They wait on their first lanes, and may sleep.
    void ring_the_others() noexcept {
        if constexpr (lane<Stack>::neighbourly) {
            auto& mine = *lanes_.front();
            for (rank r = 0; r < size(); r = r + 1)
                if (auto* const bell = r == me() ? nullptr : mine.bell_of(r)) bell->ring(world_, mine.fences());
        }
    }
    void all_met() {
        met_ = true;
        tell_start_up();
    }
    /// How many threads may wait at once without taking a CPU from those they wait for.
    std::uint32_t room_for_waiting() {
        auto const lanes = config_.template get<"MPT_LANES">();
        return lanes == 1 ? 1 : std::max(usable_cpus() / static_cast<unsigned>(job_.size()), 1u);
    }
    /// As many as the user says; else as the lock has at most, and two for each CPU of a rank's: who waits looks at them all, and threads
    /// that are more than their CPUs wait in company (wait/berths.hpp) where they share a lane.
    std::uint32_t choose_lanes(config::values const& given) {
        auto const most = config_.template get<"MPT_LANES">(), room = 2 * job_.cpus_for_each();
        if (given.at(config::row_of("MPT_LANES")).from != config::given::initial || room == 0 || room >= most) return most;
        config_.template set<"MPT_LANES">(std::to_string(room));
        job_.compare_by(config_.job_values());
        return room;
    }
    /// What the lock has at most, where the user does not say how many.
    static config::values of_policy(config::values v) {
        if constexpr (requires { Stack::lock_policy_type::lanes; })
            if (v.at(config::row_of("MPT_LANES")).from == config::given::initial)
                v.set<"MPT_LANES">(std::to_string(Stack::lock_policy_type::lanes));
        return v;
    }
    static boot::membership checked(boot::membership m) {
        if (!world_type::shares_process && m.shares_process)
            throw error{errc::usage,
                        "mpt: this stack's ranks are processes; a job of threads needs world::threads (mpt::local_job)"};
        return m;
    }
    std::uint64_t slice_bytes(config::values const& v) {
        auto const asked = std::uint64_t{v.template get<"MPT_SLICE">()};
        auto const most = job_.record(job_.me()).slice_bytes;
        return asked == 0 ? most : std::min(asked, most);
    }
    /// What the user set, else what the policy says.
    template <text Name> std::uint64_t chosen(bytes policy) const {
        auto const& set = config_.at(config::row_of(Name.view()));
        return set.from == config::given::initial ? std::uint64_t{policy} : set.number;
    }
    protocol::engine_limits make_limits() {
        return {
            .eager_max = chosen<"MPT_EAGER_MAX">(Stack::uses.e1_max),
            .eager_readable = config_.template get<"MPT_EAGER_READABLE">(),
            .unexpected_max = config_.template get<"MPT_UNEXPECTED_MAX">(),
            .chunk = chosen<"MPT_CHUNK">(Stack::uses.chunk),
            .single_copy_min = config_.template get<"MPT_SINGLE_COPY_SIZE">(),
            .both_ends_min = Stack::uses.joint_from,
            .pipeline_max = config_.template get<"MPT_PIPELINE_MAX">(),
            .cached_max = config_.template get<"MPT_CACHED_MAX">(),
            .single_copy = config_.template get<"MPT_SINGLE_COPY">(),
            .both_ends = config_.template get<"MPT_BOTH_ENDS">(),
            .scarce = job_.scarce(),
        };
    }
    wait_facts make_facts() {
        constexpr std::uint32_t for_ever = ~std::uint32_t{0};
        wait_facts f{.scarce = job_.scarce(),
                     .spins = config_.template get<"MPT_SPIN">(),
                     .yields = config_.template get<"MPT_YIELD">(),
                     .nap = nanoseconds{std::uint64_t{config_.template get<"MPT_NAP">()} * 1000},
                     .between = looks_between(job_.ranks_on_each(), static_cast<unsigned>(job_.size()))};
        auto const most = config_.template get<"MPT_WAIT">();
        if (most == "spin") f.scarce = false, f.spins = for_ever;
        if (most == "yield") f.yields = for_ever, f.between = 0;
        if (most == "sleep") f.scarce = true, f.yields = 0;
        return f;
    }
    boot::path way_to(rank to) {
        return lanes_.front()->enter([&](auto& engine) -> boot::path {
            auto& wires = engine.wires();
            auto const at = wires.pick(to);
            if (at == wires.none) return {"none: " + engine.why_not(to)};
            return {std::string{Stack::route_type::names[at]}, Stack::route_type::facts[at].reads};
        });
    }
    /// When all ranks are there, whatever brought them together first.
    void tell_start_up() {
        if (job_.me() != 0 || !config_.template get<"MPT_INFO">()) return;
        std::call_once(told_, [&] {
            std::vector<boot::path> ways;
            for (rank to = 0; to < size(); to = to + 1) ways.push_back(way_to(to));
            std::fputs(boot::start_up_table(job_, config_, ways).c_str(), stderr);
        });
    }
    int exceptions_ = std::uncaught_exceptions();
    config::values config_;
    [[no_unique_address]] world_type world_{};
    boot::job job_;
    mem::slice_heap heap_;
    crowd waiting_{room_for_waiting()}; // in all lanes, which look at it to their end
    wait_hooks<world_type> hooks_;      // the same
    std::vector<std::unique_ptr<lane<Stack>>> lanes_;
    std::array<std::shared_ptr<rma::clerk<Stack>>, 4> clerks_; // those there are come first; the first lane's lock keeps them
    std::once_flag told_;
    native_atomics::atomic<std::uint32_t> contexts_{3}; // drawn here, and the fixed ones
    bool met_ = false, left_ = false;
};

} // namespace mpt::inline v0
