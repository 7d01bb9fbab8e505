// Chapter 3: sends, receives, and the requests of those that are started.
#include "buffered.hpp"
#include "entries.hpp"
#include "plain.hpp"

namespace mpt::c {

namespace {

letter letter_of(void const* buffer, MPI_Count count, datatype_object& t, int peer, int tag, comm& c) {
    return {const_cast<void*>(buffer), count, ref<datatype_object>{t}, ref<comm>{c}, peer, tag};
}

/// Starts a transfer and waits for it: what has no shorter way.
ending whole(transfer t) {
    t.start();
    return t.finish();
}

void send(call& on, void const* buffer, MPI_Count count, datatype_object& t, int dest, int tag, comm& c, sending mode) {
    if (dest == MPI_PROC_NULL) return;
    if (auto const run = t.type.contiguous_run(count)) [[likely]] {
        std::span const data{moved_data::at(buffer, *run), static_cast<std::size_t>(run->bytes)};
        if (mode == sending::synchronous) return wire_of(c).ssend(c.world(dest), tag, data);
        if (mode == sending::buffered) return send_buffered(c, c.world(dest), tag, source{data});
        return wire_of(c).send(c.world(dest), tag, data);
    }
    require(on, whole(transfer{letter_of(buffer, count, t, dest, tag, c), mode}), c.handle);
}

void tell_and_require(call& on, ending const& e, comm const& c, MPI_Status* status) {
    e.tell_to(status);
    require(on, e, c.handle);
}

std::unique_ptr<transfer> sender(void const* buffer, MPI_Count count, datatype_object& t, int dest, int tag, comm& c) {
    return std::make_unique<transfer>(letter_of(buffer, count, t, dest, tag, c), sending::standard);
}

MPI_Request launch_transfer(call& on, transfer t, comm& c) {
    return launch(on.of(), ref<request>::adopt(new (on.of().transfers) transfer_request{std::move(t), c.handle}));
}

MPI_Request persist(call& on, transfer t, comm& c) {
    auto* const r = new (on.of().transfers) transfer_request{std::move(t), c.handle};
    r->keep();
    return publish(on.of(), ref<request>::adopt(r));
}

/// A plain transfer that is not under way yet, and its handle.
plain_transfer& fresh_plain(binding& b, MPI_Request& handle) {
    std::uintptr_t word = 0;
    auto* r = static_cast<plain_transfer*>(b.requests.revive(word));
    if (r) [[likely]]
        handle = handle_of<MPI_Request>(word);
    else handle = publish(b, ref<request>::adopt(r = new plain_transfer));
    return *r;
}

/// What begin() begins, unless that is over and went well: then it is one of all sends that have left.
template <class Begin> MPI_Request launch_plain(binding& b, comm& c, int peer, Begin&& begin) {
    MPI_Request handle = MPI_REQUEST_NULL;
    auto& r = fresh_plain(b, handle);
    protocol::request* begun = nullptr;
    try {
        begun = begin();
    } catch (...) {
        b.requests.retire(word_of(handle));
        throw;
    }
    if (begun) return r.begin(c, peer, *begun), handle;
    b.requests.retire(word_of(handle));
    return b.left;
}

/// mode: not buffered.
MPI_Request begin_send(call& on, void const* buffer, MPI_Count count, datatype_object& t, int dest, int tag, comm& c,
                       sending mode) {
    if (dest == MPI_PROC_NULL) return on.of().left;
    auto const run = t.type.contiguous_run(count);
    if (!run) return launch_transfer(on, transfer{letter_of(buffer, count, t, dest, tag, c), mode}, c);
    std::span const data{moved_data::at(buffer, *run), static_cast<std::size_t>(run->bytes)};
    auto const w = wire_of(c);
    auto const to = c.world(dest);
    bool const synchronous = mode == sending::synchronous;
    if (!synchronous && w.try_send(to, tag, data)) [[likely]]
        return on.of().left;
    return launch_plain(on.of(), c, dest, [&] {
        return w.begin_send(to, tag, source{data}, synchronous ? send_mode::synchronous : send_mode::standard);
    });
}

/// A packed copy of what is sent, and the datatype of its bytes.
struct packed {
    packed_copy bytes; // not filled with zeros first: it may be large
    std::size_t size;
    datatype_object& type;

    packed(call& on, void const* buffer, MPI_Count count, datatype_object const& t) : type{on.of().datatypes.get(MPI_BYTE)} {
        moved_data layout;
        auto const from = layout.out(buffer, count, t.type);
        size = from.size();
        bytes = std::make_unique_for_overwrite<std::byte[]>(size);
        from.read(0, {bytes.get(), size});
    }
    transfer sent(int dest, int tag, comm& c) const {
        return transfer{letter_of(bytes.get(), static_cast<MPI_Count>(size), type, dest, tag, c), sending::standard};
    }
};

/// What is to be overwritten is sent where it can leave at once, and no copy need be kept. Both ranks are reached before anything is sent; the
/// receive that follows fails after it where there is no memory for it.
bool left_copied(void const* buffer, MPI_Count count, datatype_object const& t, int dest, int tag, int source, comm& c) {
    if (dest == MPI_PROC_NULL) return true;
    auto const w = wire_of(c);
    auto const to = c.world(dest);
    w.reach(to);
    if (source != MPI_PROC_NULL && source != MPI_ANY_SOURCE) w.reach(c.world(source));
    moved_data layout;
    return w.try_send_copied(to, tag, layout.out(buffer, count, t.type));
}

ending exchange(transfer receive, transfer send) {
    receive.start();
    try {
        send.start();
        auto sent = send.finish();
        auto got = receive.finish();
        return got.code == MPI_SUCCESS && sent.code != MPI_SUCCESS ? sent : got;
    } catch (...) {
        receive.abandon();
        throw;
    }
}

/// The same of data in one piece, from and to ranks: nothing to hold on to.
ending exchange(wire w, mpt::rank to, int out, std::span<std::byte const> data, comm& c, int source, int in,
                std::span<std::byte> room) {
    auto const from = c.world(source);
    w.reach(to); // before a message is received that the caller would not see
    waiting const about{wait_for::receive, c.context, from, in, room.size()};
    outcome sent;
    auto* const receive = w.begun(from, in, sink{room}, about, [&] {
        if (!w.try_send(to, out, data))
            sent = w.finish(*w.start_send(to, out, mpt::source{data}), {wait_for::send, c.context, to, out, data.size()});
    });
    auto got = ending_of(c, w.finish(*receive, about), room.size(), source);
    return got.code == MPI_SUCCESS && sent.how != mpt::status::ok ? ending_of_send(sent, data.size()) : got;
}

} // namespace

// A message that came as it was wanted costs no ending, which has room for a text.
void receive(call& on, std::span<std::byte> room, int source, int tag, comm& c, MPI_Status* status, bool looked_for) {
    auto const w = wire_of(c);
    auto const from = c.world(source);
    auto const o = looked_for ? w.finish(*w.start_recv(from, tag, sink{room}),
                                         waiting{wait_for::receive, c.context, from, tag, room.size()})
                              : w.recv(from, tag, room);
    if (o.how != mpt::status::ok) [[unlikely]]
        return tell_and_require(on, ending_of(c, o, room.size(), source), c, status);
    if (status == MPI_STATUS_IGNORE) return;
    auto const sender = source >= 0 ? source : c.others.find(o.source).value_or(any_source).value;
    tell(status, sender, o.label, static_cast<std::int64_t>(o.bytes));
}

namespace impl {

void Send(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c) {
    send(on, b, n, t, dest, tag, c, sending::standard);
}
void Ssend(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c) {
    send(on, b, n, t, dest, tag, c, sending::synchronous);
}
void Rsend(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c) {
    send(on, b, n, t, dest, tag, c, sending::standard); // a receive that is posted makes it no faster here
}
void Bsend(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c) {
    send(on, b, n, t, dest, tag, c, sending::buffered);
}
void Recv(call& on, void* b, MPI_Count n, datatype_object& t, int source, int tag, comm& c, MPI_Status* status) {
    if (source != MPI_PROC_NULL)
        if (auto const run = t.type.contiguous_run(n)) [[likely]]
            return receive(on, {const_cast<std::byte*>(moved_data::at(b, *run)), static_cast<std::size_t>(run->bytes)}, source,
                           tag, c, status);
    tell_and_require(on, whole(transfer{letter_of(b, n, t, source, tag, c)}), c, status);
}

void Sendrecv(call& on, void const* sb, MPI_Count sn, datatype_object& st, int dest, int stag, void* rb, MPI_Count rn,
              datatype_object& rt, int source, int rtag, comm& c, MPI_Status* status) {
    if (dest == MPI_PROC_NULL) return Recv(on, rb, rn, rt, source, rtag, c, status);
    auto const out = st.type.contiguous_run(sn), in = rt.type.contiguous_run(rn);
    if (out && in && source != MPI_PROC_NULL)
        return tell_and_require(
            on,
            exchange(wire_of(c), c.world(dest), stag, {moved_data::at(sb, *out), static_cast<std::size_t>(out->bytes)}, c,
                     source, rtag, {const_cast<std::byte*>(moved_data::at(rb, *in)), static_cast<std::size_t>(in->bytes)}),
            c, status);
    auto const e = exchange(transfer{letter_of(rb, rn, rt, source, rtag, c)},
                            transfer{letter_of(sb, sn, st, dest, stag, c), sending::standard});
    e.tell_to(status);
    require(on, e, c.handle);
}
void Sendrecv_replace(call& on, void* b, MPI_Count n, datatype_object& t, int dest, int stag, int source, int rtag, comm& c,
                      MPI_Status* status) {
    if (left_copied(b, n, t, dest, stag, source, c)) return Recv(on, b, n, t, source, rtag, c, status);
    packed const out{on, b, n, t};
    auto const e = exchange(transfer{letter_of(b, n, t, source, rtag, c)}, out.sent(dest, stag, c));
    e.tell_to(status);
    require(on, e, c.handle);
}

void Isend(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c, MPI_Request& r) {
    r = begin_send(on, b, n, t, dest, tag, c, sending::standard);
}
void Issend(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c, MPI_Request& r) {
    r = begin_send(on, b, n, t, dest, tag, c, sending::synchronous);
}
void Irsend(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c, MPI_Request& r) {
    r = begin_send(on, b, n, t, dest, tag, c, sending::ready);
}
void Ibsend(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c, MPI_Request& r) {
    r = launch_transfer(on, transfer{letter_of(b, n, t, dest, tag, c), sending::buffered}, c);
}
void Irecv(call& on, void* b, MPI_Count n, datatype_object& t, int source, int tag, comm& c, MPI_Request& r) {
    auto const run = t.type.contiguous_run(n);
    if (!run || source < 0) return static_cast<void>(r = launch_transfer(on, transfer{letter_of(b, n, t, source, tag, c)}, c));
    sink const into{const_cast<std::byte*>(moved_data::at(b, *run)), static_cast<std::size_t>(run->bytes)};
    r = launch_plain(on.of(), c, source, [&] { return wire_of(c).start_recv(c.world(source), tag, into); });
}
void Isendrecv(call& on, void const* sb, MPI_Count sn, datatype_object& st, int dest, int stag, void* rb, MPI_Count rn,
               datatype_object& rt, int source, int rtag, comm& c, MPI_Request& r) {
    r = launch(on.of(),
               ref<request>::adopt(new (on.of().transfers) transfer_request{
                   transfer{letter_of(rb, rn, rt, source, rtag, c)}, sender(sb, sn, st, dest, stag, c), {}, c.handle}));
}
void Isendrecv_replace(call& on, void* b, MPI_Count n, datatype_object& t, int dest, int stag, int source, int rtag, comm& c,
                       MPI_Request& r) {
    if (left_copied(b, n, t, dest, stag, source, c)) return Irecv(on, b, n, t, source, rtag, c, r);
    packed out{on, b, n, t};
    auto send = sender(out.bytes.get(), static_cast<MPI_Count>(out.size), out.type, dest, stag, c);
    r = launch(on.of(), ref<request>::adopt(new (on.of().transfers) transfer_request{
                            transfer{letter_of(b, n, t, source, rtag, c)}, std::move(send), std::move(out.bytes), c.handle}));
}

void Send_init(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c, MPI_Request& r) {
    r = persist(on, transfer{letter_of(b, n, t, dest, tag, c), sending::standard}, c);
}
void Ssend_init(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c, MPI_Request& r) {
    r = persist(on, transfer{letter_of(b, n, t, dest, tag, c), sending::synchronous}, c);
}
void Rsend_init(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c, MPI_Request& r) {
    r = persist(on, transfer{letter_of(b, n, t, dest, tag, c), sending::ready}, c);
}
void Bsend_init(call& on, void const* b, MPI_Count n, datatype_object& t, int dest, int tag, comm& c, MPI_Request& r) {
    r = persist(on, transfer{letter_of(b, n, t, dest, tag, c), sending::buffered}, c);
}
void Recv_init(call& on, void* b, MPI_Count n, datatype_object& t, int source, int tag, comm& c, MPI_Request& r) {
    r = persist(on, transfer{letter_of(b, n, t, source, tag, c)}, c);
}

void Start(call& on, MPI_Request& handle) {
    auto& r = on.object(handle, "request");
    on.blame(r.blamed);
    if (!r.persistent)
        on.fail(MPI_ERR_REQUEST, "request is not persistent: an operation that was started cannot be started again");
    if (r.active) on.fail(MPI_ERR_REQUEST, "request is active already");
    r.start();
}
void Startall(call& on, int n, MPI_Request* requests) {
    for (int i = 0; i < n; ++i) Start(on, requests[i]);
}

} // namespace impl
} // namespace mpt::c
