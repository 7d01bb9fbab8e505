/// mpi/request - a non-blocking operation that cannot outlive its buffer.
///
///   request     from isend/irecv on a buffer of the caller's. Its destructor waits, so declare it after the buffer. Temporaries
///               are refused at compile time. When an exception unwinds past it, it is withdrawn unless its message is matched
///               already (a receive that no message has met, a send that no receive has): nobody waits for a message, or for
///               a receive, that may never come. A peer forgets a send at its next progress; until then its buffer is kept.
///   future<C>   from isend(std::move(container)) and irecv<container>(): owns the container, and wait() gives it back.
///
///   get_status() tells what wait() would, where it would not wait, and leaves the request as it is.
///   wait_all, wait_any, wait_some, test_all, test_any, test_some work on ranges of requests of one environment.
///   MPI-4.1 section 3.7.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <mpt/mpi/checks.hpp>
#include <mpt/mpi/message.hpp>
#include <mpt/mpi/sendable.hpp>
#include <mpt/stack/group.hpp>
#include <mpt/stack/p2p.hpp>

namespace mpt::inline v0 {

namespace detail {
/// Turns an engine's outcome into what the caller sees; throws what must be said.
/// from: the rank in `who` that was asked for; its place need not be looked up.
[[gnu::always_inline]] inline message_info seen_by(char const* call, group const& who, outcome const& out, std::size_t room,
                                                   rank from = any_source) {
    auto const source = from != any_source ? from : who.find(out.source).value_or(rank{any_source});
    if (out.how == status::truncated) [[unlikely]]
        checks::too_long(call, out.bytes, room, source, out.label);
    if (out.how != status::ok && out.how != status::cancelled) [[unlikely]]
        checks::failed(call, out.how);
    return {source, out.label, static_cast<std::size_t>(out.bytes), out.how == status::cancelled};
}

/// The engine's question once it knows the size: room, please.
template <class C> status grow(protocol::request& r, std::uint64_t bytes) {
    auto& c = *static_cast<C*>(r.user);
    constexpr auto one = sizeof(std::ranges::range_value_t<C>);
    try {
        c.resize((bytes + one - 1) / one);
    } catch (std::bad_alloc const&) { return status::no_memory; } catch (std::length_error const&) {
        return status::no_memory;
    }
    r.into = sink{std::as_writable_bytes(std::span{std::ranges::data(c), std::ranges::size(c)})};
    return status::ok;
}

/// What the program says of an operation that is its own (mpi/generalized.hpp). Empty functions: nothing is asked or done.
struct user_operation {
    std::function<message_info()> query;
    std::function<void()> free;
    std::function<void(bool complete)> cancel;
    std::optional<error> failure{};     // what it ended with
    std::optional<message_info> seen{}; // what query said when it ended

    message_info ask(message_info const& told) const {
        if (failure) throw error{*failure};
        if (seen) return *seen;
        return query ? query() : told;
    }
    /// Nobody asks any more but for what was said now.
    void end(message_info const& told) {
        try {
            seen = ask(told);
        } catch (error const& e) { failure = e; }
        release();
    }
    void release() {
        if (free) std::exchange(free, nullptr)();
    }
};
} // namespace detail

template <class Stack> class [[nodiscard]] basic_request {
    std::optional<channel<Stack>> wire_;
    group who_;
    protocol::request* r_ = nullptr;
    std::size_t room_ = 0;
    int exceptions_ = 0;                                              // on their way when this was made
    bool over_ = false;                                               // complete when it was made, and not waited for yet
    std::optional<outcome> end_{};                                    // once the engine has told
    message_info done_{proc_null, any_tag, 0};                        // else: of one that was complete when it was made
    std::unique_ptr<std::shared_ptr<detail::user_operation>> user_{}; // one word that few requests have

public:
    using stack_type = Stack;

    /// A request that is complete: what a transfer with proc_null gives.
    basic_request() = default;
    basic_request(channel<Stack> wire, group who, protocol::request* r, std::size_t room)
        : wire_{wire}, who_{std::move(who)}, r_{r}, room_{room}, exceptions_{std::uncaught_exceptions()} {}
    /// Of an operation of the program's.
    basic_request(channel<Stack> wire, group who, protocol::request* r, std::shared_ptr<detail::user_operation> user)
        : basic_request{wire, std::move(who), r, std::size_t{0}} {
        user_ = std::make_unique<std::shared_ptr<detail::user_operation>>(std::move(user));
    }
    /// One that is complete: what a send gives that has left at once. Of no communicator, so nothing of one is copied.
    explicit basic_request(message_info const& done) noexcept : over_{true}, done_{done} {}
    /// One whose end wait() tells, or throws.
    basic_request(channel<Stack> wire, group who, outcome const& end, std::size_t room)
        : wire_{wire}, who_{std::move(who)}, room_{room}, over_{true}, end_{end} {}
    basic_request(basic_request&& o) noexcept
        : wire_{o.wire_}, who_{std::move(o.who_)}, r_{std::exchange(o.r_, nullptr)}, room_{o.room_}, exceptions_{o.exceptions_},
          over_{std::exchange(o.over_, false)}, end_{o.end_}, done_{o.done_}, user_{std::move(o.user_)} {}
    basic_request& operator=(basic_request&& o) noexcept {
        if (this == &o) return *this;
        settle();
        wire_ = o.wire_, who_ = std::move(o.who_), room_ = o.room_, exceptions_ = o.exceptions_, end_ = o.end_, done_ = o.done_;
        user_ = std::move(o.user_);
        r_ = std::exchange(o.r_, nullptr);
        over_ = std::exchange(o.over_, false);
        return *this;
    }
    ~basic_request() { settle(); }

    bool pending() const noexcept { return r_ != nullptr || over_; }
    /// Waits, and tells of the message. A second call tells the same, or throws the same. When the job ends meanwhile, the
    /// request stays pending, and every call says so.
    message_info wait() {
        if (r_) {
            end_ = wire_->finish(*r_, about());
            r_ = nullptr;
        }
        over_ = false;
        if (user_) [[unlikely]]
            return of_user();
        return told("wait", end_);
    }
    /// One round of progress; true: complete, and wait() will not wait.
    bool test() { return !r_ || wire_->test(*r_); }
    /// One round of progress; where the request is complete what wait() would tell, or throw. MPI-4.1 section 3.7.6.
    std::optional<message_info> get_status() {
        if (!test()) return std::nullopt;
        auto const seen = told("get_status", r_ ? std::optional{r_->result} : end_);
        return user_ ? (*user_)->ask(seen) : seen;
    }
    /// Asks to withdraw; wait() then says whether it was. MPI-4.1 section 3.8.4.
    void cancel() {
        if (!r_) return;
        if (!user_ || !(*user_)->cancel) return void(wire_->cancel(*r_));
        (*user_)->cancel(wire_->on().enter([this](auto&) { return r_->complete; }));
    }

    /// For the wait and test families. nullptr: complete, if it is pending at all.
    protocol::request* native() const noexcept { return r_; }
    /// There is one where native() is.
    std::optional<channel<Stack>> const& wire() const noexcept { return wire_; }

private:
    [[gnu::noinline]] message_info of_user() {
        (*user_)->end(told("wait", end_));
        return (*user_)->ask({});
    }
    [[gnu::always_inline]] message_info told(char const* call, std::optional<outcome> const& end) const {
        if (!end) return done_;
        return detail::seen_by(call, who_, *end, room_);
    }
    waiting about() const noexcept {
        auto const send = r_ && r_->kind == protocol::role::send;
        return {send ? wait_for::pending_send : wait_for::pending_receive, wire_->context(),
                r_ ? r_->wanted.source : rank{any_source}, r_ ? r_->wanted.label : tag{any_tag}, room_};
    }
    void settle() noexcept {
        if (!r_) return;
        try {
            if (std::uncaught_exceptions() > exceptions_) wire_->abandon(*r_, about());
            else wire_->finish(*r_, about());
            if (user_) (*user_)->release();
        } catch (error const&) { // the job is over: nobody will touch the buffer any more
        }
        r_ = nullptr;
    }
};

/// A pending operation that owns its container.
template <class Stack, class Container> class [[nodiscard]] basic_future {
    std::unique_ptr<Container> box_; // its address is the engine's
    basic_request<Stack> request_;

public:
    basic_future(std::unique_ptr<Container> box, basic_request<Stack> r) : box_{std::move(box)}, request_{std::move(r)} {}
    basic_future(basic_future&&) noexcept = default;
    basic_future& operator=(basic_future&& o) noexcept {
        request_ = std::move(o.request_); // waits for what is under way in the old box, which goes after that
        box_ = std::move(o.box_);
        return *this;
    }
    bool test() { return request_.test(); }
    /// The container: as it was sent, or with the message in it.
    Container wait(message_info* info = nullptr) {
        auto const m = request_.wait();
        if (info) *info = m;
        if (m.bytes % sizeof(std::ranges::range_value_t<Container>) != 0)
            checks::not_whole("irecv", m.bytes, sizeof(std::ranges::range_value_t<Container>));
        return std::move(*box_);
    }
};

template <class R> inline constexpr bool is_request = false;
template <class Stack> inline constexpr bool is_request<basic_request<Stack>> = true;

template <class R>
concept request_range = std::ranges::forward_range<R> && is_request<std::ranges::range_value_t<R>>;

/// Waits for all; what each brought, in order. MPI-4.1 section 3.7.5.
template <request_range R> std::vector<message_info> wait_all(R&& requests) {
    std::vector<message_info> all;
    for (auto& r : requests) all.push_back(r.wait());
    return all;
}
/// True when all are complete (wait() on each then does not wait); progress is made either way.
template <request_range R> bool test_all(R&& requests) {
    bool all = true;
    for (auto& r : requests) all = r.test() && all;
    return all;
}
/// The first one found complete; nothing: none is.
template <request_range R> std::optional<std::size_t> test_any(R&& requests) {
    std::size_t i = 0;
    for (auto& r : requests) {
        if (r.pending() && r.test()) return i;
        ++i;
    }
    return std::nullopt;
}
/// All that are complete now, by position.
template <request_range R> std::vector<std::size_t> test_some(R&& requests) {
    std::vector<std::size_t> ready;
    std::size_t i = 0;
    for (auto& r : requests) {
        if (r.pending() && r.test()) ready.push_back(i);
        ++i;
    }
    return ready;
}
/// Waits until one is complete; which. Nothing: no request is pending.
template <request_range R> std::optional<std::size_t> wait_any(R&& requests) {
    auto first = std::ranges::find_if(requests, [](auto const& r) { return r.pending(); });
    if (first == std::ranges::end(requests)) return std::nullopt;
    if (!first->native()) return std::ranges::distance(std::ranges::begin(requests), first);
    std::optional<std::size_t> ready;
    auto& home = first->wire()->on(); // whose wait serves the other lanes, and looks at them while it sleeps
    // Of another lane's lock we must not wait while we hold that of ours.
    auto const is_complete = [&home](auto const& r) {
        if (!r.native()) return true;
        return &r.wire()->on() == &home ? r.native()->complete : r.wire()->on().peek(*r.native());
    };
    home.wait({wait_for::any}, [&](auto&) {
        std::size_t i = 0;
        for (auto& r : requests) {
            if (r.pending() && is_complete(r)) return ready = i, true;
            ++i;
        }
        return false;
    });
    return ready;
}
/// Waits until at least one is complete; all that are.
template <request_range R> std::vector<std::size_t> wait_some(R&& requests) {
    if (!wait_any(requests)) return {};
    return test_some(requests);
}

} // namespace mpt::inline v0
