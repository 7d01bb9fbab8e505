#include <array>
#include <complex>
#include <string>

#include <gtest/gtest.h>
#include <mpt/mpi/operations.hpp>

namespace {
using mpt::commutes_v;

struct matrix {
    int a, b, c, d;
};
static_assert(commutes_v<std::plus<>, int> && commutes_v<std::plus<int>, double> && commutes_v<std::multiplies<>, float>);
static_assert(commutes_v<std::bit_and<>, unsigned> && commutes_v<std::bit_or<>, long> && commutes_v<std::bit_xor<>, char>);
static_assert(commutes_v<std::logical_and<>, bool> && commutes_v<std::logical_or<>, int>);
static_assert(commutes_v<mpt::min_of, int> && commutes_v<decltype(mpt::max), double> && commutes_v<std::plus<>&, int>);
static_assert(!commutes_v<std::minus<>, int>, "subtraction does not commute");
static_assert(!commutes_v<std::plus<>, matrix>, "what + means for a struct is the struct's");
static_assert(!commutes_v<std::plus<>, std::complex<double>>, "taken not to, unless the user says so");
static_assert(!commutes_v<int (*)(int, int), int>, "nobody knows what a function does");

TEST(mpi_operations, min_and_max_of_two) {
    EXPECT_EQ(mpt::min(3, 2), 2);
    EXPECT_EQ(mpt::max(3, 2), 3);
    EXPECT_EQ(mpt::min(2.5, 2.5), 2.5);
    static_assert(mpt::max(-1, -2) == -1);
}

template <class T, std::size_t N, class Op> std::array<T, N> combined(std::array<T, N> l, std::array<T, N> r, Op op) {
    std::array<T, N> out{};
    mpt::detail::combine<T>(std::as_bytes(std::span{l}), std::as_bytes(std::span{r}), std::as_writable_bytes(std::span{out}),
                            op);
    return out;
}

TEST(mpi_operations, the_left_operand_is_the_left_one) {
    EXPECT_EQ(combined(std::array{10, 20}, std::array{1, 2}, std::minus<>{}), (std::array{9, 18}));
}

TEST(mpi_operations, combines_into_either_operand) {
    std::array l{10, 20, 30}, r{1, 2, 3};
    std::minus<> op;
    mpt::detail::combine<int>(std::as_bytes(std::span{l}), std::as_bytes(std::span{r}), std::as_writable_bytes(std::span{r}),
                              op);
    EXPECT_EQ(r, (std::array{9, 18, 27}));
    mpt::detail::combine<int>(std::as_bytes(std::span{l}), std::as_bytes(std::span{r}), std::as_writable_bytes(std::span{l}),
                              op);
    EXPECT_EQ(l, (std::array{1, 2, 3}));
}

TEST(mpi_operations, bytes_need_no_alignment) {
    alignas(8) std::array<std::byte, 3 * sizeof(double) + 2> memory{};
    double const a = 1.5, b = 2.25;
    std::span const left = std::span{memory}.subspan(1, sizeof a), right = std::span{memory}.subspan(1 + sizeof a, sizeof b);
    std::memcpy(left.data(), &a, sizeof a);
    std::memcpy(right.data(), &b, sizeof b);
    std::plus<> op;
    mpt::detail::combine<double>(left, right, left, op);
    double sum = 0;
    std::memcpy(&sum, left.data(), sizeof sum);
    EXPECT_EQ(sum, 3.75);
}

TEST(mpi_operations, nothing_combined_with_nothing_is_nothing) {
    int calls = 0;
    auto op = [&calls](int, int) { return ++calls; };
    mpt::detail::combine<int>({}, {}, {}, op);
    EXPECT_EQ(calls, 0);
}

TEST(mpi_operations, an_operation_may_keep_state) {
    int calls = 0;
    combined(std::array{1, 2, 3}, std::array{1, 2, 3}, [&calls](int a, int) { return ++calls, a; });
    EXPECT_EQ(calls, 3);
}
} // namespace
