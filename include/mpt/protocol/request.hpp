/// protocol/request - one operation under way: what was asked for, how far it is, and how it ended.
///
///   A request lives in its lane's pool and is named over the wire by (index, generation). It carries the hooks that what
///   comes later hangs itself on: status (source, tag, bytes, truncation, cancel), restart (persistent operations keep
///   their arguments), a progress function (collective schedules, agents) and a completion function.
///
///   States   `phase` is the engine's view (which list it is on); `state` the protocol machine's, as a number.
///   Writers  only its own lane, under the lane's lock; whoever waits for it may ask outside whether it is over.
///   Tests    test/protocol_request_test.cpp
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <mpt/core/atomics.hpp>
#include <mpt/core/cursor.hpp>
#include <mpt/core/list.hpp>
#include <mpt/protocol/matching.hpp>
#include <mpt/protocol/wire.hpp>
#include <mpt/transport/transport.hpp>

namespace mpt::inline v0::protocol {

/// How a receive or a probe ended. MPI-4.1 section 3.2.5.
struct outcome {
    rank source{any_source}; // world rank; facades translate it to a rank of their group
    tag label{any_tag};
    std::uint64_t bytes = 0; // of the message; where it was truncated, of what was asked for by the sender
    status how = status::ok;

    /// Member by member: see wire::put().
    void set(rank from, tag t, std::uint64_t n, status s) noexcept { source = from, label = t, bytes = n, how = s; }
};

enum class role : std::uint8_t { none, send, receive, task };
enum class send_mode : std::uint8_t { standard, synchronous };

/// Where a request stands in the engine.
enum class phase : std::uint8_t {
    idle,    // made, not started; or completed
    waiting, // a send that the wire has not taken yet: on its peer's list
    acking,  // sent eagerly, waits for the receiver's ack (synchronous)
    posted,  // a receive in the matching tables
    offered, // RTS sent
    hoping,  // receiver of a rendezvous that asked for a push, and will pull when none comes; on the active list
    pulling, // receiver of a rendezvous that reads; on the active list
    pushing, // sender of a rendezvous that pushes; on the active list
    filling, // receiver of a rendezvous that is pushed to
    working, // a task: its progress function is on the active list
    parked,  // a task that waits for other requests; on no list
    errand,  // a task whose next step is to be taken without the lane's lock
};

/// The runs of a message that the receiver reads one by one. The sender's: the table that it shows. The receiver's: what it
/// reads of it, and how far it is. Not the request's own: see far_book.
struct far_runs {
    regular_runs regular{};           // count 0: they are listed
    std::vector<memory_run> listed{}; // first the hull, by its address; then the runs, by their place in the hull
    std::size_t next = 1;             // listed: the first run that is not read to its end,
    std::uint64_t before = 0;         // and the packed bytes before it
    std::size_t place = 0;            // in the book

    /// Makes the table of a source whose runs have `least` bytes in the mean; false: they are smaller, or there is no memory.
    bool tabulate(source const& from, std::size_t least) noexcept;
    /// Whether a table that was read from a peer is one of `size` bytes in all.
    bool is_table_of(std::uint64_t size) const noexcept;
    /// The runs of the packed bytes from `offset` on, which never goes back: at most `most` bytes, and as many runs as fit.
    listed_runs list(std::uint64_t offset, std::uint64_t most, std::span<memory_run> into) noexcept;
};

/// Cuts a list to its first `bytes` bytes; how many runs are left.
std::size_t cut_runs(std::span<memory_run> runs, std::uint64_t bytes) noexcept;
/// Whether the places of a sink have `least` bytes in the mean, where it says; the first ones stand for all.
bool has_long_runs(sink const& into, std::uint64_t most, std::size_t least) noexcept;

/// Who owns them all: requests are dropped without a destructor.
class far_book {
    std::vector<std::unique_ptr<far_runs>> all_;

public:
    far_runs* make() noexcept; // nullptr: no memory
    void drop(far_runs& f) noexcept;
};

/// The bases are its places: on a list of the engine, and in the matching tables while `at` is phase::posted.
struct request : list_node, posted_hook {
    request() noexcept {} // NOLINT(modernize-use-equals-default): what a machine sets before it reads it stays as it is

    // What was asked for; kept for a restart.
    source from{};
    sink into{};
    envelope wanted{}; // send: context, own tag; receive: what is wanted, in world ranks
    rank peer{};       // world rank of the other side, once known
    role kind = role::none;
    send_mode mode = send_mode::standard;

    // How far it is.
    phase at = phase::idle;
    bool complete = false;
    bool matched = false;          // a receive that can no longer be cancelled
    bool retracting = false;       // a send whose receiver was asked to forget it
    bool by_runs = false;          // a rendezvous of runs: `far` is set
    std::uint32_t ticket = 0;      // joint copy
    std::uint32_t berth = 0;       // where a thread sleeps over it; 0: none does. See engine::wake_over
    std::uint32_t patience, heard; // while hoping: rounds that are left, and what the peer had pushed then
    request_ref other{};           // the peer's request
    std::uint64_t total, moved;
    remote_memory where; // receiver: the sender's buffer
    far_runs* far;       // where by_runs

    outcome result{};

    // What later operations hang on.
    bool (*advance)(request&) noexcept = nullptr;               // task: one step, see engine::start_task; true when it moved
    void (*completed)(request&) noexcept = nullptr;             // called once, by the engine, under the lane's lock
    status (*provide)(request&, std::uint64_t bytes) = nullptr; // receive of unknown size: sets `into` when the size is known
    void* user = nullptr;

    /// Whose frame it waits for, under the lock; any_source: of no one rank's.
    rank awaited() const noexcept {
        if (kind == role::receive) return wanted.source;
        return kind == role::send && at == phase::acking ? peer : any_source;
    }

    /// Its own lane, under the lock: it is complete; it is not, a task that goes on.
    void end() noexcept {
        native_atomics::atomic_ref<bool>{complete}.store(true, std::memory_order_release);
    } // sync(request.over): release
    void go_on() noexcept {
        native_atomics::atomic_ref<bool>{complete}.store(false, std::memory_order_relaxed);
    } // order: it was not complete before
    /// Who waits for it, without the lock: whether it is complete.
    bool is_over() const noexcept {
        return native_atomics::atomic_ref<bool>{const_cast<bool&>(complete)}.load(
            std::memory_order_acquire); // sync(request.over): acquire
    }
};

} // namespace mpt::inline v0::protocol
