/// transport::stream - byte streams between the ranks of one host, and no remote memory at all.
///
///        sender                                   kernel                      receiver
///        reserve: room in the peer's outlet                                   poll: epoll, read what is there
///          '--> commit: header, ready ----> one write of all that is ready --->  '--> inlet: whole frames, in order
///          '--> cell dies: taken back, or padding
///
///        one connection per (sender, receiver, lane), used in one direction: the sender connects at its first frame, the
///        receiver accepts. Two ranks that begin at once therefore have two streams and nothing to agree on.
///
///   States    outlet: fresh --> connecting --> up --> broken (also from any other). Broken is final: the peer is gone.
///             inlet: stranger --(hello is right)--> frames --> ended.
///   Wire      hello (48 bytes: magic, version, largest frame, from, to, slot, lane, the job's cookie), then records:
///             {size u32, op u16, what u16}, payload, zeroes up to a multiple of 8. Every field is checked against its bounds
///             before it is used; a record that breaks them ends the connection.
///   Order     the stream's. A record is written when all records reserved before it are committed or given up.
///   Memory    per peer that we send to 256 KiB, per peer that sends to us 64 KiB, made at first contact; and what the kernel
///             holds per socket (asked to stay at 256 KiB). reserve() is falsy when the outlet is full.
///   Cost      commit: one send(), unless the kernel is full or we are inside poll(): then frames are gathered and written
///             together. poll(): one epoll_wait(), and one recv() per peer that has sent.
///   Limit     one host. Two sockets per pair and lane, and five descriptors per endpoint. A connection is believed by its
///             cookie, compared in constant time, over Unix sockets also by the peer's user id; over TCP a sender cannot
///             prove whom it reached, only that the address was published in the job's control segment.
///   Tests     test/transport_stream_test.cpp, test/transport_conformance.hpp
#pragma once
#include <array>
#include <memory>
#include <utility>

#include <mpt/transport/transport.hpp>
#include <mpt/world/native.hpp>

namespace mpt::inline v0::transport {

/// Which sockets. `configured`: what MPT_STREAM says.
enum class stream_kind : std::uint8_t { configured, local, tcp };

namespace detail {

/// What peers need to reach us: an abstract Unix name, or a port of 127.0.0.1.
struct stream_address {
    std::uint16_t family = 0; // AF_UNIX, AF_INET
    std::uint16_t port = 0;
    std::uint32_t name_size = 0;
    std::array<char, 64> name{};
};

/// Room for one frame in an outlet.
struct stream_room {
    void* outlet = nullptr;
    std::size_t at = 0; // of its record
    std::span<std::byte> payload{};
};

/// The machinery, compiled once (src/core/stream.cpp). One thread at a time.
class stream_port {
public:
    /// Binds and listens. Throws mpt::error.
    stream_port(boot::job& job, unsigned slot, unsigned lane, stream_kind kind, std::size_t max_frame);
    /// Gives the kernel what is still ours, for at most a second, and closes.
    ~stream_port();
    stream_port(stream_port const&) = delete;
    stream_port& operator=(stream_port const&) = delete;

    stream_address local() const noexcept;
    bool reaches(rank p) noexcept;

    stream_room reserve(rank p, std::size_t n) noexcept; // no outlet: again
    void commit(stream_room const& r, std::uint16_t op) noexcept;
    void abandon(stream_room const& r) noexcept;

    /// A round of receiving: begin, next until it says false or enough came, end. A frame is valid until the next of these.
    void begin() noexcept;
    bool next(frame& f) noexcept;
    bool next_from(rank p, frame& f) noexcept;
    void end() noexcept;

    bool flush() noexcept;
    std::span<int const> descriptors() const noexcept;
    std::uint32_t departures() const noexcept;
    bool gone(rank p) noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace detail

/// Frame: most payload of one frame: 8 KiB of data behind the largest header of the protocols.
template <stream_kind Kind = stream_kind::configured, bytes Frame = bytes{8192 + 48}> struct stream {
    static_assert(Frame <= 64_KiB, "mpt::transport::stream: a frame of at most 64 KiB, or its buffers grow too large");
    using kind = mpt::kind::transport;
    static constexpr std::string_view name = Kind == stream_kind::local ? "stream-unix"
                                             : Kind == stream_kind::tcp ? "stream-tcp"
                                                                        : "stream";
    static constexpr transport_facts facts{.max_frame = Frame, .ordered = true, .cross_process = true};

    template <class World> class endpoint {
    public:
        using address = detail::stream_address;

        class cell {
            friend endpoint;
            detail::stream_port* port_ = nullptr;
            detail::stream_room room_{};
            cell(detail::stream_port* p, detail::stream_room const& r) noexcept : port_{r.outlet ? p : nullptr}, room_{r} {}

        public:
            cell() = default;
            cell(cell&& o) noexcept : port_{std::exchange(o.port_, nullptr)}, room_{o.room_} {}
            cell& operator=(cell&& o) noexcept { return std::swap(port_, o.port_), std::swap(room_, o.room_), *this; }
            ~cell() {
                if (port_) port_->abandon(room_);
            }
            explicit operator bool() const noexcept { return port_ != nullptr; }
            std::span<std::byte> payload() noexcept { return room_.payload; }
        };

        explicit endpoint(lane_context<World> const& c) : port_{c.job, c.slot, c.lane, Kind, Frame} {}

        address local() const noexcept { return port_.local(); }
        bool reaches(rank p) noexcept { return port_.reaches(p); }
        std::string_view why_not(rank) const noexcept { return "that rank has published no address for it"; }
        cell reserve(rank p, std::size_t n) noexcept { return {&port_, port_.reserve(p, n)}; }
        void commit(cell c, std::uint16_t op) noexcept { std::exchange(c.port_, nullptr)->commit(c.room_, op); }

        /// Frames that are here already cost no system call.
        template <class Sink> std::size_t poll(Sink&& sink, std::size_t budget) noexcept {
            std::size_t handed = 0;
            frame f;
            port_.begin();
            for (; handed < budget && port_.next(f); ++handed) sink(std::as_const(f));
            port_.end();
            return handed;
        }
        template <class Sink> std::size_t poll_from(rank p, Sink&& sink) noexcept {
            frame f;
            port_.begin();
            bool const got = port_.next_from(p, f);
            if (got) sink(std::as_const(f));
            port_.end();
            return got;
        }
        bool flush() noexcept { return port_.flush(); }
        std::span<int const> descriptors() const noexcept { return port_.descriptors(); }

        /// How many connections of peers have ended; while it is 0, gone() need not be asked.
        std::uint32_t departures() const noexcept { return port_.departures(); }
        /// A connection with p has ended and nothing of p's is left to hand over: no frame will come, none can be sent.
        bool gone(rank p) noexcept { return port_.gone(p); }

    private:
        detail::stream_port port_;
    };
};

static_assert(transport_policy<stream<>> && transport_endpoint<stream<>::endpoint<world::native>, world::native>);
static_assert(transport_noticing<stream<>::endpoint<world::native>>);

} // namespace mpt::inline v0::transport
