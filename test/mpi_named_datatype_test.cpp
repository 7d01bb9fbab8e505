#include <array>

#include <gtest/gtest.h>
#include <mpt/datatype/typed.hpp>
#include <mpt/mpi/named_datatype.hpp>

namespace {
using mpt::datatype;

TEST(mpi_named_datatype, a_predefined_one_begins_with_the_standards_name) {
    mpt::named_datatype number{datatype::named(mpt::element_kind::c_double)};
    EXPECT_EQ(number.name(), "MPI_DOUBLE");
    number.set_name("metre");
    EXPECT_EQ(number.name(), "metre");
    EXPECT_EQ(mpt::named_datatype{datatype::contiguous(2, number)}.name(), "");
}

TEST(mpi_named_datatype, it_stands_wherever_a_datatype_does) {
    mpt::named_datatype const column{datatype::vector(3, 1, 2, datatype::named(mpt::element_kind::c_int)), "column"};
    std::array<int, 6> const matrix{1, 2, 3, 4, 5, 6};
    std::array<int, 3> out{};
    mpt::typed_source{matrix.data(), 1, column}.read(0, std::as_writable_bytes(std::span{out}));
    EXPECT_EQ(out, (std::array{1, 3, 5}));
    EXPECT_EQ(column.type().size(), 12);
}

TEST(mpi_named_datatype, a_dup_has_what_copy_callbacks_give_and_no_name) {
    int removed = 0, value = 3;
    auto const gone = [&](void*, std::int32_t, void*) { return ++removed, 0; };
    auto const copied = mpt::datatype_keys().create(mpt::copy_value, gone), alone = mpt::datatype_keys().create({}, gone);
    {
        mpt::named_datatype row{datatype::contiguous(4, datatype::named(mpt::element_kind::byte)), "row"};
        row.attributes().set(copied, &value), row.attributes().set(alone, &value);
        auto other = row.dup();
        EXPECT_EQ(other.name(), "");
        EXPECT_EQ(other.type().size(), 4);
        EXPECT_EQ(other.attributes().get(copied), static_cast<void*>(&value));
        EXPECT_FALSE(other.attributes().get(alone));
        auto moved = std::move(row);
        EXPECT_EQ(moved.attributes().get(alone), static_cast<void*>(&value));
        EXPECT_EQ(removed, 0);
    }
    EXPECT_EQ(removed, 3);
}
} // namespace
