/// test/support/wires - tests over every kind of wire, with ranks that are threads:
///
///        template <class Stack> using mpi_request = over<Stack>;
///        TYPED_TEST_SUITE(mpi_request, wires);
///        TYPED_TEST(mpi_request, is_complete) { this->job(2, [](auto world) { ... }); }
#pragma once
#include <utility>
#include <vector>

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

/// Bytes that tell of which message they are.
inline std::vector<std::byte> numbered(std::size_t n, unsigned seed) {
    std::vector<std::byte> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>(i * 31 + seed);
    return v;
}

/// Of channels of one context, below communicators.
template <class Stack> struct on_channels : over<Stack> {
    using wire = channel<Stack>;
    static constexpr context_id somewhere{1000};

    /// fn(channel, rank) on each of n ranks.
    template <class F> static void on(int n, config::values const& v, F&& fn) {
        on_channels::job(n, v, [&](environment<Stack>& env) {
            fn(wire{env.native().lane_of(somewhere), somewhere}, static_cast<int>(env.rank()));
        });
    }
    template <class F> static void on(int n, F&& fn) { on(n, {}, std::forward<F>(fn)); }
};

} // namespace mpt::test
