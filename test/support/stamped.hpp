/// test/support/stamped - what most tests of the facade are compiled with, compiled once (stamped.cpp) and linked into each of them.
#pragma once
#include <mpt/mpt.hpp>

#define MPT_TEST_STAMP_STACK(how, S)                                                                                           \
    how class lane<S>;                                                                                                         \
    how class channel<S>;                                                                                                      \
    how class coll::team<S>;                                                                                                   \
    how class environment<S>;                                                                                                  \
    how class rma::window<S>;                                                                                                  \
    how class rma::agent<S>;                                                                                                   \
    how class shmem::job<S>;                                                                                                   \
    how class shmem::memory<S>;                                                                                                \
    how class shmem::team<S>;                                                                                                  \
    how class shmem::context<S>;                                                                                               \
    how class basic_request<S>;                                                                                                \
    how struct communicator_state<S>;                                                                                          \
    how void detail::on_local_ranks<S>(std::int32_t, config::values const&, function_ref<void(environment<S>&)>);

#define MPT_TEST_STAMP(how)                                                                                                    \
    MPT_TEST_STAMP_STACK(how, local_stack)                                                                                     \
    MPT_TEST_STAMP_STACK(how, local_stream_stack)                                                                              \
    how class coll::node_room<world::threads>;                                                                                 \
    how class smp::neighbours<world::threads>;                                                                                 \
    how class smp::lending<world::threads>;                                                                                    \
    how class rma::attachments<world::threads>;

namespace mpt::inline v0 {
MPT_TEST_STAMP(extern template)
}
