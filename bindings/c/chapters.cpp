// What chapters do when MPI is entered and left, in this order.
#include "buffered.hpp"

namespace mpt::c {

void begin_chapters(binding&) {}
void end_chapters(binding& b) {
    flush_all(b);
    free_orphans(b);
}

} // namespace mpt::c
