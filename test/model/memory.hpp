/// model/memory - what the C++ memory model lets each thread see.
///
///   Every atomic location keeps all its stores in their modification order. Every thread has a *view*: per location the oldest
///   store that it may still read, and per thread how far it knows that thread's past (a vector clock). A load may return any
///   store that is not older than its view says, and a store may take any place in the order that is later than what its
///   thread knows; the scheduler draws which.
///
///        store release     the store carries the thread's view                       load acquire   joins what it carries
///        store relaxed     the store carries the view of the last release fence      load relaxed   keeps it for an acquire fence
///        read-modify-write stands directly behind the store that it reads, carries that store's view on (release sequence)
///        seq_cst access    like acquire/release; a load sees the last seq_cst store of its location, and what was visible to
///                          whoever fenced before
///        seq_cst fence     acquire and release fence; whatever a thread that fenced before could see, it sees too
///                          (but learns nothing of that thread's plain data: a fence alone does not synchronize)
///
///   Plain data has no views. Each byte knows its last writer and its readers; an access that does not know of them by its
///   clock is a data race.
///
///   Limits  No load sees a store that has not been executed: load buffering, which C++ allows, is not found. It needs an order
///           that depends on a value from the future; a release before the store or an acquire on the load forbids it.
///           The total order of seq_cst operations is the order in which they execute.
///           `consume` and non-seq_cst fences are not there.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace mpt::model {

inline constexpr unsigned most_threads = 8; // thread 0 is the setup

struct view {
    std::array<std::uint32_t, most_threads> clock{};
    std::vector<std::uint32_t> seen; // by location: the time of the oldest store that may still be read

    std::uint32_t at(std::uint32_t location) const noexcept { return location < seen.size() ? seen[location] : 0; }
    void raise(std::uint32_t location, std::uint32_t time) {
        if (location >= seen.size()) seen.resize(location + 1);
        seen[location] = std::max(seen[location], time);
    }
    void join_seen(view const& o) {
        if (o.seen.size() > seen.size()) seen.resize(o.seen.size());
        for (std::size_t i = 0; i < o.seen.size(); ++i) seen[i] = std::max(seen[i], o.seen[i]);
    }
    void join(view const& o) {
        join_seen(o);
        for (unsigned i = 0; i < most_threads; ++i) clock[i] = std::max(clock[i], o.clock[i]);
    }
};

/// Times of a location's stores lie so far apart that others find room between them.
inline constexpr std::uint32_t time_step = 1 << 12;

struct stored {
    std::uint64_t value;
    std::uint32_t time;
    bool attached; // a read-modify-write: nothing may come between it and the store before
    view carried;
};

struct location {
    std::uint32_t id;
    unsigned maker; // who constructed it, and when: to touch it before knowing of that is a fault
    std::uint32_t made;
    std::uint32_t kernel_floor = 0; // time: what a futex call compares with is at least as new as this
    std::vector<stored> history;    // in modification order

    std::uint32_t newest() const noexcept { return static_cast<std::uint32_t>(history.size() - 1); }
    std::uint64_t value() const noexcept { return history.back().value; }
    std::uint32_t index_at(std::uint32_t time) const noexcept { // of the first store that is not older
        auto i = newest();
        while (i > 0 && history[i - 1].time >= time) --i;
        return i;
    }
    /// May a store stand directly behind this one?
    bool room_behind(std::uint32_t index) const noexcept {
        return index == newest() || (!history[index + 1].attached && history[index + 1].time - history[index].time > 1);
    }
};

constexpr bool acquires(std::memory_order o) noexcept {
    return o == std::memory_order::acquire || o == std::memory_order::acq_rel || o == std::memory_order::seq_cst;
}
constexpr bool releases(std::memory_order o) noexcept {
    return o == std::memory_order::release || o == std::memory_order::acq_rel || o == std::memory_order::seq_cst;
}

class memory {
    struct thread {
        view now;      // what it knows
        view pending;  // what relaxed loads read, for an acquire fence
        view released; // what it knew at its last release fence
    };
    struct byte {
        std::uint32_t written = 0;
        unsigned writer = 0;
        std::array<std::uint32_t, most_threads> read{};
    };
    using line = std::array<byte, 64>;

    std::array<thread, most_threads> threads_;
    std::vector<std::unique_ptr<location>> locations_;
    std::unordered_map<void const*, location*> by_address_;
    std::unordered_map<std::uintptr_t, line> plain_;
    view fenced_;   // seen part: what all who fenced knew
    view accessed_; // seen part: the last seq_cst store, or what seq_cst loads read, of each location

public:
    memory() {
        for (unsigned t = 0; t < most_threads; ++t) threads_[t].now.clock[t] = 1;
    }

    location& make(unsigned t, void const* address, std::uint64_t value) {
        auto& l = *locations_.emplace_back(std::make_unique<location>());
        l.id = static_cast<std::uint32_t>(locations_.size() - 1);
        l.maker = t;
        l.made = threads_[t].now.clock[t];
        l.history.push_back({value, 0, false, {}});
        by_address_[address] = &l;
        return l;
    }
    /// An address that no constructor announced holds zeroes, or what it was filled with, from before all threads.
    location& at(void const* address, std::uint64_t value_if_new) {
        if (auto const found = by_address_.find(address); found != by_address_.end()) return *found->second;
        auto& l = make(0, address, value_if_new);
        l.made = 0;
        return l;
    }
    bool knows(unsigned t, location const& l) const noexcept { return threads_[t].now.clock[l.maker] >= l.made; }

    /// The oldest store that a load may return, and behind which a store may stand.
    std::uint32_t oldest(unsigned t, location const& l, std::memory_order o) const noexcept {
        auto const own = threads_[t].now.at(l.id);
        return l.index_at(o == std::memory_order::seq_cst ? std::max({own, fenced_.at(l.id), accessed_.at(l.id)}) : own);
    }

    std::uint64_t load(unsigned t, location& l, std::uint32_t index, std::memory_order o) {
        auto const& s = l.history[index];
        threads_[t].now.raise(l.id, s.time);
        (acquires(o) ? threads_[t].now : threads_[t].pending).join(s.carried);
        if (o == std::memory_order::seq_cst) accessed_.raise(l.id, s.time);
        return s.value;
    }
    /// behind: the store after which this one comes.
    void store(unsigned t, location& l, std::uint32_t behind, std::uint64_t value, std::memory_order o) {
        insert(t, l, behind, value, o, false);
    }
    void modify(unsigned t, location& l, std::uint32_t behind, std::uint64_t value, std::memory_order o) {
        load(t, l, behind, o);
        insert(t, l, behind, value, o, true);
    }

    void fence(unsigned t) {
        auto& me = threads_[t];
        me.now.join(me.pending);
        me.now.join_seen(fenced_);
        me.now.join_seen(accessed_);
        fenced_.join_seen(me.now);
        me.released = me.now;
        tick(t);
    }
    /// What membarrier does to thread t from outside: its core passes a full barrier, the abstract machine no fence.
    void barrier_from_outside(unsigned t) {
        auto& other = threads_[t].now;
        other.join_seen(fenced_);
        other.join_seen(accessed_);
        fenced_.join_seen(other);
    }

    /// A kernel call on a futex word: compares a store that is at least as new as the caller's view and as that of any waker.
    std::uint32_t oldest_for_kernel(unsigned t, location const& l) const noexcept {
        return l.index_at(std::max(threads_[t].now.at(l.id), l.kernel_floor));
    }
    void waker_passes(unsigned t, location& l) noexcept { l.kernel_floor = std::max(l.kernel_floor, threads_[t].now.at(l.id)); }

    /// Thread child begins (or the setup goes on) with what parent knows.
    void hand_over(unsigned parent, unsigned child) {
        threads_[child].now.join(threads_[parent].now);
        tick(parent);
        tick(child);
    }

    /// Plain bytes. Says which earlier access of whom it raced with, if any.
    struct race {
        bool found, with_write;
        unsigned thread;
    };
    race plain(unsigned t, void const* address, std::size_t n, bool write) {
        auto const begin = reinterpret_cast<std::uintptr_t>(address);
        for (auto a = begin; a < begin + n; ++a) {
            auto& b = plain_[a / 64][a % 64];
            auto& know = threads_[t].now.clock;
            if (b.written > know[b.writer]) return {true, true, b.writer};
            for (unsigned r = 0; write && r < most_threads; ++r)
                if (b.read[r] > know[r]) return {true, false, r};
            if (write) b = {know[t], t, {}};
            else b.read[t] = know[t];
        }
        return {};
    }

private:
    void tick(unsigned t) { ++threads_[t].now.clock[t]; }

    void insert(unsigned t, location& l, std::uint32_t behind, std::uint64_t value, std::memory_order o, bool attached) {
        auto& me = threads_[t];
        auto const before = l.history[behind].time;
        auto const time = behind == l.newest() ? before + time_step : before + (l.history[behind + 1].time - before) / 2;
        me.now.raise(l.id, time);
        view carried = releases(o) ? me.now : me.released;
        carried.raise(l.id, time);
        if (attached) carried.join(l.history[behind].carried);
        if (o == std::memory_order::seq_cst) accessed_.raise(l.id, time);
        l.history.insert(l.history.begin() + behind + 1, {value, time, attached, std::move(carried)});
        tick(t);
    }
};

} // namespace mpt::model
