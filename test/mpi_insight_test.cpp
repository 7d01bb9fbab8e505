// What a rank tells of its work, on one lane and on three, over shared memory and over streams.
#include <numeric>
#include <random>

#include <gtest/gtest.h>
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
            w.send(std::vector<int>(100'000, 7), 1, 8);
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

} // namespace
