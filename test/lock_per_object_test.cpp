#include <mpt/lock/per_object.hpp>

#include "lock_conformance.hpp"

namespace mpt::test {
INSTANTIATE_TYPED_TEST_SUITE_P(per_object, lock_conformance, lock::per_object);
} // namespace mpt::test
