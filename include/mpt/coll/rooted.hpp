/// coll/rooted - collectives that are counted, those in which all ranks name a root above all, and how it is found out that they differ.
///
///   Each rank numbers these calls by communicator; all come to them in the same order (MPI-4.1 section 6.1). Number and root are
///   in the tag of the messages, so those of calls that do not agree never meet:
///
///        31  30 .. 22       21 .. 4      3 .. 0
///         0  number, low 9  root, low 18 speaker
///
///   A rank notes what it calls in its control record (wait/calls.hpp). One that has to wait long looks, again and again, at what
///   the others noted under the same number: another root there is an error, with both ranks and both roots, on all ranks that
///   wait; it does not matter for whom. So is another way that the data take, which their size decides: messages of the two ways would
///   wait for each other. Whoever need not wait has sent its part and does not know. Alltoalls and scans are counted, too, where ranks may
///   share memory: as having a root that no rank is.
///
///   Where ranks share memory, and have shown there what they call, and its size, before they went on by messages (coll/node.hpp), it looks at
///   that.
///
///   Cost      to note: two stores. To look: a line of another's while there is nothing else to do.
///   Limit     ranks that only send (two, each of which takes itself for the root of a small broadcast) are not told; what they sent is
///             received by nobody. Whoever went on by more than eight such calls without waiting is not found.
///   Tests     test/coll_rooted_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <mpt/core/error.hpp>
#include <mpt/stack/group.hpp>
#include <mpt/stack/lane.hpp>

namespace mpt::inline v0::coll {

/// Which algorithm a message belongs to.
enum class speaker : std::int32_t {
    barrier = 1,
    allreduce,
    allgather,
    broadcast,
    gather,
    scatter,
    alltoall,
    reduce,
    reduce_scatter,
    scan,
    neighbor,
};

/// The way that the data of a collective with a root take. Ranks with data of one size take the same.
enum class way : std::uint8_t { usual, other, none };

/// A collective in which all ranks name a root. number 0: one without a root.
struct rooted_call {
    speaker what{};
    std::int32_t root = 0;
    std::uint32_t number = 0;
    way by = way::usual;

    /// The root of a counted collective that has none: more than ranks there may be.
    static constexpr std::int32_t nobody = (1 << 18) - 1;
    /// The number of a call that is noted for reports alone: ranks that check their calls say so in which they exchange them.
    static constexpr std::uint32_t for_reports = ~std::uint32_t{0};

    /// What messages of the call carry.
    tag label(speaker s) const noexcept {
        auto const r = static_cast<std::uint32_t>(root) % (1u << 18), n = number % (1u << 9);
        return tag{n << 22 | r << 4 | static_cast<std::uint32_t>(s)};
    }
    /// The speaker of a message.
    static speaker speaker_of(tag label) noexcept { return static_cast<speaker>(label.value & 15); }
    /// What is noted: the number in the low half, then the root, two bits of the way, and the speaker in the highest four.
    std::uint64_t word() const noexcept {
        return std::uint64_t{number} | std::uint64_t{static_cast<std::uint32_t>(root)} << 32 |
               static_cast<std::uint64_t>(by) << 58 | static_cast<std::uint64_t>(what) << 60;
    }
    static rooted_call of(std::uint64_t word) noexcept {
        return {static_cast<speaker>(word >> 60), static_cast<std::int32_t>(word >> 32 & 0x3ff'ffff),
                static_cast<std::uint32_t>(word), static_cast<way>(word >> 58 & 3)};
    }
};

constexpr std::string_view name_of(speaker s) noexcept {
    switch (s) {
    case speaker::barrier: return "barrier";
    case speaker::allreduce: return "allreduce";
    case speaker::allgather: return "allgather";
    case speaker::alltoall: return "alltoall";
    case speaker::broadcast: return "broadcast";
    case speaker::gather: return "gather";
    case speaker::scatter: return "scatter";
    case speaker::reduce: return "reduce";
    case speaker::scan: return "scan";
    default: return "collective";
    }
}

[[noreturn]] inline void differ(std::int32_t me, rooted_call const& mine, std::int32_t other, rooted_call const& theirs) {
    auto const said = [](std::int32_t r, rooted_call const& c) {
        auto const name = name_of(c.what);
        auto const call = "rank " + std::to_string(r) + (name[0] == 'a' ? " called an " : " called a ") + std::string{name};
        return c.root == rooted_call::nobody ? call : call + " with root " + std::to_string(c.root);
    };
    if (mine.what == theirs.what && mine.root == theirs.root)
        throw error{errc::truncate, "mpt: ranks called a collective with different sizes: " + said(me, mine) + ", and rank " +
                                        std::to_string(other) +
                                        " did with data of so different a size that it takes another way"};
    throw error{mine.what == theirs.what ? errc::root : errc::usage,
                "mpt: " + said(me, mine) + ", and " + said(other, theirs) + ", as number " + std::to_string(mine.number) +
                    " of this communicator's collectives with a root; all ranks call the same, with the same root"};
}

namespace detail {
/// Lengths that nobody expects: a rank that has met a size which is not its own sends one of them.
inline constexpr std::array<std::size_t, 3> odd_lengths{7, 11, 13};

/// Set in what is shown as the size of a row that holds a list of pieces (coll/scatter.hpp).
inline constexpr std::uint64_t list_mark = std::uint64_t{1} << 62;

[[noreturn, gnu::noinline]] inline void sizes_differ(std::uint64_t came, std::uint64_t expected, std::int32_t from) {
    if ((came & list_mark) != 0)
        throw error{errc::usage, "mpt: rank " + std::to_string(from) +
                                     " scatters a list of pieces (scatterv), where this rank expects " +
                                     std::to_string(expected) + " bytes of a scatter of equal ones"};
    bool const odd = std::ranges::find(odd_lengths, came) != odd_lengths.end();
    throw error{errc::truncate, "mpt: ranks called a collective with different sizes: " + std::to_string(came) +
                                    " bytes came where " + std::to_string(expected) + " were expected, from rank " +
                                    std::to_string(from) +
                                    (odd ? " (so many are sent by who has met another size before)" : "")};
}

[[noreturn, gnu::noinline]] inline void calls_differ(std::int32_t me, rooted_call const& mine, std::int32_t other,
                                                     rooted_call const& theirs) {
    if (mine.what == theirs.what) differ(me, mine, other, theirs);
    throw error{errc::usage, "mpt: rank " + std::to_string(me) + " called " + std::string{name_of(mine.what)} + ", and rank " +
                                 std::to_string(other) + " called " + std::string{name_of(theirs.what)} +
                                 " on the same communicator; all ranks call the same"};
}
} // namespace detail

/// What ranks that share memory have shown of the collective that they are in.
struct shown_call {
    static constexpr std::uint64_t not_yet = ~std::uint64_t{0};
    std::uint64_t size = not_yet, word = 0;
};
struct shown_calls {
    void const* room = nullptr; // null: they have not
    shown_call (*of)(void const* room, std::int32_t q) = nullptr;
    shown_call mine{};

    static std::uint64_t word_of(speaker s, std::int32_t root) noexcept {
        return static_cast<std::uint64_t>(s) | std::uint64_t{static_cast<std::uint32_t>(root)} << 8;
    }
    static rooted_call call_of(std::uint64_t word, std::uint32_t number) noexcept {
        return {static_cast<speaker>(word & 0xff), static_cast<std::int32_t>(word >> 8), number};
    }
};

/// Looks at one rank after the other while this one waits in a call. One that has met a size which is not its own takes its turns, and
/// gives up where it has to wait for a second in one of them: the others may have taken another way.
template <class Lane> class suspicion {
    static constexpr std::int64_t patience = 1'000'000'000; // nanoseconds

    Lane& lane_;
    group const& who_;
    context_id context_;
    rooted_call mine_, theirs_;
    shown_calls shown_;
    std::uint64_t size_ = shown_call::not_yet; // that another one has shown, and is not ours
    std::int64_t since_ = 0;                   // when it began to wait
    std::uint32_t asked_ = 0;
    std::int32_t next_ = 0, other_ = -1;
    bool differs_, in_vain_ = false, shown_other_ = false;

public:
    /// differs: a size was met.
    suspicion(Lane& l, group const& who, context_id c, rooted_call const& mine, shown_calls const& shown, bool differs) noexcept
        : lane_{l}, who_{who}, context_{c}, mine_{mine}, shown_{shown}, differs_{differs} {}

    /// Asked in every turn of a wait: most of them are none of the long ones.
    bool operator()() noexcept {
        if ((mine_.number != 0 || shown_.room || differs_) && other_ < 0 && ++asked_ % 8 == 0) look();
        return other_ >= 0 || in_vain_;
    }
    bool is_in_vain() const noexcept { return in_vain_; }
    /// Throws what was found.
    void tell(std::int32_t me) const {
        if (other_ < 0) [[likely]]
            return;
        if (size_ != shown_call::not_yet) detail::sizes_differ(size_, shown_.mine.size, other_);
        shown_other_ ? detail::calls_differ(me, mine_, other_, theirs_) : differ(me, mine_, other_, theirs_);
    }

private:
    void look() noexcept {
        if (differs_) {
            auto const now = static_cast<std::int64_t>(lane_.world().now().count());
            if (since_ == 0) since_ = now;
            in_vain_ = in_vain_ || now - since_ > patience;
        }
        if (shown_.room) look_at_shown();
        auto const seen = mine_.number == 0 ? 0 : lane_.calls_of(who_.world(next_)).find(context_, mine_.number);
        if (seen != 0 && seen != mine_.word()) other_ = next_, theirs_ = rooted_call::of(seen);
        if (++next_ == who_.size()) next_ = 0;
    }
    void look_at_shown() noexcept {
        auto const theirs = shown_.of(shown_.room, next_);
        if (theirs.size == shown_call::not_yet) return;
        if (mine_.number != 0 && theirs.word != shown_.mine.word)
            other_ = next_, theirs_ = shown_calls::call_of(theirs.word, mine_.number), shown_other_ = true;
        else if (theirs.size != shown_.mine.size) other_ = next_, size_ = theirs.size;
    }
};

} // namespace mpt::inline v0::coll
