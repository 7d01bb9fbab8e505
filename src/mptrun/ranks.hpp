// The ranks as processes: what they are given, and how they are started.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <mpt/boot/boot.hpp>

#include "options.hpp"

namespace mptrun {

/// Where a rank's standard streams lead; -1: mptrun's own.
struct streams {
    int in = -1, out = -1, err = -1;
};

/// The program as execve wants it. Throws usage_error when there is no such program.
std::string find_program(std::string_view name, std::string const& directory);

/// Starts ranks of one job.
class starter {
public:
    /// ignored: signals that mptrun was told to ignore (nohup), and so the ranks.
    starter(options const& o, mpt::mem::arena_plan const& plan, mpt::boot::control_header const& header,
            std::vector<int> ignored);
    /// Starts rank `me` in a process group of its own; returns its process id. Throws usage_error when the program cannot be run.
    pid_t start(int me, streams const& where);

private:
    options const& options_;
    std::string path_;
    mpt::mem::arena_plan plan_;
    std::string handed(int me) const;
    std::array<std::uint64_t, 2> cookie_;
    std::vector<int> ignored_;
    std::vector<std::string> environment_; // the last one is MPT_BOOT=...
};

} // namespace mptrun
