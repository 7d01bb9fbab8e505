#include <algorithm>
#include <limits>
#include <numeric>

#include "support/dice.hpp"
#include "support/pes.hpp"

namespace {
using namespace mpt::test;
using mpt::rank;
using mpt::shmem::signal_op;

template <class Stack> using shmem_memory = pes<Stack>;
TYPED_TEST_SUITE(shmem_memory, wires);

/// Each PE writes to a region of its own at each other; regions are known to a model, which every PE keeps alike.
void random_moves(auto& pe, unsigned seed) {
    using env = std::remove_reference_t<decltype(pe)>;
    constexpr std::size_t room = 600;
    int const n = pe.size(), me = pe.me();
    mpt::shmem::array<std::uint8_t, typename env::stack_type> all{pe, room * static_cast<std::size_t>(n)};
    std::vector<std::vector<std::uint8_t>> model(static_cast<std::size_t>(n), std::vector<std::uint8_t>(all.size()));
    dice d{seed};
    for (int step = 0; step < 60; ++step) {
        int const from = static_cast<int>(d.below(static_cast<unsigned>(n))),
                  to = static_cast<int>(d.below(static_cast<unsigned>(n)));
        std::size_t const width = 1u << d.below(5), block = 1 + d.below(3), count = d.below(9);
        auto const there = static_cast<std::ptrdiff_t>(block + d.below(3)),
                   here = static_cast<std::ptrdiff_t>(block + d.below(3));
        std::vector<std::uint8_t> data(room);
        for (auto& x : data) x = static_cast<std::uint8_t>(d.below(256));
        bool const strided = d.coin();
        std::size_t const bytes = d.below(room);
        auto* const dest = all.data() + room * static_cast<std::size_t>(from);
        auto* const seen = model[static_cast<std::size_t>(to)].data() + room * static_cast<std::size_t>(from);
        mpt::shmem::strides const s{there, here, block, count, width};
        auto const fits = count == 0 || width * (static_cast<std::size_t>(std::max(there, here)) * (count - 1) + block) <= room;
        if (strided && !fits) continue;
        if (me == from) strided ? pe.memory().put(dest, data.data(), s, to) : pe.memory().put(dest, data.data(), bytes, to);
        for (std::size_t i = 0; strided && i < count; ++i)
            std::copy_n(data.data() + i * static_cast<std::size_t>(here) * width, block * width,
                        seen + i * static_cast<std::size_t>(there) * width);
        if (!strided) std::copy_n(data.data(), bytes, seen);
    }
    pe.barrier_all();
    EXPECT_TRUE(std::ranges::equal(all, model[static_cast<std::size_t>(me)]));
    for (int to = 0; to < n; ++to) {
        auto const& want = model[static_cast<std::size_t>(to)];
        std::vector<std::uint8_t> whole(all.size()), odd(all.size() / 3);
        pe.memory().get(whole.data(), all.data(), all.size(), to);
        EXPECT_EQ(whole, want);
        pe.memory().get(odd.data(), all.data(), {1, 3, 1, odd.size(), 1}, to);
        for (std::size_t i = 0; i < odd.size(); ++i) ASSERT_EQ(odd[i], want[3 * i]);
    }
    pe.barrier_all();
}

TYPED_TEST(shmem_memory, puts_and_gets_in_one_piece_and_in_strides_are_copies) {
    seeds const all{6};
    this->on_several([&](auto& pe) {
        for (unsigned i = 0; i < all.count; ++i) {
            SCOPED_TRACE("seed " + std::to_string(all.first + i));
            random_moves(pe, all.first + i);
        }
    });
}

template <class T> void one_element(auto& pe) {
    using env = std::remove_reference_t<decltype(pe)>;
    mpt::shmem::array<T, typename env::stack_type> a{pe, 4};
    int const n = pe.size(), me = pe.me(), next = (me + 1) % n;
    auto const mine = [](int who) { return static_cast<T>(who + 1); };
    pe->p(&a[1], mine(me), next);
    pe.barrier_all();
    EXPECT_EQ(a[0], T{});
    EXPECT_EQ(a[1], mine((me + n - 1) % n));
    EXPECT_EQ(pe->g(&a[1], next), mine(me));
    pe.barrier_all();
}
TYPED_TEST(shmem_memory, single_elements_of_any_type_go_and_come) {
    struct triple {
        char a[3];
        bool operator==(triple const&) const = default;
        triple() = default;
        explicit triple(int x) : a{static_cast<char>(x), 2, 3} {}
    };
    this->on_several([](auto& pe) {
        one_element<char>(pe), one_element<short>(pe), one_element<int>(pe), one_element<long>(pe), one_element<float>(pe);
        one_element<double>(pe), one_element<long double>(pe), one_element<triple>(pe);
    });
}

/// One PE's updates of its own word at another, against the language's.
template <class T> void updates_alone(auto& pe, unsigned seed) {
    using env = std::remove_reference_t<decltype(pe)>;
    mpt::shmem::array<T, typename env::stack_type> a{pe, 8};
    auto& m = pe.memory();
    dice d{seed + static_cast<unsigned>(pe.me())};
    using U = std::make_unsigned_t<T>;
    U model = 0;
    rank const to = (pe.me() + 1) % pe.size();
    auto* const word = &a[static_cast<std::size_t>(pe.me())];
    auto const draw = [&] { return static_cast<T>(d.seed() * 0x9e3779b97f4a7c15u); };
    for (int i = 0; i < 150; ++i) {
        auto const v = draw();
        auto const u = static_cast<U>(v), was = model;
        switch (d.below(12)) {
        case 0: m.set(word, v, to), model = u; break;
        case 1:
            ASSERT_EQ(m.swap(word, v, to), static_cast<T>(was));
            model = u;
            break;
        case 2:
            ASSERT_EQ(m.compare_swap(word, static_cast<T>(was), v, to), static_cast<T>(was));
            model = u;
            break;
        case 3: ASSERT_EQ(m.compare_swap(word, static_cast<T>(was + 1), v, to), static_cast<T>(was)); break;
        case 4:
            ASSERT_EQ(m.fetch_add(word, v, to), static_cast<T>(was));
            model = static_cast<U>(was + u);
            break;
        case 5: m.add(word, v, to), model = static_cast<U>(was + u); break;
        case 6:
            ASSERT_EQ(m.fetch_and(word, v, to), static_cast<T>(was));
            model = was & u;
            break;
        case 7: m.bit_and(word, v, to), model = was & u; break;
        case 8:
            ASSERT_EQ(m.fetch_or(word, v, to), static_cast<T>(was));
            model = was | u;
            break;
        case 9: m.bit_or(word, v, to), model = was | u; break;
        case 10:
            ASSERT_EQ(m.fetch_xor(word, v, to), static_cast<T>(was));
            model = was ^ u;
            break;
        default: m.bit_xor(word, v, to), model = was ^ u; break;
        }
        ASSERT_EQ(m.fetch(word, to), static_cast<T>(model));
    }
    pe.barrier_all();
}
TYPED_TEST(shmem_memory, atomic_updates_are_those_of_the_language) {
    seeds const all{1};
    this->on_several([&](auto& pe) {
        updates_alone<int>(pe, all.first), updates_alone<long>(pe, all.first), updates_alone<unsigned>(pe, all.first);
        updates_alone<unsigned long>(pe, all.first);
    });
}
TYPED_TEST(shmem_memory, floating_point_words_are_set_swapped_and_fetched) {
    this->on_several([](auto& pe) {
        typename TestFixture::template array<double> a{pe, 1};
        typename TestFixture::template array<float> b{pe, 1};
        int const next = (pe.me() + 1) % pe.size();
        pe->set(&a[0], 1.5, next);
        EXPECT_EQ(pe->swap(&a[0], -2.5 - pe.me(), next), 1.5);
        EXPECT_EQ(pe->fetch(&a[0], next), -2.5 - pe.me());
        EXPECT_EQ(pe->swap(&b[0], 0.25f, next), 0.0f);
        EXPECT_EQ(pe->fetch(&b[0], next), 0.25f);
        pe.barrier_all();
        EXPECT_EQ(a[0], -2.5 - (pe.me() + pe.size() - 1) % pe.size());
    });
}
TYPED_TEST(shmem_memory, updates_of_many_at_one_word_all_count) {
    this->on_several([](auto& pe) {
        int const n = pe.size();
        typename TestFixture::template array<long> a{pe, 2};
        typename TestFixture::template array<unsigned> b{pe, 1};
        std::vector<long> got(50);
        for (auto& x : got) {
            x = pe->fetch_add(&a[0], 1, 0);
            pe->add(&a[1], 2, 0);
            pe->bit_xor(&b[0], 1u << pe.me(), 0);
        }
        EXPECT_TRUE(std::ranges::is_sorted(got));
        pe.barrier_all();
        if (pe.me() == 0) {
            EXPECT_EQ(a[0], 50 * n);
            EXPECT_EQ(a[1], 100 * n);
            EXPECT_EQ(b[0], 0u);
        }
        long sum = std::accumulate(got.begin(), got.end(), 0l), all = 0;
        mpt::shmem::reduce(pe.world(), &all, &sum, 1, mpt::operation::sum, mpt::element_kind::int64);
        EXPECT_EQ(all, 50 * n * (50 * n - 1) / 2); // each number once
    });
}

TYPED_TEST(shmem_memory, who_sees_a_signal_sees_the_data) {
    using mpt::shmem::comparison;
    this->on_several([](auto& pe) {
        typename TestFixture::template array<int> data{pe, 300};
        typename TestFixture::template array<std::uint64_t> signal{pe, 2};
        int const n = pe.size(), me = pe.me(), next = (me + 1) % n, before = (me + n - 1) % n;
        for (int round = 1; round <= 30; ++round) {
            std::vector<int> mine(300, 1000 * me + round);
            bool const adds = round % 2 == 0;
            pe->put_signal(data.data(), std::span<int const>{mine}, &signal[adds],
                           adds ? 1u : static_cast<std::uint64_t>(round), adds ? signal_op::add : signal_op::set, next);
            auto const want = static_cast<std::uint64_t>(adds ? round / 2 : round);
            EXPECT_EQ(pe.signal_wait_until(&signal[adds], comparison::ge, want), want);
            EXPECT_TRUE(std::ranges::all_of(data, [&](int x) { return x == 1000 * before + round; })) << "round " << round;
            pe.sync_all();
        }
    });
}

/// Data, fence, flag: the flag is a plain store.
TYPED_TEST(shmem_memory, a_fence_keeps_stores_in_order) {
    using mpt::shmem::comparison;
    this->on(2, [&](auto& pe) {
        typename TestFixture::template array<long> a{pe, 65};
        for (long round = 1; round <= 50; ++round) {
            if (pe.me() == 0) {
                std::vector<long> const data(64, round);
                pe->put(&a[1], std::span<long const>{data}, 1);
                pe->fence();
                pe->p(&a[0], round, 1);
                pe.wait_until(&a[0], comparison::eq, round);
            } else {
                pe.wait_until(&a[0], comparison::eq, round);
                for (std::size_t i = 1; i <= 64; ++i) ASSERT_EQ(a[i], round);
                pe->p(&a[0], round, 0);
            }
        }
    });
}

TYPED_TEST(shmem_memory, what_is_not_symmetric_is_told_from_what_is) {
    this->on(2, [&](auto& pe) {
        typename TestFixture::template array<long> a{pe, 1};
        long local = 0;
        auto& m = pe.memory();
        EXPECT_TRUE(m.is_symmetric(&a[0]));
        EXPECT_FALSE(m.is_symmetric(&local));
        EXPECT_TRUE(m.in_heap(&a[0], sizeof(long)));
        EXPECT_TRUE(m.in_heap(&a[0], 1 << 20));
        EXPECT_FALSE(m.in_heap(&a[0], (1 << 20) + 1));
        expect_error(mpt::error_class::arg, {"put", "PE 1", "not symmetric"}, [&] { m.p(&local, 1l, 1); });
        expect_error(mpt::error_class::arg, {"fetch_add", "not symmetric"}, [&] { m.fetch_add(&local, 1l, 1); });
        EXPECT_EQ(m.ptr(&a[0], pe.me()), &a[0]);
        EXPECT_EQ(m.ptr(&local, 1), nullptr);
        if (auto* const p = static_cast<long*>(m.ptr(&a[0], 1 - pe.me()))) *p = 5 + pe.me();
        else pe->p(&a[0], 5 + pe.me(), 1 - pe.me());
        pe.barrier_all();
        EXPECT_EQ(a[0], 6 - pe.me());
    });
}

TYPED_TEST(shmem_memory, spans_go_and_come_in_strides_and_blocks_and_must_hold_them) {
    this->on(2, [&](auto& pe) {
        using values = std::span<int const>;
        typename TestFixture::template array<int> a{pe, 40};
        int const other = 1 - pe.me();
        std::vector<int> data(21);
        std::iota(data.begin(), data.end(), 100 * pe.me());
        pe->iput(&a[0], values{data}, 2, 4, 6, other);      // 0 4 8 12 16 20 to 0 2 4 6 8 10
        pe->ibput(&a[20], values{data}, 3, 7, 2, 3, other); // 0 1, 7 8, 14 15 to 20 21, 23 24, 26 27
        pe->put_nbi(&a[30], values{data}.first(5), other);
        pe->iput_nbi(&a[36], values{data}, 1, 3, 2, other); // 0 3 to 36 37
        pe->quiet();
        pe.barrier_all();
        int const from = 100 * other;
        for (int i = 0; i < 6; ++i) EXPECT_EQ(a[static_cast<std::size_t>(2 * i)], from + 4 * i);
        for (int i : {1, 3, 5, 7, 9, 11, 22, 25, 28}) EXPECT_EQ(a[static_cast<std::size_t>(i)], 0);
        for (int i = 0; i < 6; ++i) EXPECT_EQ(a[static_cast<std::size_t>(20 + i / 2 * 3 + i % 2)], from + i / 2 * 7 + i % 2);
        for (int i = 0; i < 5; ++i) EXPECT_EQ(a[static_cast<std::size_t>(30 + i)], from + i);
        std::vector<int> back(21, -1), blocks(17, -1), plain(5);
        pe->iget(std::span{back}, &a[0], 4, 2, 6, other);
        pe->ibget(std::span{blocks}, &a[20], 7, 3, 2, 3, other);
        pe->get_nbi(std::span{plain}, &a[30], other);
        std::vector<int> third(2), pair(2);
        pe->iget_nbi(std::span{third}, &a[36], 1, 1, 2, other);
        pe->ibget_nbi(std::span{pair}, &a[26], 2, 3, 2, 1, other);
        pe->quiet();
        EXPECT_EQ(third, (std::vector<int>{data[0], data[3]}));
        EXPECT_EQ(pair, (std::vector<int>{data[14], data[15]}));
        for (std::size_t i = 0; i < 21; ++i) EXPECT_EQ(back[i], i % 4 == 0 ? data[i] : -1);
        for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(blocks[i], i % 7 < 2 ? data[i] : -1);
        EXPECT_EQ(blocks[16], -1);
        EXPECT_TRUE(std::ranges::equal(plain, std::span{data}.first(5)));
        expect_error(mpt::error_class::arg, {"ibput", "7 blocks of 1", "every 4", "span of 21"},
                     [&] { pe->iput(&a[0], values{data}, 2, 4, 7, other); });
        expect_error(mpt::error_class::arg, {"ibget", "3 blocks of 8", "span of 21"},
                     [&] { pe->ibget(std::span{back}, &a[0], 7, 8, 8, 3, other); });
        expect_error(mpt::error_class::arg, {"ibput", "every 0"}, [&] { pe->iput(&a[0], values{data}, 1, 0, 2, other); });
        pe->ibput(&a[0], values{}, 1, 1, 1, 0, other);
        pe.barrier_all();
    });
}

TYPED_TEST(shmem_memory, puts_are_done_when_they_return_where_that_is_asked_for) {
    auto const v = this->small().template set<"MPT_PUT_EARLY">("off");
    this->on_several(v, [](auto& pe) {
        typename TestFixture::template array<long> a{pe, 100};
        int const next = (pe.me() + 1) % pe.size(), before = (pe.me() + pe.size() - 1) % pe.size();
        for (long round = 1; round <= 50; ++round) {
            std::vector<long> const data(50, 10 * round + pe.me());
            pe->put(&a[0], std::span<long const>{data}, next);
            pe->iput(&a[50], data.data(), 2, 1, 25, next);
            pe->p(&a[99], round, next);
            pe.sync_all(); // completes nothing
            for (int const i : {0, 49, 50, 98}) ASSERT_EQ(a[static_cast<std::size_t>(i)], 10 * round + before);
            ASSERT_EQ(a[99], round);
            pe.sync_all();
        }
        pe.barrier_all();
    });
}

/// Does `change` leave the bell behind that PE 1 sleeps on?
bool rings(auto& pe, auto const& change) {
    auto& lane = pe.memory().run().lane_at(0);
    auto* const bell = lane.bell_of(1);
    auto const armed = bell->arm(lane.fences());
    change();
    return bell->arm(lane.fences()) != armed;
}
using sleepers = pes<mpt::local_stack>;
auto one_lane() { return sleepers::small().set<"MPT_LANES">("1"); }

TEST(shmem_memory_wakes, whatever_changes_the_memory_of_one_who_sleeps_soon_rings) {
    sleepers::on(2, mpt::config::values{one_lane()}.set<"MPT_WAIT">("sleep"), [](auto& pe) {
        sleepers::array<long> a{pe, 40};
        sleepers::array<std::uint64_t> word{pe, 1};
        std::vector<long> const many(40, 1);
        std::span<long const> const all{many};
        if (pe.me() == 0) {
            EXPECT_TRUE(pe.memory().rings());
            EXPECT_FALSE(rings(pe, [] {}));
            EXPECT_FALSE(rings(pe, [&] { EXPECT_EQ(pe->g(&a[0], 1), 0); }));
            EXPECT_FALSE(rings(pe, [&] { EXPECT_EQ(pe->fetch(&a[0], 1), 0); }));
            EXPECT_TRUE(rings(pe, [&] { pe->p(&a[0], 2l, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->put(&a[0], all.first(1), 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->put(&a[0], all, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->put_nbi(&a[0], all, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->iput(&a[0], all, 2, 1, 3, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->ibput_nbi(&a[0], all, 3, 2, 2, 3, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->set(&a[0], 5, 1); }));
            EXPECT_TRUE(rings(pe, [&] { EXPECT_EQ(pe->swap(&a[0], 6, 1), 5); }));
            EXPECT_TRUE(rings(pe, [&] { EXPECT_EQ(pe->compare_swap(&a[0], 6, 7, 1), 6); }));
            EXPECT_FALSE(rings(pe, [&] { EXPECT_EQ(pe->compare_swap(&a[0], 6, 8, 1), 7); }));
            EXPECT_TRUE(rings(pe, [&] { EXPECT_EQ(pe->fetch_add(&a[0], 1, 1), 7); }));
            EXPECT_TRUE(rings(pe, [&] { EXPECT_EQ(pe->fetch_and(&a[0], 12, 1), 8); }));
            EXPECT_TRUE(rings(pe, [&] { EXPECT_EQ(pe->fetch_or(&a[0], 1, 1), 8); }));
            EXPECT_TRUE(rings(pe, [&] { EXPECT_EQ(pe->fetch_xor(&a[0], 3, 1), 9); }));
            EXPECT_TRUE(rings(pe, [&] { pe->add(&a[0], 1, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->bit_and(&a[0], 3, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->bit_or(&a[0], 4, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->bit_xor(&a[0], 5, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->put_signal(&a[0], all, &word[0], 1, signal_op::set, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->signal(&word[0], 1, signal_op::add, 1); }));
        }
        pe.barrier_all();
    });
}
TEST(shmem_memory_wakes, what_may_ring_at_quiet_rings_there_or_when_its_pe_waits) {
    sleepers::on(2, mpt::config::values{one_lane()}.set<"MPT_WAIT">("sleep"), [](auto& pe) {
        auto& memory = pe.memory();
        sleepers::array<long> a{pe, 1};
        a[0] = 0;
        pe.barrier_all();
        auto const twice = [&] { memory.ring_at_quiet(1), memory.ring_at_quiet(1); };
        if (pe.me() == 0) {
            EXPECT_FALSE(rings(pe, twice));
            EXPECT_TRUE(rings(pe, [&] { pe->quiet(); }));
            EXPECT_FALSE(rings(pe, [&] { pe->quiet(); })) << "it has been";
            EXPECT_FALSE(rings(pe, twice));
            EXPECT_TRUE(rings(pe, [&] { memory.ring_at_quiet(0); })) << "one at a time";
            EXPECT_FALSE(rings(pe, [&] { pe->quiet(1); })) << "that was this PE itself";
            twice();
            EXPECT_TRUE(rings(pe, [&] { memory.look_around(); }));
            twice();
            EXPECT_TRUE(rings(pe, [&] { memory.await([&] { return memory.seen(&a[0]) == 0; }); }));
            twice();
            EXPECT_TRUE(rings(pe, [&] { pe->quiet(1); }));
        }
        pe.barrier_all();
    });
}
TEST(shmem_memory_wakes, where_nobody_sleeps_soon_only_signals_ring) {
    sleepers::on(2, mpt::config::values{one_lane()}.set<"MPT_WAIT">("spin"), [](auto& pe) {
        sleepers::array<long> a{pe, 2};
        sleepers::array<std::uint64_t> word{pe, 1};
        if (pe.me() == 0) {
            EXPECT_FALSE(pe.memory().rings());
            EXPECT_FALSE(rings(pe, [&] { pe->p(&a[0], 2l, 1), pe->add(&a[1], 1, 1); }));
            EXPECT_TRUE(rings(pe, [&] { pe->signal(&word[0], 1, signal_op::set, 1); }));
        }
        pe.barrier_all();
    });
}

} // namespace
