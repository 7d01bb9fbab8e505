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

/// False: nothing is under way.
[[gnu::always_inline]] inline bool receive(binding& b, named const& m, int source, int tag, MPI_Request& request) {
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

[[gnu::noinline]] int truncated(outcome const& o, std::size_t room, int source, comm const& c) {
    return run("MPI_Recv", false, false, [&](call& on) { require(on, ending_of_receive(o, room, source), c.handle); });
}

/// The transfer of a handle; nullptr: it is none of these, or not under way.
plain_transfer* transfer_of(binding const& b, MPI_Request h) noexcept {
    auto* const r = h == MPI_REQUEST_NULL ? nullptr : b.requests.find_handle(h);
    return r && r->plain && r->active ? static_cast<plain_transfer*>(r) : nullptr;
}

/// Ends a request that is done. False: it is another sort, or not done, or there is an error to tell.
[[gnu::always_inline]] inline bool end(MPI_Request* request, MPI_Status* status) noexcept {
    auto& b = here();
    if (!b.is_ready() || !request) [[unlikely]]
        return false;
    if (*request == b.left) {
        *request = MPI_REQUEST_NULL;
        return tell_sent(status), true;
    }
    auto* const r = transfer_of(b, *request);
    if (!r || !r->home().enter([&](auto& engine) { return r->ended(engine, status); })) return false;
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
    auto const got = wire_of(*m.on).try_recv(m.peer, mpt::tag{tag}, m.data);
    if (!got) return otherwise::Recv(buf, count, datatype, source, tag, comm, status);
    auto const o = wire::outcome_of(m.peer, got, m.data.size());
    tell(status, source, tag, static_cast<std::int64_t>(std::min<std::uint64_t>(o.bytes, m.data.size())));
    if (o.how != mpt::status::ok) [[unlikely]]
        return truncated(o, m.data.size(), source, *m.on);
    return MPI_SUCCESS;
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
    if (!request || !m.find(b, buf, count, datatype, source, tag, comm) || !receive(b, m, source, tag, *request)) [[unlikely]]
        return otherwise::Irecv(buf, count, datatype, source, tag, comm, request);
    return MPI_SUCCESS;
}

int Wait(MPI_Request* request, MPI_Status* status) {
    return end(request, status) ? MPI_SUCCESS : otherwise::Wait(request, status);
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
    if (!flag || !end(request, status)) return otherwise::Test(request, flag, status);
    *flag = 1;
    return MPI_SUCCESS;
}

} // namespace mpt::c::quick
