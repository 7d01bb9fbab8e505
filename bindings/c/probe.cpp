// Chapter 3: looking at messages before they are received.
#include "entries.hpp"
#include "transfer.hpp"

namespace mpt::c {

namespace {

void tell_null(MPI_Status* s) noexcept { tell(s, MPI_PROC_NULL, MPI_ANY_TAG, 0); }

void tell_of(comm const& c, protocol::arrival const& a, MPI_Status* s) {
    ending_of(c, {a.from, a.label, a.size, status::ok}, static_cast<std::size_t>(-1), MPI_ANY_SOURCE).tell_to(s);
}

MPI_Message keep(call& on, comm& c, protocol::arrival* a) {
    auto& b = on.of();
    std::uintptr_t word = 0;
    auto* m = b.messages.revive(word);
    auto const handle =
        m ? handle_of<MPI_Message>(word) : binding::publish<MPI_Message>(b.messages, ref<message>::adopt(m = new message));
    m->taken = a, m->on = ref<comm>{c};
    return handle;
}

/// The handle dies; what it stood for is the caller's.
ref<comm> give_up(binding& b, MPI_Message& handle) noexcept {
    auto const it = std::exchange(handle, MPI_MESSAGE_NULL);
    if (it == MPI_MESSAGE_NO_PROC) return {}; // which is everybody's, and stays
    auto c = std::move(b.messages.get(it).on);
    b.messages.retire(word_of(it));
    return c;
}

/// The request that receives a taken message; the handle dies.
ref<transfer_request> receiver(call& on, void* buffer, MPI_Count count, datatype_object& t, MPI_Message& handle,
                               protocol::arrival*& taken) {
    auto& b = on.of();
    auto& m = on.object(handle, "message");
    taken = m.taken;
    auto& c = m.on ? *m.on : *b.self;
    letter l{buffer, count, ref<datatype_object>{t}, ref<comm>{c}, taken ? MPI_ANY_SOURCE : MPI_PROC_NULL, MPI_ANY_TAG};
    auto r = ref<transfer_request>::adopt(new (on.of().transfers) transfer_request{transfer{std::move(l)}, c.handle});
    give_up(b, handle);
    return r;
}

/// A taken message of a rank's goes to one piece of memory; the handle dies.
void receive_now(call& on, protocol::arrival& taken, std::span<std::byte> into, MPI_Message& handle, MPI_Status* status) {
    auto const held = give_up(on.of(), handle);
    auto const& c = *held;
    auto const e = ending_of(c, wire_of(c).recv(taken, into), into.size(), MPI_ANY_SOURCE);
    e.tell_to(status);
    require(on, e, c.handle);
}

void start(transfer_request& r, protocol::arrival* taken) {
    if (taken) r.start(*taken);
    else r.start();
}

} // namespace

namespace impl {

void Probe(call&, int source, int tag, comm& c, MPI_Status* status) {
    if (source == MPI_PROC_NULL) return tell_null(status);
    auto const o = wire_of(c).probe(c.world(source), tag);
    ending_of(c, o, static_cast<std::size_t>(-1), source).tell_to(status);
}
void Iprobe(call&, int source, int tag, comm& c, int& flag, MPI_Status* status) {
    if (source == MPI_PROC_NULL) return flag = true, tell_null(status);
    outcome o;
    flag = wire_of(c).iprobe(c.world(source), tag, o);
    if (flag) ending_of(c, o, static_cast<std::size_t>(-1), source).tell_to(status);
}
void Mprobe(call& on, int source, int tag, comm& c, MPI_Message& m, MPI_Status* status) {
    if (source == MPI_PROC_NULL) return m = MPI_MESSAGE_NO_PROC, tell_null(status);
    auto* const a = wire_of(c).mprobe(c.world(source), tag);
    tell_of(c, *a, status);
    m = keep(on, c, a);
}
void Improbe(call& on, int source, int tag, comm& c, int& flag, MPI_Message& m, MPI_Status* status) {
    flag = true;
    if (source == MPI_PROC_NULL) return m = MPI_MESSAGE_NO_PROC, tell_null(status);
    auto* const a = wire_of(c).improbe(c.world(source), tag);
    flag = a != nullptr;
    if (!a) return static_cast<void>(m = MPI_MESSAGE_NULL);
    tell_of(c, *a, status);
    m = keep(on, c, a);
}

void Mrecv(call& on, void* buffer, MPI_Count count, datatype_object& t, MPI_Message& handle, MPI_Status* status) {
    protocol::arrival* taken = on.object(handle, "message").taken;
    if (auto const run = t.type.contiguous_run(count); taken && run)
        return receive_now(on, *taken,
                           {const_cast<std::byte*>(moved_data::at(buffer, *run)), static_cast<std::size_t>(run->bytes)}, handle,
                           status);
    auto const r = receiver(on, buffer, count, t, handle, taken);
    start(*r, taken);
    auto const e = r->finish();
    e.tell_to(status);
    require(on, e, r->blamed);
}
void Imrecv(call& on, void* buffer, MPI_Count count, datatype_object& t, MPI_Message& handle, MPI_Request& request) {
    protocol::arrival* taken = nullptr;
    auto r = receiver(on, buffer, count, t, handle, taken);
    start(*r, taken);
    request = publish(on.of(), ref<c::request>::adopt(r.release()));
}

} // namespace impl
} // namespace mpt::c
