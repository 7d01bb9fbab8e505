// Processes of four threads each that do everything at once: messages found by wildcards and probes, requests that another thread ends,
// collectives of each thread's own communicator, updates and puts with flushes on windows that all share, windows and communicators that
// come and go. All that comes is compared.
//   threads_at_once ROUNDS [FOLDER]     FOLDER: of the library's path, where a flavour is to be what runs
// Linked with libmpi_abi as any other program. Exit codes: 1, something was not as it must be, which is printed.
#include <mpi.h>

#include <atomic>
#include <barrier>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>

namespace {

constexpr int threads = 4, drained_every = 20, largest = 10'000; // longs: above MPT_EAGER_MAX
std::atomic<int> failures{0};
int me = -1, n = 0;

[[gnu::format(printf, 2, 3)]] void must(bool good, char const* format, ...) {
    if (good || failures.fetch_add(1) >= 20) return;
    va_list more;
    va_start(more, format);
    std::printf("rank %d: ", me);
    std::vprintf(format, more);
    std::puts("");
    va_end(more);
}

int right() { return (me + 1) % n; }
int left() { return (me + n - 1) % n; }
long word_of(int rank, int thread, int round, int i) { return ((rank * 10L + thread) * 100'000 + round) * 10'000 + i; }
int length_of(int round) {
    constexpr int lengths[]{1, 3, 200, 1'000, largest};
    return round % 7 == 0 ? largest : lengths[round % 4];
}

/// A message that one thread has begun and another ends.
struct handed {
    std::vector<long> data;
    MPI_Request request = MPI_REQUEST_NULL;
    bool is_receive = false;
    int thread = 0, round = 0; // of a receive: what the left neighbour sent

    void check() const {
        if (!is_receive) return;
        for (int i = 0; i < length_of(round); ++i)
            if (data[static_cast<std::size_t>(i)] != word_of(left(), thread, round, i))
                return must(false, "a handed receive of thread %d, round %d has %ld at %d", thread, round,
                            data[static_cast<std::size_t>(i)], i);
    }
};

/// Requests for a thread to end, of others.
class tray {
    std::mutex m_;
    std::list<handed> all_;

public:
    void put(std::list<handed>& one) {
        std::lock_guard const g{m_};
        all_.splice(all_.end(), one);
    }
    std::list<handed> take() {
        std::lock_guard const g{m_};
        return std::exchange(all_, {});
    }
};

/// What the threads of a process share.
struct shared_state {
    MPI_Comm common = MPI_COMM_NULL;
    MPI_Win windows[2]; // of the library's memory, and of the program's
    tray trays[threads];
    std::atomic<int> found[threads]; // messages on the common communicator from its left neighbour's threads
    std::barrier<> here{threads};
};

/// A part: counters of everybody, then a place for each thread of each rank.
constexpr int sum_at = 0, fetched_at = 1, swapped_at = 2, places_at = 3;

class worker {
    shared_state& all_;
    int const id_;
    MPI_Comm own_;
    std::list<handed> held_; // to be ended here

public:
    worker(shared_state& all, int id, MPI_Comm own) : all_{all}, id_{id}, own_{own} {}

    void run(int rounds) {
        for (int round = 0; round < rounds; ++round) {
            probe_on_own(round);
            begin_for_others(round);
            probe_on_common(round);
            collect(round);
            for (MPI_Win const w : all_.windows) update(w, round);
            end_some();
            if (round % 8 == id_) come_and_go(round);
            if (round % drained_every == drained_every - 1 || round + 1 == rounds) end_all();
        }
    }

private:
    /// Found by wildcards on a communicator where the left neighbour alone sends to us.
    void probe_on_own(int round) {
        auto const sent = message(id_, round);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(sent.data(), static_cast<int>(sent.size()), MPI_LONG, right(), round % 5, own_, &request);
        MPI_Message found = MPI_MESSAGE_NULL;
        MPI_Status s;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own_, &found, &s);
        int count = 0;
        MPI_Get_count(&s, MPI_LONG, &count);
        must(s.MPI_SOURCE == left() && s.MPI_TAG == round % 5 && count == length_of(round),
             "thread %d, round %d: a probe found %d words, tag %d, of rank %d", id_, round, count, s.MPI_TAG, s.MPI_SOURCE);
        std::vector<long> got(static_cast<std::size_t>(count));
        MPI_Mrecv(got.data(), count, MPI_LONG, &found, MPI_STATUS_IGNORE);
        compare(got, id_, round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    /// A send and a receive for the next thread, which ends them.
    void begin_for_others(int round) {
        std::list<handed> made;
        auto& in = made.emplace_back();
        in.data.resize(static_cast<std::size_t>(length_of(round))), in.is_receive = true, in.thread = id_, in.round = round;
        MPI_Irecv(in.data.data(), length_of(round), MPI_LONG, left(), 100 + id_, all_.common, &in.request);
        auto& out = made.emplace_back();
        out.data = message(id_, round);
        MPI_Isend(out.data.data(), length_of(round), MPI_LONG, right(), 100 + id_, all_.common, &out.request);
        all_.trays[(id_ + 1) % threads].put(made);
    }
    /// Each thread sends one and takes one of anybody's: messages are found once, whoever looks. Tags of handed messages are others.
    void probe_on_common(int round) {
        long const sent[]{word_of(me, id_, round, 0), id_, round};
        MPI_Send(sent, 3, MPI_LONG, right(), 7, all_.common);
        MPI_Message found = MPI_MESSAGE_NULL;
        MPI_Status s;
        for (int flag = 0; flag == 0;) {
            MPI_Improbe(MPI_ANY_SOURCE, 7, all_.common, &flag, &found, &s);
            if (flag == 0) std::this_thread::yield();
        }
        long got[3]{};
        MPI_Mrecv(got, 3, MPI_LONG, &found, MPI_STATUS_IGNORE);
        bool const known = got[1] >= 0 && got[1] < threads;
        must(known && s.MPI_SOURCE == left() &&
                 got[0] == word_of(left(), static_cast<int>(got[1]), static_cast<int>(got[2]), 0),
             "thread %d found %ld %ld %ld of rank %d", id_, got[0], got[1], got[2], s.MPI_SOURCE);
        if (known) all_.found[got[1]].fetch_add(1);
    }
    void collect(int round) {
        long const mine = word_of(me, id_, round, 0);
        long sum = 0, expected = 0;
        std::vector<long> every(static_cast<std::size_t>(n)), out(every), in(every);
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, own_);
        MPI_Allgather(&mine, 1, MPI_LONG, every.data(), 1, MPI_LONG, own_);
        for (int r = 0; r < n; ++r) {
            auto const i = static_cast<std::size_t>(r);
            expected += word_of(r, id_, round, 0), out[i] = mine + r;
            must(every[i] == word_of(r, id_, round, 0), "thread %d, round %d: %ld of rank %d", id_, round, every[i], r);
        }
        must(sum == expected, "thread %d, round %d: the sum is %ld, not %ld", id_, round, sum, expected);
        MPI_Alltoall(out.data(), 1, MPI_LONG, in.data(), 1, MPI_LONG, own_);
        for (int r = 0; r < n; ++r)
            must(in[static_cast<std::size_t>(r)] == word_of(r, id_, round, 0) + me, "thread %d, round %d: rank %d sent %ld",
                 id_, round, r, in[static_cast<std::size_t>(r)]);
        long from = me == round % n ? mine : -1;
        MPI_Bcast(&from, 1, MPI_LONG, round % n, own_);
        must(from == word_of(round % n, id_, round, 0), "thread %d, round %d: the root has %ld", id_, round, from);
    }
    void update(MPI_Win w, int round) {
        int const target = (me + round + id_) % n;
        long const one = 1;
        long was = -1, last = -1;
        MPI_Accumulate(&one, 1, MPI_LONG, target, sum_at, 1, MPI_LONG, MPI_SUM, w);
        for (int i = 0; i < 2; ++i) { // what others add comes in between
            MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, fetched_at, MPI_SUM, w);
            MPI_Win_flush(0, w);
            must(was > last, "thread %d, round %d: fetched %ld after %ld", id_, round, was, last);
            last = was;
        }
        long expected = 0, next = 1;
        for (;;) {
            MPI_Compare_and_swap(&next, &expected, &was, MPI_LONG, target, swapped_at, w);
            MPI_Win_flush(target, w);
            if (was == expected) break;
            expected = was, next = was + 1;
        }
        auto const place = places_at + me * threads + id_;
        long const out = word_of(me, id_, round, 1);
        long in = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        if (round % 2 == 0) MPI_Put(&out, 1, MPI_LONG, target, place, 1, MPI_LONG, w);
        else MPI_Rput(&out, 1, MPI_LONG, target, place, 1, MPI_LONG, w, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (round % 3 == 0) MPI_Win_flush_all(w);
        else MPI_Win_flush(target, w);
        if (round % 2 == 0)
            MPI_Rget(&in, 1, MPI_LONG, target, place, 1, MPI_LONG, w, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
        else MPI_Get(&in, 1, MPI_LONG, target, place, 1, MPI_LONG, w), MPI_Win_flush(target, w);
        must(in == out, "thread %d, round %d: put %ld and got %ld", id_, round, out, in);
    }
    /// A communicator and windows on it, which live as long as this.
    void come_and_go(int round) {
        MPI_Comm young = MPI_COMM_NULL;
        MPI_Comm_dup(own_, &young);
        long memory[2]{-1, -1};
        long* base = memory;
        MPI_Win w = MPI_WIN_NULL;
        if (round % 2 == 0) MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, young, &w);
        else MPI_Win_allocate(sizeof memory, sizeof(long), MPI_INFO_NULL, young, &base, &w);
        MPI_Win_fence(0, w);
        long const out = word_of(me, id_, round, 2);
        MPI_Put(&out, 1, MPI_LONG, right(), 1, 1, MPI_LONG, w);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
        must(base[1] == word_of(left(), id_, round, 2), "thread %d, round %d: a young window has %ld", id_, round, base[1]);
        MPI_Comm_free(&young);
        MPI_Win_free(&w);
    }
    /// Of what others have begun, what is over; nobody waits for it here, as who sends to us may wait for what we send.
    void end_some() {
        auto more = all_.trays[id_].take();
        held_.splice(held_.end(), more);
        for (auto h = held_.begin(); h != held_.end();) {
            int flag = 0;
            MPI_Test(&h->request, &flag, MPI_STATUS_IGNORE);
            if (flag == 0) {
                ++h;
                continue;
            }
            h->check();
            h = held_.erase(h);
        }
    }
    /// All threads here have begun every message of these rounds, and none of the next ones; the other ranks come to that without us.
    void end_all() {
        all_.here.arrive_and_wait();
        auto more = all_.trays[id_].take();
        held_.splice(held_.end(), more);
        all_.here.arrive_and_wait();
        std::vector<MPI_Request> requests;
        for (auto const& h : held_) requests.push_back(h.request);
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        for (auto const& h : held_) h.check();
        held_.clear();
    }

    static std::vector<long> message(int thread, int round) {
        std::vector<long> all(static_cast<std::size_t>(length_of(round)));
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = word_of(me, thread, round, static_cast<int>(i));
        return all;
    }
    static void compare(std::vector<long> const& got, int thread, int round) {
        for (std::size_t i = 0; i < got.size(); ++i)
            if (got[i] != word_of(left(), thread, round, static_cast<int>(i)))
                return must(false, "thread %d, round %d: %ld at %zu", thread, round, got[i], i);
    }
};

/// The sums over all ranks of what stands in the parts.
void check_parts(long const* part, int rounds) {
    long totals[3]{};
    MPI_Allreduce(part, totals, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    long const turns = static_cast<long>(rounds) * threads * n;
    must(totals[sum_at] == turns && totals[fetched_at] == 2 * turns && totals[swapped_at] == turns,
         "of %ld turns there are %ld sums, %ld fetches, %ld swaps", turns, totals[sum_at], totals[fetched_at],
         totals[swapped_at]);
}

bool comes_from(std::string_view folder) {
    Dl_info info{};
    return dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) != 0 &&
           std::string_view{info.dli_fname}.find('/' + std::string{folder} + '/') != std::string_view::npos;
}

} // namespace

int main(int argc, char** argv) {
    int const rounds = argc > 1 ? std::atoi(argv[1]) : 0;
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me), MPI_Comm_size(MPI_COMM_WORLD, &n);
    must(rounds > 0, "no rounds");
    must(provided == MPI_THREAD_MULTIPLE, "the level of threads is %d", provided);
    if (argc > 2) must(comes_from(argv[2]), "the library is not that of %s", argv[2]);

    shared_state all;
    MPI_Comm_dup(MPI_COMM_WORLD, &all.common);
    auto const words = static_cast<std::size_t>(places_at + n * threads);
    std::vector<long> mine(words, 0);
    long* theirs = nullptr; // the library's
    auto const size = static_cast<MPI_Aint>(words * sizeof(long));
    MPI_Win_allocate(size, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &theirs, &all.windows[0]);
    MPI_Win_create(mine.data(), size, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &all.windows[1]);
    for (std::size_t i = 0; i < words; ++i) theirs[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (MPI_Win const w : all.windows) MPI_Win_lock_all(0, w);

    MPI_Comm own[threads];
    for (auto& c : own) MPI_Comm_dup(MPI_COMM_WORLD, &c);
    std::vector<std::thread> crew;
    for (int i = 0; i < threads; ++i) crew.emplace_back([&, i] { worker{all, i, own[i]}.run(rounds); });
    for (auto& t : crew) t.join();
    for (auto const& f : all.found) must(f.load() == rounds, "of %d messages of a thread %d were found", rounds, f.load());

    for (MPI_Win const w : all.windows) MPI_Win_unlock_all(w);
    MPI_Barrier(MPI_COMM_WORLD);
    check_parts(theirs, rounds), check_parts(mine.data(), rounds);
    for (auto& w : all.windows) MPI_Win_free(&w);
    for (auto& c : own) MPI_Comm_free(&c);
    MPI_Comm_free(&all.common);
    MPI_Finalize();
    return failures.load() == 0 ? 0 : 1;
}
