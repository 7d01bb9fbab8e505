/// rma/window - memory of every rank of a group that the others read, write and update without its doing anything.
///
///        put / get             my bytes <---> bytes of the target        arena, or ranks as threads   loads and stores
///        accumulate ...        elements op= mine, atomically             another process's memory     CMA: put and get alone, few runs
///                                                                        all else                     the target's agent
///                                                              and, while the target waits, a thread of its own
///
///   window<Stack> is what both facades stand on. It is made by all ranks of a team together (make_window), and each keeps what it
///   must know of each: where the target's part is, how it is reached (rma/memory.hpp), and its control block.
///
///   Epochs    fence                    everybody, by a barrier
///             post wait, start complete  empty messages between the two sides
///             lock, lock_all           a word in the target's control block, taken by compare-and-swap
///             An operation on a target that no epoch opens is an mpt::error(rma_sync), one outside the target's memory an
///             mpt::error(rma_range). Nothing has been done then.
///   Complete  every operation is complete here when it returns: its buffers may be used again, and what it fetches is there. What
///             an agent does for it is complete there at the next flush, unlock, complete or fence; all else is at once. So requests
///             are complete at birth, and flush_local has nothing to do.
///   Elements  of a target that this rank has locked alone, or of a window made with rows_locked, change under the part's lock
///             (rma/element.hpp): rows at a kernel's speed. So do rows that a thread alone has changed for a while (rma/rows.hpp).
///   Progress  a program may poll memory of a window, by operations and flushes, for what another does when it has got a message: each so many
///             flushes, unlocks and syncs of a thread, a round of progress.
///   Order     accumulates of a rank on a target are done in program order. A flush is a full fence.
///   Cost      put of a value to arena memory: a look at the epoch, one comparison with the bounds, a store. No lock, no call.
///   Threads   operations, flushes and locks of different targets by any number of threads; fence, start and complete by one at a time,
///             and post, wait and test, who may be another.
///             No lock is taken, and no line written that they share, for what is mapped (accumulates: by 16 of a rank) or what the
///             kernel copies; letters to agents go by the lane's lock.
///   Limit     memory is per rank of the group: 128 bytes for each target; 4 KiB, and 12 or 48 KiB (coll/node.hpp) from the fourth fence on.
///   Tests     test/rma_window_test.cpp, test/rma_random_test.cpp    Source MPI-4.1 chapter 12.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mpt/coll/allgather.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/core/cursor.hpp>
#include <mpt/datatype/operation.hpp>
#include <mpt/rma/agent.hpp>
#include <mpt/rma/memory.hpp>
#include <mpt/rma/window/terms.hpp>
#include <mpt/stack/runtime.hpp>

namespace mpt::inline v0::rma {

namespace detail {

/// Flushes, unlocks and syncs by thread: each so many, one is long. Threads that share a place count together, which harms nobody.
template <class World> class turns {
    struct alignas(line_pair) place {
        typename World::atomics::template atomic<std::uint32_t> made{0};
    };
    static constexpr unsigned places = 16;
    static constexpr std::uint32_t between = 128;
    std::array<place, places> places_;

    auto& of(std::uint64_t thread) noexcept { return places_[first_place(thread, places)].made; }

public:
    /// False: it is this thread's turn. True: it has made one more.
    bool may_skip(std::uint64_t thread) noexcept {
        auto& made = of(thread);
        auto const n = made.load(std::memory_order_relaxed) + 1; // order: a hint
        if (n % between == 0) [[unlikely]]
            return false;
        made.store(n, std::memory_order_relaxed); // order: a hint
        return true;
    }
    void begin_again(std::uint64_t thread) noexcept { of(thread).store(0, std::memory_order_relaxed); } // order: a hint
};

} // namespace detail

template <class Stack> class window {
public:
    using stack_type = Stack;
    using world_type = typename Stack::world_type;

    /// Collective: see make_window(). The context is nobody else's, and the same at all.
    window(runtime<Stack>& run, context_id context, coll::team<Stack> const& parent, wanted const& w);
    window(window const&) = delete;
    window& operator=(window const&) = delete;
    /// Gives up what is this rank's. free() comes before, except where an exception unwinds.
    ~window();

    /// Throws mpt::error(rma_sync) where free() must not be called yet: in an epoch of its own.
    void must_be_free() const;
    /// Collective: completes what is under way, and meets the others. Throws where it must not be called yet; and mpt::error(rma_range)
    /// where a target refused something, when all is over. After it nothing but the destructor is called.
    void free();

    rank me() const noexcept { return me_; }
    std::int32_t size() const noexcept { return who_.size(); }
    group const& members() const noexcept { return who_; }
    flavor how() const noexcept { return how_; }
    context_id context() const noexcept { return wire_.context(); }
    /// This rank's own part.
    part const& own() const noexcept { return own_; }
    /// Where a rank's part is in this process; proc_null: of the lowest rank whose size is not 0. Of a part that loads and stores do not
    /// reach, or that another has not: size 0, and no address. Throws mpt::error(rma_flavor) where the window is dynamic.
    part shared(rank r) const;

    // --- operations: window/move.hpp ------------------------------------------------------------------------------------------
    /// MPI-4.1 section 12.3. Both sides have as many bytes; ranks are of the group, and none is proc_null.
    void put(own_source const& from, target_place const& to);
    void get(own_sink const& into, target_place const& from);
    /// What most of them are: n bytes in one piece, `offset` bytes from a displacement in mapped memory of a target that an epoch opens.
    /// False: nothing was done.
    bool try_put(std::byte const* from, std::size_t n, rank target, std::int64_t displacement, std::int64_t offset) noexcept {
        auto* const p = open_here(target, displacement, offset, n);
        if (p == nullptr) [[unlikely]]
            return false;
        return copy_bytes(p, from, n), true;
    }
    bool try_get(std::byte* into, std::size_t n, rank target, std::int64_t displacement, std::int64_t offset) noexcept {
        auto const* const p = open_here(target, displacement, offset, n);
        if (p == nullptr) [[unlikely]]
            return false;
        return copy_bytes(into, p, n), true;
    }
    /// One element of a kind that combine_one() takes, also unaligned where it is locked. result: null where nobody asks what it was. False:
    /// nothing was done.
    bool try_change(void const* from, void* result, element_kind kind, rank target, std::int64_t displacement,
                    operation op) noexcept;
    /// n bytes of elements of one kind in a row, also of those that are locked, or that another thread has. No pairs. result: as above.
    /// False: nothing was done.
    [[gnu::noinline]] bool try_change_row(void const* from, void* result, std::size_t n, element_kind kind, rank target,
                                          std::int64_t displacement, operation op) noexcept {
        auto* const p = facts(kind).is_pair() ? nullptr : open_here(target, displacement, 0, n);
        return p != nullptr && change_row(at(target), {reinterpret_cast<std::uintptr_t>(p), n}, kind, op,
                                          static_cast<std::byte const*>(from), static_cast<std::byte*>(result));
    }
    /// One element that swap_one() takes, or that is locked. False: nothing was done.
    bool try_swap(void const* from, void const* expected, void* result, std::size_t size, rank target,
                  std::int64_t displacement) noexcept {
        auto& t = at(target);
        auto* const p = open_here(target, displacement, 0, size);
        if (p != nullptr && is_locked(t)) [[unlikely]]
            return swap_at(t, size, p, expected, from, result, true), true;
        return p != nullptr && inside(t, [&] {
                   return swap_one(size, p, static_cast<std::byte const*>(expected), static_cast<std::byte const*>(from),
                                   static_cast<std::byte*>(result));
               });
    }
    /// Elements of one predefined type at both sides; the operation is defined on it (find_kernel), or it is
    /// mpt::error(argument).
    void accumulate(own_source const& from, target_place const& to, operation op);
    /// With operation::no_op, `from` is not looked at.
    void get_accumulate(own_source const& from, own_sink const& result, target_place const& to, operation op);
    /// One element of a predefined type. result: null where nobody asks what it was.
    void fetch_and_op(void const* from, void* result, datatype const& type, rank target, std::int64_t displacement,
                      operation op);
    void compare_and_swap(void const* from, void const* expected, void* result, datatype const& type, rank target,
                          std::int64_t displacement);

    /// n bytes, and then a number of 8 bytes `op`= value, in one message to who waits there. False: nothing was done.
    bool try_put_and_change(void const* from, std::size_t n, rank target, std::int64_t displacement, std::uint64_t value,
                            std::int64_t number_at, operation op);
    /// How many operations of this rank a waiting thread of that one has done, about.
    std::uint32_t done_by_waiting(rank r) const noexcept {
        return targets_[static_cast<std::size_t>(r.value)].heard.load(std::memory_order_relaxed); // order: a figure
    }
    /// Does what others have asked of this rank's agent: for a thread that waits for them. False: there is no agent, or it is at it.
    bool help() { return agent_ && agent_->help(); }

    // --- synchronisation: window/sync.hpp ---------------------------------------------------------------------------------------
    /// Collective. Section 12.5.1.
    void fence(promises p = {});
    /// Groups count in world ranks. Section 12.5.2.
    void start(group const& targets, promises p = {});
    void complete();
    void post(group const& origins, promises p = {});
    void wait();
    /// True: the exposure epoch is over, as after wait().
    bool test();
    /// Section 12.5.3. proc_null may be locked as well, to which there are no operations.
    void lock(lock_kind kind, rank target, promises p = {});
    void unlock(rank target);
    /// The same where nobody stands in the way, no other epoch is open, and, of an unlock, where a flush would do nothing. False: nothing was
    /// done.
    bool try_lock(lock_kind kind, rank target) noexcept;
    bool try_unlock(rank target) noexcept;
    void lock_all(promises p = {});
    void unlock_all();
    bool try_lock_all() noexcept; // as try_lock and try_unlock
    bool try_unlock_all() noexcept;
    /// Section 12.5.4. In a passive epoch alone.
    void flush(rank target);
    void flush_all();
    /// A flush where the target's agent was asked for nothing, and it is not this thread's turn to move messages. False: nothing was done.
    bool try_flush(rank target) noexcept {
        auto& t = at(target);
        if (now() != epoch::lock_all && t.lock == held::nothing) [[unlikely]]
            return false;
        return is_confirmed(t) && turns_.may_skip(run_->world().self()) && (settle(), true);
    }
    void flush_local(rank target);
    void flush_local_all();
    /// What this rank has written before is there for others, and what they have is there for it, once they and it know of it.
    void sync();

    // --- memory of a dynamic window: window/make.hpp ----------------------------------------------------------------------------
    /// Section 12.2.4. Throws mpt::error(rma_attach) where it overlaps what is attached, or was not attached.
    void attach(std::span<std::byte> memory);
    void detach(void const* base);

private:
    friend rma::agent<Stack>;
    using target_type = rma::target<world_type>;
    using fences = typename world_type::atomics::fences;
    template <class T> using atomic = typename world_type::atomics::template atomic<T>;
    static constexpr tag posted{1}, completed{2}; // and ask_tag
    static constexpr std::int32_t first_answer = 16;
    enum class epoch : std::uint8_t { none, fence, start, lock_all };

    // making
    static constexpr bool may_read_memory() noexcept {
        return std::ranges::any_of(Stack::route_type::facts, [](auto const& f) { return f.cross_process && f.reads; });
    }
    coll::team<Stack> team() noexcept { return {wire_, who_, me_, rooted_calls_, &shared_}; }
    card make_own(coll::team<Stack> const& parent, wanted const& w);
    template <class T> T* make_block();
    void get_memory(coll::team<Stack> const& parent, wanted const& w);
    std::uint64_t wanted_here(coll::team<Stack> const& parent, wanted const& w);
    std::vector<card> exchange(coll::team<Stack> const& parent, card const& mine, std::string const& why_not);
    template <class F> void agree(coll::team<Stack> const& parent, F f);
    void know_all(std::vector<card>& all, wanted const& w);
    void place_shared(std::vector<card>& all, bool contiguous);
    void find(target_type& t, card const& c, rank r);
    void find_way(target_type& t, card const& c);
    std::span<std::byte> slice_of(rank world);
    bool needs_agent(card const& mine) const noexcept;
    bool may_share_rows() const noexcept;
    std::shared_ptr<clerk<Stack>> find_clerk();
    void start_agent();
    void give_back() noexcept;

    // operations
    target_type& at(rank r) noexcept { return targets_[static_cast<std::size_t>(r.value)]; }
    bool is_open(target_type const& t) const noexcept {
        return t.open.load(std::memory_order_relaxed) ||
               open_to_all_.load(std::memory_order_relaxed); // order: own thread's epoch
    }
    target_type& opened(char const* call, rank r) {
        auto& t = at(r);
        if (!is_open(t)) [[unlikely]]
            no_epoch(call, r);
        return t;
    }
    struct extent; // what an operation touches
    [[noreturn]] void too_many(char const* call, target_type const& t, target_place const& p) const;
    std::byte* open_here(rank r, std::int64_t displacement, std::int64_t offset, std::size_t n) noexcept {
        auto& t = at(r);
        return is_open(t) ? t.mapped_at(displacement, offset, n) : nullptr;
    }
    std::byte* plain(target_type const& t, target_place const& p, std::int64_t own, data_run const& run) const noexcept;
    extent touched(char const* call, target_type const& t, target_place const& p) const;
    template <class F> void within(target_type& t, F&& f);
    [[gnu::noinline]] void put_far(own_source const& from, target_type& t, target_place const& to);
    [[gnu::noinline]] void get_far(own_sink const& into, target_type& t, target_place const& from);
    bool put_by_kernel(source const& data, target_type& t, typed_runs const& there);
    bool get_around(sink const& room, target_type& t, extent const& e, target_place const& from);
    bool get_by_kernel(sink const& room, target_type& t, typed_runs const& there);
    bool done_by_kernel(char const* call, target_type& t, status s, std::span<std::byte const> own, bool writes_own);
    struct both_sides; // of an update
    /// Of an epoch in which nobody else can change the target's elements, as all threads of this rank see it.
    bool is_locked(target_type const& t) const noexcept { return rows_locked_ || t.lock == held::exclusive; }
    template <class F> bool inside(target_type& t, F f) noexcept;
    /// thread: 0, or the number of those who count as one.
    auto enter(target_type& t, std::uint64_t thread = 0) noexcept {
        return t.sync->rows.enter(control_->stays, me_.value, thread != 0 ? thread : run_->world().self());
    }
    auto stays_of() noexcept {
        return [this](std::int32_t r) -> auto& { return targets_[static_cast<std::size_t>(r)].sync->stays; };
    }
    bool takes(target_type& t, std::uint64_t n) noexcept;
    void combine_at(target_type& t, element_action const& action, std::span<memory_run const> runs, std::byte const* operand,
                    std::byte* old, std::uint64_t thread = 0);
    void update(char const* call, own_source const* from, own_sink const* result, target_place const& to, operation op);
    bool update_row(own_source const& from, target_type& t, target_place const& to, operation op);
    bool change_row(target_type& t, memory_run const& run, element_kind kind, operation op, std::byte const* operand,
                    std::byte* old);
    [[gnu::noinline]] void swap_at(target_type& t, std::size_t n, std::byte* p, void const* expected, void const* desired,
                                   void* old, bool locked);
    void update_here(both_sides const& data, target_type& t, typed_runs const& there);
    void update_there(char const* call, both_sides const& data, target_type& t, typed_runs const& there);
    void change_there(char const* call, target_type& t, element_action const& action, memory_run const& run,
                      std::byte const* from, std::byte* result);
    memory_run element_at(char const* call, target_type const& t, target_place const& p) const;
    struct small_operation; // that fits an active message
    class desk;
    struct piece;
    std::size_t ask_who_waits(target_type& t, small_operation const& o);
    bool is_in_reach(target_type const& t, small_operation const& o) const noexcept;
    auto afar(small_operation const& o, piece const& p) const noexcept;
    template <class Fill, class Read> bool ask_by_line(target_type& t, bool is_letter, Fill fill, Read read);
    std::size_t ask_for_lists(target_type& t, small_operation const& o, std::size_t unit, bool is_letter);
    bool ask_for_piece(target_type& t, small_operation const& o, std::uint64_t place, piece const& p);
    void call(target_type& t) noexcept;
    answered await_answer(target_type& t, active_line<typename world_type::atomics>& line, std::uint32_t more_looks);
    static bool is_a_letter_else(target_type const& t, request what) noexcept;
    void ask(target_type& t, letter const& l);
    void send_letter(target_type& t, letter const& l);
    outcome finish_ringing(target_type& t, protocol::request& r, waiting const& about);
    void ask_for(char const* call, target_type& t, letter_head head, std::span<memory_run const> runs, source const& data,
                 sink const& answer);

    // synchronisation
    void settle() const noexcept { fences::light(fence_mode::both); } // loads and stores, too
    void move_messages();
    bool is_confirmed(target_type const& t) const noexcept {
        auto const asked = t.asked.load(std::memory_order_relaxed);  // order: who asked it synchronises with us
        return asked == t.confirmed.load(std::memory_order_acquire); // sync(rma.confirmed): acquire
    }
    void confirm(target_type& t);
    template <class F> void confirm_each(std::int32_t n, F f);
    void confirm_all();
    template <class Confirm, class End> void end_epoch(Confirm all, End end);
    void tell_posted(rank world);
    void finish_told();
    bool hear(std::size_t i, bool waits);
    void end_exposure();
    void enter(epoch e) noexcept { epoch_.store(e, std::memory_order_relaxed); }                   // order: own thread's epoch
    void open(target_type& t, bool yes) noexcept { t.open.store(yes, std::memory_order_relaxed); } // order: own thread's epoch
    void open_to_all(bool yes) noexcept { open_to_all_.store(yes, std::memory_order_relaxed); }    // order: own thread's epoch
    void take(lock_kind kind, target_type& t, promises p);
    void give(target_type& t) noexcept;
    class in_line;
    void wake(control<world_type>& c) noexcept;
    rank of_mine(char const* call, rank world) const;
    epoch now() const noexcept { return epoch_.load(std::memory_order_relaxed); }           // order: own thread's epoch
    std::uint32_t locks() const noexcept { return locks_.load(std::memory_order_relaxed); } // order: as epoch_
    void must_be_passive(char const* call, rank r) const;
    void must_be_passive(char const* call) const;
    void must_begin(char const* call) const;
    [[noreturn]] void no_epoch(char const* call, rank r) const;
    [[noreturn]] void out_of_range(char const* call, target_type const& t, rank r, std::uint64_t first, std::uint64_t n) const;
    [[noreturn]] void wrong_order(char const* call, char const* why) const;

    runtime<Stack>* run_;
    group who_;
    rank me_;
    flavor how_;
    std::uint32_t rooted_calls_ = 0;
    coll::meeting shared_; // memory for its fences
    channel<Stack> wire_;
    part own_;
    std::span<std::byte> allocated_; // ours to give back
    control<world_type>* control_ = nullptr;
    attachments<world_type>* attached_ = nullptr; // dynamic
    bool reads_memory_ = false, rows_locked_ = false, shares_rows_ = false;
    std::uint32_t looks_ = 0;   // as wanted::looks
    std::byte* desk_ = nullptr; // of whoever has it: data of what is asked for that no line holds (window/ask.hpp)
    atomic<bool> desk_taken_{false};
    detail::turns<world_type> turns_;
    std::uint64_t probe_[2]{}; // what others read to see that the kernel lets them
    std::unique_ptr<target_type[]> targets_;
    exposed_memory memory_;
    std::shared_ptr<rma::clerk<Stack>> clerk_; // the agent's thread
    std::unique_ptr<rma::agent<Stack>> agent_;

    atomic<bool> open_to_all_{false}, nobody_locked_{false};
    atomic<epoch> epoch_{epoch::none};
    alignas(line_pair) atomic<std::uint32_t> locks_{0}; // that are held one by one; apart from what every operation reads
    atomic<std::uint32_t> answers_{0};                  // that were asked for
    group started_, posted_to_;
    bool exposed_ = false;                 // posted, not waited for
    std::vector<bool> heard_;              // of posted_to_: who is through
    std::vector<protocol::request*> told_; // words that have not left yet
};

/// The bytes between the first and the last one that an operation touches; bytes of data.
template <class Stack> struct window<Stack>::extent {
    std::uint64_t origin, first, n, data;
    bool is_mapped = false;
};

/// Makes a window together with the other ranks of `parent`, which need not stay. Throws mpt::error on all where one cannot: no_memory, or,
/// if it cannot map what is to be shared, rma_shared; where the system gives no thread for an agent that is needed, system.
template <class Stack>
std::unique_ptr<window<Stack>> make_window(runtime<Stack>& run, coll::team<Stack> const& parent, wanted const& w) {
    auto context = run.new_context();
    coll::broadcast(parent, std::as_writable_bytes(std::span{&context, 1}), 0);
    return std::make_unique<window<Stack>>(run, context, parent, w);
}

} // namespace mpt::inline v0::rma

#include <mpt/rma/window/make.hpp>
#include <mpt/rma/window/move.hpp>
#include <mpt/rma/window/sync.hpp>
#include <mpt/rma/window/update.hpp>
