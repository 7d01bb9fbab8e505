// On which CPUs each rank runs.
//
//        2 NUMA nodes, 4 ranks, nothing said          ranks 0, 1: all of node 0             ranks 2, 3: all of node 1
//        2 sockets, --bind-to core --map-by socket    rank 0: first core of socket 0        rank 1: first core of socket 1  ...
//
//   docs/mptrun.md says when nothing is bound. Cost: nothing for a rank alone, two files where there is one node; else a file a core. Tests:
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

/// The NUMA nodes that each share touches, whole: memory stays near, and no rank waits for a CPU while its neighbour's is idle. Empty
/// where that is all of them for everybody.
places widened(machine const& m, places shares);

/// What --bind-to and --map-by ask for. Throws usage_error where this machine does not say what they need.
places chosen(machine const& m, placing const& p, int ranks);

/// True where nobody narrowed our CPUs and no other mptrun binds ranks: then the job may be bound without being asked, until it ends.
bool may_bind(machine const& m);

/// Decides for this job; counts the ranks first where --map-by leaves them to the machine.
places bind_ranks(options& o);

/// "mptrun: ranks 0-3: not bound", a line for each run of equal ranks.
std::string binding_report(places const& where, int ranks);

} // namespace mptrun
