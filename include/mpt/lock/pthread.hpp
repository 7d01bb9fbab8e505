/// lock::pthread - the system's recursive mutex: what every other lock is measured against.
///
///   Order   the mutex's own.    Cost  two read-modify-writes and two calls, where it is free.
///   Memory  process-shared: it may lie in memory that several processes map; made once, by one of them.
///   Limit   not fair; for worlds whose ranks are threads or processes: to the system all fibres of a thread are one owner.
///   Tests   test/lock_pthread_test.cpp (conformance)
#pragma once
#include <pthread.h>

#include <mpt/core/error.hpp>
#include <mpt/lock/lock.hpp>

namespace mpt::inline v0::lock {

struct pthread {
    using kind = mpt::kind::lock;
    static constexpr std::string_view name = "pthread";
    static constexpr bool process_shared = true;
    static constexpr bool recursive = true;
    static constexpr bool fair = false;

    template <class World> class type {
        ::pthread_mutex_t mutex_;

    public:
        struct node {};

        /// Throws error{errc::system} where the system has no recursive process-shared mutex, or no memory for one.
        explicit type(World = {}, fence_mode = fence_mode::both) {
            ::pthread_mutexattr_t a;
            require(::pthread_mutexattr_init(&a));
            int failed = ::pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
            if (failed == 0) failed = ::pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
            if (failed == 0) failed = ::pthread_mutex_init(&mutex_, &a);
            ::pthread_mutexattr_destroy(&a);
            require(failed);
        }
        ~type() { ::pthread_mutex_destroy(&mutex_); }
        type(type const&) = delete;
        type& operator=(type const&) = delete;

        void acquire(node&) noexcept { ::pthread_mutex_lock(&mutex_); } // fails only at 2^31 nested acquires
        bool try_acquire(node&) noexcept { return ::pthread_mutex_trylock(&mutex_) == 0; }
        void release(node&) noexcept { ::pthread_mutex_unlock(&mutex_); }

    private:
        static void require(int failed) {
            if (failed != 0) throw error{errc::system, "mpt: the system refuses a recursive process-shared mutex.", failed};
        }
    };
};
static_assert(lock_policy<pthread>);

} // namespace mpt::inline v0::lock
