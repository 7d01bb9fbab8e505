// What mptrun was asked to do.
#pragma once
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mptrun {

struct options {
    int ranks = 1;
    std::vector<std::pair<std::string, std::string>> variables; // -x NAME=value
    std::string directory;                                      // -wdir
    std::chrono::milliseconds timeout{0};                       // 0: none
    bool tag_output = false;
    bool help = false, version = false;
    std::vector<std::string> notes; // options of other launchers that mean nothing here
    char** program = nullptr;       // its argv, ending in nullptr
};

/// Something the user wrote that cannot be done; what() is the sentence.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

options parse(int argc, char** argv);
std::string_view help_text() noexcept;

/// "30", "30s", "500ms", "2m", "1h". Throws usage_error.
std::chrono::milliseconds duration(std::string_view text, std::string_view option);

} // namespace mptrun
