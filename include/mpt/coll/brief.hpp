/// coll/brief - a collective of one round with few data, in a room that is there (coll/node.hpp).
///
///        begin, write, show        see(q): is what q shows there, and of our call and size?  --- yes ---> read
///                                     `--- no: meet(q), which waits, and throws where it is another one
///
///   Nothing is to be agreed on, and nobody need take more turns where sizes differ, so it is thrown at once (but for a gatherv, some of whose
///   pieces may come by messages).
///
///   Ahead     Who waits for nobody in a collective - the root of a broadcast, a rank that gathers from - may be some rounds ahead. Where what it
///             shows was there when we came, its next round may be there, too, and is asked for while this one's data are copied: the lines
///             of a round come late, the flag and then the data. When: node_room::look_ahead().
///             origin: AMD EPYC, Zen 4, two CPUs, ns without / so: broadcast of 8 bytes 44 / 38, of 256 71 / 57; gather of 8 bytes 58 / 46
///
///   Tests     test/coll_brief_test.cpp
#pragma once
#include <algorithm>

#include <mpt/coll/node.hpp>

namespace mpt::inline v0::coll::detail {

/// One call of it in a team's room. False: it is none of these, and nothing was done.
template <class Stack> class brief {
public:
    using room_type = node_room<typename Stack::world_type>;
    using shelf = typename room_type::shelf;

private:
    room_type* room_;
    team<Stack> const& t_;
    speaker s_;
    shelf on_;
    rooted_call call_{};
    std::size_t size_, most_;
    std::uint64_t word_ = 0;

public:
    static constexpr bool one_round = true;
    static constexpr std::int32_t no_root = -1;

    /// size: what all ranks call it with; most: bytes that a rank shows, up to `limit`, or it is none of these.
    brief(team<Stack> const& t, speaker s, std::size_t size, std::size_t most, std::int32_t root = no_root,
          std::size_t limit = room_type::piece) noexcept
        : room_{most <= limit && !t.differs() ? room_type::there(t, s) : nullptr}, t_{t}, s_{s},
          on_{room_type::shelf_for(std::min(most, room_type::piece))}, size_{size}, most_{std::max<std::size_t>(most, 1)} {
        if (!room_) return;
        if (root != no_root) {
            call_.what = s, call_.root = root;
            t.number(call_, room_->log());
        }
        word_ = shown_calls::word_of(s, call_.root);
    }
    brief(brief const&) = delete;
    explicit operator bool() const noexcept { return room_ != nullptr; }

    std::int32_t me() const noexcept { return t_.me(); }
    std::int32_t ranks() const noexcept { return t_.size(); }
    std::size_t most() const noexcept { return most_; }
    std::size_t stretch() const noexcept { return most_; }
    std::byte* begin(std::size_t bytes) { return begin(on_, std::max<std::size_t>(bytes, 1)); }
    std::byte* begin_stretch(std::size_t bytes) { return begin(bytes); }
    void show() noexcept { room_->show(word_, size_); }
    void show_nothing() {
        begin(shelf::entry, 0);
        show();
    }
    void see(std::int32_t q) const {
        if (!room_->is_shown(q, word_, size_)) [[unlikely]]
            meet(q);
    }
    /// see(), of a rank that does not wait for us in this call, from which bytes [skip, skip + n) are read: of its next call, where that is there
    /// already, they are under way then.
    void see_ahead(std::int32_t q, std::size_t skip, std::size_t n) const {
        if (!room_->is_shown(q, word_, size_)) [[unlikely]]
            return room_->nobody_is_ahead(), meet(q);
        room_->look_ahead(q, on_, skip, n);
    }
    void see_root(std::int32_t root) {
        if (!room_->is_shown(root, word_, size_)) [[unlikely]]
            return room_->nobody_is_ahead(), meet_root(root);
        room_->look_ahead(root, on_, 0, size_);
    }
    void see_all() {
        see_all([](std::int32_t) {});
    }
    template <class Use> void see_all(Use const& use) {
        room_->nobody_is_ahead();
        room_->each_other(t_, [&](std::int32_t q) {
            see(q);
            use(q);
        });
        room_->all_are_shown();
    }
    template <class Use> void see_all_ahead(std::size_t n, Use const& use) {
        room_->each_other(t_, [&](std::int32_t q) {
            see_ahead(q, 0, n);
            use(q);
        });
        room_->all_are_shown();
    }
    std::byte const* of(std::int32_t q) const noexcept { return room_->of(q, on_); }
    // Where each shows another size:
    /// 0: it is not there yet, or of another call.
    std::uint64_t shown_size(std::int32_t q) const noexcept { return room_->size_in(q, word_); }
    bool shows(std::int32_t q, std::size_t size) const noexcept { return room_->is_shown(q, word_, size); }
    template <class Team> std::uint64_t see_any(Team const& numbered, std::int32_t q) const {
        return room_->nobody_is_ahead(), room_->see_any(numbered, q, s_);
    }
    std::byte const* of(std::int32_t q, std::size_t size) const noexcept { return room_->of(q, room_type::shelf_for(size)); }
    void look_ahead(std::int32_t q, std::size_t size, std::size_t skip, std::size_t n) const noexcept {
        room_->look_ahead(q, room_type::shelf_for(std::min(size, room_type::piece)), skip, n);
    }
    void all_are_seen() noexcept { room_->all_are_shown(); }
    /// The team in this call, for messages.
    team<Stack> numbered() const noexcept { return t_.in(call_); }
    void write(std::byte* to, std::byte const* from, std::size_t n) noexcept {
        if (on_ == shelf::entry) copy_bytes(to, from, n);
        else room_->write(to, from, n);
    }
    void read(std::byte* to, std::byte const* from, std::size_t n) const noexcept { copy_ahead<false>(to, from, n); }

private:
    std::byte* begin(shelf on, std::size_t bytes) {
        if (auto const least = room_->take(on, bytes); least != 0) [[unlikely]]
            catch_up(least);
        return room_->taken(me(), on, bytes);
    }
    // What takes long: all that there is to know of the call is brought together here.
    [[gnu::noinline]] void catch_up(std::uint64_t least) { room_->catch_up(t_.in(call_), s_, least); }
    [[gnu::noinline]] void meet(std::int32_t q) const { room_->see(t_.in(call_), q, s_, size_); }
    [[gnu::noinline]] void meet_root(std::int32_t root) { room_->see_root(t_.in(call_), root, s_, size_); }
};

} // namespace mpt::inline v0::coll::detail
