#include "report.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include <mpt/coll/team.hpp>
#include <mpt/world/native.hpp>

namespace mptrun {
namespace {
using mpt::wait_for;
using mpt::wait_snapshot;
using mpt::boot::rank_state;
using mpt::coll::rooted_call;

constexpr std::size_t most_lines = 24;
constexpr std::size_t most_in_cycle = 12;

std::uint64_t number(mpt::context_id c) { return static_cast<std::uint64_t>(c); }
bool is_collective(wait_snapshot const& w) { return mpt::is_collective(w.context); }
bool is_scheduled(wait_snapshot const& w) { return is_collective(w) && (number(w.context) & mpt::schedules_bit) != 0; }
/// All sides of a communicator.
std::uint64_t communicator(mpt::context_id c) { return number(c) & ~(mpt::schedules_bit | mpt::collective_bit); }
std::uint64_t communicator(wait_snapshot const& w) { return communicator(w.context); }

auto speaker_of(mpt::tag label) { return rooted_call::speaker_of(label); }

/// Neighbours wait for nobody's turn: each has sent all that it has before it waits, so the one that it waits for matters.
bool is_among_neighbours(wait_snapshot const& w) {
    return is_collective(w) && !is_scheduled(w) && speaker_of(w.label) == mpt::coll::speaker::neighbor;
}
bool is_same_collective(wait_snapshot const& a, wait_snapshot const& b) {
    return is_collective(a) && a.context == b.context && a.label == b.label;
}

char const* collective_name(mpt::tag label) {
    using enum mpt::coll::speaker;
    switch (speaker_of(label)) {
    case barrier: return "MPI_Barrier";
    case allreduce: return "MPI_Allreduce";
    case allgather: return "MPI_Allgather";
    case broadcast: return "MPI_Bcast";
    case gather: return "MPI_Gather";
    case scatter: return "MPI_Scatter";
    case alltoall: return "MPI_Alltoall";
    case reduce: return "MPI_Reduce";
    case reduce_scatter: return "MPI_Reduce_scatter";
    case scan: return "MPI_Scan";
    case neighbor: return "a collective of neighbours";
    }
    return "a collective";
}

/// The same over a team of OpenSHMEM's, whose other calls meet by them as well.
char const* shmem_name(mpt::tag label) {
    using enum mpt::coll::speaker;
    switch (speaker_of(label)) {
    case barrier: return "shmem_barrier_all, shmem_sync or the like";
    case allreduce: return "a reduction, shmem_malloc or the like";
    case allgather: return "shmem_fcollect, shmem_collect or the like";
    case broadcast: return "shmem_broadcast or the like";
    case alltoall: return "shmem_alltoall or the like";
    case scan: return "shmem_inscan, shmem_exscan or the like";
    default: return "a collective";
    }
}

bool receives(wait_for what) {
    return what == wait_for::receive || what == wait_for::probe || what == wait_for::pending_receive;
}
bool sends(wait_for what) { return what == wait_for::send || what == wait_for::pending_send; }
/// The two ends of one message that is under way: both wait for its bytes, and neither for the other to come.
bool is_one_message(wait_snapshot const& a, wait_snapshot const& b) {
    if (receives(a.what) && sends(b.what)) return is_one_message(b, a);
    return !is_collective(a) && sends(a.what) && receives(b.what) && a.context == b.context &&
           (b.label == mpt::any_tag || b.label == a.label);
}
std::string tag_text(mpt::tag t) { return t == mpt::any_tag ? "any tag" : fmt::format("tag {}", t.value); }
std::string rank_text(mpt::rank r) { return r == mpt::any_source ? "any rank" : fmt::format("rank {}", r.value); }
std::string bytes_text(std::uint64_t n) { return fmt::format("{} byte{}", n, n == 1 ? "" : "s"); }

/// "rank 3", "ranks 0-2, 5".
std::string ranks_text(std::vector<int> const& ranks) {
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
        for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
        text += fmt::format("{} {}", i == 0 ? "" : ",", ranks[i]);
        if (end - i > 1) text += fmt::format("-{}", ranks[end - 1]);
    }
    return text;
}

/// Ranks of which the same can be said, in the order in which that came up.
class alike {
    std::vector<std::pair<std::string, std::vector<int>>> groups_;

public:
    void add(int rank, std::string text) {
        if (text.empty()) return;
        auto const at = std::ranges::find(groups_, text, &std::pair<std::string, std::vector<int>>::first);
        if (at == groups_.end()) groups_.emplace_back(std::move(text), std::vector{rank});
        else if (at->second.back() != rank) at->second.push_back(rank);
    }
    auto const& groups() const { return groups_; }
};

/// How the kernel sees a process: R, S, D, T, ...
char state_of(pid_t pid) {
    std::ifstream file{fmt::format("/proc/{}/stat", pid)};
    std::string text;
    std::getline(file, text);
    auto const name_end = text.rfind(')');
    return name_end + 2 < text.size() ? text[name_end + 2] : '?';
}

std::vector<std::string> shortened(std::vector<std::string> lines) {
    if (lines.size() <= most_lines) return lines;
    auto const more = lines.size() - most_lines;
    lines.resize(most_lines);
    lines.push_back(fmt::format("and {} more lines", more));
    return lines;
}

char const* wait_verb(std::size_t n) { return n == 1 ? "waits" : "wait"; }
} // namespace

report::report(std::span<mpt::boot::control_record const> records, std::span<member const> members)
    : now_{mpt::world::native{}.now().count()} {
    std::uint32_t spoken = 0;
    for (std::size_t r = 0; r < members.size(); ++r) {
        auto const& record = records[r];
        seen s{.pid = members[r].pid, .alive = members[r].alive};
        s.state = record.state.load(std::memory_order_acquire); // sync(boot.record): acquire
        if (s.state != rank_state::absent) {
            spoken |= record.speaks.load(std::memory_order_relaxed); // order: words of a report
            s.pid = record.pid;
            s.waiting = mpt::read(record.waiting);
        }
        if (s.state == rank_state::finalized) s.waiting = {};
        auto const shown = is_collective(s.waiting) ? record.calls.find(s.waiting.context, rooted_call::for_reports) : 0;
        if (shown != 0) s.waiting.label = rooted_call::of(shown).label(rooted_call::of(shown).what);
        for (auto const& k : record.kept) {
            auto const m = mpt::read(k);
            bool const is_shown =
                shown != 0 && m.context == s.waiting.context; // of the exchange before the call, or of the call
            if (s.waits() && m.what == wait_for::message && !is_shown) s.kept.push_back(m);
        }
        for (auto const& n : record.names)
            if (auto const c = n.context.load(std::memory_order_acquire); c != 0) // sync(boot.name): acquire
                names_[c] = std::string{n.text.data(), ::strnlen(n.text.data(), n.text.size())};
        ranks_.push_back(std::move(s));
    }
    using enum mpt::boot::facade;
    auto const has = [spoken](mpt::boot::facade f) { return (spoken & static_cast<std::uint32_t>(f)) != 0; };
    shmem_alone_ = has(shmem) && !has(mpi);
    if (!shmem_alone_) names_.emplace(2, "MPI_COMM_WORLD"), names_.emplace(4, "MPI_COMM_SELF");
}

std::string report::on(mpt::context_id context) const {
    auto const c = communicator(context);
    auto const known = names_.find(c);
    if (known != names_.end()) return known->second;
    return fmt::format("{} {:08x}", shmem_alone_ ? "team" : "communicator", c >> 1 & 0xffffffff);
}

bool report::is_shmem(mpt::context_id context) const { return shmem_alone_ || on(context).starts_with("SHMEM_"); }

char const* report::collective(wait_snapshot const& w) const {
    return is_shmem(w.context) ? shmem_name(w.label) : collective_name(w.label);
}

/// Either ends what both stand on, where a job has begun OpenSHMEM.
char const* report::last_call() const {
    if (shmem_alone_) return "shmem_finalize";
    auto const begun = std::ranges::any_of(names_, [](auto const& n) { return n.second.starts_with("SHMEM_"); });
    return begun ? "shmem_finalize or MPI_Finalize" : "MPI_Finalize";
}

/// OpenSHMEM's calls reach data outside of the heap by letters to the PE's agent, and send nobody anything else.
std::string report::describe_far(wait_snapshot const& w) const {
    if (w.what == wait_for::answer)
        return fmt::format("shmem_get, shmem_quiet or the like, for the answer of an agent of {}", rank_text(w.peer));
    return fmt::format("shmem_put or the like with {} ({})", rank_text(w.peer), bytes_text(w.size));
}

std::string report::describe(wait_snapshot const& w) const {
    auto const ends =
        fmt::format("{}, {}, on {} ({})", rank_text(w.peer), tag_text(w.label), on(w.context), bytes_text(w.size));
    switch (w.what) {
    case wait_for::start: return first_call();
    case wait_for::others: return fmt::format("MPI_Comm_create_from_group or the like ({} has not begun)", rank_text(w.peer));
    case wait_for::finalize: return last_call();
    case wait_for::any: return "MPI_Waitany or the like, for one of several requests";
    case wait_for::answer:
        if (shmem_alone_) return describe_far(w);
        return fmt::format("MPI_Get_accumulate or the like, for the answer of an agent of {}", rank_text(w.peer));
    case wait_for::memory: return "shmem_wait_until or the like";
    case wait_for::lock: return fmt::format("MPI_Win_lock for the window of rank {}", w.label.value);
    default: break;
    }
    if (is_among_neighbours(w) && w.peer != mpt::any_source)
        return fmt::format("{} on {} with {}", collective(w), on(w.context), rank_text(w.peer));
    if (is_collective(w))
        return fmt::format("{}{} on {}", is_scheduled(w) ? "MPI_Wait for a non-blocking " : "", collective(w), on(w.context));
    if (shmem_alone_) return describe_far(w);
    switch (w.what) {
    case wait_for::send: return "MPI_Send to " + ends;
    case wait_for::receive: return "MPI_Recv from " + ends;
    case wait_for::pending_send: return "MPI_Wait for a send to " + ends;
    case wait_for::pending_receive: return "MPI_Wait for a receive from " + ends;
    case wait_for::probe:
        return fmt::format("MPI_Probe from {}, {}, on {}", rank_text(w.peer), tag_text(w.label), on(w.context));
    default: return "mpt";
    }
}

std::string report::describe_message(wait_snapshot const& m) const {
    if (is_collective(m)) return fmt::format("{} on {} from {}", collective(m), on(m.context), rank_text(m.peer));
    return fmt::format("{}, {}, on {} ({})", rank_text(m.peer), tag_text(m.label), on(m.context), bytes_text(m.size));
}

/// What keeps a message from being the awaited one, where it is one thing; else nothing.
std::string report::near_miss(wait_snapshot const& w, wait_snapshot const& m) const {
    bool const source = w.peer != mpt::any_source && w.peer != m.peer;
    if (is_collective(m)) {
        if (communicator(w) != communicator(m) || source || (is_collective(w) && speaker_of(w.label) == speaker_of(m.label)))
            return {};
        return fmt::format("a message of {}, without being in it", describe_message(m));
    }
    if (is_collective(w) || !receives(w.what)) return {};
    bool const label = w.label != mpt::any_tag && w.label != m.label, context = w.context != m.context;
    if (source + label + context != 1) return {};
    return fmt::format("a message from {}: another {} than the awaited one", describe_message(m),
                       source  ? "rank"
                       : label ? "tag"
                               : "communicator");
}

/// The ranks that a group waits for, and that are not of it: the reason of the wait, as far as it can be seen.
std::string report::absent_from(std::vector<int> const& together) const {
    std::vector<int> gone, elsewhere;
    for (int const r : together) {
        auto const peer = ranks_[static_cast<std::size_t>(r)].waiting.peer.value;
        if (peer < 0 || static_cast<std::size_t>(peer) >= ranks_.size() || std::ranges::find(together, peer) != together.end())
            continue;
        auto const& p = ranks_[static_cast<std::size_t>(peer)];
        auto const& mine = ranks_[static_cast<std::size_t>(r)].waiting;
        if (!p.alive || p.state == rank_state::finalized) gone.push_back(peer);
        else if (is_collective(mine) && !(p.waits() && is_same_collective(mine, p.waiting))) elsewhere.push_back(peer);
    }
    std::string text;
    for (auto& [whom, what] : {std::pair{&gone, " ended"}, {&elsewhere, " not in it"}}) {
        std::ranges::sort(*whom);
        whom->erase(std::unique(whom->begin(), whom->end()), whom->end());
        auto const* const verb = whom == &gone ? (whom->size() == 1 ? "has" : "have") : (whom->size() == 1 ? "is" : "are");
        if (!whom->empty()) text += fmt::format("; {} {}{}", ranks_text(*whom), verb, what);
    }
    return text;
}

/// A rank that does not wait in mpt.
std::string report::idle(seen const& r) const {
    if (r.state == rank_state::absent) return fmt::format("not called {} yet", first_call());
    if (r.state == rank_state::finalized) return fmt::format("left {}", last_call());
    switch (state_of(r.pid)) {
    case 'T':
    case 't': return "been stopped by a signal";
    case 'S': return "gone to sleep outside of mpt";
    case 'D': return "been blocked in the kernel outside of mpt";
    default:
        return shmem_alone_ ? "been computing, or polling (shmem_test or shmem_test_lock)"
                            : "been computing, or polling (MPI_Test)";
    }
}

std::vector<std::string> report::waits() const {
    alike waiting, near, other;
    for (int r = 0; auto const& s : ranks_) {
        if (s.alive && s.waits()) waiting.add(r, describe(s.waiting));
        else if (s.alive) other.add(r, idle(s));
        for (auto const& m : s.kept)
            if (s.alive) near.add(r, near_miss(s.waiting, m));
        ++r;
    }
    std::vector<std::string> lines;
    for (auto const& [text, ranks] : waiting.groups()) {
        std::int64_t last = 0;
        for (int const r : ranks) last = std::max(last, ranks_[static_cast<std::size_t>(r)].waiting.since);
        lines.push_back(fmt::format("{} {} in {} for {:.1f} s{}", ranks_text(ranks), wait_verb(ranks.size()), text,
                                    static_cast<double>(now_ - last) / 1e9, absent_from(ranks)));
    }
    for (auto const* more : {&near, &other})
        for (auto const& [text, ranks] : more->groups())
            lines.push_back(fmt::format("{} {} {}", ranks_text(ranks), ranks.size() == 1 ? "has" : "have", text));
    std::ranges::move(cycles(), std::back_inserter(lines));
    return shortened(std::move(lines));
}

std::vector<std::string> report::others_of(int culprit) const {
    alike waiting, computing;
    bool joined = false;
    for (int r = 0; auto const& s : ranks_) {
        joined = joined || s.state != rank_state::absent;
        if (r != culprit && s.waits()) waiting.add(r, describe(s.waiting));
        else if (r != culprit && s.alive && s.state != rank_state::finalized)
            computing.add(r, s.state == rank_state::absent ? fmt::format("had not called {}", first_call())
                                                           : "did not wait in mpt");
        ++r;
    }
    std::vector<std::string> lines;
    if (!joined) return lines; // programs without mpt
    for (auto const& [text, ranks] : waiting.groups()) lines.push_back(fmt::format("{} waited in {}", ranks_text(ranks), text));
    for (auto const& [text, ranks] : computing.groups()) lines.push_back(fmt::format("{} {}", ranks_text(ranks), text));
    return shortened(std::move(lines));
}

int report::deserter() const noexcept {
    for (int r = 0; auto const& s : ranks_) {
        auto const awaits = [r](seen const& other) {
            auto const& w = other.waiting;
            return other.alive && (w.what == wait_for::start || (w.what == wait_for::others && w.peer == r));
        };
        if (!s.alive && s.state == rank_state::absent && std::ranges::any_of(ranks_, awaits)) return r;
        ++r;
    }
    return -1;
}

/// Whom a rank waits for, where that is one rank; -1. Ranks in the same collective wait for each other in turns.
int report::next_of(int rank) const {
    auto const& s = ranks_[static_cast<std::size_t>(rank)];
    auto const peer = s.waiting.peer.value;
    bool const is_answered = s.waiting.what == wait_for::answer; // whatever the peer itself waits for
    if (!s.alive || !s.waits() || is_answered || peer < 0 || static_cast<std::size_t>(peer) >= ranks_.size()) return -1;
    auto const& p = ranks_[static_cast<std::size_t>(peer)];
    bool const in_turns = p.waits() && is_same_collective(s.waiting, p.waiting) && !is_among_neighbours(s.waiting);
    bool const met = p.waits() && p.waiting.peer.value == rank && is_one_message(s.waiting, p.waiting);
    return in_turns || met ? -1 : peer;
}

std::vector<std::string> report::cycles() const {
    std::vector<std::string> lines;
    std::vector<int> met(ranks_.size(), -1); // by which start
    for (int start = 0; static_cast<std::size_t>(start) < ranks_.size(); ++start) {
        int at = start;
        for (; at >= 0 && met[static_cast<std::size_t>(at)] < 0; at = next_of(at)) met[static_cast<std::size_t>(at)] = start;
        if (at < 0 || met[static_cast<std::size_t>(at)] != start) continue;
        auto text = fmt::format("a cycle: rank {}", at);
        std::size_t n = 1;
        for (int r = next_of(at); r != at; r = next_of(r))
            if (++n <= most_in_cycle) text += fmt::format(" waits for rank {}, which", r);
        if (n > most_in_cycle) text += fmt::format(" ... ({} ranks in all)", n);
        lines.push_back(fmt::format("{} waits for rank {}", text, at));
    }
    return lines;
}

std::chrono::nanoseconds report::still() const {
    std::int64_t last = 0;
    for (auto const& s : ranks_)
        if (s.alive && s.waits()) last = std::max(last, s.waiting.since);
    return std::chrono::nanoseconds{last == 0 ? 0 : now_ - last};
}

std::uint64_t report::fingerprint() const {
    std::uint64_t all = 0;
    bool any = false;
    for (auto const& s : ranks_) {
        any = any || (s.alive && s.waits());
        auto const word = static_cast<std::uint64_t>(s.waiting.since) * 2 + s.alive + (s.waits() ? 4 : 0);
        all = (all ^ word) * 0x9e3779b97f4a7c15u;
    }
    return any ? all | 1 : 0;
}

} // namespace mptrun
