/// config/show - the table for human eyes.
///
///        listing()     MPT_SPIN = 2000 (default)                           what MPT_ENV_DISPLAY shows
///        announce()    warnings, and what the DISPLAY variables ask for    what rank 0 writes to standard error at start
///        explain()     the same with range, scope, default and help        mptinfo --env
///        markdown()    the page docs/environment.md                        mptinfo --markdown
///
///   Each walks the table: a row cannot be forgotten in one of them.
#pragma once
#include <string>

#include <mpt/config/config.hpp>

namespace mpt::inline v0::config {

/// One line for each variable, in the table's order.
std::string listing(values const& v);
/// What rank 0 writes to standard error when a job starts: nothing, unless a name is unknown or a variable asks for it.
std::string announce(values const& v);
/// A few lines for each variable.
std::string explain(values const& v);
/// The whole page; it depends on the table alone.
std::string markdown();

} // namespace mpt::inline v0::config
