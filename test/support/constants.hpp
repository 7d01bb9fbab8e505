// The constants of the C interface's table (bindings/c/mpi_constants.tbl), for tests that compare ours with them.
#pragma once
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace mpt::test {

/// Name and value of every numeric constant of a group.
inline std::map<std::string, long> constants_of(std::string const& group) {
    std::map<std::string, long> found;
    auto const* const path = std::getenv("MPT_TEST_CONSTANTS");
    if (path == nullptr) {
        ADD_FAILURE() << "MPT_TEST_CONSTANTS does not name the table";
        return found;
    }
    std::ifstream table{path};
    bool inside = false;
    for (std::string line; std::getline(table, line);) {
        if (!line.starts_with("    ")) inside = line.starts_with("group " + group + " ");
        if (!inside || !line.starts_with("    ")) continue;
        std::istringstream row{line};
        std::string name, value;
        row >> name >> value;
        found[name] = std::stol(value, nullptr, 0);
    }
    EXPECT_FALSE(found.empty()) << "no group " << group << " in " << path;
    return found;
}

} // namespace mpt::test
