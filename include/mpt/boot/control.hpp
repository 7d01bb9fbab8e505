/// boot/control - the control segment: what the ranks of a node and their launcher share from the first instant.
///
///        +--------+----------+----------+-----+----------+
///        | header | record 0 | record 1 | ... | record n |     each record starts on its own page
///        +--------+----------+----------+-----+----------+
///
///   Wire     fixed layout, pinned by test/layout_test.cpp; `version` and `cookie` are checked by every rank that attaches.
///   Writers  the header: its maker, then single words as said; a record: its own rank (`exit_state`: the launcher).
///   Memory   committed whole by its maker: nobody meets a SIGBUS in it.
///   Order    a record's fields are published by `state` (sync boot.record); arrivals at meet() by `arrived` (sync boot.meet).
#pragma once
#include <array>
#include <cstdint>

#include <mpt/core/atomics.hpp>
#include <mpt/core/types.hpp>
#include <mpt/wait/calls.hpp>
#include <mpt/wait/record.hpp>

namespace mpt::inline v0::boot {

using native = native_atomics;

struct control_header {
    static constexpr std::uint64_t magic_value = 0x3074706d6c727463; // "ctrlmpt0"
    static constexpr std::uint32_t current_version = 1;

    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t ranks;
    std::array<std::uint64_t, 2> cookie; // random; a rank proves by it that it belongs to the job
    std::uint64_t stride;                // of the data memfd
    std::uint64_t job_id;                // random; seeds nothing secret
    native::atomic<fence_mode> fences;   // the node's mode, the same for all; set by the maker, or to `both` by a rank that
                                         // could not register for membarrier; final after the first meet()
    std::uint32_t scarce;                // 1: ranks outnumber the CPUs they may use
    std::int32_t launcher_pid;           // 0: none
    std::uint32_t cpus;                  // that the ranks may use, all together; 0: a job of one, which does not ask

    alignas(line_pair) native::atomic<std::uint32_t> arrived; // meet(): ranks that came, over all rounds
    alignas(line_pair) native::atomic<std::uint32_t> aborted; // 0, or 1 + exit code of who ended the job
    native::atomic<std::uint32_t> abort_rank;                 // 0, or 1 + rank of who ended the job, who alone says so
    native::atomic<std::uint32_t> no_membarrier;              // set by a rank that could not register: then all fence
    native::atomic<std::uint64_t> told; // hash of the sentence that a rank says for all of them; 0: none yet

    alignas(line_pair) native::atomic<std::uint32_t> copying; // ranks that are threads: job::begin_copy
    // By ranks 0 and 1, when all had registered: every CPU that they may be given (pass_every_cpu); 0: not yet, or not all.
    std::array<native::atomic<std::uint64_t>, 2> passed;
};
static_assert(sizeof(control_header) <= 4096);

/// By what a rank has begun; bits of control_record::speaks. shmem_unchecked: the C library that looks at no arguments.
enum class facade : std::uint32_t { mpi = 1, shmem = 2, shmem_unchecked = 4 };

enum class rank_state : std::uint32_t { absent, attached, running, finalized, failed };

struct control_record {
    static constexpr std::size_t address_bytes = 120;

    struct address {
        std::uint16_t slot, lane;
        std::uint32_t size; // 0: free
        std::array<std::byte, address_bytes> data;
    };

    alignas(4096) native::atomic<rank_state> state;
    std::int32_t pid;
    std::int32_t tid;
    std::uint32_t rounds;                   // meetings this rank came to; a later environment of the same rank counts on
    std::int32_t exit_state;                // the launcher: wait status of the rank's process once it is gone
    std::uint64_t layout;                   // hash of the stack's wire layout
    std::uint64_t configuration;            // hash of the job-wide configuration values
    std::array<char, 104> stack_name;       // for the message when layouts differ
    std::uint64_t slice_bytes;              // how much of its slice this rank uses
    std::array<char, 1024> job_values;      // "NAME=value\n..." of the job-wide rows, for the message when they differ
    std::array<address, 48> addresses;      // 16 lanes of three transports
    std::array<std::uint64_t, 8> memory;    // most bytes of each use, by a rank that leaves (stack/memory_report.hpp)
    native::atomic<std::uint32_t> cpu;      // where the rank last waited for long, and one more; 0: nowhere yet, or it sleeps
    native::atomic<std::uint32_t> speaks;   // by which facades it has begun: reports name calls as the program does
    alignas(line_pair) call_log calls;      // the collectives with a root that it called last, for those who wait for it
    alignas(line_pair) wait_record waiting; // what the rank waits for, for the hang report
    std::array<wait_record, 6> kept;        // when it went to sleep: the first messages that it has not asked for

    /// A communicator that has a name.
    struct name {
        native::atomic<std::uint64_t> context; // 0: free
        std::array<char, 40> text;
    };
    std::array<name, 4> names;
    std::array<char, 168> exception; // that nobody caught, and by which the process dies: its type and what()
};
static_assert(sizeof(control_record) == 8192);

/// Where the records begin, and how long a control segment is.
inline constexpr std::size_t control_records_at = 4096;
constexpr std::uint64_t control_bytes(std::uint32_t ranks) noexcept {
    return control_records_at + std::uint64_t{ranks} * sizeof(control_record);
}

} // namespace mpt::inline v0::boot
