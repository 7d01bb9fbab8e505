// Requests by the C interface: completion families, matched probes, buffers of buffered sends. Persistent ones: persistent_test.cpp.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "../support/dice.hpp"
#include "ranks.hpp"
#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::expect_pending;
using mpt::c::test::huge;
using mpt::c::test::numbers_from;
using mpt::c::test::ranks;
using mpt::c::test::thread_of_rank;

template <class T> T* at(std::vector<T>& v, int i) { return &v[static_cast<std::size_t>(i)]; }
template <class T> T const* at(std::vector<T> const& v, int i) { return &v[static_cast<std::size_t>(i)]; }

void expect_empty(MPI_Status const& s) {
    int count = -1, cancelled = -1;
    MPI_Get_count(&s, MPI_BYTE, &count);
    MPI_Test_cancelled(&s, &cancelled);
    EXPECT_EQ(s.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(s.MPI_TAG, MPI_ANY_TAG);
    EXPECT_EQ(count, 0);
    EXPECT_FALSE(cancelled);
}
void expect_message(MPI_Status const& s, int source, int tag, int ints) {
    int count = -1;
    MPI_Get_count(&s, MPI_INT, &count);
    EXPECT_EQ(s.MPI_SOURCE, source);
    EXPECT_EQ(s.MPI_TAG, tag);
    EXPECT_EQ(count, ints);
}

/// Requests of a rank that sends to itself: receives (the message's tag is the place), null and inactive ones; and which are done.
struct field {
    std::vector<MPI_Request> handles;
    std::vector<int> data, waiting, done; // waiting: receives whose message was not sent
    MPI_Request inactive = MPI_REQUEST_NULL;

    field(std::mt19937& random, int n) : handles(static_cast<std::size_t>(n), MPI_REQUEST_NULL), data(handles.size(), -1) {
        MPI_Recv_init(nullptr, 0, MPI_INT, 0, 999, MPI_COMM_SELF, &inactive);
        bool const some_inactive = random() % 2 != 0;
        for (int i = 0; i < n; ++i) {
            if (random() % 4 == 0) {
                if (some_inactive && std::ranges::count(handles, inactive) == 0) *at(handles, i) = inactive;
                continue;
            }
            MPI_Irecv(at(data, i), 1, MPI_INT, 0, i, MPI_COMM_SELF, at(handles, i));
            waiting.push_back(i);
        }
        std::ranges::shuffle(waiting, random);
    }
    ~field() { MPI_Request_free(&inactive); }
    int size() const { return static_cast<int>(handles.size()); }
    bool is_done(int i) const { return std::ranges::count(done, i) == 1; }
    /// Sends one more message.
    int send() {
        int const i = waiting.back(), value = 100 + i;
        waiting.pop_back();
        MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_SELF);
        done.push_back(i);
        return i;
    }
};

void expect_some_told(field& f) {
    int count = -1;
    std::vector<int> which(f.handles.size() + 1);
    std::vector<MPI_Status> statuses(f.handles.size() + 1);
    do {
        EXPECT_EQ(MPI_Request_get_status_some(f.size(), f.handles.data(), &count, which.data(), statuses.data()), MPI_SUCCESS);
    } while (count != MPI_UNDEFINED && count < static_cast<int>(f.done.size()));
    if (f.waiting.empty() && f.done.empty()) {
        EXPECT_EQ(count, MPI_UNDEFINED);
        return;
    }
    ASSERT_EQ(count, static_cast<int>(f.done.size()));
    for (int k = 0; k < count; ++k) {
        EXPECT_TRUE(f.is_done(*at(which, k)));
        EXPECT_EQ(std::count(which.begin(), which.begin() + count, *at(which, k)), 1);
        expect_message(*at(statuses, k), 0, *at(which, k), 1);
    }
}
void expect_any_told(field& f) {
    int index = -7, flag = -1;
    MPI_Status s{};
    EXPECT_EQ(MPI_Request_get_status_any(f.size(), f.handles.data(), &index, &flag, &s), MPI_SUCCESS);
    bool const nothing_active = f.waiting.empty() && f.done.empty();
    EXPECT_EQ(flag != 0, nothing_active || !f.done.empty());
    if (f.done.empty()) {
        EXPECT_EQ(index, MPI_UNDEFINED);
    } else {
        EXPECT_TRUE(f.is_done(index));
        expect_message(s, 0, index, 1);
    }
    if (nothing_active) expect_empty(s);
}
void expect_all_told(field& f) {
    int flag = -1;
    std::vector<MPI_Status> statuses(f.handles.size() + 1);
    EXPECT_EQ(MPI_Request_get_status_all(f.size(), f.handles.data(), &flag, statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(flag != 0, f.waiting.empty());
    for (int i = 0; flag && i < f.size(); ++i) {
        if (f.is_done(i)) expect_message(*at(statuses, i), 0, i, 1);
        else expect_empty(*at(statuses, i));
    }
}

TEST(CRequests, AskingTellsWhatIsCompleteAndFreesNothing) {
    mpt::test::seeds const seeds{60};
    ranks(1, [&](int, int) {
        for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !HasFailure(); ++seed) {
            SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
            std::mt19937 random{seed};
            field f{random, static_cast<int>(random() % 9)};
            auto const before = f.handles;
            for (;; f.send()) {
                expect_some_told(f);
                expect_any_told(f);
                expect_all_told(f);
                EXPECT_EQ(f.handles, before);
                if (f.waiting.empty()) break;
            }
            for (int i = 0; i < f.size(); ++i) EXPECT_EQ(*at(f.data, i), f.is_done(i) ? 100 + i : -1);
            EXPECT_EQ(MPI_Waitall(f.size(), f.handles.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        }
    });
}

/// One more is asked for: the one that was sent, or none.
void expect_one_taken(field& f, std::optional<int> sent) {
    int index = -7, flag = 0;
    MPI_Status s{};
    auto const before = f.handles;
    do { EXPECT_EQ(MPI_Testany(f.size(), f.handles.data(), &index, &flag, &s), MPI_SUCCESS); } while (sent && !flag);
    EXPECT_EQ(flag != 0, sent || f.waiting.empty());
    EXPECT_EQ(index, sent ? *sent : MPI_UNDEFINED);
    if (sent) expect_message(s, 0, *sent, 1);
    else if (f.waiting.empty()) expect_empty(s);
    for (int i = 0; i < f.size(); ++i)
        EXPECT_EQ(*at(f.handles, i), i == sent ? MPI_REQUEST_NULL : before[static_cast<std::size_t>(i)]);
}

TEST(CRequests, OneThatIsCompleteIsTakenOutAndNoOther) {
    mpt::test::seeds const seeds{60};
    ranks(1, [&](int, int) {
        for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !HasFailure(); ++seed) {
            SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
            std::mt19937 random{seed};
            field f{random, static_cast<int>(random() % 9)};
            expect_one_taken(f, std::nullopt);
            while (!f.waiting.empty()) {
                int const i = f.send();
                expect_one_taken(f, i);
                EXPECT_EQ(*at(f.data, i), 100 + i);
                expect_one_taken(f, std::nullopt);
            }
        }
    });
}

TEST(CRequests, AStartedReadySendMeetsItsReceive) {
    ranks(2, [](int me, int) {
        for (int n : {0, 3, 50000}) {
            auto const out = numbers_from(n, n);
            std::vector<int> in(out.size());
            MPI_Request r = MPI_REQUEST_NULL;
            MPI_Status s{};
            if (me == 1) MPI_Irecv(in.data(), n, MPI_INT, 0, 4, MPI_COMM_WORLD, &r);
            MPI_Barrier(MPI_COMM_WORLD);
            if (me == 0) MPI_Irsend(out.data(), n, MPI_INT, 1, 4, MPI_COMM_WORLD, &r);
            EXPECT_NE(r, MPI_REQUEST_NULL);
            EXPECT_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
            if (me == 1) expect_message(s, 0, 4, n);
            EXPECT_EQ(in, me == 1 ? out : std::vector<int>(out.size()));
        }
    });
}

TEST(CRequests, ASendAndAReceiveAreCompleteAsOne) {
    ranks(3, [](int me, int size) {
        int const right = (me + 1) % size, left = (me + size - 1) % size;
        auto const out = numbers_from(me, 3000 * (me + 1));
        std::vector<int> in(9000, -1);
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Status s{};
        int flag = 0;
        EXPECT_EQ(MPI_Isendrecv(out.data(), 3000 * (me + 1), MPI_INT, right, me, in.data(), 9000, MPI_INT, left, MPI_ANY_TAG,
                                MPI_COMM_WORLD, &r),
                  MPI_SUCCESS);
        while (!flag) MPI_Test(&r, &flag, &s);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        expect_message(s, left, left, 3000 * (left + 1));
        EXPECT_TRUE(std::equal(in.begin(), in.begin() + 3000 * (left + 1), numbers_from(left, 3000 * (left + 1)).begin()));
        EXPECT_EQ(in.back(), left == 2 ? 9001 : -1);
        int x = 5; // to nobody and from nobody
        MPI_Isendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, &x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
        EXPECT_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
        EXPECT_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
        EXPECT_EQ(x, 5);
        expect_failure(MPI_Isendrecv(&x, 1, MPI_INT, 3, 0, &x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &r), MPI_ERR_RANK,
                       {"MPI_Isendrecv", "dest is 3"});
    });
}

TEST(CRequests, ALookAtAMessageTakesItOutOfMatching) {
    ranks(1, [](int, int) {
        MPI_Message m = MPI_MESSAGE_NO_PROC, other = MPI_MESSAGE_NULL;
        MPI_Status s{};
        int flag = -1;
        EXPECT_EQ(MPI_Improbe(0, 4, MPI_COMM_SELF, &flag, &m, &s), MPI_SUCCESS);
        EXPECT_FALSE(flag);
        EXPECT_EQ(m, MPI_MESSAGE_NULL);
        for (int n : {3, 4, 5}) MPI_Send(numbers_from(n, n).data(), n, MPI_INT, 0, n, MPI_COMM_SELF);
        while (!flag) EXPECT_EQ(MPI_Improbe(0, 4, MPI_COMM_SELF, &flag, &m, &s), MPI_SUCCESS);
        expect_message(s, 0, 4, 4);
        EXPECT_EQ(MPI_Improbe(MPI_ANY_SOURCE, 4, MPI_COMM_SELF, &flag, &other, &s), MPI_SUCCESS);
        EXPECT_FALSE(flag);
        for (int n : {3, 5}) { // in the order of sending, without the one that was taken
            std::vector<int> in(5);
            for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &other, &s);
            expect_message(s, 0, n, n);
            EXPECT_EQ(MPI_Mrecv(in.data(), 5, MPI_INT, &other, &s), MPI_SUCCESS);
            in.resize(static_cast<std::size_t>(n));
            EXPECT_EQ(in, numbers_from(n, n));
        }
        std::vector<int> in(4);
        EXPECT_EQ(MPI_Mrecv(in.data(), 4, MPI_INT, &m, &s), MPI_SUCCESS);
        EXPECT_EQ(in, numbers_from(4, 4));
        EXPECT_EQ(m, MPI_MESSAGE_NULL);
        EXPECT_EQ(MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_SELF, &flag, &m, &s), MPI_SUCCESS);
        EXPECT_TRUE(flag);
        EXPECT_EQ(m, MPI_MESSAGE_NO_PROC);
        EXPECT_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
        expect_failure(MPI_Improbe(1, 0, MPI_COMM_SELF, &flag, &m, &s), MPI_ERR_RANK, {"MPI_Improbe", "source is 1"});
    });
}

/// A buffer for buffered sends, the process's or a communicator's, and the functions that belong to it.
struct buffer {
    MPI_Comm own; // MPI_COMM_NULL: the process's

    bool of_process() const { return own == MPI_COMM_NULL; }
    int attach(void* p, int n) const { return of_process() ? MPI_Buffer_attach(p, n) : MPI_Comm_attach_buffer(own, p, n); }
    int detach(void* p, int* n) const { return of_process() ? MPI_Buffer_detach(p, n) : MPI_Comm_detach_buffer(own, p, n); }
    int flush() const { return of_process() ? MPI_Buffer_flush() : MPI_Comm_flush_buffer(own); }
    int iflush(MPI_Request* r) const { return of_process() ? MPI_Buffer_iflush(r) : MPI_Comm_iflush_buffer(own, r); }
};

/// A message that fills the buffer is sent from rank 0 to rank 1, which receives it when it is told. What rank 0 does then to
/// wait must not end before rank 1 has begun.
void flush_one(int me, buffer const& b, MPI_Comm c, bool later) {
    static std::mutex lock;
    static bool begun;
    auto const out = numbers_from(me, huge);
    if (me == 1) {
        std::vector<int> in(out.size());
        MPI_Recv(nullptr, 0, MPI_INT, 0, 8, c, MPI_STATUS_IGNORE);
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();
        std::unique_lock g{lock};
        begun = true;
        g.unlock();
        MPI_Recv(in.data(), huge, MPI_INT, 0, 7, c, MPI_STATUS_IGNORE);
        EXPECT_EQ(in, numbers_from(0, huge));
        return;
    }
    MPI_Request r = MPI_REQUEST_NULL;
    begun = false;
    EXPECT_EQ(MPI_Bsend(out.data(), huge, MPI_INT, 1, 7, c), MPI_SUCCESS);
    if (later) {
        EXPECT_EQ(b.iflush(&r), MPI_SUCCESS);
        expect_pending(r);
    }
    MPI_Send(nullptr, 0, MPI_INT, 1, 8, c);
    EXPECT_EQ(later ? MPI_Wait(&r, MPI_STATUS_IGNORE) : b.flush(), MPI_SUCCESS);
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    std::unique_lock g{lock};
    EXPECT_TRUE(begun);
}

TEST(CRequests, AFlushedBufferIsEmptyWhoseverItIs) {
    ranks(2, [](int me, int) {
        auto const twin = dup_of(MPI_COMM_WORLD);
        for (buffer const b : {buffer{MPI_COMM_NULL}, buffer{twin}}) {
            std::vector<std::byte> room(huge * sizeof(int) + MPI_BSEND_OVERHEAD);
            auto const bytes = static_cast<int>(room.size());
            if (me == 0) { EXPECT_EQ(b.attach(room.data(), bytes), MPI_SUCCESS); }
            for (bool later : {false, true, false}) flush_one(me, b, twin, later);
            if (me == 1) continue;
            void* back = nullptr;
            int size = 0;
            EXPECT_EQ(b.detach(&back, &size), MPI_SUCCESS);
            EXPECT_EQ(back, room.data());
            EXPECT_EQ(size, bytes);
            expect_failure(b.detach(&back, &size), MPI_ERR_BUFFER, {"no buffer is attached"});
            MPI_Request r = MPI_REQUEST_NULL; // nothing is there: nothing to wait for
            EXPECT_EQ(b.flush(), MPI_SUCCESS);
            EXPECT_EQ(b.iflush(&r), MPI_SUCCESS);
            EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        MPI_Comm twice = twin;
        MPI_Comm_free(&twice);
    });
}

/// Both sides swap windows of messages, in which sends and receives end in any order; more of them than were ever alive before.
void swap_windows(MPI_Comm on, int me, int rounds) {
    constexpr int window = 100;
    for (int k = 0; k < rounds; ++k) {
        std::vector<int> const out = numbers_from(1000 * me + k, window);
        std::vector<int> in(window, -1);
        std::vector<MPI_Request> all(2 * window);
        for (int i = 0; i < window; ++i) MPI_Irecv(at(in, i), 1, MPI_INT, 1 - me, i, on, at(all, 2 * i));
        for (int i = window; i-- > 0;) MPI_Isend(at(out, i), 1, MPI_INT, 1 - me, i, on, at(all, 2 * i + 1));
        EXPECT_EQ(MPI_Waitall(2 * window, all.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(in, numbers_from(1000 * (1 - me) + k, window));
        EXPECT_EQ(std::count(all.begin(), all.end(), MPI_REQUEST_NULL), 2 * window);
    }
}

TEST(CRequests, WindowsOfMessagesByOneThread) {
    mpt::c::test::processes(2, [](int me, int) {
        MPI_Init(nullptr, nullptr);
        swap_windows(MPI_COMM_WORLD, me, 20);
        MPI_Finalize();
    });
}

TEST(CRequests, WindowsOfMessagesByThreeThreadsAtOnce) {
    ranks(2, [](int me, int) {
        MPI_Comm own[3];
        for (auto& c : own) c = dup_of(MPI_COMM_WORLD);
        std::vector<std::thread> others;
        for (int t = 1; t < 3; ++t) others.push_back(thread_of_rank([&, t] { swap_windows(own[t], me, 20); }));
        swap_windows(own[0], me, 20);
        for (auto& t : others) t.join();
        for (auto& c : own) MPI_Comm_free(&c);
    });
}

TEST(CRequests, WhileOneThreadFlushesAnotherSendsWhatThePeerWaitsFor) {
    ranks(2, [](int me, int) {
        if (me == 1) {
            std::vector<int> in(huge);
            int first = 0;
            MPI_Recv(&first, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            EXPECT_EQ(first, 5);
            MPI_Recv(in.data(), huge, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            EXPECT_EQ(in, numbers_from(0, huge));
            return;
        }
        std::vector<std::byte> room(huge * sizeof(int) + sizeof(int) + 2 * MPI_BSEND_OVERHEAD);
        EXPECT_EQ(MPI_Buffer_attach(room.data(), static_cast<int>(room.size())), MPI_SUCCESS);
        auto const out = numbers_from(0, huge);
        EXPECT_EQ(MPI_Bsend(out.data(), huge, MPI_INT, 1, 7, MPI_COMM_WORLD), MPI_SUCCESS);
        auto other = thread_of_rank([] {
            for (int i = 0; i < 1000; ++i) std::this_thread::yield(); // the flush has most likely begun
            int const x = 5;
            EXPECT_EQ(MPI_Bsend(&x, 1, MPI_INT, 1, 9, MPI_COMM_WORLD), MPI_SUCCESS);
        });
        EXPECT_EQ(MPI_Buffer_flush(), MPI_SUCCESS);
        other.join();
        void* back = nullptr;
        int size = 0;
        EXPECT_EQ(MPI_Buffer_detach(&back, &size), MPI_SUCCESS);
        EXPECT_EQ(back, room.data());
    });
}

TEST(CRequests, ACommunicatorsBufferServesItAlone) {
    ranks(1, [](int, int) {
        auto twin = dup_of(MPI_COMM_WORLD);
        std::vector<std::byte> room(2000);
        int x = 6, y = 0;
        EXPECT_EQ(MPI_Comm_attach_buffer(twin, room.data(), 2000), MPI_SUCCESS);
        expect_failure(MPI_Comm_attach_buffer(twin, room.data(), 2000), MPI_ERR_BUFFER, {"2000 bytes is attached already"});
        EXPECT_EQ(MPI_Bsend(&x, 1, MPI_INT, 0, 1, twin), MPI_SUCCESS);
        MPI_Recv(&y, 1, MPI_INT, 0, 1, twin, MPI_STATUS_IGNORE);
        EXPECT_EQ(y, 6);
        expect_failure(MPI_Bsend(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER, {"no buffer is attached"});
        void* back = nullptr;
        int size = 0;
        EXPECT_EQ(MPI_Comm_detach_buffer(twin, &back, &size), MPI_SUCCESS);
        EXPECT_EQ(size, 2000);
        EXPECT_EQ(MPI_Comm_attach_buffer(twin, MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS); // room without end
        auto const out = numbers_from(4, huge);
        std::vector<int> in(out.size());
        EXPECT_EQ(MPI_Bsend(out.data(), huge, MPI_INT, 0, 1, twin), MPI_SUCCESS);
        MPI_Recv(in.data(), huge, MPI_INT, 0, 1, twin, MPI_STATUS_IGNORE);
        EXPECT_EQ(in, out);
        EXPECT_EQ(MPI_Comm_detach_buffer(twin, &back, &size), MPI_SUCCESS);
        EXPECT_EQ(back, MPI_BUFFER_AUTOMATIC);
        MPI_Comm_free(&twin);
        expect_failure(MPI_Comm_flush_buffer(MPI_COMM_NULL), MPI_ERR_COMM, {"MPI_Comm_flush_buffer", "MPI_COMM_NULL"});
        MPI_Request r = MPI_REQUEST_NULL;
        expect_failure(MPI_Comm_iflush_buffer(MPI_COMM_NULL, &r), MPI_ERR_COMM, {"MPI_COMM_NULL"});
        expect_failure(MPI_Buffer_iflush(nullptr), MPI_ERR_ARG, {"request is a null pointer"});
    });
}

/// What is asked of a send that has left already, by every function that asks.
TEST(CRequests, SendsThatHaveLeftAreCompleteHoweverTheyAreAskedFor) {
    ranks(1, [](int, int) {
        auto const begun = [](int n) {
            std::vector<MPI_Request> all(static_cast<std::size_t>(n), MPI_REQUEST_NULL);
            for (auto& r : all) {
                EXPECT_EQ(MPI_Isend(&n, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &r), MPI_SUCCESS);
                EXPECT_NE(r, MPI_REQUEST_NULL);
            }
            return all;
        };
        auto const none = [](std::vector<MPI_Request> const& all) { return std::ranges::count(all, MPI_REQUEST_NULL); };
        MPI_Status s{}, statuses[3]{};
        int flag = 0, index = -1, count = 0, which[3]{};
        auto all = begun(3);
        EXPECT_EQ(MPI_Request_get_status(all[1], &flag, &s), MPI_SUCCESS);
        EXPECT_TRUE(flag);
        expect_empty(s);
        expect_failure(MPI_Start(&all[0]), MPI_ERR_REQUEST, {"not persistent"});
        EXPECT_EQ(MPI_Cancel(&all[0]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&all[0], &s), MPI_SUCCESS);
        expect_empty(s);
        EXPECT_EQ(MPI_Test(&all[1], &flag, &s), MPI_SUCCESS);
        EXPECT_TRUE(flag);
        EXPECT_EQ(MPI_Request_free(&all[2]), MPI_SUCCESS);
        EXPECT_EQ(none(all), 3);
        all = begun(3);
        EXPECT_EQ(MPI_Waitany(3, all.data(), &index, &s), MPI_SUCCESS);
        EXPECT_EQ(none(all), 1);
        EXPECT_EQ(*at(all, index), MPI_REQUEST_NULL);
        EXPECT_EQ(MPI_Waitsome(3, all.data(), &count, which, statuses), MPI_SUCCESS);
        EXPECT_EQ(count, 2);
        EXPECT_EQ(none(all), 3);
        all = begun(3);
        EXPECT_EQ(MPI_Testall(3, all.data(), &flag, statuses), MPI_SUCCESS);
        EXPECT_TRUE(flag);
        for (auto const& told : statuses) expect_empty(told);
        EXPECT_EQ(none(all), 3);
        for (int i = 0, x = 0; i < 9; ++i) MPI_Recv(&x, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Request nobody = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Isend(&flag, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_SELF, &nobody), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&nobody, &s), MPI_SUCCESS);
        expect_empty(s);
    });
}

/// Rank 1 begins n receives of an int each from rank 0, which sends number i the value i and tag i % 3.
void stream_of_ints(int me, int n, MPI_Comm c, bool freed_early, int too_long) {
    std::vector<int> in(static_cast<std::size_t>(n), -1);
    std::vector<MPI_Request> all(in.size(), MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(in.size());
    for (int i = 0; me == 1 && i < n; ++i) MPI_Irecv(at(in, i), 1, MPI_INT, 0, i % 3, c, at(all, i));
    if (me == 1 && freed_early) MPI_Comm_free(&c);
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<int> out(2 * in.size());
    for (int i = 0; me == 0 && i < n; ++i) {
        *at(out, 2 * i) = i;
        EXPECT_EQ(MPI_Isend(at(out, 2 * i), i == too_long ? 2 : 1, MPI_INT, 1, i % 3, c, at(all, i)), MPI_SUCCESS);
        if (i % 20 == 0) { EXPECT_EQ(MPI_Wait(at(all, i), MPI_STATUS_IGNORE), MPI_SUCCESS); }
    }
    auto const code = MPI_Waitall(n, all.data(), statuses.data());
    if (me == 1 && too_long >= 0) expect_failure(code, MPI_ERR_IN_STATUS, {"8 bytes", "room for 4"});
    else EXPECT_EQ(code, MPI_SUCCESS);
    for (int i = 0; me == 1 && i < n; ++i) {
        EXPECT_EQ(*at(in, i), i);
        expect_message(*at(statuses, i), 0, i % 3, 1);
        if (too_long >= 0) { EXPECT_EQ(at(statuses, i)->MPI_ERROR, i == too_long ? MPI_ERR_TRUNCATE : MPI_SUCCESS); }
    }
    for (auto const r : all) EXPECT_EQ(r, MPI_REQUEST_NULL);
    if (me == 0 && freed_early) MPI_Comm_free(&c);
}

TEST(CRequests, AWindowOutlivesItsCommunicatorAndAMessageTooLongSpoilsNoOther) {
    ranks(2, [](int me, int) {
        stream_of_ints(me, 70, dup_of(MPI_COMM_WORLD), true, -1);
        stream_of_ints(me, 70, MPI_COMM_WORLD, false, 33);
        stream_of_ints(me, 500, MPI_COMM_WORLD, false, -1);
    });
}

/// A place of an array that is waited for as one.
enum class place : std::uint8_t { nothing, inactive, left, receive, from_anybody, twins, persistent, synchronous };

/// Rank 1 waits for an array of whatever there is; rank 0, which sends what is received, knows it by the same dice.
void wait_for_all_sorts(mpt::test::dice& random, int me, MPI_Comm twin, bool early) {
    auto const n = static_cast<int>(random.below(40));
    std::vector<place> sorts;
    std::vector<int> in(static_cast<std::size_t>(n) + 1, -1), too_long(in.size());
    std::vector<MPI_Request> all(in.size(), MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(in.size());
    for (int i = 0; i < n; ++i) {
        auto const s = static_cast<place>(random.one_of({0, 1, 2, 3, 3, 3, 3, 4, 5, 6, 7}));
        sorts.push_back(s);
        *at(too_long, i) = random.below(12) == 0;
        auto* const r = at(all, i);
        auto* const to = at(in, i);
        if (me == 0) continue;
        if (s == place::left) MPI_Isend(&n, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, r);
        if (s == place::receive) MPI_Irecv(to, 1, MPI_INT, 0, i, MPI_COMM_WORLD, r);
        if (s == place::from_anybody) MPI_Irecv(to, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, r);
        if (s == place::twins) MPI_Irecv(to, 1, MPI_INT, 0, i, twin, r);
        if (s == place::persistent || s == place::inactive) MPI_Recv_init(to, 1, MPI_INT, 0, i, MPI_COMM_WORLD, r);
        if (s == place::persistent) MPI_Start(r);
        if (s == place::synchronous) MPI_Issend(&n, 1, MPI_INT, 0, i, MPI_COMM_WORLD, r);
    }
    if (early) MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0, x = 0; me == 0 && i < n; ++i) {
        int const k = n - 1 - i, out[2]{k + 1000, 0}; // against the array's order
        auto const s = sorts[static_cast<std::size_t>(k)];
        if (s == place::synchronous) MPI_Recv(&x, 1, MPI_INT, 1, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (s < place::receive || s == place::synchronous) continue;
        MPI_Send(out, 1 + *at(too_long, k), MPI_INT, 1, k, s == place::twins ? twin : MPI_COMM_WORLD);
    }
    if (me == 0) return;
    bool failed = false;
    auto const code = MPI_Waitall(n, all.data(), statuses.data());
    for (int i = 0; i < n; ++i) {
        auto const s = sorts[static_cast<std::size_t>(i)];
        bool const received = s >= place::receive && s != place::synchronous;
        failed |= received && *at(too_long, i);
        EXPECT_EQ(*at(in, i), received ? i + 1000 : -1);
        if (received) expect_message(*at(statuses, i), 0, i, 1);
        else expect_empty(*at(statuses, i));
        EXPECT_EQ(*at(all, i) != MPI_REQUEST_NULL, s == place::persistent || s == place::inactive);
        if (*at(all, i) != MPI_REQUEST_NULL) MPI_Request_free(at(all, i));
    }
    EXPECT_EQ(code, failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS);
    for (int i = 0; failed && i < n; ++i) {
        auto const s = sorts[static_cast<std::size_t>(i)];
        bool const wrong = s >= place::receive && s != place::synchronous && *at(too_long, i);
        EXPECT_EQ(at(statuses, i)->MPI_ERROR, wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    }
}

TEST(CRequests, AnArrayOfAllSortsIsWaitedForAsOne) {
    mpt::test::seeds const seeds{60};
    ranks(2, [&](int me, int) {
        auto twin = dup_of(MPI_COMM_WORLD);
        for (unsigned seed = seeds.first; seed != seeds.first + seeds.count; ++seed) {
            SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
            mpt::test::dice random{seed};
            auto const early = random.coin();
            wait_for_all_sorts(random, me, twin, early);
        }
        MPI_Comm_free(&twin);
    });
}

/// A receive of each sort for every message, of which some are there already and some come when they are asked for.
TEST(CRequests, OneAfterTheOtherUntilAllSortsAreDone) {
    enum class by { waitany, testany, waitsome, testsome, testall };
    ranks(2, [](int me, int) {
        constexpr int n = 12;
        std::vector<int> in(n), out(n);
        std::vector<MPI_Request> all(n, MPI_REQUEST_NULL);
        for (int i = 2; me == 0 && i < n; i += 3)
            MPI_Recv_init(at(in, i), 1, MPI_INT, i % 2 ? 1 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, at(all, i));
        auto const lasting = all;
        for (auto const way : {by::waitany, by::testany, by::waitsome, by::testsome, by::testall}) {
            for (int round = 0; round < 3; ++round) {
                std::iota(out.begin(), out.end(), round * 100);
                if (me == 1) {
                    for (int i = 0; i < n; i += 2) MPI_Send(at(out, i), 1, MPI_INT, 0, i, MPI_COMM_WORLD);
                    MPI_Barrier(MPI_COMM_WORLD);
                    for (int i = n - 1; i > 0; i -= 2) MPI_Send(at(out, i), 1, MPI_INT, 0, i, MPI_COMM_WORLD);
                    continue;
                }
                std::ranges::fill(in, -1);
                for (int i = 0; i < n; ++i)
                    if (i % 3 == 2) EXPECT_EQ(MPI_Start(at(all, i)), MPI_SUCCESS);
                    else MPI_Irecv(at(in, i), 1, MPI_INT, i % 3 ? MPI_ANY_SOURCE : 1, i, MPI_COMM_WORLD, at(all, i));
                MPI_Barrier(MPI_COMM_WORLD);
                std::vector<int> seen(n), which(n);
                std::vector<MPI_Status> statuses(n);
                auto const took = [&](int i, MPI_Status const& s) {
                    ++*at(seen, i);
                    expect_message(s, 1, i, 1);
                    EXPECT_EQ(*at(in, i), round * 100 + i);
                    EXPECT_EQ(*at(all, i), i % 3 == 2 ? *at(lasting, i) : MPI_REQUEST_NULL);
                };
                for (int left = n; left > 0;) {
                    int index = -1, flag = 1, count = 0;
                    if (way == by::waitany) MPI_Waitany(n, all.data(), &index, statuses.data());
                    if (way == by::testany) MPI_Testany(n, all.data(), &index, &flag, statuses.data());
                    if (way == by::waitsome) MPI_Waitsome(n, all.data(), &count, which.data(), statuses.data());
                    if (way == by::testsome) MPI_Testsome(n, all.data(), &count, which.data(), statuses.data());
                    if (way == by::testall) MPI_Testall(n, all.data(), &flag, statuses.data());
                    bool const one = way == by::waitany || way == by::testany;
                    if (one && flag) took(index, statuses[0]), --left;
                    for (int i = 0; !one && i < count; ++i) took(*at(which, i), *at(statuses, i)), --left;
                    for (int i = 0; way == by::testall && flag && i < n; ++i) took(i, *at(statuses, i)), --left;
                }
                EXPECT_EQ(seen, std::vector<int>(n, 1));
                int index = -1, flag = -1;
                MPI_Status s{};
                EXPECT_EQ(MPI_Waitany(n, all.data(), &index, &s), MPI_SUCCESS); // nothing is active
                EXPECT_EQ(index, MPI_UNDEFINED);
                expect_empty(s);
                EXPECT_EQ(MPI_Testany(n, all.data(), &index, &flag, &s), MPI_SUCCESS);
                EXPECT_EQ(index, MPI_UNDEFINED);
                EXPECT_TRUE(flag);
            }
        }
        for (auto& r : all)
            if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
    });
}

/// One thread waits for a receive of its own rank: the handle that it was begun with serves another thread meanwhile.
void cancel_what_a_thread_waits_for(MPI_Request request, bool by_array) {
    auto const* const lane = static_cast<mpt::lane<mpt::c::stack>*>(mpt::c::here().self->lane);
    bool const persistent = mpt::c::here().requests.get(request).persistent;
    auto waiter = thread_of_rank([&] {
        auto mine = request;
        MPI_Status s{};
        EXPECT_EQ(by_array ? MPI_Waitall(1, &mine, &s) : MPI_Wait(&mine, &s), MPI_SUCCESS);
        int cancelled = -1;
        MPI_Test_cancelled(&s, &cancelled);
        EXPECT_TRUE(cancelled);
        EXPECT_EQ(mine, persistent ? request : MPI_REQUEST_NULL);
    });
    while (!lane->is_waited_on()) std::this_thread::yield();
    int flag = -1;
    EXPECT_EQ(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_FALSE(flag);
    bool const failed = MPI_Cancel(&request) != MPI_SUCCESS;
    EXPECT_FALSE(failed);
    if (failed) MPI_Send(nullptr, 0, MPI_INT, 0, 7, MPI_COMM_SELF); // so that the waiter comes back
    waiter.join();
}

TEST(CRequests, AnotherThreadCancelsWhatOneWaitsFor) {
    ranks(1, [](int, int) {
        int room[8];
        MPI_Datatype apart = MPI_DATATYPE_NULL;
        MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
        MPI_Type_commit(&apart);
        MPI_Request again = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;
        MPI_Recv_init(room, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &again);
        for (bool const by_array : {false, true}) {
            MPI_Irecv(room, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &r);
            cancel_what_a_thread_waits_for(r, by_array);
            MPI_Irecv(room, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &r);
            cancel_what_a_thread_waits_for(r, by_array);
            MPI_Irecv(room, 1, apart, 0, 7, MPI_COMM_SELF, &r);
            cancel_what_a_thread_waits_for(r, by_array);
            MPI_Start(&again);
            cancel_what_a_thread_waits_for(again, by_array);
        }
        MPI_Request_free(&again);
        MPI_Type_free(&apart);
    });
}

} // namespace
