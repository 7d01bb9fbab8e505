#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/core/error.hpp>
#include <mpt/datatype/typed.hpp>

#include "support/typemap.hpp"

namespace {
using mpt::datatype;
using mpt::element_kind;
using test::numbers;

using memory = std::vector<std::byte>;

memory noise(std::size_t n, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    memory m(n);
    for (auto& b : m) b = static_cast<std::byte>(random());
    return m;
}

/// A buffer that holds `count` elements, with a margin on both sides, and where their bytes lie in it.
struct room {
    numbers places; // of each packed byte, in `bytes`
    memory bytes;
    std::int64_t origin = 0; // where the buffer argument points

    room(test::typemap const& m, std::int64_t count, std::uint64_t seed) : places{m.bytes(count)} {
        constexpr std::int64_t margin = 40;
        auto const [low, high] = std::minmax_element(places.begin(), places.end());
        origin = places.empty() ? margin : margin - *low;
        for (auto& p : places) p += origin;
        bytes = noise(static_cast<std::size_t>(places.empty() ? 2 * margin : *high + margin + 1), seed);
    }
    std::byte* buffer() {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(bytes.data()) +
                                            static_cast<std::uintptr_t>(origin));
    }
    bool overlaps() const { return std::set<std::int64_t>(places.begin(), places.end()).size() != places.size(); }
    memory packed() const {
        memory p;
        for (auto const i : places) p.push_back(bytes[static_cast<std::size_t>(i)]);
        return p;
    }
};

struct piece {
    std::size_t offset, length;
};
/// Cuts [0, size) at random places, and mixes the pieces.
std::vector<piece> pieces_of(std::size_t size, test::random_types& random) {
    std::vector<piece> all;
    for (std::size_t at = 0; at < size;) {
        auto const n = std::min<std::size_t>(size - at, static_cast<std::size_t>(random.number(1, random.number(1, 200))));
        all.push_back({at, n});
        at += n;
    }
    for (std::size_t i = all.size(); i > 1; --i)
        std::swap(all[i - 1], all[static_cast<std::size_t>(random.number(0, static_cast<std::int64_t>(i) - 1))]);
    return all;
}

TEST(typed_source, packs_random_types_whole_and_in_any_pieces) {
    test::random_types random{test::seed()};
    for (int i = 0; i < 3000; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 4)));
        auto const count = random.number(0, 4);
        SCOPED_TRACE(s.name + " times " + std::to_string(count));
        room r{s.map, count, static_cast<std::uint64_t>(i)};
        auto const expected = r.packed();
        mpt::typed_source const source{r.buffer(), count, s.type};
        ASSERT_EQ(source.size(), expected.size());
        memory whole(expected.size()), pieces(expected.size());
        source.read(0, whole);
        ASSERT_EQ(whole, expected);
        for (auto const [offset, n] : pieces_of(expected.size(), random))
            source.read(offset, std::span{pieces}.subspan(offset, n));
        ASSERT_EQ(pieces, expected);
        source.read(source.size(), {});
        if (auto const c = source.contiguous()) {
            ASSERT_TRUE(std::equal(c->begin(), c->end(), expected.begin(), expected.end()));
        }
    }
}

TEST(typed_sink, unpacks_random_types_in_any_pieces_and_touches_nothing_else) {
    test::random_types random{test::seed()};
    int done = 0;
    for (int i = 0; i < 4000; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 4)));
        auto const count = random.number(0, 4);
        room r{s.map, count, static_cast<std::uint64_t>(i)};
        if (r.overlaps()) continue;
        ++done;
        SCOPED_TRACE(s.name + " times " + std::to_string(count));
        auto const message = noise(r.places.size(), static_cast<std::uint64_t>(i) + 77777);
        auto expected = r.bytes;
        for (std::size_t k = 0; k < message.size(); ++k) expected[static_cast<std::size_t>(r.places[k])] = message[k];
        auto const before = r.bytes;
        mpt::typed_sink const sink{r.buffer(), count, s.type};
        sink.write(0, message);
        ASSERT_EQ(r.bytes, expected);
        r.bytes = before;
        mpt::typed_sink const again{r.buffer(), count, s.type};
        for (auto const [offset, n] : pieces_of(message.size(), random))
            again.write(offset, std::span{message}.subspan(offset, n));
        ASSERT_EQ(r.bytes, expected);
    }
    EXPECT_GT(done, 1000);
}

TEST(typed_source, is_what_protocols_take) {
    std::vector<double> matrix(100);
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<double>(i);
    auto const column = datatype::vector(10, 1, 10, datatype::named(element_kind::c_double));
    mpt::typed_source const from{&matrix[3], 1, column};
    auto const source = mpt::source::of(from);
    EXPECT_FALSE(source.is_contiguous());
    std::vector<double> got(10);
    source.read(0, std::as_writable_bytes(std::span{got}));
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(got[i], static_cast<double>(10 * i + 3));
    mpt::typed_source const row{&matrix[30], 10, datatype::named(element_kind::c_double)};
    EXPECT_EQ(mpt::source::of(row).data(), reinterpret_cast<std::byte const*>(&matrix[30]));
}

TEST(typed_source, keeps_the_type_of_a_pending_operation) {
    std::vector<int> data{1, 2, 3, 4, 5, 6};
    auto t = datatype::vector(3, 1, 2, datatype::named(element_kind::c_int));
    mpt::typed_source const source{data.data(), 1, t};
    t = {};
    std::vector<int> got(3);
    source.read(0, std::as_writable_bytes(std::span{got}));
    EXPECT_EQ(got, (std::vector{1, 3, 5}));
}

TEST(typed_sink, takes_displacements_that_are_addresses) {
    int a = 1;
    double b = 2;
    auto const at = [](void* p) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p)); };
    auto const t =
        datatype::structure(numbers{1, 1}, numbers{at(&a), at(&b)},
                            std::array{datatype::named(element_kind::c_int), datatype::named(element_kind::c_double)});
    memory packed(12);
    mpt::typed_source{nullptr, 1, t}.read(0, packed);
    a = 0, b = 0;
    mpt::typed_sink{nullptr, 1, t}.write(0, packed);
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, 2);
}

TEST(typed_sink, of_nothing_is_empty) {
    mpt::typed_sink const none{nullptr, 0, datatype::named(element_kind::c_int)};
    EXPECT_EQ(none.size(), 0u);
    EXPECT_TRUE(none.contiguous()->empty());
    none.write(0, {});
    EXPECT_THROW((mpt::typed_sink{nullptr, -1, datatype::named(element_kind::c_int)}), mpt::error);
    EXPECT_THROW((mpt::typed_sink{nullptr, INT64_MAX, datatype::named(element_kind::c_int)}), mpt::error);
}

} // namespace
