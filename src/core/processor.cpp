// What core/processor.hpp asks the processor.
#include <mpt/core/processor.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mpt::inline v0::processor {

bool swaps_wide() noexcept {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_CMPXCHG16B) != 0;
#else
    return false;
#endif
}

} // namespace mpt::inline v0::processor
