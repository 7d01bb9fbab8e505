#include <numeric>

#include "support/job_of.hpp"
#include "support/wires.hpp"

namespace {
using namespace mpt;

constexpr auto pattern = test::numbered;
constexpr auto somewhere = test::on_channels<local_stack>::somewhere;

template <class Stack> using stack_p2p = test::on_channels<Stack>;
TYPED_TEST_SUITE(stack_p2p, test::wires);

TYPED_TEST(stack_p2p, bytes_of_every_size_cross) {
    this->on(2, [](auto const& w, int me) {
        for (std::size_t n : {0u, 1u, 40u, 41u, 48u, 49u, 1000u, 8192u, 8193u, 70000u, 1500000u}) {
            std::vector<std::byte> into(n);
            if (me == 0) {
                w.send(1, 3, pattern(n, 1));
                continue;
            }
            auto const got = w.recv(0, 3, into);
            EXPECT_EQ(got.source, 0);
            EXPECT_EQ(got.label, 3);
            EXPECT_EQ(got.bytes, n);
            EXPECT_EQ(got.how, status::ok);
            EXPECT_EQ(into, pattern(n, 1));
        }
    });
}

TYPED_TEST(stack_p2p, a_message_too_long_is_cut_and_says_so) {
    this->on(2, [](auto const& w, int me) {
        for (std::size_t n : {20u, 5000u, 200000u}) {
            std::vector<std::byte> into(12, std::byte{0xee});
            if (me == 0) {
                w.send(1, 1, pattern(n, 2));
                continue;
            }
            auto const got = w.recv(0, 1, std::span{into}.first(10));
            EXPECT_EQ(got.how, status::truncated);
            EXPECT_EQ(got.bytes, n);
            EXPECT_TRUE(std::equal(into.begin(), into.begin() + 10, pattern(10, 2).begin()));
            EXPECT_EQ(into[10], std::byte{0xee}) << "nothing is written behind the buffer";
        }
    });
}

/// Looks until a message is here. The peer sends nothing else.
template <class Wire, std::size_t N> protocol::received seen(Wire const& w, tag label, std::span<std::byte, N> into) {
    for (;;)
        if (auto const got = w.receive_if_here(0, label, into)) return got;
}

TEST(stack_p2p_here, a_small_message_that_is_here_is_received_without_a_request) {
    test::watchdog const guard{"receive_if_here"};
    using fixture = stack_p2p<local_stack>;
    fixture::on(2, [](auto const& w, int me) {
        for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{40}, std::size_t{41},
                              std::size_t{264}}) { // in a frame, and in a long one
            std::vector<std::byte> into(n);
            if (me == 0) {
                w.send(1, 3, pattern(n, 4));
                continue;
            }
            auto const got = seen(w, tag{3}, std::span{into});
            EXPECT_EQ(static_cast<std::size_t>(got.bytes), n);
            EXPECT_EQ(into, pattern(n, 4));
        }
        std::array<std::byte, 8> word{};
        if (me == 0) w.send(1, 5, pattern(20, 5)), w.send(1, 6, pattern(8, 6)), w.send(1, 7, pattern(8, 7));
        else {
            auto const long_one = seen(w, tag{5}, std::span{word});
            EXPECT_EQ(w.outcome_of(0, long_one, word.size()).how, status::truncated);
            EXPECT_EQ(w.recv(0, 7, std::span<std::byte>{word}).bytes, 8u); // message 6 is kept
            EXPECT_FALSE(w.receive_if_here(0, 6, std::span{word})) << "what is kept goes to a request";
            EXPECT_EQ(w.recv(0, 6, std::span<std::byte>{word}).bytes, 8u);
            EXPECT_TRUE(std::ranges::equal(word, pattern(8, 6)));
        }
    });
}

TEST(stack_p2p_here, a_receive_that_was_begun_before_gets_its_message) {
    stack_p2p<local_stack>::on(2, [](auto const& w, int me) {
        if (me == 0) return w.send(1, 1, pattern(8, 1)), w.send(1, 1, pattern(8, 2));
        std::array<std::byte, 8> first{}, second{};
        auto* const r = w.start_recv(0, 1, sink{std::span<std::byte>{first}});
        EXPECT_FALSE(w.receive_if_here(0, 1, std::span{second}));
        w.finish(*r, {wait_for::receive, w.context(), 0, 1, 8});
        EXPECT_EQ(w.recv(0, 1, std::span<std::byte>{second}).bytes, 8u);
        EXPECT_TRUE(std::ranges::equal(first, pattern(8, 1)) && std::ranges::equal(second, pattern(8, 2)));
    });
}

TYPED_TEST(stack_p2p, what_is_kept_is_received_in_its_order_and_cut_where_it_is_too_long) {
    this->on(2, [](auto const& w, int me) {
        constexpr std::size_t sizes[] = {8, 0, 39, 60, 8};
        std::array<std::byte, 48> into{};
        if (me == 0) {
            for (auto const n : sizes) w.send(1, 6, pattern(n, static_cast<unsigned>(n)));
            w.ssend(1, 6, pattern(8, 1)); // its receive answers
            w.send(1, 6, pattern(5000, 2));
            w.send(1, 7, pattern(8, 7));
            w.recv(1, 9, std::span<std::byte>{});
            return;
        }
        auto* const last = w.start_recv(0, 7, sink{std::span<std::byte>{into}.first(8)});
        outcome seen;
        while (!w.iprobe(0, 6, seen)) {}
        for (auto const n : sizes) {
            if (n == 0) { EXPECT_EQ(w.probe(0, any_tag).bytes, 0u); }
            std::ranges::fill(into, std::byte{0xee});
            auto const got = w.recv(0, n == 39 ? any_tag : tag{6}, std::span<std::byte>{into}.first(40));
            auto const whole = std::min<std::size_t>(n, 40);
            EXPECT_EQ(got.bytes, n);
            EXPECT_EQ(got.label, 6);
            EXPECT_EQ(got.how, n > 40 ? status::truncated : status::ok);
            EXPECT_TRUE(std::equal(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(whole),
                                   pattern(whole, static_cast<unsigned>(n)).begin()));
            EXPECT_EQ(into[whole], std::byte{0xee});
        }
        EXPECT_EQ(w.recv(0, 6, std::span<std::byte>{into}).bytes, 8u);
        std::vector<std::byte> much(5000);
        EXPECT_EQ(w.recv(0, 6, std::span{much}).bytes, 5000u);
        EXPECT_EQ(much, pattern(5000, 2));
        EXPECT_EQ(w.finish(*last, {wait_for::receive, w.context(), 0, 7, 8}).bytes, 8u);
        w.send(0, 9, {});
    });
}

TYPED_TEST(stack_p2p, nothing_is_received_at_once_into_more_room_than_frames_have) {
    this->on(2, [](auto const& w, int me) {
        std::vector<std::byte> room(5000);
        if (me == 0) return w.send(1, 1, pattern(8, 3));
        EXPECT_FALSE(w.receive_if_here(0, 1, std::span{room}));
        EXPECT_EQ(w.recv(0, 1, std::span{room}).bytes, 8u);
    });
}

TYPED_TEST(stack_p2p, contexts_keep_apart_and_so_does_the_collective_side) {
    this->on(2, [](auto const& w, int me) {
        typename TestFixture::wire const other{w.on(), context_id{2000}};
        auto const side = w.collective();
        EXPECT_EQ(side.context(), context_id{1001});
        if (me == 0) {
            w.send(1, 1, pattern(1, 1)), other.send(1, 1, pattern(1, 2)), side.send(1, 1, pattern(1, 3));
            return;
        }
        std::vector<std::byte> got(1);
        unsigned expected = 3;
        for (auto const* c : {&side, &other, &w}) { // against the order of sending
            c->recv(0, 1, got);
            EXPECT_EQ(got, pattern(1, expected--));
        }
    });
}

TYPED_TEST(stack_p2p, both_at_once_is_no_deadlock_at_any_size) {
    this->on(3, [](auto const& w, int me) {
        for (std::size_t n : {1u, 5000u, 400000u}) {
            std::vector<std::byte> into(n);
            w.sendrecv((me + 1) % 3, 4, pattern(n, static_cast<unsigned>(me)), (me + 2) % 3, 4, into);
            EXPECT_EQ(into, pattern(n, static_cast<unsigned>((me + 2) % 3)));
        }
    });
}

status room_for(protocol::request& r, std::uint64_t n) {
    auto& v = *static_cast<std::vector<std::byte>*>(r.user);
    v.resize(n);
    r.into = sink{std::span{v}};
    return status::ok;
}
status no_room(protocol::request&, std::uint64_t) { return status::no_memory; }

TYPED_TEST(stack_p2p, a_receive_of_unknown_size_is_asked_for_room_once_the_size_is_known) {
    this->on(2, [](auto const& w, int me) {
        for (std::size_t n : {0u, 30u, 4000u, 300000u}) {
            std::vector<std::byte> v;
            if (me == 0) w.send(1, 1, pattern(n, 9));
            else {
                EXPECT_EQ(w.recv_provided(0, 1, room_for, &v).bytes, n);
                EXPECT_EQ(v, pattern(n, 9));
            }
        }
    });
}

TYPED_TEST(stack_p2p, a_receive_that_finds_no_room_fails_alone) {
    this->on(2, [](auto const& w, int me) {
        std::vector<std::byte> word(4);
        for (std::size_t n : {30u, 4000u, 300000u}) {
            if (me == 0) w.send(1, 1, pattern(n, 9)), w.send(1, 2, pattern(4, 5));
            else {
                EXPECT_EQ(w.recv_provided(0, 1, no_room, nullptr).how, status::no_memory);
                w.recv(0, 2, word);
                EXPECT_EQ(word, pattern(4, 5));
            }
        }
    });
}

TYPED_TEST(stack_p2p, no_memory_for_another_request_is_an_error_with_numbers_and_the_next_ones_work) {
    this->job(1, config::values{}.set<"MPT_SLICE">("4M"), [](environment<TypeParam>& env) {
        typename TestFixture::wire const w{env.native().lane_of(somewhere), somewhere};
        std::vector<protocol::request*> posted;
        std::string said;
        try {
            while (posted.size() < 1'000'000) posted.push_back(w.start_recv(0, tag{posted.size()}, {}));
        } catch (error const& e) {
            EXPECT_EQ(e.code(), errc::no_memory);
            said = e.what();
        }
        EXPECT_NE(said.find("no memory for another request"), said.npos) << said;
        EXPECT_NE(said.find(" were asked for, but the largest free part of this rank's slice is "), said.npos) << said;
        EXPECT_NE(said.find("limited by MPT_SLICE)"), said.npos) << said;
        for (auto* r : posted) w.abandon(*r, {});
        std::vector<std::byte> word(4);
        auto* r = w.start_recv(0, 1, sink{std::span{word}});
        w.send(0, 1, pattern(4, 6));
        EXPECT_EQ(w.finish(*r, {}).how, status::ok);
        EXPECT_EQ(word, pattern(4, 6));
    });
}

TYPED_TEST(stack_p2p, a_rank_that_took_all_memory_before_its_first_message_still_keeps_unexpected_ones) {
    this->job(2, config::values{}.set<"MPT_SLICE">("4M"), [](environment<TypeParam>& env) {
        typename TestFixture::wire const w{env.native().lane_of(somewhere), somewhere};
        std::vector<std::byte> word(4);
        if (env.rank() == 0) {
            w.recv(1, 0, {});
            for (int t = 10; t < 20; ++t) w.send(1, t, pattern(4, static_cast<unsigned>(t)));
            return;
        }
        for (std::size_t piece = 1 << 20; piece >= 4096; piece /= 2) try {
                for (;;) static_cast<void>(env.template allocate<std::byte>(piece));
            } catch (error const& e) { EXPECT_EQ(e.code(), errc::no_memory); }
        std::vector<protocol::request*> posted; // requests take what the library has left of its own
        EXPECT_THROW(while (true) posted.push_back(w.start_recv(0, 5, {})), error);
        for (auto* r : posted) w.abandon(*r, {});
        w.send(0, 0, {});
        for (int t = 20; t-- > 10;) {
            w.recv(0, t, word);
            EXPECT_EQ(word, pattern(4, static_cast<unsigned>(t)));
        }
    });
}

TYPED_TEST(stack_p2p, a_posted_receive_is_withdrawn_and_the_message_goes_to_the_next) {
    this->on(2, [](auto const& w, int me) {
        std::vector<std::byte> never(4), word(4);
        if (me == 1) {
            auto* r = w.start_recv(0, 1, sink{std::span{never}});
            EXPECT_FALSE(w.test(*r));
            EXPECT_TRUE(w.cancel(*r));
            EXPECT_EQ(w.finish(*r, {}).how, status::cancelled);
            auto* again = w.start_recv(0, 1, sink{std::span{never}});
            w.abandon(*again, {});
            w.send(0, 2, {});
            w.recv(0, 1, word);
            EXPECT_EQ(word, pattern(4, 6));
            EXPECT_EQ(never, std::vector<std::byte>(4));
        } else {
            w.recv(1, 2, {});
            w.send(1, 1, pattern(4, 6));
        }
    });
}

// --- a peer that nobody reaches -------------------------------------------------------------------------------------------

/// Shared memory, but not between the first rank and the last.
struct with_a_gap : transport::smp<> {
    static constexpr std::string_view name = "with_a_gap";
    template <class World> class endpoint : public transport::smp<>::endpoint<World> {
        using base = transport::smp<>::endpoint<World>;
        boot::job& job_;
        bool gap(rank p) const noexcept {
            int const me = job_.me(), last = job_.size() - 1;
            return (me == 0 && p == last) || (me == last && p == 0);
        }

    public:
        explicit endpoint(lane_context<World> const& c) : base{c}, job_{c.job} {}
        bool reaches(rank p) noexcept { return !gap(p) && base::reaches(p); }
        std::string_view why_not(rank p) const noexcept { return gap(p) ? "there is a gap" : base::why_not(p); }
    };
};

template <class F> void expect_no_way(char const* call, int me, int peer, F&& f) {
    try {
        f();
        ADD_FAILURE() << call << " did something";
    } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::unreachable) << call;
        auto const start = "mpt: rank " + std::to_string(me) + " cannot reach rank " + std::to_string(peer) + ": ";
        EXPECT_EQ(std::string{e.what()}.find(start), 0u) << call << ": " << e.what();
        EXPECT_NE(std::string{e.what()}.find("self: carries only what a rank sends to itself; with_a_gap: there is a gap"),
                  std::string::npos)
            << call << ": " << e.what();
    }
}

TEST(stack_p2p_unreachable, a_peer_that_no_transport_reaches_is_an_error_at_first_use_and_the_others_go_on) {
    test::watchdog const guard{"an unreachable peer"};
    using stack_type = stack<with_a_gap, world::threads>;
    for (char const* how : {"auto", "spin"})
        local_job<stack_type>(3, config::values{}.set<"MPT_WAIT">(how), [](environment<stack_type>& env) {
            auto const world = env.world();
            int const me = world.rank(), far = 2 - me;
            int x = me;
            if (me != 1)
                for (int again = 0; again < 2; ++again) {
                    std::vector<int> large(100'000);
                    int kept = -1;
                    world.send(30 + me, me, 5); // to oneself: what sendrecv must not eat
                    expect_no_way("send", me, far, [&] { world.send(x, far); });
                    expect_no_way("send", me, far, [&] { world.send(large, far); });
                    expect_no_way("ssend", me, far, [&] { world.ssend(x, far); });
                    expect_no_way("isend", me, far, [&] { auto r = world.isend(x, far); });
                    expect_no_way("recv", me, far, [&] { world.recv(x, far); });
                    expect_no_way("irecv", me, far, [&] { auto r = world.irecv(x, far); });
                    expect_no_way("sendrecv", me, far, [&] { world.sendrecv(x, far, kept, me, 0, 5); });
                    expect_no_way("sendrecv", me, far, [&] { world.sendrecv(x, me, kept, far, 7, 5); });
                    expect_no_way("probe", me, far, [&] { static_cast<void>(world.probe(far)); });
                    expect_no_way("iprobe", me, far, [&] { static_cast<void>(world.iprobe(far)); });
                    expect_no_way("mprobe", me, far, [&] { static_cast<void>(world.mprobe(far)); });
                    expect_no_way("improbe", me, far, [&] { static_cast<void>(world.improbe(far)); });
                    EXPECT_EQ(x, me);
                    EXPECT_EQ(kept, -1);
                    EXPECT_EQ(world.template recv<int>(me, 5), 30 + me);
                    EXPECT_FALSE(world.iprobe(me)) << "nothing was sent";
                }
            // Around the gap everything goes.
            for (std::size_t n : {1u, 3000u, 100'000u}) {
                std::vector<int> const out(n, me);
                std::vector<int> in(n);
                if (me != 1) {
                    world.sendrecv(out, 1, in, 1);
                    EXPECT_EQ(in, std::vector<int>(n, 1));
                } else
                    for (int from : {0, 2}) {
                        auto const got = world.sendrecv(out, from, in, from);
                        EXPECT_EQ(got.source, from);
                        EXPECT_EQ(in, std::vector<int>(n, from));
                    }
            }
            if (me != 1) world.send(x, 1, 9);
            else
                for (int i = 0; i < 2; ++i) world.recv(x, any_source, 9);
        });
}
} // namespace
