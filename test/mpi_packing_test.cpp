#include <random>
#include <vector>

#include "support/dice.hpp"
#include "support/expect_error.hpp"
#include <mpt/mpi/packing.hpp>

namespace {
using namespace mpt::test;
using mpt::datatype;
using mpt::element_kind;

/// Random strided rows one after the other, against their numbers in a row.
TEST(mpi_packing, what_was_packed_comes_out_again_elsewhere) {
    seeds const all{50};
    for (auto seed = all.first; seed < all.first + all.count; ++seed) {
        dice d{seed};
        struct row {
            std::int64_t blocks, length, stride;
            std::vector<std::int32_t> data;
            datatype type() const { return datatype::vector(blocks, length, stride, datatype::named(element_kind::int32)); }
        };
        std::vector<row> rows;
        std::vector<std::int32_t> expected;
        std::size_t bytes = 0;
        for (auto n = 1 + d.below(5); n > 0; --n) {
            row r{d.below(6), 1 + d.below(4), 0, {}};
            r.stride = r.length + d.below(4);
            for (std::int64_t i = 0; i < r.blocks * r.stride; ++i) {
                r.data.push_back(static_cast<std::int32_t>(d.below(100000)));
                if (i % r.stride < r.length) expected.push_back(r.data.back());
            }
            bytes += mpt::pack_size(1, r.type());
            rows.push_back(std::move(r));
        }
        ASSERT_EQ(bytes, expected.size() * 4) << seed;
        for (bool const external : {false, true}) {
            std::vector<std::byte> box(bytes);
            std::size_t at = 0, from = 0;
            for (auto const& r : rows) (external ? mpt::pack_external : mpt::pack)(r.data.data(), 1, r.type(), box, at);
            EXPECT_EQ(at, bytes);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                auto const* const b = reinterpret_cast<unsigned char const*>(box.data()) + 4 * i;
                auto const big = static_cast<std::int32_t>(b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]);
                auto const little = static_cast<std::int32_t>(b[3] << 24 | b[2] << 16 | b[1] << 8 | b[0]);
                ASSERT_EQ(external ? big : little, expected[i]) << seed;
            }
            for (auto const& r : rows) {
                std::vector<std::int32_t> back(r.data.size(), -1);
                (external ? mpt::unpack_external : mpt::unpack)(box, from, back.data(), 1, r.type());
                for (std::size_t i = 0; i < back.size(); ++i)
                    EXPECT_EQ(back[i], static_cast<std::int64_t>(i) % r.stride < r.length ? r.data[i] : -1) << seed;
            }
            EXPECT_EQ(from, bytes);
        }
    }
}

TEST(mpi_packing, sizes_in_external32_are_the_standards) {
    EXPECT_EQ(mpt::pack_size(3, datatype::named(element_kind::c_long)), 24u);
    EXPECT_EQ(mpt::pack_external_size(3, datatype::named(element_kind::c_long)), 12u);
}

TEST(mpi_packing, a_box_that_is_too_small_stays_as_it_was) {
    auto const number = datatype::named(element_kind::c_int);
    std::vector<std::byte> box(10, std::byte{7});
    std::vector<int> data(3, -1);
    std::size_t at = 4;
    expect_error(mpt::error_class::truncate, {"pack", "10 bytes", "position 4", "2 elements of 4"},
                 [&] { mpt::pack(data.data(), 2, number, box, at); });
    expect_error(mpt::error_class::truncate, {"unpack_external", "position 4"},
                 [&] { mpt::unpack_external(box, at, data.data(), 2, number); });
    at = 11;
    expect_error(mpt::error_class::truncate, {"unpack", "position 11"}, [&] { mpt::unpack(box, at, data.data(), 0, number); });
    EXPECT_EQ(at, 11u);
    EXPECT_EQ(box, std::vector<std::byte>(10, std::byte{7}));
    EXPECT_EQ(data, std::vector<int>(3, -1));
    expect_error(mpt::error_class::count, {"pack_size", "-1"}, [&] { static_cast<void>(mpt::pack_size(-1, number)); });
}
} // namespace
