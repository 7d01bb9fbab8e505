#include <array>
#include <complex>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/mpi/sendable.hpp>

namespace {
using mpt::growable, mpt::receivable, mpt::sendable;

struct particle {
    double x;
    int id;
};
struct with_string {
    std::string s;
};
enum class color : char { red };

// Values and contiguous ranges travel.
static_assert(sendable<int> && sendable<bool> && sendable<double const&> && sendable<particle> && sendable<color>);
static_assert(sendable<std::complex<double>> && sendable<std::vector<int>> && sendable<std::string> &&
              sendable<std::string_view>);
static_assert(sendable<std::array<int, 3>&> && sendable<int (&)[3]> && sendable<std::span<double const>> &&
              sendable<std::vector<particle>>);
// What means nothing elsewhere, or does not lie in one piece, does not.
static_assert(!sendable<int*> && !sendable<char const*> && !sendable<int particle::*> && !sendable<std::nullptr_t>);
static_assert(!sendable<void (*)()> && !sendable<std::vector<int*>> && !sendable<std::array<char const*, 2>>);
static_assert(!sendable<std::unique_ptr<int>> && !sendable<with_string> && !sendable<std::vector<std::string>>);
static_assert(!sendable<std::vector<bool>>, "its bits are no elements");
static_assert(!sendable<std::deque<int>> && !sendable<std::list<int>> && !sendable<std::vector<std::vector<int>>>);

// Room outlives the call and can be written.
static_assert(receivable<int&> && receivable<particle&> && receivable<std::vector<int>&> && receivable<int (&)[4]>);
static_assert(receivable<std::span<int>> && receivable<std::span<int>&> && receivable<std::string&>);
static_assert(!receivable<int> && !receivable<int const&> && !receivable<std::vector<int>>, "a temporary is no room");
static_assert(!receivable<std::vector<int> const&> && !receivable<std::span<int const>> && !receivable<std::string_view>);
static_assert(!receivable<std::vector<std::string>&> && !receivable<int*&> && !receivable<std::vector<bool>&>);

static_assert(growable<std::vector<int>> && growable<std::string>);
static_assert(!growable<std::array<int, 3>> && !growable<std::span<int>> && !growable<std::vector<int> const> &&
              !growable<std::vector<bool>>);

static_assert(std::is_same_v<mpt::element_t<std::vector<float>&>, float> &&
              std::is_same_v<mpt::element_t<particle const&>, particle>);
static_assert(std::is_same_v<mpt::element_t<std::span<int const>>, int>);

/// A handle: its bytes could be copied, but must not.
struct handle {
    int descriptor;
};
} // namespace
template <> inline constexpr bool mpt::is_sendable<handle> = false;
namespace {
static_assert(!sendable<handle> && !sendable<std::vector<handle>> && !receivable<handle&>);

TEST(mpi_sendable, the_bytes_of_a_value_are_its_own) {
    particle p{1.5, 3};
    auto const b = mpt::detail::bytes_of(p);
    EXPECT_EQ(static_cast<void const*>(b.data()), &p);
    EXPECT_EQ(b.size(), sizeof p);
}

TEST(mpi_sendable, the_bytes_of_a_range_are_its_elements) {
    std::vector<int> const v{1, 2, 3};
    auto const b = mpt::detail::bytes_of(v);
    EXPECT_EQ(static_cast<void const*>(b.data()), v.data());
    EXPECT_EQ(b.size(), 12u);
    int const a[4]{};
    EXPECT_EQ(mpt::detail::bytes_of(a).size(), 16u);
    EXPECT_EQ(mpt::detail::bytes_of(std::string_view{"abc"}).size(), 3u);
    EXPECT_TRUE(mpt::detail::bytes_of(std::vector<double>{}).empty());
}

TEST(mpi_sendable, room_is_where_the_element_or_the_elements_are) {
    int x = 0;
    EXPECT_EQ(static_cast<void*>(mpt::detail::room_of(x).data()), &x);
    std::array<double, 3> a{};
    EXPECT_EQ(mpt::detail::room_of(a).size(), 24u);
    EXPECT_EQ(static_cast<void*>(mpt::detail::room_of(std::span{a}.subspan(1)).data()), &a[1]);
}
} // namespace
