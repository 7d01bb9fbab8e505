#include <gtest/gtest.h>
#include <mpt/protocol/machine.hpp>

namespace {
enum class light : std::uint8_t { red, green };
enum class push : std::uint8_t { button, hammer };
constexpr mpt::protocol::edge<light, push> edges[]{{light::red, push::button, light::green},
                                                   {light::green, push::button, light::red}};

TEST(protocol_machine, an_edge_leads_on_and_no_edge_is_told) {
    EXPECT_EQ(mpt::protocol::next_of(edges, light::red, push::button), light::green);
    EXPECT_EQ(mpt::protocol::next_of(edges, light::green, push::button), light::red);
    EXPECT_EQ(mpt::protocol::next_of(edges, light::red, push::hammer), std::nullopt);
}
} // namespace
