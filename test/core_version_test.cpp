#include <string>

#include <gtest/gtest.h>
#include <mpt/core/version.hpp>

using mpt::fits;
using mpt::version;

namespace {

TEST(version, of_the_headers_is_that_of_the_project) { EXPECT_EQ(to_string(mpt::header_version), MPT_TEST_PROJECT_VERSION); }

TEST(version, of_the_library_under_test_is_that_of_the_headers) {
    EXPECT_EQ(mpt::core_version(), mpt::header_version);
    EXPECT_NO_THROW(mpt::require_matching_core());
}

TEST(version, before_one_the_minor_number_may_break) {
    static_assert(fits({0, 1, 0}, {0, 1, 9}) && fits({0, 1, 9}, {0, 1, 0}));
    static_assert(!fits({0, 1, 0}, {0, 2, 0}) && !fits({0, 2, 0}, {0, 1, 0}));
    static_assert(!fits({0, 1, 0}, {1, 1, 0}));
}

TEST(version, from_one_on_a_newer_minor_library_serves_older_headers) {
    static_assert(fits({1, 1, 3}, {1, 4, 0}));
    static_assert(!fits({1, 4, 0}, {1, 1, 3}) && !fits({1, 1, 0}, {2, 1, 0}));
}

TEST(version, a_foreign_library_is_refused_with_both_versions_and_the_way_out) {
    try {
        mpt::require_matching_core({0, 7, 1}, {0, 6, 2});
        FAIL() << "accepted";
    } catch (mpt::error const& e) {
        EXPECT_EQ(e.code(), mpt::errc::usage);
        std::string const what = e.what();
        EXPECT_NE(what.find("headers of mpt 0.7.1"), what.npos) << what;
        EXPECT_NE(what.find("libmpt_core 0.6.2"), what.npos) << what;
        EXPECT_NE(what.find("LD_LIBRARY_PATH"), what.npos) << what;
    }
}

TEST(version, the_build_names_compiler_kind_machine_and_commit) {
    std::string_view const build = mpt::core_build();
    EXPECT_TRUE(build.find("++") != build.npos || build.find("lang") != build.npos) << build;
    EXPECT_TRUE(build.find("release") != build.npos || build.find("debug") != build.npos) << build;
    EXPECT_TRUE(build.find("-") != build.npos || build.find("unknown commit") != build.npos) << build; // a date has dashes
}

} // namespace
