#include <numeric>
#include <thread>

#include "support/dice.hpp"
#include "support/wires.hpp"
#include <mpt/mpi/partitioned.hpp>

namespace {
using namespace mpt::test;

template <class Stack> using mpi_partitioned = over<Stack>;
TYPED_TEST_SUITE(mpi_partitioned, wires);

std::vector<int> numbers(int first, std::size_t n) {
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), first);
    return v;
}

/// Every rank sends to every other, by threads, in parts of its own number; who receives has other parts.
TYPED_TEST(mpi_partitioned, threads_fill_a_message_that_others_read_in_parts) {
    for (int n : {2, 3})
        this->job(n, [n](auto world) {
            mpt::partitioned parted{world};
            int const me = world.rank();
            constexpr std::size_t length = 2520;
            std::vector<int> field(length);
            std::vector<std::vector<int>> room(static_cast<std::size_t>(n), std::vector<int>(length));
            std::vector<mpt::partitioned_sender<TypeParam>> out;
            std::vector<mpt::partitioned_receiver<TypeParam>> in;
            for (int r = 0; r < n; ++r) {
                out.push_back(parted.send(field, me + 5, r, 7));
                in.push_back(parted.recv(room[static_cast<std::size_t>(r)], r + 2, r, 7));
            }
            for (int round = 0; round < 4; ++round) {
                for (auto& i : in) i.start();
                for (auto& o : out) o.start();
                std::iota(field.begin(), field.end(), 100 * me + round); // in its place
                std::vector<std::thread> threads;
                for (auto& o : out)
                    threads.emplace_back([&o, me] {
                        for (int i = me + 4; i >= 0; --i) o.ready(i);
                    });
                for (int r = 0; r < n; ++r) {
                    auto& i = in[static_cast<std::size_t>(r)];
                    auto const& data = room[static_cast<std::size_t>(r)];
                    auto const each = length / static_cast<std::size_t>(r + 2);
                    while (!i.arrived(1)) {}
                    EXPECT_EQ(data[each], 100 * r + round + static_cast<int>(each));
                    auto const m = i.wait();
                    EXPECT_EQ(m.source, r);
                    EXPECT_EQ(m.tag, 7);
                    EXPECT_EQ(m.template count<int>(), length);
                    EXPECT_EQ(data, numbers(100 * r + round, length));
                }
                for (auto& t : threads) t.join();
                for (auto& o : out) o.wait();
            }
        });
}

TYPED_TEST(mpi_partitioned, mistakes_throw_with_their_numbers) {
    this->job(1, [](auto world) {
        mpt::partitioned parted{world};
        std::vector<int> data(6), room(6), short_room(4), long_room(8);
        auto const says = [](auto f) {
            try {
                f();
            } catch (mpt::error const& e) { return std::string{e.what()}; }
            return std::string{"nothing"};
        };
        EXPECT_EQ(says([&] { static_cast<void>(parted.send(data, 5, 0)); }), "mpt: send: 24 bytes are not 5 equal parts");
        EXPECT_EQ(says([&] { static_cast<void>(parted.recv(room, 0, 0)); }), "mpt: recv: 24 bytes are not 0 equal parts");
        EXPECT_NE(says([&] { static_cast<void>(parted.send(data, 1, 1)); }), "nothing");
        auto out = parted.send(data, 3, 0);
        auto in = parted.recv(room, 2, 0);
        EXPECT_TRUE(in.arrived(0));
        EXPECT_EQ(says([&] { out.ready(3); }), "mpt: ready: part 3 of 3; allowed: 0 to 2");
        EXPECT_EQ(says([&] { out.ready(0); }), "mpt: ready: start() comes first");
        out.start(), in.start();
        EXPECT_EQ(says([&] { in.start(); }), "mpt: start: the round before is not over: wait() ends it");
        out.ready(1);
        EXPECT_EQ(says([&] { out.ready(1); }), "mpt: partition 1 is ready already");
        EXPECT_FALSE(out.test());
        out.ready(0), out.ready(2);
        out.wait(), in.wait();
        for (auto* wrong : {&short_room, &long_room}) {
            auto sent = parted.send(data, 1, 0);
            auto got = parted.recv(*wrong, 1, 0);
            sent.start(), got.start(), sent.ready(0), sent.wait();
            EXPECT_NE(says([&] { got.wait(); }).find("24 bytes"), std::string::npos);
        }
        auto nobody = parted.send(data, 2, mpt::proc_null);
        nobody.start(), nobody.ready(0), nobody.wait();
        auto given_up = parted.send(data, 2, 0, 9); // destroyed while it is under way, and so is nobody's receive
        given_up.start(), given_up.ready(1);
    });
}

} // namespace
