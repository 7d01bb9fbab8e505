/// coll/direct - large pieces that ranks copy by themselves, out of another's memory or into it: nothing is between, and nobody is asked.
///
///        round 1    who has pieces, or room for them, shows where         alltoall: all show, and see all
///        copies     by loads, or by the kernel (transport/smp/copy.hpp)   scatter: the root shows, the others read. gather: they write
///        round 2    each shows that it is through, or could not           the root, or all, see that
///
///   In place of messages, whose ranks wait for each other with every piece: here two rounds are all, and who has a CPU copies.
///
///   Refused   Pieces that lie scattered, a kernel that does not let a rank reach another, MPT_SINGLE_COPY=off: what all have seen goes by
///             the other ways (coll/together.hpp); of a scatter or a gather, messages of the root or to it bring the pieces of those
///             alone that could not.
///   Size      MPT_NODE_DIRECT; of scatters above MPT_NODE_PIECE. Alltoalls that go at once by messages, from twice as much. Where a root's
///             pieces are few, it is as fast by itself: scatters of two ranks from twice as much, gathers of three and four from four times
///             as much. Alltoalls and gathers of two ranks, and allgathers, are faster by chunks.
///             origin: so / by messages, us, AMD EPYC, Zen 4, two CPUs: alltoall 8 ranks, 64 KiB 250 / 183, 128 KiB 566 / 539, 256 KiB
///             1990 / 2580; 4 ranks, 64 KiB 53 / 52, 128 KiB 91 / 95, 256 KiB 165 / 300. scatter 8 ranks, 64 KiB 64 / 36, 128 KiB
///             106 / 443. gather 8 ranks, 256 KiB 174 / 313
///   Source    MPI-4.1 chapter 6.    Tests  test/coll_direct_test.cpp
#pragma once
#include <algorithm>
#include <exception>
#include <vector>

#include <mpt/coll/together.hpp>
#include <mpt/transport/smp/copy.hpp>

namespace mpt::inline v0::coll::detail {

/// What a rank shows.
struct shown_pieces {
    remote_memory whole{};
    std::int64_t first = 0, step = 0; // rank r's piece begins at first + r * step in it
    std::uint64_t good = 0; // first: there it is, and, where all read, this rank reaches all others. Then: this rank is through
};
static_assert(sizeof(shown_pieces) <= rounds<>::room);

/// How this rank reaches the memory of all others: asked for once.
template <class Stack> std::span<smp::reach> ways_of(team<Stack> const& t, node_room<typename Stack::world_type>& room) {
    auto& ways = room.ways();
    if (!ways.empty()) [[likely]]
        return ways;
    smp::reach none;
    none.cma = leave::refused;
    ways.assign(static_cast<std::size_t>(t.size()), none);
    for (std::int32_t q = 0; q < t.size(); ++q) {
        auto const world = t.who().world(q);
        if (q == t.me()) continue;
        t.wire().on().enter([&](auto& engine) {
            auto const at = engine.wires().pick(world);
            if (at == engine.wires().none) return;
            engine.wires().with(at, [&]<class E>(E& wire) {
                if constexpr (requires { wire.reach_of(world); })
                    ways[static_cast<std::size_t>(q)] = wire.reach_of(world).value_or(none);
            });
        });
    }
    return ways;
}

template <class Stack> class direct {
    using room_type = node_room<typename Stack::world_type>;
    team<Stack> const& t_;
    room_type* room_;
    speaker s_;
    std::size_t size_, least_;
    std::int32_t whose_ = 0; // of the first copy that went wrong
    status wrong_ = status::ok;
    bool said_yes_ = false, own_is_bad_ = false, own_is_written_ = false;

public:
    /// size: of a piece. Is it nothing, the collective goes another way; on all ranks.
    direct(team<Stack> const& t, speaker s, std::size_t size, std::size_t least)
        : t_{t}, room_{nullptr}, s_{s}, size_{size}, least_{least} {
        auto const most = t.template limit<"MPT_NODE_MAX">() / static_cast<std::size_t>(t.size());
        if (size >= least && size <= most && !t.differs()) room_ = room_type::there(t, s);
    }
    explicit operator bool() const noexcept { return room_ != nullptr; }

    /// Shows where this rank's pieces lie, which are of one size and equally far from each other; if not, that they cannot be had.
    template <class Piece> void offer(by_rank<Piece> pieces) {
        shown_pieces o;
        auto const at = [&](std::int32_t r) -> std::byte const* {
            Piece const p = pieces(r);
            return p.is_contiguous() && p.size() == size_ ? p.data() : nullptr;
        };
        auto const n = t_.size();
        auto const* const first = at(0);
        auto const* const second = at(1);
        bool even = first && second;
        for (std::int32_t r = 2; even && r < n; ++r) even = at(r) == first + r * (second - first);
        if (even) {
            o.step = second - first;
            auto const* const lowest = std::min(first, first + (n - 1) * o.step);
            o.first = first - lowest;
            o.whole = seen_by_others(lowest, static_cast<std::size_t>(std::abs(o.step) * (n - 1)) + size_);
        }
        show(o);
    }
    /// Nothing of one's own.
    void offer_nothing() { show({}); }

    /// Of a scatter or a gather: throws where the root's size is another one, and shows as many rounds as the root does.
    void see_root(std::int32_t root) {
        try {
            see(root);
        } catch (...) {
            if (auto const shown = room_->size_of(root); shown >= least_ && (shown & detail::list_mark) == 0) end(true);
            throw;
        }
    }
    void see(std::int32_t q) { room_->see(t_, q, s_, size_); }
    template <class Use> void see_all(Use const& use) { room_->see_all(t_, s_, size_, use); }
    /// In the last round: that there is something to be copied; that its copies are done.
    bool says_yes(std::int32_t q) const noexcept { return of(q).good != 0; }
    /// The same of this rank.
    bool said_yes() const noexcept { return said_yes_; }

    /// A piece of rank q's for rank `whose`. False: q is not reached.
    bool read(std::int32_t q, std::int32_t whose, sink const& into) {
        auto const o = of(q);
        return in_parts(into, [&](std::byte* p, std::size_t at, std::size_t n) {
            return note(q, way_to(q).read(p, o.whole, place(o, whose) + at, n), p, n, true);
        });
    }
    bool write(std::int32_t q, std::int32_t whose, source const& from) {
        auto const o = of(q);
        return in_parts(from, [&](std::byte* p, std::size_t at, std::size_t n) {
            return note(q, way_to(q).write(o.whole, place(o, whose) + at, p, n), p, n, false);
        });
    }

    /// This rank's copies are done, or what could not be is to be done otherwise.
    void end(bool done) {
        shown_pieces o;
        o.good = done;
        write_down(o);
    }
    /// Throws what went wrong with a copy.
    void check() const {
        if (wrong_ == status::ok) [[likely]]
            return;
        if (own_is_bad_)
            throw error{errc::buffer, "mpt: a collective's " + std::to_string(size_) +
                                          " bytes here are not mapped, or cannot be " + (own_is_written_ ? "written" : "read")};
        throw error{errc::system,
                    "mpt: a collective's data of rank " + std::to_string(whose_) + ": " + std::string{to_string(wrong_)}};
    }

private:
    void write_down(shown_pieces const& o) {
        said_yes_ = o.good != 0;
        std::memcpy(room_->begin(t_, s_), &o, sizeof o);
        room_->show(t_, s_, size_);
    }
    shown_pieces of(std::int32_t q) const noexcept {
        shown_pieces o;
        std::memcpy(&o, room_->of(q, room_type::shelf::entry), sizeof o);
        return o;
    }
    smp::reach& way_to(std::int32_t q) { return ways_of(t_, *room_)[static_cast<std::size_t>(q)]; }
    static std::uint64_t place(shown_pieces const& o, std::int32_t whose) noexcept {
        return static_cast<std::uint64_t>(o.first + whose * o.step);
    }
    remote_memory seen_by_others(std::byte const* p, std::size_t n) const {
        auto const& heap = t_.wire().on().parts()->heap();
        if (heap.contains(p, n)) return {heap.refer(p).offset, n, 1, 0};
        return {reinterpret_cast<std::uintptr_t>(p), n, 0, 0};
    }
    void show(shown_pieces o) {
        o.good = o.whole.size != 0 && t_.template limit<"MPT_SINGLE_COPY">() != 0 &&
                 (s_ != speaker::alltoall || reaches_all(o.whole));
        write_down(o);
    }
    /// As far as is known; the others' memory is taken to lie where ours does.
    bool reaches_all(remote_memory const& like) {
        auto const ways = ways_of(t_, *room_);
        for (std::int32_t q = 0; q < t_.size(); ++q)
            if (q != t_.me() && !ways[static_cast<std::size_t>(q)].reaches(like)) return false;
        return true;
    }
    /// f(bytes of this rank, offset, how many): all at once, or through memory where they lie scattered.
    template <class Data, class F> bool in_parts(Data const& data, F const& f) {
        if (data.is_contiguous()) return f(const_cast<std::byte*>(static_cast<std::byte const*>(data.data())), 0, data.size());
        constexpr std::size_t most = 64_KiB;
        auto const aside = t_.memory(std::min(most, data.size()));
        for (std::size_t at = 0, n = 0; at < data.size(); at += n) {
            n = std::min(most, data.size() - at);
            if constexpr (std::same_as<Data, source>) data.read(at, aside.part(0, n));
            if (!f(aside.data(), at, n)) return false;
            if constexpr (std::same_as<Data, sink>) data.write(at, aside.part(0, n));
        }
        return true;
    }
    bool note(std::int32_t q, status s, std::byte* own, std::size_t n, bool writes) {
        if (s == status::ok) [[likely]]
            return true;
        if (s == status::refused) return false;
        if (wrong_ == status::ok) {
            wrong_ = s, whose_ = q, own_is_written_ = writes;
            own_is_bad_ = s == status::bad_address && !smp::is_there(own, n, writes);
        }
        return true;
    }
};

/// Pieces of one size, of `least` bytes and more; this rank's to itself is not moved. False: some ranks cannot read others, as all have seen.
template <class Stack>
bool alltoall_directly(team<Stack> const& t, std::size_t size, std::size_t least, by_rank<source> mine, by_rank<sink> all) {
    if (t.size() == 2) return false;
    direct<Stack> d{t, speaker::alltoall, size, least};
    if (!d) return false;
    d.offer(mine);
    bool every = d.said_yes();
    d.see_all([&](std::int32_t q) { every = every && d.says_yes(q); });
    if (!every) return false;
    for (std::int32_t k = 1; k < t.size() && every; ++k) {
        auto const q = (t.me() + k) % t.size();
        every = d.read(q, t.me(), all(q));
    }
    d.end(every);
    d.see_all([&](std::int32_t q) { every = every && d.says_yes(q); });
    d.check();
    return every;
}

/// What a rank that is not the root does: copy() its piece once it has seen the root's. False: it could not.
template <class D, class Copy> bool at_leaf(D& d, std::int32_t root, Copy const& copy) {
    d.offer_nothing();
    d.see_root(root);
    bool const done = d.says_yes(root) && copy();
    d.end(done);
    d.check();
    return done;
}
/// And the root: otherwise(q) for who could not. All are through before anything that is wrong is thrown: they are in its memory.
template <class D, class Otherwise> void at_root(D& d, std::int32_t root, std::int32_t n, Otherwise const& otherwise) {
    std::exception_ptr wrong;
    std::vector<bool> takes_part(static_cast<std::size_t>(n));
    auto const each = [&](bool were_there, auto const& f) {
        for (std::int32_t q = 0; q < n; ++q) {
            auto const part = takes_part[static_cast<std::size_t>(q)];
            if (q == root || part != were_there) continue;
            try {
                f(q);
                takes_part[static_cast<std::size_t>(q)] = true;
            } catch (...) {
                if (!wrong) wrong = std::current_exception();
            }
        }
    };
    each(false, [&](std::int32_t q) { d.see(q); });
    d.end(true);
    each(true, [&](std::int32_t q) {
        d.see(q);
        if (!d.says_yes(q)) otherwise(q);
    });
    if (wrong) std::rethrow_exception(wrong);
}

/// mine: what another rank than the root gets. all: asked for at the root.
template <class Stack> bool scatter_directly(team<Stack> const& t, by_rank<source> all, std::optional<sink> const& mine,
                                             std::size_t size, std::int32_t root) {
    auto const by_memory = t.template limit<"MPT_NODE_PIECE">(), least = t.template limit<"MPT_NODE_DIRECT">();
    direct<Stack> d{t, speaker::scatter, size, std::max(by_memory + 1, t.size() == 2 ? 2 * least : least)};
    if (!d) return false;
    if (t.me() == root) {
        d.offer(all);
        at_root(d, root, t.size(), [&](std::int32_t q) { t.send(q, speaker::scatter, all(q)); });
    } else if (!at_leaf(d, root, [&] { return d.read(root, t.me(), *mine); })) t.recv(root, speaker::scatter, *mine);
    return true;
}
/// mine: what another rank than the root brings. all: asked for at the root.
template <class Stack> bool gather_directly(team<Stack> const& t, std::optional<source> const& mine, by_rank<sink> all,
                                            std::size_t size, std::int32_t root) {
    if (t.size() == 2) return false;
    direct<Stack> d{t, speaker::gather, size, t.template limit<"MPT_NODE_DIRECT">() * (t.size() <= 4 ? 4 : 1)};
    if (!d) return false;
    if (t.me() == root) {
        d.offer(all);
        at_root(d, root, t.size(), [&](std::int32_t q) { t.recv(q, speaker::gather, all(q)); });
    } else if (!at_leaf(d, root, [&] { return d.write(root, t.me(), *mine); })) t.send(root, speaker::gather, *mine);
    return true;
}

} // namespace mpt::inline v0::coll::detail
