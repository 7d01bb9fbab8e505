#include <gtest/gtest.h>
#include <mpt/rma/memory.hpp>

namespace {
namespace rma = mpt::rma;
using target = rma::target<mpt::world::native>;

TEST(rma_memory, is_the_windows_and_mapped_where_all_of_it_is) {
    std::byte here[100];
    auto const at = reinterpret_cast<std::uintptr_t>(here);
    target t;
    t.base = 5000, t.size = 200;
    t.low = 5050, t.reach = 100, t.shift = at - 5050;
    EXPECT_TRUE(t.has(5000, 200));
    EXPECT_TRUE(t.has(5200, 0));
    EXPECT_FALSE(t.has(5000, 201));
    EXPECT_FALSE(t.has(4999, 1));
    EXPECT_FALSE(t.has(5199, ~std::uint64_t{0}));
    EXPECT_EQ(t.mapped(5050, 100), here);
    EXPECT_EQ(t.mapped(5149, 1), here + 99);
    EXPECT_EQ(t.mapped(5049, 2), nullptr);
    EXPECT_EQ(t.mapped(5149, 2), nullptr);
    EXPECT_EQ(t.mapped(0, 1), nullptr);
}

TEST(rma_memory, is_the_kernels_to_give_only_of_the_right_process) {
    rma::card c;
    std::uint64_t const words[]{42, 43};
    c.pid = mpt::smp::own_process();
    c.probe_at = reinterpret_cast<std::uintptr_t>(words);
    c.probe[0] = 42, c.probe[1] = 43;
    std::uint64_t seen[2];
    if (mpt::smp::read_process(c.pid, seen, c.probe_at, sizeof seen) == mpt::status::refused)
        GTEST_SKIP() << "the kernel refuses CMA";
    EXPECT_TRUE(rma::kernel_reaches(c));
    c.probe[1] = 44;
    EXPECT_FALSE(rma::kernel_reaches(c));
    c.probe[1] = 43, c.probe_at = 8;
    EXPECT_FALSE(rma::kernel_reaches(c));
}
} // namespace
