#include "protocol_conformance.hpp"
#include <mpt/protocol/e1.hpp>

INSTANTIATE_TYPED_TEST_SUITE_P(e1, protocol_conformance, mpt::protocol::e1<>);
