/// coll/schedule - a collective under way that nobody need wait for: a plan, run by its lane's progress.
///
///        schedule s{team, number, [&](auto const& t) { coll::allreduce(t, operand, mine, all, n); }};
///        s.start();      ...      s.test()      s.finish()      again: s.start()
///
///        start ---> own steps ---> messages of a phase ---> parked ---- the last one has completed ----.
///                       ^                 `-- all at once complete: goes on                            |
///                       +------------------------------------------------------------------------------'
///                       `--- combine: few elements by a predefined operation, at once; else an errand, which a thread that holds no lock
///                            runs (the operation may be the user's)
///
///   start() takes the first steps itself, and a message that is on the wire when it is wanted goes straight to its place: each has a label of
///   its own, by the collective's number, and one that is kept needs a bin of its own.
///   origin: MPI_Ibcast of 8 bytes from one of two ranks again and again, AMD EPYC, Zen 4: 0.25 us, so 0.10
///
///   While it is parked it is on no list: a thousand of them cost a round of progress nothing, and a rank that waits sleeps. The
///   messages' requests count down as they complete; the last one makes it a task of the engine again, which the same round runs.
///
///   Traffic  in a context of its own, so that it never meets blocking collectives.
///   Errors   a message of another size, no memory, an exception of an operation: kept, and thrown by finish(). Nothing that is under
///            way is left behind. After a message of another size the steps go on as in coll/team.hpp.
///   Memory   the plan's; a request for it and one for each message of the phase under way that neither leaves nor is here at once. What
///            the plan refers to outlives it.
///   Limit    it must not move, and is not destroyed while it is active: finish() or abandon() it, unless the job has ended.
///   Tests    test/coll_schedule_test.cpp    Source MPI-4.1 sections 6.12 and 6.13
#pragma once
#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include <mpt/coll/plan.hpp>

namespace mpt::inline v0::coll {

template <class Stack> class schedule {
    using engine_type = typename Stack::engine_type;

    channel<Stack> wire_;
    plan plan_;
    tag label_{any_tag};               // of its messages
    protocol::request* own_ = nullptr; // while it is active
    // Of the run under way, under the lane's lock; or of the thread that runs an errand.
    std::size_t next_ = 0;             // step
    std::size_t first_ = 0, last_ = 0; // steps of a phase under way: from the one to before the other; under the lock alone
    std::uint32_t missing_ = 0;        // of its messages, and one while they are started
    bool stopping_ = false, begins_ = false; // begins: start() takes the first steps, outside of a round
    detail::mismatch wrong_;
    std::exception_ptr failure_;

public:
    /// Writes down what `algorithm` does with a team. number: see coll/plan.hpp. Throws mpt::error(unreachable) where a peer is.
    template <class Algorithm> schedule(team<Stack> const& t, std::uint32_t number, Algorithm&& algorithm)
        : wire_{t.wire().on(), apart(t.wire().context())} {
        algorithm(recorder{plan_, t.who(), t.me(), number, home().variables()});
        rank reached = any_source;
        for (auto const& s : plan_.steps())
            if (auto const* const m = std::get_if<message_step>(&s)) {
                if (std::exchange(reached, m->world) != m->world) wire_.reach(m->world);
                label_ = m->label;
            }
    }
    schedule(schedule const&) = delete;
    schedule& operator=(schedule const&) = delete;

    bool is_active() const noexcept { return own_ != nullptr; }
    lane<Stack>& home() const noexcept { return wire_.on(); }
    waiting about() const noexcept { return {wait_for::pending_receive, wire_.context(), any_source, label_, 0}; }
    /// Whose message ends it, where one rank's does: it is all that is missing, and no others follow. For who holds the lane's lock.
    rank awaited() const noexcept {
        auto const& all = plan_.steps();
        auto const from = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
        auto const is_message = [](plan_step const& s) { return std::holds_alternative<message_step>(s); };
        if (!own_ || missing_ != 1 || std::any_of(from(next_), all.end(), is_message)) return any_source;
        auto const missing = std::find_if(from(first_), from(last_), [](plan_step const& s) {
            auto const* const m = std::get_if<message_step>(&s);
            return m && m->under_way && !m->under_way->complete;
        });
        return missing == from(last_) ? any_source : std::get<message_step>(*missing).under_way->awaited();
    }
    /// Why it failed, once it is complete.
    std::exception_ptr const& failure() const noexcept { return failure_; }

    /// The same steps as another collective. Not while it is active.
    void renumber(std::uint32_t number) noexcept {
        plan_.renumber(number);
        label_ = numbered(label_, number);
    }
    /// Of the steps, and of the memory that they need.
    std::size_t bytes() const noexcept { return plan_.bytes(); }

    /// Not while it is active. Throws mpt::error(no_memory).
    void start() {
        next_ = first_ = last_ = 0, stopping_ = false, wrong_ = plan_.wrong(), failure_ = nullptr;
        home().enter([&](engine_type& e) {
            own_ = e.make();
            if (!own_) [[unlikely]]
                home().no_request();
            own_->user = this;
            own_->advance = [](protocol::request& r) noexcept { return static_cast<schedule*>(r.user)->advance(); };
            begins_ = true;
            e.begin_task(*own_);
            begins_ = false;
            if (!own_->complete) home().step();
        });
    }
    /// So many rounds of progress at most, until it is complete, or somebody has an errand. True: it is, and collect() may come.
    bool look(std::uint32_t rounds) const noexcept {
        for (; own_; --rounds) {
            bool goes_on = rounds != 0;
            bool const complete = home().enter([&](engine_type& e) {
                if (goes_on && !own_->complete && (goes_on = !e.has_errand())) home().step();
                return own_->complete;
            });
            if (complete || !goes_on) return complete;
        }
        return true;
    }
    /// One round of progress; true: complete, finish() does not wait.
    bool test() const { return !own_ || wire_.test(*own_); }
    /// The same without progress, by a thread that holds the lock of the lane `locked`.
    bool peek(lane<Stack> const& locked) const noexcept {
        if (!own_) return true;
        return &locked == &home() ? own_->complete : home().peek(*own_);
    }
    /// Waits until it is complete.
    void wait() {
        if (own_) home().wait(*own_, about());
    }
    /// It is complete, and inactive from here on.
    void collect() {
        if (own_) wire_.collect(*std::exchange(own_, nullptr));
    }
    /// Waits, collects, and throws what it failed by.
    void finish() {
        wait();
        collect();
        if (failure_) std::rethrow_exception(failure_);
    }
    /// Withdraws what can be withdrawn, and waits for the rest: the buffers are about to go.
    void abandon() {
        if (!own_) return;
        home().enter([this](engine_type& e) { stop(e); });
        home().wait(about(), [this](engine_type& e) {
            each_under_way([&](message_step const& m) {
                if (!m.under_way->complete && home().has_failed(m.world)) [[unlikely]]
                    e.forsake(*m.under_way);
            });
            return own_->complete;
        });
        collect();
    }

private:
    static context_id apart(context_id c) noexcept { return context_id{static_cast<std::uint64_t>(c) | schedules_bit}; }
    engine_type& engine() const noexcept { return home().engine(); }

    /// Under the lane's lock, or as an errand without it.
    bool advance() noexcept {
        if (own_->at == protocol::phase::errand) combine();
        else go_on();
        return true;
    }
    void go_on() noexcept {
        for (close_phase(); !failure_ && !stopping_ && next_ < plan_.steps().size();) {
            auto const& s = plan_.steps()[next_];
            if (!std::holds_alternative<message_step>(s) && wrong_.found) {
                ++next_;
                continue;
            }
            if (auto const* const c = std::get_if<combine_step>(&s)) {
                if (!c->is_brief()) return void(own_->at = protocol::phase::errand);
                c->run();
                ++next_;
                continue;
            }
            if (auto const* const m = std::get_if<move_step>(&s)) {
                copy(m->from, m->into);
                ++next_;
                continue;
            }
            start_phase();
            if (missing_ != 0) return void(own_->at = protocol::phase::parked);
            close_phase();
        }
        if (!failure_) failure_ = thrown([this] { wrong_.tell(); });
        engine().finish(*own_, stopping_ ? status::cancelled : status::ok);
    }
    /// What f throws; nothing: it does not.
    template <class F> static std::exception_ptr thrown(F const& f) noexcept {
        try {
            f();
            return nullptr;
        } catch (...) { return std::current_exception(); }
    }
    void combine() noexcept {
        failure_ = thrown([this] {
            while (next_ < plan_.steps().size() && std::holds_alternative<combine_step>(plan_.steps()[next_]))
                std::get<combine_step>(plan_.steps()[next_++]).run();
        });
    }

    /// The messages of the phase that begins here. Those that complete at once must not make this a task, which it is.
    void start_phase() noexcept {
        auto const phase = std::get<message_step>(plan_.steps()[next_]).phase;
        missing_ = 1, first_ = last_ = next_;
        for (; next_ < plan_.steps().size() && !failure_; ++next_) {
            auto* const m = std::get_if<message_step>(&plan_.steps()[next_]);
            if (!m || m->phase != phase) break;
            last_ = next_ + 1;
            start(*m);
        }
        --missing_;
    }
    void start(message_step& m) noexcept {
        if (m.sends ? !wrong_.found && has_left(m) : is_here(m)) return;
        auto* const r = m.under_way = engine().make();
        if (!r) [[unlikely]]
            return no_request();
        ++missing_;
        r->user = this;
        r->completed = [](protocol::request& done) noexcept { static_cast<schedule*>(done.user)->one_less(); };
        r->wanted = {wire_.context(), m.world, m.label};
        if (m.sends) r->from = wrong_.found ? wrong_.spoilt(m.out.size()) : m.out, r->peer = m.world, engine().send(*r);
        else r->into = m.in, engine().receive(*r);
    }
    /// A message that fits a frame, where nothing stands in its way, needs no request, and one that is here.
    bool has_left(message_step const& m) noexcept {
        auto const bytes = m.out.contiguous();
        return bytes && engine().send_now(m.world, wire_.context(), m.label, bytes->data(), bytes->size(), !begins_);
    }
    bool is_here(message_step const& m) noexcept {
        auto const got = here_now(m);
        if (got && static_cast<std::size_t>(got.bytes) != m.size())
            wrong_.note(static_cast<std::size_t>(got.bytes), m.size(), m.peer);
        return static_cast<bool>(got);
    }
    /// What is on the wire goes straight to its place: a message with a label of its own is dear to keep.
    protocol::received here_now(message_step const& m) noexcept {
        auto const room = m.in.contiguous();
        if (!room) return {};
        if (!engine().quiet()) return engine().take_kept({wire_.context(), m.world, m.label}, *room);
        if (room->size() + sizeof(protocol::wire::e0) > Stack::route_type::max_stretch) return {};
        return engine().look_now(m.world, wire_.context(), m.label, room->data(), room->size());
    }
    /// f(m) of the messages of the phase that have requests.
    template <class F> void each_under_way(F const& f) {
        for (auto i = first_; i < last_; ++i)
            if (auto* const m = std::get_if<message_step>(&plan_.steps()[i]); m && m->under_way) f(*m);
    }
    void one_less() noexcept {
        if (--missing_ == 0) engine().start_task(*own_);
    }
    void no_request() noexcept {
        failure_ = thrown([this] { home().no_request(); });
        stop(engine());
    }
    /// Nothing new is started.
    void stop(engine_type& e) noexcept {
        stopping_ = true;
        each_under_way([&](message_step const& m) {
            if (!m.under_way->complete) e.cancel(*m.under_way);
        });
    }
    /// The phase is over: how its messages ended. The first failure counts.
    void close_phase() noexcept {
        each_under_way([&](message_step& m) {
            auto const got = m.under_way->result;
            engine().drop(*std::exchange(m.under_way, nullptr));
            if (failure_ || stopping_) return;
            failure_ = thrown([&] {
                if (!detail::has_come(got, m.peer, m.size())) wrong_.note(got.bytes, m.size(), m.peer);
            });
        });
        first_ = last_;
    }
};

} // namespace mpt::inline v0::coll
