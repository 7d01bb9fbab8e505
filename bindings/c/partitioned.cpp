// Chapter 4: partitioned communication.
#include "partitioned.hpp"

#include "entries.hpp"

namespace mpt::c {

namespace {

/// The wire of one pair, which both sides find by counting what they made.
wire pair_wire(binding& b, letter const& l, bool sends) {
    auto& c = *l.on;
    auto const peer = c.world(l.peer), me = b.run().me();
    auto const number = [&] {
        std::lock_guard const g{b.changing};
        return c.pairs.next(sends, peer, mpt::tag{l.tag});
    }();
    return {wire_of(c).on(), pair_context(c.context, sends ? me : peer, sends ? peer : me, mpt::tag{l.tag}, number)};
}

waiting told_of(letter const& l, bool sends, std::size_t bytes) {
    return {sends ? wait_for::pending_send : wait_for::pending_receive, l.on->context, l.on->world(l.peer), l.tag, bytes};
}

partitioned_letter letter_of(call const& on, void const* buffer, int partitions, MPI_Count count, datatype_object& t, int peer,
                             int tag, comm& c) {
    MPI_Count bytes = 0;
    if (__builtin_mul_overflow(count, partitions, &bytes) || __builtin_mul_overflow(bytes, t.type.size(), &bytes))
        on.fail(MPI_ERR_COUNT, std::to_string(partitions) + " partitions of " + std::to_string(count) + " elements of " +
                                   std::to_string(t.type.size()) + " bytes are more than 64 bits can count");
    on.data(buffer, partitions * count, t, "buf");
    return {{const_cast<void*>(buffer), count, ref<datatype_object>{t}, ref<comm>{c}, peer, tag}, partitions};
}

MPI_Request published(binding& b, request* made) { return publish(b, ref<request>::adopt(made)); }

/// The active send that a call is about.
partitioned_send_request& sender(call& on, MPI_Request handle) {
    auto* const r = dynamic_cast<partitioned_send_request*>(&on.object(handle, "request"));
    if (!r) on.fail(MPI_ERR_REQUEST, "request is not a partitioned send");
    if (!r->active) on.fail(MPI_ERR_REQUEST, "request is not active: MPI_Start comes first");
    return *r;
}
void in_range(call const& on, int partition, int partitions, char const* argument) {
    if (partition >= partitions)
        on.refuse(MPI_ERR_ARG, argument, partition,
                  partitions ? "0 to " + std::to_string(partitions - 1) : std::string{"none, for there are no partitions"});
}

std::string failed(status how) { return "the operation failed: " + std::string{to_string(how)}; }
ending how_it_ended(status how) {
    ending e;
    if (how == status::ok) return e;
    e.code = how == status::no_memory     ? MPI_ERR_NO_MEM
             : how == status::peer_gone   ? MPI_ERR_PROC_ABORTED
             : how == status::bad_address ? MPI_ERR_BUFFER
                                          : MPI_ERR_OTHER;
    e.sentence = failed(how);
    return e;
}

} // namespace

partitioned_send_request::partitioned_send_request(binding& b, partitioned_letter l) : partitioned_request{std::move(l)} {
    auto const& w = asked_.what;
    if (w.peer == MPI_PROC_NULL) return;
    auto const from = data_.out(w.buffer, elements(), w.type->type);
    side_.emplace(pair_wire(b, w, true), w.on->world(w.peer), from, asked_.partitions, told_of(w, true, from.size()));
}
ending partitioned_send_request::seen() { return how_it_ended(side_ ? side_->how() : status::ok); }

partitioned_recv_request::partitioned_recv_request(binding& b, partitioned_letter l) : partitioned_request{std::move(l)} {
    auto const& w = asked_.what;
    if (w.peer == MPI_PROC_NULL) return;
    auto const into = data_.in(w.buffer, elements(), w.type->type);
    side_.emplace(pair_wire(b, w, false), w.on->world(w.peer), into, asked_.partitions, told_of(w, false, into.size()));
}
ending partitioned_recv_request::seen() {
    ending e;
    if (!side_) return e.source = MPI_PROC_NULL, e;
    auto const room = elements() * asked_.what.type->type.size(), sent = static_cast<MPI_Count>(side_->theirs().bytes());
    bool const came = side_->how() == status::ok || side_->how() == status::truncated;
    if (!came) e = how_it_ended(side_->how());
    else if (!side_->fits()) e.code = sent > room ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT, e.sentence = mismatch();
    e.source = asked_.what.peer, e.tag = asked_.what.tag;
    e.bytes = std::min(sent, room);
    return e;
}
std::string partitioned_recv_request::mismatch() const {
    auto const& theirs = side_->theirs();
    return "rank " + std::to_string(asked_.what.peer) + " sends " + std::to_string(theirs.count) + " partitions of " +
           std::to_string(theirs.size) + " bytes with tag " + std::to_string(asked_.what.tag) + "; the receive has " +
           std::to_string(asked_.partitions) + " of " + std::to_string(asked_.what.count * asked_.what.type->type.size()) +
           ": both sides must have as many bytes";
}

namespace impl {

void Psend_init(call& on, void const* buffer, int partitions, MPI_Count count, datatype_object& t, int dest, int tag, comm& c,
                info_object*, MPI_Request& r) {
    auto& b = on.of();
    r = published(b, new partitioned_send_request{b, letter_of(on, buffer, partitions, count, t, dest, tag, c)});
}
void Precv_init(call& on, void* buffer, int partitions, MPI_Count count, datatype_object& t, int source, int tag, comm& c,
                info_object*, MPI_Request& r) {
    auto& b = on.of();
    r = published(b, new partitioned_recv_request{b, letter_of(on, buffer, partitions, count, t, source, tag, c)});
}

void Pready(call& on, int partition, MPI_Request handle) {
    auto& r = sender(on, handle);
    in_range(on, partition, r.partitions(), "partition");
    r.ready(partition);
}
void Pready_range(call& on, int low, int high, MPI_Request handle) {
    auto& r = sender(on, handle);
    in_range(on, high, r.partitions(), "partition_high");
    if (low > high) on.refuse(MPI_ERR_ARG, "partition_low", low, "0 to partition_high, " + std::to_string(high));
    for (int i = low; i <= high; ++i) r.ready(i);
}
void Pready_list(call& on, int n, int const* partitions, MPI_Request handle) {
    auto& r = sender(on, handle);
    for (int i = 0; i < n; ++i)
        in_range(on, partitions[i], r.partitions(), ("array_of_partitions[" + std::to_string(i) + ']').c_str());
    for (int i = 0; i < n; ++i) r.ready(partitions[i]);
}
void Parrived(call& on, MPI_Request handle, int partition, int& flag) {
    flag = true;
    if (handle == MPI_REQUEST_NULL) return;
    auto* const r = dynamic_cast<partitioned_recv_request*>(&on.object(handle, "request"));
    if (!r) on.fail(MPI_ERR_REQUEST, "request is not a partitioned receive");
    in_range(on, partition, r->partitions(), "partition");
    flag = !r->active || r->arrived(partition);
}

} // namespace impl
} // namespace mpt::c
