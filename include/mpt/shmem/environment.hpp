/// shmem/environment - OpenSHMEM for C++: from the beginning to the end of a PE's part in a job.
///
///        int main() {
///            mpt::shmem::environment pe;                                 // joins the job, or a job of one
///            mpt::shmem::array<long> counts{pe, 100};                    // symmetric: 100 longs on every PE
///            pe->inc(&counts[3], 0);                                     // PE 0's fourth, atomically
///            pe.barrier_all();
///        }                                                               // completes what is under way and meets the others
///
///   A PE is a rank. MPI and OpenSHMEM may both be in one program, begun and ended in any order: they share a home (mpi/session.hpp),
///   and so its runtime.
///
///   What default_context() does stands behind the arrow. Waits and tests of many take what they look at (shmem/compare.hpp):
///   pe.wait_until_any(shmem::watched{&flags[0], n, nullptr, comparison::ne, 0}).
///   A test that finds nothing serves the others. An exception that leaves main ends the job.
///   Tests    test/shmem_environment_test.cpp    Source OpenSHMEM-1.6 sections 9.1 and 9.2
#pragma once
#include <algorithm>

#include <mpt/mpi/operations.hpp>
#include <mpt/mpi/session.hpp>
#include <mpt/shmem/collectives.hpp>
#include <mpt/shmem/compare.hpp>
#include <mpt/shmem/job.hpp>
#include <mpt/shmem/lock.hpp>

namespace mpt::inline v0::shmem {

template <class Stack = standard_stack> class environment {
    std::shared_ptr<session_home<Stack>> home_; // null: the runtime is somebody else's, who keeps it
    std::unique_ptr<shmem::job<Stack>> job_;
    int exceptions_ = std::uncaught_exceptions();

public:
    using stack_type = Stack;

    /// Joins the job this process was started in.
    environment() : environment{session_home<Stack>::of_process()} {}
    explicit environment(std::shared_ptr<session_home<Stack>> home) : home_{std::move(home)} {
        auto& env = home_->enter_world(boot::facade::shmem);
        try {
            job_ = std::make_unique<shmem::job<Stack>>(env.native());
        } catch (...) {
            home_->leave();
            throw;
        }
    }
    explicit environment(runtime<Stack>& run) : job_{std::make_unique<shmem::job<Stack>>(run)} {}
    environment(environment const&) = delete;
    environment& operator=(environment const&) = delete;
    ~environment() {
        if (std::uncaught_exceptions() > exceptions_) return; // the others do not wait for us
        try {
            finish();
        } catch (error const&) { // the job was ended meanwhile
        }
    }
    /// Collective; what the destructor does.
    void finish() {
        if (!job_) return;
        job_->finish();
        job_.reset();
        if (home_) home_->leave_world();
    }

    shmem::job<Stack>& job() noexcept { return *job_; }
    shmem::memory<Stack>& memory() noexcept { return job_->memory(); }
    context<Stack>* operator->() noexcept { return &job_->default_context(); }
    rank me() const noexcept { return job_->me(); }
    std::int32_t size() const noexcept { return job_->size(); }
    team<Stack>& world() noexcept { return job_->world(); }
    void barrier_all() { job_->barrier_all(); }
    void sync_all() { job_->sync_all(); }
    template <atomic_integer T> void wait_until(T const* own, comparison how, std::type_identity_t<T> value) {
        shmem::wait_until(memory(), own, how, value);
    }
    std::uint64_t signal_wait_until(std::uint64_t const* signal, comparison how, std::uint64_t value) {
        return shmem::signal_wait_until(memory(), signal, how, value);
    }
    template <std::integral T> void wait_until_all(watched<T> const& w) { shmem::wait_until_all(memory(), w); }
    template <std::integral T> std::size_t wait_until_any(watched<T> const& w, std::uint64_t turn = 0) {
        return shmem::wait_until_any(memory(), w, turn);
    }
    template <std::integral T> std::size_t wait_until_some(watched<T> const& w, std::size_t* which) {
        return shmem::wait_until_some(memory(), w, which);
    }
    template <atomic_integer T> bool test(T const* own, comparison how, std::type_identity_t<T> value) {
        return looked(shmem::test(own, how, value), false);
    }
    template <std::integral T> bool test_all(watched<T> const& w) { return looked(shmem::test_all(w), false); }
    template <std::integral T> std::size_t test_any(watched<T> const& w, std::uint64_t turn = 0) {
        return looked(shmem::test_any(w, turn), none_fits);
    }
    template <std::integral T> std::size_t test_some(watched<T> const& w, std::size_t* which) {
        return looked(shmem::test_some(w, which), std::size_t{0});
    }
    lock<Stack> lock_of(long* word) noexcept { return {memory(), word}; }
    /// Ends the whole job with this exit code, 0 for one that is through. What this PE has printed is not lost.
    [[noreturn]] void global_exit(int code) noexcept { job_->run().job().end(code); }

private:
    template <class Found> Found looked(Found found, Found nothing) {
        if (found == nothing) memory().go_on_polling();
        return found;
    }
};
environment() -> environment<>;

/// Where in the heap an array is to lie (shmem/partition.hpp), and what it is for, which changes nothing: all of the heap serves all.
struct array_options {
    std::size_t align = alignof(std::max_align_t);
    int partition = 1;
    bool is_for_atomics = false, is_for_signals = false;
};

/// n elements at the same place on every PE, zeroed; made and destroyed by all PEs together, in one order.
template <element T, class Stack = standard_stack> class array {
    shmem::job<Stack>* job_;
    std::span<T> own_;
    int exceptions_ = std::uncaught_exceptions();

public:
    array(environment<Stack>& e, std::size_t n, array_options o = {}) : array{e.job(), n, o} {}
    array(shmem::job<Stack>& j, std::size_t n, array_options o = {})
        : job_{&j}, own_{static_cast<T*>(j.allocate_zeroed(n, sizeof(T), std::max(o.align, alignof(T)), o.partition)), n} {}
    array(array const&) = delete;
    array& operator=(array const&) = delete;
    ~array() {
        if (std::uncaught_exceptions() > exceptions_) return;
        try {
            job_->deallocate(own_.data());
        } catch (error const&) { // the job was ended meanwhile
        }
    }
    std::size_t size() const noexcept { return own_.size(); }
    T* data() const noexcept { return own_.data(); }
    T& operator[](std::size_t i) const noexcept { return own_[i]; }
    auto begin() const noexcept { return own_.begin(); }
    auto end() const noexcept { return own_.end(); }
    operator std::span<T>() const noexcept { return own_; }
    operator std::span<T const>() const noexcept { return own_; }
};

} // namespace mpt::inline v0::shmem
