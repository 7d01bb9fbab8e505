// The standard stacks, compiled once: stack/standard.hpp declares them extern.
#include <mpt/stack/standard.hpp>

namespace mpt::inline v0 {

template class protocol::engine<standard_stack::world_type, standard_stack::route_type, standard_stack::uses>;
template class protocol::engine<local_stack::world_type, local_stack::route_type, local_stack::uses>;
template class protocol::engine<stream_stack::world_type, stream_stack::route_type, stream_stack::uses>;
template class protocol::engine<local_stream_stack::world_type, local_stream_stack::route_type, local_stream_stack::uses>;
template class runtime<standard_stack>;
template class runtime<local_stack>;
template class runtime<per_object_stack>;
template class runtime<local_per_object_stack>;
template class runtime<stream_stack>;
template class runtime<local_stream_stack>;

} // namespace mpt::inline v0
