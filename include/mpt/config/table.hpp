/// config/table - THE table: every knob of mpt is one row here, and nowhere else.
///
///        row --+--> parsing and range check           config/config.hpp
///              +--> comparison between ranks           boot, from values::job_values()
///              +--> mptinfo --env, MPT_ENV_DISPLAY     config/show.hpp
///              +--> docs/environment.md                mptinfo --markdown
///
///   To add a variable, add a row. A row whose default lies outside its range, a name used twice, or a word that is not
///   among a row's words does not compile. `most` is what the compiled layout can hold: a value moves inside what was
///   compiled, never beyond.
///
///   Aliases are names that job scripts already carry (Cray MPT, MPICH); they are accepted where they mean the same thing, or
///   exactly its opposite. SHMEM_NAME is also read as SMA_NAME, which it was before OpenSHMEM 1.4. What mptrun hands to its ranks (MPT_BOOT, MPT_BOOT_...) and what the
///   test suite hands to its programs (MPT_TEST_...) are no knobs: they have no row.
///
///   Scope   job: every rank must hold the same value, compared at start; local: each rank for itself.
///   Limit   the job-wide values of a rank fit job_text_limit bytes of its control record, whatever they are.
///   Tests   test/config_table_test.cpp
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <mpt/core/types.hpp>

namespace mpt::inline v0::config {

using namespace mpt::literals;

enum class scope : std::uint8_t { local, job };

/// What a value looks like.
enum class form : std::uint8_t {
    size,   // bytes, with an optional unit: 4096, 4K, 2M, 1GiB
    count,  // a whole number
    toggle, // on or off
    word,   // one of a few words
    set,    // any of a few words, with commas between
    text,   // anything
};

/// Another name that is accepted for a variable.
enum class meaning : std::uint8_t { same, opposite };
struct alias {
    std::string_view name{};
    meaning means = meaning::same;
};

struct row {
    std::string_view name;
    form type;
    std::uint64_t initial; // a toggle: 0 or 1; a word: its place; a set: bit i for its word i
    std::uint64_t least, most;
    std::string_view words; // a word, a set: "auto|smp|stream"
    scope where;
    std::string_view help;
    std::string_view origin; // who chose the default
    alias also{};
};

/// Is it another name of the row's: its alias, or SMA_ in place of the alias's SHMEM_?
constexpr bool is_other_name(row const& r, std::string_view name) noexcept {
    constexpr std::string_view now = "SHMEM_", before = "SMA_";
    auto const also = r.also.name;
    if (also.empty()) return false;
    return name == also ||
           (also.starts_with(now) && name.starts_with(before) && also.substr(now.size()) == name.substr(before.size()));
}

/// How many words "a|b|c" has; the place of one in it (word_count when it is none of them); the word at a place.
constexpr std::size_t word_count(std::string_view words) noexcept {
    std::size_t n = 1;
    for (char const c : words) n += c == '|';
    return n;
}
constexpr std::string_view word_at(std::string_view words, std::size_t place) noexcept {
    for (; place > 0; --place) words.remove_prefix(words.find('|') + 1);
    return words.substr(0, words.find('|'));
}
constexpr std::size_t word_place(std::string_view words, std::string_view word) noexcept {
    auto const n = word_count(words);
    for (std::size_t i = 0; i < n; ++i)
        if (word_at(words, i) == word) return i;
    return n;
}

/// Names that mpt's own programs hand to each other: no knobs, and no warning about them.
constexpr bool is_internal(std::string_view name) noexcept {
    return name == "MPT_BOOT" || name.starts_with("MPT_BOOT_") || name.starts_with("MPT_TEST_");
}

namespace detail {

/// A throw that the compiler meets is an error message of the compiler.
consteval row checked(row r) {
    if (!(r.least <= r.initial && r.initial <= r.most)) throw "mpt::config: the default lies outside its range";
    if (!r.name.starts_with("MPT_") || is_internal(r.name)) throw "mpt::config: this is no name for a variable";
    if (r.help.empty() || r.origin.empty()) throw "mpt::config: a row says what it does and who chose its default";
    if (r.also.means == meaning::opposite && r.type != form::toggle) throw "mpt::config: only a toggle has an opposite";
    if (r.type == form::set && word_count(r.words) > 32) throw "mpt::config: a set has 32 words at most";
    if (r.type == form::count && r.most > 0xffffffff) throw "mpt::config: a count has 32 bits";
    if (r.type == form::text && r.where == scope::job) throw "mpt::config: a text cannot be compared between ranks";
    return r;
}

consteval row size(std::string_view name, bytes initial, bytes least, bytes most, scope where, std::string_view help,
                   std::string_view origin, alias also = {}) {
    return checked({name, form::size, initial, least, most, {}, where, help, origin, also});
}
consteval row count(std::string_view name, std::uint64_t initial, std::uint64_t least, std::uint64_t most, scope where,
                    std::string_view help, std::string_view origin, alias also = {}) {
    return checked({name, form::count, initial, least, most, {}, where, help, origin, also});
}
enum class state : std::uint8_t { off, on };
consteval row toggle(std::string_view name, state initial, scope where, std::string_view help, std::string_view origin,
                     alias also = {}) {
    return checked({name, form::toggle, static_cast<std::uint64_t>(initial), 0, 1, {}, where, help, origin, also});
}
consteval row word(std::string_view name, std::string_view initial, std::string_view words, scope where, std::string_view help,
                   std::string_view origin, alias also = {}) {
    return checked({name, form::word, word_place(words, initial), 0, word_count(words) - 1, words, where, help, origin, also});
}
/// Initially empty.
consteval row set(std::string_view name, std::string_view words, scope where, std::string_view help, std::string_view origin,
                  alias also = {}) {
    return checked({name, form::set, 0, 0, (std::uint64_t{1} << word_count(words)) - 1, words, where, help, origin, also});
}
consteval row text(std::string_view name, scope where, std::string_view help, std::string_view origin, alias also = {}) {
    return checked({name, form::text, 0, 0, 0, {}, where, help, origin, also});
}

inline constexpr std::string_view guess = "estimate", measured = "measured, docs/design.md", cray = "Cray MPT's default",
                                  quiet = "quiet unless asked";

consteval auto rows_of_collectives() {
    using enum scope;
    // clang-format off
    return std::array{
        count ("MPT_NODE_CALLS", 4, 0, 1'000'000, job,
            "a communicator's collectives, from this one on, go through memory that its ranks share; 0: none, all by messages", guess),
        count ("MPT_NODE_RANKS", 64, 0, 4096, job,
            "largest communicator that has such memory", guess),
        size  ("MPT_NODE_FLAT", 8_KiB, 0_B, 32_KiB, job,
            "largest reduction there that every rank makes by itself; above it, each makes a part", guess),
        size  ("MPT_NODE_CHUNK", 128_KiB, 32_KiB, 4_MiB, job,
            "piece of larger data that a rank puts there at once; it keeps 16, of more than 8 ranks fewer", measured),
        size  ("MPT_NODE_PIECE", 64_KiB, 0_B, 1024_GiB, job,
            "largest piece of a scatter, or an alltoall of more than two ranks, that goes through it; above it, messages", measured),
        size  ("MPT_NODE_MAX", 1024_GiB, 1_KiB, 1024_GiB, job,
            "largest collective that goes through it, by the bytes of a rank; above it, messages", guess),

        set   ("MPT_COLL_OFF", "mpi_barrier|mpi_allreduce|mpi_allgather|mpi_bcast|mpi_gather|mpi_scatter|mpi_alltoall|mpi_reduce|"
                "mpi_allgatherv|mpi_gatherv|mpi_scatterv|mpi_alltoallv", job,
            "collectives that go by messages alone, by the ordinary algorithms; OpenSHMEM's too", cray, {"MPICH_COLL_OPT_OFF"}),
        toggle("MPT_ALLREDUCE_NODE", state::on, job,
            "allreduces go through memory that ranks share; off: by messages, whose order of combination ranks and sizes settle alone",
            cray, {"MPI_ALLREDUCE_NO_SMP", meaning::opposite}),
        toggle("MPT_REDUCE_NODE", state::on, job,
            "the same of reduces", cray, {"MPI_REDUCE_NO_SMP", meaning::opposite}),

        size  ("MPT_ALLREDUCE_SHORT", 16_KiB, 0_B, 1024_GiB, job,
            "largest allreduce by messages in which partners exchange all they have; above it, halves", guess, {"SHMEM_REDUCE_CUTOFF_SIZE"}),
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
            "largest piece of an alltoall by messages that travels with others; above it, each to its rank", measured, {"MPICH_ALLTOALL_SHORT_MSG"}),
        size  ("MPT_GATHER_SHORT", 1_KiB, 0_B, 1024_GiB, job,
            "largest piece of a gather by messages that goes by a tree, from 16 ranks on", measured),
        size  ("MPT_SCATTER_SHORT", 1_KiB, 0_B, 1024_GiB, job,
            "largest piece of a scatter by messages that goes by a tree, from 16 ranks on", measured),
        size  ("MPT_GATHERV_AT_ONCE", 0_B, 0_B, 1024_GiB, local,
            "largest piece of a gatherv that the root takes as it comes, whoever sends it; larger ones in rank order",
            "a receive in turn takes fewer instructions", {"MPICH_GATHERV_SHORT_MSG"}),
        size  ("MPT_SCATTERV_AT_ONCE", 0_B, 0_B, 1024_GiB, local,
            "largest piece of a scatterv that the root sends without waiting for its receiver; larger ones in rank order",
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

consteval auto rows_of_shmem() {
    using enum scope;
    constexpr std::string_view another = "another partition of the symmetric heap, for shmem_kind_malloc";
    // clang-format off
    return std::array{
        size  ("MPT_SYMMETRIC_SIZE", 0_B, 0_B, 65536_GiB, local,
            "bytes of a PE's symmetric heap (OpenSHMEM); the least of all PEs' counts; 0: by what fits", "what fits",
            {"SHMEM_SYMMETRIC_SIZE"}),
        text  ("MPT_SYMMETRIC_PARTITION1", local,
            "the partition that shmem_malloc takes from, as size=2G:pgsize=2M:kind=FASTMEM:policy=MANDATORY; size must be there",
            "MPT_SYMMETRIC_SIZE", {"SHMEM_SYMMETRIC_PARTITION1"}),
        text  ("MPT_SYMMETRIC_PARTITION2", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION2"}),
        text  ("MPT_SYMMETRIC_PARTITION3", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION3"}),
        text  ("MPT_SYMMETRIC_PARTITION4", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION4"}),
        text  ("MPT_SYMMETRIC_PARTITION5", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION5"}),
        text  ("MPT_SYMMETRIC_PARTITION6", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION6"}),
        text  ("MPT_SYMMETRIC_PARTITION7", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION7"}),
        text  ("MPT_SYMMETRIC_PARTITION8", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION8"}),
        text  ("MPT_FAST_NODES", local,
            "nodes of memory that count as fast (MCDRAM, FASTMEM), as 1 or 0,2-3", "what memkind, hwloc or /sys says", {"MEMKIND_HBW_NODES"}),
        text  ("MPT_FAR_NODES", local,
            "nodes of memory that count as far (behind CXL, persistent memory), as 2 or 2-3", "what memkind, hwloc or /sys says", {"MEMKIND_DAX_KMEM_NODES"}),
        count ("MPT_CONTEXTS", 1024, 0, 1'000'000, local,
            "contexts of OpenSHMEM that a PE may have at once, beside the default one", guess, {"SHMEM_MAX_CTX"}),
        count ("MPT_REGISTERED_THREADS", 1024, 0, 1'000'000, local,
            "threads of a PE that may be registered at once (shmemx_thread_register)", guess, {"SHMEM_MAX_THREADS"}),
        toggle("MPT_TEAM_NODE", state::on, job,
            "reductions of OpenSHMEM's teams go through memory that PEs share; off: by messages", guess, {"SHMEM_TEAM_SMP_REDUCE"}),
        toggle("MPT_PUT_EARLY", state::on, local,
            "a put of OpenSHMEM that the PE's agent does returns before it is done there", guess, {"SHMEM_DMAPP_PUT_NBI"}),
    };
    // clang-format on
}

consteval auto rows_of_memory() {
    using enum scope;
    // clang-format off
    return std::array{
        word  ("MPT_ALLOC_MEM_AFFINITY", "sys_default", "sys_default|ddr|mcdram|d|m", local,
            "nodes of memory that MPI_Alloc_mem and MPI_Win_allocate take; sys_default: as the process has it (numactl)", cray, {"MPICH_ALLOC_MEM_AFFINITY"}),
        word  ("MPT_ALLOC_MEM_POLICY", "preferred", "preferred|mandatory|interleave|p|m|i", local,
            "where they cannot have mcdram: preferred takes ddr, mandatory is an error; interleave: page by page over all such nodes", cray, {"MPICH_ALLOC_MEM_POLICY"}),
        word  ("MPT_ALLOC_MEM_PG_SZ", "4K", "4K|2M|4M|8M|16M|32M|64M|128M|256M|512M", local,
            "pages that they ask for; larger ones than the machine has by alignment and several pages", cray, {"MPICH_ALLOC_MEM_PG_SZ"}),
        word  ("MPT_INTERNAL_MEM_AFFINITY", "sys_default", "sys_default|ddr|mcdram|d|m", local,
            "nodes of memory for mailboxes, buffers and what ranks share for collectives", cray, {"MPICH_INTERNAL_MEM_AFFINITY"}),
        word  ("MPT_MEMORY_REPORT", "off", "off|on|0|1|2|3", local,
            "memory by use, at the end. 1: least and most of all ranks; 2: each rank's; 3, on: both; 0: off", quiet,
            {"MPICH_MEMORY_REPORT"}),
        text  ("MPT_MEMORY_REPORT_FILE", local,
            "each rank's goes into this file, with its rank behind the name", "standard error", {"MPICH_MEMORY_REPORT_FILE"}),
    };
    // clang-format on
}

consteval auto rows() {
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
            "empty polls before the first yield, where CPUs are not scarce", guess),
        count ("MPT_YIELD", 200, 0, 1'000'000'000, local,
            "empty polls, each with a yield, before the first sleep", guess),
        count ("MPT_NAP", 2000, 1, 1'000'000, local,
            "microseconds: the longest sleep before a waiting rank looks again", guess),
        word  ("MPT_WAIT", "auto", "auto|spin|yield|sleep", local,
            "the most a waiting rank does to give its CPU away; auto: by how scarce CPUs are", guess),
        word  ("MPT_FENCES", "auto", "auto|sleeper|both", job,
            "who fences between sender and sleeper; sleeper needs membarrier", measured),

        toggle("MPT_TICKET", on, local,
            "threads of a rank enter mpt in the order in which they came; off: by the system's mutex, in any order", cray, {"MPICH_OPT_THREAD_SYNC"}),
        word  ("MPT_THREAD_LEVEL", "multiple", "single|funneled|serialized|multiple", local,
            "the highest level of threads that MPI_Init_thread and sessions provide", "what is asked for", {"MPICH_MAX_THREAD_SAFETY"}),
        word  ("MPT_LOOK", "auto", "auto|loading|owning", local,
            "how a waiting rank looks at the line that it answers on; owning takes it over; auto: by the processor", measured),

        count ("MPT_RING_LINES", 256, 16, 4096, job,
            "cache lines of a mailbox ring", guess),
        count ("MPT_HOT_PEERS", 16, 1, 4096, job,
            "peers whose rings are polled every time; the others when their counters moved", guess),
        size  ("MPT_EAGER_MAX", 32_KiB, 0_B, 1_MiB, job,
            "largest message sent through a lent buffer (E1); above it, rendezvous", measured),
        count ("MPT_LOANS", 64, 1, 4096, job, "buffers of a lane that E1 lends", guess),
        size  ("MPT_LOAN_BYTES", 32_KiB, 256_B, 1_MiB, job, "bytes of one such buffer", guess),
        size  ("MPT_AWAITED_MAX", 512_KiB, 0_B, 16_MiB, job,
            "largest answer sent through the buffer that both ranks write by turns; with MPT_EAGER_MAX below MPT_LOAN_BYTES none is longer than that", measured),
        size  ("MPT_UNEXPECTED_MAX", 16_MiB, 0_B, 1024_GiB, local,
            "unexpected payload kept per lane; beyond it senders are asked for rendezvous", guess),

        toggle("MPT_SINGLE_COPY", on, local,
            "copy large messages straight from sender to receiver (process_vm_readv) where permitted", measured, {"MPICH_SMP_SINGLE_COPY_OFF", opposite}),
        size  ("MPT_SINGLE_COPY_SIZE", 8_KiB, 0_B, 1024_GiB, local,
            "smallest message copied that way", cray, {"MPICH_SMP_SINGLE_COPY_SIZE"}),
        toggle("MPT_BOTH_ENDS", on, local,
            "sender and receiver copy one large message together while both wait in mpt", measured),
        size  ("MPT_PIPELINE_MAX", 1024_GiB, 0_B, 1024_GiB, local,
            "largest message that goes through lent buffers in pieces while both ranks are in mpt; above it, single copy", measured),
        size  ("MPT_CHUNK", 32_KiB, 1_KiB, 16_MiB, job,
            "piece of the pipelined double copy", guess),

        toggle("MPT_RMA_DIRECT", on, job,
            "one-sided operations on windows load, store and copy at the target by themselves; off: agents there do, by messages, but for shared windows",
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

template <std::size_t A, std::size_t B> consteval auto joined(std::array<row, A> const& a, std::array<row, B> const& b) {
    std::array<row, A + B> all{};
    for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
    for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
    return all;
}

} // namespace detail

inline constexpr auto table = detail::joined(detail::joined(detail::rows(), detail::rows_of_collectives()),
                                             detail::joined(detail::rows_of_memory(), detail::rows_of_shmem()));

/// Room that a control record keeps for the job-wide values.
inline constexpr std::size_t job_text_limit = 1023;

/// Characters of a value, as it is written.
constexpr std::size_t longest_value(row const& r) noexcept {
    std::size_t digits = 1;
    for (auto n = r.most; n >= 10; n /= 10) ++digits;
    switch (r.type) {
    case form::size:
    case form::count: return digits;
    case form::toggle: return 3;
    case form::word:
    case form::set: return r.words.size();
    case form::text: break;
    }
    return 0;
}
/// Longest that "NAME=value\n" of the job-wide rows can become.
consteval std::size_t longest_job_text() {
    std::size_t n = 0;
    for (row const& r : table)
        if (r.where == scope::job) n += r.name.size() + 2 + longest_value(r);
    return n;
}
static_assert(longest_job_text() <= job_text_limit,
              "mpt::config: the job-wide values outgrew their room in the control record");

consteval bool names_are_unique() {
    for (std::size_t i = 0; i < table.size(); ++i)
        for (std::size_t j = 0; j < table.size(); ++j) {
            if (i != j && table[i].name == table[j].name) return false;
            if (i != j && !table[i].also.name.empty() && table[i].also.name == table[j].also.name) return false;
            if (table[i].also.name == table[j].name) return false;
        }
    return true;
}
static_assert(names_are_unique(), "mpt::config: a name stands twice in the table");

/// Where a name stands in the table; table.size() when it does not.
constexpr std::size_t row_of(std::string_view name) noexcept {
    std::size_t at = 0;
    while (at < table.size() && table[at].name != name) ++at;
    return at;
}

/// Variables that a program may change while its job runs, each rank for itself (runtime::tune, MPI_T_cvar_write). The job-wide ones
/// among them rule what a sender does; ranks that hold different values disagree in nothing but speed.
inline constexpr std::array<std::string_view, 11> live{
    "MPT_SPIN",      "MPT_YIELD",          "MPT_NAP",         "MPT_WAIT",
    "MPT_EAGER_MAX", "MPT_UNEXPECTED_MAX", "MPT_SINGLE_COPY", "MPT_SINGLE_COPY_SIZE",
    "MPT_BOTH_ENDS", "MPT_PIPELINE_MAX",   "MPT_CHUNK"};
constexpr bool is_live(std::size_t row) noexcept {
    for (auto const name : live)
        if (row < table.size() && table[row].name == name) return true;
    return false;
}
consteval bool live_names_are_rows() {
    for (auto const name : live)
        if (row_of(name) == table.size()) return false;
    return true;
}
static_assert(live_names_are_rows(), "mpt::config: a live variable is not in the table");

} // namespace mpt::inline v0::config
