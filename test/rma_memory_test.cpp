#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/rma/memory.hpp>

#include "support/dice.hpp"

namespace {
using namespace mpt::test;
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

TEST(rma_memory, attached_is_what_was_attached_and_not_detached) {
    seeds const s{1};
    dice d{s.first};
    rma::attachments<mpt::world::native> a;
    std::vector<bool> model(2000);
    std::map<std::uint64_t, std::uint64_t> parts;
    for (int i = 0; i < 3000; ++i) {
        auto const at = 1 + d.below(1900), n = 1 + d.below(40);
        bool const is_free = std::none_of(model.begin() + at, model.begin() + at + n, [](bool b) { return b; });
        if (is_free && parts.size() < 63) a.add(at, n), parts[at] = n, std::fill_n(model.begin() + at, n, true);
        else if (!parts.empty()) {
            auto const p = std::next(parts.begin(), d.below(static_cast<unsigned>(parts.size())));
            a.remove(p->first), std::fill_n(model.begin() + static_cast<long>(p->first), p->second, false);
            parts.erase(p);
        }
        auto const from = 1 + d.below(1900), m = d.below(60);
        ASSERT_EQ(a.has(from, m), std::all_of(model.begin() + from, model.begin() + from + m, [](bool b) { return b; }))
            << from << ' ' << m;
    }
}

TEST(rma_memory, of_too_many_attachments_nobody_can_tell) {
    rma::attachments<mpt::world::native> a;
    for (std::uint64_t i = 1; i <= 64; ++i) {
        EXPECT_FALSE(a.has(1, 64));
        a.add(100 * i, 10);
    }
    EXPECT_TRUE(a.has(1, 64));
    EXPECT_FALSE(a.knows(1, 64));
    EXPECT_FALSE(a.knows(6400, 10));
    EXPECT_TRUE(a.knows(6300, 10));
    a.remove(6400);
    EXPECT_FALSE(a.has(1, 64));
    EXPECT_TRUE(a.has(6300, 10));
    EXPECT_FALSE(a.has(6300, 11));
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
