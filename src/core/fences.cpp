// The sleeper's half of core/fences.hpp.
#include <mpt/core/fences.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpt::inline v0 {

void heavy_barrier() noexcept { ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }

bool register_heavy() noexcept { return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0; }

} // namespace mpt::inline v0
