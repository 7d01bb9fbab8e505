#include <algorithm>

#include <gtest/gtest.h>
#include <mpt/coll/pieces.hpp>

#include "support/sanitized.hpp"

namespace {
namespace coll = mpt::coll;

TEST(coll_pieces, a_value_by_rank_is_made_when_it_is_asked_for) {
    int asked = 0;
    auto const f = [&](std::int32_t r) { return ++asked, static_cast<std::size_t>(10 * r); };
    coll::by_rank<std::size_t> const sizes{f};
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(sizes(3), 30u);
    EXPECT_EQ(sizes(0), 0u);
    EXPECT_EQ(asked, 2);
}

TEST(coll_pieces, equal_blocks_lie_side_by_side) {
    std::array<std::byte, 12> memory{};
    coll::blocks const b{memory, 4};
    coll::const_blocks const c{memory, 4};
    for (std::int32_t r = 0; r < 3; ++r) {
        EXPECT_EQ(b(r).in.data(), memory.data() + 4 * r);
        EXPECT_EQ(b(r).out.data(), memory.data() + 4 * r);
        EXPECT_EQ(c(r).data(), memory.data() + 4 * r);
        EXPECT_EQ(b(r).in.size(), 4u);
        EXPECT_EQ(c(r).size(), 4u);
    }
}

TEST(coll_pieces, places_are_sources_and_sinks_by_rank) {
    std::array<std::byte, 6> memory{};
    coll::blocks const b{memory, 2};
    coll::by_rank<mpt::source> const out{b};
    coll::by_rank<mpt::sink> const in{b};
    EXPECT_EQ(out(1).data(), memory.data() + 2);
    EXPECT_EQ(in(2).data(), memory.data() + 4);
}

TEST(coll_pieces, scratch_of_nothing_is_nothing_and_too_much_is_a_sentence) {
    EXPECT_EQ(coll::scratch{0}.all().size(), 0u);
    EXPECT_EQ(coll::scratch{0}.data(), nullptr);
    for (std::size_t const n : {1u, 256u, 257u})
        std::ranges::fill(coll::scratch{n}.all(), std::byte{7}); // AddressSanitizer watches
    coll::scratch const s{10};
    EXPECT_EQ(s.part(3, 4).data(), s.data() + 3);
    if (mpt::test::sanitized) return; // sanitizers' allocators end the program instead
    try {
        coll::scratch const far_too_much{std::size_t{1} << 60};
        FAIL() << "there is no such machine";
    } catch (mpt::error const& e) {
        EXPECT_EQ(e.code(), mpt::errc::no_memory);
        EXPECT_NE(std::string{e.what()}.find("1152921504606846976 bytes"), std::string::npos) << e.what();
    }
}
} // namespace
