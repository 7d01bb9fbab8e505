// The inside of transport::stream: sockets and their buffers.
//
// Asio owns the sockets, accepts, connects and moves the bytes. Whether a socket has something for us is asked of an epoll of
// our own, because a lane that goes to sleep needs a descriptor to wait on and Asio's reactor has none to give. Asio's own
// handlers (an accept, a connect) run only when that epoll says that the door or a dialled socket is ready.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

// One thread at a time runs a port's handlers, after the lane's lock: Asio need not fence them, with fences that
// ThreadSanitizer does not see.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <sys/epoll.h>

#include "stream_wire.hpp"
#include <mpt/transport/stream.hpp>

namespace mpt::inline v0::transport::detail {

namespace asio = boost::asio;
using boost::system::error_code;
using stream_socket = asio::generic::stream_protocol::socket;
using stream_door = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

/// A set of descriptors that is ready when one of them is. Owners take their descriptor out before they close it.
class ready_set {
    int fd_;

public:
    ready_set();
    ~ready_set();
    ready_set(ready_set const&) = delete;
    ready_set& operator=(ready_set const&) = delete;
    int const& descriptor() const noexcept { return fd_; }
    bool add(int fd, std::uint32_t events, void* who) noexcept;
    void change(int fd, std::uint32_t events, void* who) noexcept;
    void remove(int fd) noexcept;
    int wait(std::span<epoll_event> events) noexcept; // does not block
};

/// Whom an event of the ready set is for.
struct watched {
    enum class role : std::uint8_t { door, stranger, inlet, outlet };
    explicit watched(role r) noexcept : as{r} {}
    role as;
};

/// A connection that has not said yet who it is.
struct stranger : watched {
    explicit stranger(stream_socket s) : watched{role::stranger}, socket{std::move(s)} {}
    stream_socket socket;
    std::array<std::byte, sizeof(stream_hello)> said{};
    std::size_t heard = 0;
    bool done = false; // taken over or turned away; removed after the round of events
};

struct link;

/// What a peer sends to us: [begin, end) of the buffer is not handed over yet.
struct inlet : watched {
    inlet(asio::io_context& c, link& l) : watched{role::inlet}, socket{c}, of{l} {}
    stream_socket socket;
    link& of;
    std::unique_ptr<std::byte[]> buffer{};
    std::size_t capacity = 0, begin = 0, end = 0;
    inlet* next = nullptr; // in the list of inlets with whole frames
    bool used = false;     // a connection was believed, ever
    bool ended = false;
    bool listed = false;
};

/// What we send to a peer: [sent, ready) may be written, [ready, top) has cells that are still open before it.
struct outlet : watched {
    enum class state : std::uint8_t { fresh, connecting, up, broken };
    outlet(asio::io_context& c, link& l) : watched{role::outlet}, socket{c}, of{l} {}
    stream_socket socket;
    link& of;
    std::unique_ptr<std::byte[]> buffer{};
    std::size_t sent = 0, ready = 0, top = 0;
    std::uint32_t open = 0; // cells; while there are any the buffer stays where it is
    state at = state::fresh;
    bool blocked = false; // the kernel took no more; the ready set tells when it does
    bool listed = false;  // in the list of outlets with something to write
};

/// A peer, from the first frame in either direction on.
struct link {
    link(asio::io_context& c, rank w) : who{w}, in{c, *this}, out{c, *this} {}
    rank who;
    inlet in;
    outlet out;
};

struct stream_port::impl {
    static constexpr std::size_t outlet_bytes = 256 * 1024;
    static constexpr std::size_t inlet_bytes = 64 * 1024;
    static constexpr std::size_t gather_bytes = 32 * 1024; // inside poll(), this much is written at once
    static constexpr std::size_t most_strangers = 256;

    impl(boot::job& j, unsigned slot, unsigned lane, stream_kind kind, std::size_t max_frame);
    ~impl();

    // stream.cpp: the port
    void open_door(stream_kind kind);
    void bind_local();
    void bind_tcp();
    void accept_next();
    void run_handlers() noexcept;
    link* link_of(rank p) noexcept; // made if need be; nullptr: out of memory
    link* known(rank p) noexcept;
    void gather() noexcept;
    void on_event(epoll_event const& e) noexcept;
    void drop_current() noexcept;
    bool reaches(rank p) noexcept;

    // stream_outlet.cpp
    stream_room reserve(rank p, std::size_t n) noexcept;
    void commit(stream_room const& r, std::uint16_t op) noexcept;
    void abandon(stream_room const& r) noexcept;
    bool prepare(outlet& o) noexcept;
    void push_or_list(outlet& o) noexcept;
    void list(outlet& o) noexcept;
    bool push(outlet& o) noexcept; // true: nothing is left that could be written
    void advance(outlet& o) noexcept;
    void dial(outlet& o) noexcept;
    void dialled(outlet& o, error_code ec) noexcept;
    bool write(outlet& o) noexcept;
    void block(outlet& o, bool on) noexcept;
    void hang_up(outlet& o) noexcept;
    void check_peer(outlet& o) noexcept;
    void break_off(outlet& o) noexcept;
    bool push_all(bool blocked_too) noexcept; // true: nothing is left

    // stream_inlet.cpp
    void welcome(stream_socket s) noexcept;
    void listen_to(stranger& s) noexcept;
    void believe(stranger& s) noexcept;
    void turn_away(stranger& s) noexcept;
    void read(inlet& i) noexcept;
    bool whole_frame(inlet& i, frame& f) noexcept; // skips padding; looks only
    void end_inlet(inlet& i) noexcept;
    void list(inlet& i) noexcept;
    void unlist_first() noexcept;
    bool take(inlet& i, frame& f) noexcept;
    bool gone(rank p) noexcept;

    boot::job& job_;
    unsigned slot_, lane_;
    std::size_t max_frame_;
    stream_address address_{};
    ready_set ready_{}; // before the sockets, which leave it
    asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
    stream_door door_{context_};
    watched door_mark_{watched::role::door};
    bool door_closed_ = false; // an accept failed (no descriptors left): tried again at the next round
    std::vector<std::unique_ptr<stranger>> strangers_{};
    std::unordered_map<std::int32_t, std::unique_ptr<link>> links_{};
    link* last_ = nullptr; // of the last lookup
    std::vector<outlet*> unsent_{};
    inlet *first_ready_ = nullptr, *last_ready_ = nullptr;
    inlet* current_ = nullptr;     // whose frame is handed over
    std::size_t current_size_ = 0; // its record
    bool inside_ = false;          // a round of receiving: writes are gathered
    bool gathered_ = false;        // this round has asked the ready set
    std::uint32_t departures_ = 0;
};

/// The one sentence for a system call that failed while a port was made.
[[noreturn]] void stream_failed(std::string_view what, error_code ec);

} // namespace mpt::inline v0::transport::detail
