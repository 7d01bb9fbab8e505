// transport/transport.hpp: the contract accepts what it describes and refuses what lacks a part of it.
#include <gtest/gtest.h>
#include <mpt/transport/transport.hpp>
#include <mpt/world/native.hpp>

namespace {
using mpt::rank;
using native = mpt::world::native;

/// The least an endpoint can be: it reaches nobody.
struct nowhere {
    struct address {};
    class cell {
    public:
        explicit operator bool() const noexcept { return false; }
        std::span<std::byte> payload() noexcept { return {}; }
    };
    explicit nowhere(mpt::lane_context<native> const&) {}
    address local() const noexcept { return {}; }
    bool reaches(rank) const noexcept { return false; }
    cell reserve(rank, std::size_t) noexcept { return {}; }
    void commit(cell, std::uint16_t) noexcept {}
    template <class Sink> std::size_t poll(Sink&&, std::size_t) noexcept { return 0; }
    template <class Sink> std::size_t poll_from(rank, Sink&&) noexcept { return 0; }
    bool flush() noexcept { return true; }
    std::span<int const> descriptors() const noexcept { return {}; }
};
static_assert(mpt::transport_endpoint<nowhere, native>);
static_assert(!mpt::transport_belled<nowhere> && !mpt::transport_lending<nowhere> && !mpt::transport_readable<nowhere> &&
              !mpt::transport_joint<nowhere> && !mpt::transport_noticing<nowhere>);

struct throwing : nowhere {
    using nowhere::nowhere;
    cell reserve(rank, std::size_t) { return {}; } // not noexcept
};
static_assert(!mpt::transport_endpoint<throwing, native>, "nothing on the data path throws");

struct long_winded : nowhere {
    using nowhere::nowhere;
    struct address {
        std::array<std::byte, mpt::boot::control_record::address_bytes + 1> too_much;
    };
    address local() const noexcept { return {}; }
};
static_assert(!mpt::transport_endpoint<long_winded, native>, "an address must fit the control record");

struct half_reader : nowhere {
    using nowhere::nowhere;
    mpt::remote_memory expose(std::span<std::byte const>) noexcept { return {}; }
};
static_assert(!mpt::transport_readable<half_reader>, "expose() without get() is nothing");
struct reader : half_reader {
    using half_reader::half_reader;
    mpt::status get(rank, std::span<std::byte>, mpt::remote_memory const&, std::size_t) noexcept {
        return mpt::status::refused;
    }
};
static_assert(mpt::transport_readable<reader> && !mpt::transport_joint<reader>);

struct policy_of_48 {
    using kind = mpt::kind::transport;
    static constexpr std::string_view name = "48";
    static constexpr mpt::transport_facts facts{.max_frame = {48}};
};
struct policy_of_47 : policy_of_48 {
    static constexpr mpt::transport_facts facts{.max_frame = {47}};
};
struct another_kind : policy_of_48 {
    using kind = mpt::kind::protocol;
};
static_assert(mpt::transport_policy<policy_of_48>);
static_assert(!mpt::transport_policy<policy_of_47>, "the largest header of the protocols must fit a frame");
static_assert(!mpt::transport_policy<another_kind>);

TEST(transport_transport, what_goes_over_the_wire_has_the_size_it_was_given) {
    EXPECT_EQ(sizeof(mpt::remote_memory), 24u);
    EXPECT_EQ(offsetof(mpt::remote_memory, size), 8u);
    EXPECT_EQ(offsetof(mpt::remote_memory, in_slice), 16u);
}

TEST(transport_transport, facts_promise_nothing_unless_said) {
    constexpr mpt::transport_facts none;
    EXPECT_EQ(none.max_frame, 0u);
    EXPECT_FALSE(none.ordered || none.cross_process || none.lends || none.reads || none.joins);
}
} // namespace
