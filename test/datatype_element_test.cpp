#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/datatype/datatype.hpp>

namespace {
using mpt::datatype;
using mpt::element_class;
using mpt::element_kind;
using mpt::facts;

TEST(element, table_is_in_the_order_of_the_kinds) {
    EXPECT_EQ(facts(element_kind::byte).name, "MPI_BYTE");
    EXPECT_EQ(facts(element_kind::c_unsigned_long_long).name, "MPI_UNSIGNED_LONG_LONG");
    EXPECT_EQ(facts(element_kind::offset).name, "MPI_OFFSET");
    EXPECT_EQ(facts(element_kind::cxx_bool).name, "MPI_CXX_BOOL");
    EXPECT_EQ(facts(element_kind::cxx_long_double_complex).name, "MPI_CXX_LONG_DOUBLE_COMPLEX");
    EXPECT_EQ(facts(element_kind::long_double_int).name, "MPI_LONG_DOUBLE_INT");
    EXPECT_EQ(facts(element_kind::two_integer).name, "MPI_2INTEGER");
    EXPECT_EQ(facts(element_kind::integer16).name, "MPI_INTEGER16");
    EXPECT_EQ(facts(element_kind::complex32).name, "MPI_COMPLEX32");
}

/// Which named datatypes the standard's interface has: test/data/abi.
TEST(element, kinds_are_the_named_datatypes_of_the_interface) {
    auto const* data = std::getenv("MPT_TEST_DATA");
    ASSERT_NE(data, nullptr) << "meson test says where test/data is";
    std::ifstream table{std::string{data} + "/abi/mpi5_constants.tsv"};
    ASSERT_TRUE(table);
    std::map<std::string, std::string> value_of; // two names of one value are one type
    std::set<std::string> theirs, ours;
    for (std::string line; std::getline(table, line);) {
        std::vector<std::string> word(1);
        for (char const c : line)
            if (c == '\t') word.emplace_back();
            else word.back() += c;
        if (word.at(3) != "MPI_Datatype" || word[0] == "MPI_DATATYPE_NULL") continue;
        value_of[word[0]] = word[1];
        theirs.insert(word[1]);
    }
    value_of["MPI_LONG_LONG_INT"] =
        value_of["MPI_LONG_LONG"]; // the names that MPI-4.1 table 3.2 has first; the others are synonyms
    value_of["MPI_C_COMPLEX"] = value_of["MPI_C_FLOAT_COMPLEX"];
    for (std::size_t i = 0; i < mpt::element_kinds; ++i)
        ours.insert(value_of[std::string{facts(static_cast<element_kind>(i)).name}]);
    EXPECT_EQ(ours, theirs);
    EXPECT_EQ(ours.size(), mpt::element_kinds);
}

template <class Value> struct indexed {
    Value value;
    int index;
};
TEST(element, pairs_lie_as_structs_of_the_compiler) {
    auto const check = [](element_kind k, std::size_t size, std::size_t at) {
        auto const t = datatype::named(k);
        EXPECT_EQ(t.extent(), static_cast<std::int64_t>(size)) << facts(k).name;
        EXPECT_EQ(facts(k).extent, size) << facts(k).name;
        EXPECT_EQ(facts(k).second_at, at) << facts(k).name;
        EXPECT_EQ(t.elements(), 2);
        EXPECT_TRUE(t.is_predefined());
        EXPECT_EQ(t.element(), k);
    };
    check(element_kind::float_int, sizeof(indexed<float>), offsetof(indexed<float>, index));
    check(element_kind::double_int, sizeof(indexed<double>), offsetof(indexed<double>, index));
    check(element_kind::long_int, sizeof(indexed<long>), offsetof(indexed<long>, index));
    check(element_kind::int_int, sizeof(indexed<int>), offsetof(indexed<int>, index));
    check(element_kind::short_int, sizeof(indexed<short>), offsetof(indexed<short>, index));
    check(element_kind::long_double_int, sizeof(indexed<long double>), offsetof(indexed<long double>, index));
    EXPECT_EQ(datatype::named(element_kind::short_int).size(), 6);
    EXPECT_EQ(datatype::named(element_kind::long_double_int).size(), static_cast<std::int64_t>(sizeof(long double)) + 4);
}

TEST(element, sizes_follow_from_the_names_of_fortran) {
    for (auto k = element_kind::logical1; k != element_kind::mixed; k = static_cast<element_kind>(static_cast<int>(k) + 1)) {
        auto const name = std::string{facts(k).name};
        auto const size = std::stoi(name.substr(name.find_first_of("0123456789")));
        EXPECT_EQ(facts(k).size, size) << name;
        EXPECT_EQ(facts(k).external, size) << name;
        EXPECT_EQ(mpt::match_size(facts(k).values, size), k) << name;
    }
}

TEST(element, that_fits_no_size_is_not_found) {
    EXPECT_FALSE(mpt::match_size(element_class::real, 3));
    EXPECT_FALSE(mpt::match_size(element_class::complex, 2));
    EXPECT_EQ(mpt::match_size(element_class::real, 8), element_kind::real8);
    EXPECT_EQ(mpt::match_size(element_class::signed_integer, 4), element_kind::integer4);
}

} // namespace
