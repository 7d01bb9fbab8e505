#include "transfer.hpp"

#include "buffered.hpp"

namespace mpt::c {

namespace {

int code_of(status how) noexcept {
    switch (how) {
    case status::ok:
    case status::cancelled: return MPI_SUCCESS;
    case status::truncated:
    case status::too_large: return MPI_ERR_TRUNCATE;
    case status::peer_gone: return MPI_ERR_PROC_ABORTED;
    case status::no_memory: return MPI_ERR_NO_MEM;
    case status::bad_address: return MPI_ERR_BUFFER;
    case status::again:
    case status::refused: return MPI_ERR_INTERN;
    }
    return MPI_ERR_INTERN;
}

std::string sentence_of(outcome const& o, int source, std::size_t room) {
    if (o.how == status::truncated)
        return "the message from rank " + std::to_string(source) + " with tag " + std::to_string(o.label) + " has " +
               std::to_string(o.bytes) + " bytes; the receive has room for " + std::to_string(room);
    if (o.how == status::bad_address) return "the buffer is not mapped, or cannot be written";
    return "the operation failed: " + std::string{to_string(o.how)};
}

} // namespace

ending ending_of(comm const& c, outcome const& o, std::size_t room, int asked) {
    return ending_of_receive(o, room, asked >= 0 ? asked : c.others.find(o.source).value_or(any_source).value);
}

ending ending_of_receive(outcome const& o, std::size_t room, int source) {
    ending e;
    e.source = source;
    e.tag = o.label;
    e.bytes = static_cast<std::int64_t>(o.how == status::truncated ? std::min<std::uint64_t>(o.bytes, room) : o.bytes);
    e.cancelled = o.how == status::cancelled;
    e.code = code_of(o.how);
    if (e.code != MPI_SUCCESS) e.sentence = sentence_of(o, e.source, room);
    return e;
}

ending ending_of_send(outcome const& o, std::size_t room) {
    ending e;
    e.cancelled = o.how == status::cancelled;
    e.code = code_of(o.how);
    if (e.code != MPI_SUCCESS) e.sentence = sentence_of(o, MPI_ANY_SOURCE, room);
    return e;
}

void require(call& on, ending const& e, raised_on const& blamed) {
    if (e.code == MPI_SUCCESS) [[likely]]
        return;
    on.blame(blamed);
    on.fail(e.code, e.sentence);
}

void transfer::start() {
    room_ = 0;
    if (what_.peer == MPI_PROC_NULL) return;
    auto const w = wire_of(*what_.on);
    auto const peer = what_.on->world(what_.peer);
    if (receives_) {
        auto const into = data_.in(what_.buffer, what_.count, what_.type->type);
        room_ = into.size();
        under_way_ = w.start_recv(peer, what_.tag, into);
        return;
    }
    auto const from = data_.out(what_.buffer, what_.count, what_.type->type);
    room_ = from.size();
    if (mode_ == sending::buffered) return send_buffered(*what_.on, peer, what_.tag, from);
    if (auto const bytes = from.contiguous(); bytes && mode_ != sending::synchronous && w.try_send(peer, what_.tag, *bytes))
        return; // it has left
    under_way_ =
        w.start_send(peer, what_.tag, from, mode_ == sending::synchronous ? send_mode::synchronous : send_mode::standard);
}

void transfer::prepare() {
    if (what_.peer < 0 || what_.tag < 0 || mode_ == sending::synchronous || mode_ == sending::buffered) return;
    auto const run = what_.type->type.contiguous_run(what_.count);
    if (!run) return;
    in_place_ = {const_cast<std::byte*>(moved_data::at(what_.buffer, *run)), static_cast<std::size_t>(run->bytes)};
    world_peer_ = what_.on->world(what_.peer);
    swift_ = true;
}

void transfer::start(protocol::arrival& taken) {
    auto const into = data_.in(what_.buffer, what_.count, what_.type->type);
    room_ = into.size();
    under_way_ = wire_of(*what_.on).start_recv(taken, into);
}

waiting transfer::about(bool pending) const noexcept {
    auto const what = receives_ ? pending ? wait_for::pending_receive : wait_for::receive
                      : pending ? wait_for::pending_send
                                : wait_for::send;
    return {what, what_.on->context, what_.peer == MPI_PROC_NULL ? any_source : what_.on->world(what_.peer), what_.tag, room_};
}

ending transfer::seen() const {
    ending e;
    if (receives_ && under_way_) e = ending_of(*what_.on, under_way_->result, room_, what_.peer);
    if (receives_ && what_.peer == MPI_PROC_NULL) e.source = MPI_PROC_NULL;
    if (!receives_ && under_way_) e = ending_of_send(under_way_->result, room_);
    return e;
}

ending transfer::finish(bool pending) {
    if (!under_way_) return seen();
    auto const w = wire_of(*what_.on);
    w.on().wait(*under_way_, about(pending));
    auto e = seen();
    w.collect(*std::exchange(under_way_, nullptr));
    return e;
}

void transfer::abandon() {
    if (auto* const r = std::exchange(under_way_, nullptr)) wire_of(*what_.on).abandon(*r, about());
}

void transfer_request::start() {
    active = true;
    try {
        one_.start();
        if (other_) other_->start();
    } catch (...) {
        one_.abandon();
        active = false;
        throw;
    }
}

ending transfer_request::finish() {
    active = false;
    auto e = one_.finish(true);
    if (other_)
        if (auto sent = other_->finish(true); e.code == MPI_SUCCESS && sent.code != MPI_SUCCESS)
            e.code = sent.code, e.sentence = sent.sentence;
    return e;
}

void transfer_request::abandon() {
    active = false;
    one_.abandon();
    if (other_) other_->abandon();
}

MPI_Request publish(binding& b, ref<request> r) { return binding::publish<MPI_Request>(b.requests, std::move(r)); }

MPI_Request launch(binding& b, ref<request> r) {
    auto* const started = r.get();
    auto const handle = publish(b, std::move(r));
    try {
        started->start();
    } catch (...) {
        b.requests.remove(word_of(handle))->let_go();
        throw;
    }
    return handle;
}

} // namespace mpt::c
