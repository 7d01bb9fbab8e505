#include <vector>

#include "support/dice.hpp"
#include "support/job_of.hpp"
#include <gtest/gtest.h>
#include <mpt/mem/parts.hpp>

namespace {
using namespace mpt::test;
namespace mem = mpt::mem;

template <class F> void with_parts(F f) {
    run_ranks(1, [&](mpt::boot::job&, mem::slice_heap& heap, int) {
        mem::parts p{heap};
        f(p);
    });
}

TEST(mem_parts, are_zeroed_and_lie_on_pairs_of_lines) {
    with_parts([](mem::parts& p) {
        for (std::size_t n : {1u, 128u, 5000u, 200000u}) {
            auto* const a = p.take(n);
            ASSERT_NE(a, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % mpt::line_pair, 0u);
            for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(a->data()[i], std::byte{0});
            for (std::size_t i = 0; i < n; ++i) a->data()[i] = std::byte{7};
            p.retire(*a, 0);
        }
        EXPECT_EQ(p.retired(), 0u);
    });
}

TEST(mem_parts, are_used_again_only_after_all_members_left) {
    seeds const s{20};
    for (unsigned seed = s.first; seed != s.first + s.count; ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        with_parts([seed](mem::parts& p) {
            struct one {
                mem::part* what;
                std::uint32_t members, left;
                bool retired;
                std::byte mark;
            };
            dice d{seed};
            std::vector<one> all;
            auto const holds = [](one const& o) {
                for (int i = 0; i < 300; ++i)
                    if (o.what->data()[i] != o.mark) return false;
                return true;
            };
            for (int step = 0; step < 400; ++step) {
                if (all.empty() || d.below(3) == 0) {
                    one o{p.take(300), 1 + d.below(3), 0, false, static_cast<std::byte>(step)};
                    ASSERT_NE(o.what, nullptr);
                    for (auto const& other : all) ASSERT_NE(other.what, o.what) << "somebody still looks at it";
                    for (int i = 0; i < 300; ++i) o.what->data()[i] = o.mark;
                    all.push_back(o);
                    continue;
                }
                auto& o = all[d.below(static_cast<unsigned>(all.size()))];
                ASSERT_TRUE(holds(o));
                if (!o.retired && d.coin()) o.retired = true, p.retire(*o.what, o.members);
                else if (o.left < o.members) ++o.left, o.what->leave();
                std::erase_if(all, [](one const& x) { return x.retired && x.left == x.members; });
            }
        });
    }
}

TEST(mem_parts, come_and_go_without_growing) {
    with_parts([](mem::parts& p) {
        std::uint64_t after_ten = 0;
        for (int i = 0; i < 2000; ++i) {
            auto* const a = p.take(9000);
            ASSERT_NE(a, nullptr);
            p.retire(*a, 1);
            EXPECT_EQ(p.retired(), 1u);
            a->leave();
            if (i == 10) after_ten = p.heap().used();
        }
        EXPECT_EQ(p.heap().used(), after_ten);
    });
}

} // namespace
