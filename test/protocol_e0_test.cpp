#include "protocol_conformance.hpp"
#include <mpt/protocol/e0.hpp>

INSTANTIATE_TYPED_TEST_SUITE_P(e0, protocol_conformance, mpt::protocol::e0<>);
