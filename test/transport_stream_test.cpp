// transport/stream.hpp, by the laws of its contract over both kinds of sockets, and against peers that are not what they say.

#include "../src/core/stream_wire.hpp"
#include "transport_memory_conformance.hpp"
#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <mpt/core/error.hpp>
#include <mpt/transport/stream.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {
using mpt::transport::stream;
using mpt::transport::stream_kind;
using mpt::transport::detail::stream_address;
using mpt::transport::detail::stream_hello;
using mpt::transport::detail::stream_record;
using mpt::transport::detail::stream_what;
using local = stream<stream_kind::local>;
using tcp = stream<stream_kind::tcp>;
template <class T> using room_of = mpt::test::transport_room<T>;

/// A socket of our own at somebody's door.
class caller {
    int fd_ = -1;

public:
    explicit caller(stream_address const& a) {
        sockaddr_un un{};
        sockaddr_in in{};
        sockaddr* to = reinterpret_cast<sockaddr*>(&in);
        socklen_t size = sizeof in;
        if (a.family == AF_UNIX) {
            un.sun_family = AF_UNIX;
            std::memcpy(un.sun_path, a.name.data(), a.name_size);
            to = reinterpret_cast<sockaddr*>(&un);
            size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + a.name_size);
        } else {
            in.sin_family = AF_INET;
            in.sin_port = htons(a.port);
            in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
        fd_ = ::socket(a.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(::connect(fd_, to, size), 0) << std::strerror(errno);
    }
    caller(caller&& o) noexcept : fd_{std::exchange(o.fd_, -1)} {}
    ~caller() { hang_up(); }
    void hang_up() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    bool say(void const* p, std::size_t n) { return ::send(fd_, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(n); }
    bool say(stream_hello const& h) { return say(&h, sizeof h); }
    bool say(std::vector<std::byte> const& v) { return say(v.data(), v.size()); }
    /// The other side has closed.
    bool was_turned_away() {
        char c;
        auto const n = ::recv(fd_, &c, 1, MSG_DONTWAIT);
        return n == 0 || (n < 0 && errno != EAGAIN);
    }
};

std::vector<std::byte> record_of(std::uint16_t op, std::size_t n, std::uint64_t seed, stream_what what = stream_what::frame) {
    std::vector<std::byte> v(stream_record::span_of(n));
    stream_record{static_cast<std::uint32_t>(n), op, what}.write(v.data());
    mpt::test::fill(std::span{v}.subspan(sizeof(stream_record), n), seed);
    return v;
}

/// Rank 0 of two, and what rank 1 ought to say to it. Rank 1's own endpoint stays silent.
template <class T> struct transport_stream : testing::Test {
    mpt::test::watchdog guard{"a law of the stream"};
    room_of<T> room{2};
    stream_hello hello{stream_hello::magic_value,     stream_hello::current_version, T::facts.max_frame, 1, 0, 0, 0, 0,
                       room.at(0).job.header().cookie};
    caller call() { return caller{room.end(0).local()}; }
    void expect_turned_away(stream_hello const& h, char const* why) {
        auto c = call();
        EXPECT_TRUE(c.say(h));
        c.say(record_of(1, 4, 4));
        EXPECT_TRUE(room.pump_until([&] { return c.was_turned_away(); })) << why;
        EXPECT_TRUE(room.inbox(0).empty()) << why;
    }
};
using kinds = testing::Types<local, tcp>;
TYPED_TEST_SUITE(transport_stream, kinds);

TYPED_TEST(transport_stream, who_says_the_right_hello_is_heard) {
    auto c = this->call();
    ASSERT_TRUE(c.say(this->hello));
    ASSERT_TRUE(c.say(record_of(7, 100, 7)));
    ASSERT_TRUE(this->room.receive(0, 1));
    EXPECT_EQ(this->room.inbox(0).front().from, 1);
    EXPECT_TRUE(mpt::test::matches(this->room.inbox(0).front().payload, 7));
}

TYPED_TEST(transport_stream, who_says_a_wrong_hello_is_turned_away) {
    auto const with = [&](auto change) {
        auto h = this->hello;
        change(h);
        return h;
    };
    this->expect_turned_away(with([](auto& h) { h.cookie[0] ^= 1; }), "cookie, first word");
    this->expect_turned_away(with([](auto& h) { h.cookie[1] ^= std::uint64_t{1} << 63; }), "cookie, second word");
    this->expect_turned_away(with([](auto& h) { h.cookie = {}; }), "no cookie");
    this->expect_turned_away(with([](auto& h) { h.magic ^= 1; }), "magic");
    this->expect_turned_away(with([](auto& h) { h.version += 1; }), "version");
    this->expect_turned_away(with([](auto& h) { h.max_frame += 8; }), "frames of another size");
    this->expect_turned_away(with([](auto& h) { h.from = 2; }), "a rank that does not exist");
    this->expect_turned_away(with([](auto& h) { h.from = -1; }), "a rank below zero");
    this->expect_turned_away(with([](auto& h) { h.to = 1; }), "meant for somebody else");
    this->expect_turned_away(with([](auto& h) { h.lane = 1; }), "another lane");
    this->expect_turned_away(with([](auto& h) { h.slot = 1; }), "another transport");
    this->expect_turned_away(with([](auto& h) { h.zero = 1; }), "a field that must be zero");
    EXPECT_EQ(this->room.end(0).departures(), 0u) << "no stranger is a peer";
    ASSERT_TRUE(this->room.send_pattern(1, 0, 3, 3, 3)) << "and the peer itself is still welcome";
    ASSERT_TRUE(this->room.receive(0, 1));
}

TYPED_TEST(transport_stream, a_second_connection_of_the_same_name_is_turned_away) {
    ASSERT_TRUE(this->room.send_pattern(1, 0, 3, 3, 3));
    ASSERT_TRUE(this->room.receive(0, 1));
    this->room.inbox(0).clear();
    this->expect_turned_away(this->hello, "the real one is here");
    ASSERT_TRUE(this->room.send_pattern(1, 0, 4, 3, 4));
    ASSERT_TRUE(this->room.receive(0, 1));
    EXPECT_FALSE(this->room.end(0).gone(1));
}

TYPED_TEST(transport_stream, bytes_that_come_one_by_one_make_the_same_frames) {
    auto c = this->call();
    std::vector<std::byte> said(sizeof this->hello);
    std::memcpy(said.data(), &this->hello, sizeof this->hello);
    for (std::size_t n : {0, 1, 7, 8, 9, 30}) {
        auto const r = record_of(static_cast<std::uint16_t>(n), n, n);
        said.insert(said.end(), r.begin(), r.end());
        auto const nothing = record_of(0, n, 0, stream_what::padding);
        said.insert(said.end(), nothing.begin(), nothing.end());
    }
    for (auto b : said) {
        ASSERT_TRUE(c.say(&b, 1));
        this->room.pump(0);
    }
    ASSERT_TRUE(this->room.receive(0, 6));
    for (auto const& l : this->room.inbox(0)) {
        EXPECT_EQ(l.payload.size(), l.op);
        EXPECT_TRUE(mpt::test::matches(l.payload, l.op));
    }
}

TYPED_TEST(transport_stream, a_record_out_of_bounds_ends_the_connection_and_only_it) {
    auto const bad = {stream_record{static_cast<std::uint32_t>(TypeParam::facts.max_frame) + 1, 1, stream_what::frame},
                      stream_record{0xffffffffu, 1, stream_what::frame},
                      stream_record{0xfffffff9u, 1, stream_what::padding}, // 8 + size wraps in 32 bits
                      stream_record{4, 1, stream_what::open}, stream_record{4, 1, static_cast<stream_what>(0xffff)}};
    for (auto const& r : bad) {
        room_of<TypeParam> fresh{3};
        auto h = this->hello;
        h.cookie = fresh.at(0).job.header().cookie;
        caller c{fresh.end(0).local()};
        ASSERT_TRUE(c.say(h));
        ASSERT_TRUE(c.say(record_of(5, 3, 5)));
        ASSERT_TRUE(c.say(&r, sizeof r));
        c.say(record_of(6, 3, 6));
        ASSERT_TRUE(fresh.pump_until([&] { return c.was_turned_away(); })) << "size " << r.size;
        fresh.pump_for_a_while();
        ASSERT_EQ(fresh.inbox(0).size(), 1u) << "what came before counts, what comes after does not";
        EXPECT_TRUE(fresh.end(0).gone(1));
        ASSERT_TRUE(fresh.send_pattern(2, 0, 9, 9, 9));
        EXPECT_TRUE(fresh.receive(0, 2));
        EXPECT_FALSE(fresh.end(0).gone(2));
    }
}

TYPED_TEST(transport_stream, a_peer_that_dies_in_the_middle_of_a_frame_leaves_the_frames_before_it) {
    auto c = this->call();
    ASSERT_TRUE(c.say(this->hello));
    ASSERT_TRUE(c.say(record_of(1, 20, 1)));
    ASSERT_TRUE(c.say(record_of(2, 20, 2).data(), 17));
    c.hang_up();
    ASSERT_TRUE(this->room.pump_until([&] { return this->room.end(0).gone(1); }));
    EXPECT_EQ(this->room.inbox(0).size(), 1u);
}

TYPED_TEST(transport_stream, gone_waits_for_what_still_stands_before_the_door) {
    auto& me = this->room.end(0);
    this->room.at(1).lanes.clear(); // the door of rank 1 is closed: our first frame will find that out
    auto c = this->call();
    ASSERT_TRUE(c.say(this->hello));
    ASSERT_TRUE(c.say(record_of(1, 20, 1)));
    c.hang_up();
    if (auto cell = me.reserve(1, 1)) me.commit(std::move(cell), 1);
    ASSERT_TRUE(this->room.wait_until([&] { return me.flush() && me.departures() > 0; }));
    EXPECT_FALSE(me.gone(1)) << "one frame of its is not handed over";
    ASSERT_TRUE(this->room.wait_until([&] { return this->room.pump(0) == 1; }));
    EXPECT_TRUE(this->room.wait_until([&] { return me.gone(1); }));
}

TYPED_TEST(transport_stream, strangers_who_stay_silent_keep_nobody_out) {
    std::vector<caller> silent;
    for (int i = 0; i < 300; ++i) {
        silent.push_back(this->call());
        if (i % 16 == 0) this->room.pump(0);
    }
    ASSERT_TRUE(this->room.send_pattern(1, 0, 3, 3, 3));
    ASSERT_TRUE(this->room.receive(0, 1));
    auto const out = std::count_if(silent.begin(), silent.end(), [](auto& c) { return c.was_turned_away(); });
    EXPECT_GE(out, 300 - 257) << "and they are not kept without bound";
}

TYPED_TEST(transport_stream, noise_after_a_right_hello_does_no_harm) {
    auto const seed = mpt::test::stress_seed();
    std::printf("MPT_STRESS_SEED=%llu\n", static_cast<unsigned long long>(seed));
    std::mt19937_64 random{seed};
    for (int round = 0; round < 100; ++round) {
        room_of<TypeParam> fresh{2};
        auto h = this->hello;
        h.cookie = fresh.at(0).job.header().cookie;
        caller c{fresh.end(0).local()};
        ASSERT_TRUE(c.say(h));
        std::size_t good = 0;
        for (auto n = random() % 20; n > 0; --n, ++good) c.say(record_of(1, random() % 200, good));
        std::vector<std::byte> noise(1 + random() % 3000);
        for (auto& b : noise) b = static_cast<std::byte>(random() % 4 == 0 ? random() : 0); // small numbers now and then
        noise[0] = std::byte{0xff}, noise.resize(std::max<std::size_t>(noise.size(), 8)), noise[3] = std::byte{0xff};
        c.say(noise);
        c.hang_up();
        ASSERT_TRUE(fresh.pump_until([&] { return fresh.end(0).gone(1); }));
        ASSERT_EQ(fresh.inbox(0).size(), good);
        for (std::size_t i = 0; i < good; ++i) ASSERT_TRUE(mpt::test::matches(fresh.inbox(0)[i].payload, i));
    }
}

TYPED_TEST(transport_stream, leaving_takes_along_what_was_committed) {
    auto& ranks = this->room;
    std::uint64_t sent = 0; // more than the kernel holds
    for (; sent < 100'000; ++sent) {
        auto c = ranks.end(1).reserve(0, TypeParam::facts.max_frame);
        if (!c) break;
        mpt::test::fill(c.payload(), sent);
        ranks.end(1).commit(std::move(c), 1);
    }
    EXPECT_FALSE(ranks.end(1).flush());
    std::thread leaver{[&] { ranks.at(1).lanes.clear(); }};
    auto const all = ranks.wait_until([&] { return ranks.pump(0), ranks.inbox(0).size() == sent; });
    leaver.join();
    ASSERT_TRUE(all) << ranks.inbox(0).size() << " of " << sent;
    for (std::uint64_t i = 0; i < sent; ++i) ASSERT_TRUE(mpt::test::matches(ranks.inbox(0)[i].payload, i));
}

TYPED_TEST(transport_stream, a_rank_can_send_to_itself) {
    for (std::uint16_t i = 0; i < 100; ++i) ASSERT_TRUE(this->room.send_pattern(0, 0, i, i, i));
    ASSERT_TRUE(this->room.receive(0, 100));
    for (std::uint16_t i = 0; i < 100; ++i) EXPECT_EQ(this->room.inbox(0)[i].op, i);
}

TYPED_TEST(transport_stream, no_descriptor_is_left_behind) {
    auto const count = [] {
        return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, std::filesystem::directory_iterator{});
    };
    auto& m = this->room.at(1);
    auto const before = count();
    m.lanes.clear();
    auto const closed = count();
    EXPECT_LT(closed, before);
    for (int i = 0; i < 5; ++i) {
        typename room_of<TypeParam>::endpoint again{{{}, m.job, m.heap, 0, 0, 1}};
        auto c = again.reserve(0, 10);
        ASSERT_TRUE(c);
        again.commit(std::move(c), 1);
        this->room.pump(0);
    }
    ASSERT_TRUE(this->room.pump_until([&] { return this->room.end(0).gone(1); }));
    EXPECT_LE(count(), closed);
}

TYPED_TEST(transport_stream, its_descriptors_are_closed_on_exec) {
    for (std::uint16_t i = 0; i < 2; ++i) ASSERT_TRUE(this->room.send_pattern(i, 1 - i, 1, 1, 1));
    ASSERT_TRUE(this->room.receive(0, 1) && this->room.receive(1, 1));
    int sockets = 0;
    for (auto const& e : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        std::error_code ec;
        auto const what = std::filesystem::read_symlink(e.path(), ec).string();
        if (what.rfind("socket:", 0) != 0 && what.find("eventpoll") == what.npos) continue;
        ++sockets;
        int const fd = std::stoi(e.path().filename().string());
        EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC) << what;
    }
    EXPECT_GE(sockets, 6 + 4) << "two doors, two connections with two ends each; two epolls per endpoint";
}

TEST(transport_stream_choice, follows_mpt_stream) {
    auto const family = [] { return room_of<stream<>>{1}.end(0).local().family; };
    ::unsetenv("MPT_STREAM");
    EXPECT_EQ(family(), AF_UNIX);
    ::setenv("MPT_STREAM", "tcp", 1);
    EXPECT_EQ(family(), AF_INET);
    ::setenv("MPT_STREAM", "unix", 1);
    EXPECT_EQ(family(), AF_UNIX);
    ::setenv("MPT_STREAM", "carrier pigeon", 1);
    EXPECT_THROW(family(), mpt::error);
    ::unsetenv("MPT_STREAM");
}

TEST(transport_stream_choice, a_unix_name_that_is_taken_is_passed_over) {
    room_of<local> room{1, 1};
    auto& m = room.at(0);
    room_of<local>::endpoint again{{{}, m.job, m.heap, 0, 0, 1}}; // the same rank, slot and lane
    auto const a = room.end(0).local(), b = again.local();
    EXPECT_NE((std::string_view{a.name.data(), a.name_size}), (std::string_view{b.name.data(), b.name_size}));
}

TEST(transport_stream_wire, is_laid_out_as_its_header_says) {
    EXPECT_EQ(sizeof(stream_hello), 48u);
    EXPECT_EQ(offsetof(stream_hello, from), 16u);
    EXPECT_EQ(offsetof(stream_hello, slot), 24u);
    EXPECT_EQ(offsetof(stream_hello, cookie), 32u);
    EXPECT_EQ(offsetof(stream_record, op), 4u);
    EXPECT_EQ(offsetof(stream_record, what), 6u);
    EXPECT_EQ(stream_record::span_of(0), 8u);
    EXPECT_EQ(stream_record::span_of(1), 16u);
    EXPECT_EQ(stream_record::span_of(8), 16u);
    EXPECT_EQ(stream_record::span_of(0xffffffffu), 0x100000008u) << "computed in 64 bits";
}

using policies = testing::Types<local, tcp, stream<stream_kind::local, mpt::bytes{48}>>;
INSTANTIATE_TYPED_TEST_SUITE_P(stream, transport_conformance, policies);
INSTANTIATE_TYPED_TEST_SUITE_P(stream, transport_noticing_conformance, policies);
} // namespace
