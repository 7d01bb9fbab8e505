// OpenSHMEM's PEs as processes: static variables are symmetric, too, and the heap is mapped. Run by mptrun.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/shmem/environment.hpp>

namespace {
using mpt::shmem::comparison;
using mpt::shmem::signal_op;

long counters[4];
int blocks[100];
float real;
std::uint64_t signal_word;
long lock_word, guarded[2];

/// One a process, from before the first test to behind the last.
struct whole_run : testing::Environment {
    static inline std::unique_ptr<mpt::shmem::environment<>> pe;
    void SetUp() override { pe = std::make_unique<mpt::shmem::environment<>>(); }
    void TearDown() override { pe.reset(); }
};
[[maybe_unused]] auto const* const run = testing::AddGlobalTestEnvironment(new whole_run);

struct shmem : testing::Test {
    static mpt::shmem::environment<>& pe() { return *whole_run::pe; }
    int n = pe().size(), me = pe().me(), next = (me + 1) % n, before = (me + n - 1) % n;
};

TEST_F(shmem, static_variables_are_written_read_and_updated_at_any_pe) {
    static int local[50];
    std::vector<int> mine(50);
    std::iota(mine.begin(), mine.end(), 100 * me);
    pe()->put(local, std::span<int const>{mine}, next);
    pe()->iput(blocks, mine.data(), 2, 1, 50, next);
    pe()->p(&counters[1], 10 + me, next);
    pe()->set(&real, 1.5f, next);
    for (int i = 0; i < 25; ++i) pe()->add(&counters[0], 1, 0), pe()->fetch_add(&counters[0], 1, 0);
    pe()->bit_or(&counters[2], 1l << (me % 60), 0);
    pe().barrier_all();
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(local[i], 100 * before + i);
        EXPECT_EQ(blocks[2 * i], 100 * before + i);
    }
    EXPECT_EQ(counters[1], 10 + before);
    EXPECT_EQ(real, 1.5f);
    EXPECT_EQ(pe()->fetch(&counters[0], 0), 50 * n);
    EXPECT_EQ(pe()->g(&counters[2], 0), (1l << std::min(n, 60)) - 1);
    EXPECT_EQ(pe()->swap(&real, 2.5f, me), 1.5f);
    EXPECT_EQ(pe()->compare_swap(&counters[1], 10 + before, 99, me), 10 + before);
    EXPECT_EQ(counters[1], 99);
    pe().barrier_all();
}

TEST_F(shmem, a_signal_follows_its_data_whichever_of_them_is_static) {
    static int data[1000];
    mpt::shmem::array<int> heap{pe(), 1000};
    mpt::shmem::array<std::uint64_t> heap_signal{pe(), 1};
    std::uint64_t of_static = 0, of_heap = 0;
    for (int round = 1; round <= 40; ++round) {
        std::vector<int> const mine(round % 8 < 4 ? 1000 : 20, 1000 * me + round); // a few go with their signal
        auto* const to = round % 2 ? data : heap.data();
        auto* const word = round % 4 < 2 ? &signal_word : heap_signal.data();
        auto const want = ++(word == &signal_word ? of_static : of_heap);
        pe()->put_signal(to, std::span<int const>{mine}, word, 1, signal_op::add, next);
        EXPECT_EQ(pe().signal_wait_until(word, comparison::ge, want), want);
        ASSERT_TRUE(std::all_of(to, to + mine.size(), [&](int x) { return x == 1000 * before + round; }));
        pe().barrier_all();
    }
}

TEST_F(shmem, a_lock_may_be_static) {
    auto lock = pe().lock_of(&lock_word);
    for (int i = 0; i < 30; ++i) {
        lock.set();
        auto const x = pe()->g(&guarded[0], 0);
        EXPECT_EQ(pe()->g(&guarded[1], n - 1), x);
        pe()->p(&guarded[0], x + 1, 0);
        pe()->p(&guarded[1], x + 1, n - 1);
        lock.clear();
    }
    pe().barrier_all();
    EXPECT_EQ(pe()->g(&guarded[0], 0), 30 * n);
}

TEST_F(shmem, the_heap_and_static_variables_are_loaded_and_stored_in_place) {
    mpt::shmem::array<long> a{pe(), 3};
    auto* const there = static_cast<long*>(pe().memory().ptr(&a[2], next));
    ASSERT_NE(there, nullptr);
    *there = 7 + me;
    pe().barrier_all();
    EXPECT_EQ(a[2], 7 + before);
    EXPECT_EQ(pe().memory().ptr(&counters[0], me), &counters[0]);
    static long mapped = 5;
    auto* const variable = static_cast<long*>(pe().memory().ptr(&mapped, next));
    ASSERT_NE(variable, nullptr);
    EXPECT_EQ(variable == &mapped, n == 1);
    EXPECT_EQ(*variable, 5);
    pe().barrier_all();
    *variable = 9 + me;
    pe().barrier_all();
    EXPECT_EQ(mapped, 9 + before);
    EXPECT_EQ(pe().job().node().size(), n);
    pe().barrier_all();
}

} // namespace
