// C++'s overloads, with and without a context, std::complex, and flags and locks that are volatile; the twins of <pshmem.h>; <mpp/shmem.h> and
// <mpp/shmemx.h>, included as headers of C are.
extern "C" {
#include <mpp/shmem.h>
#include <mpp/shmemx.h>
}

#include <cstdint>
#include <cstdio>

#include <pshmem.h>

namespace {

int failures = 0;
void expect(bool what, int line) {
    if (!what && ++failures < 20) std::printf("overloads.cpp:%d: PE %d\n", line, shmem_my_pe());
}
#define EXPECT(what) expect(what, __LINE__)

template <class T> void of_type() {
    int const me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    static T there[4], from[4], sum[4];
    for (int i = 0; i < 4; ++i) there[i] = T(0), from[i] = static_cast<T>(me + i + 1);
    shmem_barrier_all();
    shmem_put(there, from, 3, next);
    shmem_p(SHMEM_CTX_DEFAULT, there + 3, from[3], next);
    shmem_barrier_all();
    for (int i = 0; i < 4; ++i) EXPECT(there[i] == static_cast<T>(before + i + 1));
    T const* const to_read = there;
    EXPECT(shmem_g(to_read + 1, next) == static_cast<T>(me + 2) &&
           shmem_g(SHMEM_CTX_DEFAULT, to_read, next) == static_cast<T>(me + 1));
    EXPECT(shmem_sum_reduce(SHMEM_TEAM_WORLD, sum, from, 4) == 0);
    EXPECT(sum[1] == static_cast<T>(n * (n + 1) / 2 + n));
    shmem_barrier_all();
}

template <class T> void waits() {
    int const me = shmem_my_pe(), n = shmem_n_pes();
    static T word;
    shmem_p(&word, static_cast<T>(me + 1), (me + 1) % n);
    shmem_wait_until(&word, SHMEM_CMP_NE, 0);
    EXPECT(word == static_cast<T>((me + n - 1) % n + 1) && shmem_test(&word, SHMEM_CMP_GT, 0));
    shmem_wait_until_all(&word, 1, nullptr, SHMEM_CMP_NE, 0);
    EXPECT(shmem_wait_until_any(&word, 1, nullptr, SHMEM_CMP_NE, 0) == 0);
    EXPECT(shmem_test_any(&word, 1, nullptr, SHMEM_CMP_LE, 0) == SIZE_MAX);
    shmem_barrier_all();
}

/// As programs after OpenSHMEM 1.3 have them.
template <class T> void volatile_waits() {
    int const next = (shmem_my_pe() + 1) % shmem_n_pes();
    static T volatile flag;
    T const one = 1;
    std::size_t which = 7;
    shmem_p(const_cast<T*>(&flag), one, next);
    shmem_wait_until(&flag, SHMEM_CMP_EQ, one);
    EXPECT(shmem_test(&flag, SHMEM_CMP_GT, 0) && shmem_test_all(&flag, 1, nullptr, SHMEM_CMP_EQ, one));
    EXPECT(shmem_wait_until_some_vector(&flag, 1, &which, nullptr, SHMEM_CMP_EQ, &one) == 1 && which == 0);
    shmem_barrier_all();
}
void volatile_words() {
    int const me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    static int volatile flag;
    static long volatile lock, old, count;
    static std::uint64_t volatile signal;
    shmem_set_lock(&lock);
    shmem_long_p(const_cast<long*>(&count), shmem_long_g(const_cast<long*>(&count), 0) + 1, 0);
    shmem_clear_lock(&lock);
    shmem_int_p(const_cast<int*>(&flag), 3, next), shmem_long_p(const_cast<long*>(&old), 4, next);
    shmem_signal_set(const_cast<std::uint64_t*>(&signal), 5, next);
    shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 3), shmem_int_wait(&flag, 0), shmem_wait(&old, 0),
        shmem_wait_until(&old, SHMEM_CMP_EQ, 4);
    EXPECT(shmem_int_test(&flag, SHMEM_CMP_EQ, 3) && !shmem_int_test(&flag, SHMEM_CMP_EQ, 4));
    EXPECT(shmem_signal_wait_until(&signal, SHMEM_CMP_GE, 5) == 5 && shmem_signal_fetch(&signal) == 5);
    shmem_barrier_all();
    EXPECT(me != 0 || count == n);
    EXPECT(me != 0 || shmem_test_lock(&lock) == 0); // it is free
    void (*const by_address)(long*) = shmem_clear_lock;
    if (me == 0) by_address(const_cast<long*>(&lock));
    shmem_int_wait_until_all(nullptr, 0, nullptr, SHMEM_CMP_EQ, 1); // null has no type to choose by
    shmem_barrier_all();
}

template <class T> void old_atomics() {
    int const next = (shmem_my_pe() + 1) % shmem_n_pes();
    static T cell;
    shmem_set(&cell, T(3), next);
    EXPECT(shmem_fetch(&cell, next) == 3 && shmem_swap(&cell, T(4), next) == 3 && shmem_cswap(&cell, T(4), T(5), next) == 4);
    EXPECT(shmem_finc(&cell, next) == 5 && shmem_fadd(&cell, T(2), next) == 6);
    shmem_inc(&cell, next), shmem_add(&cell, T(2), next);
    shmem_barrier_all();
    EXPECT(cell == 11);
    shmem_barrier_all();
}

template <class T> void complex() {
    static std::complex<T> from[2], sum[2];
    int const n = shmem_n_pes();
    from[0] = {static_cast<T>(shmem_my_pe()), 1}, from[1] = {0, 1};
    shmem_barrier_all();
    EXPECT(shmem_sum_reduce(SHMEM_TEAM_WORLD, sum, from, 2) == 0);
    EXPECT(sum[0] == std::complex<T>(static_cast<T>(n * (n - 1) / 2), static_cast<T>(n)));
    EXPECT(shmem_prod_reduce(SHMEM_TEAM_WORLD, sum, from, 2) == 0);
    std::complex<T> product{1, 0};
    for (int i = 0; i < n; ++i) product *= std::complex<T>{0, 1};
    EXPECT(sum[1] == product);
    shmem_barrier_all();
}

} // namespace

int main() {
    shmem_init();
    of_type<char>(), of_type<short>(), of_type<int>(), of_type<long>(), of_type<long long>(), of_type<unsigned long>();
    of_type<float>(), of_type<double>(), of_type<long double>();
    waits<short>(), waits<unsigned short>(), waits<int>(), waits<long>(), waits<long long>(), waits<unsigned long>();
    volatile_waits<short>(), volatile_waits<int>(), volatile_waits<long>(), volatile_waits<unsigned long long>(),
        volatile_words();
    old_atomics<int>(), old_atomics<long long>(), old_atomics<unsigned>(), old_atomics<unsigned long long>(),
        old_atomics<size_t>();
    complex<float>(), complex<double>();
    static std::complex<double> a, b;
    a = {1, 2};
    pshmem_barrier_all();
    EXPECT(shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, &b, &a, 1) == 0 &&
           b == std::complex<double>(shmem_n_pes(), 2 * shmem_n_pes()));
    static unsigned long counter;
    shmem_atomic_add(&counter, 2, 0);
    shmem_barrier_all();
    EXPECT(shmem_atomic_fetch(&counter, 0) == 2ul * static_cast<unsigned long>(shmem_n_pes()));
    shmem_sync(SHMEM_TEAM_WORLD);
    pshmem_finalize();
    return failures != 0;
}
