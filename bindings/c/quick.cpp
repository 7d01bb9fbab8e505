#include "quick.hpp"

#include "binding.hpp"
#include "plain.hpp"

namespace mpt::c::quick {

namespace {

/// Who and what a send or receive names, where all of it is good.
struct named {
    comm* on = nullptr;
    mpt::rank peer{};
    std::span<std::byte> data{};

    mpt::lane<stack>& lane() const noexcept { return *static_cast<mpt::lane<stack>*>(on->lane); }
    /// The same data, and somebody else.
    [[gnu::always_inline]] bool turn_to(int rank, int tag) noexcept {
        if (tag < 0 || static_cast<unsigned>(rank) >= static_cast<unsigned>(on->peers())) [[unlikely]]
            return false;
        peer = on->others.world(rank);
        return true;
    }

    [[gnu::always_inline]] bool find(binding const& b, void const* at, int count, MPI_Datatype t, int rank, int tag,
                                     MPI_Comm c) noexcept {
        if (!b.is_ready() || (count | tag) < 0 || at == MPI_BOTTOM || at == MPI_IN_PLACE) [[unlikely]]
            return false;
        on = b.comms.find_handle(c);
        auto const* const type = b.datatypes.find_handle(t);
        if (!on || !type || !type->committed || static_cast<unsigned>(rank) >= static_cast<unsigned>(on->peers())) [[unlikely]]
            return false;
        auto const run = type->type.contiguous_run(count);
        if (!run) [[unlikely]]
            return false;
        peer = on->others.world(rank);
        data = {const_cast<std::byte*>(moved_data::at(at, *run)), static_cast<std::size_t>(run->bytes)};
        return true;
    }
};

/// True: it has left.
[[gnu::always_inline]] inline bool send(named const& m, int tag) noexcept {
    return m.lane().enter([&](auto& engine) __attribute__((always_inline)) {
        return engine.send_now(m.peer, m.on->context, tag, m.data.data(), m.data.size());
    });
}

/// The same, where somebody else, of whom a message is wanted next, can be reached.
[[gnu::always_inline]] inline bool send(named const& m, int tag, mpt::rank next) noexcept {
    return m.lane().enter([&](auto& engine) __attribute__((always_inline)) {
        return engine.reaches(next) && engine.send_now(m.peer, m.on->context, tag, m.data.data(), m.data.size());
    });
}

/// False: nothing is under way.
[[gnu::always_inline]] inline bool begin(binding& b, named const& m, int source, int tag, MPI_Request& request) {
    std::uintptr_t word = 0;
    auto* const r = static_cast<plain_transfer*>(b.requests.revive(word));
    if (!r) [[unlikely]] // none has ended yet that this one could be
        return false;
    auto* const begun = m.lane().enter([&](auto& engine) __attribute__((always_inline)) {
        return engine.receive({m.on->context, m.peer, mpt::tag{tag}}, sink{m.data});
    });
    if (!begun) [[unlikely]]
        return b.requests.retire(word), false;
    r->begin(*m.on, source, *begun);
    request = handle_of<MPI_Request>(word);
    return true;
}

[[gnu::noinline]] int truncated(char const* name, outcome const& o, std::size_t room, int source, comm const& c) {
    return run(name, false, false, [&](call& on) { require(on, ending_of_receive(o, room, source), c.handle); });
}

/// Waits a while for a message. False: nothing was received. how: the error, if it is one.
[[gnu::always_inline]] inline bool take(char const* name, named const& m, int source, int tag, MPI_Status* status, int& how) {
    auto const got = wire_of(*m.on).try_recv(m.peer, mpt::tag{tag}, m.data);
    if (!got) return false;
    auto const o = wire::outcome_of(m.peer, got, m.data.size());
    tell(status, source, tag, static_cast<std::int64_t>(std::min<std::uint64_t>(o.bytes, m.data.size())));
    if (o.how != mpt::status::ok) [[unlikely]]
        how = truncated(name, o, m.data.size(), source, *m.on);
    return true;
}

[[gnu::noinline]] int take_at_last(char const* name, named const& m, int source, int tag, MPI_Status* status) {
    return run(name, false, false, [&](call& on) {
        on.blame(m.on->handle);
        receive(on, m.data, source, tag, *m.on, status, true);
    });
}
/// The second half of a call whose first half is done: there is no way back.
[[gnu::always_inline]] inline int take_surely(char const* name, named const& m, int source, int tag, MPI_Status* status) {
    int how = MPI_SUCCESS;
    return take(name, m, source, tag, status, how) ? how : take_at_last(name, m, source, tag, status);
}

/// Ends a collective that was begun, if it is over, or soon. False: nothing was done.
[[gnu::noinline]] bool end_collective(binding& b, request& r, MPI_Request& handle, MPI_Status* status, bool waits) noexcept {
    if (!r.collective || r.persistent) return false;
    constexpr std::uint32_t most = 128; // rounds, 10 us: then the other lanes and hooks have their turn
    auto const& home = r.home();
    bool const looks = waits && !home.is_waited_on(); // who waits there looks for us, too
    if (!r.end_well(looks ? std::min(home.looks() / lane<stack>::engine_type::looks, most) : 0)) return false;
    auto last = ref<request>::adopt(b.requests.remove(word_of(std::exchange(handle, MPI_REQUEST_NULL))));
    tell_sent(status);
    return r.rest(b, std::move(last)), true;
}

/// A persistent send or receive that a short way may start.
[[gnu::always_inline]] inline transfer_request* swift(binding const& b, MPI_Request handle) noexcept {
    auto* const found = handle == MPI_REQUEST_NULL ? nullptr : b.requests.find_handle(handle);
    if (!found || !found->single || found->active) [[unlikely]]
        return nullptr;
    auto* const r = static_cast<transfer_request*>(found);
    return r->is_swift() ? r : nullptr;
}
/// False: nothing was done.
[[gnu::always_inline]] inline bool begin_again(transfer_request& r) noexcept {
    return r.home().enter([&](auto& engine) __attribute__((always_inline)) { return r.start_now(engine); });
}

/// Ends a persistent send or receive that is done, and stays. False: as of end().
[[gnu::noinline]] bool end_single(request& r, MPI_Status* status) noexcept {
    return r.home().enter([&](auto& engine) { return static_cast<transfer_request&>(r).ended(engine, status); });
}

/// Ends a request that is done. False: it is another sort, or not done, or there is an error to tell.
[[gnu::always_inline]] inline bool end(MPI_Request* request, MPI_Status* status, bool waits) noexcept {
    auto& b = here();
    if (!b.is_ready() || !request) [[unlikely]]
        return false;
    if (*request == b.left) {
        *request = MPI_REQUEST_NULL;
        return tell_sent(status), true;
    }
    auto* const found = *request == MPI_REQUEST_NULL ? nullptr : b.requests.find_handle(*request);
    if (!found || !found->active) return false;
    if (!found->plain) return found->single ? end_single(*found, status) : end_collective(b, *found, *request, status, waits);
    auto* const r = static_cast<plain_transfer*>(found);
    if (!r->home().enter([&](auto& engine) { return r->ended(engine, status); })) return false;
    b.requests.retire(word_of(std::exchange(*request, MPI_REQUEST_NULL)));
    return true;
}

} // namespace

int Send(void const* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    named m;
    if (!m.find(here(), buf, count, datatype, dest, tag, comm) || !send(m, tag)) [[unlikely]]
        return otherwise::Send(buf, count, datatype, dest, tag, comm);
    return MPI_SUCCESS;
}

int Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status) {
    named m;
    if (!m.find(here(), buf, count, datatype, source, tag, comm))
        return otherwise::Recv(buf, count, datatype, source, tag, comm, status);
    int how = MPI_SUCCESS;
    return take("MPI_Recv", m, source, tag, status, how) ? how
                                                         : otherwise::Recv(buf, count, datatype, source, tag, comm, status);
}

/* The message goes first, so that it travels while the other one is looked for. */

int Sendrecv(void const* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, int recvcount,
             MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
    named out, in;
    auto& b = here();
    if (!out.find(b, sendbuf, sendcount, sendtype, dest, sendtag, comm) ||
        !in.find(b, recvbuf, recvcount, recvtype, source, recvtag, comm) || !send(out, sendtag, in.peer)) [[unlikely]]
        return otherwise::Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                                   comm, status);
    return take_surely("MPI_Sendrecv", in, source, recvtag, status);
}

int Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                     MPI_Status* status) {
    named out;
    if (!out.find(here(), buf, count, datatype, dest, sendtag, comm)) [[unlikely]]
        return otherwise::Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
    auto in = out;
    if (!in.turn_to(source, recvtag) || !send(out, sendtag, in.peer)) [[unlikely]]
        return otherwise::Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
    return take_surely("MPI_Sendrecv_replace", in, source, recvtag, status);
}

int Isend(void const* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
    auto& b = here();
    named m;
    if (!request || !m.find(b, buf, count, datatype, dest, tag, comm) || !send(m, tag)) [[unlikely]]
        return otherwise::Isend(buf, count, datatype, dest, tag, comm, request);
    *request = b.left;
    return MPI_SUCCESS;
}

int Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request) {
    auto& b = here();
    named m;
    if (!request || !m.find(b, buf, count, datatype, source, tag, comm) || !begin(b, m, source, tag, *request)) [[unlikely]]
        return otherwise::Irecv(buf, count, datatype, source, tag, comm, request);
    return MPI_SUCCESS;
}

int Start(MPI_Request* request) {
    auto& b = here();
    auto* const r = b.is_ready() && request ? swift(b, *request) : nullptr;
    return r && begin_again(*r) ? MPI_SUCCESS : otherwise::Start(request);
}

/* All or, where one of them has no short way, none: the long one first looks whether each is what it should be. Where one cannot start at
 * once, because there is no room for it, it and those behind it take the long way. */
int Startall(int count, MPI_Request array_of_requests[]) {
    auto& b = here();
    bool good = b.is_ready() && array_of_requests;
    for (int i = 0; i < count && good; ++i) good = swift(b, array_of_requests[i]) != nullptr;
    int begun = 0;
    for (transfer_request* r = nullptr; good && begun < count; ++begun)
        if (r = swift(b, array_of_requests[begun]); !r || !begin_again(*r)) break;
    return good && begun == count ? MPI_SUCCESS : otherwise::Startall(count - begun, array_of_requests + begun);
}

int Wait(MPI_Request* request, MPI_Status* status) {
    return end(request, status, true) ? MPI_SUCCESS : otherwise::Wait(request, status);
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
    if (!flag || !end(request, status, false)) return otherwise::Test(request, flag, status);
    *flag = 1;
    return MPI_SUCCESS;
}

// --- data packed by hand ----------------------------------------------------------------------------------------------------------

namespace {

/// Elements and the place of their packed form, where all of it is good: in one piece, or one element by its layout.
struct packed_elements {
    std::uintptr_t memory = 0;
    detail::step const* layout = nullptr;
    std::span<std::byte> place{};

    [[gnu::always_inline]] bool find(void const* elements, int count, MPI_Datatype t, void const* buffer, int size,
                                     int const* position, MPI_Comm c) noexcept {
        auto const& b = here();
        if (!b.is_ready() || elements == MPI_BOTTOM || elements == MPI_IN_PLACE || !buffer || buffer == MPI_IN_PLACE ||
            !position || (count | size | *position) < 0 || !b.comms.find_handle(c)) [[unlikely]]
            return false;
        auto const* const type = b.datatypes.find_handle(t);
        if (!type || !type->committed) [[unlikely]]
            return false;
        auto const run = type->type.contiguous_run(count);
        if (!run && (count != 1 || !(layout = type->type.built_layout()))) return false;
        auto const bytes = run ? run->bytes : type->type.size();
        if (*position > size || bytes > size - *position) [[unlikely]]
            return false;
        memory = reinterpret_cast<std::uintptr_t>(elements) + static_cast<std::uintptr_t>(run ? run->offset : 0);
        place = {static_cast<std::byte*>(const_cast<void*>(buffer)) + *position, static_cast<std::size_t>(bytes)};
        return true;
    }
};

} // namespace

int Pack(void const* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize, int* position, MPI_Comm comm) {
    packed_elements e;
    if (!e.find(inbuf, incount, datatype, outbuf, outsize, position, comm)) [[unlikely]]
        return otherwise::Pack(inbuf, incount, datatype, outbuf, outsize, position, comm);
    if (e.layout) detail::gather(*e.layout, e.memory, 0, e.place);
    else copy_bytes(e.place.data(), reinterpret_cast<std::byte const*>(e.memory), e.place.size());
    *position += static_cast<int>(e.place.size());
    return MPI_SUCCESS;
}

int Unpack(void const* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype datatype, MPI_Comm comm) {
    packed_elements e;
    if (!e.find(outbuf, outcount, datatype, inbuf, insize, position, comm)) [[unlikely]]
        return otherwise::Unpack(inbuf, insize, position, outbuf, outcount, datatype, comm);
    if (e.layout) detail::scatter(*e.layout, e.memory, 0, e.place);
    else copy_bytes(reinterpret_cast<std::byte*>(e.memory), e.place.data(), e.place.size());
    *position += static_cast<int>(e.place.size());
    return MPI_SUCCESS;
}

} // namespace mpt::c::quick
