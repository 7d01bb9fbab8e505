// transport/smp.hpp, by the laws of its contract: as it is, and with counters that wrap after a few frames.
#include <mpt/transport/smp.hpp>

#include "transport_memory_conformance.hpp"

namespace {
using policies = testing::Types<mpt::transport::smp<>, mpt::transport::smp<0xffffff80u>>;
INSTANTIATE_TYPED_TEST_SUITE_P(smp, transport_conformance, policies);
INSTANTIATE_TYPED_TEST_SUITE_P(smp, transport_lending_conformance, policies);
INSTANTIATE_TYPED_TEST_SUITE_P(smp, transport_readable_conformance, policies);
INSTANTIATE_TYPED_TEST_SUITE_P(smp, transport_joint_conformance, policies);
} // namespace
