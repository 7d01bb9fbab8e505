// How the ranks of a foreign launcher come to their segments (boot_handover.hpp).
#include <mpt/boot/control.hpp>
#include <mpt/core/error.hpp>
#include <mpt/core/hash.hpp>
#include <mpt/wait/cpus.hpp>

#include "arena_system.hpp"
#include "boot_handover.hpp"
#include "boot_parts.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>

namespace mpt::inline v0::boot {
namespace {
using mpt::detail::descriptor;
using std::chrono::steady_clock;

constexpr std::chrono::seconds patience{60}; // all ranks have passed the barrier: only a machine that stands still takes longer
constexpr std::uint64_t magic = 0x32646e68706d74; // "tmphnd2"
constexpr char const* place_key = "mpt-segments";

struct greeting {
    std::uint64_t magic_number = magic;
    std::array<std::uint64_t, 2> key{};
    std::int64_t rank = 0;
};
struct handover {
    std::uint64_t magic_number = magic, control_bytes = 0, stride = 0, ranks = 0, pages_stride = 0; // 0: no huge pages
};
static_assert(sizeof(greeting) == 32 && sizeof(handover) == 40);

/// A handover with the descriptors beside it.
struct packet {
    using descriptors = std::array<int, 3>; // control, data, and huge pages where there are any
    handover said{};
    iovec data{&said, sizeof said};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(descriptors))> room{};
    msghdr header{};

    packet() noexcept {
        header.msg_iov = &data;
        header.msg_iovlen = 1;
        header.msg_control = room.data();
        header.msg_controllen = room.size();
    }
    packet(packet const&) = delete;
};

/// "a#b#c": takes hexadecimal numbers from the front of a text. False where one is none.
template <class... Numbers> bool take_numbers(std::string_view& text, Numbers&... to) noexcept {
    bool first = true;
    auto const one = [&](std::uint64_t& n) {
        if (!std::exchange(first, false)) {
            if (!text.starts_with('#')) return false;
            text.remove_prefix(1);
        }
        auto const [at, failed] = std::from_chars(text.data(), text.data() + text.size(), n, 16);
        text.remove_prefix(static_cast<std::size_t>(at - text.data()));
        return failed == std::errc{};
    };
    return (one(to) && ...);
}

sockaddr_un abstract_address(std::uint64_t name, socklen_t& length) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    auto const text = fmt::format("mpt-{:016x}", name);
    std::ranges::copy(text, a.sun_path + 1); // the first byte stays 0: no file
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    return a;
}

error failed(std::string_view what) {
    auto const why = errno;
    return error{errc::system, fmt::format("mpt: the ranks of this node cannot meet: {}: {}.", what, std::strerror(why)), why};
}

descriptor new_socket() {
    descriptor s{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    if (!s) throw failed("no socket");
    return s;
}

bool readable(int fd, steady_clock::time_point until) noexcept {
    for (;;) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
        pollfd p{fd, POLLIN, 0};
        auto const n = ::poll(&p, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
        if (n >= 0 || errno != EINTR) return n > 0;
    }
}

/// CPUs that any of some processes may use: a launcher may have bound each rank to its own.
class cpu_union {
    std::array<std::uint64_t, 128> mask_{};

public:
    void add(pid_t who) noexcept {
        std::array<std::uint64_t, 128> one{};
        if (::sched_getaffinity(who, sizeof one, reinterpret_cast<cpu_set_t*>(one.data())) < 0) return;
        std::ranges::transform(one, mask_, mask_.begin(), std::bit_or<>{});
    }
    unsigned usable() const {
        unsigned n = 0;
        for (auto const word : mask_) n += static_cast<unsigned>(std::popcount(word));
        auto const quota = quota_cpus();
        return std::max(1u, quota == 0 ? n : std::min(n, quota));
    }
};

/// Rank 0's side.
class giver {
    meeting_place place_;
    descriptor door_;
    std::vector<descriptor> guests_;
    cpu_union cpus_;

    /// Nobody else's process, and a word that only the job's ranks know.
    std::int64_t rank_of(int guest, steady_clock::time_point until) noexcept {
        ucred who{};
        socklen_t n = sizeof who;
        if (::getsockopt(guest, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0 || who.uid != ::geteuid()) return -1;
        greeting g{};
        if (!readable(guest, until) || ::recv(guest, &g, sizeof g, 0) != sizeof g) return -1;
        auto const wrong = (g.magic_number ^ magic) | (g.key[0] ^ place_.key[0]) | (g.key[1] ^ place_.key[1]);
        if (wrong != 0) return -1;
        if (who.pid > 0) cpus_.add(who.pid);
        return g.rank;
    }

public:
    explicit giver(std::int32_t ranks) : door_{new_socket()}, guests_(static_cast<std::size_t>(ranks)) {
        if (::getrandom(&place_, sizeof place_, 0) != sizeof place_) throw failed("no random numbers");
        socklen_t n = 0;
        auto const a = abstract_address(place_.socket, n);
        if (::bind(door_.get(), reinterpret_cast<sockaddr const*>(&a), n) != 0) throw failed("bind");
        if (::listen(door_.get(), ranks) != 0) throw failed("listen");
        cpus_.add(0);
    }
    meeting_place const& place() const noexcept { return place_; }

    void await_all() {
        auto const until = steady_clock::now() + patience;
        for (std::size_t missing = guests_.size() - 1; missing > 0;) {
            if (!readable(door_.get(), until))
                throw error{errc::launch,
                            fmt::format("mpt: {} of {} ranks did not come to rank 0 for the shared memory within {} s.",
                                        missing, guests_.size(), patience.count())};
            descriptor guest{::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            auto const r = guest ? rank_of(guest.get(), until) : -1;
            if (r < 1 || std::cmp_greater_equal(r, guests_.size()) || guests_[static_cast<std::size_t>(r)]) continue;
            guests_[static_cast<std::size_t>(r)] = std::move(guest);
            --missing;
        }
    }

    mem::arena_plan give(std::int32_t launcher) {
        auto const plan = make_segments(static_cast<std::int32_t>(guests_.size()), cpus_.usable(), launcher);
        for (auto const& guest : guests_)
            if (guest) send(guest.get(), plan);
        return plan;
    }

private:
    /// A rank that has died meanwhile is the launcher's affair.
    static void send(int guest, mem::arena_plan const& plan) noexcept {
        packet p;
        p.said = {
            .control_bytes = plan.control_bytes, .stride = plan.stride, .ranks = plan.ranks, .pages_stride = plan.pages_stride};
        auto* const c = CMSG_FIRSTHDR(&p.header);
        auto const bytes = (plan.pages_fd < 0 ? 2 : 3) * sizeof(int);
        c->cmsg_len = CMSG_LEN(bytes);
        p.header.msg_controllen = CMSG_SPACE(bytes);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        packet::descriptors const fds{plan.control_fd, plan.data_fd, plan.pages_fd};
        std::memcpy(CMSG_DATA(c), fds.data(), bytes);
        static_cast<void>(::sendmsg(guest, &p.header, MSG_NOSIGNAL));
    }
};

/// Rank 0 knows why, and says it: who only sees that it is gone waits to be ended with the job first.
[[noreturn]] void rank_0_is_gone(std::string const& sentence) {
    ::poll(nullptr, 0, 2000);
    throw error{errc::launch, sentence};
}

mem::arena_plan receive(int from, std::int32_t size) {
    packet p;
    auto const n = readable(from, steady_clock::now() + 2 * patience) ? ::recvmsg(from, &p.header, MSG_CMSG_CLOEXEC) : 0;
    auto* const c = n > 0 ? CMSG_FIRSTHDR(&p.header) : nullptr;
    std::array<descriptor, 3> got;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len <= CMSG_LEN(sizeof(packet::descriptors))) {
        packet::descriptors fds{-1, -1, -1};
        std::memcpy(fds.data(), CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
        std::ranges::transform(fds, got.begin(), [](int fd) { return descriptor{fd}; });
    }
    auto const& h = p.said;
    if (n != sizeof h || !got[0] || !got[1] || !got[2] != (h.pages_stride == 0) || h.magic_number != magic)
        rank_0_is_gone("mpt: rank 0 ended before it handed the shared memory to this rank.");
    auto const seen = read_control(got[0].get(), "rank 0");
    if (std::cmp_not_equal(seen.ranks, size) || seen.ranks != h.ranks || seen.stride != h.stride || seen.stride == 0 ||
        h.control_bytes != control_bytes(seen.ranks))
        throw error{errc::launch,
                    fmt::format("mpt: rank 0 made shared memory for {} ranks, but this job has {}.", seen.ranks, size)};
    mem::arena_plan plan;
    plan.control_bytes = h.control_bytes;
    plan.stride = h.stride;
    plan.ranks = seen.ranks;
    plan.control_fd = got[0].release();
    plan.data_fd = got[1].release();
    plan.pages_fd = got[2].release();
    plan.pages_stride = h.pages_stride;
    return plan;
}

std::string key_of(rank r) { return fmt::format("mpt-{}", r.value); }

node_name node_of(pmi1_line& line, rank r) {
    auto const text = line.get(key_of(r));
    if (auto n = parse_node(text)) return *std::move(n);
    throw error{errc::launch,
                fmt::format("mpt: rank {} says \"{}\" of where it runs: all ranks must be built with the same version "
                            "of mpt.",
                            r.value, text)};
}

[[noreturn]] void refuse_host(node_name const& first, rank other, node_name const& there) {
    throw error{errc::launch,
                fmt::format("mpt: rank 0 runs on host {} and rank {} on host {}, in memory that is not shared, and mpt "
                            "has no transport between nodes yet: start all ranks on one node.",
                            first.host, other.value, there.host)};
}

/// Rank 0 says it; who sees that it is the one elsewhere, waits to be ended with the job.
mem::arena_plan take(pmi1_line& line, rank me, std::int32_t size, node_name const& here) {
    auto const first = node_of(line, 0);
    if (first.number != here.number) {
        ::poll(nullptr, 0, 2000);
        refuse_host(first, me, here);
    }
    auto const place = parse_place(line.get(place_key));
    if (!place)
        throw error{errc::launch, "mpt: rank 0 does not say where the shared memory is: all ranks must be built with the same "
                                  "version of mpt."};
    socklen_t n = 0;
    auto const a = abstract_address(place->socket, n);
    auto const to = new_socket();
    while (::connect(to.get(), reinterpret_cast<sockaddr const*>(&a), n) != 0)
        if (errno != EINTR) rank_0_is_gone(fmt::format("mpt: rank 0 of this job cannot be reached: {}.", std::strerror(errno)));
    greeting const g{.key = place->key, .rank = me.value};
    static_cast<void>(::send(to.get(), &g, sizeof g, MSG_NOSIGNAL)); // where it is gone, nothing comes back
    return receive(to.get(), size);
}

} // namespace

node_name own_node() {
    utsname machine{};
    ::uname(&machine);
    node_name n{0, machine.nodename};
    std::ranges::replace_if(
        n.host, [](char c) { return c <= ' ' || c > '~' || c == '#' || c == '='; }, '?');
    n.host.resize(std::min<std::size_t>(n.host.size(), 64));
    struct stat network {};
    ::stat("/proc/self/ns/net", &network); // abstract sockets belong to it
    auto const boot = mpt::detail::read_text("/proc/sys/kernel/random/boot_id");
    n.number = hash_of(boot.empty() ? std::string_view{n.host} : boot, network.st_ino, network.st_dev);
    return n;
}

std::string print_node(node_name const& n) { return fmt::format("{:x}#{}", n.number, n.host); }
std::optional<node_name> parse_node(std::string_view text) {
    node_name n;
    if (!take_numbers(text, n.number) || !text.starts_with('#')) return std::nullopt;
    n.host = text.substr(1);
    return n;
}

std::string print_place(meeting_place const& p) { return fmt::format("{:x}#{:x}#{:x}", p.socket, p.key[0], p.key[1]); }
std::optional<meeting_place> parse_place(std::string_view text) {
    meeting_place p;
    return take_numbers(text, p.socket, p.key[0], p.key[1]) && text.empty() ? std::optional{p} : std::nullopt;
}

mem::arena_plan meet_on_node(pmi1_line& line, rank me, std::int32_t size) {
    auto const here = own_node();
    line.put(key_of(me), print_node(here));
    if (me != 0) {
        line.barrier();
        return take(line, me, size, here);
    }
    giver g{size};
    line.put(place_key, print_place(g.place()));
    line.barrier();
    for (rank r = 1; r < size; r = r + 1)
        if (auto const there = node_of(line, r); there.number != here.number) refuse_host(here, r, there);
    g.await_all();
    return g.give(line.launcher());
}

} // namespace mpt::inline v0::boot
