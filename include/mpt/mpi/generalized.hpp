/// mpi/generalized - a request whose operation is the program's own: whoever does it says when it is done.
///
///        std::vector<request> all;
///        mpt::generalized work{world};
///        all.push_back(work.request());                                        is waited for as any other, and among others
///        all.push_back(world.irecv(room, 0));
///        std::thread helper{[&] { read(file); work.complete({.bytes = n}); }};
///        auto const first = mpt::wait_any(all);
///
///        mpt::generalized copy{world, {.query = progress_so_far, .free = drop_files, .cancel = stop_early}};
///
///        generalized ---> request() ---> wait ............... what complete() told
///            `----------- complete(), in any thread --------'
///
///   What complete() is given is what the request's wait() gives; where there is a query, its answer is. fail() ends it with an error, which
///   wait() throws. free runs once, when the request ends; cancel where somebody asks to withdraw it, with whether it is complete.
///   The functions run in the thread that asks; free does not throw. One that goes without having been completed completes as cancelled, so
///   nobody waits for it for ever: declare it after what holds its request. It does not outlive its environment.
///
///   Cost    no thread of ours; who sleeps over the request is woken as by a message.
///   Limit   without a cancel, asking to withdraw the request asks nobody. Functions are not called where the job ends meanwhile.
///   Tests   test/mpi_generalized_test.cpp    Source MPI-4.1 section 13.2.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <mpt/mpi/communicator.hpp>

namespace mpt::inline v0 {

/// Any may be empty.
struct generalized_callbacks {
    std::function<message_info()> query{};
    std::function<void()> free{};
    std::function<void(bool complete)> cancel{};
};

template <class Stack> class generalized {
    channel<Stack> wire_;
    group who_;
    std::shared_ptr<detail::user_operation> user_;
    protocol::request* under_way_;
    std::optional<basic_request<Stack>> request_; // until somebody asks for it

public:
    template <class Errors>
    explicit generalized(communicator_view<Stack, Errors> const& on, generalized_callbacks const& call = {})
        : wire_{on.native().wire}, who_{on.members()},
          user_{std::make_shared<detail::user_operation>(detail::user_operation{call.query, call.free, call.cancel})},
          under_way_{wire_.start_user()}, request_{std::in_place, wire_, who_, under_way_, user_} {}
    generalized(generalized&& o) noexcept
        : wire_{o.wire_}, who_{std::move(o.who_)}, user_{std::move(o.user_)}, under_way_{std::exchange(o.under_way_, nullptr)},
          request_{std::exchange(o.request_, std::nullopt)} {}
    generalized& operator=(generalized&&) = delete;
    ~generalized() {
        if (under_way_) complete({.cancelled = true});
    }

    /// Its request, once.
    basic_request<Stack> request() {
        if (!request_) throw error{errc::usage, "mpt: generalized: its request was taken already"};
        return *std::exchange(request_, std::nullopt);
    }
    /// The operation is over, and this is why it failed.
    void fail(error why) {
        if (under_way_) user_->failure = std::move(why);
        complete();
    }
    /// The operation is over. source: a rank of the communicator.
    void complete(message_info const& what = {}) {
        if (!under_way_) throw error{errc::usage, "mpt: complete: this generalized request is complete already"};
        checks::from("complete", what.source, who_.size());
        checks::wanted("complete", what.tag);
        auto const source = what.source == any_source ? rank{any_source} : who_.world(what.source);
        auto const how = what.cancelled ? status::cancelled : status::ok;
        wire_.complete(*std::exchange(under_way_, nullptr), {source, what.tag, what.bytes, how});
    }
};
template <class Stack, class Errors> generalized(communicator_view<Stack, Errors>) -> generalized<Stack>;
template <class Stack, class Errors> generalized(communicator_view<Stack, Errors>, generalized_callbacks) -> generalized<Stack>;

} // namespace mpt::inline v0
