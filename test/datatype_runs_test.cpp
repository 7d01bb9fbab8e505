#include <gtest/gtest.h>
#include <mpt/datatype/runs.hpp>

#include "support/typemap.hpp"

namespace {
using namespace test;

/// Where the packed bytes are, told in lists of at most `runs` runs and `most` bytes.
numbers told(mpt::typed_runs const& t, std::size_t runs, std::size_t most) {
    numbers all;
    std::vector<mpt::memory_run> into(runs);
    while (static_cast<std::size_t>(std::ssize(all)) < t.size()) {
        auto const l = t.list(all.size(), most, into);
        if (l.bytes == 0 || l.bytes > most || l.runs > runs) return {};
        std::size_t sum = 0;
        for (std::size_t r = 0; r < l.runs; ++r) {
            for (std::uint64_t i = 0; i < into[r].bytes; ++i) all.push_back(static_cast<std::int64_t>(into[r].at + i));
            sum += into[r].bytes;
        }
        if (sum != l.bytes) return {};
    }
    return all;
}

TEST(datatype_runs, tell_where_every_packed_byte_is) {
    random_types random{seed()};
    for (int i = 0; i < 1500; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 3)));
        auto const count = random.number(0, 3);
        auto const at = 1'000'000u;
        mpt::typed_runs const t{at, count, s.type};
        auto expected = s.map.bytes(count);
        for (auto& b : expected) b += at;
        auto const runs = static_cast<std::size_t>(random.number(1, 9)), most = static_cast<std::size_t>(random.number(1, 90));
        EXPECT_EQ(told(t, runs, most), expected) << s.name << ", " << count << " of it, lists of " << runs << " and " << most;
    }
}

TEST(datatype_runs, that_touch_are_one) {
    mpt::typed_runs const t{64, 10, datatype::named(element_kind::c_int)};
    mpt::memory_run r[3];
    auto const l = t.list(8, 100, r);
    EXPECT_EQ(l.runs, 1u);
    EXPECT_EQ(r[0], (mpt::memory_run{72, 32}));
}

TEST(datatype_runs, elements_are_uniform_whatever_their_places) {
    random_types random{seed()};
    for (int i = 0; i < 1500; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 3)));
        auto kind = s.map.units.empty() ? element_kind::mixed : s.map.units[0].kind;
        for (auto const& u : s.map.units)
            if (u.kind != kind) kind = element_kind::mixed;
        EXPECT_EQ(mpt::uniform_element(s.type), kind) << s.name;
    }
}
} // namespace
