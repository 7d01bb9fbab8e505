// test/c/ranks - C programs as tests: n ranks that are threads of this process, each between MPI_Init and MPI_Finalize.
#pragma once
#include <mpi.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "binding.hpp"

namespace mpt::c::test {

/// Runs fn(rank, size) on n ranks that have not entered MPI. When a rank throws, the others give up, and the exception comes out
/// here. What a program is made of is compiled once, and not for every lambda.
inline void processes(int n, function_ref<void(int, int)> fn) {
    boot::run_local_job(n, [&](boot::membership const& m) {
        binding mine;
        mine.membership = m;
        take_up(mine);
        fn(m.me.value, n);
    });
}

/// The same between MPI_Init and MPI_Finalize. Errors of MPI_COMM_WORLD and MPI_COMM_SELF are returned, not fatal.
inline void ranks(int n, function_ref<void(int, int)> fn) {
    processes(n, [&fn](int me, int size) {
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
        auto& mine = here();
        mine.world->handler = mine.self->handler = ref<errhandler>{mine.errhandlers.get(MPI_ERRORS_RETURN)};
        fn(me, size);
        MPI_Finalize();
    });
}

/// Further threads of a rank: what std::thread is to a C program.
template <class F> std::thread thread_of_rank(F fn) {
    return std::thread{[&b = here(), fn = std::move(fn)] {
        take_up(b);
        fn();
    }};
}

/// Expects a call to fail with a class, and its sentence to hold every one of `parts`.
inline void expect_failure(int code, int wanted, std::initializer_list<char const*> parts) {
    EXPECT_EQ(code, wanted); // codes are classes, but for those of users
    for (auto const* part : parts)
        EXPECT_NE(here().last_error.find(part), std::string::npos) << '"' << part << "\" is not in: " << here().last_error;
}

} // namespace mpt::c::test
