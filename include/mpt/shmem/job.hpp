/// shmem/job - a PE's part in an OpenSHMEM job: its symmetric memory and who has which of it, the teams of all, contexts.
///
///        job
///        +-- world, node      the teams of all PEs, and of those whose memory is mapped here
///        +-- memory           puts, gets, atomic updates (shmem/memory.hpp)
///        +-- map              what of the heap is taken by partition (shmem/partition.hpp)
///        +-- sets             active sets that were named, each a team
///        `-- default context; a count of the others, registered threads, and the pool they share (job/resources.hpp)
///
///   It stands on the runtime that MPI stands on, in a context of its own: a program may use both (shmem/environment.hpp).
///
///   Allocation   is collective: all PEs call with the same numbers, which is looked at: where they differ, all of them throw
///                mpt::error(argument). Where the heap's partition has no room, or is not there, all of them throw
///                mpt::error(no_memory), with the numbers.
///   Threads      collectives of a team by one thread at a time, allocations being the world's; contexts by any.
///   Tests        test/shmem_job_test.cpp    Source OpenSHMEM-1.6 sections 9.1, 9.3, 9.10
#pragma once
#include <array>
#include <map>
#include <mutex>

#include <mpt/coll/allreduce.hpp>
#include <mpt/shmem/job/context.hpp>
#include <mpt/shmem/job/resources.hpp>
#include <mpt/shmem/partition.hpp>

namespace mpt::inline v0::shmem {

template <class Stack> class job {
    runtime<Stack>* run_;
    context_room room_;
    team<Stack> world_;
    shmem::memory<Stack> memory_;
    typename team<Stack>::maybe node_;
    partitioned_map map_;
    context<Stack> default_;
    std::mutex mutable changing_; // the map, contexts, threads and active sets
    std::uint32_t contexts_ = 0, most_contexts_, most_threads_;
    shmem::resources resources_{most_contexts_};
    std::map<std::uint64_t, resources::place> threads_; // that are registered, by their numbers
    std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::unique_ptr<team<Stack>>> sets_;
    bool finished_ = false;
    std::shared_ptr<job> running_{this, [](job*) {}}; // by which handles of contexts find us; null: they need not

public:
    using stack_type = Stack;
    static constexpr context_id world_context{6}; // beside those of runtime, which lack the top bit as well

    /// Collective over all ranks of the job.
    explicit job(runtime<Stack>& run)
        : run_{&run}, room_{run.configuration().template get<"MPT_CONTEXTS">()},
          world_{run, world_context, group::range(0, run.size()), {}, &room_, &memory_},
          memory_{run, world_context, world_.native()}, node_{make_node()}, map_{memory_.partitions()},
          default_{memory_, world_}, most_contexts_{run.configuration().template get<"MPT_CONTEXTS">()},
          most_threads_{run.configuration().template get<"MPT_REGISTERED_THREADS">()} {
        run.job().speak(boot::facade::shmem);
        run.job().name(world_context, "SHMEM_TEAM_WORLD");
        if (node_->size() > 1) run.job().name(context_of_set(0, -1, size()), "SHMEM_TEAM_SHARED");
    }
    job(job const&) = delete;
    job& operator=(job const&) = delete;
    /// Collective: completes what is under way, and meets the others. After it nothing but the destructor is called.
    void finish() {
        if (std::exchange(finished_, true)) return;
        running_.reset();
        barrier_all();
        memory_.finish();
    }

    rank me() const noexcept { return world_.me(); }
    std::int32_t size() const noexcept { return world_.size(); }
    runtime<Stack>& run() noexcept { return *run_; }
    shmem::memory<Stack>& memory() noexcept { return memory_; }
    team<Stack>& world() noexcept { return world_; }
    /// SHMEM_TEAM_SHARED: those whose memory can be loaded and stored here.
    team<Stack>& node() noexcept { return *node_; }

    // --- order. Section 9.10.1 --------------------------------------------------------------------------------------------------
    void barrier_all() { barrier(world_); }
    void barrier(team<Stack>& t) {
        memory_.quiet();
        coll::barrier(t.native());
    }
    void sync_all() { coll::barrier(world_.native()); }
    /// The team of an active set, whose PEs name it alike. Throws mpt::error(argument) where there is none, or this PE is not in it.
    team<Stack>& active_set(std::int32_t start, std::int32_t log_stride, std::int32_t size);

    // --- symmetric memory. Section 9.3. Null for 0 bytes --------------------------------------------------------------------------
    /// call: what sentences say was called.
    void* allocate(std::size_t n, std::size_t align = alignof(std::max_align_t), int partition = 1,
                   char const* call = "allocate");
    void* allocate_zeroed(std::size_t count, std::size_t size, std::size_t align = alignof(std::max_align_t), int partition = 1,
                          char const* call = "allocate_zeroed");
    /// Where it was, if there is room; else elsewhere in its partition, with what it held.
    void* reallocate(void* block, std::size_t n);
    void deallocate(void* block);
    /// How long the block is that begins there; 0: none does.
    std::size_t size_of(void const* block) const noexcept { return map_.size_of(offset(block)); }
    partitioned_map const& map() const noexcept { return map_; }
    /// The block that a byte of the heap belongs to, as long as was asked for; empty: it is free. By any thread.
    std::span<std::byte const> block_around(void const* p) const {
        std::lock_guard const g{changing_};
        auto const b = map_.around(offset(p));
        return b ? std::span{memory_.heap()}.subspan(b->at, b->bytes) : std::span<std::byte const>{};
    }

    // --- contexts. Section 9.5 ------------------------------------------------------------------------------------------------------
    context<Stack>& default_context() noexcept { return default_; }
    /// Null: there are as many as may be, here or of the team, or none can be private. It ends before its team.
    context_handle<Stack> create_context(team<Stack>& t, context_options o = {});
    context_handle<Stack> create_context(context_options o = {}) { return create_context(world_, o); }
    /// Completes what was begun on it. What the handle's end does, which tells nobody of an error.
    void destroy(context_handle<Stack> c);
    std::uint32_t contexts() noexcept {
        std::lock_guard const g{changing_};
        return contexts_;
    }
    std::uint32_t most_contexts() const noexcept { return most_contexts_; }

    // --- threads that register: Cray's. What they do is complete at quiet(), as all else ----------------------------------------------
    /// The caller; again: nothing. False: as many as may be are registered.
    bool register_thread();
    /// The caller, if it is registered: completes what it has begun.
    void unregister_thread();
    /// Its place is free again, without a look at what it has begun: for who hears that a registered thread has ended.
    void drop_thread(std::uint64_t self) {
        std::lock_guard const g{changing_};
        auto const known = threads_.find(self);
        if (known == threads_.end()) return;
        resources_.leave(known->second);
        threads_.erase(known);
    }
    resource_use use() {
        std::lock_guard const g{changing_};
        return {resources_.places(), resources_.unused(), resources_.owned(), contexts_,
                static_cast<std::uint32_t>(threads_.size())};
    }

private:
    /// All where their heaps are mapped, else this PE. A team of its own also where it is all: another thread may be in a collective of the
    /// world meanwhile.
    std::unique_ptr<team<Stack>> make_node() {
        bool const all = memory_.is_direct(memory_.heap().data());
        auto const first = all ? rank{0} : me();
        auto const n = all ? size() : 1;
        return std::make_unique<team<Stack>>(*run_, context_of_set(first.value, -1, n), group::range(first, n), team_config{},
                                             &room_, &memory_);
    }
    std::uint64_t offset(void const* p) const noexcept {
        return static_cast<std::uint64_t>(static_cast<std::byte const*>(p) - memory_.heap().data());
    }
    void* place(std::uint64_t offset) const noexcept { return memory_.heap().data() + offset; }
    void must_agree(char const* call, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);
    std::uint64_t block_of(char const* call, void const* p) const;
    void must_have(char const* call, int partition) const;
    [[noreturn]] void exhausted(char const* call, std::size_t n, std::size_t align, int partition) const;
};

template <class Stack> team<Stack>& job<Stack>::active_set(std::int32_t start, std::int32_t log_stride, std::int32_t size) {
    std::lock_guard const g{changing_};
    auto& known = sets_[{start, log_stride, size}];
    if (known) return *known;
    auto const who =
        log_stride >= 0 && log_stride < 31 ? world_.strided(start, std::int32_t{1} << log_stride, size) : std::nullopt;
    if (!who || !who->find(me()))
        throw error{errc::argument, "mpt: PE_start " + std::to_string(start) + ", logPE_stride " + std::to_string(log_stride) +
                                        ", PE_size " + std::to_string(size) + " is no active set with PE " +
                                        std::to_string(me().value) + " of " + std::to_string(world_.size())};
    known =
        std::make_unique<team<Stack>>(*run_, context_of_set(start, log_stride, size), *who, team_config{}, &room_, &memory_);
    return *known;
}

// --- symmetric memory -----------------------------------------------------------------------------------------------------------------
/// Nobody goes on before all have come, and all have come with the same numbers.
template <class Stack> void job<Stack>::must_agree(char const* call, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    memory_.quiet();
    std::array<std::uint64_t, 6> all{a, b, c, ~a, ~b, ~c}; // the greatest of a number, and of its complement: the least
    auto max = find_kernel(operation::max, element_kind::uint64);
    auto const op = coll::operand::array(8, true, &max, [](void* f, std::byte const* left, std::byte* right, std::size_t n) {
        (*static_cast<kernel*>(f))(left, right, n);
    });
    coll::allreduce(world_.native(), op, nullptr, reinterpret_cast<std::byte*>(all.data()), all.size());
    for (std::size_t i = 0; i < 3; ++i)
        if (auto const most = all[i], least = ~all[i + 3]; most != least)
            throw error{errc::argument, "mpt: " + std::string{call} + ": PEs call it with different arguments: " +
                                            std::to_string(least) + " at one, " + std::to_string(most) + " at another"};
}

template <class Stack> void job<Stack>::must_have(char const* call, int partition) const {
    if (map_.has(partition)) return;
    std::string there;
    for (auto const& p : memory_.partitions()) there += (there.empty() ? "" : ", ") + std::to_string(p.id);
    throw error{errc::no_memory, "mpt: " + std::string{call} + ": the symmetric heap has no partition " +
                                     std::to_string(partition) + "; there are: " + there + " (SHMEM_SYMMETRIC_PARTITION1 to " +
                                     std::to_string(most_partitions) + " make them)"};
}

template <class Stack> void* job<Stack>::allocate(std::size_t n, std::size_t align, int partition, char const* call) {
    if (n == 0) return nullptr;
    if (!std::has_single_bit(align))
        throw error{errc::argument,
                    "mpt: " + std::string{call} + ": an alignment is a power of two, not " + std::to_string(align)};
    must_agree(call, n, align, static_cast<unsigned>(partition));
    must_have(call, partition);
    std::lock_guard const g{changing_};
    if (align > memory_.alignment())
        throw error{errc::no_memory, "mpt: " + std::string{call} + ": the symmetric heap has no place at a multiple of " +
                                         std::to_string(align) + ": it begins at one of " +
                                         std::to_string(memory_.alignment()) +
                                         ", a quarter of its size or less (SHMEM_SYMMETRIC_SIZE sets its size)"};
    auto const at = map_.take(partition, n, align);
    if (!at) exhausted(call, n, align, partition);
    return place(*at);
}

template <class Stack>
void* job<Stack>::allocate_zeroed(std::size_t count, std::size_t size, std::size_t align, int partition, char const* call) {
    std::size_t n = 0;
    if (__builtin_mul_overflow(count, size, &n)) n = ~std::size_t{0};
    auto* const p = allocate(n, align, partition, call);
    if (p) std::memset(p, 0, n);
    if (p) coll::barrier(world_.native()); // nobody writes before it is zeroed
    return p;
}

template <class Stack> void job<Stack>::deallocate(void* block) {
    if (!block) return;
    auto const at = block_of("shmem_free", block);
    must_agree("shmem_free", at);
    std::lock_guard const g{changing_};
    map_.give(at);
}

template <class Stack> void* job<Stack>::reallocate(void* block, std::size_t n) {
    if (!block) return allocate(n, alignof(std::max_align_t), 1, "shmem_realloc");
    if (n == 0) return deallocate(block), nullptr;
    auto const from = block_of("shmem_realloc", block);
    must_agree("shmem_realloc", from, n);
    std::unique_lock g{changing_};
    if (map_.resize(from, n)) return block;
    auto const partition = map_.partition_of(from);
    auto const to = map_.take(partition, n);
    if (!to) exhausted("shmem_realloc", n, heap_map::grain, partition);
    std::memcpy(place(*to), block, std::min<std::size_t>(map_.size_of(from), n));
    map_.give(from);
    g.unlock();
    coll::barrier(world_.native()); // nobody writes before it is copied
    return place(*to);
}

template <class Stack> std::uint64_t job<Stack>::block_of(char const* call, void const* p) const {
    if (auto const at = offset(p); map_.size_of(at) != 0) return at;
    throw error{errc::argument, "mpt: " + std::string{call} + ": no block of the symmetric heap begins at address " +
                                    std::to_string(reinterpret_cast<std::uintptr_t>(p))};
}

template <class Stack> void job<Stack>::exhausted(char const* call, std::size_t n, std::size_t align, int partition) const {
    auto const& map = map_.of(partition);
    auto const which = std::to_string(partition);
    throw error{errc::no_memory,
                "mpt: " + std::string{call} + ": " +
                    (partition == 1 ? "the symmetric heap" : "partition " + which + " of the symmetric heap") +
                    " has no room for " + std::to_string(n) + " bytes at a multiple of " + std::to_string(align) + ": of its " +
                    std::to_string(map.bytes()) + " bytes " + std::to_string(map.used()) +
                    " are taken, and the largest free part has " + std::to_string(map.largest_free()) +
                    (partition == 1 ? " (SHMEM_SYMMETRIC_SIZE" : " (SHMEM_SYMMETRIC_PARTITION" + which) + " sets its size)"};
}

// --- contexts -----------------------------------------------------------------------------------------------------------------------------
template <class Stack> context_handle<Stack> job<Stack>::create_context(team<Stack>& t, context_options o) {
    std::lock_guard const g{changing_};
    auto const place = resources_.find(o.is_private);
    if (!place || !t.take_context()) return nullptr;
    context_handle<Stack> c{new context<Stack>(memory_, t, o, *place), {running_}};
    resources_.take(*place, o.is_private);
    ++contexts_;
    return c;
}
template <class Stack> void job<Stack>::destroy(context_handle<Stack> c) {
    if (!c) return;
    {
        std::lock_guard const g{changing_};
        resources_.leave(c->place());
        c->team().give_context();
        --contexts_;
    }
    delete c.release(); // it is given back whatever quiet() throws
    memory_.quiet();
}
template <class Stack> void context_end<Stack>::operator()(context<Stack>* c) const noexcept {
    auto const is_running = job.lock();
    if (!is_running) return delete c;
    try {
        is_running->destroy(context_handle<Stack>{c});
    } catch (error const&) { // the job was ended meanwhile
    }
}

// --- threads ------------------------------------------------------------------------------------------------------------------------------
template <class Stack> bool job<Stack>::register_thread() {
    std::lock_guard const g{changing_};
    auto const self = run_->world().self();
    if (threads_.contains(self)) return true;
    if (threads_.size() == most_threads_) return false;
    auto const place = *resources_.find(false);
    threads_.emplace(self, place);
    resources_.take(place, false);
    return true;
}
template <class Stack> void job<Stack>::unregister_thread() {
    memory_.quiet();
    drop_thread(run_->world().self());
}

/// The calling thread is registered from here to the end of its scope.
template <class Stack> class registered_thread {
    shmem::job<Stack>* job_;
    bool is_registered_;

public:
    explicit registered_thread(shmem::job<Stack>& j) : job_{&j}, is_registered_{j.register_thread()} {}
    registered_thread(registered_thread const&) = delete;
    registered_thread& operator=(registered_thread const&) = delete;
    ~registered_thread() {
        try {
            if (is_registered_) job_->unregister_thread();
        } catch (error const&) { // the job was ended meanwhile
        }
    }
    /// False: as many as may be are registered. The thread may go on calling all the same.
    explicit operator bool() const noexcept { return is_registered_; }
};

} // namespace mpt::inline v0::shmem
