/// support/virtual_world - a world whose ranks are fibres and whose clock is a number: the whole stack, deterministic, in one
/// thread and without waiting for anything.
///
///   How to use it
///
///     virtual_machine machine;                                // or {.seed = 42}: another order of the fibres
///     for (int r = 0; r < n; ++r)
///         machine.spawn([r] { ... the stack over virtual_world ... });
///     machine.run();                                          // returns when all have ended
///     machine.now();                                          // how long it took, in virtual time
///
///        ready: 2 5 1  ----> one runs until it yields, pauses, sleeps or waits ----> back of `ready`, or asleep
///        nobody is ready     the clock jumps to the first deadline; no deadline: run() throws, naming who waits
///
///   Time    A yield or pause costs 100 ns, a look at the clock 1 ns, everything else nothing. The clock jumps over what nobody
///           would have done.
///   Order   First in, first out; with a seed, drawn. The same program and seed give the same run, to the nanosecond.
///   Limit   A loop that calls nothing of its world holds the only thread for ever: give waiters wait_facts{.scarce = true}, so
///           that they yield instead of spinning. A wait_policy that only spins cannot be used here.
///           An exception that leaves a fibre ends the run and comes out of run(); the other fibres are left lying.
///           One machine at a time. Descriptors are real ones: they are looked at each virtual millisecond.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpt/core/fences.hpp>
#include <mpt/world/world.hpp>
#include <poll.h>

#include "fibre.hpp"

namespace mpt::test {

class virtual_machine {
    static constexpr nanoseconds never = nanoseconds::max();
    static constexpr nanoseconds yield_cost{100}, look_cost{1};

    struct member {
        std::unique_ptr<fibre> f;
        void const* word = nullptr; // asleep on
        nanoseconds until = never;  // asleep at most
        bool asleep = false, done = false;
    };

    static inline virtual_machine* current_ = nullptr;
    std::vector<member> members_;
    std::deque<std::size_t> ready_;
    std::size_t running_ = nobody;
    std::uint64_t seed_, dice_;
    nanoseconds now_{0};
    std::size_t stack_bytes_;
    std::exception_ptr thrown_;

public:
    static constexpr std::size_t nobody = ~std::size_t{0};
    struct options {
        std::uint64_t seed = 0; // 0: first in, first out
        std::size_t stack_bytes = 256 * 1024;
    };

    virtual_machine() : virtual_machine{options{}} {}
    explicit virtual_machine(options o) : seed_{o.seed}, dice_{o.seed}, stack_bytes_{o.stack_bytes} {
        if (current_ != nullptr) throw std::logic_error{"a virtual machine is running already"};
        current_ = this;
    }
    ~virtual_machine() { current_ = nullptr; }
    virtual_machine(virtual_machine const&) = delete;
    virtual_machine& operator=(virtual_machine const&) = delete;

    static virtual_machine* current() noexcept { return current_; }

    /// From anywhere, also from a fibre: one more, ready at once. Returns its number, from 0.
    std::size_t spawn(std::function<void()> body) {
        auto const id = members_.size();
        members_.push_back({.f = std::make_unique<fibre>(stack_bytes_)});
        members_[id].f->start([this, body = std::move(body)] {
            try {
                body();
            } catch (...) { thrown_ = std::current_exception(); }
        });
        ready_.push_back(id);
        return id;
    }

    /// Until all have ended. Throws what a fibre threw, and std::runtime_error when all who are left wait for ever.
    void run() {
        while (find_ready()) {
            auto const at = ready_.begin() + static_cast<std::ptrdiff_t>(seed_ == 0 ? 0 : draw() % ready_.size());
            running_ = *at;
            ready_.erase(at);
            members_[running_].f->resume();
            if (members_[running_].f->finished()) members_[running_].done = true;
            running_ = nobody;
            if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
        }
    }

    nanoseconds now() const noexcept { return now_; }
    /// The fibre that runs; nobody: outside of all.
    std::size_t running() const noexcept { return running_; }

    // What the world does.
    nanoseconds look_at_clock() noexcept { return now_ += look_cost; }
    void yield() {
        now_ += yield_cost;
        if (running_ == nobody) return;
        ready_.push_back(running_);
        fibre::suspend();
    }
    void sleep_for(nanoseconds d) {
        if (d <= nanoseconds::zero()) return;
        if (running_ == nobody) now_ += d;
        else sleep(nullptr, d);
    }
    void wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, nanoseconds d) {
        if (d <= nanoseconds::zero() || word.load() != seen) return;
        if (running_ == nobody) throw std::logic_error{"only a fibre can wait for another"};
        sleep(&word, d);
    }
    void wake(std::atomic<std::uint32_t>& word, int n) {
        for (std::size_t i = 0; i < members_.size() && n > 0; ++i)
            if (members_[i].asleep && members_[i].word == &word) wake_up(i), --n;
    }
    void wait_readable(std::span<int const> descriptors, nanoseconds d) {
        std::vector<::pollfd> set;
        for (int const fd : descriptors) set.push_back({.fd = fd, .events = POLLIN, .revents = 0});
        if (::poll(set.data(), set.size(), 0) <= 0) sleep_for(std::min(d, nanoseconds{1'000'000}));
    }
    std::uint64_t draw() noexcept { // splitmix64
        auto z = dice_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

private:
    void sleep(void const* word, nanoseconds d) {
        auto& m = members_[running_];
        m.word = word;
        m.until = d < never - now_ ? now_ + d : never;
        m.asleep = true;
        fibre::suspend();
    }
    void wake_up(std::size_t i) {
        members_[i].asleep = false;
        members_[i].until = never;
        ready_.push_back(i);
    }
    /// Wakes those whose time has come; jumps where nobody could run before. False: all have ended.
    bool find_ready() {
        if (ready_.empty()) {
            auto const first = std::min_element(members_.begin(), members_.end(),
                                                [](member const& a, member const& b) { return a.until < b.until; });
            if (first == members_.end() || first->until == never) return must_be_over();
            now_ = std::max(now_, first->until);
        }
        for (std::size_t i = 0; i < members_.size(); ++i)
            if (members_[i].asleep && members_[i].until <= now_) wake_up(i);
        return true;
    }
    bool must_be_over() const {
        std::string left;
        for (std::size_t i = 0; i < members_.size(); ++i)
            if (!members_[i].done) left += " " + std::to_string(i);
        if (!left.empty()) throw std::runtime_error{"all fibres wait, and no time will wake them:" + left};
        return false;
    }
};

/// One thread runs everything: the machine's atomics, and no fence is needed.
struct virtual_atomics {
    template <class T> using atomic = std::atomic<T>;
    struct fences {
        static constexpr bool invisible = false;
        static void light(fence_mode) noexcept {}
        static void heavy(fence_mode) noexcept {}
        static void heavy_here(fence_mode) noexcept {}
        static void drain() noexcept {}
    };
    static void pause() noexcept { virtual_machine::current()->yield(); }
};

struct virtual_world {
    using kind = mpt::kind::world;
    using atomics = virtual_atomics;
    using word = std::atomic<std::uint32_t>;
    static constexpr std::string_view name = "virtual";
    static constexpr bool shares_process = true;

    static virtual_machine& machine() noexcept { return *virtual_machine::current(); }
    nanoseconds now() const noexcept { return machine().look_at_clock(); }
    void pause() const noexcept { machine().yield(); }
    void yield() const noexcept { machine().yield(); }
    void sleep_for(nanoseconds d) const noexcept { machine().sleep_for(d); }
    /// The fibre's number counted from 1; outside of all fibres, a number that no fibre has.
    std::uint64_t self() const noexcept {
        auto const r = machine().running();
        return r == virtual_machine::nobody ? r >> 1 : r + 1;
    }
    std::uint64_t random() const noexcept { return machine().draw(); }
    void wait(word& w, std::uint32_t seen, nanoseconds d) const noexcept { machine().wait(w, seen, d); }
    void wake(word& w, int n) const noexcept { machine().wake(w, n); }
    void wait_readable(std::span<int const> descriptors, nanoseconds d) const noexcept {
        machine().wait_readable(descriptors, d);
    }
};
static_assert(world_policy<virtual_world>);

} // namespace mpt::test
