/// config/table/engine - rows on waiting, messages, windows and what is said at the start.
#pragma once
#include <array>

#include <mpt/config/table/row.hpp>

namespace mpt::inline v0::config::detail {

consteval auto rows_of_engine() {
    using enum scope;
    using enum meaning;
    using enum state;
    // clang-format off
    return std::array{
        // name, default, least and most (or words), scope,
        //     help, origin of the default, alias
        count ("MPT_LANES", 1, 1, 16, job,
            "lanes of an environment: rings, matching and progress of their own", "one lane costs nothing"),

        count ("MPT_SPIN", 2000, 0, 1'000'000'000, local,
            "empty polls before the first yield, where CPUs are not scarce, 16 of them, or 96 to 223 beside others that wait, or 256 after one that served a peer, while somebody wants the CPU; where they are, 64 while nobody does", guess),
        count ("MPT_YIELD", 200, 0, 1'000'000'000, local,
            "empty polls, each with a yield, before the first sleep, after each of the first 32 of them 16 more where two ranks share a CPU; and as many more as MPT_SPIN has fewer while somebody wants the CPU", guess),
        count ("MPT_NAP", 2000, 1, 1'000'000, local,
            "microseconds: the longest sleep before a waiting rank looks again; of a thread beside another one that looks 16 times as long, a second at most", guess),
        word  ("MPT_WAIT", "auto", "auto|spin|yield|sleep", local,
            "the most a waiting rank does to give its CPU away; auto: by how scarce CPUs are", guess),
        word  ("MPT_FENCES", "auto", "auto|sleeper|both", job,
            "who fences between sender and sleeper; sleeper needs membarrier", measured),

        toggle("MPT_TICKET", on, local,
            "threads of a rank enter mpt in the order in which they came; off: by the system's mutex, in any order",
            cray, {"MPICH_OPT_THREAD_SYNC"}),
        word  ("MPT_THREAD_LEVEL", "multiple", "single|funneled|serialized|multiple", local,
            "the highest level of threads that MPI_Init_thread and sessions provide",
            "what is asked for", {"MPICH_MAX_THREAD_SAFETY"}),
        word  ("MPT_LOOK", "auto", "auto|loading|owning", local,
            "how a waiting rank looks at the line that it answers on; owning takes it over; auto: by the processor", measured),

        count ("MPT_RING_LINES", 256, 16, 4096, job,
            "cache lines of a mailbox ring", guess),
        count ("MPT_HOT_PEERS", 16, 1, 4096, job,
            "peers whose rings are polled every time; the others when their counters moved", guess),
        size  ("MPT_EAGER_MAX", 64_KiB, 0_B, 1_MiB, job,
            "largest message sent through a lent buffer (E1), whoever waits for it; above it, MPT_AWAITED_MAX or rendezvous", measured),
        size  ("MPT_EAGER_READABLE", 1024_GiB, 0_B, 1024_GiB, local,
            "largest message in one piece sent through a lent buffer though its receiver could read it where it lies; above it, rendezvous", measured),
        count ("MPT_LOANS", 64, 1, 4096, job, "buffers of a lane that E1 lends, of each of two lengths, and where those of MPT_LOAN_BYTES have 64K, of lengths between, some of them many times as many", guess),
        size  ("MPT_LOAN_BYTES", 64_KiB, 256_B, 1_MiB, job, "bytes of one such buffer", measured),
        size  ("MPT_AWAITED_MAX", 4_MiB, 0_B, 16_MiB, job,
            "largest message sent through buffers that two ranks pass to and fro, 512K at most where ranks share CPUs; with MPT_EAGER_MAX below MPT_LOAN_BYTES none is longer than that", measured),
        size  ("MPT_UNEXPECTED_MAX", 16_MiB, 0_B, 1024_GiB, local,
            "unexpected payload kept per lane; beyond it senders are asked for rendezvous", guess),

        toggle("MPT_SINGLE_COPY", on, local,
            "copy large messages straight from sender to receiver (process_vm_readv) where permitted",
            measured, {"MPICH_SMP_SINGLE_COPY_OFF", opposite}),
        size  ("MPT_SINGLE_COPY_SIZE", 8_KiB, 0_B, 1024_GiB, local,
            "smallest message copied that way", cray, {"MPICH_SMP_SINGLE_COPY_SIZE"}),
        toggle("MPT_BOTH_ENDS", on, local,
            "sender and receiver copy one large message together while both wait in mpt; where ranks share CPUs, up to 512 KiB, and while nobody else wants them", measured),
        size  ("MPT_PIPELINE_MAX", 1024_GiB, 0_B, 1024_GiB, local,
            "largest message that goes through lent buffers in pieces while both ranks are in mpt; above it, single copy", measured),
        size  ("MPT_CACHED_MAX", 4_MiB, 0_B, 1024_GiB, local,
            "largest message in pieces, or result of a collective, that is written into the receiver's caches, and twice the largest in one buffer; longer ones go around them", measured),
        size  ("MPT_CHUNK", 32_KiB, 1_KiB, 16_MiB, job, "piece of the pipelined double copy", guess),

        toggle("MPT_RMA_DIRECT", on, job,
            "one-sided operations on windows load, store and copy at the target by themselves; off: agents there do, by "
            "messages, but for shared windows",
            "a letter needs a turn of the target", {"MPICH_RMA_OVER_DMAPP"}),
        word  ("MPT_STREAM", "unix", "unix|tcp", job,
            "sockets under the stream transport", "Unix sockets are the faster on one host"),

        size  ("MPT_SLICE", 0_B, 0_B, 65536_GiB, local,
            "most that a rank uses of its slice of shared memory; 0: by what fits", "what fits"),

        count ("MPT_HANG_REPORT", 0, 0, 1'000'000, local,
            "seconds without progress after which mptrun says who waits for whom; 0: never", quiet),
        toggle("MPT_ENV_DISPLAY", off, local,
            "rank 0 prints every variable, its value and where it came from, at start", quiet, {"MPICH_ENV_DISPLAY"}),
        toggle("MPT_INFO", off, local,
            "rank 0 prints at start who runs where, how it reaches each rank and why, and the variables that are set", quiet),
        toggle("MPT_VERSION_DISPLAY", off, local,
            "rank 0 prints mpt's version at start", quiet, {"MPICH_VERSION_DISPLAY"}),
    };
    // clang-format on
}

} // namespace mpt::inline v0::config::detail
