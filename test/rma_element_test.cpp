#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include <sys/mman.h>

#include <gtest/gtest.h>
#include <mpt/rma/element.hpp>

#include "support/dice.hpp"

namespace {
using namespace mpt::test;
using mpt::element_kind;
using mpt::memory_run;
using mpt::operation;
using mpt::rma::element_action;
using bytes = std::vector<std::byte>;

std::uint64_t address(std::byte const* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// Elements that a program has there, as C's structs, and as a message carries them.
bytes packed(element_kind k, std::byte const* p, std::size_t n) {
    auto const& f = mpt::facts(k);
    bytes all;
    for (std::size_t i = 0; i < n; ++i, p += f.extent) {
        std::size_t const first = f.is_pair() ? mpt::facts(f.first).size : f.size;
        all.insert(all.end(), p, p + first);
        if (f.is_pair()) all.insert(all.end(), p + f.second_at, p + f.second_at + mpt::facts(f.second).size);
    }
    return all;
}
std::vector<memory_run> runs_of(element_kind k, std::byte const* p, std::size_t n) {
    auto const& f = mpt::facts(k);
    if (f.size == f.extent) return {{address(p), n * f.size}};
    std::vector<memory_run> all;
    for (std::size_t i = 0; i < n; ++i, p += f.extent) {
        all.push_back({address(p), mpt::facts(f.first).size});
        all.push_back({address(p) + f.second_at, mpt::facts(f.second).size});
    }
    return all;
}
/// Small numbers of the kind, so that nothing overflows.
bytes some(element_kind k, std::size_t n, dice& d) {
    auto const& f = mpt::facts(k);
    bytes all(n * f.extent);
    bool const real = f.values == mpt::element_class::real || f.values == mpt::element_class::complex || f.is_pair();
    for (std::size_t i = 0; i < all.size(); i += 4)
        if (real) {
            float const x = static_cast<float>(d.below(100)); // as good as any bits where the kind is another one
            std::memcpy(&all[i], &x, std::min<std::size_t>(4, all.size() - i));
        } else all[i] = std::byte(d.below(4));
    return all;
}

TEST(rma_element, becomes_what_the_operation_says_and_gives_what_it_was) {
    seeds const s{1};
    dice d{s.first};
    for (std::size_t k = 0; k < mpt::element_kinds; ++k)
        for (std::size_t o = 0; o < mpt::operations; ++o) {
            auto const kind = static_cast<element_kind>(k);
            auto const op = static_cast<operation>(o);
            element_action const action{op, kind};
            ASSERT_EQ(action.is_valid(), mpt::find_kernel(op, kind) != nullptr);
            if (!action.is_valid()) continue;
            if (mpt::facts(kind).name.find("LONG_DOUBLE") != std::string_view::npos) continue; // bytes that are nobody's differ
            std::size_t const n = 1 + d.below(d.coin() ? 5 : 150), extent = mpt::facts(kind).extent,
                              shift = d.coin() ? 0 : d.below(16);
            auto const before = some(kind, n, d), given = some(kind, n, d);
            alignas(16) std::byte place[6000]{};
            ASSERT_LE(shift + n * extent, sizeof place);
            std::memcpy(place + shift, before.data(), before.size());
            auto expected = before;
            for (std::size_t i = 0; i < n; ++i) mpt::find_kernel(op, kind)(&given[i * extent], &expected[i * extent], 1);
            auto const operand = packed(kind, given.data(), n);
            bytes old(operand.size());
            mpt::rma::lock_word<> wide;
            mpt::rma::combine(action, runs_of(kind, place + shift, n), op == operation::no_op ? nullptr : operand.data(),
                              d.coin() ? old.data() : (old = packed(kind, before.data(), n), nullptr), wide);
            EXPECT_EQ(packed(kind, place + shift, n), packed(kind, expected.data(), n)) << mpt::facts(kind).name << " op " << o;
            EXPECT_EQ(old, packed(kind, before.data(), n)) << mpt::facts(kind).name << " op " << o;
            EXPECT_TRUE(wide.try_exclusive()) << "the lock is left free";
        }
}

TEST(rma_element, rows_become_the_same_by_who_is_alone_at_them) {
    seeds const s{200};
    for (unsigned seed = s.first; seed != s.first + s.count; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        dice d{seed};
        constexpr std::array kinds{element_kind::c_float, element_kind::c_double, element_kind::int32, element_kind::int64};
        constexpr std::array ops{operation::sum, operation::sum, operation::max, operation::replace};
        element_action const whole{ops[d.below(ops.size())], kinds[d.below(kinds.size())]};
        auto const action = d.below(4) == 0 ? whole.under_lock() : whole;
        auto const size = action.size();
        auto one = some(action.kind(), 4000 / size, d), other = one;
        auto const operand = some(action.kind(), 4000 / size, d);
        std::vector<memory_run> here, there;
        std::size_t bytes_in_all = 0;
        for (std::size_t at = d.coin() ? 0 : d.below(size); at + 20 * size <= one.size(); at += size * (20 + d.below(3))) {
            auto const n = size * (1 + d.below(20)); // around 64 bytes
            here.push_back({address(one.data()) + at, n}), there.push_back({address(other.data()) + at, n});
            bytes_in_all += n;
        }
        bytes old(bytes_in_all), was(bytes_in_all);
        bool const fetches = d.below(3) == 0;
        mpt::rma::lock_word<> wide;
        mpt::rma::combine(action, here, operand.data(), fetches ? old.data() : nullptr, wide);
        mpt::rma::combine_rows(action, there, operand.data(), fetches ? was.data() : nullptr, wide);
        EXPECT_EQ(one, other);
        EXPECT_EQ(old, was);
        EXPECT_TRUE(wide.try_exclusive()) << "the lock is left free";
    }
}

TEST(rma_element, alone_becomes_the_same_by_its_short_way) {
    seeds const s{1};
    dice d{s.first};
    std::size_t taken = 0;
    for (std::size_t k = 0; k < mpt::element_kinds; ++k)
        for (std::size_t o = 0; o < mpt::operations; ++o)
            for (bool fetches : {true, false}) {
                auto const kind = static_cast<element_kind>(k);
                auto const op = static_cast<operation>(o);
                element_action const action{op, kind};
                if (!action.is_valid() || mpt::facts(kind).is_pair()) continue;
                SCOPED_TRACE(testing::Message() << mpt::facts(kind).name << ", operation " << o << ", seed " << s.first);
                auto const n = action.size();
                alignas(16) std::array<std::byte, 32> one{}, other{};
                auto const first = some(kind, 1, d), operand = some(kind, 1, d);
                std::copy(first.begin(), first.end(), one.begin());
                other = one;
                bytes old(n), was(n);
                mpt::rma::lock_word<> wide;
                bool const done = mpt::rma::combine_one(op, kind, one.data(), operand.data(), fetches ? old.data() : nullptr);
                if (!done) {
                    EXPECT_FALSE(mpt::rma::combine_one_locked(op, kind, one.data(), operand.data(), nullptr, wide));
                    EXPECT_EQ(one, other) << "nothing was done";
                    continue;
                }
                ++taken;
                memory_run const run{address(other.data()), n};
                mpt::rma::combine(action, {&run, 1}, operand.data(), was.data(), wide);
                EXPECT_EQ(one, other);
                if (fetches) { EXPECT_EQ(old, was); }
                std::array<std::byte, 32> const before = one;
                EXPECT_FALSE(mpt::rma::combine_one(op, kind, one.data() + 1, operand.data(), nullptr)) << "it is not aligned";
                EXPECT_EQ(one, before);
                for (std::size_t shift : {0u, 1u}) { // under the lock it may lie anywhere
                    std::array<std::byte, 32> locked{}, there{};
                    locked.fill(std::byte{0xa5}), there.fill(std::byte{0xa5});
                    std::ranges::copy(first, locked.data() + shift);
                    std::copy_n(other.data(), n, there.data() + shift);
                    bytes seen(n);
                    EXPECT_TRUE(mpt::rma::combine_one_locked(op, kind, locked.data() + shift,
                                                             op == operation::no_op ? nullptr : operand.data(),
                                                             fetches ? seen.data() : nullptr, wide));
                    EXPECT_EQ(locked, there);
                    if (fetches) { EXPECT_EQ(seen, was); }
                    EXPECT_TRUE(wide.try_exclusive()) << "it is free again";
                    wide.release_exclusive();
                }
            }
    EXPECT_GT(taken, 20u);
}

TEST(rma_element, that_is_fetched_under_the_lock_is_not_written) {
    auto* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    mpt::rma::lock_word<> wide;
    std::int64_t was = 7;
    EXPECT_TRUE(mpt::rma::combine_one_locked(operation::no_op, element_kind::int64, static_cast<std::byte*>(page), nullptr,
                                             reinterpret_cast<std::byte*>(&was), wide));
    EXPECT_EQ(was, 0);
    ::munmap(page, 4096);
}

TEST(rma_element, is_swapped_where_it_is_what_was_expected) {
    for (std::size_t size : {1u, 2u, 4u, 8u, 16u})
        for (std::size_t shift : {0u, 1u}) {
            alignas(16) std::byte place[40]{};
            std::byte* const at = place + shift;
            bytes zero(size), one(size, std::byte{1}), old(size, std::byte{9});
            mpt::rma::lock_word<> wide;
            mpt::rma::compare_and_swap(size, at, one.data(), one.data(), old.data(), wide);
            EXPECT_EQ(old, zero);
            EXPECT_EQ(bytes(at, at + size), zero) << size;
            mpt::rma::compare_and_swap(size, at, zero.data(), one.data(), old.data(), wide);
            EXPECT_EQ(old, zero);
            EXPECT_EQ(bytes(at, at + size), one) << size;
            EXPECT_EQ(at[size], std::byte{0});
        }
}

/// Whatever way each kind takes, no change is lost.
TEST(rma_element, changes_of_several_threads_all_count) {
    constexpr int rounds = 2000, threads = 3;
    struct sum {
        element_kind kind;
        std::size_t shift;
    };
    for (auto const& c :
         {sum{element_kind::int64, 0}, sum{element_kind::int32, 2}, sum{element_kind::c_double, 0}, sum{element_kind::int16, 0},
          sum{element_kind::cxx_double_complex, 0}, sum{element_kind::c_float, 0}}) {
        alignas(16) std::byte place[64]{};
        mpt::rma::lock_word<> wide;
        bytes one(mpt::facts(c.kind).size);
        if (c.kind == element_kind::c_float) {
            float const x = 1;
            std::memcpy(one.data(), &x, 4);
        } else if (mpt::facts(c.kind).values == mpt::element_class::signed_integer) one[0] = std::byte{1};
        else
            for (double const x = 1; std::size_t at : {std::size_t{0}, one.size() - 8}) std::memcpy(&one[at], &x, 8);
        std::vector<std::thread> all;
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&] {
                element_action const a{operation::sum, c.kind};
                memory_run const run{address(place + c.shift), a.size()};
                for (int i = 0; i < rounds; ++i) mpt::rma::combine(a, {&run, 1}, one.data(), nullptr, wide);
            });
        for (auto& t : all) t.join();
        bytes expected(one.size());
        for (int i = 0; i < rounds * threads; ++i) mpt::find_kernel(operation::sum, c.kind)(one.data(), expected.data(), 1);
        EXPECT_EQ(bytes(place + c.shift, place + c.shift + one.size()), expected) << mpt::facts(c.kind).name;
    }
}

/// A row's elements are changed each at once, so single ones may be changed beside it, wherever the row begins.
template <class T> void change_rows_and_single_elements(element_kind kind) {
    constexpr int rounds = 400;
    constexpr std::size_t n = 200;
    std::vector<T> place(n, 0), ones(n, 1);
    mpt::rma::lock_word<> wide;
    element_action const sum{operation::sum, kind};
    auto const add = [&](std::size_t first, std::size_t many) {
        memory_run const run{address(reinterpret_cast<std::byte*>(&place[first])), many * sizeof(T)};
        mpt::rma::combine(sum, {&run, 1}, reinterpret_cast<std::byte const*>(ones.data()), nullptr, wide);
    };
    auto const rows = [&](std::size_t first) {
        for (int i = 0; i < rounds; ++i) add(first, n - first);
    };
    auto const single = [&] {
        for (int i = 0; i < rounds; ++i)
            for (std::size_t at = 1; at < n; ++at) add(at, 1);
    };
    std::thread a{rows, 0}, b{rows, 1}, c{single};
    a.join(), b.join(), c.join();
    EXPECT_EQ(place[0], T(rounds)) << mpt::facts(kind).name;
    EXPECT_EQ(std::vector<T>(place.begin() + 1, place.end()), std::vector<T>(n - 1, T(3 * rounds))) << mpt::facts(kind).name;
}
TEST(rma_element, changes_of_rows_and_of_single_elements_all_count) {
    change_rows_and_single_elements<double>(element_kind::c_double);
    change_rows_and_single_elements<float>(element_kind::c_float);
    change_rows_and_single_elements<std::int64_t>(element_kind::int64);
    change_rows_and_single_elements<std::int32_t>(element_kind::int32);
    change_rows_and_single_elements<std::int16_t>(element_kind::int16);
}

/// What rows of several threads fetch is every value once, of each element.
TEST(rma_element, rows_that_fetch_see_each_value_once) {
    constexpr std::size_t rounds = 300, n = 33, threads = 3;
    std::vector<std::int32_t> place(n, 0), ones(n, 1);
    std::vector<std::vector<std::int32_t>> seen(threads, std::vector<std::int32_t>(rounds * n));
    mpt::rma::lock_word<> wide;
    element_action const sum{operation::sum, element_kind::int32};
    memory_run const run{address(reinterpret_cast<std::byte*>(place.data())), n * 4};
    std::vector<std::thread> all;
    for (auto& mine : seen)
        all.emplace_back([&] {
            for (std::size_t i = 0; i < rounds; ++i)
                mpt::rma::combine(sum, {&run, 1}, reinterpret_cast<std::byte const*>(ones.data()),
                                  reinterpret_cast<std::byte*>(&mine[i * n]), wide);
        });
    for (auto& t : all) t.join();
    for (std::size_t at = 0; at < n; ++at) {
        std::vector<int> times(rounds * threads, 0);
        for (auto const& mine : seen)
            for (std::size_t i = 0; i < rounds; ++i) ++times.at(static_cast<std::size_t>(mine[i * n + at]));
        EXPECT_EQ(times, std::vector<int>(rounds * threads, 1)) << at;
    }
}
} // namespace
