#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "support/dice.hpp"
#include "support/pes.hpp"

namespace {
using namespace mpt::test;

template <class Stack> using shmem_job = pes<Stack>;
TYPED_TEST_SUITE(shmem_job, wires);

/// Random allocations, each PE's alike: blocks have the same place on all, keep what is in them, and do not overlap.
void random_blocks(auto& pe, unsigned seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    dice d{seed};
    auto& job = pe.job();
    std::map<unsigned char*, std::size_t> blocks;
    auto const fill = [&](unsigned char* p, std::size_t n) {
        std::memset(p, static_cast<int>(n % 251) + pe.me(), n);
        blocks[p] = n;
    };
    auto const keeps = [&](unsigned char const* p, std::size_t n, std::size_t was) {
        for (std::size_t i = 0; i < n; ++i)
            if (p[i] != static_cast<unsigned char>(was % 251 + static_cast<std::size_t>(pe.me().value))) return false;
        return true;
    };
    for (int step = 0; step < 40; ++step) {
        std::size_t const n = 1 + d.below(20'000), align = std::size_t{1} << d.below(13);
        auto some = blocks.begin();
        if (!blocks.empty()) std::advance(some, d.below(static_cast<unsigned>(blocks.size())));
        switch (d.below(blocks.empty() ? 2 : 4)) {
        case 0: {
            auto* const p = static_cast<unsigned char*>(job.allocate(n, align));
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % std::min<std::size_t>(align, 4096), 0u);
            fill(p, n);
            break;
        }
        case 1: {
            auto* const p = static_cast<unsigned char*>(job.allocate_zeroed(n, 3));
            for (std::size_t i = 0; i < 3 * n; ++i) ASSERT_EQ(p[i], 0);
            fill(p, 3 * n);
            break;
        }
        case 2: {
            auto const [p, was] = *some;
            auto* const q = static_cast<unsigned char*>(job.reallocate(p, n));
            ASSERT_TRUE(keeps(q, std::min(n, was), was));
            blocks.erase(p);
            fill(q, n);
            break;
        }
        default: job.deallocate(some->first); blocks.erase(some);
        }
        for (auto const& [p, size] : blocks) ASSERT_TRUE(keeps(p, size, size));
        auto const here =
            blocks.empty()
                ? std::size_t{0}
                : static_cast<std::size_t>(blocks.begin()->first - reinterpret_cast<unsigned char*>(pe.memory().heap().data()));
        std::vector<std::size_t> all(static_cast<std::size_t>(pe.size()));
        mpt::shmem::fcollect(pe.world(), all.data(), &here, sizeof here);
        for (auto const x : all) ASSERT_EQ(x, here);
    }
    for (auto const& [p, size] : blocks) job.deallocate(p);
    EXPECT_EQ(job.map().used(), 0u);
}

TYPED_TEST(shmem_job, blocks_have_one_place_on_all_pes_and_keep_what_is_in_them) {
    seeds const all{3};
    auto const v = mpt::config::values{}.set<"MPT_SYMMETRIC_SIZE">("8M");
    this->on_several(v, [&](auto& pe) {
        for (unsigned i = 0; i < all.count; ++i) random_blocks(pe, all.first + i);
    });
}

TYPED_TEST(shmem_job, a_heap_without_room_says_so_on_all_pes_and_goes_on) {
    this->on(2, [&](auto& pe) {
        auto& job = pe.job();
        EXPECT_EQ(pe.memory().heap().size(), 1u << 20);
        auto* const p = job.allocate(1000 << 10);
        expect_error(mpt::error_class::no_mem, {"100000 bytes", "1048576", "SHMEM_SYMMETRIC_SIZE"},
                     [&] { job.allocate(100'000); });
        expect_error(mpt::error_class::no_mem, {"no room"}, [&] { job.allocate_zeroed(~std::size_t{0} / 2, 3); });
        expect_error(mpt::error_class::no_mem, {"no room"}, [&] { job.reallocate(p, 2 << 20); });
        EXPECT_EQ(job.size_of(p), 1000u << 10);
        job.deallocate(p);
        job.deallocate(job.allocate(1 << 20));
        EXPECT_EQ(job.allocate(0), nullptr);
        EXPECT_EQ(job.reallocate(nullptr, 0), nullptr);
        job.deallocate(nullptr);
    });
}

TYPED_TEST(shmem_job, a_block_is_aligned_up_to_a_quarter_of_the_heap) {
    auto const v = mpt::config::values{}.set<"MPT_SYMMETRIC_SIZE">("32M");
    this->on(3, v, [&](auto& pe) {
        auto& job = pe.job();
        EXPECT_EQ(pe.memory().alignment(), 8u << 20);
        auto* const first = job.allocate(1);
        for (std::size_t align = 1; align <= 8u << 20; align *= 2) {
            auto* const p = job.allocate(100, align);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % align, 0u);
            job.deallocate(p);
        }
        expect_error(mpt::error_class::no_mem, {"no place at a multiple of 16777216", "of 8388608", "SHMEM_SYMMETRIC_SIZE"},
                     [&] { job.allocate(100, 16u << 20); });
        job.deallocate(first);
    });
}

TYPED_TEST(shmem_job, pes_that_ask_for_different_sizes_are_all_told) {
    this->on(3, [&](auto& pe) {
        auto& job = pe.job();
        std::size_t const mine = pe.me() == 1 ? 80 : 64;
        expect_error(mpt::error_class::arg, {"allocate", "64 at one", "80 at another"}, [&] { job.allocate(mine); });
        auto *const a = job.allocate(64), *const b = job.allocate(64);
        expect_error(mpt::error_class::arg, {"shmem_free", "0 at one", "64 at another"},
                     [&] { job.deallocate(pe.me() == 2 ? b : a); });
        expect_error(mpt::error_class::arg, {"no block"}, [&] { job.deallocate(static_cast<char*>(a) + 1); });
        expect_error(mpt::error_class::arg, {"power of two", "24"}, [&] { job.allocate(8, 24); });
    });
}

TYPED_TEST(shmem_job, contexts_count_by_their_team_and_are_so_many) {
    auto const v = this->small().template set<"MPT_CONTEXTS">("2");
    this->on_several(v, [](auto& pe) {
        auto& job = pe.job();
        int const me = pe.me(), n = pe.size(), start = n > 1 ? 1 : 0, odds = std::max(n / 2, 1);
        typename TestFixture::template array<long> a{pe, 4};
        auto odd = pe.world().split_strided(start, 2, odds);
        if (*odd) {
            auto c = job.create_context(**odd, {.is_private = true});
            ASSERT_TRUE(c);
            EXPECT_TRUE(c->options().is_private);
            EXPECT_EQ(&c->team(), odd->get());
            EXPECT_EQ(c->size(), odds);
            auto const next = ((*odd)->me() + 1) % odds;
            c->add(&a[0], 5 + me, next);
            c->p(&a[1], me, next);
            std::vector<long> const two{7, 8};
            c->put(&a[2], std::span<long const>{two}, next);
            c->quiet();
            EXPECT_EQ(c->g(&a[1], next), me);
            job.destroy(std::move(c));
        }
        pe.barrier_all();
        EXPECT_EQ(a[0], *odd ? 5 + start + 2 * (((*odd)->me() + odds - 1) % odds) : 0);
        EXPECT_EQ(a[3], *odd ? 8 : 0);
        auto one = job.create_context(), two = job.create_context();
        EXPECT_TRUE(one && two);
        EXPECT_EQ(job.contexts(), 2u);
        EXPECT_FALSE(job.create_context());
        job.destroy(std::move(one));
        EXPECT_TRUE(job.create_context());
        job.destroy(std::move(two));
    });
}

TYPED_TEST(shmem_job, a_context_that_goes_out_of_scope_is_complete_and_given_back) {
    auto const v = this->small().template set<"MPT_CONTEXTS">("2");
    this->on_several(v, [](auto& pe) {
        int const n = pe.size();
        auto& job = pe.job();
        typename TestFixture::template array<long> a{pe, 1};
        int const next = (pe.me() + 1) % n;
        for (int i = 0; i < 10; ++i) {
            auto of_all = job.create_context();
            ASSERT_TRUE(of_all);
            of_all->add(&a[0], 1, next);
            auto alone = job.create_context({.is_private = true});
            ASSERT_TRUE(alone);
            alone->add(&a[0], 2, next);
            of_all = std::move(alone);
            EXPECT_EQ(job.contexts(), 1u);
        }
        EXPECT_EQ(job.contexts(), 0u);
        EXPECT_EQ(job.use().unused, 2u);
        pe.sync_all(); // completes nothing
        EXPECT_EQ(pe->fetch(&a[0], pe.me()), 30);
        auto t = pe.world().split_strided(0, 1, n, {.num_contexts = 1});
        ASSERT_TRUE(t && *t);
        for (int i = 0; i < 3; ++i) {
            auto c = job.create_context(**t);
            EXPECT_TRUE(c);
            EXPECT_FALSE(job.create_context(**t));
        }
        pe.barrier_all();
    });
}

TYPED_TEST(shmem_job, a_context_may_outlive_its_job) {
    this->on(2, [&](auto& pe) {
        auto c = pe.job().create_context();
        EXPECT_TRUE(c);
        pe.finish();
    });
}

TYPED_TEST(shmem_job, a_team_has_as_many_contexts_as_it_was_asked_to_have) {
    auto const v = this->small().template set<"MPT_CONTEXTS">("5");
    this->on_several(v, [](auto& pe) {
        auto& job = pe.job();
        int const last = pe.size() - 1;
        auto const same = [&](int n) { return pe.world().split_strided(0, 1, last + 1, {.num_contexts = n}); };
        for (int n = 0; n <= 5; ++n) {
            auto t = same(n);
            ASSERT_TRUE(t && *t);
            std::vector<decltype(job.create_context())> made;
            while (auto c = job.create_context(**t)) made.push_back(std::move(c));
            EXPECT_EQ(made.size(), static_cast<std::size_t>(n));
            if (n == 0) continue;
            job.destroy(std::exchange(made[0], nullptr));
            made[0] = job.create_context(**t);
            EXPECT_TRUE(made[0]);
            for (auto& c : made) job.destroy(std::move(c));
        }
        EXPECT_FALSE(same(6));
        EXPECT_FALSE(same(-1));
        EXPECT_FALSE(same(pe.me() == last ? 6 : 1)) << "one cannot: nobody gets a team";
        EXPECT_FALSE(pe.world().split_2d(3, {}, {.num_contexts = pe.me() == last ? 6 : 0}));
    });
}

TYPED_TEST(shmem_job, contexts_that_a_team_was_promised_are_nobody_elses) {
    auto const v = this->small().template set<"MPT_CONTEXTS">("5");
    this->on(3, v, [&](auto& pe) {
        auto& job = pe.job();
        auto const some = [&](int size, int n) { return pe.world().split_strided(0, 1, size, {.num_contexts = n}); };
        auto three = some(3, 3);
        ASSERT_TRUE(three && *three);
        auto a = job.create_context(), b = job.create_context();
        EXPECT_TRUE(a && b);
        EXPECT_FALSE(job.create_context()) << "the others are the team's";
        EXPECT_FALSE(some(3, 1));
        job.destroy(std::move(a));
        EXPECT_FALSE(some(3, 2));
        std::vector<decltype(job.create_context())> made;
        while (auto c = job.create_context(**three)) made.push_back(std::move(c));
        EXPECT_EQ(made.size(), 3u);
        for (auto& c : made) job.destroy(std::move(c));
        three.reset();
        auto two = some(2, 4); // who is not in the team keeps nothing for it
        ASSERT_TRUE(two);
        EXPECT_EQ(static_cast<bool>(*two), pe.me() < 2);
        EXPECT_EQ(static_cast<bool>(some(3, 1)), false);
        auto c = job.create_context();
        EXPECT_EQ(static_cast<bool>(c), pe.me() == 2);
        job.destroy(std::move(c));
        job.destroy(std::move(b));
    });
}

TYPED_TEST(shmem_job, a_byte_of_the_heap_knows_its_block) {
    this->on(2, [](auto& pe) {
        auto& job = pe.job();
        auto* const a = static_cast<std::byte*>(job.allocate(100));
        for (auto const at : {0, 99, 127}) {
            auto const b = job.block_around(a + at);
            EXPECT_EQ(b.data(), a);
            EXPECT_EQ(b.size(), 100u);
        }
        EXPECT_TRUE(job.block_around(a + 128).empty());
        a[7] = std::byte{7};
        auto* const more = static_cast<std::byte*>(job.reallocate(a, 1000));
        EXPECT_EQ(more[7], std::byte{7});
        EXPECT_EQ(job.block_around(more + 999).size(), 1000u);
        job.deallocate(more);
        EXPECT_TRUE(job.block_around(more).empty());
    });
}

/// What lies in the heap of a team's PEs is loaded and stored here, or by nobody but its owner.
TYPED_TEST(shmem_job, the_team_of_the_node_is_who_is_mapped) {
    this->on(3, [&](auto& pe) {
        typename TestFixture::template array<int> a{pe, 1};
        auto& node = pe.job().node();
        int mapped = 0;
        for (int p = 0; p < pe.size(); ++p) mapped += pe.memory().is_direct(a.data()) || p == pe.me();
        EXPECT_EQ(node.size(), mapped);
        mpt::shmem::sync(node);
    });
}

TYPED_TEST(shmem_job, one_thread_is_in_the_world_and_another_in_the_team_of_the_node) {
    this->on(2, [](auto& pe) {
        auto& job = pe.job();
        EXPECT_NE(&job.node(), &job.world());
        std::thread other{[&job] {
            for (int i = 0; i < 300; ++i) mpt::shmem::sync(job.node());
        }};
        for (int i = 0; i < 400; ++i) mpt::shmem::sync(job.world());
        other.join();
    });
}

/// The pool is each PE's own, and nothing of the node's that PEs would have to share out.
TYPED_TEST(shmem_job, each_pe_has_all_its_places_whatever_the_others_take) {
    auto v = this->small().template set<"MPT_CONTEXTS">("3");
    v = v.template set<"MPT_REGISTERED_THREADS">("1");
    this->on_several(v, [](auto& pe) {
        auto& job = pe.job();
        auto const alone = [&job] { return job.create_context({.is_private = true}); };
        auto const check = [&job](std::uint32_t unused, std::uint32_t owned, std::uint32_t threads) {
            auto const u = job.use();
            EXPECT_EQ(u.places, 3u);
            EXPECT_EQ(u.unused, unused);
            EXPECT_EQ(u.owned, owned);
            EXPECT_EQ(u.contexts, owned);
            EXPECT_EQ(u.threads, threads);
        };
        std::vector<decltype(alone())> mine;
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(mine.emplace_back(alone()));
        pe.sync_all(); // all have all of theirs
        check(0, 3, 0);
        EXPECT_FALSE(alone());
        EXPECT_TRUE(job.register_thread()) << "beside the default context, and counted apart from contexts";
        check(0, 3, 1);
        pe.sync_all();
        if (pe.me() == 0) mine.pop_back();
        pe.sync_all();
        EXPECT_EQ(static_cast<bool>(alone()), pe.me() == 0) << "what a PE gives back is no other's";
        job.unregister_thread();
        mine.clear();
        check(3, 0, 0);
        pe.barrier_all();
    });
}

/// What has which place, in a plain list.
TEST(shmem_resources, a_private_one_is_alone_and_others_go_where_the_fewest_are) {
    seeds const s{50};
    for (unsigned seed = s.first; seed < s.first + s.count; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        dice d{seed};
        auto const places = d.below(6);
        mpt::shmem::resources pool{places};
        std::vector<std::pair<std::uint32_t, bool>> users; // place, alone
        auto const at = [&](std::uint32_t p) { return std::ranges::count(users, p, &std::pair<std::uint32_t, bool>::first); };
        for (int step = 0; step < 100; ++step) {
            if (!users.empty() && d.below(3) == 0) {
                auto const gone = users.begin() + d.below(static_cast<unsigned>(users.size()));
                pool.leave(gone->first);
                users.erase(gone);
            } else {
                bool const alone = d.coin();
                auto const p = pool.find(alone);
                std::uint32_t unused = 0;
                auto least = std::numeric_limits<std::ptrdiff_t>::max(); // of places that no private one has
                for (std::uint32_t i = 1; i <= places; ++i) {
                    unused += at(i) == 0;
                    if (!std::ranges::count(users, std::pair{i, true})) least = std::min(least, at(i));
                }
                ASSERT_EQ(p.has_value(), !alone || unused != 0);
                if (!p) continue;
                ASSERT_LE(*p, places);
                ASSERT_EQ(std::ranges::count(users, std::pair{*p, true}), 0);
                ASSERT_EQ(*p == 0, least == std::numeric_limits<std::ptrdiff_t>::max());
                if (*p != 0) { ASSERT_EQ(at(*p), alone ? 0 : least); }
                pool.take(*p, alone);
                users.emplace_back(*p, alone);
            }
            std::uint32_t unused = 0;
            for (std::uint32_t i = 1; i <= places; ++i) unused += at(i) == 0;
            ASSERT_EQ(pool.unused(), unused);
            ASSERT_EQ(pool.owned(), std::ranges::count(users, true, &std::pair<std::uint32_t, bool>::second));
        }
    }
}

TYPED_TEST(shmem_job, threads_register_up_to_a_number_beside_contexts) {
    auto v = this->small().template set<"MPT_CONTEXTS">("1");
    v = v.template set<"MPT_REGISTERED_THREADS">("1");
    this->on_several(v, [](auto& pe) {
        auto& job = pe.job();
        EXPECT_TRUE(job.register_thread());
        EXPECT_TRUE(job.register_thread());
        EXPECT_EQ(job.use().threads, 1u);
        EXPECT_FALSE(job.create_context({.is_private = true}));
        std::thread{[&] {
            EXPECT_FALSE(job.register_thread());
            job.unregister_thread();
        }}.join();
        job.unregister_thread();
        auto alone = job.create_context({.is_private = true});
        ASSERT_TRUE(alone);
        EXPECT_EQ(job.use().owned, 1u);
        job.destroy(std::move(alone));
        EXPECT_EQ(job.use().unused, 1u);
        {
            mpt::shmem::registered_thread const scope{job};
            EXPECT_TRUE(scope);
            EXPECT_EQ(job.use().threads, 1u);
            std::thread{[&] { EXPECT_FALSE(mpt::shmem::registered_thread{job}); }}.join();
            EXPECT_EQ(job.use().threads, 1u);
        }
        EXPECT_EQ(job.use().threads, 0u);
        pe.barrier_all();
    });
}

/// Threads of every PE, each with a context of its own: all of what they do counts, each for itself.
TYPED_TEST(shmem_job, threads_have_contexts_of_their_own) {
    auto const v = this->small().template set<"MPT_CONTEXTS">("6");
    this->on_several(v, [](auto& pe) {
        auto& job = pe.job();
        int const me = pe.me(), n = pe.size(), next = (me + 1) % n;
        constexpr int threads = 3, steps = 50;
        typename TestFixture::template array<long> all{pe, 1}, by_thread{pe, threads};
        std::vector<std::thread> at_work;
        for (std::size_t t = 0; t < threads; ++t)
            at_work.emplace_back([&, t] {
                mpt::shmem::registered_thread const scope{job};
                auto const c = job.create_context({.is_private = true});
                EXPECT_TRUE(c);
                for (int i = 1; i <= steps; ++i) {
                    c->inc(&all[0], i % n);
                    c->p(&by_thread[t], 1000 * me + i, next);
                    EXPECT_EQ(c->g(&by_thread[t], next), 1000 * me + i);
                }
            });
        for (auto& t : at_work) t.join();
        EXPECT_EQ(job.contexts(), 0u);
        pe.barrier_all();
        long sum = 0;
        for (int p = 0; p < n; ++p) sum += pe->fetch(&all[0], p);
        EXPECT_EQ(sum, threads * steps * n);
        for (auto const x : by_thread) EXPECT_EQ(x, 1000 * ((me + n - 1) % n) + steps);
        pe.barrier_all();
    });
}

} // namespace
