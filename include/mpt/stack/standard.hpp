/// stack/standard - the stacks that most programs use, compiled once in libmpt_core.
#pragma once
#include <mpt/lock/per_object.hpp>
#include <mpt/stack/runtime.hpp>
#include <mpt/transport/stream.hpp>
#include <mpt/world/threads.hpp>

namespace mpt::inline v0 {

/// Ranks are processes of one node, several threads of a rank may call at once.
using standard_stack = stack<>;
/// Ranks are threads of one process: mpt::local_job.
using local_stack = stack<world::threads>;
/// The same two for programs whose threads use different communicators at once.
using per_object_stack = stack<lock::per_object>;
using local_per_object_stack = stack<lock::per_object, world::threads>;
/// Byte streams only, no remote memory: proves that no protocol assumes any.
using stream_stack = stack<transport::stream<>>;
using local_stream_stack = stack<transport::stream<>, world::threads>;

// Stamped in src/core/stacks.cpp. Inline members - the fast paths - are stamped by their users as well.
extern template class protocol::engine<standard_stack::world_type, standard_stack::route_type, standard_stack::uses>;
extern template class protocol::engine<local_stack::world_type, local_stack::route_type, local_stack::uses>;
extern template class protocol::engine<stream_stack::world_type, stream_stack::route_type, stream_stack::uses>;
extern template class protocol::engine<local_stream_stack::world_type, local_stream_stack::route_type,
                                       local_stream_stack::uses>;
extern template class runtime<standard_stack>;
extern template class runtime<local_stack>;
extern template class runtime<per_object_stack>;
extern template class runtime<local_per_object_stack>;
extern template class runtime<stream_stack>;
extern template class runtime<local_stream_stack>;

} // namespace mpt::inline v0
