// test/c/ranks - C programs as tests: n ranks that are threads of this process, each between MPI_Init and MPI_Finalize.
#pragma once
#include <mpi.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "binding.hpp"

namespace mpt::c::test {

/// Runs fn(rank, size) on n ranks that have not entered MPI. When a rank throws, the others give up, and the exception comes out
/// here.
template <class F> void processes(int n, F&& fn) {
    auto const members = boot::local_members(n);
    std::mutex lock;
    std::exception_ptr failure;
    auto run = [&](boot::membership const& m) {
        try {
            binding mine;
            mine.membership = m;
            take_up(mine);
            fn(m.me.value, n);
        } catch (...) {
            std::scoped_lock const hold{lock};
            if (!failure) failure = std::current_exception();
            boot::end_local_job(m);
        }
    };
    std::vector<std::thread> all;
    for (auto const& m : members) all.emplace_back(run, std::cref(m));
    for (auto& t : all) t.join();
    if (failure) std::rethrow_exception(failure);
}

/// The same between MPI_Init and MPI_Finalize. Errors of MPI_COMM_WORLD and MPI_COMM_SELF are returned, not fatal.
template <class F> void ranks(int n, F&& fn) {
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
