#include "plain.hpp"

namespace mpt::c {

waiting plain_transfer::about() const noexcept {
    auto const& wanted = under_way_->wanted;
    auto const what = receives() ? wait_for::pending_receive : wait_for::pending_send;
    return {what, wanted.context, wanted.source, wanted.label, room()};
}

ending plain_transfer::ending_of(outcome const& o, bool received, std::size_t room) const {
    return received ? ending_of_receive(o, room, peer_) : ending_of_send(o, room);
}

std::optional<ending> plain_transfer::end(MPI_Status* status) {
    bool const received = receives();
    auto const n = room();
    auto const o = on().finish(*under_way_, [this] { return about(); });
    active = false;
    if (o.how == mpt::status::ok) [[likely]] {
        if (received) tell(status, peer_, o.label, static_cast<std::int64_t>(o.bytes));
        else tell(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
        return std::nullopt;
    }
    auto e = ending_of(o, received, n);
    e.tell_to(status);
    if (e.code == MPI_SUCCESS) return std::nullopt;
    return e;
}

ending plain_transfer::finish() {
    bool const received = receives();
    auto const n = room();
    active = false;
    return ending_of(on().finish(*under_way_, [this] { return about(); }), received, n);
}

void plain_transfer::abandon() {
    active = false;
    on().abandon(*under_way_, about());
}

} // namespace mpt::c
