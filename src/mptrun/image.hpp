// What each rank is started as: the one answer for those who start it and for --dry-run.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "binding.hpp"
#include "options.hpp"

namespace mptrun {

struct image {
    std::string program; // for execve
    std::vector<std::string> arguments;
    std::vector<std::string> const* environment; // "NAME=value", but for what the job itself hands over
    part const* of;
    cpu_list const* cpus; // nullptr: not bound
};

class images {
public:
    /// Finds all programs: throws usage_error for one that is not there.
    images(options const& o, places where);
    image of(int rank) const;

private:
    struct prepared {
        std::string program;
        std::vector<std::string> environment;
    };
    options const& options_;
    places places_;
    std::vector<prepared> parts_;
    std::vector<std::string> prefix_of(int rank, part const& p) const;
};

/// Our environment as this part's ranks get it. Throws usage_error for a flavour that is not there.
std::vector<std::string> environment_of(part const& p);

/// True for one rank in gdb on our terminal.
bool debugs_here(options const& o);

/// The commands that would be run, as a shell reads them.
std::string dry_run(options const& o, images const& all, places const& where);

/// How to connect to each gdbserver, a line a rank.
std::string debugger_lines(options const& o, images const& all);

} // namespace mptrun
