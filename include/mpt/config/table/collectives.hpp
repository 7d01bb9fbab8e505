/// config/table/collectives - rows on collectives: which way they take.
#pragma once
#include <array>

#include <mpt/config/table/row.hpp>

namespace mpt::inline v0::config::detail {

consteval auto rows_of_collectives() {
    using enum scope;
    // clang-format off
    return std::array{
        count ("MPT_NODE_CALLS", 4, 0, 1'000'000, job,
            "a communicator's collectives, from this one on, go through memory that its ranks share; 0: none, all by messages",
            guess),
        count ("MPT_NODE_RANKS", 64, 0, 4096, job,
            "largest communicator that has such memory", guess),
        size  ("MPT_NODE_FLAT", 8_KiB, 0_B, 32_KiB, job,
            "largest reduction there that every rank makes by itself; above it, each makes a part", guess),
        size  ("MPT_NODE_CHUNK", 128_KiB, 32_KiB, 4_MiB, job,
            "piece of larger data that a rank puts there at once; it keeps 16, of more than 8 ranks fewer", measured),
        size  ("MPT_NODE_PIECE", 64_KiB, 0_B, 1024_GiB, job,
            "largest piece of a scatter that goes through it, and of an alltoall of more than two ranks, of 8K at most, of 2K "
            "where those for all others are more than 32K; above it, MPT_NODE_DIRECT or messages",
            measured),
        size  ("MPT_NODE_DIRECT", 64_KiB, 0_B, 1024_GiB, job,
            "smallest piece of a scatter or gather that a rank copies from or to another's memory by itself; of an alltoall "
            "twice as much where a rank sends 448K at most",
            measured),
        size  ("MPT_NODE_MAX", 1024_GiB, 1_KiB, 1024_GiB, job,
            "largest collective that goes through it, by the bytes of a rank; above it, messages", guess),

        set   ("MPT_COLL_OFF",
            "mpi_barrier|mpi_allreduce|mpi_allgather|mpi_bcast|mpi_gather|mpi_scatter|mpi_alltoall|mpi_reduce|"
            "mpi_allgatherv|mpi_gatherv|mpi_scatterv|mpi_alltoallv|mpi_scan", job,
            "collectives that go by messages alone, by the ordinary algorithms; OpenSHMEM's too", cray, {"MPICH_COLL_OPT_OFF"}),
        toggle("MPT_ALLREDUCE_NODE", state::on, job,
            "allreduces go through memory that ranks share; off: by messages, whose order of combination ranks and sizes "
            "settle alone",
            cray, {"MPI_ALLREDUCE_NO_SMP", meaning::opposite}),
        toggle("MPT_REDUCE_NODE", state::on, job,
            "the same of reduces", cray, {"MPI_REDUCE_NO_SMP", meaning::opposite}),

        size  ("MPT_ALLREDUCE_SHORT", 16_KiB, 0_B, 1024_GiB, job,
            "largest allreduce by messages in which partners exchange all they have; above it, halves; "
            "OpenSHMEM's reductions, too",
            guess, {"SHMEM_REDUCE_CUTOFF_SIZE"}),
        toggle("MPT_ALLREDUCE_HALVES", state::on, job,
            "larger ones by messages go by halves", measured, {"SHMEM_USE_LARGE_OPT_REDUCE"}),
        size  ("MPT_ALLGATHER_SHORT", 32_KiB, 0_B, 1024_GiB, job,
            "most bytes of all pieces that an allgather by messages hands on together; above it, a ring", guess),
        size  ("MPT_ALLGATHER_VIA_ROOT", 0_B, 0_B, 1024_GiB, job,
            "largest piece of an allgather by messages that is gathered by one rank and broadcast; above it, as its sum says",
            "one node: twice the steps", {"MPICH_ALLGATHER_VSHORT_MSG"}),
        size  ("MPT_UNEVEN_VIA_ROOT", 0_B, 0_B, 1024_GiB, job,
            "the same where pieces differ in size", "one node: twice the steps", {"MPICH_ALLGATHERV_VSHORT_MSG"}),
        size  ("MPT_ALLTOALL_SHORT", 1_KiB, 0_B, 1024_GiB, job,
            "largest piece of an alltoall by messages that travels with others; above it, each to its rank",
            measured, {"MPICH_ALLTOALL_SHORT_MSG"}),
        size  ("MPT_GATHER_SHORT", 1_KiB, 0_B, 1024_GiB, job,
            "largest piece of a gather by messages that goes by a tree, from 16 ranks on", measured),
        size  ("MPT_SCATTER_SHORT", 1_KiB, 0_B, 1024_GiB, job,
            "largest piece of a scatter by messages that goes by a tree, from 16 ranks on", measured),
        size  ("MPT_GATHERV_AT_ONCE", 0_B, 0_B, 1024_GiB, local,
            "largest piece of a gatherv that the root takes as it comes, whoever sends it; larger ones in rank order",
            "a receive in turn takes fewer instructions", {"MPICH_GATHERV_SHORT_MSG"}),
        size  ("MPT_SCATTERV_AT_ONCE", 0_B, 0_B, 1024_GiB, local,
            "largest piece of a scatterv by messages that the root sends without waiting for its receiver; larger ones in rank order",
            "a send in turn takes fewer instructions", {"MPICH_SCATTERV_SHORT_MSG"}),
        toggle("MPT_BCAST_TREE", state::off, job,
            "broadcasts of every size go by messages, and by the binomial tree", cray, {"MPICH_BCAST_ONLY_TREE"}),
        size  ("MPT_BCAST_LONG", 512_KiB, 1_B, 1024_GiB, job,
            "smallest broadcast by messages that is cut into a piece for each rank, from four ranks on", measured),
        size  ("MPT_REDUCE_LONG", 512_KiB, 1_B, 1024_GiB, job,
            "smallest reduce by messages of which each rank makes a part, from four ranks on", measured),
    };
    // clang-format on
}

} // namespace mpt::inline v0::config::detail
