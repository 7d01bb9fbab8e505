#include "protocol_conformance.hpp"
#include <mpt/protocol/rndv_put.hpp>

INSTANTIATE_TYPED_TEST_SUITE_P(rndv_put, protocol_conformance, mpt::protocol::rndv_put<>);
