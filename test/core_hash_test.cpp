#include <array>
#include <string>
#include <unordered_set>

#include <gtest/gtest.h>
#include <mpt/core/hash.hpp>

using mpt::combine;
using mpt::fnv1a;
using mpt::hash_of;

namespace {

// The values of draft-eastlake-fnv, appendix C.
TEST(hash, gives_the_published_values) {
    static_assert(fnv1a("") == 0xcbf29ce484222325);
    static_assert(fnv1a("a") == 0xaf63dc4c8601ec8c);
    static_assert(fnv1a("foobar") == 0x85944171f73967e8);
    EXPECT_EQ(fnv1a(std::string(1, '\xff')), fnv1a(std::as_bytes(std::span{"\xff", 1})));
}

TEST(hash, goes_on_from_an_earlier_hash) { static_assert(fnv1a("bar", fnv1a("foo")) == fnv1a("foobar")); }

TEST(hash, takes_a_number_from_its_lowest_byte_whatever_its_type) {
    constexpr std::string_view seven{"\x07\0\0\0\0\0\0\0", 8};
    static_assert(combine(mpt::fnv_basis, 7u) == fnv1a(seven));
    static_assert(combine(mpt::fnv_basis, std::uint8_t{7}) == combine(mpt::fnv_basis, std::uint64_t{7}));
    static_assert(combine(1, std::byte{7}) == combine(1, 7));
}

TEST(hash, tells_order_and_boundaries_of_its_parts) {
    static_assert(hash_of("ab", "c") != hash_of("a", "bc"));
    static_assert(hash_of(1, 2) != hash_of(2, 1));
    static_assert(hash_of("x") != hash_of("x", 0));
    static_assert(hash_of("x", 1, 2u) == hash_of(std::string_view{"x"}, 1ull, std::uint8_t{2}));
}

TEST(hash, does_not_collide_on_a_hundred_thousand_near_numbers) {
    std::unordered_set<std::uint64_t> seen;
    for (unsigned i = 0; i < 100'000; ++i) EXPECT_TRUE(seen.insert(hash_of(i)).second) << i;
}

} // namespace
