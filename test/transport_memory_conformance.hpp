/// transport_memory_conformance - the laws of the refinements: lending, readable, joint, noticing. A transport names those that
/// it models; transport_conformance checks that its facts say so.
#pragma once
#include <atomic>

#include "transport_conformance.hpp"

// --- lending ----------------------------------------------------------------------------------------------------------------

/// A loan crosses in a frame of {ref, size}, as protocol E1 does it.
template <class T> struct transport_lending_conformance : transport_conformance<T> {
    struct note {
        std::uint64_t ref, size;
    };
    struct pair_type : transport_conformance<T>::pair_type {
        using base = typename transport_conformance<T>::pair_type;
        using loan = typename base::endpoint::loan;
        using base::base;

        auto& sender() { return this->end(this->from); }
        auto& receiver() { return this->end(this->to); }
        /// Buffers come back as the receiver's word arrives.
        loan lend(std::size_t n) {
            loan l;
            this->pump_until([&] { return static_cast<bool>(l = sender().lend(this->to, n)); });
            return l;
        }
        bool post_loan(loan& l, std::uint64_t seed) {
            mpt::test::fill(l.memory(), seed);
            note const said{l.ref(), l.memory().size()};
            return this->send(this->from, this->to, 1, std::as_bytes(std::span{&said, 1}));
        }
        note take_note() {
            note n{};
            EXPECT_TRUE(this->arrived(1));
            if (this->box().empty() || this->box().front().payload.size() != sizeof n) return n;
            std::memcpy(&n, this->box().front().payload.data(), sizeof n);
            this->box().pop_front();
            return n;
        }
        /// Everything that can be lent now.
        std::vector<loan> lend_all() {
            std::vector<loan> all;
            while (all.size() < 100'000) {
                auto l = sender().lend(this->to, sender().max_loan());
                if (!l) break;
                all.push_back(std::move(l));
            }
            return all;
        }
    };
};
TYPED_TEST_SUITE_P(transport_lending_conformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(transport_lending_conformance); // a transport names what it models

TYPED_TEST_P(transport_lending_conformance, a_loan_is_read_in_place_and_given_back) {
    typename TestFixture::pair_type room;
    auto const most = room.sender().max_loan();
    ASSERT_GT(most, 0u);
    std::uint64_t seed = 0;
    for (int round = 0; round < 50; ++round) {
        for (std::size_t n : {std::size_t{1}, std::size_t{8}, most / 2 + 1, most - 1, most}) {
            auto l = room.lend(n);
            ASSERT_TRUE(l) << "size " << n << ", round " << round;
            ASSERT_EQ(l.memory().size(), n);
            ASSERT_TRUE(room.post_loan(l, ++seed));
            auto const said = room.take_note();
            auto const bytes = room.receiver().borrow(room.from, said.ref, said.size);
            ASSERT_EQ(bytes.size(), n);
            EXPECT_TRUE(mpt::test::matches(bytes, seed)) << "size " << n << ", round " << round;
            room.receiver().give_back(room.from, said.ref);
        }
    }
}

TYPED_TEST_P(transport_lending_conformance, a_loan_above_the_largest_is_refused) {
    typename TestFixture::pair_type room;
    EXPECT_FALSE(room.sender().lend(room.to, room.sender().max_loan() + 1));
    EXPECT_FALSE(room.sender().lend(room.to, ~std::size_t{0}));
    EXPECT_TRUE(room.lend(room.sender().max_loan()));
}

TYPED_TEST_P(transport_lending_conformance, loans_run_out_and_come_back) {
    typename TestFixture::pair_type room;
    std::size_t first_count = 0;
    for (int round = 0; round < 3; ++round) {
        auto all = room.lend_all();
        ASSERT_GT(all.size(), 0u);
        ASSERT_LT(all.size(), 100'000u) << "lending must be bounded";
        if (round == 0) first_count = all.size();
        EXPECT_EQ(all.size(), first_count) << "none may leak";
        for (std::size_t i = 0; i < all.size(); ++i) { ASSERT_TRUE(room.post_loan(all[i], i)); }
        // Read after all are written: a buffer lent twice would show.
        std::vector<typename TestFixture::note> said;
        for (std::size_t i = 0; i < all.size(); ++i) said.push_back(room.take_note());
        for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT_TRUE(mpt::test::matches(room.receiver().borrow(room.from, said[i].ref, said[i].size), i)) << "loan " << i;
        EXPECT_FALSE(room.sender().lend(room.to, room.sender().max_loan())) << "all are out";
        for (auto i = all.size(); i-- > 0;) room.receiver().give_back(room.from, said[i].ref); // in another order than lent
    }
}

TYPED_TEST_P(transport_lending_conformance, a_revoked_loan_may_be_lent_again) {
    typename TestFixture::pair_type room;
    auto const count = [&] {
        auto all = room.lend_all();
        auto const n = all.size();
        for (auto& l : all) room.sender().revoke(std::move(l));
        return n;
    };
    auto const first = count();
    EXPECT_GT(first, 0u);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(count(), first);
}

TYPED_TEST_P(transport_lending_conformance, a_reference_that_cannot_be_is_not_followed) {
    typename TestFixture::pair_type room;
    auto l = room.lend(1);
    ASSERT_TRUE(l);
    EXPECT_TRUE(room.receiver().borrow(room.from, ~std::uint64_t{0}, 1).empty());
    EXPECT_TRUE(room.receiver().borrow(room.from, l.ref(), ~std::size_t{0}).empty());
    room.receiver().give_back(room.from, ~std::uint64_t{0});
    room.sender().revoke(std::move(l));
}

REGISTER_TYPED_TEST_SUITE_P(transport_lending_conformance, a_loan_is_read_in_place_and_given_back,
                            a_loan_above_the_largest_is_refused, loans_run_out_and_come_back, a_revoked_loan_may_be_lent_again,
                            a_reference_that_cannot_be_is_not_followed);

// --- readable ---------------------------------------------------------------------------------------------------------------

template <class T> struct transport_readable_conformance : transport_conformance<T> {
    using pair_type = typename transport_conformance<T>::pair_type;
    /// The description crosses in a frame, as in protocol R0.
    static mpt::remote_memory told(pair_type& room, std::span<std::byte const> memory) {
        auto const where = room.end(room.from).expose(memory);
        EXPECT_TRUE(room.send(room.from, room.to, 1, std::as_bytes(std::span{&where, 1})));
        EXPECT_TRUE(room.arrived(1));
        mpt::remote_memory heard{};
        std::memcpy(&heard, room.box().front().payload.data(), sizeof heard);
        room.box().clear();
        return heard;
    }
};
TYPED_TEST_SUITE_P(transport_readable_conformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(transport_readable_conformance); // a transport names what it models

TYPED_TEST_P(transport_readable_conformance, get_brings_the_bytes_of_any_range) {
    typename TestFixture::pair_type room;
    constexpr std::size_t size = 300'001;
    std::vector<std::byte> own(size);
    auto const pages = room.at(room.from).heap.allocate(size);
    for (auto memory : {std::span{own}, pages.first(size)}) { // private memory, and memory of the arena
        mpt::test::fill(memory, 5);
        auto const where = TestFixture::told(room, memory);
        EXPECT_EQ(where.size, size);
        std::mt19937_64 random{42};
        for (std::size_t n : {std::size_t{1}, std::size_t{8}, std::size_t{4095}, std::size_t{4096}, std::size_t{70'000}, size})
            for (int i = 0; i < 8; ++i) {
                auto const offset = i == 0 ? 0 : i == 1 ? size - n : random() % (size - n + 1);
                std::vector<std::byte> into(n + 2, std::byte{0x5a});
                ASSERT_EQ(room.end(room.to).get(room.from, std::span{into}.subspan(1, n), where, offset), mpt::status::ok);
                EXPECT_EQ(std::memcmp(into.data() + 1, memory.data() + offset, n), 0) << n << " bytes at " << offset;
                EXPECT_TRUE(into.front() == std::byte{0x5a} && into.back() == std::byte{0x5a}) << "written beside the range";
            }
    }
    room.at(room.from).heap.deallocate(pages);
}

TYPED_TEST_P(transport_readable_conformance, get_of_nothing_is_ok) {
    typename TestFixture::pair_type room;
    std::array<std::byte, 16> memory{};
    auto const where = TestFixture::told(room, memory);
    EXPECT_EQ(room.end(room.to).get(room.from, {}, where, 0), mpt::status::ok);
    EXPECT_EQ(room.end(room.to).get(room.from, {}, where, 16), mpt::status::ok);
    auto const nothing = TestFixture::told(room, {});
    EXPECT_EQ(nothing.size, 0u);
    EXPECT_EQ(room.end(room.to).get(room.from, {}, nothing, 0), mpt::status::ok);
}

TYPED_TEST_P(transport_readable_conformance, get_sees_what_was_written_before_the_frame) {
    typename TestFixture::pair_type room;
    std::vector<std::byte> memory(5000), into(5000);
    for (std::uint64_t i = 0; i < 100; ++i) {
        mpt::test::fill(memory, i);
        auto const where = TestFixture::told(room, memory);
        ASSERT_EQ(room.end(room.to).get(room.from, into, where, 0), mpt::status::ok);
        ASSERT_TRUE(mpt::test::matches(into, i)) << "round " << i;
    }
}

REGISTER_TYPED_TEST_SUITE_P(transport_readable_conformance, get_brings_the_bytes_of_any_range, get_of_nothing_is_ok,
                            get_sees_what_was_written_before_the_frame);

// --- joint ------------------------------------------------------------------------------------------------------------------

template <class T> struct transport_joint_conformance : transport_conformance<T> {
    using pair_type = typename transport_conformance<T>::pair_type;

    static std::uint32_t crosses(pair_type& room, std::uint32_t ticket) {
        EXPECT_TRUE(room.send(room.from, room.to, 1, std::as_bytes(std::span{&ticket, 1})));
        EXPECT_TRUE(room.arrived(1));
        std::uint32_t heard = 0;
        std::memcpy(&heard, room.box().front().payload.data(), sizeof heard);
        room.box().clear();
        return heard;
    }
    static bool over(mpt::joint_state s) { return s == mpt::joint_state::done || s == mpt::joint_state::refused; }
};
TYPED_TEST_SUITE_P(transport_joint_conformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(transport_joint_conformance); // a transport names what it models

TYPED_TEST_P(transport_joint_conformance, the_receiver_alone_copies_the_whole_message) {
    typename TestFixture::pair_type room;
    auto &sender = room.end(room.from), &receiver = room.end(room.to);
    for (std::size_t n :
         {std::size_t{1}, std::size_t{4097}, std::size_t{100'000}, std::size_t{1} << 20, (std::size_t{3} << 20) + 17}) {
        std::vector<std::byte> memory(n), into(n);
        mpt::test::fill(memory, n);
        auto const ticket = sender.offer(room.to, memory);
        ASSERT_NE(ticket, 0u);
        EXPECT_EQ(sender.advance_offer(ticket), mpt::joint_state::waiting) << "nobody has accepted";
        auto const heard = TestFixture::crosses(room, ticket);
        receiver.accept(room.from, heard, into);
        auto state = mpt::joint_state::waiting;
        ASSERT_TRUE(room.wait_until([&] { return TestFixture::over(state = receiver.advance_accept(room.from, heard)); }));
        ASSERT_EQ(state, mpt::joint_state::done);
        EXPECT_TRUE(mpt::test::matches(into, n)) << n << " bytes";
        ASSERT_TRUE(room.wait_until([&] { return TestFixture::over(state = sender.advance_offer(ticket)); }));
        EXPECT_EQ(state, mpt::joint_state::done);
        sender.withdraw(ticket);
    }
}

TYPED_TEST_P(transport_joint_conformance, both_ends_copy_one_message_between_them) {
    typename TestFixture::pair_type room;
    auto &sender = room.end(room.from), &receiver = room.end(room.to);
    for (int round = 0; round < 20; ++round) {
        std::size_t const n = (std::size_t{2} << 20) + static_cast<std::size_t>(round) * 4099;
        std::vector<std::byte> memory(n), into(n);
        mpt::test::fill(memory, static_cast<std::uint64_t>(round));
        auto const ticket = sender.offer(room.to, memory);
        ASSERT_NE(ticket, 0u);
        auto const heard = TestFixture::crosses(room, ticket);
        mpt::joint_state there{};
        std::thread helper{[&] {
            receiver.accept(room.from, heard, into);
            while (!TestFixture::over(there = receiver.advance_accept(room.from, heard))) std::this_thread::yield();
        }};
        mpt::joint_state here{};
        while (!TestFixture::over(here = sender.advance_offer(ticket))) std::this_thread::yield();
        if (here == mpt::joint_state::done) mpt::test::fill(memory, 1000); // done: the buffer is the sender's again
        helper.join();
        ASSERT_EQ(here, mpt::joint_state::done);
        ASSERT_EQ(there, mpt::joint_state::done);
        EXPECT_TRUE(mpt::test::matches(into, static_cast<std::uint64_t>(round)));
        sender.withdraw(ticket);
    }
}

TYPED_TEST_P(transport_joint_conformance, a_message_that_was_asked_for_is_pushed_or_pulled) {
    typename TestFixture::pair_type room;
    auto &sender = room.end(room.from), &receiver = room.end(room.to);
    std::vector<std::byte> memory(100'000), into(100'000);
    mpt::test::fill(memory, 3);
    for (bool const push : {true, false, true}) {
        auto const ticket = sender.offer(room.to, memory);
        ASSERT_NE(ticket, 0u);
        auto const heard = TestFixture::crosses(room, ticket);
        if (push) {
            EXPECT_TRUE(sender.push_instead(ticket));
            EXPECT_FALSE(receiver.pull_instead(room.from, heard));
        } else {
            EXPECT_TRUE(receiver.pull_instead(room.from, heard));
            EXPECT_FALSE(sender.push_instead(ticket));
            receiver.accept(room.from, heard, into);
            auto state = mpt::joint_state::waiting;
            ASSERT_TRUE(room.wait_until([&] { return TestFixture::over(state = receiver.advance_accept(room.from, heard)); }));
            EXPECT_EQ(state, mpt::joint_state::done);
            EXPECT_TRUE(mpt::test::matches(into, 3));
            EXPECT_EQ(sender.advance_offer(ticket, false), mpt::joint_state::done);
        }
        sender.withdraw(ticket);
        EXPECT_FALSE(sender.push_instead(ticket) && receiver.pull_instead(room.from, heard));
    }
}

TYPED_TEST_P(transport_joint_conformance, tickets_run_out_and_come_back) {
    typename TestFixture::pair_type room;
    auto& sender = room.end(room.from);
    std::vector<std::byte> memory(100'000);
    for (int round = 0; round < 3; ++round) {
        std::vector<std::uint32_t> tickets;
        while (tickets.size() < 100'000) {
            auto const t = sender.offer(room.to, memory);
            if (t == 0) break;
            tickets.push_back(t);
        }
        ASSERT_GT(tickets.size(), 0u);
        ASSERT_LT(tickets.size(), 100'000u) << "tickets must be bounded";
        auto sorted = tickets;
        std::sort(sorted.begin(), sorted.end());
        EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end()) << "one ticket for two messages";
        for (auto t : tickets) sender.withdraw(t); // never joined
    }
}

REGISTER_TYPED_TEST_SUITE_P(transport_joint_conformance, the_receiver_alone_copies_the_whole_message,
                            both_ends_copy_one_message_between_them, a_message_that_was_asked_for_is_pushed_or_pulled,
                            tickets_run_out_and_come_back);

// --- noticing ---------------------------------------------------------------------------------------------------------------

template <class T> struct transport_noticing_conformance : transport_conformance<T> {};
TYPED_TEST_SUITE_P(transport_noticing_conformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(transport_noticing_conformance); // a transport names what it models

TYPED_TEST_P(transport_noticing_conformance, a_peer_that_leaves_is_gone_after_its_last_frame) {
    typename TestFixture::room_type room{3};
    for (std::uint16_t i = 0; i < 5; ++i) ASSERT_TRUE(room.send_pattern(1, 0, i, 10, i));
    ASSERT_TRUE(room.send_pattern(2, 0, 0, 1, 0));
    EXPECT_EQ(room.end(0).departures(), 0u);
    EXPECT_FALSE(room.end(0).gone(1));
    room.at(1).lanes.clear(); // rank 1 leaves
    auto& box = room.inbox(0);
    ASSERT_TRUE(room.wait_until([&] {
        if (room.end(0).gone(1)) return true;
        room.pump(0, 0, 1);
        return false;
    }));
    EXPECT_EQ(std::count_if(box.begin(), box.end(), [](auto const& l) { return l.from == 1; }), 5)
        << "gone, but not all is handed over";
    EXPECT_GT(room.end(0).departures(), 0u);
    EXPECT_TRUE(room.end(0).gone(1)) << "final";
    EXPECT_TRUE(room.end(0).reaches(1)) << "reaches() is final too";
    EXPECT_FALSE(room.end(0).reserve(1, 1));
    EXPECT_FALSE(room.end(0).gone(2));
    EXPECT_TRUE(room.end(0).reserve(2, 1)) << "the others are not touched by it";
}

TYPED_TEST_P(transport_noticing_conformance, a_peer_that_was_only_sent_to_is_noticed_too) {
    typename TestFixture::room_type room{2};
    ASSERT_TRUE(room.send_pattern(0, 1, 1, 8, 1));
    ASSERT_TRUE(room.receive(1, 1));
    room.at(1).lanes.clear();
    EXPECT_TRUE(room.wait_until([&] {
        room.pump(0);
        return room.end(0).gone(1);
    }));
    EXPECT_FALSE(room.end(0).reserve(1, 1));
}

TYPED_TEST_P(transport_noticing_conformance, a_peer_that_left_before_the_first_frame_is_noticed_by_sending) {
    typename TestFixture::room_type room{2};
    room.at(1).lanes.clear();
    EXPECT_FALSE(room.end(0).gone(1)) << "nobody could know";
    EXPECT_TRUE(room.wait_until([&] {
        if (auto c = room.end(0).reserve(1, 1)) room.end(0).commit(std::move(c), 1);
        room.pump(0);
        return room.end(0).gone(1);
    }));
    EXPECT_TRUE(room.end(0).flush()) << "nothing that could still go";
}

REGISTER_TYPED_TEST_SUITE_P(transport_noticing_conformance, a_peer_that_leaves_is_gone_after_its_last_frame,
                            a_peer_that_was_only_sent_to_is_noticed_too,
                            a_peer_that_left_before_the_first_frame_is_noticed_by_sending);
