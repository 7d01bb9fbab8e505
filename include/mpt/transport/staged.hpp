/// transport::staged<Wire> - a whole endpoint made of a wire that can do two things: put a frame, take a frame.
///
///        reserve --> slot --> commit --> slots of the peer, in order --> wire.put (true: it has it) ...... wire.take --> sink
///                                             `-- no room: kept, and offered again by every poll and flush
///
///   What the contract of an endpoint asks beyond the wire is here: cells that move, that may be open at once and still leave
///   in the order of reserve(), that may be abandoned; a full wire that recovers; polls that give every peer its turn.
///
///   expression              returns    meaning
///   W{lane_context}         -          makes what peers write into; throws mpt::error(no_memory)
///   w.local()               address    what peers need to reach us: trivially copyable
///   w.reaches(p)            bool       final
///   w.put(p, op, bytes)     bool       the frame is on its way, whole; false: no room now, nothing happened
///   w.take(p, sink)         bool       the next frame of p was handed to sink(frame), which may put; false: there is none
///   w.bell()                doorbell&  (may be missing) what a peer rings that has put, or made room, while we may sleep
///
///   Memory   `depth` frames per peer that was ever sent to, private.
///   Cost     one copy more than a transport that writes in place, and no pretence of speed: for a first transport, and tests.
///   Tests    test/transport_staged_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <mpt/transport/transport.hpp>

namespace mpt::inline v0::transport {

/// Frame: the largest frame that the wire takes.
template <class Wire, bytes Frame> class staged {
    enum class stage : std::uint8_t { open, ready, dropped };
    static constexpr std::uint32_t depth = 16;
    struct slot {
        stage at = stage::open;
        std::uint16_t op = 0;
        std::size_t size = 0;
        alignas(16) std::array<std::byte, Frame> data{};
    };
    struct queue {
        std::uint32_t head = 0, tail = 0;
        std::array<slot, depth> slots;
    };

    Wire wire_;
    std::vector<std::unique_ptr<queue>> to_;
    std::size_t next_ = 0; // who is polled next
    bool held_ = false;    // some peer's slots hold what the wire has not got

public:
    using address = typename Wire::address;

    class cell {
        friend staged;
        staged* end_ = nullptr;
        slot* slot_ = nullptr;
        rank to_{};
        cell(staged* e, slot* s, rank to) noexcept : end_{e}, slot_{s}, to_{to} {}

    public:
        cell() = default;
        cell(cell&& o) noexcept : end_{o.end_}, slot_{std::exchange(o.slot_, nullptr)}, to_{o.to_} {}
        cell& operator=(cell&& o) noexcept {
            return std::swap(end_, o.end_), std::swap(slot_, o.slot_), std::swap(to_, o.to_), *this;
        }
        ~cell() {
            if (slot_) end_->close(*this, stage::dropped);
        }
        explicit operator bool() const noexcept { return slot_ != nullptr; }
        std::span<std::byte> payload() noexcept { return {slot_->data.data(), slot_->size}; }
    };

    template <class World> explicit staged(lane_context<World> const& c)
        : wire_{c}, to_(static_cast<std::size_t>(c.job.size())) {}

    Wire& wire() noexcept { return wire_; }
    address local() noexcept { return wire_.local(); }
    bool reaches(rank p) noexcept { return p >= 0 && static_cast<std::size_t>(p) < to_.size() && wire_.reaches(p); }

    cell reserve(rank p, std::size_t n) noexcept {
        if (n > Frame || !reaches(p)) return {};
        auto& made = to_[static_cast<std::size_t>(p)];
        if (!made) made.reset(new (std::nothrow) queue);
        if (!made || (made->head - made->tail == depth && !offer(p))) return {};
        auto& s = made->slots[made->head++ % depth];
        s.at = stage::open;
        s.size = n;
        return {this, &s, p};
    }
    void commit(cell c, std::uint16_t op) noexcept {
        c.slot_->op = op;
        close(c, stage::ready);
    }

    template <class Sink> std::size_t poll(Sink&& sink, std::size_t budget) noexcept {
        if (held_) flush();
        std::size_t handed = 0;
        for (std::size_t empty = 0; handed < budget && empty < to_.size(); next_ = (next_ + 1) % to_.size())
            if (poll_from(rank{next_}, sink) != 0) ++handed, empty = 0;
            else ++empty;
        return handed;
    }
    template <class Sink> std::size_t poll_from(rank p, Sink&& sink) noexcept { return wire_.take(p, sink) ? 1 : 0; }

    bool flush() noexcept {
        held_ = false;
        for (std::size_t p = 0; p < to_.size(); ++p)
            if (to_[p]) offer(rank{p});
        return !held_;
    }
    std::span<int const> descriptors() const noexcept { return {}; }
    auto& bell() noexcept
        requires requires(Wire& w) { w.bell(); }
    {
        return wire_.bell();
    }

private:
    void close(cell& c, stage how) noexcept {
        std::exchange(c.slot_, nullptr)->at = how;
        offer(c.to_);
    }
    /// Gives the wire what it takes of a peer's frames, in order. True: a slot is free.
    bool offer(rank p) noexcept {
        auto& q = *to_[static_cast<std::size_t>(p)];
        for (; q.tail != q.head; ++q.tail) {
            auto const& s = q.slots[q.tail % depth];
            if (s.at == stage::open) break;
            if (s.at == stage::ready && !wire_.put(p, s.op, {s.data.data(), s.size})) break;
        }
        held_ = held_ || q.tail != q.head;
        return q.head - q.tail != depth;
    }
};

} // namespace mpt::inline v0::transport
