// What chapters do when MPI is entered and left, in this order.
#include "buffered.hpp"

namespace mpt::c {

void begin_chapters(binding& b, std::span<char const* const> arguments) {
    begin_attributes(b);
    b.infos.get(MPI_INFO_ENV).hints = environment_info(arguments, b.world->size());
    watch_for_tools(b);
}
void end_chapters(binding& b) {
    end_attributes(b);
    flush_all(b);
    free_orphans(b);
    leave_tools(b);
}

} // namespace mpt::c
