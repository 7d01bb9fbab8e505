#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/core/fences.hpp>
#include <mpt/core/probe.hpp>
#include <sys/wait.h>

using mpt::feature;
using mpt::features;
using mpt::probe_result;

namespace {

std::atomic<int> children_seen{0};

std::ptrdiff_t open_descriptors() {
    std::filesystem::directory_iterator const all{"/proc/self/fd"};
    return std::distance(begin(all), end(all));
}

TEST(probe, every_feature_stands_in_its_place_and_explains_itself) {
    for (std::size_t i = 0; i < features.size(); ++i) {
        EXPECT_EQ(static_cast<std::size_t>(features[i].what), i) << features[i].call;
        EXPECT_FALSE(features[i].call.empty());
        EXPECT_FALSE(features[i].with.empty());
        EXPECT_FALSE(features[i].without.empty());
        EXPECT_NE(features[i].with, features[i].without);
    }
}

TEST(probe, a_result_says_what_follows_from_it) {
    probe_result const good{feature::read_peer, 0}, bad{feature::read_peer, EPERM}, odd{feature::read_peer, 4095};
    EXPECT_TRUE(good.available());
    EXPECT_EQ(to_string(good), "available");
    EXPECT_EQ(consequence(good), "large messages: one copy");
    EXPECT_FALSE(bad.available());
    EXPECT_EQ(to_string(bad), "refused (EPERM)");
    EXPECT_EQ(consequence(bad), "large messages: pipelined double copy");
    EXPECT_EQ(to_string(odd), "refused (errno 4095)");
}

TEST(probe, agrees_with_the_call_itself) {
    EXPECT_EQ(mpt::probe(feature::membarrier).available(), mpt::register_heavy());
    // A process that may read a peer may read a child, and one that may read a child itself.
    EXPECT_LE(mpt::probe(feature::read_peer).available(), mpt::probe(feature::read_child).available());
    EXPECT_LE(mpt::probe(feature::read_child).available(), mpt::probe(feature::read_self).available());
    EXPECT_TRUE(mpt::probe(feature::futex).available()); // this test's own threads need it
}

TEST(probe, is_remembered_and_the_same_for_all_threads) {
    for (auto const& f : features) {
        std::vector<probe_result> seen(4);
        std::vector<std::thread> threads;
        for (auto& s : seen) threads.emplace_back([&s, &f] { s = mpt::probe(f.what); });
        for (auto& t : threads) t.join();
        for (auto const& s : seen) {
            EXPECT_EQ(s.what, f.what);
            EXPECT_EQ(s.error, mpt::probe(f.what).error) << f.call;
        }
    }
}

TEST(probe, leaves_no_descriptor_and_no_child_behind_and_raises_no_signal) {
    struct sigaction act {
    }, before{};
    act.sa_handler = [](int) { children_seen.fetch_add(1); };
    ASSERT_EQ(::sigaction(SIGCHLD, &act, &before), 0);
    auto const descriptors = open_descriptors();
    for (int round = 0; round < 20; ++round)
        for (auto const& f : features) EXPECT_EQ(mpt::try_feature(f.what).error, mpt::probe(f.what).error) << f.call;
    EXPECT_EQ(open_descriptors(), descriptors);
    int status = 0;
    EXPECT_EQ(::waitpid(-1, &status, __WALL | WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(children_seen.load(), 0);
    ::sigaction(SIGCHLD, &before, nullptr);
}

} // namespace
