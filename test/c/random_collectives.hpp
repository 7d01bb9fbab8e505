// test/c/random_collectives - random programs of collectives, against a serial oracle: communicators that overlap, of all ways to make one,
// intercommunicators among them; each collective blocking, begun, or persistent and started again and again; many under way at once.
// Ranks are threads or processes; MPI is there. All ranks draw the same program, and begin what is theirs of it in its order; each ends
// what it has begun when it likes.
#pragma once
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "../support/dice.hpp"

namespace mpt::c::test {

/// A communicator as the oracle sees it. Ranks are those of the job.
struct members_of {
    MPI_Comm handle = MPI_COMM_NULL;
    std::vector<int> mine, peers; // this rank's side, and whom it exchanges with: the same of an intracommunicator
    bool inter = false;
};

/// What all collectives of a rank use.
struct collective_types {
    MPI_Datatype gapped = MPI_DATATYPE_NULL, pair = MPI_DATATYPE_NULL;
    MPI_Op map = MPI_OP_NULL, sum = MPI_OP_NULL;

    /// Pairs as maps x -> a x + b, one after the other: associative, and does not commute.
    static void after(void* in, void* inout, int* n, MPI_Datatype*) {
        auto const* const l = static_cast<unsigned*>(in);
        auto* const r = static_cast<unsigned*>(inout);
        for (int i = 0; i < 2 * *n; i += 2) {
            r[i + 1] += l[i + 1] * r[i];
            r[i] *= l[i];
        }
    }
    static void added(void* in, void* inout, int* n, MPI_Datatype*) {
        for (int i = 0; i < *n; ++i) static_cast<unsigned*>(inout)[i] += static_cast<unsigned*>(in)[i];
    }
    collective_types() {
        MPI_Type_create_resized(MPI_UNSIGNED, 0, 2 * sizeof(unsigned), &gapped);
        MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
        MPI_Type_commit(&gapped), MPI_Type_commit(&pair);
        MPI_Op_create(&after, 0, &map), MPI_Op_create(&added, 1, &sum);
    }
    collective_types(collective_types const&) = delete;
    ~collective_types() { MPI_Type_free(&gapped), MPI_Type_free(&pair), MPI_Op_free(&map), MPI_Op_free(&sum); }
};

/// From scan on, those that intercommunicators do not have.
enum class collective_kind {
    barrier,
    broadcast,
    gather,
    gatherv,
    scatter,
    scatterv,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    alltoallw,
    reduce,
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan
};
constexpr unsigned collective_kinds = static_cast<unsigned>(collective_kind::exscan) + 1;

/// An array that either form of a function takes.
struct both {
    std::vector<int> small;
    std::vector<MPI_Count> wide;
    void add(int n) { small.push_back(n), wide.push_back(n); }
    operator int const*() const { return small.data(); }
    operator MPI_Count const*() const { return wide.data(); }
};

class random_collective {
    using dice = mpt::test::dice;
    using row = std::vector<unsigned>;

public:
    enum class form { blocking, begun, persistent };

private:
    using kind = collective_kind;
    using enum collective_kind;
    static constexpr int everybody = 77;
    static constexpr unsigned untouched = 0xabababab;

    /// Blocks of numbers, one for each of some ranks, with gaps between them where a function takes displacements; each number may
    /// have a gap behind it.
    struct buffer {
        int stride = 1;
        MPI_Datatype type = MPI_UNSIGNED;
        both counts, places, bytes;
        std::vector<MPI_Datatype> types;
        row memory, wanted;

        std::size_t at(std::size_t block, int k) const { return static_cast<std::size_t>((places.small[block] + k) * stride); }
        void add(int n, int gap) {
            auto const place = (places.small.empty() ? 0 : places.small.back() + counts.small.back()) + gap;
            places.add(place), counts.add(n), bytes.add(place * stride * 4), types.push_back(type);
            memory.resize(static_cast<std::size_t>((place + n) * stride), untouched);
        }
        void put(row& where, std::size_t block, row const& numbers) const {
            for (std::size_t k = 0; k < numbers.size(); ++k) where[at(block, static_cast<int>(k))] = numbers[k];
        }
        void* data() { return memory.data(); }
    };

    members_of const& comm_;
    collective_types const& use_;
    int me_;
    unsigned shape_seed_, seed_ = 0; // of counts; of data
    kind what_;
    form how_;
    bool large_, in_place_ = false, gaps_ = false;
    int op_, n_, root_world_, root_;
    bool at_root_, has_part_; // has_part: a root gets of it, or gives it something
    buffer out_, in_;
    both shares_;                        // of a reduction that is scattered
    std::size_t part_ = std::size_t(-1); // of in_: compared
    MPI_Request request_ = MPI_REQUEST_NULL;
    bool active_ = false;

    bool is(std::initializer_list<kind> some) const { return std::ranges::count(some, what_) != 0; }
    bool reduces() const { return what_ >= reduce; }
    bool maps() const { return op_ == 0; }
    bool is_mine(int rank) const { return std::ranges::count(comm_.mine, rank) != 0; }
    row numbers(int from, int to, int n) const {
        row v(static_cast<std::size_t>(n));
        auto const first = (seed_ + 31u * static_cast<unsigned>(from) + 1009u * static_cast<unsigned>(to)) * 2654435761u;
        for (int k = 0; k < n; ++k) v[static_cast<std::size_t>(k)] = first + static_cast<unsigned>(k);
        return v;
    }
    /// How much `from` has for `to`; in place as much as that has for it.
    int amount(int from, int to) const {
        if (in_place_ && from > to) std::swap(from, to);
        dice d{shape_seed_ + 101u * static_cast<unsigned>(from) + static_cast<unsigned>(to)};
        return 2 * d.one_of({0, 1, 2, 7, 30, 300});
    }
    /// The same for all; sides of an intercommunicator differ.
    int even(bool of_mine) const { return comm_.inter && of_mine != is_mine(lowest()) ? n_ / 2 / 2 * 2 : n_; }
    int lowest() const { return std::min(*std::ranges::min_element(comm_.mine), *std::ranges::min_element(comm_.peers)); }

    row fold(std::vector<int> const& ranks, int n) const {
        auto all = numbers(ranks.front(), everybody, n);
        for (auto r = ranks.begin() + 1; r != ranks.end(); ++r) {
            auto next = numbers(*r, everybody, n);
            int pairs = n / 2;
            if (maps()) collective_types::after(all.data(), next.data(), &pairs, nullptr);
            for (std::size_t i = 0; !maps() && i < next.size(); ++i) next[i] = op_ == 1 ? next[i] ^ all[i] : next[i] + all[i];
            all = std::move(next);
        }
        return all;
    }
    int gap(dice& own) const { return gaps_ ? static_cast<int>(own.below(3)) : 0; }
    int mine_at() const { return static_cast<int>(std::ranges::find(comm_.mine, me_) - comm_.mine.begin()); }

    /// Counts and places. They last: a persistent one keeps its memory.
    void lay_out(dice& own) {
        auto const spread = is({gatherv, scatterv, allgatherv, alltoallv, alltoallw});
        gaps_ = spread;
        if (!reduces())
            for (auto* b : {&out_, &in_})
                if (own.coin()) b->stride = 2, b->type = use_.gapped;
        auto const n = [&](int from, int to) { return spread ? amount(from, to) : even(is_mine(from)); };
        auto const one = [&](buffer& b, int count) { b.add(count, 0); };
        auto const each = [&](buffer& b, auto const& count) {
            for (int const r : comm_.peers) b.add(count(r), gap(own));
        };
        if (is({broadcast}) && (at_root_ || has_part_)) one(in_, n_);
        if (is({gather, gatherv})) {
            if (has_part_) one(out_, spread ? amount(me_, everybody) : n_);
            if (at_root_) each(in_, [&](int r) { return spread ? amount(r, everybody) : n_; });
        }
        if (is({scatter, scatterv})) {
            if (at_root_) each(out_, [&](int r) { return spread ? amount(r, everybody) : n_; });
            if (has_part_) one(in_, spread ? amount(me_, everybody) : n_);
        }
        if (is({allgather, allgatherv})) {
            one(out_, n(me_, everybody));
            each(in_, [&](int r) { return n(r, everybody); });
        }
        if (is({alltoall, alltoallv, alltoallw})) {
            each(out_, [&](int r) { return n(me_, r); });
            each(in_, [&](int r) { return n(r, me_); });
        }
        if (reduces()) lay_out_reduction();
    }
    /// A reduction that is scattered: the sides of an intercommunicator share one row of numbers, each among its own.
    void lay_out_reduction() {
        auto const sides = static_cast<int>(comm_.inter ? comm_.peers.size() : 1);
        if (is({reduce_scatter, reduce_scatter_block})) {
            n_ = std::min(n_, 600);
            auto const whole = n_ * sides * static_cast<int>(comm_.mine.size());
            int left = whole;
            for (std::size_t r = 0; r < comm_.mine.size(); ++r) {
                auto n = what_ == reduce_scatter_block ? n_ * sides : std::min(left, amount(comm_.mine[r], everybody));
                if (r + 1 == comm_.mine.size()) n = left;
                shares_.add(maps() ? n / 2 : n), left -= n;
            }
            out_.add(whole, 0);
            return in_.add(shares_.small[static_cast<std::size_t>(mine_at())] * (maps() ? 2 : 1), 0);
        }
        if (what_ != reduce || has_part_) out_.add(n_, 0);
        if (what_ != reduce || at_root_) in_.add(n_, 0);
    }
    void gives(std::size_t block, row const& v) { out_.put(out_.memory, block, v); }
    void gets(std::size_t block, row const& v) { in_.put(in_.wanted, block, v); }
    /// In place: this is what it finds there.
    void finds(std::size_t block, row const& v) { in_.put(in_.memory, block, v), in_.put(in_.wanted, block, v); }
    static int size(buffer const& b, std::size_t block) { return b.counts.small[block]; }

    void bring_reduction() {
        auto const whole = out_.counts.small.empty() ? n_ : size(out_, 0);
        auto const given = numbers(me_, everybody, whole);
        if (!out_.counts.small.empty()) gives(0, given);
        if (in_.counts.small.empty()) return;
        std::vector<int> from = comm_.peers;
        if (what_ == scan || what_ == exscan) from.resize(static_cast<std::size_t>(mine_at() + (what_ == scan)));
        if (in_place_ && is({reduce_scatter, reduce_scatter_block})) { // all of it lies where a part comes
            in_.memory = in_.wanted = given;
        } else if (in_place_) finds(0, given);
        if (from.empty()) return; // exscan's first has nothing
        auto all = fold(from, whole);
        if (is({reduce_scatter, reduce_scatter_block})) {
            int first = 0;
            for (int r = 0; r < mine_at(); ++r) first += shares_.small[static_cast<std::size_t>(r)] * (maps() ? 2 : 1);
            all = row(all.begin() + first, all.begin() + first + size(in_, 0));
            std::ranges::copy(all, in_.wanted.begin());
            // What lies behind the part is undefined.
            part_ = static_cast<std::size_t>(size(in_, 0));
            return;
        }
        gets(0, all);
    }

public:
    /// What is sent, what must come of it.
    void bring(unsigned seed) {
        seed_ = seed;
        for (auto* b : {&out_, &in_}) {
            std::ranges::fill(b->memory, untouched);
            b->wanted = b->memory;
        }
        if (what_ == broadcast && in_.counts.small.size() == 1) {
            auto const v = numbers(root_world_, everybody, n_);
            at_root_ ? finds(0, v) : gets(0, v);
        }
        auto const self = static_cast<std::size_t>(std::ranges::find(comm_.peers, me_) - comm_.peers.begin());
        if (is({gather, gatherv, allgather, allgatherv})) {
            if (!out_.counts.small.empty()) gives(0, numbers(me_, everybody, size(out_, 0)));
            for (std::size_t r = 0; r < in_.counts.small.size(); ++r) {
                auto const v = numbers(comm_.peers[r], everybody, size(in_, r));
                in_place_&& r == self ? finds(r, v) : gets(r, v);
            }
        }
        if (is({scatter, scatterv})) {
            for (std::size_t r = 0; r < out_.counts.small.size(); ++r)
                gives(r, numbers(root_world_, comm_.peers[r], size(out_, r)));
            if (has_part_ && !in_place_) gets(0, numbers(root_world_, me_, size(in_, 0)));
        }
        if (is({alltoall, alltoallv, alltoallw}))
            for (std::size_t r = 0; r < comm_.peers.size(); ++r) {
                if (in_place_) in_.put(in_.memory, r, numbers(me_, comm_.peers[r], size(in_, r)));
                else gives(r, numbers(me_, comm_.peers[r], size(out_, r)));
                gets(r, numbers(comm_.peers[r], me_, size(in_, r)));
            }
        if (reduces()) bring_reduction();
    }

    random_collective(members_of const& comm, collective_types const& use, int me, form how, unsigned seed, dice& own)
        : comm_{comm}, use_{use}, me_{me}, shape_seed_{seed}, how_{how}, large_{own.coin()} {
        dice common{seed};
        what_ = static_cast<kind>(common.below(comm.inter ? static_cast<unsigned>(scan) : collective_kinds));
        op_ = static_cast<int>(common.below(4));
        n_ = 2 * common.one_of({0, 1, 3, 50, 600, 5000});
        if (common.below(40) == 0) n_ = 140'000; // cut into pieces by some algorithms
        auto all = comm.mine;
        if (comm.inter) all.insert(all.end(), comm.peers.begin(), comm.peers.end()), std::ranges::sort(all);
        root_world_ = all[common.below(static_cast<unsigned>(all.size()))];
        bool const near = is_mine(root_world_);
        auto const& side = near ? comm.mine : comm.peers;
        at_root_ = root_world_ == me;
        has_part_ = !comm.inter || !near;
        root_ = static_cast<int>(std::ranges::find(side, root_world_) - side.begin());
        if (comm.inter && near) root_ = at_root_ ? MPI_ROOT : MPI_PROC_NULL;
        // Alike at all ranks, or the root's own business.
        bool const here = comm.inter ? false : common.coin();
        if (is({gather, gatherv, scatter, scatterv, reduce})) in_place_ = here && at_root_;
        if (is({allgather, allgatherv, alltoall, alltoallv, alltoallw, allreduce, reduce_scatter, reduce_scatter_block, scan,
                exscan}))
            in_place_ = here;
        lay_out(own);
        if (in_place_) {
            if (is({reduce_scatter, reduce_scatter_block})) in_.memory.resize(out_.memory.size());
            if (what_ == scatter || what_ == scatterv) in_.counts = in_.places = {}, in_.add(0, 0);
        }
    }
    random_collective(random_collective const&) = delete;

#define MPT_CALL(F, I, ...)                                                                                                    \
    (how_ == form::blocking ? (large_ ? MPI_##F##_c(__VA_ARGS__) : MPI_##F(__VA_ARGS__))                                       \
     : how_ == form::begun  ? (large_ ? MPI_##I##_c(__VA_ARGS__, &request_) : MPI_##I(__VA_ARGS__, &request_))                 \
                            : (large_ ? MPI_##F##_init_c(__VA_ARGS__, MPI_INFO_NULL, &request_)                                \
                                      : MPI_##F##_init(__VA_ARGS__, MPI_INFO_NULL, &request_)))
    /// The call; of a persistent one, its init.
    int call() {
        auto const c = comm_.handle;
        void const* const out = in_place_ && !is({scatter, scatterv}) ? MPI_IN_PLACE : out_.data();
        void* const in = in_place_ && is({scatter, scatterv}) ? MPI_IN_PLACE : in_.data();
        auto const first = [](buffer const& b) { return b.counts.small.empty() ? 0 : b.counts.small.front(); };
        int const on = first(out_), in_n = first(in_);
        auto const ot = out_.type, it = in_.type;
        auto const n = maps() ? n_ / 2 : n_;
        auto const t = maps() ? use_.pair : MPI_UNSIGNED;
        auto const op = maps() ? use_.map : op_ == 1 ? MPI_BXOR : op_ == 2 ? MPI_SUM : use_.sum;
        switch (what_) {
        case barrier:
            return how_ == form::blocking ? MPI_Barrier(c)
                   : how_ == form::begun  ? MPI_Ibarrier(c, &request_)
                                          : MPI_Barrier_init(c, MPI_INFO_NULL, &request_);
        case broadcast: return MPT_CALL(Bcast, Ibcast, in, in_n, it, root_, c);
        case gather: return MPT_CALL(Gather, Igather, out, on, ot, in, in_n, it, root_, c);
        case gatherv: return MPT_CALL(Gatherv, Igatherv, out, on, ot, in, in_.counts, in_.places, it, root_, c);
        case scatter: return MPT_CALL(Scatter, Iscatter, out, on, ot, in, in_n, it, root_, c);
        case scatterv: return MPT_CALL(Scatterv, Iscatterv, out, out_.counts, out_.places, ot, in, in_n, it, root_, c);
        case allgather: return MPT_CALL(Allgather, Iallgather, out, on, ot, in, in_n, it, c);
        case allgatherv: return MPT_CALL(Allgatherv, Iallgatherv, out, on, ot, in, in_.counts, in_.places, it, c);
        case alltoall: return MPT_CALL(Alltoall, Ialltoall, out, on, ot, in, in_n, it, c);
        case alltoallv:
            return MPT_CALL(Alltoallv, Ialltoallv, out, out_.counts, out_.places, ot, in, in_.counts, in_.places, it, c);
        case alltoallw:
            return MPT_CALL(Alltoallw, Ialltoallw, out, out_.counts, out_.bytes, out_.types.data(), in, in_.counts, in_.bytes,
                            in_.types.data(), c);
        case reduce: return MPT_CALL(Reduce, Ireduce, out, in, n, t, op, root_, c);
        case allreduce: return MPT_CALL(Allreduce, Iallreduce, out, in, n, t, op, c);
        case reduce_scatter: return MPT_CALL(Reduce_scatter, Ireduce_scatter, out, in, shares_, t, op, c);
        case reduce_scatter_block:
            return MPT_CALL(Reduce_scatter_block, Ireduce_scatter_block, out, in, shares_.small.front(), t, op, c);
        case scan: return MPT_CALL(Scan, Iscan, out, in, n, t, op, c);
        case exscan: return MPT_CALL(Exscan, Iexscan, out, in, n, t, op, c);
        }
        return MPI_ERR_OTHER;
    }
#undef MPT_CALL

    /// Returns an error's code, or MPI_SUCCESS.
    int begin() {
        active_ = how_ != form::blocking;
        if (how_ == form::persistent && request_ == MPI_REQUEST_NULL)
            if (int const code = call(); code != MPI_SUCCESS) return code;
        return how_ == form::persistent ? MPI_Start(&request_) : call();
    }
    int try_to_end() {
        int done = 1;
        int const code = active_ ? MPI_Test(&request_, &done, MPI_STATUS_IGNORE) : MPI_SUCCESS;
        active_ = active_ && done == 0;
        return code;
    }
    int end() {
        int const code = active_ ? MPI_Wait(&request_, MPI_STATUS_IGNORE) : MPI_SUCCESS;
        active_ = false;
        return code;
    }
    int free() { return request_ == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Request_free(&request_); }
    bool is_active() const { return active_; }
    bool is_persistent() const { return how_ == form::persistent; }
    bool is_right() const {
        auto const n = static_cast<std::ptrdiff_t>(std::min(part_, in_.memory.size()));
        return std::equal(in_.memory.begin(), in_.memory.begin() + n, in_.wanted.begin());
    }
    std::string name() const {
        static constexpr char const* names[]{"barrier",   "bcast",     "gather",     "gatherv",        "scatter",
                                             "scatterv",  "allgather", "allgatherv", "alltoall",       "alltoallv",
                                             "alltoallw", "reduce",    "allreduce",  "reduce_scatter", "reduce_scatter_block",
                                             "scan",      "exscan"};
        static constexpr char const* forms[]{"blocking", "begun", "persistent"};
        return std::string{forms[static_cast<int>(how_)]} + ' ' + names[static_cast<int>(what_)] +
               (in_place_ ? " in place" : "") + (comm_.inter ? " between sides" : "") + ", n " + std::to_string(n_) +
               ", operation " + std::to_string(op_) + ", root " + std::to_string(root_) + (large_ ? ", large count" : "");
    }
};

/// One rank's part of a random program.
class random_collectives {
    using dice = mpt::test::dice;
    using form = random_collective::form;
    int me_ = -1, size_ = 0;
    dice common_, own_;
    std::vector<members_of> comms_; // as drawn; this rank's have handles
    collective_types use_;
    std::vector<std::unique_ptr<random_collective>> all_; // of this rank, in the program's order; null: not this rank's
    std::string faults_;

    void wrong(std::string const& what) {
        if (faults_.size() < 2000) faults_ += "rank " + std::to_string(me_) + ": " + what + '\n';
    }
    void must(int code, std::string const& what) {
        if (code != MPI_SUCCESS) wrong(what + " returned " + std::to_string(code));
    }
    std::vector<int> some(unsigned least) {
        std::vector<int> all(static_cast<std::size_t>(size_));
        std::iota(all.begin(), all.end(), 0);
        for (auto i = static_cast<unsigned>(size_); i > 1; --i) std::swap(all[i - 1], all[common_.below(i)]);
        all.resize(least + common_.below(static_cast<unsigned>(size_) - least + 1));
        return all;
    }
    bool in(std::vector<int> const& ranks) const { return std::ranges::count(ranks, me_) != 0; }
    MPI_Group group_of(std::vector<int> const& ranks) const {
        MPI_Group world = MPI_GROUP_NULL, g = MPI_GROUP_NULL;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &g);
        MPI_Group_free(&world);
        return g;
    }
    void add(MPI_Comm handle, std::vector<int> const& ranks) { comms_.push_back({handle, ranks, ranks, false}); }

    void make_intra() {
        MPI_Comm c = MPI_COMM_NULL;
        auto all = some(static_cast<unsigned>(size_));
        std::ranges::sort(all);
        must(MPI_Comm_dup(MPI_COMM_WORLD, &c), "MPI_Comm_dup");
        add(c, all);
        for (unsigned parts : {1u, 2u, 3u}) { // in another order, and parts
            std::vector<std::vector<int>> of(parts);
            auto const order = some(static_cast<unsigned>(size_));
            for (int const r : order) of[common_.below(parts)].push_back(r);
            for (std::size_t p = 0; p < parts; ++p) {
                if (!in(of[p])) continue;
                auto const at = static_cast<int>(std::ranges::find(of[p], me_) - of[p].begin());
                must(MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(p), at, &c), "MPI_Comm_split");
                add(c, of[p]);
            }
        }
        for (bool by_group : {true, false}) {
            auto const ranks = some(1);
            auto g = group_of(ranks);
            c = MPI_COMM_NULL;
            if (by_group && in(ranks)) must(MPI_Comm_create_group(MPI_COMM_WORLD, g, 5, &c), "MPI_Comm_create_group");
            if (!by_group) must(MPI_Comm_create(MPI_COMM_WORLD, g, &c), "MPI_Comm_create");
            add(c, ranks);
            MPI_Group_free(&g);
        }
    }
    void make_inter() {
        auto const ranks = some(2);
        auto const cut = 1 + common_.below(static_cast<unsigned>(ranks.size()) - 1);
        std::vector<int> const side[]{{ranks.begin(), ranks.begin() + cut}, {ranks.begin() + cut, ranks.end()}};
        int const s = in(side[0]) ? 0 : 1;
        MPI_Comm part = MPI_COMM_NULL, c = MPI_COMM_NULL, twin = MPI_COMM_NULL;
        auto const at = static_cast<int>(std::ranges::find(side[s], me_) - side[s].begin());
        must(MPI_Comm_split(MPI_COMM_WORLD, in(ranks) ? s : MPI_UNDEFINED, at, &part), "MPI_Comm_split");
        if (in(ranks)) {
            must(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, side[1 - s][0], 6, &c), "MPI_Intercomm_create");
            must(MPI_Comm_dup(c, &twin), "MPI_Comm_dup");
            must(MPI_Comm_free(&part), "MPI_Comm_free");
        }
        for (auto const made : {c, twin}) comms_.push_back({made, side[s], side[1 - s], true});
    }

    void ended(random_collective& o, std::size_t step, char const* when) {
        if (!o.is_right()) wrong("step " + std::to_string(step) + ", " + when + ": " + o.name() + " gave other numbers");
    }
    void end(std::size_t step) {
        auto& o = *all_[step];
        if (!o.is_active()) return;
        must(o.end(), "the wait for step " + std::to_string(step));
        ended(o, step, "waited for");
    }
    void test_one() {
        auto const step = own_.below(static_cast<unsigned>(all_.size()));
        if (!all_[step] || !all_[step]->is_active()) return;
        must(all_[step]->try_to_end(), "the test of step " + std::to_string(step));
        if (!all_[step]->is_active()) ended(*all_[step], step, "tested");
    }
    void begin(std::size_t step, unsigned seed) {
        auto& o = *all_[step];
        end(step);
        o.bring(seed);
        must(o.begin(), o.name());
        if (!o.is_active()) ended(o, step, "blocking");
    }
    void step() {
        auto const which = common_.below(static_cast<unsigned>(comms_.size()));
        auto const how = common_.one_of({form::blocking, form::begun, form::begun, form::persistent});
        auto const seed = common_.seed(), data = common_.seed(), again = common_.below(static_cast<unsigned>(all_.size()) + 20);
        if (again < all_.size()) {
            if (all_[again] && all_[again]->is_persistent()) begin(again, data);
            return;
        }
        auto const& c = comms_[which];
        all_.emplace_back();
        if (c.handle == MPI_COMM_NULL) return;
        all_.back() = std::make_unique<random_collective>(c, use_, me_, how, seed, own_);
        begin(all_.size() - 1, data);
    }
    static int number_in(int (*asked)(MPI_Comm, int*)) {
        int n = -1;
        asked(MPI_COMM_WORLD, &n);
        return n;
    }

public:
    /// Collective over MPI_COMM_WORLD, as run() is.
    explicit random_collectives(unsigned seed)
        : me_{number_in(MPI_Comm_rank)}, size_{number_in(MPI_Comm_size)}, common_{seed},
          own_{seed + 7919u * static_cast<unsigned>(me_ + 1)} {}
    random_collectives(random_collectives const&) = delete;

    /// What was wrong at this rank, or nothing.
    std::string run(int steps) {
        make_intra();
        if (size_ > 1) make_inter();
        for (int i = 0; i < steps; ++i) {
            step();
            while (own_.coin() && !all_.empty()) test_one();
            if (own_.below(8) == 0 && !all_.empty())
                if (auto const s = own_.below(static_cast<unsigned>(all_.size())); all_[s]) end(s);
        }
        for (auto s = all_.size(); s-- > 0;) {
            if (!all_[s]) continue;
            end(s);
            must(all_[s]->free(), "MPI_Request_free");
        }
        for (auto& c : comms_)
            if (c.handle != MPI_COMM_NULL) must(MPI_Comm_free(&c.handle), "MPI_Comm_free");
        return faults_;
    }
};

} // namespace mpt::c::test
