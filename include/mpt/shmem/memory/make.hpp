/// shmem/memory/make - how a PE's symmetric memory comes, and what each learns of the others'.
///
///   PEs tell what they would take for the partitions of their heaps, and all take the least. Whose variables are bad, and who gets no
///   memory or none of a kind that must be, says so, so that all throw.
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
    layout_ = lay_out(wanted(all));
    card mine;
    std::string why_not;
    try {
        mine = own_card();
    } catch (error const& e) { mine.failed = 1, why_not = e.what(); }
    try {
        learn(all, mine, why_not);
        open_window(all);
    } catch (...) {
        if (!allocated_.empty()) run_->deallocate(allocated_);
        throw;
    }
    take_pages_of_peers();
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

/// What this PE's variables ask for. Without any, a heap of half the machine's memory by equal parts, and of no more than a GiB: it is
/// touched only where the program does so.
template <class Stack> partition_wishes memory<Stack>::own_wishes() {
    auto const& c = run_->configuration();
    std::array const asked{c.template get<"MPT_SYMMETRIC_PARTITION1">(), c.template get<"MPT_SYMMETRIC_PARTITION2">(),
                           c.template get<"MPT_SYMMETRIC_PARTITION3">(), c.template get<"MPT_SYMMETRIC_PARTITION4">(),
                           c.template get<"MPT_SYMMETRIC_PARTITION5">(), c.template get<"MPT_SYMMETRIC_PARTITION6">(),
                           c.template get<"MPT_SYMMETRIC_PARTITION7">(), c.template get<"MPT_SYMMETRIC_PARTITION8">()};
    static_assert(asked.size() == most_partitions);
    partition_wishes wishes;
    for (std::size_t i = 0; i < asked.size(); ++i)
        wishes[i] = read_partition("MPT_SYMMETRIC_PARTITION" + std::to_string(i + 1), asked[i]);
    std::uint64_t const size = c.template get<"MPT_SYMMETRIC_SIZE">();
    auto& first = wishes[0].bytes;
    if (first != 0 && size != 0 && first != size)
        throw error{errc::configuration,
                    "mpt: MPT_SYMMETRIC_SIZE and the size of MPT_SYMMETRIC_PARTITION1 contradict each other: "
                    "they are one heap's; set one of them"};
    if (first == 0) first = size;
    if (first == 0) {
        constexpr std::uint64_t least = 4096, most = 1_GiB;
        auto const free = std::min<std::uint64_t>(run_->job().arena().room().free, run_->heap().whole().size());
        first = std::clamp(free / (2 * static_cast<std::uint64_t>(this->size())) / least * least, least, most);
    }
    return wishes;
}

template <class Stack> partition_wishes memory<Stack>::wanted(coll::team<Stack> const& all) {
    struct told {
        partition_wishes wishes{};
        bool failed = false;
    };
    told mine;
    std::string why_not;
    try {
        mine.wishes = own_wishes();
    } catch (error const& e) { mine.failed = true, why_not = e.what(); }
    auto const theirs = detail::tell_all(all, &mine, 1);
    if (mine.failed) throw error{errc::configuration, why_not};
    std::vector<partition_wishes> wishes;
    for (auto const& t : theirs) {
        if (t.failed)
            throw error{errc::configuration, "mpt: PE " + std::to_string(&t - theirs.data()) +
                                                 " was given a partition of the symmetric heap that is none."};
        wishes.push_back(t.wishes);
    }
    return agree(wishes);
}

template <class Stack> auto memory<Stack>::own_card() -> card {
    auto const bytes = layout_.bytes;
    alignment_ = std::min<std::uint64_t>(2_MiB, std::bit_floor(bytes));
    allocated_ = run_->allocate(mpt::bytes{bytes + alignment_});
    low_ = (number(allocated_.data()) + alignment_ - 1) / alignment_ * alignment_, bytes_ = bytes;
    auto const offer = what_there_is(run_->configuration().template get<"MPT_FAST_NODES">());
    for (auto& p : layout_.partitions) place(p, heap().subspan(p.begin, p.bytes), offer, size());
    if constexpr (!world_type::shares_process) segments_ = writable_segments(); // of threads, static variables are shared
    return {low_, run_->heap().refer(heap().data()).offset, segments_.size(), 0};
}

/// Who touches a page first gives it its size.
template <class Stack> void memory<Stack>::take_pages_of_peers() {
    if constexpr (maps && !world_type::shares_process)
        for (auto const& p : layout_.partitions)
            for (rank pe = 0; pe < size(); pe = pe + 1)
                advise_pages(p, {bases_[static_cast<std::size_t>(pe.value)] + p.begin, p.bytes});
}

template <class Stack> void memory<Stack>::learn(coll::team<Stack> const& all, card const& mine, std::string const& why_not) {
    auto const cards = detail::tell_all(all, &mine, 1);
    if (!why_not.empty())
        throw error{errc::no_memory, why_not + " (The symmetric heap: SHMEM_SYMMETRIC_SIZE, SHMEM_SYMMETRIC_PARTITION.)"};
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
