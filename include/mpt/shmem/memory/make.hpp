/// shmem/memory/make - how a PE's symmetric memory comes, and what each learns of the others'.
///
///   PEs tell what they would take for the partitions of their heaps, and all take the least. Whose variables are bad, and who gets no
///   memory or none of a kind that must be, says so, so that all throw.
#pragma once
#include <algorithm>
#include <array>

#include <mpt/coll/allgather.hpp>
#include <mpt/mem/offer.hpp>
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
    std::uint64_t heap_here = 0, slice_offset = 0, alignment = 0, segments = 0, failed = 0, sleeps_soon = 0;
    std::array<std::uint64_t, most_partitions> pages_at{}; // as the partitions lie
    std::array<mem::arena::lent_pages, most_partitions> lent{};
    static_file statics{};
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
        give_back();
        throw;
    }
    find_bells();
}

template <class Stack> memory<Stack>::~memory() {
    window_.reset();
    give_back();
}

/// What a PE has laid over its peers' memory goes before they are told so, by the window's end, and what it has over its own after that.
template <class Stack> void memory<Stack>::finish() {
    quiet();
    window_->unlock_all();
    for (auto const& [pe, offset, bytes] : laid_) run_->job().arena().lift_pages(pe, offset, bytes);
    laid_.clear();
    window_->free();
}

template <class Stack> void memory<Stack>::give_back() noexcept {
    run_->heap().look_again();
    for (auto& p : layout_.partitions) {
        if (!p.is_of_pool()) continue;
        if (!allocated_.empty())
            run_->job().arena().lift_pages(run_->me(), run_->heap().refer(heap().data()).offset + p.begin, p.pages());
        give_pages(p);
    }
    if (!allocated_.empty()) run_->deallocate(std::exchange(allocated_, {}));
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
    alignment_ = layout_.alignment;
    std::uint64_t touched = 0; // of base pages, at most: not what lies between partitions
    for (auto& p : layout_.partitions) {
        take_pages(p);
        if (!p.is_of_pool()) touched += p.bytes;
    }
    take_room(touched);
    low_ = (number(allocated_.data()) + alignment_ - 1) / alignment_ * alignment_, bytes_ = layout_.bytes;
    auto const is_asked = [](partition const& p) { return p.asked.page_bytes != 0 || p.asked.kind != memory_kind::normal; };
    if (std::ranges::any_of(layout_.partitions, is_asked)) {
        auto const here = mem::look_around(run_->configuration());
        for (auto& p : layout_.partitions) {
            lay_pages(p);
            place(p, heap().subspan(p.begin, p.bytes), here, size());
        }
    }
    if constexpr (!world_type::shares_process) segments_ = data_segments(); // of threads, static variables are shared
    card mine{low_, run_->heap().refer(heap().data()).offset, alignment_, segments_.size(), 0, run_->sleeps_soon(), {}, {}, {}};
    if (may_share_statics())
        mine.statics = share_statics(static_parts(), run_->configuration().template get<"MPT_SHARE_STATIC">());
    std::ranges::transform(layout_.partitions, mine.pages_at.begin(), &partition::pages_at);
    std::ranges::transform(layout_.partitions, mine.lent.begin(), &partition::lent);
    return mine;
}

/// What shmem_align can give is what the heap itself begins at: a quarter of its size, for a quarter more addresses, which nobody
/// touches; where there are not so many, what its pages need.
template <class Stack> void memory<Stack>::take_room(std::uint64_t touched) {
    auto const take = [&](std::uint64_t alignment) {
        auto const all = layout_.bytes + alignment + layout_.alignment; // the last page may be longer than its partition
        allocated_ = run_->heap().allocate(all, mem::purpose::symmetric, all - touched);
        alignment_ = alignment;
    };
    auto const least = layout_.alignment, most = std::max(least, std::min(large_page, std::bit_floor(layout_.bytes / 4)));
    if (most == least || run_->job().arena().may_bus_error()) return take(least); // there, all of them are committed
    try {
        take(most);
    } catch (error const&) { take(least); }
}

/// Of the system's pool, where it has enough, before the heap has its place: what they hold is not asked of other memory.
template <class Stack> void memory<Stack>::take_pages(partition& p) {
    if (p.asked.page_bytes < mem::arena::huge_page || alignment_ < mem::arena::huge_page) return;
    if (wants_large(p.asked)) p.lent = mem::arena::lend_pages(large_page, p.whole(large_page));
    if (p.lent) return;
    if (auto const at = run_->heap().take_pages(p.pages())) p.pages_at = *at;
}

template <class Stack> void memory<Stack>::give_pages(partition& p) noexcept {
    if (p.lent) mem::arena::take_back(std::exchange(p.lent, {}));
    else run_->heap().give_pages(p.pages_at, p.pages());
    p.pages_at = no_pages;
}

template <class Stack> void memory<Stack>::lay_pages(partition& p) {
    if (!p.is_of_pool()) return;
    auto const offset = run_->heap().refer(heap().data()).offset + p.begin;
    auto& arena = run_->job().arena();
    auto const is = p.lent ? arena.lay_pages(run_->me(), offset, p.lent, p.pages())
                           : arena.lay_pages(run_->me(), offset, p.pages_at, p.pages());
    if (is == status::ok) p.page_bytes = p.lent ? large_page : mem::arena::huge_page;
    else give_pages(p);
}

/// A peer's memory has the pages that the peer has given it: who touches a page first gives it its size, and from the pool it is mapped
/// over the range by everybody.
template <class Stack> void memory<Stack>::take_pages_of(rank pe, card const& theirs) {
    for (std::size_t i = 0; i < layout_.partitions.size(); ++i) {
        auto p = layout_.partitions[i];
        p.pages_at = theirs.pages_at[i], p.lent = theirs.lent[i];
        if (!p.is_of_pool()) {
            advise_pages(p, {bases_[static_cast<std::size_t>(pe.value)] + p.begin, p.bytes});
            continue;
        }
        auto const offset = theirs.slice_offset + p.begin;
        auto& arena = run_->job().arena();
        auto const is =
            p.lent ? arena.lay_pages(pe, offset, p.lent, p.pages()) : arena.lay_pages(pe, offset, p.pages_at, p.pages());
        if (is != status::ok)
            throw error{
                errc::no_memory,
                "mpt: the huge pages of PE " + std::to_string(pe.value) + " cannot be mapped here" +
                    (p.lent ? " (/proc/" + std::to_string(p.lent.process) + "/fd); pgsize=2M does without that." : ".")};
        laid_.push_back({pe, offset, p.pages()});
    }
}

template <class Stack> void memory<Stack>::learn(coll::team<Stack> const& all, card const& mine, std::string const& why_not) {
    auto const cards = detail::tell_all(all, &mine, 1);
    if (!why_not.empty())
        throw error{errc::no_memory, why_not + " (The symmetric heap: SHMEM_SYMMETRIC_SIZE, SHMEM_SYMMETRIC_PARTITION.)"};
    bases_ = std::make_unique<std::byte*[]>(cards.size());
    for (auto const& c : cards) alignment_ = std::min(alignment_, c.alignment);
    for (std::size_t pe = 0; pe < cards.size(); ++pe) {
        auto const& c = cards[pe];
        if (c.failed != 0)
            throw error{errc::no_memory, "mpt: PE " + std::to_string(pe) + " has no memory for its symmetric heap."};
        heaps_.push_back(c.heap_here);
        rings_ = rings_ || c.sleeps_soon != 0;
        if constexpr (maps) {
            auto& job = run_->job();
            auto const slice = job.arena().slice(pe, job.record(pe).slice_bytes);
            if (slice.empty())
                throw error{errc::no_memory, "mpt: the symmetric heap of PE " + std::to_string(pe) + " cannot be mapped here."};
            bases_[pe] = slice.data() + c.slice_offset;
            if constexpr (!world_type::shares_process)
                if (rank const other{static_cast<std::int32_t>(pe)}; other != me()) take_pages_of(other, c);
        }
    }
    learn_segments(all, cards);
}

/// What MPI has begun may be stored into variables meanwhile.
template <class Stack> bool memory<Stack>::may_share_statics() const noexcept {
    if constexpr (!maps || world_type::shares_process) return false;
    auto const spoken =
        run_->job().record(static_cast<std::size_t>(me().value)).speaks.load(std::memory_order_relaxed); // order: our own
    return (spoken & static_cast<std::uint32_t>(boot::facade::mpi)) == 0;
}

/// Of those that run the same program, which comes first among the segments.
template <class Stack> void memory<Stack>::learn_statics(std::vector<card> const& cards) {
    std::vector<static_file> files(cards.size());
    for (std::size_t pe = 0; pe < cards.size(); ++pe) {
        bool is_alike = true;
        for (std::size_t k = 0; k < segments_.size() && segments_[k].object == segments_[0].object; ++k)
            is_alike = is_alike && is_same(k, rank{static_cast<std::int32_t>(pe)});
        if (is_alike) files[pe] = cards[pe].statics;
    }
    statics_.learn(static_parts(), std::move(files), me());
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
    if constexpr (maps && !world_type::shares_process) learn_statics(cards);
}

/// Nobody else locks its ranks, so that no word need be taken.
template <class Stack> void memory<Stack>::open_window(coll::team<Stack> const& all) {
    window_ = rma::make_window(*run_, all, {.how = rma::flavor::dynamic});
    window_->attach(heap());
    for (bool const constant : {false, true}) // the places for all to see are so many: who is written most has one
        for (auto const& s : segments_)
            if (s.is_constant() == constant) window_->attach({reinterpret_cast<std::byte*>(s.at), s.bytes});
    window_->lock_all({.no_check = true});
    coll::barrier(all); // before anybody asks for what another has not attached
}

template <class Stack> void memory<Stack>::find_bells() {
    bells_.resize(static_cast<std::size_t>(size()), nullptr);
    if constexpr (lane<Stack>::neighbourly)
        for (rank pe = 0; pe < size(); pe = pe + 1)
            bells_[static_cast<std::size_t>(pe.value)] = run_->lane_of(context_).bell_of(pe); // ours: a thread may sleep
}

} // namespace mpt::inline v0::shmem
