// What the entry points cannot do by a load or a store: memory that is not in the heap, order, waiting, locks.
#include "engine.hpp"

namespace mpt::c::shmem {

namespace {

/// f with an element's type in C++, by its kind: integers by their size, as the processor sees them.
template <class F> void with_type(element_kind kind, F const& f) {
    switch (kind) {
    case element_kind::int32: return f(std::int32_t{});
    case element_kind::uint32: return f(std::uint32_t{});
    case element_kind::int64: return f(std::int64_t{});
    case element_kind::uint64: return f(std::uint64_t{});
    case element_kind::c_float: return f(float{});
    case element_kind::c_double: return f(double{});
    default: give_up("mpt: an atomic operation on elements that have none");
    }
}

/// The engine's function for an operation on elements of T.
template <class T> auto function_of(operation op) -> T (mpt::shmem::memory<stack>::*)(T*, T, rank) {
    using memory = mpt::shmem::memory<stack>;
    if (op == operation::replace) return &memory::template swap<T>;
    if constexpr (std::is_integral_v<T>) {
        if (op == operation::sum) return &memory::template fetch_add<T>;
        if (op == operation::band) return &memory::template fetch_and<T>;
        if (op == operation::bor) return &memory::template fetch_or<T>;
        if (op == operation::bxor) return &memory::template fetch_xor<T>;
    }
    give_up("mpt: an atomic operation that is not defined on these elements");
}
/// The families of an atomic operation: with what was there, and without.
struct atomic_names {
    char const *fetches, *changes;
};
atomic_names names_of(operation op) noexcept {
    switch (op) {
    case operation::no_op: return {"shmem_atomic_fetch", "shmem_atomic_fetch"};
    case operation::replace: return {"shmem_atomic_swap", "shmem_atomic_set"};
    case operation::sum: return {"shmem_atomic_fetch_add", "shmem_atomic_add"};
    case operation::band: return {"shmem_atomic_fetch_and", "shmem_atomic_and"};
    case operation::bor: return {"shmem_atomic_fetch_or", "shmem_atomic_or"};
    default: return {"shmem_atomic_fetch_xor", "shmem_atomic_xor"};
    }
}
/// The same without what was there.
template <class T> void change_one(operation op, T* cell, T value, rank pe) {
    auto& memory = here().memory();
    if (op == operation::replace) return memory.set(cell, value, pe);
    if constexpr (std::is_integral_v<T>) {
        if (op == operation::sum) return memory.add(cell, value, pe);
        if (op == operation::band) return memory.bit_and(cell, value, pe);
        if (op == operation::bor) return memory.bit_or(cell, value, pe);
        if (op == operation::bxor) return memory.bit_xor(cell, value, pe);
    }
    give_up("mpt: an atomic operation that is not defined on these elements");
}
template <class T> T changed(operation op, T* cell, T value, rank pe) {
    auto& memory = here().memory();
    return op == operation::no_op ? memory.fetch(cell, pe) : (memory.*function_of<T>(op))(cell, value, pe);
}

} // namespace

namespace far {

void put(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, int pe) {
    guarded("shmem_put", [=] { here().memory().put(dest, source, n, world_of(ctx, pe)); });
}
void get(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, int pe) {
    guarded("shmem_get", [=] { here().memory().get(dest, source, n, world_of(ctx, pe)); });
}
void put_strided(shmem_ctx_t ctx, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                 std::size_t blocks, std::size_t width, int pe) {
    guarded("shmem_iput", [=] { here().memory().put(dest, source, {dst, sst, block, blocks, width}, world_of(ctx, pe)); });
}
void get_strided(shmem_ctx_t ctx, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                 std::size_t blocks, std::size_t width, int pe) {
    guarded("shmem_iget", [=] { here().memory().get(dest, source, {dst, sst, block, blocks, width}, world_of(ctx, pe)); });
}
void copy_strided(void* to, void const* from, std::ptrdiff_t there, std::ptrdiff_t here, std::size_t block, std::size_t blocks,
                  std::size_t width) noexcept {
    mpt::shmem::detail::copy_strided(static_cast<std::byte*>(to), static_cast<std::byte const*>(from),
                                     {there, here, block, blocks, width});
}
void put_signal(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, std::uint64_t* word, std::uint64_t value,
                int op, int pe) {
    auto const how = op == SHMEM_SIGNAL_ADD ? mpt::shmem::signal_op::add : mpt::shmem::signal_op::set;
    guarded("shmem_put_signal", [=] { here().memory().put_signal(dest, source, n, word, value, how, world_of(ctx, pe)); });
}
void atomic(shmem_ctx_t ctx, operation op, element_kind kind, void const* cell, void const* value, void* old, int pe) {
    guarded(names_of(op).fetches, [=] {
        with_type(kind, [=]<class T>(T) {
            *static_cast<T*>(old) =
                changed(op, static_cast<T*>(const_cast<void*>(cell)), *static_cast<T const*>(value), world_of(ctx, pe));
        });
    });
}
void change(shmem_ctx_t ctx, operation op, element_kind kind, void* cell, void const* value, int pe) {
    guarded(names_of(op).changes, [=] {
        with_type(kind,
                  [=]<class T>(T) { change_one(op, static_cast<T*>(cell), *static_cast<T const*>(value), world_of(ctx, pe)); });
    });
}
void compare_swap(shmem_ctx_t ctx, element_kind kind, void* cell, void const* cond, void const* value, void* old, int pe) {
    guarded("shmem_atomic_compare_swap", [=] {
        with_type(kind, [=]<class T>(T) {
            if constexpr (std::is_integral_v<T>)
                *static_cast<T*>(old) = here().memory().compare_swap(static_cast<T*>(cell), *static_cast<T const*>(cond),
                                                                     *static_cast<T const*>(value), world_of(ctx, pe));
        });
    });
}

void fence(shmem_ctx_t ctx) {
    if (ctx == SHMEM_CTX_INVALID) return;
    context_of(ctx);
    guarded("shmem_fence", [] { here().memory().fence(); });
}
void quiet(shmem_ctx_t ctx) {
    if (ctx == SHMEM_CTX_INVALID) return;
    context_of(ctx);
    guarded("shmem_quiet", [] { here().memory().quiet(); });
}
void ring(shmem_ctx_t ctx, int pe) {
    auto& e = here();
    if (auto* const bell = e.bells[static_cast<std::size_t>(world_of(ctx, pe))])
        bell->ring(e.job().run().world(), e.its_lane().fences());
}

/// Where several threads call at once, at once: one's quiet knows nothing of another's puts.
void ring_at_quiet(shmem_ctx_t ctx, int pe) {
    auto& e = here();
    if (e.level == SHMEM_THREAD_MULTIPLE) return ring(ctx, pe);
    e.memory().ring_at_quiet(world_of(ctx, pe));
}

void wait(bool (*ready)(void const*), void const* state) {
    guarded("shmem_wait_until", [=] { here().memory().await([=] { return ready(state); }); });
}
/// A round of progress, too: a program may do nothing but test, and others may wait for it to serve them.
void glance(char const* family) {
    guarded(family, [] {
        auto& e = here();
        auto& lane = e.its_lane();
        e.memory().look_around();
        lane.follow();
        if (all().rings) lane.world().yield();
    });
}

} // namespace far

// --- locks --------------------------------------------------------------------------------------------------------------------

void set_lock(long* lock) {
    guarded("shmem_set_lock", [lock] { here().env->lock_of(lock).set(); });
}
void clear_lock(long* lock) {
    guarded("shmem_clear_lock", [lock] { here().env->lock_of(lock).clear(); });
}
int test_lock(long* lock) {
    int const taken = guarded("shmem_test_lock", [lock] { return here().env->lock_of(lock).test() ? 0 : 1; });
    if (taken) far::glance("shmem_test_lock"); // who polls lets others run
    return taken;
}

} // namespace mpt::c::shmem
