// A transport of one's own, in fifty lines: ranks are threads, and from each rank to each other goes a ring of frames under a
// mutex. It lends no buffers and reads no memory, so the protocols cut long messages into frames; everything works over it.
// What it must keep: the table in mpt/transport/transport.hpp. What to do next: docs/adding-a-transport.md.
#pragma once
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include <mpt/core/error.hpp>
#include <mpt/transport/transport.hpp>
#include <mpt/wait/doorbell.hpp>

struct my_transport {
    // 1. What it is, and what protocols may know of it. `ordered`: frames of a pair arrive as room for them was reserved.
    using kind = mpt::kind::transport;
    static constexpr std::string_view name = "mine";
    static constexpr mpt::transport_facts facts{.max_frame = mpt::bytes{1024}, .ordered = true};
    enum class stage : std::uint8_t { open, ready, dropped };
    struct slot {
        stage at;
        std::uint16_t op;
        std::size_t size;
        std::array<std::byte, facts.max_frame> data;
    };
    struct ring {
        std::mutex lock;
        std::size_t head = 0, tail = 0;
        std::array<slot, 16> slots;
    };

    template <class World> class endpoint {
        using bell_type = mpt::wait::doorbell<World>; // what a peer rings when this rank may sleep

    public:
        // 2. What peers need to reach us. It is published for us; threads share the process, so pointers will do.
        struct address {
            ring* from; // one for each rank that may send
            bell_type* bell;
        };
        explicit endpoint(mpt::lane_context<World> const& c) : c_{c}, mine_{make<ring>(c.job.size()), make<bell_type>(1)} {}
        address local() const noexcept { return mine_; }
        bool reaches(mpt::rank p) const noexcept { return p >= 0 && p < c_.job.size(); }

        // 3. Room for one frame: it moves, and one that dies uncommitted is skipped, so that nobody waits for it.
        class cell {
            friend endpoint;
            endpoint* end_ = nullptr;
            mpt::rank to_{};
            slot* slot_ = nullptr;
            cell(endpoint* e, mpt::rank to, slot* s) noexcept : end_{e}, to_{to}, slot_{s} {}

        public:
            cell() = default;
            cell(cell&& o) noexcept : end_{o.end_}, to_{o.to_}, slot_{std::exchange(o.slot_, nullptr)} {}
            ~cell() {
                if (slot_) end_->finish(*this, stage::dropped);
            }
            cell& operator=(cell&& o) noexcept {
                return std::swap(end_, o.end_), std::swap(to_, o.to_), std::swap(slot_, o.slot_), *this;
            }
            explicit operator bool() const noexcept { return slot_ != nullptr; }
            std::span<std::byte> payload() noexcept { return {slot_->data.data(), slot_->size}; }
        };

        // 4. Sending. No room is no error and no reason to wait: an empty cell says "again".
        cell reserve(mpt::rank p, std::size_t n) noexcept {
            if (!reaches(p) || n > facts.max_frame) return {};
            ring& r = of(p).from[c_.job.me()];
            std::scoped_lock const hold{r.lock};
            if (r.head - r.tail == r.slots.size()) return {};
            slot& s = r.slots[r.head++ % r.slots.size()];
            s.at = stage::open, s.size = n;
            return {this, p, &s};
        }
        void commit(cell c, std::uint16_t op) noexcept { c.slot_->op = op, finish(c, stage::ready); }

        // 5. Receiving. The sink may itself send, so no lock is held while it runs; the slot is free when it has returned.
        template <class Sink> std::size_t poll_from(mpt::rank p, Sink&& sink) noexcept {
            slot const* s = first(mine_.from[p]);
            if (!s) return 0;
            sink(mpt::frame{p, s->op, {s->data.data(), s->size}});
            std::scoped_lock const hold{mine_.from[p].lock};
            return ++mine_.from[p].tail, 1;
        }
        template <class Sink> std::size_t poll(Sink&& sink, std::size_t budget) noexcept {
            std::size_t handed = 0; // everybody has their turn: we go on where we stopped
            for (int empty = 0; handed < budget && empty < c_.job.size(); next_ = (next_ + 1) % c_.job.size())
                if (poll_from(next_, sink)) ++handed, empty = 0;
                else ++empty;
            return handed;
        }

        // 6. Nothing is held back, there is nothing to poll() on, and this is our bell.
        bool flush() noexcept { return true; }
        std::span<int const> descriptors() const noexcept { return {}; }
        bell_type& bell() noexcept { return *mine_.bell; }

    private:
        /// Memory that peers touch lies in this rank's slice: it outlives us, should we die of an exception while they send.
        template <class T> T* make(std::int32_t n) {
            auto const room = c_.heap.extent(static_cast<std::size_t>(n) * sizeof(T));
            if (room.empty()) throw mpt::error{mpt::errc::no_memory, "my_transport: no room for the rings"};
            return new (room.data()) T[static_cast<std::size_t>(n)]{};
        }
        address of(mpt::rank p) noexcept {
            address a;
            return std::memcpy(&a, c_.job.address(p, c_.slot, c_.lane).data(), sizeof a), a;
        }
        static slot const* first(ring& r) noexcept {
            std::scoped_lock const hold{r.lock};
            while (r.tail != r.head && r.slots[r.tail % r.slots.size()].at == stage::dropped) ++r.tail;
            slot const& s = r.slots[r.tail % r.slots.size()];
            return r.tail != r.head && s.at == stage::ready ? &s : nullptr;
        }
        void finish(cell& c, stage at) noexcept {
            auto const peer = of(c.to_);
            {
                std::scoped_lock const hold{peer.from[c_.job.me()].lock};
                std::exchange(c.slot_, nullptr)->at = at;
            }
            peer.bell->ring(c_.world, c_.job.fences()); // after what it is rung for
        }
        mpt::lane_context<World> c_;
        address mine_;
        std::int32_t next_ = 0;
    };
};
