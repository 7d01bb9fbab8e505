/// counted - an object that handles and pending operations share: the last of them frees it.
#pragma once
#include <cstdint>
#include <utility>

#include <mpt/core/atomics.hpp>

namespace mpt::c {

struct counted {
    counted() = default;
    counted(counted const&) = delete;
    virtual ~counted() = default;
    void hold() noexcept { uses_.fetch_add(1, std::memory_order_relaxed); } // order: whoever holds may hold once more
    void let_go() noexcept {
        // A use that finds itself the only one stays it: nobody is there to hold once more.
        if (uses_.load(std::memory_order_acquire) == 1 ||       // sync(c.counted): acquire
            uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) // sync(c.counted): acq_rel
            delete this;
    }

private:
    native_atomics::atomic<std::uint32_t> uses_{1};
};

/// A word of an object that one thread uses, and others look at meanwhile: those who free a communicator look at every request. What they
/// see of requests that are not theirs is old or new, and says that they are not theirs.
template <class T> class shown {
    native_atomics::atomic<T> word_;

public:
    shown(T v = {}) noexcept : word_{v} {}
    shown(shown const& o) noexcept : word_{T{o}} {}
    shown& operator=(shown const& o) noexcept { return *this = T{o}; }
    shown& operator=(T v) noexcept {
        word_.store(v, std::memory_order_release); // sync(c.shown): release
        return *this;
    }
    operator T() const noexcept { return word_.load(std::memory_order_acquire); } // sync(c.shown): acquire
};

/// One use of a counted object. The first one comes with the object: ref::adopt(new T).
template <class T> class ref {
    T* object_ = nullptr;

public:
    ref() = default;
    explicit ref(T& object) noexcept : object_{&object} { object.hold(); }
    static ref adopt(T* object) noexcept {
        ref r;
        r.object_ = object;
        return r;
    }
    ref(ref const& o) noexcept : object_{o.object_} {
        if (object_) object_->hold();
    }
    ref(ref&& o) noexcept : object_{std::exchange(o.object_, nullptr)} {}
    ref& operator=(ref o) noexcept { return std::swap(object_, o.object_), *this; }
    ~ref() {
        if (object_) object_->let_go();
    }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    T* get() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }
    T* operator->() const noexcept { return object_; }
    /// The use goes on without this ref: what a handle table keeps.
    T* release() noexcept { return std::exchange(object_, nullptr); }
};

} // namespace mpt::c
