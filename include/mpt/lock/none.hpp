/// lock::none - no lock: for stacks that one thread at a time enters. Every call folds away.
///
///   Reached from C++. In C all levels of threads run on a lock, MPI_THREAD_SINGLE, too: the library is there once for each flavour.
#pragma once
#include <mpt/lock/lock.hpp>

namespace mpt::inline v0::lock {

struct none {
    using kind = mpt::kind::lock;
    static constexpr std::string_view name = "none";
    static constexpr bool process_shared = true;
    static constexpr bool recursive = true;
    static constexpr bool fair = true;

    template <class World> struct type {
        struct node {};
        constexpr explicit type(World = {}, fence_mode = fence_mode::both) noexcept {}
        void acquire(node&) noexcept {}
        bool try_acquire(node&) noexcept { return true; }
        void release(node&) noexcept {}
    };
};
static_assert(lock_policy<none>);

} // namespace mpt::inline v0::lock
