/// shmem/memory - symmetric memory: how a PE reads, writes and updates what lies at the same place at another PE.
///
///        address here                                   at PE p                             by
///        in the symmetric heap     low + offset         bases[p] + offset                   loads, stores, the processor's atomics
///        static, of the program    begin + offset       its file, mapped, + offset          the same (shmem/statics.hpp)
///        other static storage      segment k + offset   its segment k + offset              a window (rma/window.hpp): CMA, its agent
///
///   The heap is a part of each PE's slice of the arena, so one comparison and one load lead to any PE's. Where a transport reads no
///   memory, the heap goes through the window, too. The window has one domain of atomicity with the direct way (rma/element.hpp).
///
///   Complete  everything is complete here when it returns, and, where it is direct, there as well: the nbi forms of OpenSHMEM are these.
///             What an agent does is complete at quiet(); of a put, where MPT_PUT_EARLY is off, when it returns.
///   Order     fence() orders the stores of the direct way by an instruction, and confirms what agents owe; quiet() is a full fence.
///             Elements of 1, 2, 4 or 8 bytes, atomic updates and signals are released, and acquired by g(), fetch() and who waits.
///   Wake      who waits for memory (await) naps at most MPT_NAP. Where a PE sleeps soon, for CPUs are scarce or MPT_WAIT says so,
///             whatever changes a PE's memory rings its bell: of what an agent does the answer is waited for. A signal rings always, and
///             what need not be seen before quiet() may ring there.
///             Who waits does what its agent is asked for, too: a signal in static data needs no other thread to run.
///   Cost      x86-64, g++ 12 -O2, from entry to return: 8 bytes: p() 11 instructions, g() 9, put() 12 where the compiler knows the size,
///             add() and fetch_add() 11; with the look whether anybody sleeps soon.
///   Threads   any number at once; the constructor and finish() are collective.
///   Limit     addresses are looked at by their beginning only: what leaves the heap at its end is the program's mistake.
///   Tests     test/shmem_memory_test.cpp    Source OpenSHMEM-1.6 sections 4, 9.3, 9.6 to 9.9, 9.12
#pragma once
#include <bit>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mpt/mpi/window.hpp>
#include <mpt/rma/window.hpp>
#include <mpt/shmem/partition.hpp>
#include <mpt/shmem/segments.hpp>
#include <mpt/shmem/statics.hpp>
#include <mpt/stack/runtime.hpp>

namespace mpt::inline v0::shmem {

/// What atomic operations work on. OpenSHMEM-1.6 section 9.8.
template <class T>
concept atomic_element = (std::integral<T> || std::floating_point<T>)&&!std::same_as<T, bool> && sizeof(T) <= 8;
template <class T>
concept atomic_integer = atomic_element<T> && std::integral<T>;

/// What a signal does to the word that it goes to. Section 9.9.
enum class signal_op : std::uint8_t { set, add };

/// count blocks of `block` elements of `width` bytes; blocks begin `there` elements apart at the destination, `here` at the source.
struct strides {
    std::ptrdiff_t there = 1, here = 1;
    std::size_t block = 1, count = 0, width = 1;
};

template <class Stack> class memory {
public:
    using stack_type = Stack;
    using world_type = typename Stack::world_type;

    /// Collective over all PEs, of which `all` is a team. Throws mpt::error(no_memory) on all of them where one has none.
    memory(runtime<Stack>& run, context_id context, coll::team<Stack> const& all);
    ~memory();
    memory(memory const&) = delete;
    memory& operator=(memory const&) = delete;
    /// Collective: completes what is under way and meets the others. After it nothing but the destructor is called.
    void finish();

    rank me() const noexcept { return run_->me(); }
    std::int32_t size() const noexcept { return run_->size(); }
    runtime<Stack>& run() const noexcept { return *run_; }
    /// This PE's heap.
    std::span<std::byte> heap() const noexcept { return {reinterpret_cast<std::byte*>(low_), bytes_}; }

    /// What the heap consists of (shmem/partition.hpp); partition 1 is there always. The rest of its traits are this PE's.
    std::span<partition const> partitions() const noexcept { return layout_.partitions; }
    /// A power of two of which every PE's heap begins at a multiple.
    std::uint64_t alignment() const noexcept { return alignment_; }
    /// Is who waits rung by whatever changes its memory? On all PEs alike.
    bool rings() const noexcept { return rings_; }

    // --- addresses. Section 9.1 -------------------------------------------------------------------------------------------------
    /// Static data that may only be read.
    bool is_constant(void const* address) const noexcept {
        auto const k = segment_of(segments_, number(address));
        return k < segments_.size() && segments_[k].is_constant();
    }
    /// In the heap, and its peers' heaps are mapped here.
    [[gnu::always_inline]] bool is_direct(void const* address) const noexcept { return maps && offset(address) < bytes_; }
    /// Of an address that is_direct.
    [[gnu::always_inline]] std::byte* at(void const* address, rank pe) const noexcept {
        return bases_[pe.value] + offset(address);
    }
    bool is_symmetric(void const* address) const noexcept {
        return offset(address) < bytes_ || segment_of(segments_, number(address)) < segments_.size();
    }
    /// At the PE, too: which may run another program.
    bool is_symmetric(void const* address, rank pe) const noexcept {
        if (offset(address) < bytes_) return true;
        auto const k = segment_of(segments_, number(address));
        return k < segments_.size() && is_same(k, pe);
    }
    /// Is it in the heap, with all of its n bytes?
    bool in_heap(void const* address, std::size_t n) const noexcept {
        return offset(address) <= bytes_ && n <= bytes_ - offset(address);
    }
    /// Where it can be loaded and stored here; null: nowhere.
    void* ptr(void const* address, rank pe) const noexcept {
        if (is_direct(address)) return at(address, pe);
        if (auto* const there = statics_.find(address, pe)) return there;
        return pe == me() && is_symmetric(address) ? const_cast<void*>(address) : nullptr;
    }

    // --- data: memory/move.hpp. Sections 9.6 and 9.7 -------------------------------------------------------------------------------
    void put(void* dest, void const* source, std::size_t n, rank pe);
    void get(void* dest, void const* source, std::size_t n, rank pe);
    template <element T> void p(T* dest, T value, rank pe);
    template <element T> T g(T const* source, rank pe);
    void put(void* dest, void const* source, strides const& s, rank pe);
    void get(void* dest, void const* source, strides const& s, rank pe);

    // --- atomic updates: memory/update.hpp. Section 9.8 -----------------------------------------------------------------------------
    template <atomic_element T> T fetch(T const* source, rank pe);
    template <atomic_element T> void set(T* dest, T value, rank pe);
    template <atomic_element T> T swap(T* dest, T value, rank pe);
    template <atomic_integer T> T compare_swap(T* dest, T condition, T value, rank pe);
    template <atomic_integer T> T fetch_add(T* dest, T value, rank pe);
    template <atomic_integer T> T fetch_and(T* dest, T value, rank pe);
    template <atomic_integer T> T fetch_or(T* dest, T value, rank pe);
    template <atomic_integer T> T fetch_xor(T* dest, T value, rank pe);
    /// The same without what was there.
    template <atomic_integer T> void add(T* dest, T value, rank pe);
    template <atomic_integer T> void bit_and(T* dest, T value, rank pe);
    template <atomic_integer T> void bit_or(T* dest, T value, rank pe);
    template <atomic_integer T> void bit_xor(T* dest, T value, rank pe);

    // --- signals: memory/update.hpp. Section 9.9 ------------------------------------------------------------------------------------
    /// Who sees the signal sees the data.
    void put_signal(void* dest, void const* source, std::size_t n, std::uint64_t* signal, std::uint64_t value, signal_op op,
                    rank pe);
    void signal(std::uint64_t* signal, std::uint64_t value, signal_op op, rank pe);
    /// Of this PE's own.
    std::uint64_t signal_fetch(std::uint64_t const* signal) const noexcept { return seen(signal); }

    // --- order and waiting: memory/order.hpp. Sections 9.12 and 9.11 ---------------------------------------------------------------
    void fence();
    void quiet();
    void quiet(rank pe);
    /// Where who waits is rung: of what need not be seen before quiet(), which rings then, or a wait of this PE's. By one thread at a time.
    void ring_at_quiet(rank pe) noexcept {
        if (unrung_ == pe.value) [[likely]]
            return;
        ring_unrung();
        unrung_ = pe.value;
        owes_.store(true, std::memory_order_relaxed); // order: as in far()
    }
    /// An element of this PE's own as others have written it.
    template <class T> static T seen(T const* own) noexcept;
    /// Returns when come() is true, which is made of seen(); serves everybody meanwhile. Throws where the job is ended.
    template <class Come> void await(Come const& come);
    /// Serves everybody once.
    void look_around();
    /// The same for who tests again and again; where CPUs are scarce, others of this one get their turns between.
    void go_on_polling() { look_around(), run_->lane_of(context_).go_on_polling(); }

private:
    using fences = typename world_type::atomics::fences;
    template <class T> using atomic = typename world_type::atomics::template atomic<T>;
    template <class T> using atomic_ref = typename world_type::atomics::template atomic_ref<T>;
    struct card;

    static constexpr bool reads_memory() noexcept {
        for (auto const& f : Stack::route_type::facts)
            if (f.reads) return true;
        return false;
    }
    /// Are peers' heaps mapped here?
    static constexpr bool maps = reads_memory();
    template <class T> static constexpr bool is_whole =
        sizeof(T) <= 8 && std::has_single_bit(sizeof(T)) && alignof(T) == sizeof(T);

    static std::uint64_t number(void const* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }
    [[gnu::always_inline]] std::uint64_t offset(void const* address) const noexcept { return number(address) - low_; }

    // making: memory/make.hpp
    partition_wishes own_wishes();
    partition_wishes wanted(coll::team<Stack> const& all);
    card own_card();
    void take_room(std::uint64_t touched);
    void learn(coll::team<Stack> const& all, card const& mine, std::string const& why_not);
    void learn_segments(coll::team<Stack> const& all, std::vector<card> const& cards);
    bool may_share_statics() const noexcept;
    void learn_statics(std::vector<card> const& cards);
    void open_window(coll::team<Stack> const& all);
    void take_pages(partition& p);
    void lay_pages(partition& p);
    void give_pages(partition& p) noexcept;
    void take_pages_of(rank pe, card const& theirs);
    void give_back() noexcept;
    void find_bells();

    /// Has the PE the same segment?
    bool is_same(std::size_t k, rank pe) const noexcept {
        auto const &ours = segments_[k], &its = theirs_[static_cast<std::size_t>(pe.value)][k];
        return its.bytes == ours.bytes && its.object == ours.object;
    }

    // by the window
    std::int64_t there(char const* call, void const* address, rank pe, bool writes = true) const;
    [[noreturn]] void not_symmetric(char const* call, void const* address, rank pe) const;
    [[gnu::noinline]] void put_far(void* dest, void const* source, std::size_t n, rank pe);
    template <class T> [[gnu::noinline]] void p_far(T* dest, T value, rank pe);
    template <class T> [[gnu::noinline]] T g_far(T const* source, rank pe);
    template <class T> static void store_at(std::byte* place, T value) noexcept;
    template <class T> static T load_at(std::byte const* place) noexcept;
    [[gnu::noinline]] bool put_signal_far(void* dest, void const* source, std::size_t n, std::uint64_t* word,
                                          std::uint64_t value, signal_op op, rank pe);
    void after_put(rank pe) {
        if (strict_ || rings_) window_->flush(pe); // the agent's part, if it has one
        told(pe);
    }
    [[gnu::noinline]] void get_far(void* dest, void const* source, std::size_t n, rank pe);
    void update_far(char const* call, operation op, datatype const& type, void const* address, void const* value, void* was,
                    rank pe);
    template <class T> T update_at(std::byte* there, operation op, T value, rank pe);
    template <class T> T compare_at(std::byte* there, T condition, T value, rank pe);
    template <class T> [[gnu::noinline]] T update_far(char const* call, operation op, T const* address, T value, rank pe);
    template <class T> [[gnu::noinline]] void change_far(char const* call, operation op, T* address, T value, rank pe);
    template <class T> [[gnu::noinline]] T compare_far(T* address, T condition, T value, rank pe);
    rma::window<Stack>& far() noexcept {
        used_far_.store(true, std::memory_order_relaxed); // order: of the own thread, or of one that synchronises with who asks
        owes_.store(true, std::memory_order_relaxed);     // order: as above
        return *window_;
    }

    /// The PE may be asleep over it.
    [[gnu::always_inline]] void told(rank pe) noexcept {
        if (rings_) [[unlikely]]
            ring(pe);
    }
    void ring(rank pe) noexcept;
    void ring_unrung() noexcept {
        if (unrung_ >= 0) [[unlikely]]
            ring(rank{std::exchange(unrung_, -1)});
    }
    /// What a quiet() owes beside its fence, to one PE or to all.
    [[gnu::noinline]] void settle(std::optional<rank> pe);

    // Words of the fast path come first.
    std::uint64_t low_ = 0, bytes_ = 0;
    std::unique_ptr<std::byte*[]> bases_; // of the PEs' heaps, as they are mapped here
    bool rings_ = false;                  // somebody sleeps soon
    runtime<Stack>* run_;
    context_id context_;
    std::vector<std::uint64_t> heaps_;         // of the PEs' heaps, as they are mapped there
    std::vector<segment> segments_;            // our own
    std::vector<std::vector<segment>> theirs_; // the PEs', as many as all have
    static_map statics_;                       // the PEs' variables that are mapped
    std::vector<wait::doorbell<world_type>*> bells_;
    heap_layout layout_;
    struct laid {
        rank pe;
        std::uint64_t offset, bytes; // of the PE's slice
    };
    std::vector<laid> laid_;         // huge pages of peers' partitions
    std::span<std::byte> allocated_; // the heap lies in it, aligned
    std::uint64_t alignment_ = 1;
    std::unique_ptr<rma::window<Stack>> window_;
    atomic<bool> used_far_{false}, owes_{false};
    std::int32_t unrung_ = -1; // a PE that is to be rung at quiet(); -1: none
    bool strict_;              // puts are complete at the PE when they return
};

namespace detail {
/// Strided copies whose blocks have a size that the compiler knows.
template <std::size_t N> void copy_blocks(std::byte* to, std::ptrdiff_t to_step, std::byte const* from,
                                          std::ptrdiff_t from_step, std::size_t n) noexcept {
    for (; n != 0; --n, to += to_step, from += from_step) __builtin_memcpy(to, from, N);
}
} // namespace detail

} // namespace mpt::inline v0::shmem

#include <mpt/shmem/memory/make.hpp>
#include <mpt/shmem/memory/move.hpp>
#include <mpt/shmem/memory/order.hpp>
#include <mpt/shmem/memory/update.hpp>
