// transport::stream between processes: a peer that is killed, and a caller that belongs to another user.
#include <csignal>
#include <string>

#include "../../src/core/stream_wire.hpp"
#include "../support/transport_room.hpp"
#include <cerrno>
#include <mpt/transport/stream.hpp>
#include <mpt/world/native.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
using mpt::transport::stream_kind;
using mpt::transport::detail::stream_address;
using mpt::transport::detail::stream_hello;
template <stream_kind K> using endpoint_of = typename mpt::transport::stream<K>::template endpoint<mpt::world::native>;

/// One rank of a job whose other rank is another process.
template <stream_kind K> struct rank_here {
    explicit rank_here(mpt::boot::membership const& m)
        : job{m, 1, "stream"}, heap{job.share_arena(), job.me(), job.arena().own_limit()}, end{{{}, job, heap, 0, 0, 1}} {
        auto const a = end.local();
        job.publish(0, 0, std::as_bytes(std::span{&a, 1}));
        job.meet();
    }
    bool send(int to, std::uint16_t op, std::size_t n) {
        auto c = end.reserve(to, n);
        if (!c) return false;
        mpt::test::fill(c.payload(), op);
        end.commit(std::move(c), op);
        return true;
    }
    mpt::boot::job job;
    mpt::mem::slice_heap heap;
    endpoint_of<K> end;
};

/// The child sends ten frames, hears one, and is killed as the kernel kills: nothing of ours runs.
template <stream_kind K> void a_killed_peer() {
    auto const members = mpt::test::job_of(2);
    auto const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        rank_here<K> r{members[1]};
        for (std::uint16_t op = 0; op < 10; ++op)
            if (!r.send(0, op, 100)) ::_exit(1);
        bool heard = false;
        while (!heard) r.end.poll([&](mpt::frame const&) noexcept { heard = true; }, 1);
        ::raise(SIGKILL);
        ::_exit(2);
    }
    mpt::test::watchdog const guard{"a killed peer"};
    rank_here<K> r{members[0]};
    std::uint16_t got = 0;
    auto const sink = [&](mpt::frame const& f) noexcept {
        EXPECT_EQ(f.op, got++);
        EXPECT_TRUE(mpt::test::matches(f.payload, f.op));
    };
    ASSERT_TRUE(r.send(1, 1, 1));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    for (int i = 0; i < 1000; ++i) r.send(1, 7, 1000); // SIGPIPE would end this program
    while (!r.end.gone(1)) r.end.poll(sink, 3);
    EXPECT_EQ(got, 10) << "what it sent before it died counts";
    EXPECT_FALSE(r.send(1, 7, 1));
    EXPECT_TRUE(r.end.flush()) << "nothing that could still go";
}

TEST(stream_between_processes, a_killed_peer_is_gone_after_its_last_frame_over_unix_sockets) {
    a_killed_peer<stream_kind::local>();
}
TEST(stream_between_processes, a_killed_peer_is_gone_after_its_last_frame_over_tcp) { a_killed_peer<stream_kind::tcp>(); }

/// A child without exec has all our sockets. Rank 1 leaves all the same, after its last frame.
template <stream_kind K> void a_forked_child() {
    mpt::test::watchdog const guard{"a forked child"};
    mpt::test::transport_room<mpt::transport::stream<K>> room{3};
    ASSERT_TRUE(room.send_pattern(0, 1, 1, 8, 1));
    ASSERT_TRUE(room.receive(1, 1));
    int live[2];
    ASSERT_EQ(::pipe(live), 0);
    auto const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        char c;
        ::close(live[1]);
        ::_exit(static_cast<int>(::read(live[0], &c, 1))); // until the parent closes its end
    }
    ASSERT_TRUE(room.send_pattern(1, 0, 2, 8, 2));
    room.at(1).lanes.clear();
    room.at(2).lanes.clear(); // nobody has called it yet
    EXPECT_TRUE(room.pump_until([&] { return room.end(0).gone(1); }));
    EXPECT_EQ(room.inbox(0).size(), 1u);
    EXPECT_TRUE(room.wait_until([&] {
        if (auto c = room.end(0).reserve(2, 1)) room.end(0).commit(std::move(c), 1);
        room.pump(0);
        return room.end(0).gone(2);
    })) << "a door that the child holds open";
    ::close(live[1]);
    ::waitpid(child, nullptr, 0);
    ::close(live[0]);
}
TEST(stream_between_processes, a_forked_child_does_not_keep_its_parents_streams_alive_over_unix_sockets) {
    a_forked_child<stream_kind::local>();
}
TEST(stream_between_processes, a_forked_child_does_not_keep_its_parents_streams_alive_over_tcp) {
    a_forked_child<stream_kind::tcp>();
}

/// Says a right hello, as another user. Exit code: 0 turned away, 1 still connected after a while, 2 could not try.
int call_as_nobody(stream_address const& a, stream_hello const& h, int go_on) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path, a.name.data(), a.name_size);
    int const fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + a.name_size);
    if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&un), size) != 0) return 2;
    if (::send(fd, &h, sizeof h, MSG_NOSIGNAL) != sizeof h) return 2;
    char c = 'x';
    if (::write(go_on, &c, 1) != 1) return 2;
    pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, 5000) > 0 && ::recv(fd, &c, 1, MSG_DONTWAIT) <= 0 ? 0 : 1;
}

TEST(stream_between_processes, another_user_is_turned_away_even_with_the_cookie) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    mpt::test::transport_room<mpt::transport::stream<stream_kind::local>> room{2};
    stream_hello const hello{
        stream_hello::magic_value,     stream_hello::current_version, mpt::transport::stream<>::facts.max_frame, 1, 0, 0, 0, 0,
        room.at(0).job.header().cookie};
    int go_on[2];
    ASSERT_EQ(::pipe(go_on), 0);
    auto const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(call_as_nobody(room.end(0).local(), hello, go_on[1]));
    char c;
    ::close(go_on[1]);
    auto const tried = ::read(go_on[0], &c, 1);
    ::close(go_on[0]);
    for (int i = 0; tried == 1 && i < 100; ++i) room.pump(0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "this machine does not let root become another user";
    EXPECT_EQ(status, 0) << "a connection of another user was kept";
    ASSERT_TRUE(room.send_pattern(1, 0, 1, 1, 1)) << "rank 1 itself is welcome";
    EXPECT_TRUE(room.receive(0, 1));
}
} // namespace
