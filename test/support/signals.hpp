/// test/support/signals - what a process does with a signal by now: a test sends one only where it is awaited.
#pragma once
#include <cstdint>
#include <fstream>
#include <string>

#include <unistd.h>

namespace mpt::test {

/// set: "SigIgn", the signals that it ignores, or "SigCgt", those that it catches.
inline bool has_signal(pid_t process, std::string const& set, int signal) {
    std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(set + ':'))
            return (std::stoull(line.substr(set.size() + 1), nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
}

} // namespace mpt::test
