/// generalized - a request whose operation is the user's: one that a call of his completes. MPI-4.1 section 13.2.
///
///        MPI_Grequest_start ---> active --- MPI_Grequest_complete ---> done --- wait, test: query_fn, free_fn ---> gone
///                                  `-- MPI_Request_free --> freed --- MPI_Grequest_complete: free_fn ---> gone
///
///   In the engine it is a task that is parked until the user completes it, so a thread that sleeps over it, alone or with others of
///   any kind, is woken as by a message. Its handle lives until it is complete, for the user names it by that.
///
///   Errors   of query_fn and free_fn are those of the call that ran them; where both fail, free_fn's counts.
#pragma once
#include "request.hpp"
#include "transfer.hpp"

namespace mpt::c {

struct user_functions {
    MPI_Grequest_query_function* query;
    MPI_Grequest_free_function* free;
    MPI_Grequest_cancel_function* cancel;
    void* state;
};

class generalized_request final : public request {
    user_functions call_;
    wire on_; // whose lane it waits on; nothing is sent
    protocol::request* own_ = nullptr;
    bool freed_ = false; // by the user; under the lane's lock

public:
    generalized_request(comm const& c, user_functions const& f) : call_{f}, on_{wire_of(c)} { by_handle = true; }
    ~generalized_request() override;

    void start() override;
    bool test() override { return on_.test(*own_); }
    bool peek(lane<stack> const& home) noexcept override { return &home == &on_.on() ? own_->complete : on_.on().peek(*own_); }
    lane<stack>& home() noexcept override { return on_.on(); }
    waiting about() const noexcept override { return {wait_for::any}; }
    ending seen() override;
    ending finish() override;
    void cancel() override;
    void abandon() override { active = false; }

    /// The operation is over. True: the user has freed it, so it is to be let go of.
    bool complete();
    /// The user frees it. True: it is complete already.
    bool give_up();
    /// Calls free_fn, which throws its error.
    void forget();
};

} // namespace mpt::c
