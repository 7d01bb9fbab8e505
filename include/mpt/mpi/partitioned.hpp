/// mpi/partitioned - one message in parts: several threads fill it, and say of each part that it may leave. MPI-4.1 chapter 4.
///
///        mpt::partitioned over{world};                                   one for a communicator, on all its ranks that take part
///        auto out = over.send(field, 8, 1);                              8 parts to rank 1; `field` outlives it
///        out.start();   ...   out.ready(3);   ...   out.wait();          again: out.start()
///
///        auto in = over.recv(room, 2, 0);                                as many bytes, in 2 parts
///        in.start();    ...   if (in.arrived(0)) use(first_half);   ...   in.wait();
///
///   The n-th send to a rank with a tag meets that rank's n-th receive with it, in the order in which they were made; ordinary messages
///   meet neither. A part moves as soon as it is ready. ready() and arrived() may be called by any number of threads at once.
///
///   A round that is under way when its object is destroyed is withdrawn: wait() first.
///   Limit   a second partitioned{} of the same communicator counts anew: its pairs would meet those of the first.
///   Tests   test/mpi_partitioned_test.cpp
#pragma once
#include <memory>
#include <string>
#include <utility>

#include <mpt/mpi/communicator.hpp>
#include <mpt/stack/partitioned.hpp>

namespace mpt::inline v0 {

namespace detail {

/// A side of a pair, where it stays; nothing: with proc_null.
template <class Side> class partitioned_side {
protected:
    std::unique_ptr<Side> side_;
    std::int32_t parts_;

    partitioned_side(std::unique_ptr<Side> s, std::int32_t parts) : side_{std::move(s)}, parts_{parts} {}
    void must_be_part(char const* call, std::int32_t i) const {
        if (i < 0 || i >= parts_)
            throw error{errc::argument, "mpt: " + std::string{call} + ": part " + std::to_string(i) + " of " +
                                            std::to_string(parts_) + "; allowed: 0 to " + std::to_string(parts_ - 1)};
    }
    void finish() {
        if (!side_) return;
        side_->wait();
        side_->collect();
        if (side_->how() != status::ok && side_->how() != status::truncated) checks::failed("wait", side_->how());
    }

public:
    partitioned_side(partitioned_side&&) noexcept = default;
    partitioned_side& operator=(partitioned_side&& o) noexcept {
        if (this == &o) return *this;
        settle();
        side_ = std::move(o.side_), parts_ = o.parts_;
        return *this;
    }
    ~partitioned_side() { settle(); }

    bool pending() const noexcept { return side_ && side_->is_active(); }
    /// Not while it is pending.
    void start() {
        if (pending()) throw error{errc::usage, "mpt: start: the round before is not over: wait() ends it"};
        if (side_) side_->start();
    }
    /// One round of progress; true: wait() will not wait.
    bool test() { return !side_ || side_->test(); }

private:
    void settle() noexcept {
        if (!side_) return;
        try {
            side_->abandon();
        } catch (error const&) { // the job is over: nobody will touch the data any more
        }
    }
};

} // namespace detail

template <class Stack> class [[nodiscard]] partitioned_sender : public detail::partitioned_side<partitioned_send<Stack>> {
    using base = detail::partitioned_side<partitioned_send<Stack>>;

public:
    partitioned_sender(std::unique_ptr<partitioned_send<Stack>> s, std::int32_t parts) : base{std::move(s), parts} {}

    /// The part may leave: it is not written before wait() returns. Throws where it was ready already, or nothing was started.
    void ready(std::int32_t part) {
        this->must_be_part("ready", part);
        if (!this->side_) return;
        if (!this->pending()) throw error{errc::usage, "mpt: ready: start() comes first"};
        this->side_->ready(static_cast<std::uint64_t>(part));
    }
    /// All parts are ready, and their memory may be written again.
    void wait() { this->finish(); }
};

template <class Stack> class [[nodiscard]] partitioned_receiver : public detail::partitioned_side<partitioned_recv<Stack>> {
    using base = detail::partitioned_side<partitioned_recv<Stack>>;
    message_info about_; // what a whole message is

public:
    partitioned_receiver(std::unique_ptr<partitioned_recv<Stack>> s, std::int32_t parts, message_info const& about)
        : base{std::move(s), parts}, about_{about} {}

    /// Is the part here? Progress is made. One that is not pending has all.
    bool arrived(std::int32_t part) {
        this->must_be_part("arrived", part);
        return !this->side_ || this->side_->arrived(static_cast<std::uint64_t>(part));
    }
    /// Throws where the sender's message has another size.
    message_info wait() {
        bool const was = this->pending();
        this->finish();
        if (was && !this->side_->fits()) {
            auto const sent = static_cast<std::size_t>(this->side_->theirs().bytes());
            if (sent > about_.bytes) checks::too_long("wait", sent, about_.bytes, about_.source, about_.tag);
            throw error{errc::argument, "mpt: wait: the partitioned message from rank " + std::to_string(about_.source.value) +
                                            " has " + std::to_string(sent) + " bytes, and the receive " +
                                            std::to_string(about_.bytes)};
        }
        return about_;
    }
};

/// Makes the partitioned operations of a communicator, which outlives them. One thread at a time.
template <class Stack> class partitioned {
    communicator_state<Stack> const* on_;
    pair_numbers made_;

public:
    template <class Errors> explicit partitioned(communicator_view<Stack, Errors> const& on) : on_{&on.native()} {}

    /// data: a contiguous range of `parts` equal parts that outlives the result.
    template <class T> partitioned_sender<Stack> send(T const& data, std::int32_t parts, rank to, tag t = 0) {
        std::span<std::byte const> const bytes = detail::bytes_of(data);
        check("send", bytes.size(), parts, to, t);
        if (to == proc_null) return {nullptr, parts};
        auto const whom = on_->who.world(to);
        return {std::make_unique<partitioned_send<Stack>>(pair(true, whom, t), whom, source{bytes}, parts,
                                                          about(wait_for::pending_send, whom, t, bytes.size())),
                parts};
    }
    template <class T> partitioned_sender<Stack> send(T const&&, std::int32_t, rank, tag = 0) = delete; // it would die first
    /// into: room for as many bytes as are sent, in `parts` equal parts of its own.
    template <receivable T> partitioned_receiver<Stack> recv(T&& into, std::int32_t parts, rank from, tag t = 0) {
        std::span<std::byte> const bytes = detail::room_of(into);
        check("recv", bytes.size(), parts, from, t);
        if (from == proc_null) return {nullptr, parts, {proc_null, any_tag, 0}};
        auto const whom = on_->who.world(from);
        return {std::make_unique<partitioned_recv<Stack>>(pair(false, whom, t), whom, sink{bytes}, parts,
                                                          about(wait_for::pending_receive, whom, t, bytes.size())),
                parts,
                {from, t, bytes.size()}};
    }

private:
    void check(char const* call, std::size_t bytes, std::int32_t parts, rank peer, tag t) const {
        checks::label(call, t);
        if (peer != proc_null) checks::to(call, peer, on_->who.size());
        if (parts <= 0 || bytes % static_cast<std::size_t>(parts) != 0)
            throw error{errc::argument, "mpt: " + std::string{call} + ": " + std::to_string(bytes) + " bytes are not " +
                                            std::to_string(parts) + " equal parts"};
    }
    /// Apart from the pairs that the C interface makes on the same communicator.
    channel<Stack> pair(bool sends, rank whom, tag t) {
        constexpr std::uint32_t not_of_c = 1u << 31;
        auto const me = on_->who.world(on_->me);
        auto const number = made_.next(sends, whom, t) | not_of_c;
        return {on_->wire.on(), pair_context(on_->wire.context(), sends ? me : whom, sends ? whom : me, t, number)};
    }
    waiting about(wait_for what, rank whom, tag t, std::size_t bytes) const {
        return {what, on_->wire.context(), whom, t, bytes};
    }
};
template <class Stack, class Errors> partitioned(communicator_view<Stack, Errors>) -> partitioned<Stack>;

} // namespace mpt::inline v0
