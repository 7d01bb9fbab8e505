/// test/support/pes - tests of OpenSHMEM with PEs that are threads, over every kind of wire:
///
///        template <class Stack> using shmem_lock = pes<Stack>;
///        TYPED_TEST(shmem_lock, ...) { this->on(3, [](auto& pe) { ... }); }
///        TYPED_TEST(shmem_lock, ...) { this->on_several([](auto& pe) { ... }); }              // by 1, 2, 3, 4 and 8 PEs
#pragma once
#include <mpt/shmem/environment.hpp>

#include "expect_error.hpp"
#include "wires.hpp"

namespace mpt::test {

template <class Stack> struct pes : over<Stack> {
    using env = shmem::environment<Stack>;
    template <class T> using array = shmem::array<T, Stack>;

    static config::values small() { return config::values{}.set<"MPT_SYMMETRIC_SIZE">("1M"); }
    /// fn(environment) on n PEs.
    template <class F> static void on(int n, config::values const& v, F&& fn) {
        local_job<Stack>(n, v, [&](environment<Stack>& mpi) {
            env pe{mpi.native()};
            fn(pe);
        });
    }
    template <class F> static void on(int n, F&& fn) { on(n, small(), std::forward<F>(fn)); }
    template <class F> static void on_several(config::values const& v, F const& fn) {
        for (int const n : {1, 2, 3, 4, 8})
            on(n, v, [&](env& pe) {
                SCOPED_TRACE(std::to_string(n) + " PEs");
                fn(pe);
            });
    }
    template <class F> static void on_several(F const& fn) { on_several(small(), fn); }
};

} // namespace mpt::test
