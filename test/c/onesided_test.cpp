// Chapter 12 of the C interface: what is written, read and updated through windows by several at once, and requests.
#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <numeric>
#include <set>

#include "some_windows.hpp"

namespace {

using mpt::c::test::at;
using mpt::c::test::below;
using mpt::c::test::counter;
using mpt::c::test::ok;
using mpt::c::test::open_window;
using mpt::c::test::random_source;
using mpt::c::test::ranks;

// --- atomicity and exclusion ----------------------------------------------------------------------------------------------------

TEST(COneSided, EveryTicketIsDrawnOnce) {
    constexpr int each = 300;
    std::vector<long> drawn(3 * each);
    ranks(3, [&](int me, int) {
        counter const c;
        long const one = 1;
        MPI_Win_lock_all(0, c.win);
        for (int i = 0; i < each; ++i)
            EXPECT_EQ(MPI_Fetch_and_op(&one, &drawn[at(me * each + i)], MPI_LONG, 1, 0, MPI_SUM, c.win), MPI_SUCCESS);
        MPI_Win_unlock_all(c.win);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(1), 3 * each);
    });
    std::set<long> const all(drawn.begin(), drawn.end());
    EXPECT_EQ(all.size(), drawn.size());
    EXPECT_EQ(*all.rbegin(), 3 * each - 1);
}

TEST(COneSided, AnExclusiveLockLetsNobodyElseIn) {
    ranks(3, [](int, int) {
        counter const c;
        for (int i = 0; i < 100; ++i) {
            long x = -1;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, c.win);
            MPI_Get(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, c.win);
            MPI_Win_flush(0, c.win);
            ++x;
            MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, c.win);
            MPI_Win_unlock(0, c.win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(0), 300);
    });
}

TEST(COneSided, ASwapGoesToWhoExpectsWhatIsThere) {
    ranks(3, [](int, int) {
        counter const c;
        MPI_Win_lock_all(0, c.win);
        for (int done = 0; done < 50;) {
            long const seen = [&] {
                long x = -1;
                MPI_Fetch_and_op(nullptr, &x, MPI_LONG, 2, 0, MPI_NO_OP, c.win);
                MPI_Win_flush(2, c.win);
                return x;
            }();
            long const next = seen + 1;
            long found = -1;
            MPI_Compare_and_swap(&next, &seen, &found, MPI_LONG, 2, 0, c.win);
            MPI_Win_flush(2, c.win);
            if (found == seen) ++done;
        }
        MPI_Win_unlock_all(c.win);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(2), 150);
    });
}

TEST(COneSided, ATargetThatComputesNeedsNotCallMpi) {
    for (int flavor : {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC}) {
        std::promise<void> over;
        auto const done = over.get_future().share();
        ranks(2, [&](int me, int size) {
            open_window const w{flavor, size, false, sizeof(long)};
            MPI_Barrier(MPI_COMM_WORLD);
            if (me == 1) done.wait(); // outside MPI
            else {
                long x = 5, got = 0;
                for (int i = 0; i < 3; ++i) {
                    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
                    if (i == 0) ok(MPI_Put(&x, 1, MPI_LONG, 1, w.displacement(1, 3), 1, MPI_LONG, w.win));
                    else ok(MPI_Accumulate(&x, 1, MPI_LONG, 1, w.displacement(1, 3), 1, MPI_LONG, MPI_SUM, w.win));
                    MPI_Win_unlock(1, w.win);
                }
                MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w.win);
                MPI_Get(&got, 1, MPI_LONG, 1, w.displacement(1, 3), 1, MPI_LONG, w.win);
                MPI_Win_unlock(1, w.win);
                EXPECT_EQ(got, 15);
                over.set_value();
            }
        });
    }
}

// --- threads --------------------------------------------------------------------------------------------------------------------

/// What threads of all ranks do to one window at once: to places of their own, which nobody else touches, and to counters of all.
class crowd {
    static constexpr int tickets = 0, sum = 1, swapped = 2, fetched_sum = 3, row = 4, row_length = 8, places = row + row_length;
    int size_, threads_;

public:
    MPI_Win win = MPI_WIN_NULL;
    std::vector<long> mine;

    crowd(int flavor, int size, int threads) : size_{size}, threads_{threads} {
        auto const n = places + size * threads;
        auto const bytes = MPI_Aint{n} * MPI_Aint{sizeof(long)};
        mine.resize(at(n));
        if (flavor == MPI_WIN_FLAVOR_CREATE)
            MPI_Win_create(mine.data(), bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else {
            MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &win);
            std::fill_n(base_, n, 0L);
        }
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~crowd() { EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS); }

    /// What one thread has done to the ranks' counters, and the tickets that it drew.
    struct tally {
        std::vector<long> sums, fetched_sums, swaps, rows;
        std::vector<std::pair<int, long>> tickets;
        explicit tally(int size) : sums(at(size)), fetched_sums(sums), swaps(sums), rows(sums) {}
    };

    void act(random_source& random, int me, int thread, std::vector<long>& own, tally& t) {
        int const to = below(random, size_);
        long const x = 1 + below(random, 100), one = 1;
        MPI_Aint const place = places + me * threads_ + thread;
        long got = -1;
        MPI_Request r = MPI_REQUEST_NULL;
        switch (below(random, 8)) {
        case 0:
            ok(MPI_Put(&x, 1, MPI_LONG, to, place, 1, MPI_LONG, win)), ok(MPI_Win_flush(to, win));
            own[at(to)] = x;
            break;
        case 1:
            ok(MPI_Rput(&x, 1, MPI_LONG, to, place, 1, MPI_LONG, win, &r)), ok(MPI_Wait(&r, MPI_STATUS_IGNORE));
            ok(MPI_Win_flush_all(win));
            own[at(to)] = x;
            break;
        case 2:
            ok(MPI_Rget(&got, 1, MPI_LONG, to, place, 1, MPI_LONG, win, &r)), ok(MPI_Wait(&r, MPI_STATUS_IGNORE));
            EXPECT_EQ(got, own[at(to)]);
            break;
        case 3:
            ok(MPI_Fetch_and_op(&one, &got, MPI_LONG, to, tickets, MPI_SUM, win)), ok(MPI_Win_flush_local(to, win));
            t.tickets.emplace_back(to, got);
            break;
        case 4: ok(MPI_Accumulate(&x, 1, MPI_LONG, to, sum, 1, MPI_LONG, MPI_SUM, win)), t.sums[at(to)] += x; break;
        case 5:
            ok(MPI_Rget_accumulate(&x, 1, MPI_LONG, &got, 1, MPI_LONG, to, fetched_sum, 1, MPI_LONG, MPI_SUM, win, &r));
            ok(MPI_Wait(&r, MPI_STATUS_IGNORE));
            EXPECT_GE(got, t.fetched_sums[at(to)]) << "at least what we have added ourselves";
            t.fetched_sums[at(to)] += x;
            break;
        case 6: swap(to), ++t.swaps[at(to)]; break;
        case 7: add_row(to, x, r), t.rows[at(to)] += x; break;
        }
    }
    void add_row(int to, long x, MPI_Request r = MPI_REQUEST_NULL) {
        std::vector<long> const all(row_length, x);
        ok(MPI_Raccumulate(all.data(), row_length, MPI_LONG, to, row, row_length, MPI_LONG, MPI_SUM, win, &r));
        ok(MPI_Wait(&r, MPI_STATUS_IGNORE)), ok(MPI_Win_flush_local_all(win));
    }
    /// Adds one, by a swap.
    void swap(int to) {
        long seen = 0, found = -1;
        for (;; seen = found) {
            long const next = seen + 1;
            ok(MPI_Compare_and_swap(&next, &seen, &found, MPI_LONG, to, swapped, win)), ok(MPI_Win_flush(to, win));
            if (found == seen) return;
        }
    }
    /// Adds one to each of a row, alone with it, by reading and writing.
    void rewrite_row(int to) {
        long all[row_length];
        ok(MPI_Get(all, row_length, MPI_LONG, to, row, row_length, MPI_LONG, win)), ok(MPI_Win_flush(to, win));
        for (auto& x : all) ++x;
        ok(MPI_Put(all, row_length, MPI_LONG, to, row, row_length, MPI_LONG, win)), ok(MPI_Win_flush(to, win));
    }

    /// The counters are what all threads together have made of them, and no ticket was drawn twice.
    void expect(int me, std::vector<tally> const& mine_did) {
        std::vector<long> did(at(4 * size_)), all(did.size());
        std::vector<int> drawn(at(size_ * most_tickets));
        for (auto const& t : mine_did) {
            for (int r = 0; r < size_; ++r) {
                long const four[] = {t.sums[at(r)], t.swaps[at(r)], t.fetched_sums[at(r)], t.rows[at(r)]};
                for (int i = 0; i < 4; ++i) did[at(4 * r + i)] += four[i];
            }
            for (auto [to, ticket] : t.tickets) ++drawn.at(at(to * most_tickets) + static_cast<std::size_t>(ticket));
        }
        MPI_Allreduce(did.data(), all.data(), 4 * size_, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, drawn.data(), size_ * most_tickets, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        std::vector<long> is(at(places));
        MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
        MPI_Get(is.data(), places, MPI_LONG, me, 0, places, MPI_LONG, win);
        MPI_Win_unlock(me, win);
        for (int i = 0; i < most_tickets; ++i) EXPECT_EQ(drawn[at(me * most_tickets + i)], i < is[tickets] ? 1 : 0) << i;
        for (int i = 0; i < 3; ++i) EXPECT_EQ(is[at(sum + i)], all[at(4 * me + i)]) << "counter " << i;
        for (int i = 0; i < row_length; ++i) EXPECT_EQ(is[at(row + i)], all[at(4 * me + 3)]) << "row, element " << i;
    }

private:
    static constexpr int most_tickets = 4000;
    long* base_ = nullptr;
};

TEST(COneSided, ThreadsOfAllRanksShareAWindow) {
    constexpr int threads = 3, turns = 150;
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int const flavor : {MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_CREATE})
        ranks(3, [&](int me, int size) {
            crowd c{flavor, size, threads};
            std::vector<crowd::tally> did(at(threads), crowd::tally{size});
            auto const everybody = [&](auto const& f) {
                std::vector<std::thread> all;
                for (int t = 0; t < threads; ++t) all.push_back(mpt::c::test::thread_of_rank([&, t] { f(t); }));
                for (auto& t : all) t.join();
            };
            MPI_Win_lock_all(0, c.win);
            everybody([&](int t) {
                random_source random{seed + static_cast<unsigned>(me * threads + t)};
                std::vector<long> own(at(size));
                for (int i = 0; i < turns; ++i) c.act(random, me, t, own, did[at(t)]);
            });
            MPI_Win_unlock_all(c.win);
            MPI_Barrier(MPI_COMM_WORLD);
            c.expect(me, did);
            MPI_Barrier(MPI_COMM_WORLD);
            // Each thread locks a target of its own; who has it alone reads and writes what others update.
            everybody([&](int t) {
                int const to = (me + t) % size;
                for (int i = 0; i < turns / 3; ++i) {
                    bool const alone = i % 2 == 0;
                    ok(MPI_Win_lock(alone ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, to, 0, c.win));
                    if (alone) c.rewrite_row(to), ++did[at(t)].rows[at(to)];
                    c.add_row(to, 2), did[at(t)].rows[at(to)] += 2;
                    c.swap(to), ++did[at(t)].swaps[at(to)];
                    ok(MPI_Win_unlock(to, c.win));
                }
            });
            MPI_Barrier(MPI_COMM_WORLD);
            c.expect(me, did);
            MPI_Barrier(MPI_COMM_WORLD);
        });
}

// --- requests -------------------------------------------------------------------------------------------------------------------

TEST(COneSided, OneThreadExposesWhileAnotherAccesses) {
    ranks(2, [](int me, int) {
        constexpr int rounds = 100;
        counter const c;
        MPI_Group all = MPI_GROUP_NULL, other = MPI_GROUP_NULL;
        int const it = 1 - me;
        MPI_Win_get_group(c.win, &all);
        MPI_Group_incl(all, 1, &it, &other);
        auto exposing = mpt::c::test::thread_of_rank([&] {
            for (int i = 0; i < rounds; ++i) {
                EXPECT_EQ(MPI_Win_post(other, 0, c.win), MPI_SUCCESS);
                int over = i % 2;
                if (over) MPI_Win_wait(c.win);
                while (!over) MPI_Win_test(c.win, &over);
                EXPECT_EQ(*c.mine, i + 1);
            }
        });
        for (long i = 1; i <= rounds; ++i) {
            EXPECT_EQ(MPI_Win_start(other, 0, c.win), MPI_SUCCESS);
            EXPECT_EQ(MPI_Put(&i, 1, MPI_LONG, it, 0, 1, MPI_LONG, c.win), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_complete(c.win), MPI_SUCCESS);
        }
        exposing.join();
        MPI_Group_free(&all);
        MPI_Group_free(&other);
    });
}

TEST(COneSided, RequestsAreWaitedForInEveryWay) {
    ranks(2, [](int me, int) {
        counter const c;
        long const x = 3;
        long got[4] = {-1, -1, -1, -1};
        MPI_Request r[4];
        for (auto& one : r) one = MPI_REQUEST_NULL;
        MPI_Status all[4];
        MPI_Win_lock_all(0, c.win);
        MPI_Raccumulate(&x, 1, MPI_LONG, me, 0, 1, MPI_LONG, MPI_SUM, c.win, &r[0]);
        EXPECT_NE(r[0], MPI_REQUEST_NULL);
        EXPECT_EQ(MPI_Wait(&r[0], &all[0]), MPI_SUCCESS);
        EXPECT_EQ(r[0], MPI_REQUEST_NULL);
        MPI_Win_flush(me, c.win);
        for (int i = 0; i < 4; ++i) MPI_Rget(&got[i], 1, MPI_LONG, me, 0, 1, MPI_LONG, c.win, &r[i]);
        int flag = 0, index = -1;
        EXPECT_EQ(MPI_Request_get_status(r[3], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_TRUE(flag);
        EXPECT_EQ(MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(got[index], 3);
        EXPECT_EQ(MPI_Request_free(&r[index == 1 ? 2 : 1]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Waitall(4, r, all), MPI_SUCCESS);
        for (auto one : r) EXPECT_EQ(one, MPI_REQUEST_NULL);
        MPI_Win_unlock_all(c.win);
        for (long g : got) EXPECT_EQ(g, 3);
    });
}

/// Which the standard leaves out; MPICH and Open MPI take them, and programs use that.
TEST(COneSided, LettersAreComparedAndSwapped) {
    ranks(2, [](int me, int) {
        counter const c;
        MPI_Win_lock_all(0, c.win);
        std::string found;
        if (char before = 0; me == 0)
            for (char const next : {'a', 'b', 'c'}) {
                char was = '?';
                EXPECT_EQ(MPI_Compare_and_swap(&next, &before, &was, MPI_CHAR, 1, 0, c.win), MPI_SUCCESS);
                MPI_Win_flush(1, c.win);
                found += was;
                before = 'a'; // so that the last one fails
            }
        MPI_Win_unlock_all(c.win);
        EXPECT_EQ(found, me == 0 ? std::string("\0ab", 3) : std::string{});
    });
}

} // namespace
