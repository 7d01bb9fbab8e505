// Chapter 7: communicators.
#include "binding.hpp"
#include "entries.hpp"

namespace mpt::c::impl {

void Comm_size(call&, comm& c, int& size) { size = c.size(); }
void Comm_rank(call&, comm& c, int& rank) { rank = c.me; }

} // namespace mpt::c::impl
