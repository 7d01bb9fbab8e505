/// shmem/job/context - a stream of operations with an order of its own, whose PEs are numbered by a team. OpenSHMEM-1.6 section 9.5.
///
///        auto c = job.create_context(shmem::context_options{.is_private = true});
///        c->put(dest, std::span{source}, pe);        c->add(counter, 1L, pe);        c->quiet();
///
///   Operations are complete when they return, or known to their window, so contexts share nothing that they would have to lock, and
///   their options change nothing but which place of the pool they have (job/resources.hpp): a context is a numbering. quiet() and
///   fence() of one are those of all.
///
///   Here dest and source are spans of elements, and one element by a reference's address.
///   Handle   a unique_ptr that gives the context back to its job, as job::destroy does, at the end of its scope. Where the job has
///            ended first, it is memory alone. It ends before its team.
///   Limit    MPT_CONTEXTS of them a PE.
///   Tests    test/shmem_job_test.cpp
#pragma once
#include <memory>

#include <mpt/shmem/memory.hpp>
#include <mpt/shmem/team.hpp>

namespace mpt::inline v0::shmem {

/// What the program promises: one thread at a time, the thread that made it alone, no order with its own stores.
struct context_options {
    bool is_serialized = false, is_private = false, no_store = false;
};

template <class Stack> class context {
    shmem::memory<Stack>* memory_;
    shmem::team<Stack>* team_;
    group who_;
    bool is_world_;
    context_options options_;
    std::uint32_t place_; // in the job's resources

public:
    context(shmem::memory<Stack>& m, shmem::team<Stack>& t, context_options o = {}, std::uint32_t place = 0)
        : memory_{&m}, team_{&t}, who_{t.members()}, is_world_{who_ == group::range(0, m.size())}, options_{o}, place_{place} {}
    context(context const&) = delete;
    context& operator=(context const&) = delete;

    context_options const& options() const noexcept { return options_; }
    std::uint32_t place() const noexcept { return place_; }
    shmem::team<Stack>& team() const noexcept { return *team_; }
    shmem::memory<Stack>& memory() const noexcept { return *memory_; }
    std::int32_t size() const noexcept { return who_.size(); }
    /// The number of all PEs that this context's PE has.
    [[gnu::always_inline]] rank world(rank pe) const noexcept { return is_world_ ? pe : who_.world(pe); }

    // --- data ---------------------------------------------------------------------------------------------------------------------
    template <element T> void put(T* dest, std::span<T const> source, rank pe) {
        memory_->put(dest, source.data(), source.size_bytes(), world(pe));
    }
    template <element T> void get(std::span<T> dest, T const* source, rank pe) {
        memory_->get(dest.data(), source, dest.size_bytes(), world(pe));
    }
    template <element T> void p(T* dest, std::type_identity_t<T> value, rank pe) { memory_->p(dest, value, world(pe)); }
    template <element T> T g(T const* source, rank pe) { return memory_->g(source, world(pe)); }
    /// Every here-th element of n of the source, to every there-th of dest; and blocks of them.
    template <element T> void iput(T* dest, T const* source, std::ptrdiff_t there, std::ptrdiff_t here, std::size_t n, rank pe,
                                   std::size_t block = 1) {
        memory_->put(dest, source, {there, here, block, n, sizeof(T)}, world(pe));
    }
    template <element T> void iget(T* dest, T const* source, std::ptrdiff_t there, std::ptrdiff_t here, std::size_t n, rank pe,
                                   std::size_t block = 1) {
        memory_->get(dest, source, {there, here, block, n, sizeof(T)}, world(pe));
    }

    /// The same over spans: n blocks of `block` elements, one every here-th element of the own span and every there-th of the other's
    /// memory. Throws mpt::error(argument) where the span ends before them.
    template <element T> void ibput(T* dest, std::span<T const> source, std::ptrdiff_t there, std::ptrdiff_t here,
                                    std::size_t block, std::size_t n, rank pe) {
        must_hold("ibput", source.size(), here, block, n);
        iput(dest, source.data(), there, here, n, pe, block);
    }
    template <element T> void ibget(std::span<T> dest, T const* source, std::ptrdiff_t here, std::ptrdiff_t there,
                                    std::size_t block, std::size_t n, rank pe) {
        must_hold("ibget", dest.size(), here, block, n);
        iget(dest.data(), source, here, there, n, pe, block);
    }
    template <element T>
    void iput(T* dest, std::span<T const> source, std::ptrdiff_t there, std::ptrdiff_t here, std::size_t n, rank pe) {
        ibput(dest, source, there, here, 1, n, pe);
    }
    template <element T>
    void iget(std::span<T> dest, T const* source, std::ptrdiff_t here, std::ptrdiff_t there, std::size_t n, rank pe) {
        ibget(dest, source, here, there, 1, n, pe);
    }
    /// Those that are complete at the next quiet(). They are sooner: memory.hpp.
    template <element T> void put_nbi(T* dest, std::span<T const> source, rank pe) { put(dest, source, pe); }
    template <element T> void get_nbi(std::span<T> dest, T const* source, rank pe) { get(dest, source, pe); }
    template <element T>
    void iput_nbi(T* dest, std::span<T const> source, std::ptrdiff_t there, std::ptrdiff_t here, std::size_t n, rank pe) {
        iput(dest, source, there, here, n, pe);
    }
    template <element T>
    void iget_nbi(std::span<T> dest, T const* source, std::ptrdiff_t here, std::ptrdiff_t there, std::size_t n, rank pe) {
        iget(dest, source, here, there, n, pe);
    }
    template <element T> void ibput_nbi(T* dest, std::span<T const> source, std::ptrdiff_t there, std::ptrdiff_t here,
                                        std::size_t block, std::size_t n, rank pe) {
        ibput(dest, source, there, here, block, n, pe);
    }
    template <element T> void ibget_nbi(std::span<T> dest, T const* source, std::ptrdiff_t here, std::ptrdiff_t there,
                                        std::size_t block, std::size_t n, rank pe) {
        ibget(dest, source, here, there, block, n, pe);
    }

    // --- atomic updates -------------------------------------------------------------------------------------------------------------
    template <atomic_element T> T fetch(T const* source, rank pe) { return memory_->fetch(source, world(pe)); }
    template <atomic_element T> void set(T* dest, std::type_identity_t<T> v, rank pe) { memory_->set(dest, v, world(pe)); }
    template <atomic_element T> T swap(T* dest, std::type_identity_t<T> v, rank pe) {
        return memory_->swap(dest, v, world(pe));
    }
    template <atomic_integer T> T compare_swap(T* dest, std::type_identity_t<T> condition, std::type_identity_t<T> v, rank pe) {
        return memory_->compare_swap(dest, condition, v, world(pe));
    }
    template <atomic_integer T> T fetch_add(T* dest, std::type_identity_t<T> v, rank pe) {
        return memory_->template fetch_add<T>(dest, v, world(pe));
    }
    template <atomic_integer T> T fetch_and(T* dest, std::type_identity_t<T> v, rank pe) {
        return memory_->template fetch_and<T>(dest, v, world(pe));
    }
    template <atomic_integer T> T fetch_or(T* dest, std::type_identity_t<T> v, rank pe) {
        return memory_->template fetch_or<T>(dest, v, world(pe));
    }
    template <atomic_integer T> T fetch_xor(T* dest, std::type_identity_t<T> v, rank pe) {
        return memory_->template fetch_xor<T>(dest, v, world(pe));
    }
    template <atomic_integer T> void add(T* dest, std::type_identity_t<T> v, rank pe) { memory_->add(dest, v, world(pe)); }
    template <atomic_integer T> void bit_and(T* dest, std::type_identity_t<T> v, rank pe) {
        memory_->bit_and(dest, v, world(pe));
    }
    template <atomic_integer T> void bit_or(T* dest, std::type_identity_t<T> v, rank pe) {
        memory_->bit_or(dest, v, world(pe));
    }
    template <atomic_integer T> void bit_xor(T* dest, std::type_identity_t<T> v, rank pe) {
        memory_->bit_xor(dest, v, world(pe));
    }

    template <atomic_integer T> T fetch_inc(T* dest, rank pe) { return fetch_add(dest, T{1}, pe); }
    template <atomic_integer T> void inc(T* dest, rank pe) { add(dest, T{1}, pe); }
    /// What was there is in *was at the next quiet(), or sooner.
    template <atomic_element T> void fetch_nbi(T* was, T const* source, rank pe) { *was = fetch(source, pe); }
    template <atomic_element T> void swap_nbi(T* was, T* dest, std::type_identity_t<T> v, rank pe) { *was = swap(dest, v, pe); }
    template <atomic_integer T>
    void compare_swap_nbi(T* was, T* dest, std::type_identity_t<T> condition, std::type_identity_t<T> v, rank pe) {
        *was = compare_swap(dest, condition, v, pe);
    }
    template <atomic_integer T> void fetch_inc_nbi(T* was, T* dest, rank pe) { *was = fetch_inc(dest, pe); }
    template <atomic_integer T> void fetch_add_nbi(T* was, T* dest, std::type_identity_t<T> v, rank pe) {
        *was = fetch_add(dest, v, pe);
    }
    template <atomic_integer T> void fetch_and_nbi(T* was, T* dest, std::type_identity_t<T> v, rank pe) {
        *was = fetch_and(dest, v, pe);
    }
    template <atomic_integer T> void fetch_or_nbi(T* was, T* dest, std::type_identity_t<T> v, rank pe) {
        *was = fetch_or(dest, v, pe);
    }
    template <atomic_integer T> void fetch_xor_nbi(T* was, T* dest, std::type_identity_t<T> v, rank pe) {
        *was = fetch_xor(dest, v, pe);
    }

    // --- signals and order ----------------------------------------------------------------------------------------------------------
    template <element T>
    void put_signal(T* dest, std::span<T const> source, std::uint64_t* word, std::uint64_t value, signal_op op, rank pe) {
        memory_->put_signal(dest, source.data(), source.size_bytes(), word, value, op, world(pe));
    }
    template <element T>
    void put_signal_nbi(T* dest, std::span<T const> source, std::uint64_t* word, std::uint64_t value, signal_op op, rank pe) {
        put_signal(dest, source, word, value, op, pe);
    }
    void signal(std::uint64_t* word, std::uint64_t value, signal_op op, rank pe) {
        memory_->signal(word, value, op, world(pe));
    }
    void fence() { memory_->fence(); }
    void quiet() { memory_->quiet(); }
    void quiet(rank pe) { memory_->quiet(world(pe)); }

private:
    static void must_hold(char const* call, std::size_t has, std::ptrdiff_t stride, std::size_t block, std::size_t n) {
        if (block == 0 || n == 0) return;
        if (stride >= 1 && block <= has && (n - 1) <= (has - block) / static_cast<std::size_t>(stride)) return;
        throw error{errc::argument, "mpt: " + std::string{call} + ": " + std::to_string(n) + " blocks of " +
                                        std::to_string(block) + " elements, one every " + std::to_string(stride) +
                                        ", do not lie in a span of " + std::to_string(has) + " elements"};
    }
};

template <class Stack> class job;

/// The end of a context whose job may have ended before it.
template <class Stack> struct context_end {
    std::weak_ptr<shmem::job<Stack>> job;
    void operator()(context<Stack>* c) const noexcept;
};
template <class Stack> using context_handle = std::unique_ptr<context<Stack>, context_end<Stack>>;

} // namespace mpt::inline v0::shmem
