/// model/atomics - the atomics and the world that an algorithm gets in a model. See scheduler.hpp.
#pragma once
#include <concepts>
#include <cstring>
#include <source_location>
#include <span>
#include <type_traits>

#include <mpt/core/atomics.hpp>
#include <mpt/world/world.hpp>

#include "execution.hpp"

namespace mpt::model {

template <class T> std::uint64_t to_bits(T v) noexcept {
    std::uint64_t b = 0;
    std::memcpy(&b, &v, sizeof v);
    return b;
}
template <class T> T from_bits(std::uint64_t b) noexcept {
    T v;
    std::memcpy(&v, &b, sizeof v);
    return v;
}

/// Has the size and alignment of T and is found by its address: zeroed memory is a valid atomic, layouts stay as they are.
/// The newest value lies in place; outside of a schedule that is all there is.
template <class T> class atomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    alignas(sizeof(T)) T value_;
    using from_here = std::source_location;
    using order = std::memory_order;
    static execution* now() noexcept { return execution::current(); }

public:
    using value_type = T;
    static constexpr bool is_always_lock_free = true;

    atomic() noexcept : atomic{T{}} {}
    atomic(T v) noexcept : value_{v} {
        if (now() != nullptr) now()->construct(this, to_bits(v));
    }
    atomic(atomic const&) = delete;
    atomic& operator=(atomic const&) = delete;

    T load(order o, from_here const& at = from_here::current()) const noexcept {
        return now() == nullptr ? value_ : from_bits<T>(now()->load(this, to_bits(value_), o, at));
    }
    void store(T v, order o, from_here const& at = from_here::current()) noexcept {
        value_ = now() == nullptr ? v : from_bits<T>(now()->store(this, to_bits(value_), to_bits(v), o, at));
    }
    T exchange(T v, order o, from_here const& at = from_here::current()) noexcept {
        return modify([v](T) { return v; }, o, at);
    }
    T fetch_add(T n, order o, from_here const& at = from_here::current()) noexcept
        requires std::integral<T>
    {
        return modify([n](T v) { return static_cast<T>(v + n); }, o, at);
    }
    T fetch_sub(T n, order o, from_here const& at = from_here::current()) noexcept
        requires std::integral<T>
    {
        return modify([n](T v) { return static_cast<T>(v - n); }, o, at);
    }
    T fetch_or(T n, order o, from_here const& at = from_here::current()) noexcept
        requires std::integral<T>
    {
        return modify([n](T v) { return static_cast<T>(v | n); }, o, at);
    }
    T fetch_and(T n, order o, from_here const& at = from_here::current()) noexcept
        requires std::integral<T>
    {
        return modify([n](T v) { return static_cast<T>(v & n); }, o, at);
    }
    T fetch_xor(T n, order o, from_here const& at = from_here::current()) noexcept
        requires std::integral<T>
    {
        return modify([n](T v) { return static_cast<T>(v ^ n); }, o, at);
    }
    bool compare_exchange_strong(T& e, T v, order o, from_here const& at = from_here::current()) noexcept {
        return exchange_if(e, v, o, otherwise(o), false, at);
    }
    bool compare_exchange_strong(T& e, T v, order o, order no, from_here const& at = from_here::current()) noexcept {
        return exchange_if(e, v, o, no, false, at);
    }
    bool compare_exchange_weak(T& e, T v, order o, from_here const& at = from_here::current()) noexcept {
        return exchange_if(e, v, o, otherwise(o), true, at);
    }
    bool compare_exchange_weak(T& e, T v, order o, order no, from_here const& at = from_here::current()) noexcept {
        return exchange_if(e, v, o, no, true, at);
    }

    /// For the world: the word as the kernel finds it.
    std::uint64_t bits() const noexcept { return to_bits(value_); }

private:
    static order otherwise(order o) noexcept {
        return o == order::acq_rel ? order::acquire : o == order::release ? order::relaxed : o;
    }
    template <class Change> T modify(Change change, order o, from_here const& at) noexcept {
        if (now() == nullptr) {
            auto const old = value_;
            value_ = change(old);
            return old;
        }
        auto const on_bits = [&](std::uint64_t b) { return to_bits(change(from_bits<T>(b))); };
        auto const done = now()->modify(this, to_bits(value_), on_bits, o, at);
        value_ = from_bits<T>(done.newest);
        return from_bits<T>(done.old);
    }
    bool exchange_if(T& e, T v, order o, order no, bool weak, from_here const& at) noexcept {
        auto expected = to_bits(e);
        execution::exchanged done{expected == to_bits(value_), to_bits(value_)};
        if (now() != nullptr) done = now()->compare_exchange(this, to_bits(value_), expected, to_bits(v), o, no, weak, at);
        else if (done.done) done.newest = to_bits(v);
        else expected = done.newest;
        value_ = from_bits<T>(done.newest);
        if (!done.done) e = from_bits<T>(expected);
        return done.done;
    }
};

/// fence_mode::both: seq_cst fences. fence_mode::sleeper: heavy() is a membarrier, light() nothing at all.
struct fences {
    static constexpr bool invisible = false;
    static void light(fence_mode mode, std::source_location const& at = std::source_location::current()) noexcept {
        if (mode == fence_mode::both && execution::current() != nullptr) execution::current()->fence(at);
    }
    static void heavy(fence_mode mode, std::source_location const& at = std::source_location::current()) noexcept {
        if (execution::current() == nullptr) return;
        if (mode == fence_mode::both) execution::current()->fence(at);
        else execution::current()->membarrier(at);
    }
    static void heavy_here(fence_mode mode, std::source_location const& at = std::source_location::current()) noexcept {
        heavy(mode, at);
    }
    static void drain() noexcept {} // streaming stores are not modelled
};

/// As under ThreadSanitizer: the algorithms take read-modify-writes instead of fences.
struct invisible_fences {
    static constexpr bool invisible = true;
    static void light(fence_mode) noexcept {}
    static void heavy(fence_mode) noexcept {}
    static void heavy_here(fence_mode) noexcept {}
    static void drain() noexcept {}
};

template <class Fences = model::fences> struct basic_atomics {
    template <class T> using atomic = model::atomic<T>;
    using fences = Fences;
    static void pause() noexcept {
        if (execution::current() != nullptr) execution::current()->give_way();
    }
};
using model_atomics = basic_atomics<>;

template <class Atomics = model_atomics> struct basic_world {
    using kind = mpt::kind::world;
    using atomics = Atomics;
    using word = typename Atomics::template atomic<std::uint32_t>;
    static constexpr std::string_view name = "model";
    static constexpr bool shares_process = true;

    nanoseconds now() const noexcept { return execution::current()->now(); }
    void pause() const noexcept { execution::current()->give_way(); }
    void yield() const noexcept { execution::current()->give_way(); }
    void sleep_for(nanoseconds d) const noexcept { execution::current()->sleep_for(d); }
    std::uint64_t self() const noexcept { return execution::current()->self(); }
    std::uint64_t random() const noexcept { return execution::current()->random(); }
    void wait(word& w, std::uint32_t seen, nanoseconds d) const noexcept { execution::current()->wait(&w, w.bits(), seen, d); }
    void wake(word& w, int n) const noexcept { execution::current()->wake(&w, w.bits(), n); }
    void wait_readable(std::span<int const>, nanoseconds d) const noexcept { execution::current()->sleep_for(d); }
};
using model_world = basic_world<>;
static_assert(world_policy<model_world>);

/// Plain bytes that an algorithm reads or writes under the protection of its atomics: the model reports a race.
/// Nothing is copied; call it beside the access itself, with no atomic access between.
inline void plain_read(void const* p, std::size_t n) {
    if (auto* const x = execution::current(); x != nullptr) x->plain(p, n, false);
}
inline void plain_write(void const* p, std::size_t n) {
    if (auto* const x = execution::current(); x != nullptr) x->plain(p, n, true);
}

/// A plain value whose every access is watched.
template <class T> class model_data {
    T value_{};

public:
    model_data() = default;
    explicit model_data(T v) : value_{v} {}
    T get() const {
        plain_read(&value_, sizeof value_);
        return value_;
    }
    void set(T v) {
        plain_write(&value_, sizeof value_);
        value_ = v;
    }
};

/// A claim of the model's author. What a thread claims falsely ends the schedule, and the report says so.
inline void require(bool holds, std::string_view claim) {
    if (!holds) execution::current()->fail("not so: " + std::string{claim});
}

} // namespace mpt::model
