// Chapter 6 of the C interface, data that are combined: predefined operations, those of users, and what is refused.
#include <complex>
#include <limits>
#include <stdexcept>

#include "../support/dice.hpp"
#include "types.hpp"

namespace {

using mpt::datatype;
using mpt::c::test::expect_failure;
using mpt::c::test::ranks;
using mpt::c::test::types;
using mpt::test::dice;

// --- one step of a random program: elements of every rank, and their combination in rank order ---------------------------------

/// What there is to combine: elements of type T, by a rank's elements, in an own place each.
template <class T> struct task {
    MPI_Datatype type;
    MPI_Op op;
    T (*of)(T const& a, T const& b); // a from the lower ranks
    T (*some)(dice&);
};
struct turn {
    int me, size;
    dice& common;
    bool large, in_place;
};

template <class T> std::vector<T> fold(task<T> const& t, std::vector<std::vector<T>> const& all, int first, int last) {
    auto sum = all[static_cast<std::size_t>(first)];
    for (int r = first + 1; r < last; ++r)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = t.of(sum[i], all[static_cast<std::size_t>(r)][i]);
    return sum;
}

#define EITHER(function, ...) (w.large ? function##_c(__VA_ARGS__) : function(__VA_ARGS__))

/// All ranks throw the same elements of all ranks.
template <class T> std::vector<std::vector<T>> elements(task<T> const& t, turn const& w, std::size_t n) {
    std::vector<std::vector<T>> all(static_cast<std::size_t>(w.size), std::vector<T>(n));
    for (auto& mine : all)
        for (auto& x : mine) x = t.some(w.common);
    return all;
}

template <class T> void reduce(task<T> const& t, turn const& w, int n) {
    auto const all = elements(t, w, static_cast<std::size_t>(n));
    auto const root = static_cast<int>(w.common.below(static_cast<unsigned>(w.size)));
    auto const& mine = all[static_cast<std::size_t>(w.me)];
    bool const at_root = w.me == root, in_place = w.in_place && at_root;
    auto result = mine;
    EXPECT_EQ(EITHER(MPI_Reduce, in_place ? MPI_IN_PLACE : mine.data(), at_root ? result.data() : nullptr, n, t.type, t.op,
                     root, MPI_COMM_WORLD),
              MPI_SUCCESS);
    if (at_root) { EXPECT_EQ(result, fold(t, all, 0, w.size)); }
}

template <class T> void up_to_here(task<T> const& t, turn const& w, int n) {
    auto const all = elements(t, w, static_cast<std::size_t>(n));
    auto const& mine = all[static_cast<std::size_t>(w.me)];
    auto const which = w.common.below(3);
    auto result = mine;
    void const* const from = w.in_place ? MPI_IN_PLACE : mine.data();
    auto const world = MPI_COMM_WORLD;
    if (which == 0) {
        EXPECT_EQ(EITHER(MPI_Allreduce, from, result.data(), n, t.type, t.op, world), MPI_SUCCESS);
        EXPECT_EQ(result, fold(t, all, 0, w.size));
    } else if (which == 1) {
        EXPECT_EQ(EITHER(MPI_Scan, from, result.data(), n, t.type, t.op, world), MPI_SUCCESS);
        EXPECT_EQ(result, fold(t, all, 0, w.me + 1));
    } else {
        void* const to = w.me == 0 && !w.in_place ? nullptr : result.data(); // does not count at the first rank
        EXPECT_EQ(EITHER(MPI_Exscan, from, to, n, t.type, t.op, world), MPI_SUCCESS);
        EXPECT_EQ(result, w.me == 0 ? mine : fold(t, all, 0, w.me));
    }
}

template <class T> void reduce_scatter(task<T> const& t, turn const& w, int n) {
    bool const equal = w.common.coin();
    std::vector<int> counts(static_cast<std::size_t>(w.size), n);
    for (auto& c : counts)
        if (!equal) c = w.common.coin() ? 0 : static_cast<int>(w.common.below(static_cast<unsigned>(n + 1)));
    std::vector<MPI_Count> const wide(counts.begin(), counts.end());
    std::size_t total = 0, first = 0;
    for (int r = 0; r < w.size; ++r) {
        if (r == w.me) first = total;
        total += static_cast<std::size_t>(counts[static_cast<std::size_t>(r)]);
    }
    auto const all = elements(t, w, total);
    auto const& mine = all[static_cast<std::size_t>(w.me)];
    auto const own = static_cast<std::size_t>(counts[static_cast<std::size_t>(w.me)]);
    dice other{1}; // nobody's elements
    auto result = w.in_place ? mine : std::vector<T>(own, t.some(other));
    void const* const from = w.in_place ? MPI_IN_PLACE : mine.data();
    void* const to = result.empty() ? nullptr : result.data();
    auto const world = MPI_COMM_WORLD;
    int code;
    if (equal) code = EITHER(MPI_Reduce_scatter_block, from, to, n, t.type, t.op, world);
    else if (w.large) code = MPI_Reduce_scatter_c(from, to, wide.data(), t.type, t.op, world);
    else code = MPI_Reduce_scatter(from, to, counts.data(), t.type, t.op, world);
    EXPECT_EQ(code, MPI_SUCCESS);
    auto const sum = fold(t, all, 0, w.size);
    for (std::size_t i = 0; i < own; ++i) EXPECT_EQ(result[i], sum[first + i]);
}

template <class T> void reduce_here(task<T> const& t, turn const& w, int n) {
    auto const all = elements(t, w, static_cast<std::size_t>(n));
    auto const& in = all.front();
    auto inout = all.back();
    if (w.size == 1) return;
    EXPECT_EQ(EITHER(MPI_Reduce_local, in.data(), inout.data(), n, t.type, t.op), MPI_SUCCESS);
    EXPECT_EQ(inout, fold(t, {in, all.back()}, 0, 2));
}

template <class T> void any_of(task<T> const& t, turn const& w) {
    auto const n = static_cast<int>(w.common.one_of({0, 1, 1, 2, 7, 100, 3000}));
    switch (w.common.below(5)) {
    case 0: return reduce(t, w, n);
    case 1: return reduce_here(t, w, n);
    case 2: return reduce_scatter(t, w, n);
    default: return up_to_here(t, w, n);
    }
}

// --- predefined operations -------------------------------------------------------------------------------------------------------

template <class T> T small_number(dice& d) { return static_cast<T>(1 + d.below(3)); } // sums and products are exact
template <class T> struct with_index {
    T value;
    int index;
    bool operator==(with_index const&) const = default;
};
template <class T> with_index<T> some_pair(dice& d) { return {static_cast<T>(d.below(3)), static_cast<int>(d.below(100))}; }

template <class T> void arithmetic(MPI_Datatype type, turn const& w) {
    auto const some = &small_number<T>;
    switch (w.common.below(4)) {
    case 0: return any_of<T>({type, MPI_SUM, [](T const& a, T const& b) { return static_cast<T>(a + b); }, some}, w);
    case 1: return any_of<T>({type, MPI_PROD, [](T const& a, T const& b) { return static_cast<T>(a * b); }, some}, w);
    case 2: return any_of<T>({type, MPI_MIN, [](T const& a, T const& b) { return std::min(a, b); }, some}, w);
    default: return any_of<T>({type, MPI_MAX, [](T const& a, T const& b) { return std::max(a, b); }, some}, w);
    }
}
template <class T> void bits(MPI_Datatype type, turn const& w) {
    auto const some = &small_number<T>;
    switch (w.common.below(3)) {
    case 0: return any_of<T>({type, MPI_BAND, [](T const& a, T const& b) { return static_cast<T>(a & b); }, some}, w);
    case 1: return any_of<T>({type, MPI_BOR, [](T const& a, T const& b) { return static_cast<T>(a | b); }, some}, w);
    default: return any_of<T>({type, MPI_BXOR, [](T const& a, T const& b) { return static_cast<T>(a ^ b); }, some}, w);
    }
}
template <class T> void truth(MPI_Datatype type, turn const& w) {
    auto const some = [](dice& d) { return static_cast<T>(d.below(2)); };
    switch (w.common.below(3)) {
    case 0: return any_of<T>({type, MPI_LAND, [](T const& a, T const& b) { return static_cast<T>(a && b); }, some}, w);
    case 1: return any_of<T>({type, MPI_LOR, [](T const& a, T const& b) { return static_cast<T>(a || b); }, some}, w);
    default: return any_of<T>({type, MPI_LXOR, [](T const& a, T const& b) { return static_cast<T>(!a != !b); }, some}, w);
    }
}
template <class T> void located(MPI_Datatype type, turn const& w) {
    using pair = with_index<T>;
    auto const least = [](pair const& a, pair const& b) {
        return a.value != b.value ? (a.value < b.value ? a : b) : pair{a.value, std::min(a.index, b.index)};
    };
    auto const greatest = [](pair const& a, pair const& b) {
        return a.value != b.value ? (a.value > b.value ? a : b) : pair{a.value, std::min(a.index, b.index)};
    };
    if (w.common.coin()) return any_of<pair>({type, MPI_MINLOC, least, &some_pair<T>}, w);
    any_of<pair>({type, MPI_MAXLOC, greatest, &some_pair<T>}, w);
}
template <class T> void complex_numbers(MPI_Datatype type, turn const& w) {
    using number = std::complex<T>;
    auto const some = [](dice& d) { return number{static_cast<T>(d.below(3)), static_cast<T>(d.below(3))}; };
    if (w.common.coin())
        return any_of<number>({type, MPI_SUM, [](number const& a, number const& b) { return a + b; }, some}, w);
    any_of<number>({type, MPI_PROD, [](number const& a, number const& b) { return a * b; }, some}, w);
}
template <class T> void integers(MPI_Datatype type, turn const& w) {
    if (w.common.coin()) return arithmetic<T>(type, w);
    if (w.common.coin()) return bits<T>(type, w);
    truth<T>(type, w);
}

void predefined(turn const& w) {
    switch (w.common.below(20)) {
    case 0: return integers<int>(MPI_INT, w);
    case 1: return integers<signed char>(MPI_SIGNED_CHAR, w);
    case 2: return integers<unsigned char>(MPI_UNSIGNED_CHAR, w);
    case 3: return integers<short>(MPI_SHORT, w);
    case 4: return integers<unsigned short>(MPI_UNSIGNED_SHORT, w);
    case 5: return integers<unsigned>(MPI_UNSIGNED, w);
    case 6: return integers<long>(MPI_LONG, w);
    case 7: return integers<unsigned long>(MPI_UNSIGNED_LONG, w);
    case 8: return integers<std::int64_t>(MPI_INT64_T, w);
    case 9: return integers<std::uint16_t>(MPI_UINT16_T, w);
    case 10: return arithmetic<float>(MPI_FLOAT, w);
    case 11: return arithmetic<double>(w.common.coin() ? MPI_DOUBLE : MPI_REAL8, w);
    case 12: return arithmetic<long double>(MPI_LONG_DOUBLE, w);
    case 13: return arithmetic<MPI_Count>(w.common.coin() ? MPI_COUNT : MPI_AINT, w);
    case 14: return bits<unsigned char>(MPI_BYTE, w);
    case 15: return truth<int>(MPI_LOGICAL, w);
    case 16: return complex_numbers<double>(w.common.coin() ? MPI_C_DOUBLE_COMPLEX : MPI_DOUBLE_COMPLEX, w);
    case 17: return located<int>(MPI_2INT, w);
    case 18: return located<double>(MPI_DOUBLE_INT, w); // with a hole
    default: return located<short>(MPI_SHORT_INT, w);
    }
}

// --- an operation that does not commute: products of 2 x 2 matrices, side by side, or with holes and an absent beginning --------

constexpr unsigned prime = 65521;
struct matrix {
    unsigned a, b, c, d;
    bool operator==(matrix const&) const = default;
};
matrix product(matrix const& x, matrix const& y) {
    return {(x.a * y.a + x.b * y.c) % prime, (x.a * y.b + x.b * y.d) % prime, (x.c * y.a + x.d * y.c) % prime,
            (x.c * y.b + x.d * y.d) % prime};
}
matrix some_matrix(dice& d) { return {d.below(100), d.below(100), d.below(100), d.below(100)}; }

/// The same numbers with holes: 3 unsigned in front that are nobody's, and one behind each number.
struct spread_matrix {
    unsigned all[12]{};
    bool operator==(spread_matrix const&) const = default;
};
spread_matrix spread_out(matrix const& m) { return {{1, 2, 3, m.a, 4, m.b, 4, m.c, 4, m.d, 4, 5}}; }
matrix together(spread_matrix const& s) { return {s.all[3], s.all[5], s.all[7], s.all[9]}; }
spread_matrix spread_product(spread_matrix const& x, spread_matrix const& y) {
    return spread_out(product(together(x), together(y)));
}
spread_matrix some_spread(dice& d) { return spread_out(some_matrix(d)); }

datatype matrix_type() { return datatype::contiguous(4, datatype::named(mpt::element_kind::c_unsigned)); }
datatype spread_type() {
    auto const one = datatype::named(mpt::element_kind::c_unsigned);
    return datatype::resized(datatype::indexed_block(1, std::vector<std::int64_t>{3, 5, 7, 9}, one), 0, sizeof(spread_matrix));
}

template <class T> void multiply(void* in, void* inout, MPI_Count n, T (*f)(T const&, T const&)) {
    for (MPI_Count i = 0; i < n; ++i) static_cast<T*>(inout)[i] = f(static_cast<T*>(in)[i], static_cast<T*>(inout)[i]);
}
void multiply_any(void* in, void* inout, MPI_Count n, MPI_Datatype type) {
    auto const* const t = mpt::c::here().datatypes.find_handle(type);
    if (!t) return;
    if (t->type.extent() == sizeof(matrix)) return multiply<matrix>(in, inout, n, product);
    for (MPI_Count i = 0; i < n; ++i) { // holes of the library's buffers are nobody's
        auto const* const x = static_cast<spread_matrix*>(in) + i;
        auto* const y = static_cast<spread_matrix*>(inout) + i;
        auto const p = spread_product(*x, *y);
        for (int k = 3; k < 11; k += 2) y->all[k] = p.all[k];
    }
}
void multiply_small(void* in, void* inout, int* n, MPI_Datatype* type) { multiply_any(in, inout, *n, *type); }
void multiply_large(void* in, void* inout, MPI_Count* n, MPI_Datatype* type) { multiply_any(in, inout, *n, *type); }

template <class Act> void random_programs(unsigned jobs, Act act) {
    mpt::test::seeds const seeds{jobs};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        ranks(1 + static_cast<int>(seed % 5), [&](int me, int size) { act(me, size, seed); });
        if (testing::Test::HasFailure()) ADD_FAILURE() << "replay with MPT_SEED=" << seed;
    }
}

TEST(COperations, PredefinedOnesCombineTheirTypes) {
    random_programs(24, [](int me, int size, unsigned seed) {
        dice common{seed}, own{seed + 7919u * static_cast<unsigned>(me + 1)};
        for (int i = 0; i < 60; ++i) {
            bool const in_place = common.coin();
            predefined({me, size, common, own.coin(), in_place});
        }
    });
}

TEST(COperations, UsersCombineInRankOrderWhateverTheLayout) {
    random_programs(24, [](int me, int size, unsigned seed) {
        dice common{seed}, own{seed + 7919u * static_cast<unsigned>(me + 1)};
        types made;
        auto const flat = made(matrix_type()), holes = made(spread_type());
        MPI_Op small = MPI_OP_NULL, large = MPI_OP_NULL;
        EXPECT_EQ(MPI_Op_create(multiply_small, 0, &small), MPI_SUCCESS);
        EXPECT_EQ(MPI_Op_create_c(multiply_large, 0, &large), MPI_SUCCESS);
        for (int i = 0; i < 40; ++i) {
            bool const in_place = common.coin();
            turn const w{me, size, common, own.coin(), in_place};
            auto const op = own.coin() ? small : large;
            if (common.coin()) any_of<matrix>({flat, op, product, some_matrix}, w);
            else any_of<spread_matrix>({holes, op, spread_product, some_spread}, w);
        }
        EXPECT_EQ(MPI_Op_free(&small), MPI_SUCCESS);
        EXPECT_EQ(MPI_Op_free(&large), MPI_SUCCESS);
        EXPECT_EQ(small, MPI_OP_NULL);
    });
}

TEST(COperations, AFunctionWithShortCountsGetsManyElementsInPieces) {
    ranks(1, [](int, int) {
        static std::vector<int> lengths;
        lengths.clear();
        MPI_Op op = MPI_OP_NULL;
        MPI_Op_create([](void*, void*, int* n, MPI_Datatype*) { lengths.push_back(*n); }, 1, &op);
        types made;
        auto const in_one_place = made(datatype::resized(datatype::named(mpt::element_kind::c_int), 0, 0));
        int a = 1, b = 2;
        constexpr int most = std::numeric_limits<int>::max();
        EXPECT_EQ(MPI_Reduce_local_c(&a, &b, MPI_Count{2} * most + 5, in_one_place, op), MPI_SUCCESS);
        EXPECT_EQ(lengths, (std::vector<int>{most, most, 5}));
        MPI_Op_free(&op);
    });
}

TEST(COperations, DataAtAbsoluteAddressesAreCombined) {
    ranks(3, [](int me, int) {
        std::vector<unsigned> mine{static_cast<unsigned>(me + 1), 1, 0, 1}, all(4);
        types made;
        auto const at = [&](std::vector<unsigned> const& v) {
            return made(datatype::hindexed(std::vector<std::int64_t>{4},
                                           std::vector<std::int64_t>{reinterpret_cast<std::intptr_t>(v.data())},
                                           datatype::named(mpt::element_kind::c_unsigned)));
        };
        MPI_Op op = MPI_OP_NULL;
        MPI_Op_create(
            [](void* in, void* inout, int*, MPI_Datatype* t) {
                auto const from = mpt::c::here().datatypes.get(*t).type.true_lower_bound();
                // MPI_BOTTOM is null, from which C++ counts no bytes: as numbers.
                auto const moved = [from](void* p) {
                    // NOLINTNEXTLINE(performance-no-int-to-ptr)
                    return reinterpret_cast<char*>(reinterpret_cast<std::intptr_t>(p) + from);
                };
                multiply<matrix>(moved(in), moved(inout), 1, product);
            },
            0, &op);
        all = mine;
        EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, at(all), op, MPI_COMM_WORLD), MPI_SUCCESS);
        auto const expected = product(product({1, 1, 0, 1}, {2, 1, 0, 1}), {3, 1, 0, 1});
        EXPECT_EQ((matrix{all[0], all[1], all[2], all[3]}), expected);
        MPI_Op_free(&op);
    });
}

TEST(COperations, WhetherTheyCommuteIsKnown) {
    ranks(1, [](int, int) {
        int commutes = -1;
        EXPECT_EQ(MPI_Op_commutative(MPI_MAXLOC, &commutes), MPI_SUCCESS);
        EXPECT_EQ(commutes, 1);
        MPI_Op_commutative(MPI_REPLACE, &commutes);
        EXPECT_EQ(commutes, 0);
        for (int said : {0, 1, 5}) {
            MPI_Op op = MPI_OP_NULL;
            MPI_Op_create(multiply_small, said, &op);
            EXPECT_EQ(MPI_Op_commutative(op, &commutes), MPI_SUCCESS);
            EXPECT_EQ(commutes, said != 0);
            MPI_Op_free(&op);
        }
    });
}

TEST(COperations, AFunctionMayFreeWhatItWorksFor) {
    ranks(2, [](int me, int) {
        static MPI_Op ops[2];
        MPI_Op_create(
            [](void* in, void* inout, int*, MPI_Datatype* t) {
                int rank = 0;
                MPI_Comm_rank(MPI_COMM_WORLD, &rank);
                if (ops[rank] != MPI_OP_NULL) MPI_Op_free(&ops[rank]);
                auto const handle = reinterpret_cast<std::uintptr_t>(*t);
                mpt::c::here().datatypes.remove(handle)->let_go();
                *static_cast<int*>(inout) += *static_cast<int*>(in);
            },
            0, &ops[me]);
        types made;
        auto const type = made(datatype::contiguous(1, datatype::named(mpt::element_kind::c_int)));
        int const mine = me + 1;
        int all = 0;
        EXPECT_EQ(MPI_Allreduce(&mine, &all, 1, type, ops[me], MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(all, 3);
    });
}

/// Asks for what it needs to know of its elements by their handle, as the standard has it.
void add_where_it_lies(void* in, void* inout, int* n, MPI_Datatype* type) {
    MPI_Aint lower = 0, extent = 0;
    int size = 0;
    EXPECT_EQ(MPI_Type_get_extent(*type, &lower, &extent), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_size(*type, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 4);
    for (int i = 0; i < *n; ++i)
        *reinterpret_cast<int*>(static_cast<char*>(inout) + i * extent) +=
            *reinterpret_cast<int*>(static_cast<char*>(in) + i * extent);
}

TEST(COperations, AFunctionGetsALivingDatatypeWhenTheProgramHasFreedItsOwn) {
    ranks(3, [](int, int) {
        MPI_Datatype sparse = MPI_DATATYPE_NULL;
        MPI_Op add = MPI_OP_NULL;
        MPI_Request r = MPI_REQUEST_NULL;
        int const mine[6] = {1, 0, 2, 0, 3, 0};
        int all[6] = {};
        MPI_Type_create_resized(MPI_INT, 0, 8, &sparse);
        MPI_Type_commit(&sparse);
        MPI_Op_create(add_where_it_lies, 1, &add);
        EXPECT_EQ(MPI_Iallreduce(mine, all, 3, sparse, add, MPI_COMM_WORLD, &r), MPI_SUCCESS);
        MPI_Type_free(&sparse);
        MPI_Op_free(&add);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(all[2 * i], 3 * (i + 1));
    });
}

TEST(COperations, AFunctionMayThrow) {
    ranks(2, [](int me, int) {
        MPI_Op op = MPI_OP_NULL;
        MPI_Op_create([](void*, void*, int*, MPI_Datatype*) { throw std::runtime_error{"no"}; }, 0, &op);
        int const mine = 1;
        int all = 0;
        if (me == 0) EXPECT_THROW(MPI_Reduce(&mine, &all, 1, MPI_INT, op, 0, MPI_COMM_WORLD), std::runtime_error);
        else EXPECT_EQ(MPI_Reduce(&mine, &all, 1, MPI_INT, op, 0, MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_THROW(MPI_Allreduce(&mine, &all, 1, MPI_INT, op, MPI_COMM_WORLD), std::runtime_error);
        EXPECT_EQ(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(all, 2);
        MPI_Op_free(&op);
    });
}

TEST(COperations, WhatIsNotDefinedIsRefused) {
    ranks(2, [](int, int) {
        double x[4] = {}, y[4] = {};
        int const n[2] = {1, 1};
        auto const world = MPI_COMM_WORLD;
        expect_failure(MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_BAND, world), MPI_ERR_OP,
                       {"MPI_BAND is not defined on MPI_DOUBLE"});
        expect_failure(MPI_Allreduce(x, y, 0, MPI_WCHAR, MPI_SUM, world), MPI_ERR_OP, {"MPI_SUM is not defined on MPI_WCHAR"});
        expect_failure(MPI_Reduce(x, y, 1, MPI_INT, MPI_MINLOC, 0, world), MPI_ERR_OP, {"MPI_MINLOC", "MPI_INT"});
        expect_failure(MPI_Scan(x, y, 1, MPI_2INT, MPI_SUM, world), MPI_ERR_OP, {"MPI_SUM", "MPI_2INT"});
        expect_failure(MPI_Exscan(x, y, 1, MPI_INT, MPI_REPLACE, world), MPI_ERR_OP, {"MPI_REPLACE", "one-sided"});
        expect_failure(MPI_Reduce_local(x, y, 1, MPI_INT, MPI_NO_OP), MPI_ERR_OP, {"MPI_NO_OP", "one-sided"});
        types made;
        auto const three = made(datatype::contiguous(3, datatype::named(mpt::element_kind::c_double)));
        expect_failure(MPI_Reduce_scatter(x, y, n, three, MPI_MAX, world), MPI_ERR_OP, {"MPI_MAX", "a derived datatype"});
        expect_failure(MPI_Reduce_scatter_block(x, y, 1, MPI_DOUBLE, MPI_OP_NULL, world), MPI_ERR_OP, {"op is MPI_OP_NULL"});
        MPI_Op sum = MPI_SUM, gone = MPI_OP_NULL;
        expect_failure(MPI_Op_free(&sum), MPI_ERR_OP, {"MPI_SUM", "predefined"});
        EXPECT_EQ(sum, MPI_SUM);
        expect_failure(MPI_Op_create(nullptr, 0, &gone), MPI_ERR_ARG, {"user_fn is a null pointer"});
        MPI_Op_create(multiply_small, 0, &gone);
        auto const copy = gone;
        MPI_Op_free(&gone);
        expect_failure(MPI_Allreduce(x, y, 1, MPI_DOUBLE, copy, world), MPI_ERR_OP, {"no operation, or one that was freed"});
        EXPECT_EQ(MPI_Barrier(world), MPI_SUCCESS);
    });
}

TEST(COperations, BuffersAndTypesAreChecked) {
    ranks(2, [](int me, int) {
        int x[4] = {}, y[4] = {};
        int const n[2] = {1, 1};
        auto const world = MPI_COMM_WORLD;
        expect_failure(MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, {"same memory", "MPI_IN_PLACE"});
        expect_failure(MPI_Reduce(x, x, 1, MPI_INT, MPI_SUM, me, world), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Scan(x, x, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Exscan(x, x, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Reduce_scatter(x, x, n, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Reduce_scatter_block(x, x, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, {"same memory"});
        expect_failure(MPI_Reduce_local(x, x, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, {"inbuf and inoutbuf"});
        expect_failure(MPI_Reduce_local(MPI_IN_PLACE, x, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, {"inbuf is MPI_IN_PLACE"});
        expect_failure(MPI_Allreduce(x, y, -1, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, {"count is -1"});
        expect_failure(MPI_Allreduce(nullptr, y, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, {"sendbuf is a null pointer"});
        expect_failure(MPI_Reduce_scatter(MPI_IN_PLACE, nullptr, n, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER,
                       {"recvbuf is a null"});
        MPI_Op op = MPI_OP_NULL;
        MPI_Op_create(multiply_small, 0, &op);
        types made;
        auto const raw = made(matrix_type(), false);
        expect_failure(MPI_Allreduce(MPI_IN_PLACE, y, 1, raw, op, world), MPI_ERR_TYPE, {"datatype is not committed"});
        MPI_Op_free(&op);
        EXPECT_EQ(MPI_Barrier(world), MPI_SUCCESS);
    });
}

} // namespace
