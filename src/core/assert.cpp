// Where a failed MPT_ASSERT ends.
#include <mpt/core/assert.hpp>

#include <cstdio>
#include <cstdlib>

namespace mpt::inline v0 {

void assertion_failed(char const* condition, char const* file, int line, char const* function) noexcept {
    std::fprintf(stderr, "mpt: a bug: this must be true and is not: %s (%s:%d, in %s)\n", condition, file, line, function);
    std::abort();
}

} // namespace mpt::inline v0
