#include <gtest/gtest.h>

#include "support/scattered.hpp"
#include <mpt/core/copy.hpp>

namespace {
using namespace mpt::test;

TEST(core_copy, everything_arrives_from_any_layout_in_any_other) {
    seeds const s{300};
    for (unsigned seed = s.first; seed != s.first + s.count; ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        dice d{seed};
        auto const n = d.one_of<std::size_t>({0, 1, 63, 2047, 2048, 2049, 10000});
        auto const bytes = values_of(seed, 0, 0, n);
        scattered from{n, d}, into{n + d.below(3), d};
        from.fill(bytes);
        mpt::copy(from.out(), into.in());
        auto got = into.packed();
        got.resize(n);
        EXPECT_EQ(got, bytes);
        EXPECT_TRUE(into.whole());
    }
}

TEST(core_copy, bytes_that_are_in_their_place_stay_there) {
    std::vector<std::byte> v(100, std::byte{7});
    mpt::copy(mpt::source{v.data(), v.size()}, mpt::sink{v.data(), v.size()});
    EXPECT_EQ(v, std::vector<std::byte>(100, std::byte{7}));
}

TEST(core_copy, a_part_is_a_run_of_its_own) {
    seeds const s{300};
    for (unsigned seed = s.first; seed != s.first + s.count; ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        dice d{seed};
        auto const n = 1 + d.below(20000);
        auto const first = d.below(n), size = d.below(n - first + 1);
        auto bytes = values_of(seed, 0, 0, n);
        scattered from{n, d}, into{n, d};
        from.fill(bytes);
        into.fill(std::vector<std::byte>(n));
        mpt::source_part const out{from.out(), first, size};
        mpt::sink_part const in{into.in(), first, size};
        EXPECT_EQ(out.size(), size);
        mpt::copy(mpt::source::of(out), mpt::sink::of(in));
        for (std::size_t i = 0; i < n; ++i)
            if (i < first || i >= first + size) bytes[i] = std::byte{};
        EXPECT_EQ(into.packed(), bytes);
        EXPECT_EQ(mpt::source::of(out).is_contiguous(), from.out().is_contiguous());
    }
}
} // namespace
