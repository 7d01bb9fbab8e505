// The ranks as processes: what they are given, and how they are started.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include <mpt/boot/boot.hpp>

#include "image.hpp"
#include "sentinel.hpp"
#include "streams.hpp"

namespace mptrun {

/// Starts ranks of one job.
class starter {
public:
    /// ignored: signals that mptrun was told to ignore (nohup), and so the ranks.
    starter(options const& o, images const& what, mpt::mem::arena_plan const& plan, mpt::boot::control_header const& header,
            std::vector<int> ignored);
    /// Starts rank `me` in a process group of its own; returns its process id. Throws usage_error when the program cannot be run.
    pid_t start(int me, streams const& where, sentinel const& guard);

private:
    options const& options_;
    images const& images_;
    mpt::mem::arena_plan plan_;
    std::string handed(int me) const;
    std::array<std::uint64_t, 2> cookie_;
    std::vector<int> ignored_;
    rlimit files_{};
};

} // namespace mptrun
