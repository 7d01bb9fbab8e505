#include <algorithm>
#include <numeric>

#include "support/dice.hpp"
#include "support/pes.hpp"

namespace {
using namespace mpt::test;
using namespace mpt::shmem;

constexpr comparison all_comparisons[]{comparison::eq, comparison::ne, comparison::gt,
                                       comparison::le, comparison::lt, comparison::ge};

TEST(shmem_compare, each_comparison_is_that_of_the_language) {
    for (int a = -2; a <= 2; ++a)
        for (int b = -2; b <= 2; ++b) {
            EXPECT_EQ(holds(a, comparison::eq, b), a == b);
            EXPECT_EQ(holds(a, comparison::ne, b), a != b);
            EXPECT_EQ(holds(a, comparison::gt, b), a > b);
            EXPECT_EQ(holds(a, comparison::le, b), a <= b);
            EXPECT_EQ(holds(a, comparison::lt, b), a < b);
            EXPECT_EQ(holds(a, comparison::ge, b), a >= b);
        }
    EXPECT_TRUE(holds(~0u, comparison::gt, 1u));
    EXPECT_EQ(static_cast<int>(comparison::ge), 5);
}

/// Random elements and skips, against loops that say it once more.
TEST(shmem_compare, tests_of_many_look_at_what_counts_alone) {
    seeds const all{200};
    for (unsigned s = all.first; s < all.first + all.count; ++s) {
        SCOPED_TRACE("seed " + std::to_string(s));
        dice d{s};
        std::vector<int> own(d.below(7)), skip(own.size()), values(own.size()), fitting;
        for (auto* v : {&own, &values})
            for (auto& x : *v) x = static_cast<int>(d.below(3)) - 1;
        for (auto& x : skip) x = d.below(3) == 0;
        auto const how = all_comparisons[d.below(6)];
        bool const one = d.coin(), skips = d.coin();
        int const value = static_cast<int>(d.below(3)) - 1;
        auto const* const left_out = skips ? skip.data() : nullptr;
        auto const w = one ? watched<int>{own.data(), own.size(), left_out, how, value}
                           : watched<int>{own.data(), own.size(), left_out, how, values.data()};
        std::size_t counted = 0;
        for (std::size_t i = 0; i < own.size(); ++i) {
            if (skips && skip[i]) continue;
            ++counted;
            if (holds(own[i], how, one ? value : values[i])) fitting.push_back(static_cast<int>(i));
        }
        EXPECT_EQ(test_all(w), fitting.size() == counted);
        EXPECT_EQ(test_any(w), fitting.empty() ? none_fits : static_cast<std::size_t>(fitting[0]));
        auto const found = test_any(w, turns{}.next());
        EXPECT_EQ(found == none_fits, fitting.empty());
        if (found != none_fits) { EXPECT_TRUE(std::ranges::count(fitting, static_cast<int>(found))); }
        std::vector<std::size_t> which(own.size() + 1);
        ASSERT_EQ(test_some(w, which.data()), fitting.size());
        for (std::size_t i = 0; i < fitting.size(); ++i) EXPECT_EQ(which[i], static_cast<std::size_t>(fitting[i]));
    }
}

/// Also where other looks come in between, in any rhythm; one that does not count, or does not fit, never comes.
TEST(shmem_compare, a_series_of_looks_for_any_comes_to_each_that_fits) {
    for (std::size_t n = 1; n <= 40; ++n)
        for (int rhythm = 1; rhythm <= 4; ++rhythm) {
            SCOPED_TRACE(std::to_string(n) + " elements, of which every call in " + std::to_string(rhythm) + " is for these");
            std::vector<int> own(n, 1), skip(n), came(n);
            if (n > 2) own[n / 2] = 0, skip[n - 1] = 1;
            watched<int> const w{own.data(), n, skip.data(), comparison::eq, 1};
            turns mine;
            for (std::size_t call = 0; call < 20 * n; ++call) {
                for (int others = 1; others < rhythm; ++others) mine.next();
                auto const i = test_any(w, mine.next());
                ASSERT_LT(i, n);
                ++came[i];
            }
            for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(came[i] != 0, own[i] == 1 && skip[i] == 0) << "element " << i;
        }
}

template <class Stack> using shmem_compare_jobs = pes<Stack>;
TYPED_TEST_SUITE(shmem_compare_jobs, wires);

/// PE 0 waits for words that the others write, in all forms.
TYPED_TEST(shmem_compare_jobs, whoever_waits_goes_on_when_others_have_written) {
    this->on(4, [&](auto& pe) {
        typename TestFixture::template array<int> flags{pe, 4};
        auto& m = pe.memory();
        std::vector<int> const mine_is_left_out{1, 0, 0, 0}, values{0, 10, 20, 30};
        auto const write = [&](int v) { pe->p(&flags[static_cast<std::size_t>(pe.me())], v, 0); };
        auto const of = [&](auto what) { return watched<int>{flags.data(), 4, mine_is_left_out.data(), comparison::eq, what}; };
        for (int round = 0; round < 20; ++round) {
            if (pe.me() != 0) write(1);
            else wait_until_all(m, of(1));
            pe.barrier_all();
            if (pe.me() == 1 + round % 3) write(2);
            if (pe.me() == 0) { EXPECT_EQ(wait_until_any(m, of(2)), static_cast<std::size_t>(1 + round % 3)); }
            pe.barrier_all();
            if (pe.me() != 0) write(10 * pe.me());
            if (pe.me() == 0) {
                wait_until_all(m, of(values.data()));
                std::size_t which[4]{};
                EXPECT_EQ(wait_until_some(m, of(values.data()), which), 3u);
                EXPECT_EQ(which[2], 3u);
            }
            pe.barrier_all();
        }
        std::vector<int> const none(4, 1);
        watched<int> const nothing{flags.data(), 4, none.data(), comparison::eq, 99};
        std::size_t which[4]{};
        wait_until_all(m, nothing);
        EXPECT_EQ(wait_until_any(m, nothing), none_fits);
        EXPECT_EQ(wait_until_some(m, nothing, which), 0u);
    });
}

TYPED_TEST(shmem_compare_jobs, who_tests_again_and_again_serves_the_others) {
    this->on_several([](auto& pe) {
        typename TestFixture::template array<long> a{pe, 2};
        pe->inc(&a[0], 0);
        if (pe.me() == 0)
            while (!pe.test(&a[0], comparison::eq, pe.size())) {}
        pe->inc(&a[1], pe.size() - 1);
        watched<long> const both{a.data(), 2, nullptr, comparison::ge, 1L};
        if (pe.me() == pe.size() - 1)
            while (pe.test_any(both) == none_fits) {}
        pe.barrier_all();
    });
}

/// While one waits for memory, the engine goes on: a large message of MPI's, which needs its sender, arrives.
TEST(shmem_compare, who_waits_for_memory_serves_messages) {
    mpt::local_job<mpt::local_stream_stack>(2, pes<mpt::local_stream_stack>::small(),
                                            [](mpt::environment<mpt::local_stream_stack>& mpi) {
                                                mpt::shmem::environment<mpt::local_stream_stack> pe{mpi.native()};
                                                mpt::shmem::array<long, mpt::local_stream_stack> flag{pe, 1};
                                                std::vector<double> data(200'000, 1.5);
                                                if (pe.me() == 0) {
                                                    auto r = mpi.world().isend(data, 1);
                                                    pe.wait_until(&flag[0], comparison::eq, 1);
                                                    r.wait();
                                                } else {
                                                    EXPECT_EQ(mpi.world().template recv<std::vector<double>>(0), data);
                                                    pe->p(&flag[0], 1, 0);
                                                }
                                            });
}

} // namespace
