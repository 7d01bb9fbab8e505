// The short ways of collectives: one group, data in one piece, nothing in place but where all combine, a predefined operation.
#include <mpt/coll/allgather.hpp>
#include <mpt/coll/allreduce.hpp>
#include <mpt/coll/alltoall.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/gather.hpp>
#include <mpt/coll/reduce.hpp>
#include <mpt/coll/reduce_scatter.hpp>
#include <mpt/coll/scan.hpp>
#include <mpt/coll/scatter.hpp>

#include "collectives.hpp"
#include "operations.hpp"
#include "quick.hpp"

namespace mpt::c::quick {

namespace {

/// The communicator of a handle, where a collective has a short way; nullptr: it has none.
[[gnu::always_inline]] inline comm* one_group(binding const& b, MPI_Comm c) noexcept {
    if (!b.is_ready()) [[unlikely]]
        return nullptr;
    auto* const on = b.comms.find_handle(c);
    return on && !on->is_inter() ? on : nullptr;
}
[[gnu::always_inline]] inline bool is_rank(int root, comm const& c) noexcept {
    return static_cast<unsigned>(root) < static_cast<unsigned>(c.size());
}

/// Count elements for each of some ranks, side by side; nothing: not in one piece, or not good.
struct run_of_elements {
    std::byte* data = nullptr;
    std::size_t bytes = 0;

    [[gnu::always_inline]] bool find(binding const& b, void const* at, int count, MPI_Datatype t, int ranks = 1) noexcept {
        if (count <= 0 || at == MPI_BOTTOM || at == MPI_IN_PLACE) [[unlikely]]
            return false;
        auto const* const type = b.datatypes.find_handle(t);
        if (!type || !type->committed) [[unlikely]]
            return false;
        auto const run = type->type.contiguous_run(std::int64_t{count} * ranks);
        if (!run || run->bytes == 0) [[unlikely]]
            return false;
        data = const_cast<std::byte*>(moved_data::at(at, *run)), bytes = static_cast<std::size_t>(run->bytes);
        return true;
    }
    source out() const noexcept { return {data, bytes}; }
    sink in() const noexcept { return {data, bytes}; }
    std::span<std::byte> all() const noexcept { return {data, bytes}; }
};

/// A piece for each rank.
struct equal_runs : run_of_elements {
    std::size_t each = 0;

    [[gnu::always_inline]] bool find(binding const& b, void const* at, int count, MPI_Datatype t, comm const& c) noexcept {
        if (!run_of_elements::find(b, at, count, t, c.size())) [[unlikely]]
            return false;
        each = bytes / static_cast<std::size_t>(c.size());
        return true;
    }
    coll::blocks pieces() const noexcept { return {all(), each}; }
    /// Does that begin like this rank's piece, or the first? Then the long way has an error to tell.
    bool begins_like(run_of_elements const& o, comm const& c) const noexcept {
        return o.data == data || o.data == data + static_cast<std::size_t>(c.me) * each;
    }
};

/// A piece for each rank, of any length and anywhere.
class listed_runs {
    std::byte* first_ = nullptr; // of what lies at displacement 0
    std::ptrdiff_t size_ = 0;    // of an element
    int const* counts_ = nullptr;
    int const* places_ = nullptr;

public:
    [[gnu::always_inline]] bool find(binding const& b, void const* at, int const* counts, int const* places, MPI_Datatype t,
                                     comm const& c) noexcept {
        if (!counts || !places || at == MPI_BOTTOM || at == MPI_IN_PLACE) [[unlikely]]
            return false;
        auto const* const type = b.datatypes.find_handle(t);
        if (!type || !type->committed || type->type.size() == 0 || !type->type.is_contiguous(2)) [[unlikely]]
            return false;
        int all = 0;
        for (std::int32_t r = 0; r < c.size(); ++r) all |= counts[r];
        if (all < 0) [[unlikely]] // one is
            return false;
        first_ = const_cast<std::byte*>(moved_data::at(at, *type->type.contiguous_run(1))), size_ = type->type.size();
        counts_ = counts, places_ = places;
        return true;
    }
    std::span<std::byte> piece(std::int32_t r) const noexcept {
        if (counts_[r] == 0) return {}; // and its place may be anything
        return {first_ + places_[r] * size_, static_cast<std::size_t>(counts_[r] * size_)};
    }
    coll::place operator()(std::int32_t r) const noexcept { return {piece(r)}; }
    /// As of equal runs.
    bool begins_like(std::byte const* data, comm const& c) const noexcept {
        return data && (data == piece(c.me).data() || data == piece(0).data());
    }
};

/// Elements of a basic type, and a predefined operation that is defined on them.
class basic_operation {
    kernel kernel_ = nullptr;
    merger merger_ = nullptr; // may be missing
    std::size_t size_ = 0;

public:
    [[gnu::always_inline]] bool find(binding const& b, MPI_Datatype t, MPI_Op op) noexcept {
        auto const* const type = b.datatypes.find_handle(t);
        auto const* const what = b.operations.find_handle(op);
        bool const good = type && type->committed && what && what->predefined && what->commutes && is_basic(type->type) &&
                          type->type.size() == type->type.extent();
        if (!good) [[unlikely]]
            return false;
        auto const& f = find_kernels(*what->predefined, type->type.element());
        kernel_ = f.combine, merger_ = f.merge;
        size_ = static_cast<std::size_t>(type->type.size());
        return kernel_ != nullptr;
    }
    /// Count elements of that type; false: none.
    [[gnu::always_inline]] bool are_at(run_of_elements& run, void const* at, int count) const noexcept {
        if (count <= 0 || at == MPI_BOTTOM || at == MPI_IN_PLACE) [[unlikely]]
            return false;
        run.data = static_cast<std::byte*>(const_cast<void*>(at)), run.bytes = static_cast<std::size_t>(count) * size_;
        return true;
    }
    coll::operand of() const noexcept {
        coll::operand::merger const merge = [](void* what, std::byte const* left, std::byte const* right, std::byte* result,
                                               std::size_t n) {
            static_cast<basic_operation const*>(what)->merger_(left, right, result, n);
        };
        return coll::operand::array(
            size_, true, const_cast<basic_operation*>(this),
            [](void* what, std::byte const* left, std::byte* right, std::size_t n) {
                static_cast<basic_operation const*>(what)->kernel_(left, right, n);
            },
            merger_ ? merge : nullptr);
    }
};

/// Elements of a basic type that a predefined operation combines, from one buffer into another.
struct combined_runs {
    run_of_elements mine, result;
    basic_operation how;

    [[gnu::always_inline]] bool find(binding const& b, void const* from, void* into, int count, MPI_Datatype t,
                                     MPI_Op op) noexcept {
        return how.find(b, t, op) && how.are_at(result, into, count) && how.are_at(mine, from, count) &&
               mine.data != result.data;
    }
};

/// Tells of the error that is being handled as the long way would.
[[gnu::noinline]] int failed(char const* name, comm const& c) {
    return run(name, false, false, [&](call& on) {
        on.blame(c.handle);
        throw;
    });
}

template <class F> [[gnu::always_inline]] inline int done(char const* name, comm const& c, F const& collective) {
    try {
        collective(team_of(c));
        return MPI_SUCCESS;
    } catch (error const&) { return failed(name, c); } catch (std::bad_alloc const&) {
        return failed(name, c);
    }
}

} // namespace

int Barrier(MPI_Comm comm) {
    auto const* const c = one_group(here(), comm);
    if (!c) [[unlikely]]
        return otherwise::Barrier(comm);
    return done("MPI_Barrier", *c, [](auto const& team) { coll::barrier(team); });
}

int Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    auto const& b = here();
    run_of_elements data;
    auto const* const c = one_group(b, comm);
    if (!c || !is_rank(root, *c) || !data.find(b, buffer, count, datatype)) [[unlikely]]
        return otherwise::Bcast(buffer, count, datatype, root, comm);
    return done("MPI_Bcast", *c, [&](auto const& team) { coll::broadcast(team, coll::place{data.all()}, root); });
}

int Reduce(void const* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
    auto const& b = here();
    run_of_elements mine, result;
    basic_operation how;
    auto const* const c = one_group(b, comm);
    if (!c || !is_rank(root, *c) || !how.find(b, datatype, op) || !how.are_at(mine, sendbuf, count) ||
        (c->me == root && (!how.are_at(result, recvbuf, count) || result.data == mine.data))) [[unlikely]]
        return otherwise::Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
    return done("MPI_Reduce", *c, [&](auto const& team) {
        coll::reduce(team, how.of(), mine.data, result.data, static_cast<std::size_t>(count), root);
    });
}

int Allreduce(void const* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    auto const& b = here();
    run_of_elements mine, result;
    basic_operation how;
    auto const* const c = one_group(b, comm);
    bool const in_place = sendbuf == MPI_IN_PLACE;
    if (!c || !how.find(b, datatype, op) || !how.are_at(result, recvbuf, count) ||
        (!in_place && (!how.are_at(mine, sendbuf, count) || mine.data == result.data))) [[unlikely]]
        return otherwise::Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    return done("MPI_Allreduce", *c, [&](auto const& team) {
        coll::allreduce(team, how.of(), mine.data, result.data, static_cast<std::size_t>(count)); // no data of ours: in place
    });
}

int Gather(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
           int root, MPI_Comm comm) {
    auto const& b = here();
    run_of_elements mine;
    equal_runs all;
    auto const* const c = one_group(b, comm);
    if (!c || !is_rank(root, *c) || !mine.find(b, sendbuf, sendcount, sendtype) ||
        (c->me == root && (!all.find(b, recvbuf, recvcount, recvtype, *c) || all.begins_like(mine, *c)))) [[unlikely]]
        return otherwise::Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return done("MPI_Gather", *c, [&](auto const& team) { coll::gather(team, mine.out(), all.pieces(), root); });
}

int Scatter(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
            int root, MPI_Comm comm) {
    auto const& b = here();
    run_of_elements mine;
    equal_runs all;
    auto const* const c = one_group(b, comm);
    if (!c || !is_rank(root, *c) || !mine.find(b, recvbuf, recvcount, recvtype) ||
        (c->me == root && (!all.find(b, sendbuf, sendcount, sendtype, *c) || all.begins_like(mine, *c)))) [[unlikely]]
        return otherwise::Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return done("MPI_Scatter", *c, [&](auto const& team) { coll::scatter(team, all.pieces(), mine.in(), root); });
}

int Allgather(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
              MPI_Comm comm) {
    auto const& b = here();
    run_of_elements mine;
    equal_runs all;
    auto const* const c = one_group(b, comm);
    if (!c || !mine.find(b, sendbuf, sendcount, sendtype) || !all.find(b, recvbuf, recvcount, recvtype, *c) ||
        all.begins_like(mine, *c)) [[unlikely]]
        return otherwise::Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return done("MPI_Allgather", *c, [&](auto const& team) { coll::allgather(team, mine.out(), all.pieces()); });
}

int Alltoall(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
             MPI_Comm comm) {
    auto const& b = here();
    equal_runs mine, all;
    auto const* const c = one_group(b, comm);
    if (!c || !mine.find(b, sendbuf, sendcount, sendtype, *c) || !all.find(b, recvbuf, recvcount, recvtype, *c) ||
        mine.data == all.data || mine.each != all.each) [[unlikely]]
        return otherwise::Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return done("MPI_Alltoall", *c, [&](auto const& team) { coll::alltoall(team, mine.pieces(), all.pieces()); });
}

// --- pieces of any sizes, and parts of what is combined ---------------------------------------------------------------------------

int Gatherv(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int const* recvcounts, int const* displs,
            MPI_Datatype recvtype, int root, MPI_Comm comm) {
    auto const& b = here();
    run_of_elements mine;
    listed_runs all;
    auto const* const c = one_group(b, comm);
    if (!c || !is_rank(root, *c) || !mine.find(b, sendbuf, sendcount, sendtype) ||
        (c->me == root && (!all.find(b, recvbuf, recvcounts, displs, recvtype, *c) || all.begins_like(mine.data, *c))))
        [[unlikely]]
        return otherwise::Gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
    return done("MPI_Gatherv", *c, [&](auto const& team) { coll::gatherv(team, mine.out(), all, root); });
}

int Scatterv(void const* sendbuf, int const* sendcounts, int const* displs, MPI_Datatype sendtype, void* recvbuf, int recvcount,
             MPI_Datatype recvtype, int root, MPI_Comm comm) {
    auto const& b = here();
    run_of_elements mine;
    listed_runs all;
    auto const* const c = one_group(b, comm);
    if (!c || !is_rank(root, *c) || !mine.find(b, recvbuf, recvcount, recvtype) ||
        (c->me == root && (!all.find(b, sendbuf, sendcounts, displs, sendtype, *c) || all.begins_like(mine.data, *c))))
        [[unlikely]]
        return otherwise::Scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return done("MPI_Scatterv", *c, [&](auto const& team) { coll::scatterv(team, all, mine.in(), root); });
}

int Allgatherv(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int const* recvcounts,
               int const* displs, MPI_Datatype recvtype, MPI_Comm comm) {
    auto const& b = here();
    run_of_elements mine;
    listed_runs all;
    auto const* const c = one_group(b, comm);
    if (!c || !mine.find(b, sendbuf, sendcount, sendtype) || !all.find(b, recvbuf, recvcounts, displs, recvtype, *c) ||
        all.begins_like(mine.data, *c)) [[unlikely]]
        return otherwise::Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
    return done("MPI_Allgatherv", *c, [&](auto const& team) { coll::allgather(team, mine.out(), all); });
}

int Alltoallv(void const* sendbuf, int const* sendcounts, int const* sdispls, MPI_Datatype sendtype, void* recvbuf,
              int const* recvcounts, int const* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
    auto const& b = here();
    listed_runs mine, all;
    auto const* const c = one_group(b, comm);
    if (!c || !mine.find(b, sendbuf, sendcounts, sdispls, sendtype, *c) ||
        !all.find(b, recvbuf, recvcounts, rdispls, recvtype, *c) || all.begins_like(mine.piece(c->me).data(), *c)) [[unlikely]]
        return otherwise::Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
    return done("MPI_Alltoallv", *c, [&](auto const& team) { coll::alltoallv(team, mine, all); });
}

int Reduce_scatter_block(void const* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    auto const& b = here();
    combined_runs all;
    auto const* const c = one_group(b, comm);
    if (!c || !all.find(b, sendbuf, recvbuf, recvcount, datatype, op)) [[unlikely]]
        return otherwise::Reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm);
    return done("MPI_Reduce_scatter_block", *c, [&](auto const& team) {
        coll::reduce_scatter_block(team, all.how.of(), all.mine.data, all.result.data, static_cast<std::size_t>(recvcount));
    });
}

int Scan(void const* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    auto const& b = here();
    combined_runs all;
    auto const* const c = one_group(b, comm);
    if (!c || !all.find(b, sendbuf, recvbuf, count, datatype, op)) [[unlikely]]
        return otherwise::Scan(sendbuf, recvbuf, count, datatype, op, comm);
    return done("MPI_Scan", *c, [&](auto const& team) {
        coll::scan(team, all.how.of(), all.mine.data, all.result.data, static_cast<std::size_t>(count));
    });
}

int Exscan(void const* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    auto const& b = here();
    combined_runs all;
    auto const* const c = one_group(b, comm);
    if (!c || !all.find(b, sendbuf, recvbuf, count, datatype, op)) [[unlikely]]
        return otherwise::Exscan(sendbuf, recvbuf, count, datatype, op, comm);
    return done("MPI_Exscan", *c, [&](auto const& team) {
        coll::exscan(team, all.how.of(), all.mine.data, all.result.data, static_cast<std::size_t>(count));
    });
}

} // namespace mpt::c::quick
