/// mpi/exchange - a send and a receive as one operation that is begun here, and swaps in the place of what is sent.
///
///        auto both = mpt::isendrecv(world, border, right, ghost, left);    ...    both.wait();
///        mpt::sendrecv_replace(world, block, right, left);                 block goes to the right, that of the left one takes its place
///        auto turn = mpt::isendrecv_replace(world, block, right, left);    ...    turn.wait();
///
///   Buffers outlive what is begun. wait() tells of the message that was received.
///   Memory  in the place of what is sent: a copy of it until it has left, where it does not leave at once.
///   Tests   test/mpi_exchange_test.cpp    Source MPI-4.1 section 3.10.
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include <mpt/mpi/communicator.hpp>

namespace mpt::inline v0 {

template <class Stack> class [[nodiscard]] exchange {
    using request = basic_request<Stack>;
    std::unique_ptr<std::byte[]> copy_; // outlives the send
    request in_, out_;

public:
    exchange(std::unique_ptr<std::byte[]> copy, request in, request out)
        : copy_{std::move(copy)}, in_{std::move(in)}, out_{std::move(out)} {}
    exchange(exchange&&) noexcept = default;
    exchange& operator=(exchange&& o) noexcept {
        in_ = std::move(o.in_), out_ = std::move(o.out_); // which wait for what was under way
        copy_ = std::move(o.copy_);
        return *this;
    }

    bool pending() const noexcept { return in_.pending() || out_.pending(); }
    /// One round of progress; true: both are complete, and wait() will not wait.
    bool test() {
        bool const in = in_.test();
        return out_.test() && in;
    }
    message_info wait() {
        out_.wait();
        return in_.wait();
    }
};

/// data, into: not the same memory.
template <class Stack, class Errors, class T, message_room U>
    requires(std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<T>)
typename Errors::template as<exchange<Stack>> isendrecv(communicator_view<Stack, Errors> const& on, T&& data, rank to, U&& into,
                                                        rank from, tag out = 0, tag in = any_tag) {
    return Errors::run([&] {
        auto const view = on.template with<errors::throwing>();
        checks::label("isendrecv", out);
        if (to != proc_null) checks::to("isendrecv", to, on.size()); // before the receive is posted
        sink const room{detail::room_of(into)};
        source const data_out{detail::bytes_of(data)};
        auto coming = view.irecv(room, from, in);
        return exchange<Stack>{nullptr, std::move(coming), view.isend(data_out, to, out)};
    });
}
template <class Stack, class Errors, receivable T> typename Errors::template as<exchange<Stack>>
isendrecv_replace(communicator_view<Stack, Errors> const& on, T&& data, rank to, rank from, tag out = 0, tag in = any_tag) {
    return Errors::run([&] {
        auto const view = on.template with<errors::throwing>();
        checks::label("isendrecv_replace", out);
        if (to != proc_null) checks::to("isendrecv_replace", to, on.size()); // before the receive is posted
        std::span<std::byte> const room = detail::room_of(data);
        auto const& wire = on.native().wire;
        if (from != any_source && from != proc_null) {
            checks::from("isendrecv_replace", from, on.size());
            wire.reach(on.members().world(from)); // before anything is sent
        }
        checks::wanted("isendrecv_replace", in);
        if (to == proc_null || wire.try_send_copied(on.members().world(to), out, source{room}))
            return exchange<Stack>{nullptr, view.irecv(room, from, in), {}};
        auto copy = std::make_unique_for_overwrite<std::byte[]>(room.size());
        std::ranges::copy(room, copy.get());
        source const leaving{copy.get(), room.size()};
        auto coming = view.irecv(room, from, in);
        auto going = view.isend(leaving, to, out);
        return exchange<Stack>{std::move(copy), std::move(coming), std::move(going)};
    });
}
template <class Stack, class Errors, receivable T> typename Errors::template as<message_info>
sendrecv_replace(communicator_view<Stack, Errors> const& on, T&& data, rank to, rank from, tag out = 0, tag in = any_tag) {
    return Errors::run([&] {
        return isendrecv_replace(on.template with<errors::throwing>(), std::forward<T>(data), to, from, out, in).wait();
    });
}

} // namespace mpt::inline v0
