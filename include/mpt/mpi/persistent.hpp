/// mpi/persistent - a message that is described once, and sent or received again and again.
///
///        auto out = mpt::persistent_send(world, field, 1);         nothing is sent yet; `field` outlives it, and stays where it is
///        auto in = mpt::persistent_recv(world, room, 0);
///        for (...) { in.start(), out.start(); work(); in.wait(), out.wait(); }         of a range: mpt::start_all(messages)
///
///        inactive --- start() ---> pending --- wait() ---> inactive
///
///   Data are lvalues or views, or layouts (mpi/sendable.hpp) that live as long. Any send meets any receive.
///   One that is destroyed while it is pending waits, and is withdrawn where an exception unwinds past it, as any request.
///   Cost    a run is a message; nothing is prepared but its arguments.
///   Tests   test/mpi_persistent_test.cpp    Source MPI-4.1 section 3.9.
#pragma once
#include <functional>
#include <optional>
#include <utility>

#include <mpt/mpi/communicator.hpp>

namespace mpt::inline v0 {

template <class Stack> class [[nodiscard]] persistent {
    using request = basic_request<Stack>;
    std::function<request()> begin_;
    std::optional<request> run_; // the last one that was started, until it was waited for

public:
    explicit persistent(std::function<request()> begin) : begin_{std::move(begin)} {}

    bool pending() const noexcept { return run_.has_value(); }
    void start() {
        if (run_) throw error{errc::usage, "mpt: start: this message is under way; wait() comes first"};
        run_ = begin_();
    }
    /// One round of progress; true: complete, and wait() will not wait.
    bool test() { return !run_ || run_->test(); }
    /// Waits for what was started, if anything was.
    message_info wait() {
        if (!run_) return {proc_null, any_tag, 0};
        return std::exchange(run_, std::nullopt)->wait();
    }
    /// Asks to withdraw the run; wait() then says whether it was.
    void cancel() {
        if (run_) run_->cancel();
    }
};

/// Starts all of a range, in its order: messages, plans (mpi/planned.hpp). Section 3.9.
template <std::ranges::input_range R>
    requires requires(std::ranges::range_reference_t<R> one) { one.start(); }
void start_all(R&& all) {
    for (auto&& one : all) one.start();
}

template <class Stack, class Errors, class T>
    requires(std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<T>)
persistent<Stack> persistent_send(communicator_view<Stack, Errors> const& on, T&& data, rank to, tag t = 0,
                                  send_mode mode = send_mode::standard) {
    checks::label("persistent_send", t);
    if (to != proc_null) checks::to("persistent_send", to, on.size());
    return persistent<Stack>{[=, view = on.template with<errors::throwing>(), from = source{detail::bytes_of(data)}] {
        return mode == send_mode::standard ? view.isend(from, to, t) : view.issend(from, to, t);
    }};
}
/// The same where the receive is posted before each start. MPI-4.1 section 3.4: a ready send.
template <class Stack, class Errors, class T>
    requires(std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<T>)
persistent<Stack> persistent_rsend(communicator_view<Stack, Errors> const& on, T&& data, rank to, tag t = 0) {
    return persistent_send(on, std::forward<T>(data), to, t);
}
template <class Stack, class Errors, message_room T>
    requires(std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<T>)
persistent<Stack> persistent_recv(communicator_view<Stack, Errors> const& on, T&& into, rank from = any_source,
                                  tag t = any_tag) {
    checks::wanted("persistent_recv", t);
    if (from != proc_null) checks::from("persistent_recv", from, on.size());
    return persistent<Stack>{[=, view = on.template with<errors::throwing>(), room = sink{detail::room_of(into)}] {
        return view.irecv(room, from, t);
    }};
}

} // namespace mpt::inline v0
