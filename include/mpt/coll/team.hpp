/// coll/team - what an algorithm over more than two ranks works with: a channel, and who is who.
///
///   Ranks are the group's; messages travel in the collective context, so they never meet point-to-point traffic. All ranks
///   call the collectives of one communicator in the same order (MPI-4.1 section 6.1): messages of a pair then match in
///   order, and the tag only says which algorithm speaks, and in a collective with a root which one and for which root
///   (coll/rooted.hpp). Data are cursors: contiguous bytes, or any layout.
///
///   Sizes    a message that is not as long as its receiver expects means that the ranks do not call the same collective: an
///            mpt::error(truncate) that names both sizes. Empty pieces are sent too, so that this is seen.
///   Tests    test/coll_team_test.cpp
#pragma once
#include <cstddef>
#include <span>

#include <mpt/coll/rooted.hpp>
#include <mpt/core/copy.hpp>
#include <mpt/stack/p2p.hpp>

namespace mpt::inline v0::coll {

template <class Stack> class team {
    channel<Stack> wire_;
    group const* who_;
    rank me_;
    std::uint32_t* calls_;
    rooted_call call_{};

public:
    using stack_type = Stack;

    /// rooted_calls: the communicator's count of its collectives with a root.
    team(channel<Stack> point_to_point, group const& who, rank me, std::uint32_t& rooted_calls) noexcept
        : wire_{point_to_point.collective()}, who_{&who}, me_{me}, calls_{&rooted_calls} {}
    /// This team in a collective in which all ranks name a root: the next one of the communicator.
    team rooted(speaker s, std::int32_t root) const noexcept {
        auto t = *this;
        t.call_ = {s, root, ++*calls_};
        wire_.on().calls_of(wire_.on().me()).note(wire_.context(), t.call_.word());
        return t;
    }

    rank me() const noexcept { return me_; }
    std::int32_t size() const noexcept { return who_->size(); }

    void send(std::int32_t to, speaker s, source const& data) const {
        auto doubt = suspect();
        wire_.send(who_->world(to), call_.label(s), data, doubt);
        doubt.tell(me_);
    }
    /// Exactly into.size() bytes.
    void recv(std::int32_t from, speaker s, sink const& into) const {
        auto doubt = suspect();
        auto const got = wire_.recv(who_->world(from), call_.label(s), into, doubt);
        doubt.tell(me_);
        check(got, from, into.size());
    }
    void exchange(std::int32_t to, source const& data, std::int32_t from, sink const& into, speaker s) const {
        auto doubt = suspect();
        auto const got = wire_.sendrecv(who_->world(to), data, who_->world(from), into, call_.label(s), doubt);
        doubt.tell(me_);
        check(got, from, into.size());
    }
    /// A word to one rank, which says nothing, and one from another. A send may have to wait for its receiver (a full wire, a
    /// throttled peer), so where everybody sends first, nobody may wait before it can be received from.
    void nod(std::int32_t to, std::int32_t from, speaker s) const {
        if (wire_.try_send(who_->world(to), call_.label(s), {})) [[likely]]
            return recv(from, s, {});
        exchange(to, {}, from, {}, s);
    }
    /// What this rank sends to itself.
    void keep(source const& mine, sink const& into) const {
        if (mine.size() != into.size()) [[unlikely]]
            differ(mine.size(), into.size(), me_);
        copy(mine, into);
    }

private:
    suspicion<lane<Stack>> suspect() const noexcept { return {wire_.on(), *who_, wire_.context(), call_}; }
    static void check(outcome const& got, std::int32_t from, std::size_t expected) {
        if (got.how == status::ok && got.bytes == expected) [[likely]]
            return;
        if (got.how != status::ok && got.how != status::truncated)
            throw error{got.how == status::no_memory ? errc::no_memory : errc::system,
                        "mpt: a collective's message from rank " + std::to_string(from) + ": " +
                            std::string{to_string(got.how)}};
        differ(got.bytes, expected, from);
    }
    [[noreturn, gnu::noinline]] static void differ(std::uint64_t came, std::size_t expected, std::int32_t from) {
        throw error{errc::truncate, "mpt: ranks called a collective with different sizes: " + std::to_string(came) +
                                        " bytes came where " + std::to_string(expected) + " were expected, from rank " +
                                        std::to_string(from)};
    }
};

} // namespace mpt::inline v0::coll
