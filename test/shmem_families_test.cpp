// OpenSHMEM's families, each over the types of its table, by PEs that are threads: what test/shmem does in C with processes.
#include <array>
#include <complex>
#include <numeric>

#include "support/pes.hpp"

namespace {
using namespace mpt::test;
using namespace mpt::shmem;
using mpt::element_kind;
using mpt::operation;
using pe_type = pes<mpt::local_stack>::env;
template <class T> using array = pes<mpt::local_stack>::array<T>;
template <class T> constexpr element_kind kind_of = mpt::detail::number_kind<T>();

template <class... T> struct types {};
/// test.operator()<T>(environment) for each type, by so many PEs.
template <class... T, class Test> void on_several(types<T...>, Test const& test) {
    pes<mpt::local_stack>::on_several([&](pe_type& pe) {
        auto const with = [&]<class U>() {
            SCOPED_TRACE(std::string{mpt::facts(kind_of<U>).name});
            test.template operator()<U>(pe);
        };
        (with.template operator()<T>(), ...);
    });
}
/// What PE `pe` has at place i: small, and never zero.
template <class T> T held(int pe, std::size_t i) { return static_cast<T>(1 + pe * 13 + static_cast<int>(i % 11)); }
template <class T> std::vector<T> all_of(int pe, std::size_t n) {
    std::vector<T> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = held<T>(pe, i);
    return v;
}

// --- puts, gets and signals: the standard types of RMA ----------------------------------------------------------------------------------

using rma_types = types<float, double, long double, char, signed char, short, int, long, long long, unsigned char,
                        unsigned short, unsigned, unsigned long, unsigned long long>;

TEST(shmem_families, elements_come_where_they_belong) {
    on_several(rma_types{}, []<class T>(pe_type& pe) {
        using values = std::span<T const>;
        constexpr std::size_t n = 40;
        int const me = pe.me(), next = (me + 1) % pe.size(), before = (me + pe.size() - 1) % pe.size();
        array<T> a{pe, n};
        array<std::uint64_t> signal{pe, 1};
        auto const mine = all_of<T>(me, n), theirs = all_of<T>(before, n), of_next = all_of<T>(next, n);
        /// put() gives the next PE what `want` says of its elements; the others stay 0.
        auto const gives = [&](auto const& put, auto const& want) {
            std::ranges::fill(a, T{});
            pe.barrier_all();
            put();
            pe.barrier_all();
            for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(a[i], want(i)) << i;
            pe.barrier_all();
        };
        auto const whole = [&](std::size_t i) { return theirs[i]; };
        auto const strided = [&](std::size_t i) { return i % 3 == 0 && i < 30 ? theirs[i / 3 * 2] : T{}; };
        auto const blocks = [&](std::size_t i) { return i % 5 < 2 && i < 30 ? theirs[i / 5 * 3 + i % 5] : T{}; };
        gives([&] { pe->put(&a[0], values{mine}, next); }, whole);
        gives([&] { pe->put_nbi(&a[0], values{mine}, next), pe->quiet(); }, whole);
        gives([&] { pe->p(&a[7], mine[3], next); }, [&](std::size_t i) { return i == 7 ? theirs[3] : T{}; });
        gives([&] { pe->iput(&a[0], values{mine}, 3, 2, 10, next); }, strided);
        gives([&] { pe->iput_nbi(&a[0], values{mine}, 3, 2, 10, next), pe->quiet(); }, strided);
        gives([&] { pe->ibput(&a[0], values{mine}, 5, 3, 2, 6, next); }, blocks);
        gives([&] { pe->ibput_nbi(&a[0], values{mine}, 5, 3, 2, 6, next), pe->quiet(); }, blocks);
        std::uint64_t word = 0;
        for (auto const op : {signal_op::set, signal_op::add})
            for (bool const begun : {false, true}) {
                word += 3;
                auto const value = op == signal_op::set ? word : 3;
                gives(
                    [&] {
                        if (begun) pe->put_signal_nbi(&a[0], values{mine}, &signal[0], value, op, next);
                        else pe->put_signal(&a[0], values{mine}, &signal[0], value, op, next);
                        EXPECT_EQ(pe.signal_wait_until(&signal[0], comparison::ge, word), word);
                    },
                    whole);
            }
        std::ranges::copy(mine, a.begin());
        pe.barrier_all();
        /// get(into) brings what `want` says; the rest stays 0.
        auto const brings = [&](auto const& get, auto const& want) {
            std::vector<T> into(n);
            get(std::span{into});
            pe->quiet();
            for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(into[i], want(i)) << i;
        };
        auto const there = [&](std::size_t i) { return of_next[i]; };
        auto const spread = [&](std::size_t i) { return i % 3 == 0 && i < 30 ? of_next[i / 3 * 2] : T{}; };
        auto const in_blocks = [&](std::size_t i) { return i % 5 < 2 && i < 30 ? of_next[i / 5 * 3 + i % 5] : T{}; };
        brings([&](auto into) { pe->get(into, &a[0], next); }, there);
        brings([&](auto into) { pe->get_nbi(into, &a[0], next); }, there);
        brings([&](auto into) { into[5] = pe->g(&a[9], next); }, [&](std::size_t i) { return i == 5 ? of_next[9] : T{}; });
        brings([&](auto into) { pe->iget(into, &a[0], 3, 2, 10, next); }, spread);
        brings([&](auto into) { pe->iget_nbi(into, &a[0], 3, 2, 10, next); }, spread);
        brings([&](auto into) { pe->ibget(into, &a[0], 5, 3, 2, 6, next); }, in_blocks);
        brings([&](auto into) { pe->ibget_nbi(into, &a[0], 5, 3, 2, 6, next); }, in_blocks);
        pe.barrier_all();
    });
}

// --- atomic updates -----------------------------------------------------------------------------------------------------------------------

using amo_types = types<int, long, long long, unsigned, unsigned long, unsigned long long>;

/// By everybody at a word of PE 0's: each sees another state.
TEST(shmem_families, updates_of_all_pes_meet) {
    on_several(amo_types{}, []<class T>(pe_type& pe) {
        int const me = pe.me(), n = pe.size();
        auto const all = static_cast<T>(n);
        array<T> a{pe, 6};
        array<T> seen{pe, static_cast<std::size_t>(n)};
        auto const was = pe->fetch_add(&a[0], 1, 0); // a number of its own
        EXPECT_TRUE(was < all);
        pe->p(&seen[static_cast<std::size_t>(was)], T{1}, 0);
        pe->add(&a[1], 2, 0);
        T const bit = static_cast<T>(T{1} << me);
        EXPECT_EQ(pe->fetch_or(&a[2], bit, 0) & bit, T{});
        pe->bit_or(&a[3], bit, 0);
        pe->bit_xor(&a[4], bit, 0);
        for (T at = 0; (at = pe->compare_swap(&a[5], static_cast<T>(me), static_cast<T>(me + 1), 0)) != static_cast<T>(me);)
            EXPECT_TRUE(at < static_cast<T>(me)); // one after the other
        pe.barrier_all();
        if (me == 0) {
            T const bits = static_cast<T>((T{1} << n) - 1);
            EXPECT_TRUE(std::ranges::all_of(seen, [](T x) { return x == 1; }));
            EXPECT_EQ(a[0], all);
            EXPECT_EQ(a[1], 2 * all);
            EXPECT_EQ(a[2], bits);
            EXPECT_EQ(a[3], bits);
            EXPECT_EQ(a[4], bits);
            EXPECT_EQ(a[5], all);
        }
        pe.barrier_all();
        EXPECT_EQ(pe->fetch_and(&a[2], static_cast<T>(~bit), 0) & bit, bit);
        pe->bit_and(&a[3], static_cast<T>(~bit), 0);
        EXPECT_EQ(pe->fetch_xor(&a[4], bit, 0) & bit, bit);
        pe.barrier_all();
        for (std::size_t const i : {2u, 3u, 4u}) EXPECT_EQ(pe->fetch(&a[i], 0), T{});
    });
}

/// The same by calls that tell what was there at the next quiet.
TEST(shmem_families, updates_that_are_only_begun_meet) {
    on_several(amo_types{}, []<class T>(pe_type& pe) {
        int const me = pe.me(), n = pe.size();
        auto const count = static_cast<std::size_t>(n);
        array<T> a{pe, 5}, seen{pe, 2 * count};
        T const bit = static_cast<T>(T{1} << me);
        T was[4]{};
        pe->fetch_inc_nbi(&was[0], &a[0], 0);
        pe->fetch_add_nbi(&was[1], &a[0], 1, 0);
        pe->fetch_or_nbi(&was[2], &a[2], bit, 0);
        pe->fetch_xor_nbi(&was[3], &a[3], bit, 0);
        pe->quiet();
        EXPECT_TRUE(was[0] < was[1]);
        EXPECT_EQ((was[2] | was[3]) & bit, T{});
        for (auto const number : {was[0], was[1]}) pe->inc(&seen[static_cast<std::size_t>(number)], 0);
        pe->inc(&a[1], 0);
        EXPECT_TRUE(pe->fetch_inc(&a[1], 0) >= 1);
        do {
            pe->compare_swap_nbi(&was[0], &a[4], static_cast<T>(me), static_cast<T>(me + 1), 0);
            pe->quiet();
            EXPECT_TRUE(was[0] <= static_cast<T>(me)); // one after the other
        } while (was[0] != static_cast<T>(me));
        pe.barrier_all();
        if (me == 0) {
            T const bits = static_cast<T>((T{1} << n) - 1), twice = static_cast<T>(2 * n);
            EXPECT_TRUE(std::ranges::all_of(seen, [](T x) { return x == 1; }));
            EXPECT_TRUE(std::ranges::equal(a, std::array{twice, twice, bits, bits, static_cast<T>(n)}));
        }
        pe.barrier_all();
        pe->fetch_and_nbi(&was[0], &a[2], static_cast<T>(~bit), 0);
        pe->quiet();
        EXPECT_EQ(was[0] & bit, bit);
        pe.barrier_all();
        EXPECT_EQ(pe->fetch(&a[2], 0), T{});
    });
}

using extended_types = types<float, double, int, long, long long, unsigned, unsigned long, unsigned long long>;

/// A token goes round: who swaps it out has it alone.
TEST(shmem_families, a_value_is_set_swapped_and_fetched) {
    on_several(extended_types{}, []<class T>(pe_type& pe) {
        int const me = pe.me(), next = (me + 1) % pe.size();
        array<T> a{pe, 2};
        pe->set(&a[0], held<T>(me, 0), next);
        pe.barrier_all();
        EXPECT_EQ(pe->fetch(&a[0], next), held<T>(me, 0));
        EXPECT_EQ(pe->swap(&a[0], held<T>(me, 1), next), held<T>(me, 0));
        EXPECT_EQ(pe->fetch(&a[0], next), held<T>(me, 1));
        T was[2]{};
        pe->swap_nbi(&was[0], &a[0], held<T>(me, 2), next);
        pe->quiet();
        pe->fetch_nbi(&was[1], &a[0], next);
        pe->quiet();
        EXPECT_EQ(was[0], held<T>(me, 1));
        EXPECT_EQ(was[1], held<T>(me, 2));
        if (me == 0) pe->set(&a[1], T{1}, 0);
        T mine{};
        while (mine == T{}) mine = pe->swap(&a[1], T{}, 0);
        pe->set(&a[1], static_cast<T>(mine + 1), 0);
        pe.barrier_all();
        EXPECT_EQ(pe->fetch(&a[1], 0), static_cast<T>(pe.size() + 1));
        pe.barrier_all();
    });
}

// --- waiting --------------------------------------------------------------------------------------------------------------------------------

using wait_types = types<short, int, long, long long, unsigned short, unsigned, unsigned long, unsigned long long>;

TEST(shmem_families, words_of_all_pes_are_waited_for_in_every_form) {
    on_several(wait_types{}, []<class T>(pe_type& pe) {
        auto const n = static_cast<std::size_t>(pe.size());
        array<T> words{pe, n};
        std::vector<T> values(n);
        for (std::size_t i = 0; i < n; ++i) values[i] = held<T>(static_cast<int>(i), 0);
        std::vector<std::size_t> which(n);
        watched<T> const none{words.data(), n, nullptr, comparison::ne, T{}};
        watched<T> const each{words.data(), n, nullptr, comparison::eq, values.data()};
        for (int form = 0; form < 5; ++form) {
            std::ranges::fill(words, T{});
            pe.barrier_all();
            EXPECT_FALSE(pe.test_all(none) || pe.test(&words[n - 1], comparison::ne, 0));
            EXPECT_FALSE(pe.test_any(each) != none_fits || pe.test_some(each, which.data()) != 0);
            pe.barrier_all();
            for (int to = 0; to < pe.size(); ++to)
                pe->p(&words[static_cast<std::size_t>(pe.me().value)], held<T>(pe.me(), 0), to);
            std::size_t seen = 0;
            switch (form) {
            case 0:
                for (std::size_t i = 0; i < n; ++i) pe.wait_until(&words[i], comparison::eq, values[i]);
                break;
            case 1: pe.wait_until_all(none); break;
            case 2: pe.wait_until_all(each); break;
            case 3:
                for (std::vector<int> skip(n); seen < n; ++seen) {
                    watched<T> const left{words.data(), n, skip.data(), comparison::eq, values.data()};
                    auto const i = pe.wait_until_any(left);
                    ASSERT_TRUE(i < n && !skip[i]);
                    skip[i] = 1;
                }
                break;
            default:
                for (std::vector<int> skip(n); seen < n;) {
                    watched<T> const left{words.data(), n, skip.data(), comparison::ge, T{1}};
                    auto const some = pe.wait_until_some(left, which.data());
                    ASSERT_TRUE(some > 0 && seen + some <= n);
                    for (std::size_t i = 0; i < some; ++i) skip[which[i]] = 1;
                    seen += some;
                }
            }
            EXPECT_TRUE(pe.test_all(each) && pe.test_any(each) == 0 && pe.test_some(each, which.data()) == n);
            EXPECT_TRUE(pe.test(&words[n - 1], comparison::eq, values[n - 1]));
            pe.barrier_all();
        }
    });
}

// --- collectives ----------------------------------------------------------------------------------------------------------------------------

/// Of values so small that every product is exact.
template <class T> T low(int pe, std::size_t i) { return static_cast<T>(1 + (pe + static_cast<int>(i)) % 3); }
template <class T> T folded(int pes, std::size_t i, auto const& f) {
    T x = low<T>(0, i);
    for (int p = 1; p < pes; ++p) x = static_cast<T>(f(x, low<T>(p, i)));
    return x;
}
template <class T> void fill_low(std::span<T> all, int pe) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = low<T>(pe, i);
}
template <class T> void reduces_to(pe_type& pe, operation op, auto const& f) {
    for (std::size_t const n : {1u, 300u}) {
        array<T> into{pe, n}, from{pe, n};
        fill_low<T>(from, pe.me());
        pe.sync_all();
        reduce(pe.world(), into.data(), from.data(), n, op, kind_of<T>);
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(into[i], folded<T>(pe.size(), i, f)) << static_cast<int>(op);
        reduce(pe.world(), from.data(), from.data(), n, op, kind_of<T>);
        EXPECT_TRUE(std::ranges::equal(from, into));
    }
}

using collective_types =
    types<float, double, long double, std::complex<float>, std::complex<double>, char, signed char, short, int, long, long long,
          unsigned char, unsigned short, unsigned, unsigned long, unsigned long long>;

TEST(shmem_families, elements_are_combined_as_a_loop_over_the_pes_does) {
    on_several(collective_types{}, []<class T>(pe_type& pe) {
        reduces_to<T>(pe, operation::sum, std::plus{});
        reduces_to<T>(pe, operation::prod, std::multiplies{});
        if constexpr (std::is_arithmetic_v<T>) {
            reduces_to<T>(pe, operation::min, [](T a, T b) { return std::min(a, b); });
            reduces_to<T>(pe, operation::max, [](T a, T b) { return std::max(a, b); });
            array<T> mine{pe, 3}, up_to{pe, 3}, before{pe, 3};
            fill_low<T>(mine, pe.me());
            scan(pe.world(), up_to.data(), mine.data(), 3, scan_kind::inclusive, kind_of<T>);
            scan(pe.world(), before.data(), mine.data(), 3, scan_kind::exclusive, kind_of<T>);
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_EQ(up_to[i], folded<T>(pe.me() + 1, i, std::plus{}));
                EXPECT_EQ(before[i], pe.me() == 0 ? T{} : folded<T>(pe.me(), i, std::plus{}));
            }
        }
        if constexpr (std::integral<T>) {
            reduces_to<T>(pe, operation::band, std::bit_and{});
            reduces_to<T>(pe, operation::bor, std::bit_or{});
            reduces_to<T>(pe, operation::bxor, std::bit_xor{});
        }
    });
}

TEST(shmem_families, elements_are_spread_and_collected) {
    on_several(collective_types{}, []<class T>(pe_type& pe) {
        constexpr std::size_t each = 5;
        auto const n = static_cast<std::size_t>(pe.size());
        array<T> from{pe, 2 * each * n}, into{pe, 3 * each * n};
        std::ranges::copy(all_of<T>(pe.me(), from.size()), from.begin());
        pe.sync_all();
        for (int root = 0; root < pe.size(); ++root) {
            broadcast(pe.world(), into.data(), from.data(), each * sizeof(T), root);
            for (std::size_t i = 0; i < each; ++i) EXPECT_EQ(into[i], held<T>(root, i));
        }
        fcollect(pe.world(), into.data(), from.data(), each * sizeof(T));
        for (std::size_t p = 0; p < n; ++p)
            for (std::size_t i = 0; i < each; ++i) EXPECT_EQ(into[p * each + i], held<T>(static_cast<int>(p), i));
        auto const own = static_cast<std::size_t>(pe.me().value) % 3;
        collect(pe.world(), into.data(), from.data(), own * sizeof(T));
        for (std::size_t p = 0, at = 0; p < n; ++p)
            for (std::size_t i = 0; i < p % 3; ++i) EXPECT_EQ(into[at++], held<T>(static_cast<int>(p), i));
        auto const me = static_cast<std::size_t>(pe.me().value);
        alltoall(pe.world(), into.data(), from.data(), each * sizeof(T));
        for (std::size_t p = 0; p < n; ++p)
            for (std::size_t i = 0; i < each; ++i) EXPECT_EQ(into[p * each + i], held<T>(static_cast<int>(p), me * each + i));
        alltoalls(pe.world(), into.data(), from.data(), 3, 2, each, sizeof(T));
        for (std::size_t p = 0; p < n; ++p)
            for (std::size_t i = 0; i < each; ++i)
                EXPECT_EQ(into[3 * (p * each + i)], held<T>(static_cast<int>(p), 2 * (me * each + i)));
        pe.barrier_all();
    });
}

} // namespace
