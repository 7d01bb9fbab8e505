/// wait/berths - where those threads of a lane sleep that each wait for one request, while another of them looks after all.
///
///        a thread that would sleep                         who completes its request
///        -------------------------                         -------------------------
///        take(its place)   if another one looks            rouse(number)   roused = 1, wake; it is one that looks
///        unlock
///        sleep()           while roused == 0               who stops looking: go()
///        lock, leave()     is one that looks                   the last one: rouses the first that came
///
///   Why     a doorbell (wait/doorbell.hpp) wakes every thread that sleeps on the lane, asks each that arms it for a barrier of all CPUs,
///           and senders for a call of the kernel's. Where threads are more than CPUs, each of them is then woken for the others' messages.
///           Who lies here is woken for its own, and by whoever is in the lane anyway.
///   States  a thread that waits on a lane looks (it polls, or sleeps at the bell), or lies in a berth. One lies down only while another
///           looks, and the last that stops looking rouses one: as long as a thread waits, one looks. One that is roused because its
///           request is complete looks, too, until it goes: so the one that looked for it may lie down, and leaves it the CPU.
///           origin: without that 16 threads of two ranks on two CPUs had half as many messages a second
///   Order   everything is said under the lane's lock but sleep(), which only the kernel's own look at `roused` ends: a futex that finds
///           another word than 0 does not sleep, and the wake comes after the store. What has happened the sleeper reads under the lock.
///   Memory  a berth for each thread that ever slept so at once; they are kept. No memory: nobody lies down, and the bell is there.
///   Wake    no wake-up is lost, and no sleep is longer than it is asked for: a kernel that loses one costs that much.
///   Tests   test/wait_berths_test.cpp, test/model/berths_model_test.cpp; test/stack_lane_test.cpp
#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <mpt/core/list.hpp>
#include <mpt/core/types.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0::wait {

template <class World> class berths {
public:
    class alignas(cache_line) berth : public list_node {
        friend berths;
        typename World::atomics::template atomic<std::uint32_t> roused_{0};
        std::uint32_t* shown_ = nullptr; // where its number stands while somebody lies in it
        std::uint32_t number_;

    public:
        explicit berth(std::uint32_t number) noexcept : number_{number} {}
        /// Who lies in it, outside the lane's lock: until it is roused, at most `longest`; may return early.
        void sleep(World const& world, nanoseconds longest) noexcept { world.wait(roused_, 0, longest); }
    };

    // All under the lane's lock.
    /// A thread that waits begins to look.
    void come() noexcept { ++looking_; }
    /// It looks no more.
    void go(World const& world) noexcept {
        if (--looking_ == 0 && !taken_.empty()) [[unlikely]]
            rouse(world, taken_.front());
    }
    /// A thread that looks lies down, and looks no more, over what rouse() will be told of by this number. nullptr: it stays up, for
    /// nobody else looks, or there is no memory.
    berth* take(std::uint32_t& number) noexcept {
        if (looking_ < 2 || (free_.empty() && !add())) return nullptr;
        auto& b = free_.pop_front();
        taken_.push_back(b);
        b.roused_.store(0, std::memory_order_relaxed); // order: under the lock
        b.shown_ = &number;
        number = b.number_;
        --looking_;
        return &b;
    }
    /// What the thread waits for has happened. It looks from now on.
    void rouse(World const& world, std::uint32_t number) noexcept { rouse(world, *all_[number - 1]); }
    /// Who lay in it is up, and looks. True: it was roused.
    bool leave(berth& b) noexcept {
        bool const roused = b.shown_ == nullptr;
        if (!roused) get_up(b);
        free_.push_back(b);
        return roused;
    }
    std::uint32_t looking() const noexcept { return looking_; }
    /// One looks, and all others that wait lie down.
    bool is_alone_up() const noexcept { return looking_ == 1 && !taken_.empty(); }

private:
    bool add() noexcept {
        try {
            all_.push_back(std::make_unique<berth>(static_cast<std::uint32_t>(all_.size() + 1)));
        } catch (std::bad_alloc const&) { return false; }
        free_.push_back(*all_.back());
        return true;
    }
    void get_up(berth& b) noexcept {
        *std::exchange(b.shown_, nullptr) = 0;
        taken_.erase(b);
        ++looking_;
    }
    void rouse(World const& world, berth& b) noexcept {
        get_up(b);
        b.roused_.store(1, std::memory_order_relaxed); // order: under the lock; a futex looks at it before anybody sleeps
        world.wake(b.roused_, 1);
    }

    std::vector<std::unique_ptr<berth>> all_;
    list<berth> taken_, free_; // the former in the order of coming
    std::uint32_t looking_ = 0;
};

} // namespace mpt::inline v0::wait
