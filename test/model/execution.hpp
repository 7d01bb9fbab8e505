/// model/execution - one schedule: threads as fibres, one of them running, and a draw at every access. See scheduler.hpp.
#pragma once
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "../support/fibre.hpp"
#include "memory.hpp"

namespace mpt::model {

using nanoseconds = std::chrono::nanoseconds;

/// Where an access stands in the source, and the order that it asks for. A dropped fence is an order too: relaxed.
struct site {
    std::string_view file;
    unsigned line = 0, column = 0;
    std::memory_order order{};
    bool fence = false;
    auto key() const noexcept { return std::tuple{file, line, column, fence}; }
    bool operator<(site const& o) const noexcept { return key() < o.key(); }
};
inline char const* name_of(std::memory_order o) noexcept {
    switch (o) {
    case std::memory_order::relaxed: return "relaxed";
    case std::memory_order::acquire: return "acquire";
    case std::memory_order::release: return "release";
    case std::memory_order::acq_rel: return "acq_rel";
    case std::memory_order::seq_cst: return "seq_cst";
    default: return "consume";
    }
}
inline std::string_view last_part(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

struct options {
    unsigned schedules = 2000;           // how many are tried
    unsigned steps = 20'000;             // accesses after which a schedule counts as one that never ends
    std::optional<std::uint64_t> seed{}; // of the first schedule; where none is given, MPT_MODEL_SEED, or 1
    bool timeouts = false;               // may a sleeper's time run out? false: a sleeper that nobody wakes is a fault
    bool early_wakeups = false;          // may a sleeper wake without a reason?
};

/// A schedule's random numbers: splitmix64.
class dice {
    std::uint64_t state_;

public:
    explicit dice(std::uint64_t seed) noexcept : state_{seed} {}
    std::uint64_t draw() noexcept {
        auto z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t n) noexcept { return draw() % n; }
    bool one_in(std::uint64_t n) noexcept { return n != 0 && below(n) == 0; }
};

class execution {
    enum class state : std::uint8_t { runnable, waits, sleeps, done };
    static constexpr nanoseconds never = nanoseconds::max();
    static constexpr unsigned nobody = 0;

    struct member {
        test::fibre* fibre = nullptr;
        state at = state::runnable;
        location* word = nullptr; // waits on
        nanoseconds until = never;
        std::uint64_t priority = 0;
    };

    static inline execution* current_ = nullptr;
    options const& options_;
    dice dice_;
    memory memory_;
    std::vector<member> members_{1}; // 0: the setup, which is no fibre
    std::vector<std::unique_ptr<test::fibre>>& fibres_;
    std::vector<std::function<void()>> last_;
    unsigned running_ = 0, next_ = nobody, in_a_row_ = 0;
    std::uint64_t steps_ = 0, switch_one_in_ = 2, stale_one_in_ = 2;
    bool by_priority_ = false;
    nanoseconds now_{1'000'000};
    std::string failure_;
    bool tracing_;
    std::vector<std::string> trace_;
    site const* weakened_;
    std::memory_order weakened_to_;
    std::map<site, std::memory_order>* sites_;

public:
    using fibre_pool = std::vector<std::unique_ptr<test::fibre>>;
    struct fault { // planted: this access asks for less
        site const* where = nullptr;
        std::memory_order to{};
    };

    execution(options const& o, std::uint64_t seed, fibre_pool& fibres, bool trace, fault planted,
              std::map<site, std::memory_order>* sites)
        : options_{o}, dice_{seed}, fibres_{fibres}, tracing_{trace}, weakened_{planted.where}, weakened_to_{planted.to},
          sites_{sites} {
        by_priority_ = dice_.one_in(4);
        switch_one_in_ = std::uint64_t{2} << dice_.below(4);
        stale_one_in_ = std::array<std::uint64_t, 4>{0, 2, 2, 8}[dice_.below(4)];
        current_ = this;
    }
    ~execution() { current_ = nullptr; }
    execution(execution const&) = delete;
    execution& operator=(execution const&) = delete;

    static execution* current() noexcept { return current_; }

    /// For the body: one more thread. It begins when the body has returned, and knows all that the body did.
    void thread(std::function<void()> body) {
        if (members_.size() == most_threads) std::abort();
        auto const id = members_.size();
        if (fibres_.size() < id) fibres_.push_back(std::make_unique<test::fibre>());
        members_.push_back({.fibre = fibres_[id - 1].get(), .priority = dice_.draw()});
        fibres_[id - 1]->start(std::move(body));
    }
    /// For the body: what to look at when all threads have ended; knows all that they did.
    void finally(std::function<void()> look) { last_.push_back(std::move(look)); }

    void run() {
        for (unsigned t = 1; t < members_.size(); ++t) memory_.hand_over(0, t);
        while (failure_.empty() && find_next()) {
            running_ = next_;
            members_[running_].fibre->resume();
            if (members_[running_].fibre->finished()) members_[running_].at = state::done, next_ = nobody;
            running_ = 0;
        }
        if (!failure_.empty()) return;
        for (unsigned t = 1; t < members_.size(); ++t) memory_.hand_over(t, 0);
        for (auto const& look : last_) look();
    }

    std::string const& failure() const noexcept { return failure_; }
    std::vector<std::string> const& trace() const noexcept { return trace_; }
    std::uint64_t steps() const noexcept { return steps_; }

    /// Ends the schedule: a thread that fails does not go on, and what its frames own is lost.
    void fail(std::string what) {
        if (!failure_.empty()) return;
        failure_ = std::move(what);
        note(failure_);
        if (running_ != 0) test::fibre::suspend();
    }

    // What the atomics do; thread t is the one that runs.
    void construct(void const* a, std::uint64_t value) { memory_.make(running_, a, value); }

    std::uint64_t load(void const* a, std::uint64_t bits, std::memory_order o, std::source_location const& from) {
        o = asked(o, from);
        point();
        auto& l = known(a, bits, from);
        auto const v = memory_.load(running_, l, draw_store(memory_.oldest(running_, l, o), l), o);
        note("load", l, o, v, from);
        return v;
    }
    /// Returns the newest value of the location, which need not be this one.
    std::uint64_t store(void const* a, std::uint64_t bits, std::uint64_t value, std::memory_order o,
                        std::source_location const& from) {
        o = asked(o, from);
        point();
        auto& l = known(a, bits, from);
        memory_.store(running_, l, draw_place(memory_.oldest(running_, l, o), l), value, o);
        note("store", l, o, value, from);
        return l.value();
    }
    struct modified {
        std::uint64_t old, newest;
    };
    template <class Change>
    modified modify(void const* a, std::uint64_t bits, Change change, std::memory_order o, std::source_location const& from) {
        o = asked(o, from);
        point();
        auto& l = known(a, bits, from);
        auto const behind = draw_place(memory_.oldest(running_, l, o), l);
        auto const old = l.history[behind].value;
        memory_.modify(running_, l, behind, change(old), o);
        note("modify", l, o, change(old), from);
        return {old, l.value()};
    }
    struct exchanged {
        bool done;
        std::uint64_t newest;
    };
    exchanged compare_exchange(void const* a, std::uint64_t bits, std::uint64_t& expected, std::uint64_t desired,
                               std::memory_order o, std::memory_order otherwise, bool weak, std::source_location const& from) {
        auto const order = asked(o, from);
        if (order != o) otherwise = std::memory_order::relaxed;
        point();
        auto& l = known(a, bits, from);
        auto index = draw_store(std::max(memory_.oldest(running_, l, order), memory_.oldest(running_, l, otherwise)), l);
        if (!l.room_behind(index)) index = l.newest();
        if (l.history[index].value == expected && !(weak && dice_.one_in(8))) {
            memory_.modify(running_, l, index, desired, order);
            note("exchange", l, order, desired, from);
            return {true, l.value()};
        }
        expected = memory_.load(running_, l, index, otherwise);
        note("exchange refused", l, otherwise, expected, from);
        return {false, l.value()};
    }
    void fence(std::source_location const& from) {
        if (asked_fence(from) == std::memory_order::relaxed) return;
        point();
        memory_.fence(running_);
        note("fence", from);
    }
    /// Every other thread passes a full barrier at some moment between begin and end of the call.
    void membarrier(std::source_location const& from) {
        if (asked_fence(from) == std::memory_order::relaxed) return;
        point();
        memory_.fence(running_);
        for (unsigned t = 1; t < members_.size(); ++t) {
            point();
            if (t != running_) memory_.barrier_from_outside(t);
        }
        point();
        memory_.fence(running_);
        note("membarrier", from);
    }

    void plain(void const* a, std::size_t n, bool write) {
        auto const race = memory_.plain(running_, a, n, write);
        auto const name = [](bool w) { return w ? "write" : "read"; };
        if (race.found)
            fail(std::string{"data race: a plain "} + name(write) + " by thread " + std::to_string(running_) + " with a " +
                 name(race.with_write) + " by thread " + std::to_string(race.thread));
    }

    // What the world does.
    nanoseconds now() { return now_; }
    std::uint64_t self() const noexcept { return running_ + 1; }
    std::uint64_t random() { return dice_.draw(); }
    /// Somebody else runs, if anybody can.
    void give_way() {
        if (running_ == 0) return;
        members_[running_].priority = 0;
        in_a_row_ = std::numeric_limits<unsigned>::max();
        point();
    }
    void sleep_for(nanoseconds d) {
        if (running_ == 0 || d <= nanoseconds::zero()) return;
        leave(state::sleeps, nullptr, d);
    }
    void wait(void const* a, std::uint64_t bits, std::uint32_t seen, nanoseconds d) {
        if (running_ == 0) return;
        point();
        auto& l = memory_.at(a, bits);
        auto const compared = l.history[draw_store(memory_.oldest_for_kernel(running_, l), l)].value;
        note("futex wait compares " + std::to_string(compared) + " with " + std::to_string(seen));
        if (compared != seen || d <= nanoseconds::zero()) return;
        if (options_.early_wakeups && dice_.one_in(4)) return;
        leave(state::waits, &l, options_.timeouts ? d : never);
        note("goes on");
    }
    void wake(void const* a, std::uint64_t bits, int n) {
        point();
        auto& l = memory_.at(a, bits);
        memory_.waker_passes(running_, l);
        std::vector<member*> asleep;
        for (auto& m : members_)
            if (m.at == state::waits && m.word == &l) asleep.push_back(&m);
        note("futex wake of " + std::to_string(n) + ", " + std::to_string(asleep.size()) + " sleep");
        for (; n > 0 && !asleep.empty(); --n) {
            auto const i = static_cast<std::ptrdiff_t>(dice_.below(asleep.size()));
            asleep[static_cast<std::size_t>(i)]->at = state::runnable;
            asleep.erase(asleep.begin() + i);
        }
    }
    void note(std::string text) {
        if (tracing_) trace_.push_back("thread " + std::to_string(running_) + "  " + std::move(text));
    }

private:
    // Scheduling.
    /// Before every access: somebody else may run first.
    void point() {
        if (running_ == 0) return;
        ++now_;
        if (++steps_ > options_.steps)
            return fail("no end after " + std::to_string(options_.steps) +
                        " accesses: a livelock, or a wake-up that never came");
        next_ = draw_thread();
        if (next_ != running_) in_a_row_ = 0, test::fibre::suspend();
        else ++in_a_row_;
    }
    void leave(state how, location* word, nanoseconds d) {
        auto& m = members_[running_];
        m.at = how;
        m.word = word;
        m.until = d < never - now_ ? now_ + d : never;
        next_ = nobody;
        test::fibre::suspend();
    }
    unsigned draw_thread() {
        std::array<unsigned, most_threads> others{};
        unsigned n = 0;
        bool me = false;
        for (unsigned t = 1; t < members_.size(); ++t) {
            if (members_[t].at != state::runnable) continue;
            if (t == running_) me = true;
            else others[n++] = t;
        }
        if (n == 0) return me ? running_ : nobody;
        bool const gives_way = me && must_switch(); // then any other: two that wait must not keep out a third
        if (me && !gives_way) {
            if (by_priority_ ? !outranked(others, n) : !dice_.one_in(switch_one_in_)) return running_;
        }
        if (!by_priority_ || gives_way) return others[dice_.below(n)];
        auto best = others[0];
        for (unsigned i = 1; i < n; ++i)
            if (members_[others[i]].priority > members_[best].priority) best = others[i];
        return best;
    }
    bool must_switch() {
        constexpr unsigned spinning = 64; // so many accesses in a row: it probably waits for somebody else
        if (in_a_row_ <= spinning) return false;
        members_[running_].priority = dice_.below(1000);
        return true;
    }
    bool outranked(std::array<unsigned, most_threads> const& others, unsigned n) {
        if (dice_.one_in(30)) members_[running_].priority = dice_.below(1000); // far below all first draws
        for (unsigned i = 0; i < n; ++i)
            if (members_[others[i]].priority > members_[running_].priority) return true;
        return false;
    }
    bool find_next() {
        if (next_ != nobody && members_[next_].at == state::runnable) return true;
        next_ = draw_thread();
        if (next_ != nobody) return true;
        member* first = nullptr;
        bool all_done = true;
        for (unsigned t = 1; t < members_.size(); ++t) {
            auto& m = members_[t];
            if (m.at != state::done) all_done = false;
            if (m.at != state::done && m.until != never && (first == nullptr || m.until < first->until)) first = &m;
        }
        if (all_done) return false;
        if (first == nullptr) return fail(who_sleeps()), false;
        now_ = std::max(now_, first->until);
        first->at = state::runnable;
        first->until = never;
        next_ = static_cast<unsigned>(first - members_.data());
        return true;
    }
    std::string who_sleeps() const {
        std::string text = "a lost wake-up: nobody can run, asleep:";
        for (unsigned t = 1; t < members_.size(); ++t)
            if (members_[t].at != state::done) text += " thread " + std::to_string(t);
        return text;
    }

    // Memory.
    std::uint32_t draw_store(std::uint32_t oldest, location const& l) {
        auto const newest = l.newest();
        if (running_ == 0 || oldest >= newest || !dice_.one_in(stale_one_in_)) return newest;
        return oldest + static_cast<std::uint32_t>(dice_.below(newest - oldest));
    }
    /// Behind which store the next one stands.
    std::uint32_t draw_place(std::uint32_t oldest, location const& l) {
        auto const index = draw_store(oldest, l);
        return l.room_behind(index) ? index : l.newest();
    }
    location& known(void const* a, std::uint64_t bits, std::source_location const& from) {
        auto& l = memory_.at(a, bits);
        if (!memory_.knows(running_, l))
            fail("an atomic is used by a thread that does not know of its construction: " + place(from));
        return l;
    }
    std::memory_order asked(std::memory_order o, std::source_location const& from) {
        if (sites_ == nullptr && weakened_ == nullptr) [[likely]]
            return o;
        return changed({last_part(from.file_name()), from.line(), from.column(), o, false});
    }
    std::memory_order asked_fence(std::source_location const& from) {
        if (sites_ == nullptr && weakened_ == nullptr) [[likely]]
            return std::memory_order::seq_cst;
        return changed({last_part(from.file_name()), from.line(), from.column(), std::memory_order::seq_cst, true});
    }
    std::memory_order changed(site const& s) {
        if (sites_ != nullptr) (*sites_)[s] = s.order;
        return weakened_ != nullptr && weakened_->key() == s.key() ? weakened_to_ : s.order;
    }

    // Words for people.
    static std::string place(std::source_location const& from) {
        return std::string{last_part(from.file_name())} + ":" + std::to_string(from.line());
    }
    void note(char const* what, std::source_location const& from) {
        if (tracing_) note(place(from) + "  " + what);
    }
    void note(char const* what, location const& l, std::memory_order o, std::uint64_t v, std::source_location const& from) {
        if (tracing_)
            note(place(from) + "  " + what + " " + name_of(o) + "  word " + std::to_string(l.id) + " = " +
                 std::to_string(static_cast<std::int64_t>(v)));
    }
};

} // namespace mpt::model
