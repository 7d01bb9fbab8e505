/// stack/lane - one lane of an environment: the lock, the engine, and how a thread waits on it.
///
///        caller --- guard ---> engine.send / receive / progress
///           |
///           `-- wait: { guard: done? progress() } -- nothing moved --> spin, pause, yield, or arm + look again + sleep
///
///   Whoever waits on one lane serves the others of its rank as well (MPI-4.1 section 2.9, progress): a peer that waits for us
///   may wait on any of them. With one lane there are no others, and nothing is paid. With several, a look in vain goes on to the
///   next of them once in `apart` looks, to all in a row of yields (without looks between them) and after each sleep, and mostly passes
///   by those where another thread waits, who looks there itself (not always: it may be in code of the user's). So threads that each
///   have a lane seldom meet in a lock.
///
///   No thread waits while it holds the lock, and none that only looks stands in line for it while another is inside, who moves
///   everybody's messages: see stack/visit.hpp. Where several threads wait on a lane, they look
///   a few times and then yield: whoever they wait for may need the CPU, and one of them is enough to look.
///
///   What a rank that waits does for others beside moving messages (memory that they do not reach: rma/agent.hpp) are hooks, run where
///   nothing moved, without the lock: stack/wait_hooks.hpp.
///
///   A lane whose lock is lock::none compiles to the bare engine. The lock has the node's fence mode: where the sleeper pays, a release
///   fences nothing. A lane that one thread uses is entered by plain stores in either (lock/bias.hpp): only threads of this process take
///   it, and it has registered for their barriers, or that is refused.
///
///   Threads   of one rank may wait on one lane at once. Whoever completes what another may sleep over rings the lane's bell
///             (wait/doorbell.hpp, rule 2), or rouses who lies in a berth (wait/berths.hpp): a completion is not slept through.
///   Ending    a wait that finds the job ended throws (ranks as threads), and from then on nothing moves on this lane: the
///             buffers of what was under way go while the exception unwinds. Peers that are threads copy nothing any more
///             (job::begin_copy).
///   Tests     test/stack_lane_test.cpp
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <mpt/core/function_ref.hpp>
#include <mpt/lock/lock.hpp>
#include <mpt/lock/none.hpp>
#include <mpt/mem/parts.hpp>
#include <mpt/stack/crowd.hpp>
#include <mpt/stack/figures.hpp>
#include <mpt/stack/stack.hpp>
#include <mpt/stack/visit.hpp>
#include <mpt/stack/wait_hooks.hpp>
#include <mpt/stack/waiting.hpp>
#include <mpt/wait/yields.hpp>

namespace mpt::inline v0 {

template <class Stack> class lane {
public:
    using world_type = typename Stack::world_type;
    using engine_type = typename Stack::engine_type;
    using lock_type = typename Stack::lock_type;
    using presence_type = presence<world_type, lock_type>;

    lane(lane_context<world_type> const& context, protocol::engine_limits const& limits, wait_facts const& facts,
         memory_source memory)
        : world_{context.world}, job_{context.job}, heap_{context.heap}, facts_{&first_facts_}, looks_{looks_of(facts, false)},
          first_facts_{facts}, variables_{context.config}, parts_{std::make_shared<mem::parts>(context.heap)},
          lock_{context.world, context.job.fences()}, engine_{context, limits.asking(yields_), memory} {
        if constexpr (requires { lock_.by_mutex(); })
            if (!variables_.template get<"MPT_TICKET">()) lock_.by_mutex();
        if constexpr (requires { lock_.allow_bias(); })
            if (register_heavy()) lock_.allow_bias();
    }

    /// Runs f(engine) under the lane's lock.
    template <class F> [[gnu::always_inline]] decltype(auto) enter(F&& f) {
        guard g{lock_};
        return f(engine_);
    }

    /// Waits until done(engine), which is asked under the lock, and not again once it said yes: it may take what it found.
    /// Throws mpt::error when the job is ended meanwhile.
    /// over: what done() is about, where it says yes when this request is complete and not before: a thread that sleeps is then woken
    /// for nothing else (wait/berths.hpp).
    /// peer: whose next message ends it, if one rank's does: that one is looked at first, and most.
    template <class Done>
    void wait(waiting const& about, Done&& done, protocol::request* over = nullptr, rank peer = any_source) {
        auto const idle = facts().scarce && yields_.are_idle();
        if (idle == facts().scarce && is_soon_over(done, peer)) return;
        bool const taken = !facts().scarce && yields_.are_taken();
        auto const busy = taken && !crowd_->is_empty(); // who takes them may wait here, too
        typename Stack::wait_type w{idle ? unshared(facts()) : busy ? in_company() : taken ? shared(facts()) : facts()};
        bool spins = true;
        manners m;
        telling said{job_.record(job_.me()).waiting, world_};
        company others{here_, *crowd_};
        presence_type here{engine_.berths(), world_, lock_};
        auto const is_over = [&] { return done(engine_) && (here.go(), true); };
        visitor look{world_, lock_, over};
        for (std::uint32_t turns = 1;; ++turns) {
            std::size_t moved = 0;
            if (visit const inside{look}; inside) {
                if (is_over()) break;
                if (over_) [[unlikely]]
                    job_.follow_abort();
                moved = peer != any_source && spins && turns % 4 != 1 ? engine_.progress_with(peer) : engine_.progress();
                if (moved != 0 && is_over()) break;
                if (moved == 0) say_in_vain(lock_);
                here.come();
            }
            if (moved == 0) {
                moved = run_errands(&here);
                auto const served = run_hooks();
                moved += served;
                if (served != 0 && !facts().scarce && (taken || yields_.were_dear()))
                    w = typename Stack::wait_type{asked(facts())};
            }
            if (moved == 0 && all_.size() > 1 && turns % apart == 0) [[unlikely]]
                moved = serve_now(turns / apart, spins, here);
            if (moved != 0) {
                w.reset();
                m.yielded = m.all_the_same;
                continue;
            }
            if (turns % 1024 == 0) [[unlikely]] {
                follow();
                said.tell(about); // of those that only spin, too
            }
            if (others.have_come()) [[unlikely]]
                w = typename Stack::wait_type{in_company()};
            auto const step = w.next();
            spins = step == wait_step::spin;
            if (spins) continue;
            give_up(lock_);
            if (step == wait_step::sleep) turns |= apart - 1; // the next look is at all
            said.tell(about);
            if (step == wait_step::yield) give_way(w, m);
            else if (step == wait_step::pause) world_.pause();
            else if (fall_asleep(w, done, over, here, m)) break;
        }
    }

    /// A rank that is not alone on its CPU may find that it would be on another one.
    void say_where() noexcept {
        if constexpr (!world_type::shares_process) here_.is_crowded() ? job_.keep_together() : job_.keep_apart();
    }
    /// A yield, and how long it took.
    nanoseconds give_way() noexcept {
        say_where();
        auto const left = world_.now();
        world_.yield();
        return world_.now() - left;
    }
    bool takes_turns() const noexcept { return job_.scarce(); }      // with others, on its CPU; all ranks do, or none
    bool may_yield() const noexcept { return !yields_.were_dear(); } // it costs no more than a switch, as far as is known
    /// For a row of yields outside wait(): are they cheap, as far as is known? The same after one.
    bool begins_to_yield() noexcept { return !yields_.are_dear(); }
    bool yields_on() noexcept { return !yields_.took(give_way()); }
    void offer_way() noexcept { // of who does not wait, where CPUs are scarce and somebody may want this one
        if (!facts().scarce || yields_.are_dear() || yields_.are_idle()) return;
        yields_.took(give_way());
    }
    void wait(protocol::request& r, waiting const& about) { // for one request
        rank peer = any_source;
        auto const is_over = [&](engine_type&) { return peer = r.awaited(), r.complete; };
        if (!enter(is_over)) wait(about, is_over, &r, peer);
    }

    /// All lanes of this rank, and its hooks: set once, before the first wait.
    void join(std::span<std::unique_ptr<lane> const> all, crowd& of_rank, wait_hooks<world_type>& hooks) noexcept {
        all_ = all;
        hooks_ = &hooks;
        if (all.size() > 1) crowd_ = &of_rank;
    }
    /// What the rank does for others; how many things it did. For who holds no lock, and waits.
    std::size_t run_hooks() noexcept { return hooks_ ? hooks_->run() : 0; }
    /// A round of progress on every other lane that nobody is in, errands, our own too, and hooks; how many things moved. For who holds
    /// no lock.
    std::size_t serve_others() noexcept {
        auto const moved = run_errands() + run_hooks();
        return all_.size() < 2 ? moved : moved + serve(whom::all);
    }
    /// Steps of tasks that may not hold the lock, because they run code of the user's; how many. here: of a thread that waits, be it in
    /// another lane: it looks no more while it does that.
    std::size_t run_errands(presence_type* here = nullptr) noexcept {
        std::size_t done = 0;
        for (; engine_.has_errand(); ++done) {
            auto* const r = enter([this](engine_type& e) { return over_ ? nullptr : e.take_errand(); });
            if (!r) break;
            if (here) here->leave();
            r->advance(*r);
            enter([r](engine_type& e) { e.resume(*r); });
        }
        return done;
    }
    /// Is this request of ours complete? Without the lock: for those that are in another lane.
    bool peek(protocol::request const& r) const noexcept { return r.is_over(); }
    /// One round of progress, for who holds the lock by enter().
    void step() noexcept {
        if (over_) return;
        if (engine_.progress() == 0) say_in_vain(lock_);
        else yields_.found();
    }
    /// For who holds the lock by enter(): nothing moves here any more.
    bool is_over() const noexcept { return over_; }
    /// The same: a poll found something. True: as the 32nd one, after which others have their turn, as after one in vain.
    bool found() noexcept { return yields_.found(), ++finds_ % 32 == 0; }
    /// After a poll in vain, for who goes on and holds no lock: ends with the job, serves other lanes, and where many polls found nothing and
    /// CPUs are scarce, lets others of this one go first. origin: MPI_Test until it says yes, 2 ranks on 1 CPU: 8 ms a message else
    void go_on_polling() {
        follow(), serve_others();
        if (facts().scarce && yields_.polled_in_vain()) offer_way();
    }
    /// Throws when the job was ended: for those that ask again and again instead of waiting.
    void follow() {
        if (!job_.aborted()) [[likely]]
            return;
        job_.await_copies(); // peers touch our buffers no more
        {
            guard g{lock_};
            over_ = true;
        }
        job_.follow_abort();
    }

    rank me() const noexcept { return job_.me(); }
    bool has_failed(rank peer) const noexcept { return job_.failed(peer); }
    /// What a rank called last: its own, to write; a peer's, to read.
    call_log& calls_of(rank r) noexcept { return job_.record(r).calls; }
    /// The engine has no room for a request: says why.
    [[noreturn]] void no_request() const {
        if (engine_.full())
            throw error{errc::no_memory, "mpt: " + std::to_string(engine_type::most_requests) +
                                             " requests are pending, and a lane holds no more"};
        throw error{errc::no_memory, "mpt: no memory for another request: " + heap_.why_refused()};
    }

    // --- memory that ranks of this node share; for who holds no lock -----------------------------------------------------------
    /// Parts of this rank's slice that others look at. They are no more when the rank has left its job.
    std::shared_ptr<mem::parts> const& parts() const noexcept { return parts_; }
    /// n bytes of a rank's slice; nullptr: they are not mapped here.
    std::byte* look_into(rank owner, std::uint64_t offset, std::size_t n) noexcept {
        auto const slice = job_.arena().slice(owner, job_.record(owner).slice_bytes);
        return offset <= slice.size() && n <= slice.size() - offset ? slice.data() + offset : nullptr;
    }
    static constexpr bool neighbourly = Stack::route_type::template wires<world_type>::neighbourly;
    /// The bell of a rank's lane, or of this one; nullptr: the rank is not reached through memory.
    wait::doorbell<world_type>* bell_of(rank r) noexcept {
        return enter([r](engine_type& e) { return e.bell_of(r); });
    }
    fence_mode fences() const noexcept { return job_.fences(); }

    world_type const& world() const noexcept { return world_; }
    config::values const& variables() const noexcept { return variables_; } // as they were when the lane was made
    /// As they are now: what was got stays as it was.
    wait_facts const& facts() const noexcept { return *facts_.load(std::memory_order_acquire); } // sync(lane.facts): acquire
    /// How often a receive looks at its peer's wire before it takes a request.
    std::uint32_t looks() const noexcept { return looks_.load(std::memory_order_relaxed); } // order: no other datum hangs on it
    /// Other numbers from here on, for who holds the lock by enter(); a wait that is under way goes on with the old ones.
    void tune(protocol::engine_limits const& limits, wait_facts const& facts) {
        engine_.tune(limits.asking(yields_));
        tunings_.push_back(std::make_unique<wait_facts>(facts));
        facts_.store(tunings_.back().get(), std::memory_order_release);  // sync(lane.facts): release
        looks_.store(looks_of(facts, false), std::memory_order_relaxed); // order: as above
    }
    /// Adds this lane's figures.
    void add_to(figures& f) {
        guard g{lock_};
        add(f, engine_.counted());
        auto const& tables = engine_.tables();
        f[figure::requests] += engine_.requests_alive(), f[figure::unexpected_memory] += engine_.unexpected_bytes();
        f[figure::unexpected_queue] += tables.arrivals(), f[figure::posted_queue] += tables.posted();
        auto& most = f[figure::unexpected_memory_most];
        most = std::max(most, engine_.unexpected_high_water());
        f[figure::sleeps] += sleeps_, f[figure::time_asleep] += static_cast<std::uint64_t>(slept_.count());
    }
    /// How many receives of a context are posted here, and how many of its messages are kept.
    std::pair<std::uint64_t, std::uint64_t> queues_of(context_id c) {
        guard g{lock_};
        std::pair<std::uint64_t, std::uint64_t> n{};
        engine_.tables().each_posted([&](protocol::posted_hook const& p) { n.first += p.what.context == c; });
        engine_.tables().each_arrival([&](protocol::arrival_hook const& a) { n.second += a.what.context == c; });
        return n;
    }

    bool is_waited_on() const noexcept { return !here_.is_empty(); } // by a thread that has found nothing yet; a hint
    /// The threads of the rank that wait in all lanes, where there are others.
    crowd& of_rank() noexcept { return *crowd_; }
    bool has_others() const noexcept { return all_.size() > 1; }
    /// For a look that has found nothing, under the lock. True: a thread waits here, and looks, too.
    bool looked_in_vain() noexcept { return say_in_vain(lock_), is_waited_on(); }
    /// For paths that hold the lock by themselves, and for tests.
    lock_type& lock() noexcept { return lock_; }
    engine_type& engine() noexcept { return engine_; }

private:
    /// Looks a few times where the message will come that is waited for, before a longer wait is prepared.
    template <class Done> bool is_soon_over(Done& done, rank peer) {
        visitor look{world_, lock_, nullptr};
        for (int i = 0; i < 4; ++i) {
            visit const inside{look};
            if (!inside || over_) return false;
            if ((peer != any_source ? engine_.progress_with(peer) : engine_.progress()) != 0) {
                if (done(engine_)) return true;
            } else say_in_vain(lock_);
        }
        return false;
    }
    static constexpr std::uint32_t apart = 32; // looks at our own lane for one at the others
    enum class whom : std::uint8_t { all, unattended };
    std::size_t serve(whom which, presence_type* here = nullptr) noexcept {
        std::size_t moved = 0;
        for (auto const& other : all_) moved += serve(*other, which, here);
        return moved;
    }
    std::size_t serve(lane& other, whom which, presence_type* here) noexcept {
        typename lock_type::node n;
        if (&other == this || (which == whom::unattended && other.is_waited_on()) || !other.lock_.try_acquire(n)) return 0;
        std::size_t moved = 0;
        if (!other.over_) [[likely]]
            moved = other.engine_.progress();
        other.lock_.release(n);
        give_up(other.lock_); // not ours to stay in
        return moved + other.run_errands(here);
    }
    /// The turn'th time of a wait. Who spins looks at one of them, or each time would fetch a line of all.
    [[gnu::noinline]] std::size_t serve_now(std::uint32_t turn, bool spins, presence_type& here) noexcept {
        if (turn % 16 == 0) return serve(whom::all, &here);
        return spins ? serve(*all_[turn % all_.size()], whom::unattended, &here) : serve(whom::unattended, &here);
    }
    wait_facts in_company() noexcept { return among_others(facts(), static_cast<std::uint32_t>(world_.now().count())); }
    // --- stack/lane/sleep.hpp -----------------------------------------------------------------------------------------------------
    /// How a wait stands with yields.
    struct manners {
        bool yielded = false;      // since something moved
        bool warned = false;       // it sleeps without one, for those of waits before it were dear
        bool all_the_same = false; // it yields though it was warned: see stack/lane/sleep.hpp
    };
    void give_way(typename Stack::wait_type& w, manners& m) noexcept;
    /// True: done() said yes. Compiled once, and not for every wait.
    [[gnu::noinline]] bool fall_asleep(typename Stack::wait_type& w, function_ref<bool(engine_type&)> done,
                                       protocol::request* over, presence_type& here, manners& m);
    static constexpr int soundly = 16;            // naps, of one in a berth: another one looks
    static constexpr nanoseconds a_break{50'000}; // also while something is under way that only our own steps move
    static nanoseconds longest_nap(nanoseconds wished, bool looks_out) noexcept;

    [[no_unique_address]] world_type world_;
    boot::job& job_;
    mem::slice_heap& heap_;
    native_atomics::atomic<wait_facts const*> facts_;
    native_atomics::atomic<std::uint32_t> looks_; // what follows from them
    wait_facts const first_facts_;
    std::vector<std::unique_ptr<wait_facts const>> tunings_; // all later ones: a wait may read any of them
    config::values const variables_;
    std::shared_ptr<mem::parts> const parts_;
    alignas(cache_line) crowd here_{1};                             // who waits here; each writes it
    alignas(cache_line) wait::yields yields_{job_.ranks_on_each()}; // what they cost
    crowd* crowd_ = &here_;                                         // of all lanes, where there are several
    wait_hooks<world_type>* hooks_ = nullptr;
    std::uint64_t sleeps_ = 0;
    nanoseconds slept_{};
    [[no_unique_address]] lock_type lock_;
    engine_type engine_;
    std::span<std::unique_ptr<lane> const> all_;
    std::uint32_t finds_ = 0; // of polls
    bool over_ = false;       // a wait has thrown: see Ending
};

} // namespace mpt::inline v0

#include <mpt/stack/lane/sleep.hpp>
