#include <algorithm>
#include <array>
#include <barrier>
#include <thread>

#include "support/wires.hpp"
#include <mpt/mpi/buffered.hpp>
#include <mpt/mpi/communicators.hpp>
#include <mpt/mpi/intercommunicator.hpp>
#include <mpt/mpi/session.hpp>

namespace {
using namespace mpt::test;
using mpt::bsend_overhead;

struct some_buffer {
    std::span<std::byte const> memory() const { return {}; }
};
using place = mpt::buffer_place<some_buffer>;

template <class F> void expect_buffer_error(F const& f, char const* part) {
    try {
        f();
        ADD_FAILURE() << "nothing was thrown; expected: " << part;
    } catch (mpt::error const& e) {
        EXPECT_EQ(mpt::mpi_code_of(e), static_cast<int>(mpt::error_class::buffer));
        EXPECT_NE(std::string{e.what()}.find(part), std::string::npos) << e.what();
    }
}

TEST(mpi_attached_buffer, the_first_place_that_has_one_counts) {
    place own, of_session, of_all;
    auto const used = [&] { return mpt::buffer_in_use<some_buffer>({&own, &of_session, nullptr, &of_all}); };
    expect_buffer_error([&] { static_cast<void>(used()); }, "no buffer is attached");
    auto const a = std::make_shared<some_buffer>(), b = std::make_shared<some_buffer>(), c = std::make_shared<some_buffer>();
    of_all.attach(a);
    EXPECT_EQ(used(), a);
    own.attach(b);
    EXPECT_EQ(used(), b);
    of_session.attach(c);
    EXPECT_EQ(used(), b);
    expect_buffer_error([&] { own.attach(a); }, "attached already");
    EXPECT_EQ(own.detach(), b);
    EXPECT_EQ(used(), c);
    expect_buffer_error([&] { static_cast<void>(own.detach()); }, "no buffer is attached");
}

template <class Stack> using mpi_attached_buffers = over<Stack>;
TYPED_TEST_SUITE(mpi_attached_buffers, wires);

/// Everybody sends before anybody receives, by the communicator's buffer, by a part's, by a twin's of its own.
TYPED_TEST(mpi_attached_buffers, belong_to_their_communicators) {
    this->job(2, [](auto world) {
        int const other = 1 - world.rank();
        std::vector<std::byte> memory(100'000 + bsend_overhead), more(10 + bsend_overhead);
        std::vector<std::byte> const all(100'000, std::byte{7}), few(10);
        expect_buffer_error([&] { mpt::bsend(world, few, other); }, "no buffer is attached");
        mpt::attach_buffer(world, memory);
        expect_buffer_error([&] { mpt::attach_buffer(world); }, "100512 bytes is attached already");
        auto const twin = world.dup();
        expect_buffer_error([&] { mpt::bsend(twin, few, other); }, "no buffer is attached");
        mpt::attach_buffer(twin, more);
        mpt::bsend(world, all, other, 1), mpt::bsend(twin, few, other, 2);
        expect_buffer_error([&] { mpt::bsend(twin, std::array<char, 11>{}, other); }, "523 bytes");
        auto left = mpt::iflush_buffer(twin);
        EXPECT_EQ(world.template recv<std::vector<std::byte>>(other, 1), all);
        EXPECT_EQ(twin.template recv<std::vector<std::byte>>(other, 2), few);
        left.wait();
        EXPECT_TRUE(left.test());
        mpt::flush_buffer(world);
        EXPECT_EQ(mpt::detach_buffer(world).data(), memory.data());
        EXPECT_EQ(mpt::detach_buffer(twin).size(), more.size());
        expect_buffer_error([&] { static_cast<void>(mpt::detach_buffer(twin)); }, "no buffer is attached");
        mpt::flush_buffer(world); // of nothing
        mpt::iflush_buffer(world).wait();
        mpt::bsend(world.template with<mpt::errors::returning>(), few, mpt::proc_null).value();
        EXPECT_FALSE(mpt::bsend(world.template with<mpt::errors::returning>(), few, other).has_value());
    });
}

TYPED_TEST(mpi_attached_buffers, of_the_heap_have_room_for_all_and_go_with_their_communicator) {
    this->job(2, [](auto world) {
        int const me = world.rank(), other = 1 - me;
        std::vector<int> data(70'000, me);
        {
            auto const twin = world.dup();
            mpt::attach_buffer(twin);
            for (int i = 0; i < 10; ++i) mpt::ibsend(twin, data, other, i).wait();
            auto again = mpt::persistent_bsend(twin, data, other, 10);
            again.start(), again.wait();
            data.assign(data.size(), -1);
            for (int i = 0; i < 11; ++i)
                EXPECT_EQ(twin.template recv<std::vector<int>>(other, i), std::vector<int>(70'000, other));
            mpt::bsend(twin, me, other, 11);
            EXPECT_EQ(twin.template recv<int>(other, 11), other);
            auto const another = twin.dup();
            mpt::attach_buffer(another);
            mpt::bsend(another, me, other);
            EXPECT_EQ(another.template recv<int>(other), other);
            EXPECT_TRUE(mpt::detach_buffer(another).empty());
        } // flushed
        mpt::intercommunicator across{mpt::create(world, mpt::group::range(me, 1))->view(), 0, world, other};
        mpt::attach_buffer(across);
        mpt::bsend(across, me, 0);
        EXPECT_EQ(across.template recv<int>(0), other);
    });
}

/// What nobody has received when the environment goes is received after that.
TYPED_TEST(mpi_attached_buffers, of_an_environment_are_used_by_all_of_its_communicators_and_end_with_it) {
    auto const members = mpt::boot::local_members(2);
    std::vector<std::thread> ranks;
    for (int me = 0; me < 2; ++me)
        ranks.emplace_back([&, me] {
            std::optional<mpt::communicator<TypeParam>> part;
            {
                mpt::environment<TypeParam> env{members[static_cast<std::size_t>(me)]};
                mpt::attach_buffer(env);
                part = env.world().split(0);
                if (me == 0) mpt::bsend(env.world(), 1, 1, 1), mpt::bsend(*part, std::vector<int>(50'000, 2), 1, 2);
                mpt::attach_buffer(*part);
                if (me == 0) mpt::bsend(*part, std::vector<int>(50'000, 3), 1, 3);
                if (me == 1) {
                    EXPECT_EQ(part->template recv<std::vector<int>>(0, 3), std::vector<int>(50'000, 3));
                    EXPECT_EQ(part->template recv<std::vector<int>>(0, 2), std::vector<int>(50'000, 2));
                    EXPECT_EQ(env.world().template recv<int>(0, 1), 1);
                }
            }
            part.reset(); // its buffer was done with
        });
    for (auto& r : ranks) r.join();
}

TYPED_TEST(mpi_attached_buffers, of_a_session_come_before_those_of_the_environment) {
    std::vector<std::thread> ranks;
    std::barrier both{2};
    for (auto const& m : mpt::boot::local_members(2))
        ranks.emplace_back([m, &both] {
            auto const home = std::make_shared<mpt::session_home<TypeParam>>(m);
            mpt::session<TypeParam> const s{home};
            int const me = m.me.value, other = 1 - me;
            auto const all = s.communicator_of(s.group_of("mpi://WORLD"), "buffers");
            std::vector<std::byte> memory(5'000'000 + bsend_overhead);
            std::vector<std::byte> const large(5'000'000); // more than goes without being asked for
            mpt::attach_buffer(s, memory);
            auto const twin = all.dup();
            mpt::bsend(twin, large, other);
            expect_buffer_error([&] { mpt::bsend(all, me, other); }, "of the attached 5000512 bytes 5000512 are in use");
            both.arrive_and_wait(); // before, nobody takes what is to fill the other's buffer
            EXPECT_EQ(twin.template recv<std::vector<std::byte>>(other), large);
            mpt::flush_buffer(s);
            mpt::bsend(all, me, other, 1);
            EXPECT_EQ(all.template recv<int>(other, 1), other);
            EXPECT_EQ(mpt::detach_buffer(s).data(), memory.data());
            expect_buffer_error([&] { mpt::bsend(all, me, other); }, "no buffer is attached");
            mpt::attach_buffer(s);
            mpt::bsend(all, me, other, 2);
            EXPECT_EQ(all.template recv<int>(other, 2), other);
        });
    for (auto& r : ranks) r.join();
}

/// In a frame, in a lent buffer; then more than goes without being asked for.
TEST(mpi_attached_buffer, is_not_taken_by_what_leaves_at_once) {
    over<mpt::local_stack>::job(2, [](auto world) {
        constexpr std::size_t most = 5'000'000;
        std::vector<std::byte> memory(most + bsend_overhead);
        std::vector<std::byte> const small(8, std::byte{7}), longer(5000, std::byte{7}), large(most, std::byte{7});
        mpt::attach_buffer(world, memory);
        if (world.rank() == 0) {
            for (int i = 0; i < 3; ++i) mpt::bsend(world, small, 1), mpt::bsend(world, longer, 1);
            EXPECT_EQ(std::ranges::count(memory, std::byte{7}), 0) << "nothing was copied";
            mpt::bsend(world, large, 1);
            EXPECT_GE(std::ranges::count(memory, std::byte{7}), static_cast<std::ptrdiff_t>(most));
            expect_buffer_error([&] { mpt::bsend(world, longer, 1); }, "of the attached 5000512 bytes 5000512 are in use");
            world.send(std::vector<int>{1}, 1, 1);
        } else {
            EXPECT_EQ(world.template recv<std::vector<int>>(0, 1), std::vector<int>{1}); // all that was sent by then is kept
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(world.template recv<std::vector<std::byte>>(0), small);
                EXPECT_EQ(world.template recv<std::vector<std::byte>>(0), longer);
            }
            EXPECT_EQ(world.template recv<std::vector<std::byte>>(0), large);
        }
        world.barrier();
        mpt::detach_buffer(world);
    });
}

TYPED_TEST(mpi_attached_buffers, threads_send_while_another_one_detaches) {
    this->job(1, [](auto world) {
        for (int round = 0; round < 50; ++round) {
            std::vector<std::byte> memory(64 * (bsend_overhead + 4));
            mpt::attach_buffer(world, memory);
            std::barrier start{3};
            std::array<int, 2> sent{};
            std::vector<std::jthread> senders;
            for (int t = 0; t < 2; ++t)
                senders.emplace_back([&, t] {
                    start.arrive_and_wait();
                    try {
                        for (int i = 0; i < 32; ++i) mpt::bsend(world, i, 0, t), ++sent[static_cast<std::size_t>(t)];
                    } catch (mpt::error const& e) {
                        EXPECT_EQ(mpt::mpi_code_of(e), static_cast<int>(mpt::error_class::buffer)) << e.what();
                    }
                });
            start.arrive_and_wait();
            // Detaching waits until what was sent is received: by another thread, which learns how much that is only afterwards.
            std::jthread receiver{[&] {
                senders.clear();
                for (int t = 0; t < 2; ++t)
                    for (int i = 0; i < sent[static_cast<std::size_t>(t)]; ++i) EXPECT_EQ(world.template recv<int>(0, t), i);
            }};
            EXPECT_EQ(mpt::detach_buffer(world).data(), memory.data());
            std::ranges::fill(memory, std::byte{0xee}); // nobody reads it any more
        }
    });
}
} // namespace
