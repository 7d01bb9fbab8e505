// What a rank tells of its work, on one lane and on three, over shared memory and over streams.
#include <latch>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <mpt/datatype/typed.hpp>
#include <mpt/mpi/insight.hpp>
#include <mpt/mpi/local_job.hpp>

namespace {
using namespace mpt;

template <class> struct mpi_insight : testing::Test {};
using wires = testing::Types<local_stack, local_stream_stack>;
TYPED_TEST_SUITE(mpi_insight, wires);

std::uint64_t messages_sent(figures const& f) {
    return f[figure::e0_messages_sent] + f[figure::e1_messages_sent] + f[figure::rndv_messages_sent];
}
std::uint64_t bytes_sent(figures const& f) {
    return f[figure::e0_bytes_sent] + f[figure::e1_bytes_sent] + f[figure::rndv_bytes_sent];
}
std::uint64_t messages_received(figures const& f) {
    return f[figure::e0_messages_received] + f[figure::e1_messages_received] + f[figure::rndv_messages_received];
}
std::uint64_t bytes_received(figures const& f) {
    return f[figure::e0_bytes_received] + f[figure::e1_bytes_received] + f[figure::rndv_bytes_received];
}

TYPED_TEST(mpi_insight, what_is_sent_and_received_is_counted_once) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (char const* lanes : {"1", "3"})
        local_job<TypeParam>(2, config::values{}.set<"MPT_LANES">(lanes), [&](environment<TypeParam>& env) {
            insight in{env};
            auto const twin = env.world().dup();
            std::mt19937 random{seed};
            env.world().barrier();
            auto const before = in.look();
            EXPECT_EQ(before[figure::lanes], lanes[0] - '0');
            std::uint64_t n = 0, bytes = 0;
            for (int i = 0; i < 100; ++i, ++n) {
                std::vector<std::byte> data(random() % (random() % 4 ? 100 : 100'000));
                bytes += data.size();
                auto const over = i % 2 ? env.world() : twin.view();
                if (env.rank() == 0) over.send(data, 1, i);
                else over.recv(data, 0, i);
            }
            auto const f = in.look().since(before);
            EXPECT_EQ(env.rank() == 0 ? messages_sent(f) : messages_received(f), n);
            EXPECT_EQ(env.rank() == 0 ? bytes_sent(f) : bytes_received(f), bytes);
            EXPECT_EQ(f[figure::messages_pulled] + f[figure::messages_joined] + f[figure::messages_pushed],
                      f[figure::rndv_messages_received]);
            EXPECT_EQ(f[figure::bytes_pulled] + f[figure::bytes_joined] + f[figure::bytes_pushed],
                      f[figure::rndv_bytes_received]);
            env.world().barrier();
        });
}

TYPED_TEST(mpi_insight, variables_change_what_comes_after_them) {
    local_job<TypeParam>(2, [](environment<TypeParam>& env) {
        insight in{env};
        auto const both = in.look();
        EXPECT_EQ(in.get("MPT_SINGLE_COPY"), "on");
        in.set("MPT_SINGLE_COPY", "off");
        in.set("MPT_EAGER_MAX", "0");
        EXPECT_EQ(in.get("MPT_SINGLE_COPY"), "off");
        env.world().barrier();
        std::vector<int> big(200'000);
        if (env.rank() == 0) env.world().send(big, 1);
        else env.world().recv(big, 0);
        auto const f = in.look().since(both);
        EXPECT_EQ(f[figure::messages_pushed], env.rank() == 1 ? 1u : 0u);
        EXPECT_EQ(f[figure::bytes_pulled] + f[figure::bytes_joined] + f[figure::e1_messages_sent], 0u);
        env.world().barrier();
    });
}

TYPED_TEST(mpi_insight, what_cannot_change_is_refused_with_a_sentence) {
    local_job<TypeParam>(1, [](environment<TypeParam>& env) {
        insight in{env};
        auto const sentence = [&](char const* name, char const* value) -> std::string {
            try {
                in.set(name, value);
            } catch (error const& e) { return e.what(); }
            return "";
        };
        EXPECT_NE(sentence("MPT_LANES", "2").find("MPT_LANES is read when a job starts"), std::string::npos);
        EXPECT_NE(sentence("MPT_SPIN", "many").find("MPT_SPIN=many"), std::string::npos);
        EXPECT_NE(sentence("MPT_SPUN", "1").find("\"MPT_SPUN\" is no variable"), std::string::npos);
        EXPECT_EQ(in.get("MPT_SPIN"), "2000");
        EXPECT_EQ(in.get("MPT_LANES"), "1");
    });
}

TYPED_TEST(mpi_insight, notices_come_to_those_who_want_them) {
    local_job<TypeParam>(2, [](environment<TypeParam>& env) {
        auto const w = env.world();
        insight in{env, {notice_kind::unexpected, notice_kind::received}}, deaf{env}, other{env, {notice_kind::unexpected}};
        w.barrier();
        if (env.rank() == 0) {
            for (int i = 0; i < 5; ++i) w.send(i, 1, i);
            w.ssend(std::vector<int>(100'000, 7), 1, 8);
            w.send(9, 1, 9);
        } else {
            int x = 0, last = 0;
            auto r = w.irecv(last, 0, 9);
            std::vector<int> big(100'000);
            for (int i = 5; i-- > 0;) w.recv(x, 0, i);
            w.recv(big, 0, 8);
            r.wait();
            EXPECT_EQ(in.look(figure::comm_unexpected_queue, w), 0u);
            std::vector<int> tags, received, again;
            while (auto const n = in.next())
                if (n->context == w.context()) (n->what == notice_kind::unexpected ? tags : received).push_back(n->label);
            EXPECT_TRUE(std::ranges::is_sorted(tags));
            EXPECT_GE(tags.size(), 4u); // they came before the one that was received first
            EXPECT_EQ(received, std::vector{8});
            while (auto const n = other.next())
                if (n->context == w.context()) again.push_back(n->label);
            EXPECT_EQ(again, tags);
            EXPECT_FALSE(deaf.next());
            EXPECT_EQ(in.lost(notice_kind::unexpected), 0u);
        }
        w.barrier();
    });
}

/// Where packed bytes went to, or came from.
struct carried {
    std::size_t offset;
    std::byte const* at;
    std::size_t size;
};
/// A layout that writes down who asks it for packed bytes.
struct watched_source : typed_source {
    std::vector<carried>& seen;
    watched_source(void const* data, datatype const& t, std::vector<carried>& s) : typed_source{data, 1, t}, seen{s} {}
    void read(std::size_t offset, std::span<std::byte> into) const noexcept {
        seen.push_back({offset, into.data(), into.size()});
        typed_source::read(offset, into);
    }
};
struct watched_sink : typed_sink {
    std::vector<carried>& seen;
    watched_sink(void* data, datatype const& t, std::vector<carried>& s) : typed_sink{data, 1, t}, seen{s} {}
    void write(std::size_t offset, std::span<std::byte const> from) const noexcept {
        seen.push_back({offset, from.data(), from.size()});
        typed_sink::write(offset, from);
    }
};
static_assert(byte_source<watched_source> && lists_runs<watched_source> && byte_sink<watched_sink> && lists_runs<watched_sink>);

/// n bytes in runs of `run`, `stride` apart; n is so many runs.
datatype in_runs(std::size_t n, std::size_t run, std::size_t stride) {
    return datatype::vector(static_cast<std::int64_t>(n / run), static_cast<std::int64_t>(run),
                            static_cast<std::int64_t>(stride), datatype::named(element_kind::byte));
}
std::vector<std::byte> numbered(std::size_t n, unsigned seed) {
    std::vector<std::byte> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
    return v;
}
/// Each of n packed bytes was moved once, to or from a place in the memory that the ranks share. What comes in a long frame is put
/// together before it goes to places of its own (protocol/engine/stretched).
void expect_once_and_shared(std::vector<carried> seen, std::size_t n, environment<local_stack>& env) {
    bool const gathered = env.rank() == 1 && n > 40 /* what a frame holds */ &&
                          n <= local_stack::route_type::facts[1].max_stretch - sizeof(protocol::wire::e0);
    std::ranges::sort(seen, {}, &carried::offset);
    std::size_t end = 0;
    auto& job = env.native().job();
    for (auto const& c : seen) {
        EXPECT_EQ(c.offset, end) << "of " << n << " bytes";
        end += c.size;
        bool shared = false;
        for (rank r{0}; r.value < 2; ++r.value) {
            auto const s = job.arena().slice(r, job.record(r).slice_bytes);
            shared = shared || (c.at >= s.data() && c.at + c.size <= s.data() + s.size());
        }
        EXPECT_NE(shared, gathered) << c.size << " of " << n << " bytes at " << c.offset;
    }
    EXPECT_EQ(end, n);
}

/// Sends n bytes of one layout to a receive of another that is posted already, and says what both sides did.
/// meanwhile(): what the sender does while its message is under way.
template <class Meanwhile, class Judge>
void cross(environment<local_stack>& env, std::size_t n, std::size_t run, Meanwhile const& meanwhile, Judge const& judge) {
    insight in{env};
    auto const out = in_runs(n, run, run + 24), into = in_runs(n, 2 * run, 2 * run + 40);
    std::vector<std::byte> memory(n / run * (run + 40));
    std::vector<carried> seen;
    auto const packed = numbered(n, static_cast<unsigned>(run));
    auto const w = env.world();
    auto const before = in.look();
    if (env.rank() == 0) {
        typed_sink{memory.data(), 1, out}.write(0, packed);
        watched_source const from{memory.data(), out, seen};
        w.barrier(); // the receive is posted
        auto r = w.isend(from, 1, 5);
        meanwhile(r);
        r.wait();
    } else {
        watched_sink const to{memory.data(), into, seen};
        auto r = w.irecv(to, 0, 5);
        w.barrier();
        r.wait();
        std::vector<std::byte> got(n);
        typed_source{memory.data(), 1, into}.read(0, got);
        EXPECT_TRUE(got == packed) << n << " bytes";
        meanwhile(r);
    }
    judge(seen, in.look().since(before));
    w.barrier();
}

TEST(mpi_insight_copies, layouts_are_packed_into_the_cell_and_unpacked_from_it) {
    local_job<local_stack>(2, [](environment<local_stack>& env) {
        for (std::size_t const n : {16u, 32u, 40u, 48u, 88u, 96u, 256u, 1024u, 4096u, 16384u, 32768u})
            cross(
                env, n, 4, [](auto&) {},
                [&](std::vector<carried> const& seen, figures const& f) {
                    expect_once_and_shared(seen, n, env);
                    EXPECT_EQ(f[figure::e0_bytes_sent] + f[figure::e1_bytes_sent], env.rank() == 0 ? n : 0);
                    EXPECT_EQ(f[figure::rndv_bytes_sent], 0u);
                });
    });
}

// Nobody packs and nobody unpacks: the receiver copies from where the bytes are to where they belong.
TEST(mpi_insight_copies, a_rendezvous_of_two_layouts_copies_once) {
    for (bool const sender_waits : {false, true}) {
        // A sender that waits in mpt helps with pieces, unless it is told not to.
        auto const values = config::values{}.set<"MPT_PIPELINE_MAX">(sender_waits ? "0" : "1T");
        for (std::size_t const n : {std::size_t{1} << 18, std::size_t{1} << 20, std::size_t{1} << 23}) {
            std::latch received{1};
            local_job<local_stack>(2, values, [&](environment<local_stack>& env) {
                auto const away = [&](auto&) {
                    if (env.rank() == 1) received.count_down();
                    else if (!sender_waits) received.wait();
                };
                cross(env, n, 4096, away, [&](std::vector<carried> const& seen, figures const& f) {
                    EXPECT_TRUE(seen.empty()) << seen.front().size << " bytes were packed or unpacked at rank " << env.rank();
                    EXPECT_EQ(f[figure::rndv_bytes_sent], env.rank() == 0 ? n : 0);
                    EXPECT_EQ(f[figure::bytes_pulled], env.rank() == 1 ? n : 0);
                    EXPECT_EQ(f[figure::bytes_pushed] + f[figure::bytes_joined], 0u);
                });
            });
        }
    }
}

} // namespace
