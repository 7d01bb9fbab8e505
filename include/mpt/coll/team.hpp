/// coll/team - what an algorithm over more than two ranks works with: who is who, messages, and steps on this rank.
///
///        algorithm(Team const& t) --- t is a team       ---> does it: blocking collectives
///                                 `-- t is a recorder   ---> writes it down: non-blocking and persistent ones (coll/plan.hpp)
///
///   An algorithm touches data by a team's functions only, and takes its turns by ranks and sizes, never by what the data are: so
///   each is written once for all three forms.
///
///   Ranks are the group's; messages travel in the collective context, so they never meet point-to-point traffic. All ranks
///   call the collectives of one communicator in the same order (MPI-4.1 section 6.1): messages of a pair then match in
///   order, and the tag only says which algorithm speaks, and in a collective with a root which one and for which root
///   (coll/rooted.hpp). Data are bytes, sources and sinks, or layouts, which a team's function
///   takes by reference and a recorder's copies.
///
///   Sizes    a message that is not as long as its receiver expects means that the ranks do not call the same collective: an
///            mpt::error(truncate) that names both sizes. Empty pieces are sent too, so that this is seen. Who finds it takes its turns to
///            the end all the same (to_the_end), so that nobody waits for them; what it sends from then on has a length that nobody expects.
///   Limit    ranks that by their sizes take different algorithms of a collective without a root may wait for each other.
///   Tests    test/coll_team_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <mpt/coll/pieces.hpp>
#include <mpt/coll/rooted.hpp>
#include <mpt/coll/under_way.hpp>
#include <mpt/core/copy.hpp>
#include <mpt/stack/p2p.hpp>

namespace mpt::inline v0::coll {

/// right = left op right, for n elements.
using combiner = void (*)(void* what, std::byte const* left, std::byte* right, std::size_t n);

/// One message of many that are under way at once.
struct incoming {
    std::int32_t from;
    sink into;
};
struct outgoing {
    std::int32_t to;
    source data;
};
/// Up to `most` of them: without an allocation where that is few.
template <class Message> class messages {
    static constexpr std::size_t few = 8;
    std::array<Message, few> in_place_;
    std::vector<Message> many_;
    Message* all_;
    std::size_t n_ = 0;

public:
    explicit messages(std::int32_t most) : all_{in_place_.data()} {
        if (auto const n = static_cast<std::size_t>(most); n > few) many_.resize(n), all_ = many_.data();
    }
    messages(messages const&) = delete;
    void add(Message const& m) noexcept { all_[n_++] = m; }
    operator std::span<Message const>() const noexcept { return {all_, n_}; }
};

/// What an algorithm works with. send and recv take their ranks' data, exchange does both at once, exchange_all many of both, nod
/// both without data; keep is what this rank sends to itself; differs says whether a size was found that is not ours; rooted is the team for a collective with a root, among the same for
/// other ranks, in the same context; move copies what is as large in both; memory, and what lasting() gives, last as long as the
/// collective.
template <class T>
concept team_type = requires(T const& t, std::int32_t r, speaker s, source const& out, sink const& in, combiner f,
                             std::byte* bytes, std::size_t n) {
    { t.me() } noexcept -> std::same_as<rank>;
    { t.size() } noexcept -> std::same_as<std::int32_t>;
    t.send(r, s, out);
    t.recv(r, s, in);
    t.exchange(r, out, r, in, s);
    t.exchange_all(std::span<incoming const>{}, std::span<outgoing const>{}, s);
    t.nod(r, r, s);
    t.keep(out, in);
    t.move(out, in);
    t.combine(f, bytes, bytes, bytes, n);
    { t.differs() } noexcept -> std::same_as<bool>;
    { t.rooted(s, r, way::usual) } -> std::convertible_to<T>;
    { t.among(t.who(), t.me()) } -> std::same_as<T>;
    { t.memory(n) } -> std::same_as<scratch>;
    { t.lasting(n) } -> std::same_as<std::size_t const&>;
};

namespace detail {

/// Data of any sort as a source; a layout's refers to it.
inline source const& read_from(source const& s) noexcept { return s; }
template <byte_source S>
    requires(!std::same_as<S, source>)
source read_from(S const& layout) noexcept {
    return source::of(layout);
}
inline sink const& written_to(sink const& s) noexcept { return s; }
template <byte_sink S>
    requires(!std::same_as<S, sink>)
sink written_to(S const& layout) noexcept {
    return sink::of(layout);
}

/// Has a message come that was to bring so many bytes? false: of another size.
inline bool has_come(outcome const& got, std::int32_t from, std::size_t expected) {
    if (got.how == status::ok && got.bytes == expected) [[likely]]
        return true;
    if (got.how != status::ok && got.how != status::truncated)
        throw error{got.how == status::no_memory ? errc::no_memory : errc::system,
                    "mpt: a collective's message from rank " + std::to_string(from) + ": " + std::string{to_string(got.how)}};
    return false;
}
inline void must_have_come(outcome const& got, std::int32_t from, std::size_t expected) {
    if (!has_come(got, from, expected)) sizes_differ(got.bytes, expected, from);
}

/// The first size that a rank has found not to be its own, in a collective that it takes to the end.
struct mismatch {
    bool found = false;
    std::int32_t from = 0;
    std::uint64_t came = 0;
    std::size_t expected = 0;
    std::optional<std::uint64_t> shown{}; // our size, where the ranks have shown theirs and go on by messages

    void note(std::uint64_t bytes, std::size_t wanted, std::int32_t whose) noexcept {
        if (!std::exchange(found, true)) from = whose, came = bytes, expected = wanted;
    }
    void tell() const {
        if (found) [[unlikely]]
            sizes_differ(came, expected, from);
    }
    /// In place of data: neither as long as they are, nor as what came.
    source spoilt(std::size_t planned) const noexcept {
        static constexpr std::array<std::byte, odd_lengths.back()> nothing{};
        auto const free = [&](std::size_t n) { return n != planned && n != came; };
        return {nothing.data(), *std::ranges::find_if(odd_lengths, free)};
    }
};

} // namespace detail

/// What a communicator keeps for the memory that its ranks share (coll/node.hpp).
struct meeting {
    std::uint32_t calls = 0;                                            // collectives while there is none
    bool refused = false;                                               // they have agreed that there will be none
    std::shared_ptr<void> room;                                         // node_room of the stack's world
    shown_call (*shown_by)(void const* room, std::int32_t q) = nullptr; // shown_calls
};

/// The word of MPT_COLL_OFF for a collective: the first ones' place there follows from the speaker's number.
inline constexpr std::string_view switched_off_by = config::table[config::row_of("MPT_COLL_OFF")].words;
static_assert(config::word_at(switched_off_by, static_cast<std::size_t>(speaker::barrier) - 1) == "mpi_barrier" &&
              config::word_at(switched_off_by, static_cast<std::size_t>(speaker::broadcast) - 1) == "mpi_bcast" &&
              config::word_at(switched_off_by, static_cast<std::size_t>(speaker::reduce) - 1) == "mpi_reduce");

/// Is that word among those of MPT_COLL_OFF?
template <text Word, class Team> bool is_off(Team const& t) noexcept {
    constexpr auto place = config::word_place(switched_off_by, Word.view());
    static_assert(place < config::word_count(switched_off_by));
    return (t.template limit<"MPT_COLL_OFF">() >> place & 1) != 0;
}
/// Do variables want a collective to go by messages alone, also where ranks share memory? The same on all ranks.
template <class Team> bool by_messages(Team const& t, speaker s) noexcept {
    if (s > speaker::reduce) return s == speaker::scan && is_off<"mpi_scan">(t);
    if (t.template limit<"MPT_COLL_OFF">() >> (static_cast<unsigned>(s) - 1) & 1) return true;
    switch (s) {
    case speaker::broadcast: return t.template limit<"MPT_BCAST_TREE">() != 0;
    case speaker::allreduce: return t.template limit<"MPT_ALLREDUCE_NODE">() == 0;
    case speaker::reduce: return t.template limit<"MPT_REDUCE_NODE">() == 0;
    default: return false;
    }
}

template <class Stack> class team {
    channel<Stack> wire_;
    group const* who_;
    rank me_;
    std::uint32_t* calls_;
    meeting* meeting_;
    rooted_call call_{};
    detail::mismatch* wrong_ = nullptr; // of a collective that is taken to the end

public:
    using stack_type = Stack;

    /// rooted_calls: the communicator's count of its collectives with a root. where: nothing where all is to go by messages.
    team(channel<Stack> point_to_point, group const& who, rank me, std::uint32_t& rooted_calls,
         meeting* where = nullptr) noexcept
        : wire_{point_to_point.collective()}, who_{&who}, me_{me}, calls_{&rooted_calls}, meeting_{where} {}
    /// This team in a collective in which all ranks name a root: the next one of the communicator.
    team rooted(speaker s, std::int32_t root, way by = way::usual) const noexcept {
        bool const shows = meeting_ && meeting_->room && !by_messages(*this, s); // its size, there
        return numbered(s, root, shows ? way::usual : by);
    }
    /// The same, whose data are known to take that way.
    team numbered(speaker s, std::int32_t root, way by) const noexcept {
        rooted_call call{s, root, 0, by};
        number(call, wire_.on().calls_of(wire_.on().me()));
        return in(call);
    }
    /// It is the next one of the communicator, and noted in that log of this rank's.
    void number(rooted_call& call, call_log& log) const noexcept {
        call.number = ++*calls_;
        log.note(wire_.context(), call.word());
    }
    /// This team in that call.
    team in(rooted_call const& call) const noexcept {
        auto t = *this;
        t.call_ = call;
        return t;
    }
    /// Ranks are those of `who`, which outlives the team.
    team among(group const& who, rank me) const noexcept {
        auto t = *this;
        t.who_ = &who, t.me_ = me, t.meeting_ = nullptr;
        return t;
    }

    /// This team in a collective that is taken to the end; nothing: it is in one.
    std::optional<team> going_on(detail::mismatch& wrong) const noexcept {
        if (wrong_) return std::nullopt;
        auto t = *this;
        t.wrong_ = &wrong;
        return t;
    }
    /// A size was found that is not ours.
    bool differs() const noexcept { return wrong_ && wrong_->found; }
    /// Throws what was found.
    void tell() const {
        if (wrong_) wrong_->tell();
    }
    /// The ranks have shown their sizes, and what follows goes by messages.
    void go_by_messages(std::uint64_t shown) const noexcept {
        if (wrong_) wrong_->shown = shown;
    }

    rank me() const noexcept { return me_; }
    std::int32_t size() const noexcept { return who_->size(); }
    group const& who() const noexcept { return *who_; }
    channel<Stack> const& wire() const noexcept { return wire_; }
    meeting* where() const noexcept { return meeting_; }
    /// What a variable of the table says.
    template <text Name> std::size_t limit() const noexcept { return wire_.on().variables().template get<Name>(); }
    rooted_call const& call() const noexcept { return call_; }

    template <class Out> void send(std::int32_t to, speaker s, Out const& data) const {
        auto doubt = suspect();
        wire_.send(who_->world(to), call_.label(s), given(detail::read_from(data)), doubt);
        tell(doubt);
    }
    /// Exactly into.size() bytes.
    template <class In> void recv(std::int32_t from, speaker s, In const& into) const {
        auto const room = detail::written_to(into);
        auto doubt = suspect();
        auto const got = wire_.recv(who_->world(from), call_.label(s), room, doubt);
        tell(doubt);
        check(got, from, room.size());
    }
    template <class Out, class In>
    void exchange(std::int32_t to, Out const& data, std::int32_t from, In const& into, speaker s) const {
        auto const room = detail::written_to(into);
        auto doubt = suspect();
        auto const got =
            wire_.sendrecv(who_->world(to), given(detail::read_from(data)), who_->world(from), room, call_.label(s), doubt);
        tell(doubt);
        check(got, from, room.size());
    }
    /// All at once: nobody waits for somebody's turn. What does not leave at once leaves when all that is received is posted.
    void exchange_all(std::span<incoming const> in, std::span<outgoing const> out, speaker s) const {
        auto const label = call_.label(s);
        auto rest = out;
        if (call_.number == 0 && are_few(in))
            while (!rest.empty() && has_left(rest.front(), label)) rest = rest.subspan(1);
        if (rest.empty() && !out.empty()) return take_all(in, label);
        detail::under_way<Stack> all{wire_, label, in.size() + rest.size()};
        for (auto const& m : in) all.receive(m.from, who_->world(m.from), m.into);
        for (auto const& m : rest) all.send(m.to, who_->world(m.to), given(m.data));
        if (call_.number != 0) {
            auto doubt = suspect();
            all.wait(doubt);
            tell(doubt);
        }
        all.finish([this](outcome const& end, std::int32_t peer, std::size_t bytes) { check(end, peer, bytes); });
    }
    /// A word to one rank, which says nothing, and one from another. A send may have to wait for its receiver (a full wire, a
    /// throttled peer), so where everybody sends first, nobody may wait before it can be received from.
    void nod(std::int32_t to, std::int32_t from, speaker s) const {
        if (wire_.try_send(who_->world(to), call_.label(s), {})) [[likely]]
            return recv(from, s, sink{});
        exchange(to, source{}, from, sink{}, s);
    }
    /// What this rank sends to itself.
    void keep(source const& mine, sink const& into) const {
        check({{}, {}, mine.size(), status::ok}, me_, into.size());
        move(mine, into);
    }
    /// Is what a rank brought as long as it should be?
    bool fits(std::uint64_t came, std::size_t expected, std::int32_t from) const {
        check({{}, {}, static_cast<std::size_t>(came), status::ok}, from, expected);
        return came == expected;
    }
    template <class Out, class In> void move(Out const& from, In const& into) const {
        if (differs()) [[unlikely]]
            return;
        copy(detail::read_from(from), detail::written_to(into));
    }
    void combine(combiner f, void* what, std::byte const* left, std::byte* right, std::size_t n, bool = false) const {
        if (differs()) [[unlikely]]
            return;
        f(what, left, right, n);
    }
    /// Waits until come() says that a rank has shown what is no message, of so many bytes; others are served meanwhile.
    template <class Come> void await(std::int32_t from, speaker s, std::size_t size, Come const& come) const {
        auto& lane = wire_.on();
        auto const looks = std::min(lane.looks(), most_looks);
        for (std::uint32_t i = 1; i <= looks; ++i) {
            if (come()) [[likely]]
                return;
            if (i % 256 == 0) lane.enter([&](auto&) { lane.step(); });
        }
        for (std::uint32_t i = 0; i < few_yields && lane.facts().scarce && lane.may_yield(); ++i) {
            lane.give_way();
            if (come()) return;
        }
        auto doubt = suspect();
        lane.wait({wait_for::receive, wire_.context(), who_->world(from), call_.label(s), size},
                  [&](auto&) { return come() || doubt(); });
        tell(doubt);
    }
    scratch memory(std::size_t n) const { return scratch{n}; }
    template <class T> T const& lasting(T const& object) const noexcept { return object; }

private:
    static constexpr std::uint32_t most_looks = 4096; // without asking whether the job goes on
    // Where CPUs are scarce, before the wires are looked at: whom we wait for has mostly come when our turn comes again.
    // origin: barrier of 3, 4 and 8 PEs on two cores in 1.34, 2.6 and 5.9 us, without these yields in 1.54, 2.8 and 6.9
    static constexpr std::uint32_t few_yields = 3;
    suspicion<lane<Stack>> suspect() const noexcept {
        shown_calls shown;
        if (wrong_ && wrong_->shown && meeting_)
            shown = {meeting_->room.get(), meeting_->shown_by, {*wrong_->shown, shown_calls::word_of(call_.what, call_.root)}};
        return {wire_.on(), *who_, wire_.context(), call_, shown, differs()};
    }
    void tell(suspicion<lane<Stack>> const& doubt) const {
        doubt.tell(me_);
        if (doubt.is_in_vain()) [[unlikely]]
            wrong_->tell();
    }
    static constexpr std::size_t few_messages = 8; // are received one after the other
    static bool are_few(std::span<incoming const> in) noexcept {
        auto const is_short = [](incoming const& m) { // needs no offer
            return m.into.size() + sizeof(protocol::wire::e0) <= Stack::route_type::max_stretch;
        };
        return in.size() <= few_messages && std::ranges::all_of(in, is_short);
    }
    bool has_left(outgoing const& m, tag label) const {
        auto const bytes = given(m.data).contiguous();
        return bytes && wire_.try_send(who_->world(m.to), label, *bytes);
    }
    /// All of them come, also where one has another size: what nobody takes would meet the next collective.
    void take_all(std::span<incoming const> in, tag label) const {
        std::array<outcome, few_messages> ends;
        for (std::size_t i = 0; i < in.size(); ++i) ends[i] = wire_.recv(who_->world(in[i].from), label, in[i].into);
        for (std::size_t i = 0; i < in.size(); ++i) check(ends[i], in[i].from, in[i].into.size());
    }
    source given(source const& data) const noexcept { return differs() ? wrong_->spoilt(data.size()) : data; }
    void check(outcome const& got, std::int32_t from, std::size_t expected) const {
        if (detail::has_come(got, from, expected)) [[likely]]
            return;
        if (!wrong_) detail::sizes_differ(got.bytes, expected, from);
        wrong_->note(got.bytes, expected, from);
    }
};

/// Runs an algorithm to its end, also where a size is found that is not ours; which is thrown then.
template <team_type Team, class Algorithm> void to_the_end(Team const& t, Algorithm const& algorithm) { algorithm(t); }
template <class Stack, class Algorithm> void to_the_end(team<Stack> const& t, Algorithm const& algorithm) {
    detail::mismatch wrong;
    auto const going_on = t.going_on(wrong);
    algorithm(going_on ? *going_on : t);
    wrong.tell();
}

} // namespace mpt::inline v0::coll
