/// stack/wait_hooks - what the threads of a rank that wait do for other ranks beside moving messages.
///
///        hooks.add(h)      lane::wait: nothing moved ---> hooks.run() ---> h.look(), of each
///        hooks.remove(h)
///
///   Who waits runs them while it holds no lock; a hook waits for computations alone. One thread of the rank runs them at a time, and the others go on
///   with their own.
///
///   Order   hooks.busy: what was done by who was in it before is there, the list among it.
///   Cost    a load where there are none.
///   Tests   test/stack_wait_hooks_test.cpp
#pragma once
#include <cstddef>
#include <vector>

#include <mpt/core/atomics.hpp>

namespace mpt::inline v0 {

class wait_hook {
public:
    /// How many things it did.
    virtual std::size_t look() noexcept = 0;

protected:
    ~wait_hook() = default;
};

template <class World> class wait_hooks {
    template <class T> using atomic = typename World::atomics::template atomic<T>;
    atomic<bool> some_{false}, busy_{false};
    std::vector<wait_hook*> all_; // of who is busy with it
    [[no_unique_address]] World world_{};

    bool try_enter() noexcept { return !busy_.exchange(true, std::memory_order_acquire); } // sync(hooks.busy): acquire
    void leave() noexcept {
        some_.store(!all_.empty(), std::memory_order_relaxed); // order: a hint
        busy_.store(false, std::memory_order_release);         // sync(hooks.busy): release
    }
    class alone {
        wait_hooks& in_;

    public:
        explicit alone(wait_hooks& h) noexcept : in_{h} {
            while (!in_.try_enter()) in_.world_.yield();
        }
        ~alone() { in_.leave(); }
        alone(alone const&) = delete;
    };

public:
    void add(wait_hook& h) {
        alone const a{*this};
        all_.push_back(&h);
    }
    /// Nobody is in it afterwards.
    void remove(wait_hook& h) noexcept {
        alone const a{*this};
        std::erase(all_, &h);
    }
    std::size_t run() noexcept {
        if (!some_.load(std::memory_order_relaxed)) [[likely]] // order: a hint
            return 0;
        return run_all();
    }

private:
    [[gnu::noinline]] std::size_t run_all() noexcept {
        if (!try_enter()) return 0;
        std::size_t done = 0;
        for (auto* const h : all_) done += h->look();
        leave();
        return done;
    }
};

} // namespace mpt::inline v0
