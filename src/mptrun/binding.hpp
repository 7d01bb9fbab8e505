// On which CPUs each rank runs.
//
//        8 CPUs, 4 cores, 3 ranks, nothing said:     rank 0: 1 core    rank 1: 1 core    rank 2: 2 cores
//        --bind-to core --map-by socket, 2 sockets:  rank 0: first core of socket 0, rank 1: first of socket 1, rank 2: second of 0
//
//   docs/mptrun.md says when nothing is bound. Cost: nothing for a rank alone; else a file a core, read once. Tests:
//   test/proc/mptrun_options_test.cpp, on trees of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "machine.hpp"

namespace mptrun {

/// The CPUs of each rank; empty: nobody is bound.
using places = std::vector<cpu_list>;

/// Even shares for so many ranks: whole cores while there are enough of them. Empty where there is no share for everybody.
places even_shares(machine const& m, int ranks);

/// What --bind-to and --map-by ask for. Throws usage_error where this machine does not say what they need.
places chosen(machine const& m, placing const& p, int ranks);

/// True where nobody narrowed our CPUs and no other mptrun binds ranks: then the job may be bound without being asked, until it ends.
bool may_bind(machine const& m);

/// Decides for this job; counts the ranks first where --map-by leaves them to the machine.
places bind_ranks(options& o);

/// "ranks 0-3: not bound", a line for each run of equal ranks.
std::string binding_report(places const& where, int ranks);

} // namespace mptrun
