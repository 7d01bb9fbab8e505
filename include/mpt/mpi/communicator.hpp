/// mpi/communicator - a group of ranks and a context of their own: MPI's central noun, in C++.
///
///   communicator_view   one word, trivially copyable, does not own: what functions take
///   communicator        owns, move-only: what dup() and split() give; destroying it is local, also after the environment's end
///
///        auto world = env.world();
///        world.send(42, 1);                          int x = world.recv<int>(0);
///        world.send(values, 1, 7);                   auto v = world.recv<std::vector<double>>(0, 7);   // any length, one message
///        world.send(mpt::typed_source{matrix, 1, column}, 1);            // of any datatype; recv(mpt::typed_sink{...}, 0)
///        auto sum = world.allreduce(x, std::plus{});
///        auto half = world.split(world.rank() % 2, world.rank());
///
///   Errors are the policy's (mpi/errors.hpp); view.with<errors::returning>() gives the same communicator with another policy.
///   What all ranks do together: mpi/collectives.hpp, mpi/nonblocking.hpp. Buffers: MPI-4.1 section 3.2; ranks and tags are checked, with the numbers in the sentence.
#pragma once
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mpt/mpi/attached_buffer.hpp>
#include <mpt/mpi/caching.hpp>
#include <mpt/mpi/collectives.hpp>
#include <mpt/mpi/errors.hpp>
#include <mpt/mpi/group_algebra.hpp>
#include <mpt/mpi/message.hpp>
#include <mpt/mpi/nonblocking.hpp>
#include <mpt/mpi/request.hpp>
#include <mpt/mpi/sendable.hpp>
#include <mpt/stack/runtime.hpp>

namespace mpt::inline v0 {

/// What a communicator is; views point at it.
template <class Stack> struct communicator_state {
    runtime<Stack>* run;
    channel<Stack> wire;
    group who;
    rank me;
    mutable std::uint32_t rooted_calls = 0; // collectives with a root so far: one thread is in one at a time
    mutable coll::meeting shared;           // memory for its collectives
    mutable std::uint32_t joint_calls = 0;  // the same of both sides of an intercommunicator as one team
    mutable std::string name{};
    mutable cached attached{communicator_keys(), this};         // mpi/communicators.hpp
    mutable std::uint32_t asserted = 0;                         // hints, likewise
    mutable native_atomics::atomic<std::uint32_t> schedules{0}; // collectives begun so far that do not block
    mutable buffer_place<attached_buffer<Stack>> buffer{};      // of its buffered sends
    buffer_origin<Stack> origin;

    communicator_state(runtime<Stack>& r, context_id context, group g, rank me_here, buffer_origin<Stack> from = {})
        : run{&r}, wire{r.lane_of(context), context}, who{std::move(g)}, me{me_here}, origin{std::move(from)} {}
    /// Odd: even ones are those of the C interface, which may use the same communicator.
    std::uint32_t next_schedule() const noexcept {
        return 2 * schedules.fetch_add(1, std::memory_order_relaxed) + 1; // order: the program orders its collectives
    }
};

template <class Stack> class communicator;
template <class Stack> class message;

template <class Stack, class Errors = errors::throwing> class communicator_view
    : public collectives<communicator_view<Stack, Errors>, Stack, Errors>,
      public nonblocking_collectives<communicator_view<Stack, Errors>, Stack, Errors> {
    communicator_state<Stack> const* s_;
    template <class T> using as = typename Errors::template as<T>;

public:
    using stack_type = Stack;
    using errors_type = Errors;
    using request = basic_request<Stack>;
    template <class C> using future = basic_future<Stack, C>;

    explicit communicator_view(communicator_state<Stack> const& s) noexcept : s_{&s} {}

    mpt::rank rank() const noexcept { return s_->me; }
    std::int32_t size() const noexcept { return s_->who.size(); }
    group const& members() const noexcept { return s_->who; }
    context_id context() const noexcept { return s_->wire.context(); }
    /// The same communicator with another error policy.
    template <class Other> communicator_view<Stack, Other> with() const noexcept {
        return communicator_view<Stack, Other>{*s_};
    }
    communicator_state<Stack> const& native() const noexcept { return *s_; }
    /// What the program calls it; not while another thread gives it a name. Copies have none. Section 7.8.
    std::string const& name() const noexcept { return s_->name; }
    void set_name(std::string_view name) const { s_->name = name; }

    // --- send -------------------------------------------------------------------------------------------------------------
    /// Sends a value or a contiguous range; returns when the buffer may be reused. MPI-4.1 section 3.2.1.
    template <class T> as<void> send(T const& data, mpt::rank to, mpt::tag t = 0) const {
        return Errors::run([&] { send_checked("send", data, to, t, send_mode::standard); });
    }
    /// The same; returns when the receiver has begun to receive. Section 3.4.
    template <class T> as<void> ssend(T const& data, mpt::rank to, mpt::tag t = 0) const {
        return Errors::run([&] { send_checked("ssend", data, to, t, send_mode::synchronous); });
    }
    /// The same as send, where the receive is known to be posted. A promise that does not hold is not found out. Section 3.4.
    template <class T> as<void> rsend(T const& data, mpt::rank to, mpt::tag t = 0) const {
        return Errors::run([&] { send_checked("rsend", data, to, t, send_mode::standard); });
    }
    /// Starts a send from a buffer that outlives the request. Section 3.7.2.
    template <class T> as<request> isend(T const& data, mpt::rank to, mpt::tag t = 0) const {
        return Errors::run([&] { return isend_checked("isend", data, to, t, send_mode::standard); });
    }
    template <class T> as<request> issend(T const& data, mpt::rank to, mpt::tag t = 0) const {
        return Errors::run([&] { return isend_checked("issend", data, to, t, send_mode::synchronous); });
    }
    template <class T> as<request> irsend(T const& data, mpt::rank to, mpt::tag t = 0) const {
        return Errors::run([&] { return isend_checked("irsend", data, to, t, send_mode::standard); });
    }
    /// A temporary would die before the message is sent: move a container in, and get it back from the future.
    template <growable C>
        requires(!std::is_lvalue_reference_v<C>)
    as<future<C>> isend(C&& data, mpt::rank to, mpt::tag t = 0) const {
        return Errors::run([&] {
            auto box = std::make_unique<C>(std::forward<C>(data));
            auto r = isend_checked("isend", *box, to, t, send_mode::standard);
            return future<C>{std::move(box), std::move(r)};
        });
    }
    template <class T>
        requires(!growable<T> && !std::is_lvalue_reference_v<T> && !std::ranges::borrowed_range<T>)
    as<request> isend(T&&, mpt::rank, mpt::tag = 0) const = delete; // a temporary would die before the message is sent
    template <class T>
        requires(!std::is_lvalue_reference_v<T> && !std::ranges::borrowed_range<T>)
    as<request> issend(T&&, mpt::rank, mpt::tag = 0) const = delete;
    template <class T>
        requires(!std::is_lvalue_reference_v<T> && !std::ranges::borrowed_range<T>)
    as<request> irsend(T&&, mpt::rank, mpt::tag = 0) const = delete;
    template <laid_out_room T>
        requires(!std::is_lvalue_reference_v<T>)
    as<request> irecv(T&&, mpt::rank = any_source, mpt::tag = any_tag) const = delete;

    // --- receive -----------------------------------------------------------------------------------------------------------
    /// Receives into a value or a writable range of at least the message's size. Section 3.2.4.
    template <message_room T> as<message_info> recv(T&& into, mpt::rank from = any_source, mpt::tag t = any_tag) const {
        return Errors::run([&] { return recv_checked("recv", detail::room_of(into), from, t); });
    }
    /// Receives one value, or a container as long as the message: one message, size and all.
    template <class T>
        requires(growable<T> || (element<T> && !std::ranges::range<T>))
    as<T> recv(mpt::rank from = any_source, mpt::tag t = any_tag, message_info* info = nullptr) const {
        return Errors::run([&] {
            T value{};
            message_info m;
            if constexpr (growable<T>) m = recv_container(value, from, t);
            else m = recv_whole(value, from, t);
            if (info) *info = m;
            return value;
        });
    }
    template <message_room T> as<request> irecv(T&& into, mpt::rank from = any_source, mpt::tag t = any_tag) const {
        return Errors::run([&] { return irecv_checked("irecv", detail::room_of(into), from, t); });
    }
    template <growable C> as<future<C>> irecv(mpt::rank from = any_source, mpt::tag t = any_tag) const {
        return Errors::run([&] {
            check_from("irecv", from, t);
            auto box = std::make_unique<C>();
            if (from == proc_null) return future<C>{std::move(box), request{}};
            auto* r = s_->wire.start_recv(world(from), t, sink{}, &detail::grow<C>, box.get());
            return future<C>{std::move(box), request{s_->wire, s_->who, r, 0}};
        });
    }
    /// Both at once, without a deadlock. Section 3.10.
    template <class T, message_room U> as<message_info> sendrecv(T const& data, mpt::rank to, U&& into, mpt::rank from,
                                                                 mpt::tag out = 0, mpt::tag in = any_tag) const {
        return Errors::run([&] {
            check_to("sendrecv", to, out), check_from("sendrecv", from, in); // an argument error leaves everything as it was
            if (to == proc_null ||
                (from != proc_null && s_->wire.sent_first(s_->who.world(to), out, detail::bytes_of(data), world(from))))
                return recv_checked("sendrecv", detail::room_of(into), from, in);
            auto incoming = irecv_checked("sendrecv", sink{detail::room_of(into)}, from, in);
            send_checked("sendrecv", data, to, out, send_mode::standard);
            return incoming.wait();
        });
    }

    // --- probe --------------------------------------------------------------------------------------------------------------
    /// Waits for a message that fits, and leaves it. Section 3.8.1.
    as<message_info> probe(mpt::rank from = any_source, mpt::tag t = any_tag) const {
        return Errors::run([&] {
            check_from("probe", from, t);
            if (from == proc_null) return message_info{proc_null, any_tag, 0};
            return detail::seen_by("probe", s_->who, s_->wire.probe(world(from), t), 0);
        });
    }
    as<std::optional<message_info>> iprobe(mpt::rank from = any_source, mpt::tag t = any_tag) const {
        return Errors::run([&]() -> std::optional<message_info> {
            check_from("iprobe", from, t);
            if (from == proc_null) return message_info{proc_null, any_tag, 0};
            outcome out;
            if (!s_->wire.iprobe(world(from), t, out)) return std::nullopt;
            return detail::seen_by("iprobe", s_->who, out, 0);
        });
    }
    /// Waits for a message and takes it: only message::recv gets it, whatever other threads do. Section 3.8.2.
    as<message<Stack>> mprobe(mpt::rank from = any_source, mpt::tag t = any_tag) const {
        return Errors::run([&] {
            check_from("mprobe", from, t);
            return message<Stack>{*s_, from == proc_null ? nullptr : s_->wire.mprobe(world(from), t)};
        });
    }
    as<std::optional<message<Stack>>> improbe(mpt::rank from = any_source, mpt::tag t = any_tag) const {
        return Errors::run([&]() -> std::optional<message<Stack>> {
            check_from("improbe", from, t);
            if (from == proc_null) return message<Stack>{*s_, nullptr};
            auto* a = s_->wire.improbe(world(from), t);
            if (!a) return std::nullopt;
            return message<Stack>{*s_, a};
        });
    }

    // --- new communicators --------------------------------------------------------------------------------------------------------
    /// The same group, what copy callbacks give, a context of its own. asserted: its hints (dup_with_info). Collective. Section 7.4.2.
    as<communicator<Stack>> dup(std::uint32_t asserted = 0) const {
        return Errors::run([&] {
            auto twin = bare_twin();
            twin.native().asserted = asserted;
            s_->attached.copy_to(twin.native().attached);
            return twin;
        });
    }
    /// The same, begun here, where the attributes are copied; its wait() gives the communicator, with the topology of one that has it. All
    /// ranks begin it.
    as<collective_request<Stack, communicator<Stack>>> idup(std::uint32_t asserted = 0) const {
        return Errors::run([&] { return duplicated(asserted, [](communicator<Stack> c) { return c; }); });
    }
    /// One communicator for each color, ranks ordered by key, then by rank here. Ranks without a color get none. Collective.
    as<std::optional<communicator<Stack>>> split(std::optional<int> color, int key = 0) const {
        return Errors::run([&] { return split_by(color, key); });
    }

protected:
    /// The same group and a context of its own, nothing else. Collective.
    communicator<Stack> bare_twin() const {
        auto context = s_->run->new_context();
        coll::broadcast(this->team(), std::as_writable_bytes(std::span{&context, 1}), 0);
        return communicator<Stack>{*s_->run, context, s_->who, s_->me, s_->origin};
    }
    /// make(communicator) is what wait() gives. Until then the twin has no context.
    template <class Make> auto duplicated(std::uint32_t asserted, Make make) const {
        communicator<Stack> twin{*s_->run, context_id{}, s_->who, s_->me, s_->origin};
        twin.native().asserted = asserted;
        s_->attached.copy_to(twin.native().attached);
        return this->started(
            std::pair{s_->run->new_context(), std::move(twin)},
            [](auto const& t, auto& d) {
                coll::broadcast(t, std::as_writable_bytes(std::span{&d.first, 1}), 0);
            },
            [make](auto& d) {
                d.second.agree_on(d.first);
                return make(std::move(d.second));
            });
    }

private:
    mpt::rank world(mpt::rank r) const noexcept { return r == any_source ? any_source : s_->who.world(r); }
    void check_from(char const* call, mpt::rank from, mpt::tag t) const {
        if (from != proc_null) checks::from(call, from, size());
        checks::wanted(call, t);
    }
    void check_to(char const* call, mpt::rank to, mpt::tag t) const {
        checks::label(call, t);
        if (to != proc_null) checks::to(call, to, size());
    }
    template <class T> void send_checked(char const* call, T const& data, mpt::rank to, mpt::tag t, send_mode mode) const {
        check_to(call, to, t);
        if (to == proc_null) [[unlikely]]
            return;
        if (mode == send_mode::standard) s_->wire.send(s_->who.world(to), t, detail::bytes_of(data));
        else s_->wire.ssend(s_->who.world(to), t, detail::bytes_of(data));
    }
    template <class T> request isend_checked(char const* call, T const& data, mpt::rank to, mpt::tag t, send_mode mode) const {
        check_to(call, to, t);
        if (to == proc_null) return {};
        auto const bytes = detail::bytes_of(data);
        auto const peer = s_->who.world(to);
        if (mode == send_mode::standard && s_->wire.try_send(peer, t, bytes)) [[likely]]
            return request{message_info{to, t, bytes.size()}};
        return {s_->wire, s_->who, s_->wire.start_send(peer, t, source{bytes}, mode), bytes.size()};
    }
    template <class Room> request irecv_checked(char const* call, Room const& into, mpt::rank from, mpt::tag t) const {
        check_from(call, from, t);
        if (from == proc_null) return {};
        auto const peer = world(from);
        if (auto const got = from == any_source ? protocol::received{} : s_->wire.receive_if_here(peer, t, into)) {
            auto const end = s_->wire.outcome_of(peer, got, into.size());
            if (end.how != status::ok) [[unlikely]]
                return {s_->wire, s_->who, end, into.size()};
            return request{message_info{from, end.label, static_cast<std::size_t>(end.bytes)}};
        }
        return {s_->wire, s_->who, s_->wire.start_recv(peer, t, sink{into}), into.size()};
    }
    template <class Room> message_info recv_checked(char const* call, Room const& into, mpt::rank from, mpt::tag t) const {
        check_from(call, from, t);
        if (from == proc_null) [[unlikely]]
            return {proc_null, any_tag, 0};
        return detail::seen_by(call, s_->who, s_->wire.recv(world(from), t, into), into.size(), from);
    }
    template <class T> message_info recv_whole(T& value, mpt::rank from, mpt::tag t) const {
        auto const m = recv_checked("recv", detail::room_of(value), from, t);
        if (m.bytes != sizeof(T) && m.source != proc_null) [[unlikely]]
            checks::not_whole("recv", m.bytes, sizeof(T));
        return m;
    }
    template <class C> message_info recv_container(C& c, mpt::rank from, mpt::tag t) const {
        check_from("recv", from, t);
        if (from == proc_null) return {proc_null, any_tag, 0};
        auto const out = s_->wire.recv_provided(world(from), t, &detail::grow<C>, &c);
        auto const m = detail::seen_by("recv", s_->who, out, 0);
        constexpr auto one = sizeof(std::ranges::range_value_t<C>);
        if (m.bytes % one != 0) checks::not_whole("recv", m.bytes, one);
        return m;
    }
    std::optional<communicator<Stack>> split_by(std::optional<int> color, int key) const {
        detail::color_vote const mine{color.has_value(), color.value_or(0), key, s_->run->new_context()};
        auto const votes = this->allgathered(mine);
        if (!color) return std::nullopt;
        auto who = detail::of_color(s_->who, s_->who, votes, mine);
        auto const me = *who.find(s_->who.world(s_->me));
        return communicator<Stack>{*s_->run, detail::context_of_color(votes, mine), std::move(who), me, s_->origin};
    }
};

/// A message that was found and taken by mprobe: receive it once. Dropping it unreceived discards it.
template <class Stack> class [[nodiscard]] message {
    communicator_state<Stack> const* s_;
    protocol::arrival* a_;
    message_info info_{proc_null, any_tag, 0};

public:
    message(communicator_state<Stack> const& s, protocol::arrival* a) : s_{&s}, a_{a} {
        if (a) info_ = {s.who.find(a->from).value_or(rank{any_source}), a->label, static_cast<std::size_t>(a->size)};
    }
    message(message&& o) noexcept : s_{o.s_}, a_{std::exchange(o.a_, nullptr)}, info_{o.info_} {}
    message& operator=(message&& o) noexcept {
        std::swap(s_, o.s_), std::swap(a_, o.a_), std::swap(info_, o.info_);
        return *this;
    }
    ~message() {
        if (!a_) return;
        try {
            static_cast<void>(s_->wire.recv(*std::exchange(a_, nullptr), {}));
        } catch (error const&) { // the job is over
        }
    }
    message_info const& info() const noexcept { return info_; }
    template <message_room T> message_info recv(T&& into) {
        sink const room{detail::room_of(into)};
        if (!a_) return info_;
        auto const& wire = s_->wire;
        waiting const about{wait_for::receive, wire.context(), any_source, any_tag, room.size()};
        return detail::seen_by("recv", s_->who, wire.finish(*started(room), about), room.size());
    }
    /// Starts to receive it, once. Section 3.8.3.
    template <message_room T>
        requires(std::is_lvalue_reference_v<T> || !laid_out_room<T>)
    basic_request<Stack> irecv(T&& into) {
        sink const room{detail::room_of(into)};
        if (!a_) return {};
        return {s_->wire, s_->who, started(room), room.size()};
    }
    template <growable C> C recv() {
        constexpr auto one = sizeof(std::ranges::range_value_t<C>);
        if (info_.bytes % one != 0) checks::not_whole("recv", info_.bytes, one);
        C c;
        c.resize(info_.bytes / one);
        recv(c);
        return c;
    }

private:
    protocol::request* started(sink const& room) {
        auto* const r = s_->wire.start_recv(*a_, room);
        a_ = nullptr;
        return r;
    }
};

/// Owns its state; the rest is the view's.
template <class Stack> class communicator : public communicator_view<Stack> {
    std::unique_ptr<communicator_state<Stack>> own_;
    explicit communicator(std::unique_ptr<communicator_state<Stack>> s) : communicator_view<Stack>{*s}, own_{std::move(s)} {}

public:
    communicator(runtime<Stack>& run, context_id context, group who, rank me, buffer_origin<Stack> from = {})
        : communicator{std::make_unique<communicator_state<Stack>>(run, context, std::move(who), me, std::move(from))} {}
    communicator(communicator&&) noexcept = default;
    communicator& operator=(communicator&&) noexcept = default;
    communicator_view<Stack> view() const noexcept { return *this; }

private:
    template <class, class> friend class communicator_view;
    void agree_on(context_id c) { own_->wire = {own_->run->lane_of(c), c}; }
};

} // namespace mpt::inline v0
