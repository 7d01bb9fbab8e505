/// shmem/memory/make - how a PE's symmetric memory comes, and what each learns of the others'.
///
///   PEs tell what they would take for their heaps, and all take the least. Who gets none says so on its card, so that all throw.
#pragma once
#include <mpt/coll/allgather.hpp>
#include <mpt/shmem/memory.hpp>

namespace mpt::inline v0::shmem {

namespace detail {
/// What every PE has to say, by PE.
template <class T, class Stack> std::vector<T> tell_all(coll::team<Stack> const& all, T const* mine, std::size_t n) {
    std::vector<T> told(static_cast<std::size_t>(all.size()) * n);
    coll::allgather(all, source{mine, n * sizeof(T)}, coll::blocks{std::as_writable_bytes(std::span{told}), n * sizeof(T)});
    return told;
}
} // namespace detail

template <class Stack> struct memory<Stack>::card {
    std::uint64_t heap_here = 0, slice_offset = 0, segments = 0, failed = 0;
};

template <class Stack> memory<Stack>::memory(runtime<Stack>& run, context_id context, coll::team<Stack> const& all)
    : run_{&run}, context_{context}, strict_{!run.configuration().template get<"MPT_PUT_EARLY">()} {
    auto const bytes = wanted_heap(all);
    card mine;
    std::string why_not;
    try {
        mine = own_card(bytes);
    } catch (error const& e) { mine.failed = 1, why_not = e.what(); }
    try {
        learn(all, mine, why_not);
        open_window(all);
    } catch (...) {
        if (!allocated_.empty()) run_->deallocate(allocated_);
        throw;
    }
    find_bells();
}

template <class Stack> memory<Stack>::~memory() {
    window_.reset();
    if (!allocated_.empty()) run_->deallocate(allocated_);
}

template <class Stack> void memory<Stack>::finish() {
    quiet();
    window_->unlock_all();
    window_->free();
}

/// Of the machine's memory half, by equal parts, and no more than a GiB: it is touched only where the program does so.
template <class Stack> std::uint64_t memory<Stack>::wanted_heap(coll::team<Stack> const& all) {
    constexpr std::uint64_t page = 4096, most = 1_GiB;
    std::uint64_t wanted = run_->configuration().template get<"MPT_SYMMETRIC_SIZE">();
    if (wanted == 0) {
        auto const free = std::min<std::uint64_t>(run_->job().arena().room().free, run_->heap().whole().size());
        wanted = std::min(most, free / (2 * static_cast<std::uint64_t>(size())));
    }
    auto const theirs = detail::tell_all(all, &wanted, 1);
    return std::max(page, *std::min_element(theirs.begin(), theirs.end()) / page * page);
}

template <class Stack> auto memory<Stack>::own_card(std::uint64_t bytes) -> card {
    alignment_ = std::min<std::uint64_t>(2_MiB, std::bit_floor(bytes));
    allocated_ = run_->allocate(mpt::bytes{bytes + alignment_});
    low_ = (number(allocated_.data()) + alignment_ - 1) / alignment_ * alignment_, bytes_ = bytes;
    if constexpr (!world_type::shares_process) segments_ = writable_segments(); // of threads, static variables are shared
    return {low_, run_->heap().refer(heap().data()).offset, segments_.size(), 0};
}

template <class Stack> void memory<Stack>::learn(coll::team<Stack> const& all, card const& mine, std::string const& why_not) {
    auto const cards = detail::tell_all(all, &mine, 1);
    if (!why_not.empty()) throw error{errc::no_memory, why_not + " (The symmetric heap: SHMEM_SYMMETRIC_SIZE.)"};
    bases_ = std::make_unique<std::byte*[]>(cards.size());
    for (std::size_t pe = 0; pe < cards.size(); ++pe) {
        auto const& c = cards[pe];
        if (c.failed != 0)
            throw error{errc::no_memory, "mpt: PE " + std::to_string(pe) + " has no memory for its symmetric heap."};
        heaps_.push_back(c.heap_here);
        if constexpr (maps) {
            auto& job = run_->job();
            auto const slice = job.arena().slice(pe, job.record(pe).slice_bytes);
            if (slice.empty())
                throw error{errc::no_memory, "mpt: the symmetric heap of PE " + std::to_string(pe) + " cannot be mapped here."};
            bases_[pe] = slice.data() + c.slice_offset;
        }
    }
    learn_segments(all, cards);
}

/// As many as all have: a PE with more has loaded other libraries.
template <class Stack> void memory<Stack>::learn_segments(coll::team<Stack> const& all, std::vector<card> const& cards) {
    auto n = segments_.size();
    for (auto const& c : cards) n = std::min<std::size_t>(n, c.segments);
    segments_.resize(n);
    if (n == 0) return;
    auto const told = detail::tell_all(all, segments_.data(), n);
    for (auto from = told.begin(); from != told.end(); from += static_cast<std::ptrdiff_t>(n))
        theirs_.emplace_back(from, from + static_cast<std::ptrdiff_t>(n));
}

/// Nobody else locks its ranks, so that no word need be taken.
template <class Stack> void memory<Stack>::open_window(coll::team<Stack> const& all) {
    window_ = rma::make_window(*run_, all, {.how = rma::flavor::dynamic});
    window_->attach(heap());
    for (auto const& s : segments_) window_->attach({reinterpret_cast<std::byte*>(s.at), s.bytes});
    window_->lock_all({.no_check = true});
    coll::barrier(all); // before anybody asks for what another has not attached
}

template <class Stack> void memory<Stack>::find_bells() {
    bells_.resize(static_cast<std::size_t>(size()), nullptr);
    if constexpr (lane<Stack>::neighbourly)
        for (rank pe = 0; pe < size(); pe = pe + 1)
            if (pe != me()) bells_[static_cast<std::size_t>(pe.value)] = run_->lane_of(context_).bell_of(pe);
    rings_ = run_->job().scarce();
}

} // namespace mpt::inline v0::shmem
