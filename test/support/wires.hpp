/// test/support/wires - tests over every kind of wire, with ranks that are threads:
///
///        template <class Stack> using mpi_request = over<Stack>;
///        TYPED_TEST_SUITE(mpi_request, wires);
///        TYPED_TEST(mpi_request, is_complete) { this->job(2, [](auto world) { ... }); }
#pragma once
#include <utility>

#include <gtest/gtest.h>
#include <mpt/mpi/local_job.hpp>

namespace mpt::test {

/// Shared memory, and byte streams without any remote memory.
using wires = testing::Types<local_stack, local_stream_stack>;

template <class Stack> struct over : testing::Test {
    using view = typename environment<Stack>::view;
    using request = typename view::request;

    /// job(n, fn), job(n, configuration, fn)
    template <class... Args> static void job(int n, Args&&... args) { local_job<Stack>(n, std::forward<Args>(args)...); }
};

} // namespace mpt::test
