/// test/support/matching_oracle - whether messages met receives as MPI's order rules allow (MPI-4.1 section 3.5, 3.8): the oracle of
/// random programs. Each rank writes down what it did, in its order; which meeting came first nobody knows. The oracle asks whether
/// there is any order of all meetings in which each one is allowed:
///
///   a message meets no receive before it is sent, nor before the receive is posted; the receive ends, and a synchronous send, after it;
///   a message that its receive would take, sent before by the same rank on the same communicator, has met one by then;
///   a receive that would take the message, posted before by the same rank on that communicator, has met one by then, or is cancelled;
///   a probe tells of a message that a receive in its place would meet.
///
/// Each of these says that one event precedes another: there is such an order just where these arrows make no circle.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace mpt::test {

/// A line of a rank's record. Ranks are those of the job.
struct event {
    enum kind : int {
        sent,    // begins to send: number, comm, to peer, tag, bytes, mark
        certain, // its send `number` was synchronous, and has ended
        posted,  // posts receive `number`: comm, from peer, tag; or a matched probe
        looked, // a probe (comm, peer, tag) has told of a message (from, told_tag, bytes), which receive `number`, posted next, gets
        got,      // receive `number` has met a message: from, told_tag, bytes
        held,     // and that message began with mark
        cancelled // receive `number` is cancelled, and got none
    };
    int what = 0, number = 0, comm = 0, peer = 0, tag = 0, from = 0, told_tag = 0, bytes = 0, mark = 0;
};
using history = std::vector<std::vector<event>>; // [rank]

class matching_oracle {
    static constexpr int any = -1, none = -1;

    struct message {
        event const* sent;
        int from, node, meets; // meets: the node of its meeting
        bool taken = false;
    };
    struct receive {
        event const *posted, *got = nullptr, *held = nullptr;
        int node, got_node = none, cancelled_node = none;
        message const* meets = nullptr;
    };
    struct look {
        event const* told;
        int node;
    };
    struct rank_of_job {
        std::vector<receive> receives; // in the order in which they were posted
        std::map<int, std::size_t> at; // number -> place in receives
        std::vector<look> looks;
    };

    history const& all_;
    std::vector<int> first_; // node of each rank's first line
    std::vector<message> messages_;
    std::vector<rank_of_job> ranks_;
    std::vector<std::vector<int>> before_; // node -> the nodes before it
    std::string fault_;

    static bool takes(int peer, int tag, int from, int its_tag) {
        return (peer == any || peer == from) && (tag == any || tag == its_tag);
    }
    static bool takes(event const& e, message const& m) {
        return e.comm == m.sent->comm && takes(e.peer, e.tag, m.from, m.sent->tag);
    }
    void wrong(std::string const& what) {
        if (fault_.empty()) fault_ = what;
    }
    void arrow(int earlier, int later) { before_[static_cast<std::size_t>(later)].push_back(earlier); }

    static std::string text(int x) { return x == any ? "any" : std::to_string(x); }
    std::string name(message const& m) const {
        auto const& s = *m.sent;
        return "message " + text(s.number) + " (" + text(m.from) + " to " + text(s.peer) + ", comm " + text(s.comm) + ", tag " +
               text(s.tag) + ", " + text(s.bytes) + " bytes)";
    }
    static std::string name(int rank, event const& e) {
        return "receive " + text(e.number) + " of " + text(rank) + " (comm " + text(e.comm) + ", from " + text(e.peer) +
               ", tag " + text(e.tag) + ")";
    }

    void read(int rank, event const& e, int node) {
        auto& mine = ranks_[static_cast<std::size_t>(rank)];
        switch (e.what) {
        case event::sent: messages_.push_back({&e, rank, node, none}); return;
        case event::posted:
            mine.at[e.number] = mine.receives.size();
            mine.receives.push_back({.posted = &e, .node = node});
            return;
        case event::looked: mine.looks.push_back({&e, node}); return;
        case event::certain: return;
        default: break;
        }
        auto const at = mine.at.find(e.number);
        if (at == mine.at.end()) return wrong("receive " + text(e.number) + " of " + text(rank) + " ends and was never posted");
        auto& r = mine.receives[at->second];
        if (e.what == event::got) r.got = &e, r.got_node = node;
        if (e.what == event::held) r.held = &e;
        if (e.what == event::cancelled) r.cancelled_node = node;
    }
    void read_all() {
        int nodes = 0;
        ranks_.resize(all_.size());
        for (std::size_t r = 0; r < all_.size(); ++r) {
            first_.push_back(nodes);
            for (auto const& e : all_[r]) read(static_cast<int>(r), e, nodes++);
        }
        for (auto& m : messages_) m.meets = nodes++;
        before_.resize(static_cast<std::size_t>(nodes));
    }

    /// Of messages with one envelope the first sent meets the receive that was posted first: whatever takes one takes the others.
    void pair(int rank) {
        using envelope = std::tuple<int, int, int>; // comm, from, tag
        std::map<envelope, std::vector<message*>> coming;
        for (auto& m : messages_)
            if (m.sent->peer == rank) coming[{m.sent->comm, m.from, m.sent->tag}].push_back(&m);
        std::map<envelope, std::size_t> next;
        for (auto& r : ranks_[static_cast<std::size_t>(rank)].receives) {
            if (!r.got) {
                if (r.cancelled_node == none) wrong(name(rank, *r.posted) + " has not ended");
                continue;
            }
            envelope const e{r.posted->comm, r.got->from, r.got->told_tag};
            auto const& line = coming[e];
            auto const i = next[e]++;
            if (i >= line.size())
                return wrong(name(rank, *r.posted) + " got a message from " + text(r.got->from) + " with tag " +
                             text(r.got->told_tag) + " that was not sent, or that another one got");
            join(rank, r, *line[i]);
        }
    }
    void join(int rank, receive& r, message& m) {
        auto const both = name(rank, *r.posted) + " met " + name(m);
        if (!takes(*r.posted, m)) wrong(both + ", which it does not take");
        if (r.cancelled_node != none) wrong(both + " and is cancelled");
        if (r.got->bytes != m.sent->bytes) wrong(both + " and tells of " + text(r.got->bytes) + " bytes");
        if (!r.held || r.held->mark != m.sent->mark)
            wrong(both + " and holds mark " + (r.held ? text(r.held->mark) : "none") + " instead of " + text(m.sent->mark));
        m.taken = true, r.meets = &m;
        arrow(m.node, m.meets), arrow(r.node, m.meets), arrow(m.meets, r.got_node);
    }

    /// What must precede an event at `node`, where something posted as `as` before receives[end] meets m.
    void precede(int rank, event const& as, std::size_t end, message const& m, int node) {
        for (auto const& other : messages_) {
            if (&other == &m) break; // each rank's are in its order
            if (other.from == m.from && other.sent->peer == rank && takes(as, other)) arrow(other.meets, node);
        }
        auto const& mine = ranks_[static_cast<std::size_t>(rank)].receives;
        for (std::size_t i = 0; i < end; ++i)
            if (takes(*mine[i].posted, m)) arrow(mine[i].meets ? mine[i].meets->meets : mine[i].cancelled_node, node);
    }
    void rules(int rank) {
        auto const& mine = ranks_[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < mine.receives.size(); ++i)
            if (auto const* m = mine.receives[i].meets) precede(rank, *mine.receives[i].posted, i, *m, m->meets);
        for (auto const& l : mine.looks) {
            auto const at = mine.at.find(l.told->number);
            auto const* m = at == mine.at.end() ? nullptr : mine.receives[at->second].meets;
            if (!m || m->from != l.told->from || m->sent->tag != l.told->told_tag || m->sent->bytes != l.told->bytes)
                return wrong("a probe told of a message from " + text(l.told->from) + " that receive " + text(l.told->number) +
                             " of " + text(rank) + " did not get");
            if (!takes(*l.told, *m)) return wrong("a probe told of " + name(*m) + ", which it does not take");
            precede(rank, *l.told, at->second, *m, l.node);
        }
    }
    void lines() {
        for (std::size_t r = 0; r < all_.size(); ++r)
            for (std::size_t i = 0; i < all_[r].size(); ++i) {
                auto const node = first_[r] + static_cast<int>(i);
                if (i > 0) arrow(node - 1, node);
                if (all_[r][i].what != event::certain) continue;
                for (auto const& m : messages_)
                    if (m.from == static_cast<int>(r) && m.sent->number == all_[r][i].number) arrow(m.meets, node);
            }
    }

    std::string describe(int node) const {
        for (auto const& m : messages_) {
            if (node != m.meets) continue;
            for (auto const& r : ranks_[static_cast<std::size_t>(m.sent->peer)].receives)
                if (r.meets == &m) return name(m) + " meets " + name(m.sent->peer, *r.posted);
        }
        auto const r = std::ranges::upper_bound(first_, node) - first_.begin() - 1;
        auto const& e = all_[static_cast<std::size_t>(r)][static_cast<std::size_t>(node - first_[static_cast<std::size_t>(r)])];
        static constexpr char const* words[]{"sends",          "ends synchronous send", "posts receive",  "probes for receive",
                                             "has in receive", "looks at receive",      "cancels receive"};
        return "rank " + text(static_cast<int>(r)) + ' ' + words[e.what] + ' ' + text(e.number);
    }
    /// Takes away what nothing precedes, until nothing is left, or a circle.
    void circle() {
        std::vector<int> waits(before_.size());
        std::vector<std::vector<int>> after(before_.size());
        for (std::size_t n = 0; n < before_.size(); ++n)
            for (int const b : before_[n]) ++waits[n], after[static_cast<std::size_t>(b)].push_back(static_cast<int>(n));
        std::vector<int> free;
        for (std::size_t n = 0; n < waits.size(); ++n)
            if (waits[n] == 0) free.push_back(static_cast<int>(n));
        for (std::size_t i = 0; i < free.size(); ++i)
            for (int const n : after[static_cast<std::size_t>(free[i])])
                if (--waits[static_cast<std::size_t>(n)] == 0) free.push_back(n);
        if (free.size() == waits.size()) return;
        auto n = static_cast<int>(std::ranges::find_if(waits, [](int w) { return w > 0; }) - waits.begin());
        std::vector<int> path; // backwards, until it comes back to where it was
        while (std::ranges::count(path, n) == 0) {
            path.push_back(n);
            n = *std::ranges::find_if(before_[static_cast<std::size_t>(n)],
                                      [&](int b) { return waits[static_cast<std::size_t>(b)] > 0; });
        }
        std::string told = "overtaken: " + describe(n);
        for (auto at = path.rbegin(); *at != n; ++at) told += "\n  before " + describe(*at);
        wrong(told + "\n  before the first of these");
    }

public:
    explicit matching_oracle(history const& all) : all_{all} {
        read_all();
        for (int r = 0; r < static_cast<int>(all_.size()) && fault_.empty(); ++r) pair(r);
        for (auto const& m : messages_)
            if (!m.taken) wrong(name(m) + " was lost");
        for (int r = 0; r < static_cast<int>(all_.size()) && fault_.empty(); ++r) rules(r);
        if (!fault_.empty()) return;
        lines();
        circle();
    }
    /// What is wrong, or nothing.
    std::string const& fault() const { return fault_; }
};

} // namespace mpt::test
