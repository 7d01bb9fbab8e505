/// stack/partitioned - a message that leaves in parts, each when the sender says that it is ready, and comes in parts of the
/// receiver's own size. MPI-4.1 chapter 4.
///
///        sender, 3 parts      |    0    |    1    |    2    |         layout {3, bytes}, once;  part i with label i when ready(i)
///                                  \         |         /            in a context of this pair's own
///        receiver, 2 parts    |       0      |       1      |      arrived(0) <=> the sender's 0 and 1 are here
///
///   Each of the sender's parts is a message like any other, so it moves while others are not ready yet. Before the first of them the
///   receiver is told how many there are, and how long; then it has a receive posted for each, right in its place. Until then it is
///   a task that is parked, and a rank that waits sleeps.
///
///   Matching  the n-th send made to (communicator, receiver, tag) meets the n-th receive made from (communicator, sender, tag): both
///             sides count (pair_numbers), and the context follows from all of these.
///   Threads   ready() and arrived() by any number of threads at once.
///   Cost      a request for each of the sender's parts, on both sides, until the end of the round.
///   Limit     it must not move, and is not destroyed while it is active: wait() and collect(), or abandon() it, unless the job has ended.
///   Tests     test/stack_partitioned_test.cpp
#pragma once
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <mpt/core/hash.hpp>
#include <mpt/stack/p2p.hpp>

namespace mpt::inline v0 {

/// How many partitioned operations were made so far on a communicator, by direction, peer and tag. Guarded by its owner.
class pair_numbers {
    std::map<std::tuple<bool, std::int32_t, std::int32_t>, std::uint32_t> made_;

public:
    std::uint32_t next(bool sends, rank peer, tag label) { return made_[{sends, peer.value, label.value}]++; }
};

/// Where the parts of one pair travel: world ranks, the communicator's context and the number of the pair.
constexpr context_id pair_context(context_id c, rank sender, rank receiver, tag label, std::uint32_t number) noexcept {
    return drawn_context(
        hash_of("partitioned", static_cast<std::uint64_t>(c), sender.value, receiver.value, label.value, number));
}

/// `count` parts of `size` bytes each.
struct part_layout {
    std::uint64_t count = 0, size = 0;
    std::uint64_t bytes() const noexcept { return count * size; }
};

namespace detail {

/// A part of data of any layout.
template <class Whole> struct part_of {
    Whole whole;
    std::size_t first = 0, n = 0;

    std::size_t size() const noexcept { return n; }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept { whole.read(first + offset, into); }
    void write(std::size_t offset, std::span<std::byte const> from) const noexcept { whole.write(first + offset, from); }
    auto contiguous() const noexcept { return decltype(whole.contiguous()){}; }
};

/// What both sides are: the requests of the parts, and one that is complete when all of them are.
template <class Stack> class parts_under_way {
protected:
    using engine_type = typename Stack::engine_type;
    static constexpr tag greeting{std::numeric_limits<std::int32_t>::max()}; // no part has this number

    channel<Stack> wire_; // of the pair
    rank peer_;
    waiting about_;
    protocol::request* own_ = nullptr; // while it is active
    // Under the lane's lock:
    protocol::request* hello_ = nullptr;       // the message that tells the layout
    std::vector<protocol::request*> children_; // by part; null: not started
    std::size_t missing_ = 0;                  // of what is not complete yet, and one while parts are started
    bool stopping_ = false;
    status how_ = status::ok;

    parts_under_way(channel<Stack> const& pair, rank peer, waiting const& about) : wire_{pair}, peer_{peer}, about_{about} {
        wire_.reach(peer);
    }

public:
    parts_under_way(parts_under_way const&) = delete;
    parts_under_way& operator=(parts_under_way const&) = delete;

    bool is_active() const noexcept { return own_ != nullptr; }
    lane<Stack>& home() const noexcept { return wire_.on(); }
    waiting about() const noexcept { return about_; }
    /// How the round went, once it is complete: the first failure of a part.
    status how() const noexcept { return how_; }

    /// One round of progress; true: complete.
    bool test() const { return !own_ || wire_.test(*own_); }
    /// The same without progress, by a thread that holds the lock of the lane `locked`.
    bool peek(lane<Stack> const& locked) const noexcept {
        if (!own_) return true;
        return &locked == &home() ? own_->complete : home().peek(*own_);
    }
    void wait() {
        if (own_) home().wait(*own_, about_);
    }
    /// It is complete, and inactive from here on.
    void collect() {
        if (!own_) return;
        home().enter([this](engine_type& e) {
            for (auto* r : children_)
                if (r) e.drop(*r);
            if (hello_) e.drop(*hello_);
            e.drop(*own_);
            children_.clear();
            hello_ = own_ = nullptr;
        });
    }
    /// Withdraws what can be withdrawn, and waits for the rest: the buffers are about to go.
    void abandon() {
        if (!own_) return;
        home().enter([this](engine_type& e) { stop(e); });
        home().wait(about_, [this](engine_type& e) {
            if (home().has_failed(peer_)) [[unlikely]]
                each([&](protocol::request& r) { e.forsake(r); });
            return own_->complete;
        });
        collect();
    }

protected:
    /// A round begins, in which `n` messages are awaited. Throws mpt::error(no_memory).
    void begin(engine_type& e, std::size_t n, bool greets) {
        auto* const own = fresh(e);
        if (greets && !(hello_ = e.make())) [[unlikely]] {
            e.drop(*own);
            home().no_request();
        }
        own_ = own;
        own_->kind = protocol::role::task;
        own_->at = protocol::phase::parked;
        missing_ = n;
        stopping_ = false;
        how_ = status::ok;
    }
    /// A request for a message of the pair's. Throws mpt::error(no_memory).
    protocol::request* fresh(engine_type& e) const {
        auto* const r = e.make();
        if (!r) [[unlikely]]
            home().no_request();
        return r;
    }
    void address(protocol::request& r, tag label, void (*completed)(protocol::request&) noexcept) noexcept {
        r.user = this;
        r.completed = completed;
        r.peer = peer_;
        r.wanted = {wire_.context(), peer_, label};
    }
    static void part_done(protocol::request& r) noexcept {
        auto& self = *static_cast<parts_under_way*>(r.user);
        if (self.how_ == status::ok) self.how_ = r.result.how;
        self.one_less();
    }
    void one_less() noexcept {
        if (--missing_ == 0) home().engine().finish(*own_, how_);
    }

private:
    template <class F> void each(F&& f) {
        if (hello_ && !hello_->complete) f(*hello_);
        for (auto* r : children_)
            if (r && !r->complete) f(*r);
    }
    /// Nothing new is started: what was not is awaited no more.
    void stop(engine_type& e) noexcept {
        if (own_->complete) return;
        stopping_ = true;
        ++missing_;
        each([&](protocol::request& r) { e.cancel(r); });
        missing_ -= static_cast<std::size_t>(std::count(children_.begin(), children_.end(), nullptr));
        one_less();
    }
};

} // namespace detail

/// The sending side. data: of `parts` equal parts; it outlives this, and so does what it refers to.
template <class Stack> class partitioned_send : public detail::parts_under_way<Stack> {
    using base = detail::parts_under_way<Stack>;
    using base::children_, base::hello_;
    using typename base::engine_type;

    source data_;
    part_layout layout_;
    std::vector<detail::part_of<source>> pieces_; // of data that are not contiguous
    bool told_ = false;

public:
    using base::home;

    /// pair: the communicator's lane, in pair_context(). about: what a wait tells of itself.
    partitioned_send(channel<Stack> const& pair, rank to, source data, std::uint64_t parts, waiting const& about)
        : base{pair, to, about}, data_{data}, layout_{parts, parts ? data.size() / parts : 0} {
        for (std::uint64_t i = 0; !data_.is_contiguous() && i < parts; ++i)
            pieces_.push_back({data_, i * layout_.size, layout_.size});
    }

    /// Not while it is active. Throws mpt::error(no_memory).
    void start() {
        children_.assign(layout_.count, nullptr);
        home().enter([this](engine_type& e) {
            this->begin(e, layout_.count + 1, !told_);
            if (!std::exchange(told_, true)) tell(e);
            this->one_less();
        });
    }
    /// Part i < count may leave: its bytes are not written before the round is complete. Throws where it was ready already.
    void ready(std::uint64_t i) {
        home().enter([&](engine_type& e) {
            if (children_[i]) [[unlikely]]
                throw error{errc::argument, "mpt: partition " + std::to_string(i) + " is ready already"};
            auto* const r = children_[i] = this->fresh(e);
            r->from = part(i);
            this->address(*r, tag{static_cast<std::int32_t>(i)}, &base::part_done);
            e.send(*r);
        });
    }

private:
    source part(std::uint64_t i) const noexcept {
        if (!data_.is_contiguous()) return source::of(pieces_[i]);
        return {data_.data() + i * layout_.size, layout_.size};
    }
    /// The layout, for all rounds.
    void tell(engine_type& e) {
        ++this->missing_;
        hello_->from = source{&layout_, sizeof layout_};
        this->address(*hello_, base::greeting, &base::part_done);
        e.send(*hello_);
    }
};

/// The receiving side. into: of `parts` equal parts of its own; it outlives this, and so does what it refers to.
template <class Stack> class partitioned_recv : public detail::parts_under_way<Stack> {
    using base = detail::parts_under_way<Stack>;
    using base::children_, base::hello_, base::own_, base::how_;
    using typename base::engine_type;

    sink into_;
    part_layout mine_, theirs_;
    std::vector<detail::part_of<sink>> pieces_; // of their size, where the room is not contiguous
    bool told_ = false;

public:
    using base::home;

    partitioned_recv(channel<Stack> const& pair, rank from, sink into, std::uint64_t parts, waiting const& about)
        : base{pair, from, about}, into_{into}, mine_{parts, parts ? into.size() / parts : 0} {}

    /// What the sender told, once a round is complete.
    part_layout const& theirs() const noexcept { return theirs_; }
    /// Does the sender send as many bytes as there is room for?
    bool fits() const noexcept { return theirs_.bytes() == into_.size(); }

    /// Not while it is active. Throws mpt::error(no_memory).
    void start() {
        home().enter([this](engine_type& e) {
            this->begin(e, 1, !told_);
            if (told_) post();
            else listen(e);
        });
    }
    /// Is part i < count here? Progress is made. An inactive one has all.
    bool arrived(std::uint64_t i) {
        bool const yes = home().enter([&](engine_type&) {
            if (!is_here(i)) home().step();
            return is_here(i);
        });
        if (!yes) home().go_on_polling();
        return yes;
    }

private:
    bool is_here(std::uint64_t i) const noexcept {
        if (!own_ || own_->complete) return true;
        if (children_.empty() || mine_.size == 0 || theirs_.size == 0) return false;
        auto const last = ((i + 1) * mine_.size - 1) / theirs_.size;
        for (auto k = i * mine_.size / theirs_.size; k <= last; ++k)
            if (k >= children_.size() || !children_[k]->complete) return false;
        return true;
    }
    /// For the layout, which makes this a task.
    void listen(engine_type& e) {
        own_->user = this;
        own_->advance = [](protocol::request& r) noexcept { return static_cast<partitioned_recv*>(r.user)->greeted(); };
        hello_->into = sink{&theirs_, sizeof theirs_};
        this->address(*hello_, base::greeting, [](protocol::request& hello) noexcept {
            auto& self = static_cast<partitioned_recv&>(*static_cast<base*>(hello.user));
            self.home().engine().start_task(*self.own_);
        });
        e.receive(*hello_);
        home().step();
    }
    bool greeted() noexcept {
        auto const how = hello_->result.how;
        told_ = how == status::ok;
        if (told_ && !this->stopping_) post();
        else fail(told_ ? status::cancelled : how);
        return true;
    }
    void fail(status how) noexcept {
        how_ = how;
        home().engine().finish(*own_, how);
    }
    /// A receive for each of their parts.
    void post() noexcept {
        auto& e = home().engine();
        try {
            children_.reserve(theirs_.count);
            if (!into_.is_contiguous()) pieces_.resize(theirs_.count);
        } catch (std::exception const&) { return fail(status::no_memory); }
        own_->at = protocol::phase::parked;
        this->missing_ = 1;
        for (std::uint64_t i = 0; i < theirs_.count; ++i) {
            auto* const r = e.make();
            if (!r) [[unlikely]] {
                how_ = status::no_memory;
                break;
            }
            children_.push_back(r);
            ++this->missing_;
            r->into = room(i);
            this->address(*r, tag{static_cast<std::int32_t>(i)}, &base::part_done);
            e.receive(*r);
        }
        this->one_less();
    }
    /// Where their part i goes: as much of it as there is room for.
    sink room(std::uint64_t i) noexcept {
        auto const first = std::min<std::uint64_t>(i * theirs_.size, into_.size());
        auto const n = std::min<std::uint64_t>(theirs_.size, into_.size() - first);
        if (into_.is_contiguous()) return {into_.data() + first, n};
        pieces_[i] = {into_, first, n};
        return sink::of(pieces_[i]);
    }
};

} // namespace mpt::inline v0
