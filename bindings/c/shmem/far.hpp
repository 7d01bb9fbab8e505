/// far - what the calls of OpenSHMEM's C interface ask of the engine: some sixty functions for the few thousand entry points, without
/// a type of the stack's.
///
///   Types of elements come as an element_kind, where they count at all. Errors of the engine end the job with their sentence:
///   OpenSHMEM returns codes only where the table's function returns one.
#pragma once
#include <complex>
#include <type_traits>

#include <mpt/datatype/operation.hpp>

#include "state.hpp"

#pragma GCC visibility push(hidden)
namespace mpt::c::shmem {

/// The kind of C's elements.
template <class T> constexpr element_kind kind_of() noexcept {
    if constexpr (std::is_same_v<T, float>) return element_kind::c_float;
    else if constexpr (std::is_same_v<T, double>) return element_kind::c_double;
    else if constexpr (std::is_same_v<T, long double>) return element_kind::c_long_double;
    else if constexpr (std::is_same_v<T, mpt_complexf>) return element_kind::c_float_complex;
    else if constexpr (std::is_same_v<T, mpt_complexd>) return element_kind::c_double_complex;
    else if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? element_kind::int8 : element_kind::uint8;
    else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? element_kind::int16 : element_kind::uint16;
    else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? element_kind::int32 : element_kind::uint32;
    else return std::is_signed_v<T> ? element_kind::int64 : element_kind::uint64;
}

/// The PEs of a collective with an active set: start, start + 2^log_stride, ...
struct set {
    int start, log_stride, size;
};

namespace far {

// --- memory that is not in the symmetric heap ---------------------------------------------------------------------------------
void put(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, int pe);
void get(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, int pe);
/// Blocks of `block` elements of `width` bytes; strides count elements.
void put_strided(shmem_ctx_t ctx, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                 std::size_t blocks, std::size_t width, int pe);
void get_strided(shmem_ctx_t ctx, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                 std::size_t blocks, std::size_t width, int pe);
/// The same between addresses that are mapped here.
void copy_strided(void* to, void const* from, std::ptrdiff_t there, std::ptrdiff_t here, std::size_t block, std::size_t blocks,
                  std::size_t width) noexcept;
/// Of no bytes: the signal alone. op: SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD.
void put_signal(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, std::uint64_t* word, std::uint64_t value,
                int op, int pe);
/// The element becomes what it was `op` *value; *old is what it was.
void atomic(shmem_ctx_t ctx, operation op, element_kind kind, void const* cell, void const* value, void* old, int pe);
/// Without what it was, and complete at quiet.
void change(shmem_ctx_t ctx, operation op, element_kind kind, void* cell, void const* value, int pe);
void compare_swap(shmem_ctx_t ctx, element_kind kind, void* cell, void const* cond, void const* value, void* old, int pe);
/// Of SHMEM_CTX_INVALID: nothing.
void fence(shmem_ctx_t ctx);
void quiet(shmem_ctx_t ctx);
/// The PE may sleep over what was stored.
void ring(shmem_ctx_t ctx, int pe);
void ring_at_quiet(shmem_ctx_t ctx, int pe);

// --- waiting ------------------------------------------------------------------------------------------------------------------
/// Until ready(state), serving others meanwhile, and sleeping where CPUs are scarce.
void wait(bool (*ready)(void const*), void const* state);
/// After a test that failed: lets others run where CPUs are scarce. family: whose test that was.
void glance(char const* family = "shmem_test");

// --- reductions ---------------------------------------------------------------------------------------------------------------
int reduce(shmem_team_t team, operation op, element_kind kind, void* dest, void const* source, std::size_t n);
int reduce(set const& who, operation op, element_kind kind, void* dest, void const* source, std::size_t n);
int scan(shmem_team_t team, element_kind kind, void* dest, void const* source, std::size_t n, bool with_own);

} // namespace far

// --- beginning and end --------------------------------------------------------------------------------------------------------
void enter(int level);
int enter_threads(int requested, int* provided);
/// As start_pes: a second call does nothing.
void start(int pes);
void leave();
[[noreturn]] void end_job(int status);
int thread_level() noexcept;
/// There was a shmem_init.
bool entered() noexcept;
/// Between shmem_init and shmem_finalize.
bool running() noexcept;
bool is_pe(int pe) noexcept;
/// A byte of the symmetric heap, or of static data.
bool is_symmetric(void const* address) noexcept;
/// And so many bytes before it and from it on.
bool is_symmetric_around(void const* address, std::size_t before, std::size_t after) noexcept;
/// At the PE, too; nowhere at one that there is not.
bool is_accessible(void const* address, int pe) noexcept;
bool is_in_heap(void const* address) noexcept;
/// The block that a byte of the heap belongs to, as long as was asked for; of no bytes: none does.
struct heap_block {
    void const* at;
    std::size_t bytes;
};
heap_block block_around(void const* address);
void* place_of(shmem_team_t team, void const* address, int pe);
/// The same by the numbers of a context; null, too, of what is not symmetric.
void* mapped(shmem_ctx_t ctx, void const* address, int pe);
void tell_name(char* name);
/// By the clock of MPI_Wtime.
double seconds();
/// Ends the job with a sentence.
[[noreturn]] void give_up(char const* sentence);
/// The function that the thread has called last: sentences name it. The library that does not check notes none: null.
void name_call(char const* function) noexcept;
char const* call_name() noexcept;

// --- memory -------------------------------------------------------------------------------------------------------------------
void* allocate(std::size_t n);
void* allocate_aligned(std::size_t alignment, std::size_t n);
/// family: what sentences call it. Null, too, where there is no such partition.
void* allocate_in(char const* family, int partition, std::size_t alignment, std::size_t n);
/// Each where it is not null; not 0: there is no such partition.
int tell_partition(int id, std::size_t* bytes, std::size_t* page, int* kind);
void* allocate_for(std::size_t n, long hints);
void* allocate_zeroed(std::size_t count, std::size_t n);
void* resize(void* at, std::size_t n);
void release(void* at);

// --- teams and contexts -------------------------------------------------------------------------------------------------------
bool is_team(shmem_team_t team) noexcept;
int team_me(shmem_team_t team) noexcept;
int team_size(shmem_team_t team) noexcept;
int team_config(shmem_team_t team, long mask, shmem_team_config_t* config);
int translate(shmem_team_t from, int pe, shmem_team_t to) noexcept;
int split_strided(shmem_team_t parent, int start, int stride, int size, shmem_team_config_t const* config, long mask,
                  shmem_team_t* made);
int split_2d(shmem_team_t parent, int range, shmem_team_config_t const* x_config, long x_mask, shmem_team_t* x,
             shmem_team_config_t const* y_config, long y_mask, shmem_team_t* y);
/// Cray's: a negative color is in no team.
int split_color(shmem_team_t parent, int color, int key, shmem_team_t* made);
/// Cray's: PEs for which the grid has no place get no team; ranges are at least 1, or it is refused.
int split_grid(shmem_team_t parent, int x_range, int y_range, shmem_team_t* x, shmem_team_t* y);
int split_3d(shmem_team_t parent, int x_range, int y_range, int z_range, shmem_team_t* x, shmem_team_t* y, shmem_team_t* z);
/// The first n PEs that share memory with this one, by their numbers of all; how many there are.
int local_pes(int* pes, std::size_t n);
void destroy_team(shmem_team_t team);
int create_context(shmem_team_t team, long options, shmem_ctx_t* made);
void destroy_context(shmem_ctx_t ctx);
/// What the program has promised of a context: one thread at a time; and, broken by the caller: only the thread that made it.
struct context_promise {
    bool one_at_a_time = false, is_another_threads = false;
};
context_promise promised(shmem_ctx_t ctx);
int team_of(shmem_ctx_t ctx, shmem_team_t* team);
/// Threads that call need not register; those that do share a pool with the contexts. Not 0: too many are registered.
int register_thread();
void unregister_thread();
void tell_use(int* places, int* unused, int* owned, int* contexts, int* threads);
/// Sessions of a context are hints that this library does not need. An unknown context ends the job.
inline void session_hint(shmem_ctx_t ctx, long = 0, shmem_ctx_session_config_t const* = nullptr, long = 0) {
    if (ctx != SHMEM_CTX_INVALID) context_of(ctx);
}

// --- collectives: over a team they return 0, over none at all another number; lengths are bytes -------------------------------
void barrier_all();
void sync_all();
int sync(shmem_team_t team);
int sync(set const& who);
void barrier(set const& who);
void barrier(shmem_team_t team);
int alltoall(shmem_team_t team, void* dest, void const* source, std::size_t n);
int alltoall(set const& who, void* dest, void const* source, std::size_t n);
/// n elements of `width` bytes for each PE; strides count elements.
int alltoalls(shmem_team_t team, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t n,
              std::size_t width);
int alltoalls(set const& who, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t n,
              std::size_t width);
/// Over a team the root gets its own data, too; over an active set it does not.
int broadcast(shmem_team_t team, void* dest, void const* source, std::size_t n, int root);
int broadcast(set const& who, void* dest, void const* source, std::size_t n, int root);
int collect(shmem_team_t team, void* dest, void const* source, std::size_t n);
int collect(set const& who, void* dest, void const* source, std::size_t n);
int fcollect(shmem_team_t team, void* dest, void const* source, std::size_t n);
int fcollect(set const& who, void* dest, void const* source, std::size_t n);
/// Offsets and sizes in bytes, by PE; those of what came are told.
int alltoallv(shmem_team_t team, void* dest, std::size_t const* offsets, std::size_t* sizes, void const* source,
              std::size_t const* source_offsets, std::size_t const* source_sizes);
int alltoallv(set const& who, void* dest, std::size_t const* offsets, std::size_t* sizes, void const* source,
              std::size_t const* source_offsets, std::size_t const* source_sizes);
/// How many bytes came.
std::size_t alltoallv_packed(shmem_team_t team, void* dest, std::size_t room, void const* source,
                             std::size_t const* source_offsets, std::size_t const* source_sizes);
std::size_t alltoallv_packed(set const& who, void* dest, std::size_t room, void const* source,
                             std::size_t const* source_offsets, std::size_t const* source_sizes);

// --- locks --------------------------------------------------------------------------------------------------------------------
void set_lock(long* lock);
void clear_lock(long* lock);
int test_lock(long* lock);

} // namespace mpt::c::shmem
#pragma GCC visibility pop
