/// test/support/over_streams - included before an example's own text (-include): the same source, with byte streams where it
/// names no stack. For tests only; a program of one's own says mpt::environment<mpt::stream_stack>.
#pragma once
#define standard_stack shared_memory_stack
#define local_stack local_shared_memory_stack
#include <mpt/stack/standard.hpp>
#undef standard_stack
#undef local_stack

namespace mpt::inline v0 {
using standard_stack = stream_stack;
using local_stack = local_stream_stack;
} // namespace mpt::inline v0

#include <mpt/mpi/environment.hpp>
static_assert(std::is_same_v<mpt::environment<>::stack_type, mpt::stack<mpt::transport::stream<>>>);
