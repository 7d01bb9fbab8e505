#include <algorithm>
#include <atomic>
#include <complex>
#include <cstring>

#include "support/dice.hpp"
#include "support/pes.hpp"

namespace {
using namespace mpt::test;
using namespace mpt::shmem;
using mpt::element_kind;
using mpt::operation;
using bytes = std::vector<std::uint8_t>;

/// What PE p brings to a call: every PE can tell.
bytes data_of(unsigned seed, int p, std::size_t n) {
    dice d{seed * 31 + static_cast<unsigned>(p)};
    bytes b(n);
    for (auto& x : b) x = static_cast<std::uint8_t>(d.below(256));
    return b;
}
bytes part(bytes const& b, std::size_t from, std::size_t n) {
    return {b.begin() + static_cast<long>(from), b.begin() + static_cast<long>(from + n)};
}
void append(bytes& to, bytes const& more) { to.insert(to.end(), more.begin(), more.end()); }

/// One call of each sort with random sizes, against what the sources say.
template <class Team> void random_calls(Team& t, unsigned seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    dice d{seed};
    int const n = t.size(), me = t.me();
    auto const count = static_cast<std::size_t>(n);
    std::size_t const size = d.coin() ? d.below(40) : d.below(5000);
    {
        int const root = static_cast<int>(d.below(static_cast<unsigned>(n)));
        bool const is_set = d.coin();
        auto const mine = data_of(seed, me, size);
        bytes into(size, 7);
        broadcast(t, into.data(), mine.data(), size, root, is_set);
        EXPECT_EQ(into, is_set && me == root ? bytes(size, 7) : data_of(seed, root, size));
        EXPECT_EQ(mine, data_of(seed, me, size));
    }
    {
        bytes into(size * count), want;
        fcollect(t, into.data(), data_of(seed, me, size).data(), size);
        for (int p = 0; p < n; ++p) append(want, data_of(seed, p, size));
        EXPECT_EQ(into, want);
    }
    {
        auto const size_of = [&](int p) { return (size * static_cast<std::size_t>(p + 1)) % 700; };
        bytes want;
        for (int p = 0; p < n; ++p) append(want, data_of(seed, p, size_of(p)));
        bytes into(want.size());
        collect(t, into.data(), data_of(seed, me, size_of(me)).data(), size_of(me));
        EXPECT_EQ(into, want);
    }
    {
        bytes into(size * count), want;
        alltoall(t, into.data(), data_of(seed, me, size * count).data(), size);
        for (int p = 0; p < n; ++p)
            append(want, part(data_of(seed, p, size * count), size * static_cast<std::size_t>(me), size));
        EXPECT_EQ(into, want);
    }
    {
        std::size_t const width = 1u << d.below(4), each = d.below(6), there = 1 + d.below(3), here = 1 + d.below(3);
        bytes into(each * there * width * count, 7), want = into;
        auto const source = [&](int p) { return data_of(seed, p, each * here * width * count); };
        auto const w = static_cast<std::size_t>(me);
        for (std::size_t p = 0; p < count; ++p)
            for (std::size_t i = 0; i < each; ++i)
                std::copy_n(source(static_cast<int>(p)).begin() + static_cast<long>((w * each + i) * here * width), width,
                            want.begin() + static_cast<long>((p * each + i) * there * width));
        alltoalls(t, into.data(), source(me).data(), static_cast<std::ptrdiff_t>(there), static_cast<std::ptrdiff_t>(here),
                  each, width);
        EXPECT_EQ(into, want);
    }
    {
        auto const size_of = [&](int from, int to) { return (size + static_cast<std::size_t>(3 * from + to)) % 50; };
        std::vector<std::size_t> in_at(count), in(count), out_at(count), out(count);
        std::size_t in_all = 0, out_all = 0;
        for (int p = 0; p < n; ++p) {
            auto const i = static_cast<std::size_t>(p);
            in_at[i] = in_all + i, in[i] = size_of(p, me), in_all += in[i]; // a gap of a byte each
            out_at[i] = 50 * i, out[i] = size_of(me, p), out_all += out[i];
        }
        auto const source = [&](int p) { return data_of(seed, p, 50 * count); };
        bytes into(in_all + count, 7), want = into, packed(in_all), tight;
        for (std::size_t p = 0; p < count; ++p) {
            auto const piece = part(source(static_cast<int>(p)), 50 * static_cast<std::size_t>(me), in[p]);
            std::ranges::copy(piece, want.begin() + static_cast<long>(in_at[p]));
            append(tight, piece);
        }
        std::vector<std::size_t> came(count, 99);
        alltoallv(t, into.data(), in_at.data(), came.data(), source(me).data(), out_at.data(), out.data());
        EXPECT_EQ(into, want);
        EXPECT_EQ(came, in);
        EXPECT_EQ(alltoallv_packed(t, packed.data(), in_all, source(me).data(), out_at.data(), out.data()), in_all);
        EXPECT_EQ(packed, tight);
    }
}

template <class T> T value_of(unsigned seed, int p, std::size_t i) {
    auto const x = (seed + 17u * static_cast<unsigned>(p) + 5u * static_cast<unsigned>(i)) % 7u;
    return static_cast<T>(x + 1u);
}
/// The combination of PEs 0 to last, with f.
template <class T, class F> T folded(unsigned seed, int last, std::size_t i, F f) {
    T x = value_of<T>(seed, 0, i);
    for (int p = 1; p <= last; ++p) x = static_cast<T>(f(x, value_of<T>(seed, p, i)));
    return x;
}
template <class T, class Team, class F>
void one_reduction(Team& t, unsigned seed, std::size_t n, operation op, element_kind kind, F f) {
    std::vector<T> mine(n), into(n);
    for (std::size_t i = 0; i < n; ++i) mine[i] = value_of<T>(seed, t.me(), i);
    reduce(t, into.data(), mine.data(), n, op, kind);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(into[i], folded<T>(seed, t.size() - 1, i, f));
    reduce(t, mine.data(), mine.data(), n, op, kind);
    EXPECT_EQ(mine, into);
}
template <class T, class Team> void one_scan(Team& t, unsigned seed, std::size_t n, element_kind kind) {
    std::vector<T> mine(n), up_to(n), before(n, T{99});
    for (std::size_t i = 0; i < n; ++i) mine[i] = value_of<T>(seed, t.me(), i);
    scan(t, up_to.data(), mine.data(), n, scan_kind::inclusive, kind);
    scan(t, before.data(), mine.data(), n, scan_kind::exclusive, kind);
    for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(up_to[i], folded<T>(seed, t.me(), i, std::plus{}));
        ASSERT_EQ(before[i], t.me() == 0 ? T{} : folded<T>(seed, t.me() - 1, i, std::plus{}));
    }
    scan(t, mine.data(), mine.data(), n, scan_kind::exclusive, kind);
    EXPECT_EQ(mine, before);
}
void reductions(auto& t, unsigned seed) {
    auto const n = seed % 3 == 0 ? 9000 : 1 + seed % 50;
    one_reduction<long>(t, seed, n, operation::sum, element_kind::c_long, std::plus{});
    one_reduction<unsigned char>(t, seed, n, operation::bxor, element_kind::c_unsigned_char, std::bit_xor{});
    one_reduction<int>(t, seed, n, operation::band, element_kind::c_int, std::bit_and{});
    one_reduction<short>(t, seed, n, operation::max, element_kind::c_short, [](auto a, auto b) { return std::max(a, b); });
    one_reduction<double>(t, seed, n, operation::min, element_kind::c_double, [](auto a, auto b) { return std::min(a, b); });
    one_reduction<long double>(t, seed, n, operation::sum, element_kind::c_long_double, std::plus{});
    one_reduction<std::complex<float>>(t, seed, n, operation::prod, element_kind::c_float_complex, std::multiplies{});
    one_scan<long>(t, seed, n, element_kind::c_long);
    one_scan<float>(t, seed, n, element_kind::c_float);
}

template <class Stack> using shmem_collectives = pes<Stack>;
TYPED_TEST_SUITE(shmem_collectives, wires);

TYPED_TEST(shmem_collectives, move_what_the_sources_say) {
    seeds const all{8};
    this->on_several([&](auto& pe) {
        for (unsigned i = 0; i < all.count; ++i) random_calls(pe.world(), all.first + i);
    });
}
TYPED_TEST(shmem_collectives, combine_as_a_loop_over_the_pes_does) {
    this->on_several([](auto& pe) {
        for (unsigned seed = 0; seed < 7; ++seed) reductions(pe.world(), seed);
    });
}
TYPED_TEST(shmem_collectives, of_teams_and_of_active_sets_do_not_meet) {
    this->on_several([](auto& pe) {
        int const n = pe.size(), middle = n / 2;
        auto const made = pe.world().split(pe.me() < middle ? 0 : 1, pe.me());
        auto const& half = *made;
        EXPECT_EQ(half->size(), pe.me() < middle ? middle : n - middle);
        int const start = n > 1 ? pe.me() % 2 : 0, in_set = n > 1 ? (n + 1 - start) / 2 : 1;
        auto& set = pe.job().active_set(start, 1, in_set);
        EXPECT_EQ(&set, &pe.job().active_set(start, 1, in_set));
        EXPECT_EQ(set.size(), in_set);
        for (unsigned seed = 0; seed < 6; ++seed) {
            random_calls(*half, seed);
            random_calls(set, seed + 100);
            reductions(set, seed);
        }
        expect_error(mpt::error_class::arg, {"PE_start 0", "PE_size 9", "no active set"},
                     [&] { pe.job().active_set(0, 0, 9); });
    });
}
struct point {
    short x;
    double y;
    bool operator==(point const&) const = default;
};
/// Ranges of any kind and elements of any type: what comes is what the calls on bytes give.
TYPED_TEST(shmem_collectives, ranges_say_how_much_of_what) {
    for (int const n : {1, 2, 3, 4, 8})
        this->on(n, [&](auto& pe) {
            auto& t = pe.world();
            int const me = pe.me();
            auto const count = static_cast<std::size_t>(n);
            auto const of = [](int p, int i) { return point{static_cast<short>(10 * p + i), p + i / 8.0}; };
            std::array const mine{of(me, 0), of(me, 1)};
            std::vector<point> into(2 * count), want;
            broadcast(t, into, mine, n - 1);
            EXPECT_EQ(into[0], of(n - 1, 0));
            EXPECT_EQ(into[1], of(n - 1, 1));
            fcollect(t, into, mine);
            for (int p = 0; p < n; ++p) want.insert(want.end(), {of(p, 0), of(p, 1)});
            EXPECT_EQ(into, want);
            typename pes<TypeParam>::template array<point> heap{pe, 2 * count};
            EXPECT_EQ(collect(t, heap, std::span{mine}.first(me == 0 ? 1 : 2)), 2 * count - 1);
            EXPECT_EQ(heap[0], of(0, 0));
            EXPECT_TRUE(std::equal(want.begin() + 2, want.end(), heap.begin() + 1));
            std::vector<point> pieces;
            for (int p = 0; p < n; ++p) pieces.insert(pieces.end(), {of(me, 2 * p), of(me, 2 * p + 1)});
            pe.barrier_all();
            alltoall(t, heap, pieces);
            for (int p = 0; p < n; ++p) EXPECT_EQ(heap[static_cast<std::size_t>(2 * p + 1)], of(p, 2 * me + 1));
            std::vector<point> apart(4 * count);
            alltoalls(t, apart, pieces, 2, 1, 2);
            for (int p = 0; p < n; ++p) {
                EXPECT_EQ(apart[static_cast<std::size_t>(4 * p + 2)], of(p, 2 * me + 1));
                EXPECT_EQ(apart[static_cast<std::size_t>(4 * p + 3)], point{});
            }
            std::vector<int> const numbers{me + 1, -me};
            std::array<int, 2> sums{};
            reduce(t, sums, numbers, std::plus{});
            EXPECT_EQ(sums, (std::array{n * (n + 1) / 2, -n * (n - 1) / 2}));
            reduce(t, sums, numbers, mpt::max);
            EXPECT_EQ(sums, (std::array{n, 0}));
            scan(t, sums, numbers, scan_kind::exclusive);
            EXPECT_EQ(sums, (std::array{me * (me + 1) / 2, -me * (me - 1) / 2}));
            // The first of the left and the last of the right: in the order of the PEs. In place.
            std::array ends{point{static_cast<short>(me), me / 4.0}};
            reduce(t, ends, ends, [](point a, point b) { return point{a.x, b.y}; });
            EXPECT_EQ(ends[0], (point{0, (n - 1) / 4.0}));
            pe.barrier_all();
        });
}
TYPED_TEST(shmem_collectives, ranges_that_are_too_short_are_refused_before_anything_moves) {
    this->on(2, [&](auto& pe) {
        auto& t = pe.world();
        std::vector<int> const two{1, 2}, three{1, 2, 3};
        std::vector<int> one(1), into(3);
        using enum mpt::error_class;
        expect_error(arg, {"broadcast", "has 1 elements", "needs 2"}, [&] { broadcast(t, one, two, 0); });
        for (auto const root : {-1, 2})
            expect_error(mpt::error_class::rank, {"broadcast", root < 0 ? "root is -1" : "root is 2", "0 to 1"},
                         [&] { broadcast(t, into, two, root); });
        expect_error(arg, {"fcollect", "has 3 elements", "needs 4"}, [&] { fcollect(t, into, two); });
        expect_error(truncate, {"collect", "16 bytes come", "room for 12"}, [&] { collect(t, into, two); });
        expect_error(arg, {"alltoall", "3 elements", "each of 2 PEs"}, [&] { alltoall(t, into, three); });
        expect_error(arg, {"alltoall", "has 1 elements", "needs 2"}, [&] { alltoall(t, one, two); });
        expect_error(arg, {"alltoalls", "dest has 3", "needs 4"}, [&] { alltoalls(t, into, two, 3, 1, 1); });
        expect_error(arg, {"alltoalls", "source has 2", "needs 3"}, [&] { alltoalls(t, into, two, 1, 2, 1); });
        expect_error(arg, {"reduce", "has 1 elements", "needs 2"}, [&] { reduce(t, one, two, std::plus{}); });
        expect_error(arg, {"scan", "has 1 elements", "needs 2"}, [&] { scan(t, one, two, scan_kind::inclusive); });
        EXPECT_EQ(into, std::vector<int>(3));
        pe.barrier_all();
    });
}
TYPED_TEST(shmem_collectives, what_has_no_room_or_no_meaning_is_refused) {
    this->on(2, [&](auto& pe) {
        std::vector<std::size_t> const sizes{8, 8}, offsets{0, 8};
        bytes from(16), into(16);
        expect_error(mpt::error_class::truncate, {"16 bytes", "15"},
                     [&] { alltoallv_packed(pe.world(), into.data(), 15, from.data(), offsets.data(), sizes.data()); });
        expect_error(mpt::error_class::arg, {"not defined"},
                     [&] { reduce(pe.world(), into.data(), from.data(), 2, operation::band, element_kind::c_float); });
    });
}

// --- what variables switch ---------------------------------------------------------------------------------------------------

struct traffic {
    std::uint64_t messages = 0, bytes = 0;
};
/// Whose sum it is: in any case that of the same PEs.
enum class over_what { world, split_team, active_set };
/// What four PEs send in one sum of n longs, together; the sum is right.
template <class Stack>
traffic sent_by_a_sum(std::size_t n, mpt::config::values v, over_what which = over_what::world, bool by_own_operation = false) {
    using enum mpt::figure;
    std::atomic<std::uint64_t> messages{0}, sent{0};
    v.set<"MPT_SYMMETRIC_SIZE">("1M").set<"MPT_NODE_CALLS">("1");
    pes<Stack>::on(4, v, [&](auto& pe) {
        std::vector<long> const mine(n, pe.me() + 1);
        std::vector<long> sum(n);
        auto& run = pe.job().run();
        auto const split = pe.world().split_strided(0, 1, 4);
        ASSERT_TRUE(split && *split);
        auto& t = which == over_what::world        ? pe.world()
                  : which == over_what::split_team ? **split
                                                   : pe.job().active_set(0, 0, 4);
        auto const add = [&] {
            if (by_own_operation) reduce(t, sum, mine, [](long a, long b) { return a + b; });
            else reduce(t, sum.data(), mine.data(), n, operation::sum, element_kind::int64);
        };
        add();
        pe.sync_all();
        auto const before = run.look();
        add();
        auto const f = run.look().since(before);
        messages += f[e0_messages_sent] + f[e1_messages_sent] + f[rndv_messages_sent];
        sent += f[e0_bytes_sent] + f[e1_bytes_sent] + f[rndv_bytes_sent];
        EXPECT_EQ(sum, std::vector<long>(n, 10));
        pe.sync_all();
    });
    return {messages, sent};
}

TEST(shmem_variables, team_node_says_whether_reductions_go_through_shared_memory) {
    using stack = mpt::local_stack;
    for (auto const t : {over_what::world, over_what::split_team, over_what::active_set})
        for (bool const own : {false, true}) {
            EXPECT_EQ(sent_by_a_sum<stack>(8, mpt::config::values{}, t, own).messages, 0u);
            EXPECT_EQ(sent_by_a_sum<stack>(8, mpt::config::values{}.set<"MPT_TEAM_NODE">("off"), t, own).messages, 8u)
                << "two rounds of four";
        }
}

TEST(shmem_variables, allreduce_halves_and_its_cutoff_say_how_much_partners_exchange) {
    using stack = mpt::local_stack;
    constexpr std::size_t n = 4096, size = n * sizeof(long);
    auto const by_messages = mpt::config::values{}.set<"MPT_TEAM_NODE">("off");
    constexpr auto by_halves = 4 * 3 * size / 2, whole = 4 * 2 * size;
    for (auto const t : {over_what::world, over_what::split_team, over_what::active_set}) {
        auto const with = [&](auto change) {
            auto v = by_messages;
            change(v);
            return sent_by_a_sum<stack>(n, v, t).bytes;
        };
        EXPECT_EQ(with([](auto&) {}), by_halves) << "a half and a quarter there and back";
        EXPECT_EQ(with([](auto& v) { v.template set<"MPT_ALLREDUCE_HALVES">("off"); }), whole) << "all, twice";
        EXPECT_EQ(with([](auto& v) { v.template set<"MPT_ALLREDUCE_SHORT">("32K"); }), whole) << "greater than, not as great";
        EXPECT_EQ(with([](auto& v) { v.template set<"MPT_ALLREDUCE_SHORT">("32767"); }), by_halves);
    }
}

/// Into the heap by stores, and elsewhere as all else; of a team, the others' heaps stay as they were.
TYPED_TEST(shmem_collectives, pieces_of_alltoall_may_be_large) {
    for (int const n : {1, 2, 3, 4, 8})
        pes<TypeParam>::on(n, [&](auto& pe) {
            typename pes<TypeParam>::template array<std::uint8_t> heap{pe, std::size_t{20'002} * static_cast<std::size_t>(n)};
            auto const check = [&](auto& t, std::size_t size, auto& into) {
                auto const count = static_cast<std::size_t>(t.size());
                auto const of = [&](int p, std::size_t i) {
                    return static_cast<std::uint8_t>(i * 7 + i / 256 + static_cast<std::size_t>(t.world(p)) * 31);
                };
                bytes from(size * count), want(into.size(), 9);
                for (std::size_t i = 0; i < from.size(); ++i) from[i] = of(t.me(), i);
                for (std::size_t p = 0; p < count; ++p)
                    for (std::size_t i = 0; i < size; ++i)
                        want[p * size + i] = of(static_cast<int>(p), static_cast<std::size_t>(t.me().value) * size + i);
                std::ranges::fill(into, 9);
                pe.barrier_all();
                alltoall(t, into.data(), from.data(), size);
                EXPECT_TRUE(std::ranges::equal(into, want)) << t.size() << " PEs, pieces of " << size;
            };
            auto odd = pe.world().split_strided(n > 1 ? 1 : 0, 2, n > 1 ? n / 2 : 1);
            bytes elsewhere(heap.size());
            for (std::size_t const size : {8191, 8192, 20'001}) {
                check(pe.world(), size, heap), check(pe.world(), size, elsewhere);
                pe.barrier_all();
                bool const is_in = odd && *odd;
                if (is_in) check(**odd, size, heap);
                else std::ranges::fill(heap, 9), pe.barrier_all();
                pe.barrier_all();
                EXPECT_TRUE(is_in || std::ranges::count(heap, 9) == static_cast<long>(heap.size()));
                pe.barrier_all();
            }
        });
}

} // namespace
