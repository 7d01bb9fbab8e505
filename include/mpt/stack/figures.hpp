/// stack/figures - THE table of figures: what a rank can tell of its own work, one row each.
///
///        protocol::counts (each lane) --+
///        matching tables, request pool -+--> runtime::look() --> figures --> mpi/insight.hpp, MPI_T's performance variables
///        heap, wait record, sleeps -----'                                    mptinfo --figures
///
///   To add a figure, add a row and the line that fills it. Figures of lanes are summed; of the most that was at a time, the
///   greatest of the lanes is told.
///
///   sort         what it does                                      unit
///   counter      grows by one with each of something               -
///   sum          grows by how much it was                          bytes
///   level, most  how much there is now; the most there ever was    -, bytes
///   size         how much there can be                             -, bytes
///   share        of that, how much is used                         billionths
///   timer        how long something took                           nanoseconds
///   state        which of the row's words holds                    place of the word
///
///   Cost    looking takes each lane's lock once; counting, see protocol/counts.hpp.
///   Tests   test/stack_figures_test.cpp
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <mpt/protocol/counts.hpp>

namespace mpt::inline v0 {

enum class figure_sort : std::uint8_t { counter, sum, level, most, size, share, timer, state };

/// In the order of the table.
enum class figure : std::uint8_t {
    e0_messages_sent,
    e0_bytes_sent,
    e1_messages_sent,
    e1_bytes_sent,
    rndv_messages_sent,
    rndv_bytes_sent,
    e0_messages_received,
    e0_bytes_received,
    e1_messages_received,
    e1_bytes_received,
    rndv_messages_received,
    rndv_bytes_received,
    messages_pulled,
    bytes_pulled,
    messages_joined,
    bytes_joined,
    messages_pushed,
    bytes_pushed,
    copies_refused,
    sends_queued,
    loans_missed,
    requests,
    unexpected_messages,
    unexpected_bytes,
    unexpected_queue,
    unexpected_queue_most,
    unexpected_memory,
    unexpected_memory_most,
    posted_queue,
    throttled,
    throttles,
    comm_unexpected_queue,
    comm_posted_queue,
    progress_rounds,
    sleeps,
    time_asleep,
    rings,
    waiting_for,
    lanes,
    arena_used,
    arena_size,
    arena_share,
};

/// What a figure is about: the groups that tools show.
enum class figure_group : std::uint8_t { traffic, matching, waiting, memory };

struct figure_row {
    figure what;
    std::string_view name;
    figure_sort sort;
    figure_group group;
    std::string_view help;
    std::string_view words = {};  // of a state: "a|b|c"
    bool of_communicator = false; // there is one for each communicator: runtime::look_at()
};

namespace detail {
consteval auto figure_rows() {
    using enum figure;
    using enum figure_sort;
    using enum figure_group;
    // clang-format off
    return std::array{
        figure_row{e0_messages_sent, "mpt_e0_messages_sent", counter, traffic, "messages sent in a frame (E0)"},
        figure_row{e0_bytes_sent, "mpt_e0_bytes_sent", sum, traffic, "bytes sent in frames (E0)"},
        figure_row{e1_messages_sent, "mpt_e1_messages_sent", counter, traffic, "messages sent through a lent buffer (E1)"},
        figure_row{e1_bytes_sent, "mpt_e1_bytes_sent", sum, traffic, "bytes sent through lent buffers (E1)"},
        figure_row{rndv_messages_sent, "mpt_rndv_messages_sent", counter, traffic,
            "messages announced to their receiver (rendezvous)"},
        figure_row{rndv_bytes_sent, "mpt_rndv_bytes_sent", sum, traffic, "bytes of messages that were announced (rendezvous)"},
        figure_row{e0_messages_received, "mpt_e0_messages_received", counter, traffic, "messages received in a frame (E0)"},
        figure_row{e0_bytes_received, "mpt_e0_bytes_received", sum, traffic, "bytes of messages received in frames (E0)"},
        figure_row{e1_messages_received, "mpt_e1_messages_received", counter, traffic,
            "messages received from a lent buffer (E1)"},
        figure_row{e1_bytes_received, "mpt_e1_bytes_received", sum, traffic,
            "bytes of messages received from lent buffers (E1)"},
        figure_row{rndv_messages_received, "mpt_rndv_messages_received", counter, traffic,
            "announced messages that a receive has taken (rendezvous)"},
        figure_row{rndv_bytes_received, "mpt_rndv_bytes_received", sum, traffic,
            "bytes of announced messages that a receive has taken (rendezvous)"},
        figure_row{messages_pulled, "mpt_messages_pulled", counter, traffic,
            "announced messages that this rank copied by itself, once"},
        figure_row{bytes_pulled, "mpt_bytes_pulled", sum, traffic,
            "bytes of announced messages that this rank copied by itself"},
        figure_row{messages_joined, "mpt_messages_joined", counter, traffic,
            "announced messages received that both ends copied together"},
        figure_row{bytes_joined, "mpt_bytes_joined", sum, traffic,
            "bytes of announced messages received that both ends copied together"},
        figure_row{messages_pushed, "mpt_messages_pushed", counter, traffic,
            "announced messages received in pieces from the sender (double copy)"},
        figure_row{bytes_pushed, "mpt_bytes_pushed", sum, traffic,
            "bytes of announced messages received in pieces (double copy)"},
        figure_row{copies_refused, "mpt_copies_refused", counter, traffic,
            "copies from a peer's memory that the system refused"},
        figure_row{sends_queued, "mpt_sends_queued", counter, traffic,
            "sends that had to wait for a full wire, or behind one that did"},
        figure_row{loans_missed, "mpt_loans_missed", counter, traffic,
            "sends that found no buffer to lend, and were announced instead"},
        figure_row{requests, "mpt_requests", level, traffic,
            "requests alive: operations and schedules under way, and complete ones that nobody collected"},

        figure_row{unexpected_messages, "mpt_unexpected_messages", counter, matching,
            "messages that came before their receive"},
        figure_row{unexpected_bytes, "mpt_unexpected_bytes", sum, matching, "bytes of messages that came before their receive"},
        figure_row{unexpected_queue, "mpt_unexpected_queue", level, matching, "messages here that no receive has asked for"},
        figure_row{unexpected_queue_most, "mpt_unexpected_queue_most", most, matching,
            "the most messages that no receive had asked for, at a time"},
        figure_row{unexpected_memory, "mpt_unexpected_memory", level, matching,
            "bytes of this rank's memory that such messages take"},
        figure_row{unexpected_memory_most, "mpt_unexpected_memory_most", most, matching,
            "the most bytes of this rank's memory that such messages took, at a time"},
        figure_row{posted_queue, "mpt_posted_queue", level, matching, "receives that wait for their message"},
        figure_row{throttled, "mpt_throttled", counter, matching, "times that a peer asked this rank to announce its messages"},
        figure_row{throttles, "mpt_throttles", counter, matching, "times that this rank asked a peer to announce its messages"},
        figure_row{comm_unexpected_queue, "mpt_comm_unexpected_queue", level, matching,
            "point-to-point messages of a communicator here that no receive has asked for", {}, true},
        figure_row{comm_posted_queue, "mpt_comm_posted_queue", level, matching,
            "point-to-point receives of a communicator that wait for their message", {}, true},

        figure_row{progress_rounds, "mpt_progress_rounds", counter, waiting,
            "rounds of progress over all wires and operations"},
        figure_row{sleeps, "mpt_sleeps", counter, waiting, "times that a waiting thread went to sleep in the kernel"},
        figure_row{time_asleep, "mpt_time_asleep", timer, waiting, "time that waiting threads slept in the kernel"},
        figure_row{rings, "mpt_rings", counter, waiting, "times that a thread of this rank rang for others of it that slept"},
        figure_row{waiting_for, "mpt_waiting_for", state, waiting,
            "what a thread of this rank waits for since it left the fast spin",
            "nothing|send|receive|probe|pending send|pending receive|any|start|finalize"},

        figure_row{lanes, "mpt_lanes", size, memory, "lanes of the environment"},
        figure_row{arena_used, "mpt_arena_used", level, memory, "bytes that this rank uses of its slice of shared memory"},
        figure_row{arena_size, "mpt_arena_size", size, memory, "bytes of this rank's slice of shared memory"},
        figure_row{arena_share, "mpt_arena_share", share, memory, "of its slice of shared memory, how much this rank uses"},
    };
    // clang-format on
}
} // namespace detail

inline constexpr auto figure_table = detail::figure_rows();

consteval bool figures_are_in_order() {
    for (std::size_t i = 0; i < figure_table.size(); ++i)
        if (static_cast<std::size_t>(figure_table[i].what) != i || figure_table[i].help.empty()) return false;
    return true;
}
static_assert(figures_are_in_order(), "mpt::figure_table: the rows are not in the order of the enumeration");

/// A figure's place in the table by its name; figure_table.size(): there is none.
constexpr std::size_t figure_place(std::string_view name) noexcept {
    std::size_t i = 0;
    while (i < figure_table.size() && figure_table[i].name != name) ++i;
    return i;
}

/// All figures at one time. Those of communicators are 0.
struct figures {
    std::array<std::uint64_t, figure_table.size()> values{};

    std::uint64_t operator[](figure f) const noexcept { return values[static_cast<std::size_t>(f)]; }
    std::uint64_t& operator[](figure f) noexcept { return values[static_cast<std::size_t>(f)]; }

    /// What happened since an earlier look: counters, sums and timers are differences, everything else is as it is now.
    figures since(figures const& earlier) const noexcept {
        figures f = *this;
        for (auto const& row : figure_table)
            if (row.sort == figure_sort::counter || row.sort == figure_sort::sum || row.sort == figure_sort::timer)
                f[row.what] -= earlier[row.what];
        return f;
    }
};

/// Adds what the engine of one more lane counted.
void add(figures& to, protocol::counts const& c) noexcept;

} // namespace mpt::inline v0
