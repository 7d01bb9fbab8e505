/// blocks - memory for objects that come and go with every call: a block that was given back is the next one taken.
///
///        block   | its store 16 | the object ... |        free blocks form a stack: the last one's lines are warm
///
///   A window of 64 requests is more than malloc keeps at hand for a thread (seven of a size), and its long way costs 300
///   instructions a request.
///
///   Memory   blocks of one size, given back to the system when the store goes. Objects must be gone by then.
///   Threads  any, unless the store is left to one thread.
///   Tests    test/c/requests_test.cpp (windows of requests, by threads too)
#pragma once
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace mpt::c {

class block_store {
    struct alignas(16) block {
        block_store* home;
        block* next_free;
    };
    block* free_ = nullptr;
    bool alone_ = false; // one thread at a time
    std::mutex changing_;

    std::unique_lock<std::mutex> guard() { return alone_ ? std::unique_lock<std::mutex>{} : std::unique_lock{changing_}; }

public:
    block_store() = default;
    block_store(block_store const&) = delete;
    ~block_store() {
        while (free_) ::operator delete(std::exchange(free_, free_->next_free));
    }
    void leave_to_one_thread(bool alone) noexcept { alone_ = alone; }

    /// size: the same in every call of a store.
    void* take(std::size_t size) {
        {
            auto const g = guard();
            if (auto* const b = free_) return free_ = b->next_free, b + 1;
        }
        return ::new (::operator new(sizeof(block) + size)) block{this, nullptr} + 1;
    }
    /// p came from take() of any store.
    static void give_back(void* p) noexcept {
        auto* const b = static_cast<block*>(p) - 1;
        auto const g = b->home->guard();
        b->next_free = std::exchange(b->home->free_, b);
    }
};

} // namespace mpt::c
