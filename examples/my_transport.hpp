// A transport of one's own, in fifty lines: ranks are threads, and from each rank to each other goes a ring of frames under a
// mutex. It lends no buffers and reads no memory, so the protocols cut long messages into frames; everything works over it.
// transport::staged makes an endpoint of put and take; docs/adding-a-transport.md says how to go on without it.
#pragma once
#include <cstring>
#include <mutex>

#include <mpt/transport/staged.hpp>
#include <mpt/wait/doorbell.hpp>

struct my_transport {
    // 1. What it is, and what protocols may know of it. `ordered`: frames of a pair arrive as room for them was reserved.
    using kind = mpt::kind::transport;
    static constexpr std::string_view name = "mine";
    static constexpr mpt::transport_facts facts{.max_frame = mpt::bytes{1024}, .ordered = true};
    struct slot {
        std::uint16_t op;
        std::size_t size;
        std::array<std::byte, facts.max_frame> data;
    };
    struct ring {
        std::mutex lock;
        std::size_t head = 0, tail = 0;
        std::array<slot, 16> slots;
    };

    template <class World> class wire {
        using bell_type = mpt::wait::doorbell<World>; // what a peer rings when this rank may sleep

    public:
        // 2. What peers need to reach us. It is published for us; threads share the process, so pointers will do.
        struct address {
            ring* from; // one for each rank that may send
            bell_type* bell;
        };
        // It lies in this rank's slice: it outlives us, should we die of an exception while they send.
        explicit wire(mpt::lane_context<World> const& c) : c_{c} {
            mine_.from = c.heap.template make<ring>(static_cast<std::size_t>(c.job.size()), "rings").data();
            mine_.bell = c.heap.template make<bell_type>(1, "the bell").data();
        }
        address local() const noexcept { return mine_; }
        bool reaches(mpt::rank) const noexcept { return true; }
        bell_type& bell() const noexcept { return *mine_.bell; }

        // 3. Sending. No room is no error and no reason to wait: false says "again".
        bool put(mpt::rank p, std::uint16_t op, std::span<std::byte const> bytes) noexcept {
            ring& r = of(p).from[c_.job.me()];
            if (std::scoped_lock const hold{r.lock}; r.head - r.tail == r.slots.size()) return false;
            slot& s = r.slots[r.head % r.slots.size()]; // free, and we alone fill slots of this ring
            s.op = op, s.size = bytes.size(), std::memcpy(s.data.data(), bytes.data(), bytes.size());
            return moved(p, r, r.head);
        }
        // 4. Receiving. The sink may itself send, so no lock is held while it runs; the slot is free when it has returned.
        template <class Sink> bool take(mpt::rank p, Sink& sink) noexcept {
            ring& r = mine_.from[p];
            if (std::scoped_lock const hold{r.lock}; r.head == r.tail) return false;
            slot const& s = r.slots[r.tail % r.slots.size()];
            sink(mpt::frame{p, s.op, {s.data.data(), s.size}});
            return moved(p, r, r.tail);
        }

    private:
        address of(mpt::rank p) noexcept { return *c_.template address_of<address>(p); }
        /// A frame went in, or came out: count it, and wake whoever sleeps over the lack of a frame, or of room.
        bool moved(mpt::rank p, ring& r, std::size_t& count) noexcept {
            std::unique_lock{r.lock}, ++count;
            of(p).bell->ring(c_.world, c_.job.fences());
            return true;
        }
        mpt::lane_context<World> c_;
        address mine_{};
    };
    template <class World> using endpoint = mpt::transport::staged<wire<World>, facts.max_frame>;
};
