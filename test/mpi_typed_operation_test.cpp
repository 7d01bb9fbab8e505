#include <numeric>

#include "support/dice.hpp"
#include "support/expect_error.hpp"
#include "support/wires.hpp"
#include <mpt/mpi/planned.hpp>

namespace {
using namespace mpt::test;
using mpt::datatype;
using mpt::element_kind;
using mpt::operation;
using list = std::vector<std::uint32_t>;

template <class Stack> using mpi_typed_operation = over<Stack>;
TYPED_TEST_SUITE(mpi_typed_operation, wires);

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// An element is the function x -> scale * x + shift on numbers that wrap, as two numbers with a hole between them and one behind:
/// following one after the other associates, and does not commute.
constexpr std::size_t words = 4;
datatype map_type() {
    auto const number = datatype::named(element_kind::uint32);
    return datatype::resized(datatype::vector(2, 1, 2, number), 0, 4 * words);
}
constexpr std::uint32_t hole = 0xdead;
struct map {
    std::uint32_t scale, shift;
    friend bool operator==(map const&, map const&) = default;
};
map follow(map const& a, map const& b) { return {a.scale * b.scale, b.scale * a.shift + b.shift}; }
map get(list const& l, std::size_t i) { return {l[words * i], l[words * i + 2]}; }
void follow_all(void const* left, void* right, std::int64_t n) {
    auto const* const a = static_cast<std::uint32_t const*>(left);
    auto* const b = static_cast<std::uint32_t*>(right);
    for (std::size_t i = 0; i < at(n); ++i) {
        auto const c = follow({a[words * i], a[words * i + 2]}, {b[words * i], b[words * i + 2]});
        b[words * i] = c.scale, b[words * i + 2] = c.shift;
    }
}
/// What rank r brings in a run.
map brought(unsigned seed, int r, std::size_t i) {
    auto const x = seed + 977u * static_cast<unsigned>(r) + 31u * static_cast<unsigned>(i);
    return {x | 1u, 7u * x};
}
list maps(unsigned seed, int r, std::size_t n) {
    list l(words * n, hole);
    for (std::size_t i = 0; i < n; ++i) l[words * i] = brought(seed, r, i).scale, l[words * i + 2] = brought(seed, r, i).shift;
    return l;
}
/// Ranks first to last - 1 together.
map together(unsigned seed, int first, int last, std::size_t i) {
    auto m = brought(seed, first, i);
    for (int r = first + 1; r < last; ++r) m = follow(m, brought(seed, r, i));
    return m;
}
/// Elements of `l` from `skip` on of the whole are those of ranks first to last - 1, and holes are as they were.
void expect(char const* what, list const& l, unsigned seed, int first, int last, std::size_t n, std::size_t skip = 0) {
    SCOPED_TRACE(what);
    for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(get(l, i), together(seed, first, last, skip + i)) << "element " << i;
        ASSERT_EQ(l[words * i + 1], hole);
    }
}

TYPED_TEST(mpi_typed_operation, a_function_of_the_program_combines_its_own_datatype_in_rank_order) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int n : {1, 2, 5})
        this->job(n, [n, seed](auto world) {
            dice common{seed};
            int const me = world.rank(), root = n / 2;
            mpt::typed_operation const op{map_type(), follow_all};
            for (auto const count : {std::size_t{0}, std::size_t{common.below(40)}, std::size_t{700}}) {
                auto const c = static_cast<std::int64_t>(count), each = static_cast<std::int64_t>(common.below(9));
                std::vector<std::int64_t> parts(at(n));
                for (auto& p : parts) p = common.below(6);
                auto const before = std::accumulate(parts.begin(), parts.begin() + me, std::int64_t{0});
                auto const total = at(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}));
                unsigned const s = common.seed();
                auto const mine = maps(s, me, count), many = maps(s, me, total), shares = maps(s, me, at(each * n));
                list empty(words * std::max<std::size_t>(count, 10), hole);
                auto r = empty, a = empty, u = empty, b = empty, p = empty, q = empty;
                auto in_r = mine, in_a = mine, in_u = mine, in_b = mine, in_q = shares;
                auto const write = [&](auto const& to) {
                    to.reduce(mine.data(), r.data(), c, op, root), to.reduce(in_r.data(), c, op, root);
                    to.allreduce(mine.data(), a.data(), c, op), to.allreduce(in_a.data(), c, op);
                    to.scan(mine.data(), u.data(), c, op), to.scan(in_u.data(), c, op);
                    to.exscan(mine.data(), b.data(), c, op), to.exscan(in_b.data(), c, op);
                    to.reduce_scatter(many.data(), p.data(), parts, op);
                    to.reduce_scatter_block(shares.data(), q.data(), each, op), to.reduce_scatter_block(in_q.data(), each, op);
                };
                auto const check = [&] {
                    expect("reduce", me == root ? r : mine, s, me == root ? 0 : me, me == root ? n : me + 1, count);
                    expect("reduce in place", in_r, s, me == root ? 0 : me, me == root ? n : me + 1, count);
                    for (auto const* l : {&a, &in_a}) expect("allreduce", *l, s, 0, n, count);
                    for (auto const* l : {&u, &in_u}) expect("scan", *l, s, 0, me + 1, count);
                    for (auto const* l : {&b, &in_b})
                        if (me > 0) expect("exscan", *l, s, 0, me, count);
                    expect("reduce_scatter", p, s, 0, n, at(parts[at(me)]), at(before));
                    for (auto const* l : {&q, &in_q}) expect("reduce_scatter_block", *l, s, 0, n, at(each), at(each * me));
                };
                mpt::done(world, write), check();
                in_r = in_a = in_u = in_b = mine, in_q = shares;
                mpt::begun(world, write).wait(), check();
                auto plan = mpt::planned(world, write);
                for (int run = 0; run < 2; ++run) {
                    std::ranges::copy(mine, in_r.begin()), std::ranges::copy(mine, in_a.begin());
                    std::ranges::copy(mine, in_u.begin()), std::ranges::copy(mine, in_b.begin());
                    std::ranges::copy(shares, in_q.begin());
                    for (auto* l : {&r, &a, &u, &b, &p, &q}) std::ranges::fill(*l, hole);
                    plan.start(), plan.wait(), check();
                }
            }
        });
}

TYPED_TEST(mpi_typed_operation, the_two_sides_of_an_intercommunicator_get_what_the_other_brings) {
    this->job(5, [](auto world) {
        int const side = world.rank() >= 2, first = side == 0 ? 2 : 0, last = side == 0 ? 5 : 2;
        auto const half = world.split(side);
        mpt::intercommunicator const across{half->view(), 0, world, side == 0 ? 2 : 0};
        mpt::rank const root = side == 1 ? 1 : across.rank() == 1 ? mpt::root_here : mpt::root_beside;
        mpt::typed_operation const op{map_type(), follow_all};
        auto const mine = maps(5, world.rank(), 6);
        auto r = list(words * 6, hole), a = r, p = r;
        std::int64_t const each = side == 0 ? 3 : 2; // of 6
        mpt::begun(across, [&](auto const& to) {
            to.reduce(mine.data(), r.data(), 6, op, root);
            to.allreduce(mine.data(), a.data(), 6, op);
            to.reduce_scatter_block(mine.data(), p.data(), each, op);
        }).wait();
        if (root == mpt::root_here) expect("reduce", r, 5, 2, 5, 6);
        expect("allreduce", a, 5, first, last, 6);
        expect("reduce_scatter_block", p, 5, first, last, at(each), at(each) * at(across.rank()));
    });
}

TYPED_TEST(mpi_typed_operation, predefined_operations_combine_basic_datatypes) {
    this->job(3, [](auto world) {
        int const me = world.rank();
        struct place {
            double value;
            int index;
        };
        place const mine[2]{{me == 1 ? 9.0 : 1.0, me}, {4.0, me}};
        place best[2]{};
        mpt::typed_operation const most{datatype::value_index(element_kind::c_double, element_kind::c_int), operation::maxloc};
        mpt::typed_operation const sum{datatype::named(element_kind::c_double), operation::sum};
        double numbers[3]{1.0 + me, 0.5, 0.25};
        mpt::done(world, [&](auto const& to) { to.allreduce(mine, best, 2, most), to.allreduce(numbers, 3, sum); });
        EXPECT_EQ(best[0].index, 1);
        EXPECT_EQ(best[0].value, 9.0);
        EXPECT_EQ(best[1].index, 0) << "the lowest of equals";
        EXPECT_EQ(numbers[0], 6.0);
        EXPECT_EQ(numbers[2], 0.75);
    });
}

/// Equal pieces of one layout: every second number of a matrix' column.
TYPED_TEST(mpi_typed_operation, layouts_are_cut_into_equal_pieces) {
    for (int n : {1, 3, 5})
        this->job(n, [n](auto world) {
            int const me = world.rank(), root = n - 1, each = 3;
            auto const pairs = datatype::resized(datatype::contiguous(2, datatype::named(element_kind::c_int)), 0, 12);
            auto const number = datatype::named(element_kind::c_int);
            auto const value = [](int from, int to, int i) { return 1000 * from + 100 * to + i; };
            std::vector<int> out(at(3 * each * n), -1), in(at(3 * each * n)), one(at(2 * each)), all(at(2 * each * n)),
                again(at(3 * each * n)), turned(at(3 * each * n));
            mpt::typed_source const leaving{out.data(), each * n, pairs}, seen{again.data(), each * n, pairs};
            mpt::typed_source const turning{turned.data(), each * n, pairs};
            mpt::typed_sink const turned_in{turned.data(), each * n, pairs};
            mpt::typed_sink const coming{in.data(), each * n, pairs}, single{one.data(), 2 * each, number};
            mpt::typed_sink const whole{all.data(), 2 * each * n, number}, same{again.data(), each * n, pairs};
            std::span<int const> const own{all.data() + 2 * each * me, at(2 * each)};
            auto const write = [&](auto const& to) {
                to.alltoall(leaving, coming), to.alltoall(leaving, whole), to.alltoall_in_place(turning, turned_in);
                to.scatter(leaving, single, root), to.gather(own, coming, root), to.allgather(own, seen, same);
            };
            for (int form = 0; form < 2; ++form) {
                for (int i = 0; i < 2 * each * n; ++i) out[at(i / 2 * 3 + i % 2)] = value(me, i / (2 * each), i % (2 * each));
                std::ranges::copy(out, turned.begin());
                std::ranges::fill(again, -2);
                std::ranges::fill(in, -2);
                if (form == 0) mpt::done(world, write);
                else mpt::begun(world, write).wait();
                for (int r = 0; r < n; ++r)
                    for (int i = 0; i < 2 * each; ++i) {
                        auto const k = 2 * each * r + i;
                        ASSERT_EQ(all[at(k)], value(r, me, i));
                        ASSERT_EQ(turned[at(k / 2 * 3 + k % 2)], value(r, me, i));
                        ASSERT_EQ(in[at(k / 2 * 3 + k % 2)], me == root ? value(r, r, i) : value(r, me, i));
                        ASSERT_EQ(again[at(k / 2 * 3 + k % 2)], value(r, r, i));
                    }
                for (int i = 0; i < 2 * each; ++i) ASSERT_EQ(one[at(i)], value(root, me, i));
                for (int i = 2; i < 3 * each * n; i += 3) ASSERT_EQ(in[at(i)], -2) << "a hole";
            }
            std::vector<int> places(at(n), -1);
            places[at(me)] = me;
            mpt::done(world, [&](auto const& to) { to.allgather_in_place(places); });
            for (int r = 0; r < n; ++r) EXPECT_EQ(places[at(r)], r);
        });
}

TYPED_TEST(mpi_typed_operation, mistakes_are_sentences) {
    this->job(1, [](auto world) {
        expect_error(mpt::error_class::op, {"sum", "derived datatype", "8 bytes"}, [] {
            mpt::typed_operation const bad{map_type(), operation::sum};
        });
        expect_error(mpt::error_class::op, {"bxor", "MPI_DOUBLE"}, [] {
            mpt::typed_operation const bad{datatype::named(element_kind::c_double), operation::bxor};
        });
        expect_error(mpt::error_class::op, {"replace", "one-sided"}, [] {
            mpt::typed_operation const bad{datatype::named(element_kind::c_int), operation::replace};
        });
        mpt::typed_operation const op{map_type(), follow_all};
        list data(40);
        expect_error(mpt::error_class::arg, {"reduce_scatter", "2"}, [&] {
            mpt::done(world, [&](auto const& to) { to.reduce_scatter(data.data(), data.data(), std::vector{1, 1}, op); });
        });
        mpt::typed_sink const five{data.data(), 5, datatype::named(element_kind::uint32)};
        list const three(3);
        expect_error(mpt::error_class::arg, {"gather", "20", "12"},
                     [&] { mpt::done(world, [&](auto const& to) { to.gather(three, five, 0); }); });
    });
}

TEST(mpi_typed_operation_here, reduce_local_combines_without_messages) {
    auto left = maps(3, 0, 5), right = maps(3, 1, 5);
    mpt::reduce_local(left.data(), right.data(), 5, mpt::typed_operation{map_type(), follow_all});
    expect("reduce_local", right, 3, 0, 2, 5);
    std::vector<int> sums{10, 20};
    mpt::reduce_local(std::vector{1, 2}, sums);
    EXPECT_EQ(sums, (std::vector{11, 22}));
    mpt::reduce_local(std::vector{1, 2}, sums, [](int a, int) { return a; });
    EXPECT_EQ(sums, (std::vector{1, 2}));
    expect_error(mpt::error_class::arg, {"reduce_local", "3", "2"}, [&] { mpt::reduce_local(std::vector{1, 2, 3}, sums); });
}
} // namespace
