#include <set>

#include "support/job_of.hpp"
#include <gtest/gtest.h>
#include <mpt/config/config.hpp>
#include <mpt/transport/route.hpp>
#include <mpt/world/threads.hpp>

namespace {
using mpt::rank;
using threads = mpt::world::threads;

/// A transport that reaches the ranks that leave a remainder of First when divided by Every, and publishes a number.
template <int First, int Every> struct to_some {
    using kind = mpt::kind::transport;
    static constexpr std::string_view name = "to_some";
    static constexpr mpt::transport_facts facts{.max_frame = {static_cast<std::size_t>(48 + First)}};

    template <class World> class endpoint {
    public:
        struct address {
            int number;
        };
        class cell {
        public:
            explicit operator bool() const noexcept { return false; }
            std::span<std::byte> payload() noexcept { return {}; }
        };
        explicit endpoint(mpt::lane_context<World> const& c) : slot{c.slot}, lane{c.lane} {}
        endpoint(endpoint const&) = delete;
        address local() const noexcept { return {1000 * First + 10 * static_cast<int>(slot) + static_cast<int>(lane)}; }
        bool reaches(rank r) const noexcept { return r.value % Every == First; }
        std::string_view why_not(rank) const noexcept
            requires(First == 0)
        {
            return "has its reasons";
        }
        cell reserve(rank, std::size_t) noexcept { return {}; }
        void commit(cell, std::uint16_t) noexcept {}
        template <class Sink> std::size_t poll(Sink&&, std::size_t) noexcept { return First; }
        template <class Sink> std::size_t poll_from(rank, Sink&&) noexcept { return First; }
        bool flush() noexcept { return true; }
        std::span<int const> descriptors() const noexcept { return {}; }

        unsigned slot, lane;
    };
};
using evens = to_some<0, 2>;
using thirds = to_some<1, 3>;
using both = mpt::transport::route<evens, thirds>;

template <class F> void on_wires(F&& f) {
    mpt::test::run_ranks(1, [&](mpt::boot::job& job, mpt::mem::slice_heap& heap, int) {
        mpt::config::values const v;
        both::wires<threads> wires{{threads{}, job, heap, 7, 2, 3, v}};
        job.meet();
        f(wires, job);
    });
}

TEST(transport_route, lists_what_it_is_made_of) {
    static_assert(both::count == 2 && both::names[1] == "to_some" && both::facts[0].max_frame == 48 &&
                  both::facts[1].max_frame == 49);
    static_assert(both::wires<threads>::facts_of<thirds::endpoint<threads>>().max_frame == 49);
    static_assert(mpt::transport_policy<evens> && !mpt::transport_policy<both>, "a route is made of transports, not of routes");
}

TEST(transport_route, the_first_transport_that_reaches_a_peer_carries_it) {
    on_wires([](auto& wires, auto&) {
        EXPECT_EQ(wires.pick(2), 0);
        EXPECT_EQ(wires.pick(1), 1);
        EXPECT_EQ(wires.pick(4), 0) << "both reach 4";
        EXPECT_EQ(wires.pick(5), wires.none) << "nobody reaches 5";
    });
}

TEST(transport_route, a_peer_that_nobody_reaches_is_explained_transport_by_transport) {
    on_wires([](auto& wires, auto&) { EXPECT_EQ(wires.why_not(5), "to_some: has its reasons; to_some: does not reach it"); });
}

TEST(transport_route, each_endpoint_has_its_own_slot_and_publishes_there) {
    on_wires([](auto& wires, mpt::boot::job& job) {
        std::set<unsigned> slots;
        wires.each([&](auto& e) {
            slots.insert(e.slot);
            EXPECT_EQ(e.lane, 2u);
        });
        EXPECT_EQ(slots, (std::set<unsigned>{0, 1}));
        for (int slot : {0, 1}) {
            auto const a = job.address(0, static_cast<unsigned>(slot), 2);
            ASSERT_EQ(a.size(), sizeof(int));
            int number = 0;
            std::memcpy(&number, a.data(), sizeof number);
            EXPECT_EQ(number, 1000 * slot + 10 * slot + 2);
        }
        EXPECT_TRUE(job.address(0, 0, 1).empty()) << "another lane's";
    });
}

TEST(transport_route, with_calls_on_the_endpoint_of_that_number) {
    on_wires([](auto& wires, auto&) {
        for (std::uint8_t i : {0, 1}) {
            EXPECT_EQ(wires.with(i, [](auto& e) { return e.slot; }), i);
            wires.with(i, [i](auto& e) { EXPECT_EQ(e.poll(0, 1), i); });
        }
    });
}
} // namespace
