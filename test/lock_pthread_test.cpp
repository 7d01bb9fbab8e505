#include <mpt/lock/pthread.hpp>

#include "lock_conformance.hpp"

namespace mpt::test {
INSTANTIATE_TYPED_TEST_SUITE_P(pthread, lock_conformance, lock::pthread);
} // namespace mpt::test
