#include <mpt/mem/standard.hpp>

#include "memory_conformance.hpp"

namespace mpt::test {
INSTANTIATE_TYPED_TEST_SUITE_P(standard, memory_conformance, testing::Types<mem::standard>);
} // namespace mpt::test
