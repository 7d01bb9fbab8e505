// Chapter 10 of the C interface: info objects; chapter 20: what the library says of its binary interface.
#include <algorithm>

#include <mpt/mpi/hardware.hpp>

#include "shared.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::ranks;

using model = std::vector<std::pair<std::string, std::string>>; // in the order in which the keys came

std::string value_of(MPI_Info i, std::string const& key) {
    char text[MPI_MAX_INFO_VAL];
    int room = sizeof text, flag = 0;
    EXPECT_EQ(MPI_Info_get_string(i, key.c_str(), &room, text, &flag), MPI_SUCCESS);
    if (!flag) return "(none)";
    EXPECT_EQ(static_cast<std::size_t>(room), std::string{text}.size() + 1);
    return text;
}

void expect_same(MPI_Info i, model const& m) {
    int n = -1;
    EXPECT_EQ(MPI_Info_get_nkeys(i, &n), MPI_SUCCESS);
    ASSERT_EQ(static_cast<std::size_t>(n), m.size());
    for (int k = 0; k < n; ++k) {
        char key[MPI_MAX_INFO_KEY];
        EXPECT_EQ(MPI_Info_get_nthkey(i, k, key), MPI_SUCCESS);
        EXPECT_EQ(key, m[static_cast<std::size_t>(k)].first);
        EXPECT_EQ(value_of(i, key), m[static_cast<std::size_t>(k)].second);
    }
}

TEST(CInfo, RandomProgramsAgreeWithAListOfPairs) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    ranks(1, [seed](int, int) {
        std::mt19937 random{seed};
        MPI_Info i = MPI_INFO_NULL;
        MPI_Info_create(&i);
        model m;
        for (int step = 0; step < 500; ++step) {
            auto const key = "key" + std::to_string(random() % 12);
            auto const at = std::ranges::find(m, key, &model::value_type::first);
            if (random() % 3 == 0) {
                auto const known = at != m.end();
                EXPECT_EQ(MPI_Info_delete(i, key.c_str()), known ? MPI_SUCCESS : MPI_ERR_INFO_NOKEY);
                if (known) m.erase(at);
            } else {
                std::string const value(random() % MPI_MAX_INFO_VAL, 'v');
                EXPECT_EQ(MPI_Info_set(i, key.c_str(), value.c_str()), MPI_SUCCESS);
                if (at != m.end()) at->second = value;
                else m.emplace_back(key, value);
            }
            if (step % 50 == 0) {
                MPI_Info copy = MPI_INFO_NULL;
                EXPECT_EQ(MPI_Info_dup(i, &copy), MPI_SUCCESS);
                std::swap(i, copy);
                MPI_Info_set(copy, "key0", "of the old one alone");
                EXPECT_EQ(MPI_Info_free(&copy), MPI_SUCCESS);
                EXPECT_EQ(copy, MPI_INFO_NULL);
            }
            expect_same(i, m);
        }
        MPI_Info_free(&i);
    });
}

TEST(CInfo, ValuesAreCutToTheRoomThatThereIs) {
    ranks(1, [](int, int) {
        MPI_Info i = MPI_INFO_NULL;
        MPI_Info_create(&i);
        MPI_Info_set(i, "k", "abcdef");
        char text[16] = "...............";
        int room = 0, flag = 0, length = -1;
        EXPECT_EQ(MPI_Info_get_string(i, "k", &room, nullptr, &flag), MPI_SUCCESS); // how long is it?
        EXPECT_EQ(room, 7);
        EXPECT_TRUE(flag);
        room = 4;
        MPI_Info_get_string(i, "k", &room, text, &flag);
        EXPECT_STREQ(text, "abc");
        EXPECT_EQ(room, 7);
        EXPECT_EQ(text[4], '.');
        room = 5;
        MPI_Info_get_string(i, "nothing", &room, text, &flag);
        EXPECT_FALSE(flag);
        EXPECT_EQ(room, 5);
        EXPECT_EQ(MPI_Info_get(i, "k", 4, text, &flag), MPI_SUCCESS); // the older form does not count the zero
        EXPECT_STREQ(text, "abcd");
        EXPECT_TRUE(flag);
        EXPECT_EQ(MPI_Info_get_valuelen(i, "k", &length, &flag), MPI_SUCCESS);
        EXPECT_EQ(length, 6);
        MPI_Info_get_valuelen(i, "nothing", &length, &flag);
        EXPECT_FALSE(flag);
        MPI_Info_free(&i);
    });
}

TEST(CInfo, TheEnvironmentCanOnlyBeRead) {
    ranks(2, [](int, int) {
        EXPECT_EQ(value_of(MPI_INFO_ENV, "maxprocs"), "2");
        EXPECT_NE(value_of(MPI_INFO_ENV, "wdir"), "(none)");
        MPI_Info i = MPI_INFO_ENV, copy = MPI_INFO_NULL;
        expect_failure(MPI_Info_set(i, "k", "v"), MPI_ERR_INFO, {"MPI_INFO_ENV"});
        expect_failure(MPI_Info_delete(i, "maxprocs"), MPI_ERR_INFO, {"MPI_INFO_ENV"});
        expect_failure(MPI_Info_free(&i), MPI_ERR_INFO, {"MPI_INFO_ENV"});
        EXPECT_EQ(MPI_Info_dup(MPI_INFO_ENV, &copy), MPI_SUCCESS);
        EXPECT_EQ(MPI_Info_set(copy, "maxprocs", "3"), MPI_SUCCESS);
        EXPECT_EQ(value_of(MPI_INFO_ENV, "maxprocs"), "2");
        MPI_Info_free(&copy);
        char program[] = "program", one[] = "one", two[] = "two";
        char* arguments[] = {program, one, two};
        EXPECT_EQ(MPI_Info_create_env(3, arguments, &i), MPI_SUCCESS);
        EXPECT_EQ(value_of(i, "command"), "program");
        EXPECT_EQ(value_of(i, "argv"), "one two");
        EXPECT_EQ(value_of(i, "maxprocs"), "2");
        MPI_Info_free(&i);
        EXPECT_EQ(MPI_Info_create_env(0, nullptr, &i), MPI_SUCCESS);
        EXPECT_EQ(value_of(i, "command"), "(none)");
        MPI_Info_free(&i);
    });
}

TEST(CInfo, TheEnvironmentKnowsWhatMainHandedOn) {
    mpt::c::binding mine;
    mine.membership = mpt::boot::local_members(1).front();
    mpt::c::take_up(mine);
    char program[] = "program", one[] = "one";
    char* list[] = {program, one, nullptr};
    char** arguments = list;
    int n = 2;
    EXPECT_EQ(MPI_Init(&n, &arguments), MPI_SUCCESS);
    EXPECT_EQ(value_of(MPI_INFO_ENV, "command"), "program");
    EXPECT_EQ(value_of(MPI_INFO_ENV, "argv"), "one");
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
}

TEST(CInfo, BadKeysAndDeadObjectsAreRefused) {
    ranks(1, [](int, int) {
        MPI_Info i = MPI_INFO_NULL;
        MPI_Info_create(&i);
        char text[MPI_MAX_INFO_KEY];
        int n = 0, flag = 0, negative = -1;
        std::string const long_key(MPI_MAX_INFO_KEY, 'k'), long_value(MPI_MAX_INFO_VAL, 'v');
        expect_failure(MPI_Info_set(i, long_key.c_str(), "v"), MPI_ERR_INFO_KEY, {"MPI_Info_set"});
        expect_failure(MPI_Info_set(i, "", "v"), MPI_ERR_INFO_KEY, {"MPI_Info_set"});
        expect_failure(MPI_Info_set(i, "k", long_value.c_str()), MPI_ERR_INFO_VALUE, {"MPI_Info_set"});
        expect_failure(MPI_Info_set(i, nullptr, "v"), MPI_ERR_ARG, {"key is a null pointer"});
        expect_failure(MPI_Info_get_nthkey(i, 0, text), MPI_ERR_ARG, {"MPI_Info_get_nthkey: there is no key 0"});
        expect_failure(MPI_Info_delete(i, "k"), MPI_ERR_INFO_NOKEY, {"MPI_Info_delete: there is no key \"k\""});
        expect_failure(MPI_Info_get_nthkey(i, -1, text), MPI_ERR_ARG, {"n is -1"});
        expect_failure(MPI_Info_get_string(i, "k", &negative, text, &flag), MPI_ERR_ARG, {"buflen is -1"});
        expect_failure(MPI_Info_get_nkeys(MPI_INFO_NULL, &n), MPI_ERR_INFO, {"MPI_INFO_NULL"});
        auto dead = i;
        MPI_Info_free(&i);
        expect_failure(MPI_Info_free(&dead), MPI_ERR_INFO, {"info is 0x", "freed"});
    });
}

TEST(CInfo, TheLibraryTellsItsSizesAndWhatItTakesFortransTypesFor) {
    ranks(1, [](int, int) {
        MPI_Info i = MPI_INFO_NULL;
        EXPECT_EQ(MPI_Abi_get_info(&i), MPI_SUCCESS);
        EXPECT_EQ(value_of(i, "mpi_aint_size"), std::to_string(sizeof(MPI_Aint)));
        EXPECT_EQ(value_of(i, "mpi_count_size"), "8");
        EXPECT_EQ(value_of(i, "mpi_offset_size"), "8");
        MPI_Info_free(&i);
        EXPECT_EQ(MPI_Abi_get_fortran_info(&i), MPI_SUCCESS);
        EXPECT_EQ(value_of(i, "mpi_integer_size"), "4");
        EXPECT_EQ(value_of(i, "mpi_double_precision_size"), "8");
        EXPECT_EQ(value_of(i, "mpi_integer8_supported"), "true");
        expect_failure(MPI_Abi_set_fortran_info(i), MPI_ERR_ABI, {"set already"});
        MPI_Info_free(&i);
        EXPECT_EQ(MPI_Get_hw_resource_info(&i), MPI_SUCCESS);
        EXPECT_EQ(value_of(i, "hwloc://Machine"), "true");
        EXPECT_EQ(value_of(i, "hwloc://PU"), mpt::own_cpus().size() == 1 ? "true" : "false");
        MPI_Info_free(&i);
    });
}

TEST(CInfo, FortransBooleansAreSetOnce) {
    ranks(1, [](int, int) {
        std::int32_t yes = -1, no = 0, is_yes = 5, is_no = 5;
        int flag = 1;
        EXPECT_EQ(MPI_Abi_get_fortran_booleans(4, &is_yes, &is_no, &flag), MPI_SUCCESS);
        EXPECT_FALSE(flag);
        EXPECT_EQ(is_yes, 5);
        expect_failure(MPI_Abi_set_fortran_booleans(3, &yes, &no), MPI_ERR_ARG, {"logical_size is 3"});
        EXPECT_EQ(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_SUCCESS);
        MPI_Abi_get_fortran_booleans(4, &is_yes, &is_no, &flag);
        EXPECT_TRUE(flag);
        EXPECT_EQ(is_yes, -1);
        EXPECT_EQ(is_no, 0);
        MPI_Abi_get_fortran_booleans(8, &is_yes, &is_no, &flag);
        EXPECT_FALSE(flag);
        expect_failure(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI, {"set already"});
    });
}

void nothing(MPI_Comm*, int*, ...) {}

TEST(CInfo, InfoObjectsAndErrorHandlersNeedNoInit) {
    mpt::c::binding mine;
    mpt::c::take_up(mine);
    MPI_Info i = MPI_INFO_NULL;
    EXPECT_EQ(MPI_Info_create(&i), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_set(i, "k", "v"), MPI_SUCCESS);
    EXPECT_EQ(value_of(i, "k"), "v");
    EXPECT_EQ(MPI_Info_free(&i), MPI_SUCCESS);
    int code = 0;
    EXPECT_EQ(MPI_Add_error_class(&code), MPI_SUCCESS);
    MPI_Errhandler h = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_create_errhandler(nothing, &h), MPI_SUCCESS);
    EXPECT_EQ(MPI_Errhandler_free(&h), MPI_SUCCESS);
}

} // namespace
