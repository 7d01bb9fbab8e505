/// rma/window/make - how a window comes, what each rank learns of the others, and how it goes.
///
///        make_own()      memory, control block        exchange()   a card of each rank: what is where; who has no memory says so
///        find(), agent   the others' memory, mapped   agree()      a verdict of each rank: it has all that it needs, or why not
///
///   A window is made on all ranks or on none: where one fails in either half, all throw, and the communicator goes on.
#pragma once
#include <exception>
#include <new>

#include <mpt/lock/none.hpp>
#include <mpt/rma/window.hpp>
#include <mpt/rma/window/ask.hpp>

namespace mpt::inline v0::rma {

/// How often an origin looks for the answer of who waits at the target (window/ask.hpp).
/// origin: bench/peers/thread_bench.c, put_private: three times as many as an answer takes
inline constexpr std::uint32_t looks_for_an_answer = 600;

template <class Stack>
window<Stack>::window(runtime<Stack>& run, context_id context, coll::team<Stack> const& parent, wanted const& w)
    : run_{&run}, who_{parent.who()}, me_{parent.me()}, how_{w.how}, wire_{run.lane_of(context), context} {
    reads_memory_ = may_read_memory() && run.configuration().template get<"MPT_RMA_DIRECT">();
    card mine;
    std::string why_not;
    try {
        mine = make_own(parent, w);
    } catch (error const& e) { mine.failed = 1, why_not = e.what(); } catch (std::bad_alloc const&) {
        mine.failed = 1, why_not = "mpt: no memory for what a rank keeps of a window.";
    }
    try {
        auto all = exchange(parent, mine, why_not);
        agree(parent, [&] { know_all(all, w); });
    } catch (...) {
        agent_.reset();
        give_back();
        throw;
    }
}

template <class Stack> void window<Stack>::know_all(std::vector<card>& all, wanted const& w) {
    if (how_ == flavor::shared) place_shared(all, w.contiguous);
    targets_ = std::make_unique<target_type[]>(all.size());
    for (rank r = 0; r < size(); r = r + 1) find(at(r), all[static_cast<std::size_t>(r.value)], r);
    if (how_ == flavor::shared) own_ = {at(me_).at(at(me_).base), at(me_).size, w.unit};
    if (how_ != flavor::dynamic && own_.size != 0) memory_.add(reinterpret_cast<std::uintptr_t>(own_.base), own_.size);
    rows_locked_ = std::ranges::all_of(all, [](card const& c) { return c.locked != 0; });
    shares_rows_ = may_share_rows() && std::ranges::all_of(all, [](card const& c) { return c.fenced != 0; });
    for (rank r = 0; r < size(); r = r + 1)
        at(r).patience.store(w.patience, std::memory_order_relaxed); // order: whoever uses the window got it later
    looks_ = w.looks ? *w.looks : run_->sleeps_soon() ? 0 : looks_for_an_answer;
    if (needs_agent(all[static_cast<std::size_t>(me_.value)])) start_agent();
}

template <class Stack> window<Stack>::~window() { agent_.reset(); }

template <class Stack> void window<Stack>::must_be_free() const {
    must_begin("free");
    if (exposed_) wrong_order("free", "an exposure epoch is open");
}
template <class Stack> void window<Stack>::free() {
    must_be_free();
    finish_told();
    end_epoch([&] { confirm_all(); },
              [&] {
                  settle();
                  coll::barrier(team());
                  agent_.reset();
                  give_back();
              });
}

/// After this nobody looks at what is this rank's.
template <class Stack> void window<Stack>::give_back() noexcept {
    clerk_.reset();
    if (control_) run_->heap().free_object(std::exchange(control_, nullptr));
    if (attached_) run_->heap().free_object(std::exchange(attached_, nullptr));
    if (desk_) run_->heap().free_object(std::exchange(desk_, nullptr));
    if (!allocated_.empty()) run_->deallocate(std::exchange(allocated_, {}));
}

// --- what is this rank's ----------------------------------------------------------------------------------------------------------
template <class Stack> template <class T> T* window<Stack>::make_block() {
    auto& heap = run_->heap();
    if (auto* const block = heap.object(sizeof(T), alignof(T))) return new (block) T{};
    throw error{errc::no_memory, "mpt: no memory for a window's control block: " + heap.why_refused() + '.'};
}
template <class Stack> card window<Stack>::make_own(coll::team<Stack> const& parent, wanted const& w) {
    auto& heap = run_->heap();
    get_memory(parent, w);
    probe_[0] = run_->world().random(), probe_[1] = run_->world().random();

    card c;
    c.base = reinterpret_cast<std::uintptr_t>(own_.base), c.size = own_.size, c.unit = own_.unit;
    c.locked = w.rows_locked;
    c.fenced = size() == 1 || run_->job().fences_reach_all();
    if (how_ == flavor::dynamic) c.memory_at = heap.refer(attached_ = make_block<attachments<world_type>>()).offset;
    auto const slice = heap.whole();
    c.slice_here = reinterpret_cast<std::uintptr_t>(slice.data()), c.slice_size = slice.size();
    // Where the parts follow each other the first rank has them all.
    auto const n = allocated_.empty() ? own_.size : static_cast<std::size_t>(allocated_.data() + allocated_.size() - own_.base);
    if (own_.base && heap.contains(own_.base, n)) {
        c.memory_of = run_->me();
        c.memory_at = heap.refer(own_.base).offset;
    }
    c.control_at = heap.refer(control_ = make_block<control<world_type>>()).offset;
    if (needs_agent(c)) c.bell_at = heap.refer(&(clerk_ = find_clerk())->bell()).offset;
    c.pid = smp::own_process();
    c.probe_at = reinterpret_cast<std::uintptr_t>(probe_), c.probe[0] = probe_[0], c.probe[1] = probe_[1];
    return c;
}

template <class Stack> void window<Stack>::get_memory(coll::team<Stack> const& parent, wanted const& w) {
    own_ = {w.memory.data(), w.how == flavor::create ? w.memory.size() : w.size, w.unit};
    if (w.how == flavor::dynamic) own_ = {nullptr, ~std::uint64_t{0}, 1};
    if (w.how != flavor::allocate && w.how != flavor::shared) return;
    auto const spare = w.alignment - 1;
    if (auto const n = wanted_here(parent, w); n != 0)
        allocated_ = run_->allocate(bytes{n > ~spare ? n : n + spare}, w.place ? *w.place : run_->allocation_wish(),
                                    mem::purpose::windows);
    own_.base = allocated_.data() + (-reinterpret_cast<std::uintptr_t>(allocated_.data()) & spare);
}

/// How much memory this rank has to allocate: its own part, or, where shared parts follow each other, all of them or nothing.
template <class Stack> std::uint64_t window<Stack>::wanted_here(coll::team<Stack> const& parent, wanted const& w) {
    if (w.how != flavor::shared || !w.contiguous) return w.size;
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size()));
    coll::allgather(parent, source{&w.size, sizeof w.size},
                    coll::blocks{std::as_writable_bytes(std::span{sizes}), sizeof w.size});
    std::uint64_t sum = 0;
    for (auto const n : sizes)
        if (__builtin_add_overflow(sum, n, &sum))
            throw error{errc::argument, "mpt: the parts of a shared window have more bytes than an address can count"};
    return me_ == 0 ? sum : 0;
}

// --- what is the others' ------------------------------------------------------------------------------------------------------------
template <class Stack>
std::vector<card> window<Stack>::exchange(coll::team<Stack> const& parent, card const& mine, std::string const& why_not) {
    std::vector<card> all(static_cast<std::size_t>(size()));
    coll::allgather(parent, source{&mine, sizeof mine}, coll::blocks{std::as_writable_bytes(std::span{all}), sizeof mine});
    if (!why_not.empty()) throw error{errc::no_memory, why_not};
    for (std::size_t r = 0; r < all.size(); ++r)
        if (all[r].failed != 0)
            throw error{errc::no_memory, "mpt: rank " + std::to_string(r) + " has no memory for its part of a window."};
    return all;
}

/// Collective: f(), and whether it went well on all ranks. Where it did not, who failed throws what it did, and the others throw what the
/// first of them did, with its rank.
template <class Stack> template <class F> void window<Stack>::agree(coll::team<Stack> const& parent, F f) {
    auto code = errc::no_memory;
    std::string why_not;
    std::exception_ptr failure;
    try {
        f();
    } catch (error const& e) {
        failure = std::current_exception(), code = e.code(), why_not = e.what();
    } catch (std::bad_alloc const&) {
        failure = std::current_exception(), why_not = "no memory for what it notes of the others";
    }
    verdict const mine{failure ? 1u : 0u, static_cast<std::uint32_t>(why_not.size()), static_cast<std::uint64_t>(code)};
    std::vector<verdict> all(static_cast<std::size_t>(size()));
    coll::allgather(parent, source{&mine, sizeof mine}, coll::blocks{std::as_writable_bytes(std::span{all}), sizeof mine});
    auto const first = std::ranges::find_if(all, [](verdict const& v) { return v.failed != 0; });
    if (first == all.end()) return;
    rank const who = static_cast<std::int32_t>(first - all.begin());
    why_not.resize(first->length);
    coll::broadcast(parent, std::as_writable_bytes(std::span{why_not}), who);
    if (failure) std::rethrow_exception(failure);
    if (why_not.starts_with("mpt: ")) why_not.erase(0, 5);
    throw error{static_cast<errc>(first->code),
                "mpt: rank " + std::to_string(who.value) + " could not make its side of a window: " + why_not};
}

/// Shared parts are known by their places in the slice that they lie in.
template <class Stack> void window<Stack>::place_shared(std::vector<card>& all, bool contiguous) {
    std::uint64_t before = 0;
    for (auto& c : all) {
        if (contiguous) c.memory_of = all[0].memory_of, c.memory_at = all[0].memory_at + before;
        before += c.size;
        c.base = c.memory_at;
    }
}

template <class Stack> std::span<std::byte> window<Stack>::slice_of(rank world) {
    auto& job = run_->job();
    auto const s = job.arena().slice(world, job.record(world).slice_bytes);
    if (s.empty())
        throw error{how_ == flavor::shared ? errc::rma_shared : errc::no_memory,
                    "mpt: the memory of rank " + std::to_string(world.value) +
                        " of the job, which a window needs, cannot be mapped by rank " + std::to_string(run_->me().value) +
                        '.'};
    return s;
}

template <class Stack> void window<Stack>::find(target_type& t, card const& c, rank r) {
    t.world = who_.world(r);
    auto const slice = slice_of(t.world);
    t.sync = reinterpret_cast<control<world_type>*>(slice.data() + c.control_at);
    if (c.bell_at != 0) t.bell = reinterpret_cast<world::bell<world_type>*>(slice.data() + c.bell_at);
    t.base = t.low = c.base, t.size = c.size, t.unit = c.unit, t.pid = c.pid;
    if (how_ == flavor::shared) {
        t.reach = c.size;
        if (c.memory_of >= 0) t.shift = reinterpret_cast<std::uintptr_t>(slice_of(c.memory_of).data());
        return;
    }
    if (how_ == flavor::dynamic) t.attached = reinterpret_cast<attachments<world_type>*>(slice.data() + c.memory_at);
    if (r == me_) {
        t.reach = c.size;
        return;
    }
    find_way(t, c);
    if (!reads_memory_) return;
    if (c.memory_of >= 0) {
        t.reach = c.size;
        t.shift = reinterpret_cast<std::uintptr_t>(slice_of(c.memory_of).data()) + c.memory_at - c.base;
    } else if (how_ == flavor::dynamic) {
        t.low = c.slice_here, t.reach = c.slice_size;
        t.shift = reinterpret_cast<std::uintptr_t>(slice.data()) - c.slice_here;
    }
}

/// To memory that is not mapped.
template <class Stack> void window<Stack>::find_way(target_type& t, card const& c) {
    auto const by = [&] {
        if (!reads_memory_) return way::agent;
        if (world_type::shares_process) return way::shared;
        bool const allowed = run_->configuration().template get<"MPT_SINGLE_COPY">();
        return allowed && c.memory_of < 0 && kernel_reaches(c) ? way::kernel : way::agent;
    };
    t.by.store(by(), std::memory_order_relaxed); // order: of this rank's own; whoever uses the window got it later
}

template <class Stack> bool window<Stack>::needs_agent(card const& mine) const noexcept {
    bool const has_memory = how_ == flavor::dynamic || mine.size != 0;
    if (how_ == flavor::shared || size() == 1 || !has_memory) return false;
    return !reads_memory_ || (!world_type::shares_process && mine.memory_of < 0);
}

/// Every element of every part is changed by loads and stores, and who takes a part orders them by a fence of its own.
/// Memory of a dynamic window may be others' elements, too, which they change by themselves.
template <class Stack> bool window<Stack>::may_share_rows() const noexcept {
    return !fences::invisible && run_->job().fences() == fence_mode::sleeper && how_ != flavor::dynamic;
}

/// On lines of its own: all who send letters look at it.
template <class World> struct alignas(line_pair) own_bell {
    world::bell<World> bell{};
};
/// The clerk with the least to do, or a new one.
template <class Stack> std::shared_ptr<clerk<Stack>> window<Stack>::find_clerk() {
    return run_->with_clerks([this](auto clerks) {
        for (auto& c : clerks)
            if (!c) return c = std::make_shared<clerk<Stack>>(*run_, make_block<own_bell<world_type>>()->bell);
            else if (c->served() == 0) return c;
        return *std::ranges::min_element(clerks, {}, [](auto const& c) { return c->served(); });
    });
}

template <class Stack> void window<Stack>::start_agent() {
    if constexpr (std::is_same_v<typename Stack::lock_policy_type, lock::none>)
        throw error{errc::usage,
                    "mpt: a window of memory that others cannot reach needs a thread beside the program's, and this "
                    "stack's lock is none"};
    agent_ = std::make_unique<rma::agent<Stack>>(*this, *clerk_);
}

template <class Stack> part window<Stack>::shared(rank r) const {
    if (how_ == flavor::dynamic)
        throw error{errc::rma_flavor, "mpt: shared: the window is dynamic, and its memory has no beginning"};
    if (r == proc_null)
        for (r = 0; r + 1 < size() && targets_[static_cast<std::size_t>(r.value)].size == 0;) r = r + 1;
    auto const& t = targets_[static_cast<std::size_t>(r.value)];
    bool const has_address = how_ == flavor::shared || r == me_ || t.size != 0; // of nothing only its owner knows one
    if (t.reach < t.size || !has_address) return {nullptr, 0, t.unit};
    return {t.at(t.base), t.size, t.unit};
}

// --- memory of a dynamic window -------------------------------------------------------------------------------------------------------
template <class Stack> void window<Stack>::attach(std::span<std::byte> memory) {
    if (how_ != flavor::dynamic) throw error{errc::rma_flavor, "mpt: attach: the window is not dynamic"};
    if (!memory_.add(reinterpret_cast<std::uintptr_t>(memory.data()), memory.size()))
        throw error{errc::rma_attach,
                    "mpt: attach: the " + std::to_string(memory.size()) + " bytes overlap memory that is attached already"};
    if (!memory.empty()) attached_->add(reinterpret_cast<std::uintptr_t>(memory.data()), memory.size());
}
template <class Stack> void window<Stack>::detach(void const* base) {
    if (how_ != flavor::dynamic) throw error{errc::rma_flavor, "mpt: detach: the window is not dynamic"};
    auto const had = memory_.remove(reinterpret_cast<std::uintptr_t>(base));
    if (!had) throw error{errc::rma_attach, "mpt: detach: no attached memory begins there"};
    if (*had != 0) attached_->remove(reinterpret_cast<std::uintptr_t>(base));
}

} // namespace mpt::inline v0::rma
