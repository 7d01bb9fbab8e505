/// test/support/programs - where the programs are that tests of processes start.
#pragma once
#include <cstdlib>
#include <string>

namespace mpt::test {

inline std::string program(char const* variable, char const* otherwise) {
    auto const* const value = std::getenv(variable);
    return value ? value : otherwise;
}
inline std::string const mptrun = program("MPT_TEST_MPTRUN", "mptrun");
inline std::string const waits = program("MPT_TEST_WAITS", "c_waits"); // test/c/waits.cpp

/// May this be done here? What needs a permission is skipped where there is none.
inline bool permitted(std::string const& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

} // namespace mpt::test
