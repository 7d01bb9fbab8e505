/// flavour - which stack this library is made of, and how a call finds its rank's state.
///
///   The installed library: ranks are processes, and the state is one object. The flavour of the tests (MPT_C_THREADS): ranks are
///   threads of one process, and the state is the thread's. The flavour of mptcc -mt (MPT_C_PER_OBJECT): a lock for each object in
///   the place of one for all (lock/per_object.hpp).
#pragma once
#include <mpt/mpt.hpp>

namespace mpt::c {

#if defined(MPT_C_THREADS) && defined(MPT_C_PER_OBJECT)
using stack = local_per_object_stack;
#elif defined(MPT_C_THREADS)
using stack = local_stack;
#elif defined(MPT_C_PER_OBJECT)
using stack = per_object_stack;
#else
using stack = standard_stack;
#endif
using wire = channel<stack>;

} // namespace mpt::c
