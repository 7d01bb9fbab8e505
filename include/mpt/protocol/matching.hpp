/// protocol/matching - which message goes to which receive, at the same cost for ten entries and for a hundred thousand.
///
///        receive wanted -- take --> an arrival fits: it is yours      message came -- match --> a receive fits: it gets it
///                            `----> none: post                                          `-----> none: store
///
///        bin (context, source, tag)       posted here                arrivals linked here
///        exact                            receives without wildcard  all
///        (context, any, tag)              any_source                 all, once somebody asked that way
///        (context, source, any)           any_tag                    all, once somebody asked that way
///        (context, any, any)              both                       all, once somebody asked that way
///
///   Order    MPI-4.1 section 3.5. A message takes the earliest posted of the receives at the heads of up to four bins, by
///            sequence number; only kinds that have receives are looked at. A receive takes the head of its own bin: each bin
///            is in arrival order.
///   Lazy     a program without wildcards pays for none. The first question with a wildcard of some kind links the arrivals that
///            are there into that kind's bins, and later ones are linked when they come, until the tables have run empty of
///            arrivals. So an arrival is linked at most four times in its life: constant cost, however it is asked for. Where
///            there are few arrivals, or no memory for bins, the question walks them in arrival order instead.
///   Memory   40 bytes in each receive, 104 in each kept message, 64 a key (matching/bins.hpp); from a memory_source that lies
///            in the rank's slice, so that another process can read the entries of a rank that hangs (each_posted).
///   Cost     instructions with the key used last and no wildcard: post and match 59 together, store and take 77; with another
///            key some 35 more for each of the two that find it first; a match among wildcard receives some 120.
///            origin: callgrind, each in a function of its own, g++ 12 -O2; times: bench/protocol_matching_bench.cpp
///   Limit    one thread at a time (the lane's lock). Entries are intrusive and must not move while they are in the tables.
///   Tests    test/protocol_matching_test.cpp: against an oracle that is a vector.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mpt/core/assert.hpp>
#include <mpt/core/types.hpp>
#include <mpt/protocol/matching/bins.hpp>

namespace mpt::inline v0::protocol {

/// How much a receive leaves open; the number of the list in an arrival_hook.
enum class opening : std::uint8_t { exact = 0, source = 1, label = 2, both = 3 };

constexpr opening opening_of(envelope const& e) noexcept {
    return static_cast<opening>(static_cast<unsigned>(e.source == any_source) | static_cast<unsigned>(e.label == any_tag) << 1);
}
/// The key under which receives of that kind find a message.
constexpr envelope opened(envelope const& e, opening o) noexcept {
    auto const bits = static_cast<unsigned>(o);
    return {e.context, bits & 1 ? any_source : e.source, bits & 2 ? any_tag : e.label};
}
constexpr bool fits(envelope const& wanted, envelope const& arrived) noexcept {
    return wanted == opened(arrived, opening_of(wanted));
}

/// What a receive carries while it is posted: a base or the first member of the engine's own object. Hooks are trivial; a copy
/// of an object that carries one is not in the tables.
struct posted_hook {
    list_node at; // first: an address in a bin's ring is the hook's
    envelope what;
    std::uint64_t sequence; // in post order
};

/// What a kept message carries.
struct arrival_hook {
    list_node in[4]; // by opening; first: an address in a bin's ring tells the hook's
    list_node order; // all arrivals, in arrival order
    envelope what;
    std::uint32_t linked; // bit o: it is in a bin of that opening
};
static_assert(std::is_standard_layout_v<posted_hook> && std::is_standard_layout_v<arrival_hook>);
static_assert(sizeof(posted_hook) == 40 && sizeof(arrival_hook) == 104);

/// Reads our own memory: the addresses are good as they are.
struct in_place {
    template <class T> T* operator()(T* p) const noexcept { return p; }
};

class matching {
    static constexpr std::uint64_t one_arrival = std::uint64_t{1} << 32;
    static constexpr std::uint32_t few = 4; // so many arrivals are walked sooner than linked

public:
    explicit matching(memory_source source) noexcept : bins_{source} { order_.close(); }
    matching(matching const&) = delete;
    matching& operator=(matching const&) = delete;

    // --- the receive's side -------------------------------------------------------------------------------------------------
    /// The earliest arrival that fits, which stays (probe), or nullptr.
    arrival_hook* find(envelope const& wanted) noexcept {
        if (arrivals() == 0) return nullptr;
        auto* const b = exact(wanted) ? bins_.recent(wanted) : nullptr;
        return b ? first_arrival(*b, opening::exact) : find_slowly(wanted);
    }
    /// The same, taken out.
    arrival_hook* take(envelope const& wanted) noexcept {
        auto* const a = find(wanted);
        if (a) remove(*a);
        return a;
    }
    /// Takes out an arrival that find() returned (matched probe).
    void remove(arrival_hook& a) noexcept {
        a.in[0].unlink();
        a.order.unlink();
        entries_ -= one_arrival;
        if (a.linked != 1) [[unlikely]]
            unlink_open(a);
    }
    /// Enters a receive for which no arrival fitted. no_memory: it is not entered.
    [[nodiscard]] status post(posted_hook& p, envelope const& wanted) noexcept {
        MPT_ASSERT(cheap, wanted.source >= any_source && (wanted.label >= 0 || wanted.label == any_tag));
        MPT_ASSERT(paranoid, !find(wanted));
        auto* const b = exact(wanted) ? bins_.recent(wanted) : nullptr;
        if (!b) return post_slowly(p, wanted);
        enter(*b, p, wanted);
        return status::ok;
    }
    /// Takes a posted receive out again (cancel).
    void withdraw(posted_hook& p) noexcept {
        p.at.unlink();
        --entries_;
        if (open_mask_) [[unlikely]]
            uncount(p);
    }

    // --- the message's side -------------------------------------------------------------------------------------------------
    /// The earliest posted receive that fits, taken out, or nullptr.
    posted_hook* match(envelope const& arrived) noexcept {
        if (posted() == 0) return nullptr;
        auto* const b = open_mask_ == 0 ? bins_.recent(arrived) : nullptr;
        if (!b) return match_slowly(arrived);
        auto* const p = first_posted(*b);
        if (p) leave(*p);
        return p;
    }
    /// Keeps a message for which no receive was posted. no_memory: it is not kept. refused: neither, for its source or tag is
    /// none that a message can have.
    [[nodiscard]] status store(arrival_hook& a, envelope const& arrived) noexcept {
        if (!exact(arrived)) [[unlikely]]
            return status::refused;
        auto* const b = indexed_ == 0 ? bins_.recent(arrived) : nullptr;
        if (!b) return store_slowly(a, arrived);
        enter(*b, a, arrived);
        return status::ok;
    }

    // --- what is there ------------------------------------------------------------------------------------------------------
    /// Nothing is posted and nothing is kept: the next message that fits is the match.
    bool quiet() const noexcept { return entries_ == 0; }
    std::size_t posted() const noexcept { return static_cast<std::uint32_t>(entries_); }
    std::size_t arrivals() const noexcept { return entries_ >> 32; }
    bin_table const& bins() const noexcept { return bins_; }

    /// Calls f(hook const&) for every posted receive: by key, in post order within a key. For reports: from another process,
    /// `see` turns an address of the owner's into one here, nullptr where it cannot; a table that changes meanwhile ends the
    /// walk early or late, but ends it.
    template <class F, class See = in_place> void each_posted(F&& f, See const& see = {}) const {
        auto left = posted();
        bins_.each(
            [&](bin const& b) {
                walk(b.posted, left, see, [&](list_node const& n) { f(reinterpret_cast<posted_hook const&>(n)); });
            },
            see);
    }
    /// Calls f(hook const&) for every arrival, in arrival order, or for the first ones.
    template <class F, class See = in_place>
    void each_arrival(F&& f, See const& see = {}, std::size_t most = ~std::size_t{0}) const {
        auto left = most < arrivals() ? most : arrivals();
        walk(order_, left, see, [&](list_node const& n) { f(*by_order(&n)); });
    }

    /// What is counted is what is there, and every arrival is linked where it has to be. Walks everything: for tests.
    bool consistent() const {
        std::size_t posts = 0, messages = 0, open[4]{};
        each_posted([&](posted_hook const& p) { ++posts, ++open[static_cast<unsigned>(opening_of(p.what))]; });
        bool linked = true;
        each_arrival([&](arrival_hook const& a) { ++messages, linked &= (a.linked & indexed_) == indexed_; });
        bool counted = posts == posted() && messages == arrivals() && (indexed_ == 0 || messages != 0);
        for (auto const o : {opening::source, opening::label, opening::both}) {
            auto const n = open[static_cast<unsigned>(o)];
            counted &= n == open_[static_cast<unsigned>(o)] && (n != 0) == ((open_mask_ & bit(o)) != 0);
        }
        return linked && counted;
    }

private:
    static constexpr std::uint32_t bit(opening o) noexcept { return 1u << static_cast<unsigned>(o); }

    /// No wildcard: what is open is negative.
    static bool exact(envelope const& e) noexcept { return (e.source.value | e.label.value) >= 0; }

    static posted_hook* first_posted(bin& b) noexcept {
        return b.posted.alone() ? nullptr : reinterpret_cast<posted_hook*>(b.posted.next);
    }
    static arrival_hook* first_arrival(bin& b, opening o) noexcept {
        return b.arrivals.alone() ? nullptr : reinterpret_cast<arrival_hook*>(b.arrivals.next - static_cast<unsigned>(o));
    }
    void enter(bin& b, posted_hook& p, envelope const& wanted) noexcept {
        p.at.insert_before(b.posted);
        p.what.set(wanted);
        p.sequence = sequence_++;
        ++entries_;
    }
    void enter(bin& b, arrival_hook& a, envelope const& arrived) noexcept {
        a.in[0].insert_before(b.arrivals);
        a.order.insert_before(order_);
        a.what.set(arrived);
        a.linked = 1;
        entries_ += one_arrival;
    }
    /// withdraw, of a receive without wildcards.
    void leave(posted_hook& p) noexcept {
        p.at.unlink();
        --entries_;
    }
    static arrival_hook const* by_order(list_node const* n) noexcept {
        return reinterpret_cast<arrival_hook const*>(reinterpret_cast<std::byte const*>(n) - offsetof(arrival_hook, order));
    }

    // The ways for another key than the last, or with wildcards. They are calls, so that the short ways above need no frame.
    [[gnu::noinline]] arrival_hook* find_slowly(envelope const& wanted) noexcept {
        auto const o = opening_of(wanted);
        bool const binned = o == opening::exact || indexed_ & bit(o) || (arrivals() > few && index(o));
        if (!binned) return find_walking(wanted);
        auto* const b = bins_.find(wanted);
        return b ? first_arrival(*b, o) : nullptr;
    }
    arrival_hook* find_walking(envelope const& wanted) noexcept {
        for (auto* n = order_.next; n != &order_; n = n->next)
            if (auto* const a = const_cast<arrival_hook*>(by_order(n)); fits(wanted, a->what)) return a;
        return nullptr;
    }
    [[gnu::noinline]] status post_slowly(posted_hook& p, envelope const& wanted) noexcept {
        auto* const b = bins_.make(wanted);
        if (!b) [[unlikely]]
            return status::no_memory;
        enter(*b, p, wanted);
        if (auto const o = opening_of(wanted); o != opening::exact) {
            open_mask_ |= bit(o);
            ++open_[static_cast<unsigned>(o)];
        }
        return status::ok;
    }
    [[gnu::noinline]] posted_hook* match_slowly(envelope const& arrived) noexcept {
        auto* const b = bins_.find(arrived);
        auto* p = b ? first_posted(*b) : nullptr;
        if (open_mask_) p = earlier_open(arrived, p);
        if (p) withdraw(*p);
        return p;
    }
    [[gnu::noinline]] status store_slowly(arrival_hook& a, envelope const& arrived) noexcept {
        auto* const b = bins_.make(arrived);
        if (!b) [[unlikely]]
            return status::no_memory;
        enter(*b, a, arrived);
        if (indexed_) link_open(a);
        return status::ok;
    }

    /// Links all arrivals into the bins of an opening. False: no memory, and none is linked.
    bool index(opening o) noexcept {
        indexed_ |= bit(o);
        for (auto* n = order_.next; n != &order_; n = n->next)
            if (!link(*const_cast<arrival_hook*>(by_order(n)), o)) return drop_index(o), false;
        return true;
    }
    /// Arrivals are linked from the first on; the first that is not is the one there was no memory for.
    void drop_index(opening o) noexcept {
        indexed_ &= ~bit(o);
        for (auto* n = order_.next; n != &order_; n = n->next) {
            auto& a = *const_cast<arrival_hook*>(by_order(n));
            if (!(a.linked & bit(o))) return;
            a.in[static_cast<unsigned>(o)].unlink();
            a.linked &= ~bit(o);
        }
    }
    bool link(arrival_hook& a, opening o) noexcept {
        auto* const b = bins_.make(opened(a.what, o));
        if (!b) [[unlikely]]
            return false;
        a.in[static_cast<unsigned>(o)].insert_before(b->arrivals);
        a.linked |= bit(o);
        return true;
    }
    /// An arrival that cannot be linked for want of memory is still kept: that opening is walked from then on.
    void link_open(arrival_hook& a) noexcept {
        for (auto const o : {opening::source, opening::label, opening::both})
            if (indexed_ & bit(o) && !link(a, o)) drop_index(o);
    }
    /// Every arrival is linked wherever indexed_ says: when the last one of them goes, nothing is indexed any more.
    [[gnu::noinline]] void unlink_open(arrival_hook& a) noexcept {
        for (auto const o : {opening::source, opening::label, opening::both})
            if (a.linked & bit(o)) a.in[static_cast<unsigned>(o)].unlink();
        if (arrivals() == 0) indexed_ = 0;
    }
    [[gnu::noinline]] void uncount(posted_hook const& p) noexcept {
        auto const o = opening_of(p.what);
        if (o != opening::exact && --open_[static_cast<unsigned>(o)] == 0) open_mask_ &= ~bit(o);
    }
    /// The earlier of `best` and the receives with wildcards that fit.
    posted_hook* earlier_open(envelope const& arrived, posted_hook* best) noexcept {
        for (auto const o : {opening::source, opening::label, opening::both}) {
            if (!(open_mask_ & bit(o))) continue;
            auto* const b = bins_.find(opened(arrived, o));
            auto* const p = b ? first_posted(*b) : nullptr;
            if (p && (!best || p->sequence < best->sequence)) best = p;
        }
        return best;
    }

    /// A ring as its owner linked it: `head` may be a view of it at another address, so its own address comes from a neighbour.
    template <class See, class F> static void walk(list_node const& head, std::size_t& left, See const& see, F&& f) {
        list_node const* n = see(head.next);
        list_node const* const end = n ? n->previous : nullptr;
        for (list_node const* at = head.next; n && at != end && left; at = n->next, n = see(at), --left) f(*n);
    }

    std::uint64_t entries_ = 0; // receives in the low half, arrivals in the high half: quiet() is one load
    std::uint64_t sequence_ = 0;
    std::uint32_t open_mask_ = 0; // openings of which receives are posted
    std::uint32_t indexed_ = 0;   // openings into whose bins all arrivals are linked
    std::uint32_t open_[4]{};     // receives posted, by opening; exact ones are not counted
    list_node order_;             // arrivals
    bin_table bins_;
};

} // namespace mpt::inline v0::protocol
