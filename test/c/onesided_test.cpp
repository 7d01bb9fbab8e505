// Chapter 12 of the C interface: what is written, read and updated through windows, and the epochs in which it may be.
#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <numeric>
#include <set>

#include "shared.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::processes;
using mpt::c::test::ranks;

// --- random programs ------------------------------------------------------------------------------------------------------------
// All ranks draw the same program from one seed: rounds of operations between two synchronisations. No two of a round conflict,
// so the model, a table of numbers for each rank, knows every result. Ranks compare their memory and what they fetched with it.

using number = std::int64_t;
using random_source = std::mt19937;

std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }
int below(random_source& random, int n) { return static_cast<int>(random() % at(n)); }

/// A basic datatype: every number that the programs use fits into it, or wraps.
struct element {
    MPI_Datatype type;
    int size;
    bool real;
    void (*write)(std::byte*, number);
    number (*read)(std::byte const*);

    number wrapped(number n) const {
        std::byte room[8];
        write(room, n);
        return read(room);
    }
};
template <class T> element element_of(MPI_Datatype type) {
    return {type, sizeof(T), std::is_floating_point_v<T>,
            [](std::byte* to, number n) {
                auto const x = static_cast<T>(n);
                std::memcpy(to, &x, sizeof x);
            },
            [](std::byte const* from) {
                T x;
                std::memcpy(&x, from, sizeof x);
                return static_cast<number>(x);
            }};
}
std::vector<element> elements() {
    return {element_of<std::int8_t>(MPI_INT8_T),     element_of<int>(MPI_INT),     element_of<std::int64_t>(MPI_INT64_T),
            element_of<std::uint16_t>(MPI_UINT16_T), element_of<float>(MPI_FLOAT), element_of<double>(MPI_DOUBLE)};
}

number times(number a, number b) { return static_cast<number>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); }

struct update {
    MPI_Op op;
    bool of_reals, commutes;
    number (*combine)(number there, number mine);
};
update const updates[] = {
    {MPI_SUM, true, true, [](number a, number b) { return a + b; }},
    {MPI_MAX, true, true, [](number a, number b) { return std::max(a, b); }},
    {MPI_MIN, true, true, [](number a, number b) { return std::min(a, b); }},
    {MPI_PROD, false, true, times},
    {MPI_BAND, false, true, [](number a, number b) { return a & b; }},
    {MPI_BOR, false, true, [](number a, number b) { return a | b; }},
    {MPI_BXOR, false, true, [](number a, number b) { return a ^ b; }},
    {MPI_LAND, false, true, [](number a, number b) { return number{a != 0 && b != 0}; }},
    {MPI_LOR, false, true, [](number a, number b) { return number{a != 0 || b != 0}; }},
    {MPI_LXOR, false, true, [](number a, number b) { return number{(a != 0) != (b != 0)}; }},
    {MPI_REPLACE, true, false, [](number, number b) { return b; }},
    {MPI_NO_OP, true, false, [](number a, number) { return a; }},
};

constexpr int slots = 40; // elements of each rank's memory

/// Elements in the order in which a datatype takes them; counted from `first`.
struct layout {
    std::vector<int> places;
    int style = 0, stride = 1, first = 0;

    layout(random_source& random, int n) : style{below(random, 3)}, stride{1 + below(random, 3)} {
        int at = 0;
        for (int i = 0; i < n; ++i, at += style == 0 ? 1 : style == 1 ? stride : 1 + below(random, 3)) places.push_back(at);
        first = below(random, slots - places.back());
    }
    int count() const noexcept { return static_cast<int>(places.size()); }
    /// The datatype, and how many of it.
    std::pair<MPI_Datatype, int> type(element const& e) const {
        MPI_Datatype made = e.type;
        if (style == 0) return {made, count()};
        if (style == 1) MPI_Type_vector(count(), 1, stride, e.type, &made);
        if (style == 2) MPI_Type_create_indexed_block(count(), 1, places.data(), e.type, &made);
        MPI_Type_commit(&made);
        return {made, 1};
    }
};

enum class act { put, get, accumulate, get_accumulate, fetch_and_op, compare_and_swap };

struct operation {
    act what;
    int origin, target;
    update const* with;
    bool large, by_request;
    layout mine, result, theirs;
    std::vector<number> values, compared; // of the origin
    std::vector<number> fetched;          // as the model has it
};

/// What was done to an element in this round.
struct trace {
    enum { nothing, written, read, updated } how = nothing;
    int by = -1;
    update const* with = nullptr;
    bool by_several = false;
};

bool fetches(act a) noexcept { return a != act::put && a != act::accumulate; }

class program {
    random_source random_;
    int size_;
    element element_;
    std::vector<std::vector<number>> memory_; // by rank
    std::vector<std::vector<trace>> traces_;  // of the last round

    bool may(operation const& o, trace const& t) const {
        if (t.how == trace::nothing) return true;
        if (o.what == act::put) return false;
        if (o.what == act::get) return t.how == trace::read;
        if (t.how != trace::updated) return false;
        bool const same = t.with == o.with && o.with && o.with->commutes;
        return t.by_several ? same : t.by == o.origin || same; // updates of one origin come in its order
    }
    void leave(operation const& o, trace& t) const {
        bool const first = t.how == trace::nothing;
        t.by_several |= !first && t.by != o.origin;
        t.how = o.what == act::put ? trace::written : o.what == act::get ? trace::read : trace::updated;
        // Another rank may join in one operation only.
        static update const many{MPI_OP_NULL, false, false, nullptr};
        t.with = first || t.with == o.with ? o.with : &many;
        t.by = o.origin;
    }
    operation drawn(int origin) {
        auto const what = static_cast<act>(below(random_, element_.real ? 5 : 6));
        bool const one = what == act::fetch_and_op || what == act::compare_and_swap;
        int const n = one ? 1 : 1 + below(random_, 6);
        update const* with = nullptr;
        while (what != act::put && what != act::get && what != act::compare_and_swap && !with) {
            with = &updates[random_() % std::size(updates)];
            if ((element_.real && !with->of_reals) || (what == act::accumulate && with->op == MPI_NO_OP)) with = nullptr;
        }
        operation o{what,
                    origin,
                    below(random_, size_),
                    with,
                    random_() % 2 == 0,
                    random_() % 2 == 0,
                    layout{random_, n},
                    layout{random_, n},
                    layout{random_, n},
                    {},
                    {},
                    {}};
        if (one) o.mine.style = o.result.style = o.theirs.style = 0;
        for (int i = 0; i < n; ++i) o.values.push_back(element_.wrapped(below(random_, 50)));
        for (int i = 0; i < n; ++i) o.compared.push_back(element_.wrapped(below(random_, 2) ? 0 : below(random_, 50)));
        return o;
    }
    number& there(operation const& o, int i) { return memory_[at(o.target)][at(o.theirs.first + o.theirs.places[at(i)])]; }
    trace& trace_of(operation const& o, int i) { return traces_[at(o.target)][at(o.theirs.first + o.theirs.places[at(i)])]; }

    void apply(operation& o) {
        for (int i = 0; i < o.theirs.count(); ++i) {
            auto& x = there(o, i);
            auto const mine = o.values[at(i)];
            o.fetched.push_back(x);
            if (o.what == act::put) x = mine;
            else if (o.what == act::compare_and_swap) x = x == o.compared[at(i)] ? mine : x;
            else if (o.with) x = element_.wrapped(o.with->combine(x, mine));
        }
    }

public:
    program(std::uint32_t seed, int size, element const& e)
        : random_{seed}, size_{size}, element_{e}, memory_(at(size), std::vector<number>(slots)) {}

    element const& what() const noexcept { return element_; }
    std::vector<number> const& memory(int rank) const { return memory_[at(rank)]; }
    int choice(int n) { return below(random_, n); }

    /// The operations of the next round, and what they do to the model.
    std::vector<operation> round() {
        traces_.assign(at(size_), std::vector<trace>(slots));
        std::vector<operation> all;
        for (int i = 0; i < 30; ++i) {
            auto o = drawn(below(random_, size_));
            bool fits = true;
            for (int k = 0; k < o.theirs.count(); ++k) fits &= may(o, trace_of(o, k));
            if (!fits) continue;
            for (int k = 0; k < o.theirs.count(); ++k) leave(o, trace_of(o, k));
            apply(o);
            all.push_back(std::move(o));
        }
        return all;
    }
    /// Whether the model knows what an operation fetches: where several ranks update, it depends on who is first.
    bool knows(operation const& o, int i) { return !trace_of(o, i).by_several; }
};

/// A window of one rank, with memory of `slots` elements.
class open_window {
    std::vector<std::byte> own_;
    void* allocated_ = nullptr;
    std::vector<MPI_Aint> bases_; // of a dynamic window: addresses
    int unit_;

public:
    MPI_Win win = MPI_WIN_NULL;
    std::byte* base = nullptr;

    open_window(int flavor, int size, bool library_memory, int element) : unit_{element} {
        auto const bytes = MPI_Aint{slots} * element;
        if (flavor == MPI_WIN_FLAVOR_ALLOCATE) MPI_Win_allocate(bytes, unit_, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        else if (flavor == MPI_WIN_FLAVOR_SHARED)
            MPI_Win_allocate_shared(bytes, unit_, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        else {
            own_.resize(at(slots * element));
            if (library_memory) MPI_Alloc_mem(bytes, MPI_INFO_NULL, &allocated_);
            base = library_memory ? static_cast<std::byte*>(allocated_) : own_.data();
        }
        if (flavor == MPI_WIN_FLAVOR_CREATE) MPI_Win_create(base, bytes, unit_, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        if (flavor == MPI_WIN_FLAVOR_DYNAMIC) attach(size, bytes);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    ~open_window() {
        EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
        MPI_Free_mem(allocated_);
    }
    MPI_Aint displacement(int target, int slot) const {
        return bases_.empty() ? slot : bases_[at(target)] + MPI_Aint{slot} * unit_;
    }

private:
    void attach(int size, MPI_Aint bytes) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        EXPECT_EQ(MPI_Win_attach(win, base, bytes), MPI_SUCCESS);
        MPI_Aint mine = 0;
        MPI_Get_address(base, &mine);
        bases_.resize(at(size));
        MPI_Allgather(&mine, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, MPI_COMM_WORLD);
    }
};

/// One operation as its origin calls it: the buffers stay until its epoch is over.
class issued {
    operation const& o_;
    element const& e_;
    std::vector<std::byte> mine_, compare_, result_;
    MPI_Request request_ = MPI_REQUEST_NULL;

    std::byte* start(std::vector<std::byte>& of, layout const& l) const { return of.data() + l.first * e_.size; }
    template <class Bytes> auto* place(Bytes& of, layout const& l, int i) const {
        return of.data() + (l.first + l.places[at(i)]) * e_.size;
    }

public:
    issued(operation const& o, element const& e)
        : o_{o}, e_{e}, mine_(at(slots * e.size)), compare_(at(e.size)), result_(mine_.size()) {
        for (int i = 0; i < o.mine.count(); ++i) e.write(place(mine_, o.mine, i), o.values[at(i)]);
        e.write(compare_.data(), o.compared[0]);
    }
    void call(open_window const& w, bool passive) {
        auto const [type, n] = o_.mine.type(e_);
        auto const [result_type, m] = o_.result.type(e_);
        auto const [target_type, k] = o_.theirs.type(e_);
        auto const disp = w.displacement(o_.target, o_.theirs.first);
        auto* const mine = o_.what == act::get ? start(result_, o_.result) : start(mine_, o_.mine);
        auto const pass = [&](auto small, auto large, auto... more) { return o_.large ? large(more...) : small(more...); };
        int code = MPI_SUCCESS;
        bool const r = o_.by_request && passive;
        auto const op = o_.with ? o_.with->op : MPI_OP_NULL;
        int const t = o_.target;
        switch (o_.what) {
        case act::put:
            code = r ? pass(MPI_Rput, MPI_Rput_c, mine, n, type, t, disp, k, target_type, w.win, &request_)
                     : pass(MPI_Put, MPI_Put_c, mine, n, type, t, disp, k, target_type, w.win);
            break;
        case act::get:
            code = r ? pass(MPI_Rget, MPI_Rget_c, mine, m, result_type, t, disp, k, target_type, w.win, &request_)
                     : pass(MPI_Get, MPI_Get_c, mine, m, result_type, t, disp, k, target_type, w.win);
            break;
        case act::accumulate:
            code = r ? pass(MPI_Raccumulate, MPI_Raccumulate_c, mine, n, type, t, disp, k, target_type, op, w.win, &request_)
                     : pass(MPI_Accumulate, MPI_Accumulate_c, mine, n, type, t, disp, k, target_type, op, w.win);
            break;
        case act::get_accumulate: {
            auto* const into = start(result_, o_.result);
            code = r ? pass(MPI_Rget_accumulate, MPI_Rget_accumulate_c, mine, n, type, into, m, result_type, t, disp, k,
                            target_type, op, w.win, &request_)
                     : pass(MPI_Get_accumulate, MPI_Get_accumulate_c, mine, n, type, into, m, result_type, t, disp, k,
                            target_type, op, w.win);
            break;
        }
        case act::fetch_and_op: code = MPI_Fetch_and_op(mine, start(result_, o_.result), e_.type, t, disp, op, w.win); break;
        case act::compare_and_swap:
            code = MPI_Compare_and_swap(mine, compare_.data(), start(result_, o_.result), e_.type, t, disp, w.win);
            break;
        }
        EXPECT_EQ(code, MPI_SUCCESS) << mpt::c::here().last_error;
        for (auto made : {type, result_type, target_type})
            if (made != e_.type) MPI_Type_free(&made); // while it is used
        EXPECT_EQ(MPI_Wait(&request_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    void expect(program& p) const {
        for (int i = 0; fetches(o_.what) && i < o_.result.count(); ++i)
            if (p.knows(o_, i)) { EXPECT_EQ(e_.read(place(result_, o_.result, i)), o_.fetched[at(i)]) << "element " << i; }
    }
};

/// What a call returned.
void ok(int code) { EXPECT_EQ(code, MPI_SUCCESS) << mpt::c::here().last_error; }

enum class epochs { fence, groups, lock_each, lock_everybody };

/// The operations of a round that are this rank's, in epochs of one sort; after it everybody's memory is as the model has it.
void run_round(std::vector<issued>& all, std::vector<operation const*> const& mine, open_window const& w, epochs how,
               int test) {
    bool const passive = how >= epochs::lock_each;
    MPI_Group everybody = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &everybody);
    if (how == epochs::fence) ok(MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win));
    if (how == epochs::groups) {
        ok(MPI_Win_post(everybody, 0, w.win));
        ok(MPI_Win_start(everybody, 0, w.win));
    }
    if (how == epochs::lock_everybody) ok(MPI_Win_lock_all(0, w.win));
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& o = *mine[i];
        if (how == epochs::lock_each) ok(MPI_Win_lock(o.large ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, o.target, 0, w.win));
        all[i].call(w, passive);
        if (passive && test == 0) ok(MPI_Win_flush(o.target, w.win));
        if (passive && test == 1) ok(MPI_Win_flush_local(o.target, w.win));
        if (how == epochs::lock_everybody && test == 2) ok(o.large ? MPI_Win_flush_all(w.win) : MPI_Win_flush_local_all(w.win));
        if (how == epochs::lock_each) ok(MPI_Win_unlock(o.target, w.win));
    }
    if (how == epochs::fence) ok(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    if (how == epochs::groups) {
        ok(MPI_Win_complete(w.win));
        int over = test == 0;
        if (over) ok(MPI_Win_wait(w.win));
        while (!over) ok(MPI_Win_test(w.win, &over));
    }
    if (how == epochs::lock_everybody) ok(MPI_Win_unlock_all(w.win));
    MPI_Group_free(&everybody);
    MPI_Barrier(MPI_COMM_WORLD);
}

void run_program(std::uint32_t seed, int me, int size, int flavor) {
    random_source choices{seed};
    auto const all = elements();
    program p{seed, size, all[choices() % all.size()]};
    open_window w{flavor, size, choices() % 2 == 0, p.what().size};
    auto const lock_own = [&] { EXPECT_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, w.win), MPI_SUCCESS); };
    lock_own();
    std::fill_n(w.base, slots * p.what().size, std::byte{});
    MPI_Win_unlock(me, w.win);
    for (int round = 0; round < 8; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        auto const how = static_cast<epochs>(p.choice(4));
        int const test = p.choice(4);
        auto const todo = p.round();
        std::vector<operation const*> mine;
        std::vector<issued> calls;
        for (auto const& o : todo)
            if (o.origin == me) mine.push_back(&o), calls.emplace_back(o, p.what());
        run_round(calls, mine, w, how, test);
        for (auto const& c : calls) c.expect(p);
        lock_own();
        EXPECT_EQ(MPI_Win_sync(w.win), MPI_SUCCESS);
        for (int i = 0; i < slots; ++i)
            EXPECT_EQ(p.what().read(w.base + i * p.what().size), p.memory(me)[at(i)])
                << "element " << i << " of rank " << me << " after round " << round << ", epochs " << static_cast<int>(how);
        MPI_Win_unlock(me, w.win);
    }
}

TEST(COneSided, RandomProgramsAgreeWithATableOfNumbers) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    ranks(3, [seed](int me, int size) {
        for (std::uint32_t i = 0; i < 12; ++i)
            for (int flavor : {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC}) {
                run_program(seed + i, me, size, flavor);
                int failed = testing::Test::HasFailure();
                MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
                if (failed) return;
            }
    });
}

// --- atomicity and exclusion ----------------------------------------------------------------------------------------------------

/// Memory of one number on each rank.
struct counter {
    MPI_Win win = MPI_WIN_NULL;
    long* mine = nullptr;
    counter() {
        MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        *mine = 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~counter() { EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS); }
    long of(int rank) const {
        long x = -1;
        EXPECT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Get(&x, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_unlock(rank, win), MPI_SUCCESS);
        return x;
    }
};

TEST(COneSided, EveryTicketIsDrawnOnce) {
    constexpr int each = 300;
    std::vector<long> drawn(3 * each);
    ranks(3, [&](int me, int) {
        counter const c;
        long const one = 1;
        MPI_Win_lock_all(0, c.win);
        for (int i = 0; i < each; ++i)
            EXPECT_EQ(MPI_Fetch_and_op(&one, &drawn[at(me * each + i)], MPI_LONG, 1, 0, MPI_SUM, c.win), MPI_SUCCESS);
        MPI_Win_unlock_all(c.win);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(1), 3 * each);
    });
    std::set<long> const all(drawn.begin(), drawn.end());
    EXPECT_EQ(all.size(), drawn.size());
    EXPECT_EQ(*all.rbegin(), 3 * each - 1);
}

TEST(COneSided, AnExclusiveLockLetsNobodyElseIn) {
    ranks(3, [](int, int) {
        counter const c;
        for (int i = 0; i < 100; ++i) {
            long x = -1;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, c.win);
            MPI_Get(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, c.win);
            MPI_Win_flush(0, c.win);
            ++x;
            MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, c.win);
            MPI_Win_unlock(0, c.win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(0), 300);
    });
}

TEST(COneSided, ASwapGoesToWhoExpectsWhatIsThere) {
    ranks(3, [](int, int) {
        counter const c;
        MPI_Win_lock_all(0, c.win);
        for (int done = 0; done < 50;) {
            long const seen = [&] {
                long x = -1;
                MPI_Fetch_and_op(nullptr, &x, MPI_LONG, 2, 0, MPI_NO_OP, c.win);
                MPI_Win_flush(2, c.win);
                return x;
            }();
            long const next = seen + 1;
            long found = -1;
            MPI_Compare_and_swap(&next, &seen, &found, MPI_LONG, 2, 0, c.win);
            MPI_Win_flush(2, c.win);
            if (found == seen) ++done;
        }
        MPI_Win_unlock_all(c.win);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(2), 150);
    });
}

TEST(COneSided, ATargetThatComputesNeedsNotCallMpi) {
    for (int flavor : {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC}) {
        std::promise<void> over;
        auto const done = over.get_future().share();
        ranks(2, [&](int me, int size) {
            open_window const w{flavor, size, false, sizeof(long)};
            MPI_Barrier(MPI_COMM_WORLD);
            if (me == 1) done.wait(); // outside MPI
            else {
                long x = 5, got = 0;
                for (int i = 0; i < 3; ++i) {
                    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
                    if (i == 0) ok(MPI_Put(&x, 1, MPI_LONG, 1, w.displacement(1, 3), 1, MPI_LONG, w.win));
                    else ok(MPI_Accumulate(&x, 1, MPI_LONG, 1, w.displacement(1, 3), 1, MPI_LONG, MPI_SUM, w.win));
                    MPI_Win_unlock(1, w.win);
                }
                MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w.win);
                MPI_Get(&got, 1, MPI_LONG, 1, w.displacement(1, 3), 1, MPI_LONG, w.win);
                MPI_Win_unlock(1, w.win);
                EXPECT_EQ(got, 15);
                over.set_value();
            }
        });
    }
}

// --- threads --------------------------------------------------------------------------------------------------------------------

/// What threads of all ranks do to one window at once: to places of their own, which nobody else touches, and to counters of all.
class crowd {
    static constexpr int tickets = 0, sum = 1, swapped = 2, fetched_sum = 3, row = 4, row_length = 8, places = row + row_length;
    int size_, threads_;

public:
    MPI_Win win = MPI_WIN_NULL;
    std::vector<long> mine;

    crowd(int flavor, int size, int threads) : size_{size}, threads_{threads} {
        auto const n = places + size * threads;
        auto const bytes = MPI_Aint{n} * MPI_Aint{sizeof(long)};
        mine.resize(at(n));
        if (flavor == MPI_WIN_FLAVOR_CREATE)
            MPI_Win_create(mine.data(), bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else {
            MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &win);
            std::fill_n(base_, n, 0L);
        }
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~crowd() { EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS); }

    /// What one thread has done to the ranks' counters, and the tickets that it drew.
    struct tally {
        std::vector<long> sums, fetched_sums, swaps, rows;
        std::vector<std::pair<int, long>> tickets;
        explicit tally(int size) : sums(at(size)), fetched_sums(sums), swaps(sums), rows(sums) {}
    };

    void act(random_source& random, int me, int thread, std::vector<long>& own, tally& t) {
        int const to = below(random, size_);
        long const x = 1 + below(random, 100), one = 1;
        MPI_Aint const place = places + me * threads_ + thread;
        long got = -1;
        MPI_Request r = MPI_REQUEST_NULL;
        switch (below(random, 8)) {
        case 0:
            ok(MPI_Put(&x, 1, MPI_LONG, to, place, 1, MPI_LONG, win)), ok(MPI_Win_flush(to, win));
            own[at(to)] = x;
            break;
        case 1:
            ok(MPI_Rput(&x, 1, MPI_LONG, to, place, 1, MPI_LONG, win, &r)), ok(MPI_Wait(&r, MPI_STATUS_IGNORE));
            ok(MPI_Win_flush_all(win));
            own[at(to)] = x;
            break;
        case 2:
            ok(MPI_Rget(&got, 1, MPI_LONG, to, place, 1, MPI_LONG, win, &r)), ok(MPI_Wait(&r, MPI_STATUS_IGNORE));
            EXPECT_EQ(got, own[at(to)]);
            break;
        case 3:
            ok(MPI_Fetch_and_op(&one, &got, MPI_LONG, to, tickets, MPI_SUM, win)), ok(MPI_Win_flush_local(to, win));
            t.tickets.emplace_back(to, got);
            break;
        case 4: ok(MPI_Accumulate(&x, 1, MPI_LONG, to, sum, 1, MPI_LONG, MPI_SUM, win)), t.sums[at(to)] += x; break;
        case 5:
            ok(MPI_Rget_accumulate(&x, 1, MPI_LONG, &got, 1, MPI_LONG, to, fetched_sum, 1, MPI_LONG, MPI_SUM, win, &r));
            ok(MPI_Wait(&r, MPI_STATUS_IGNORE));
            EXPECT_GE(got, t.fetched_sums[at(to)]) << "at least what we have added ourselves";
            t.fetched_sums[at(to)] += x;
            break;
        case 6: swap(to), ++t.swaps[at(to)]; break;
        case 7: add_row(to, x, r), t.rows[at(to)] += x; break;
        }
    }
    void add_row(int to, long x, MPI_Request r = MPI_REQUEST_NULL) {
        std::vector<long> const all(row_length, x);
        ok(MPI_Raccumulate(all.data(), row_length, MPI_LONG, to, row, row_length, MPI_LONG, MPI_SUM, win, &r));
        ok(MPI_Wait(&r, MPI_STATUS_IGNORE)), ok(MPI_Win_flush_local_all(win));
    }
    /// Adds one, by a swap.
    void swap(int to) {
        long seen = 0, found = -1;
        for (;; seen = found) {
            long const next = seen + 1;
            ok(MPI_Compare_and_swap(&next, &seen, &found, MPI_LONG, to, swapped, win)), ok(MPI_Win_flush(to, win));
            if (found == seen) return;
        }
    }
    /// Adds one to each of a row, alone with it, by reading and writing.
    void rewrite_row(int to) {
        long all[row_length];
        ok(MPI_Get(all, row_length, MPI_LONG, to, row, row_length, MPI_LONG, win)), ok(MPI_Win_flush(to, win));
        for (auto& x : all) ++x;
        ok(MPI_Put(all, row_length, MPI_LONG, to, row, row_length, MPI_LONG, win)), ok(MPI_Win_flush(to, win));
    }

    /// The counters are what all threads together have made of them, and no ticket was drawn twice.
    void expect(int me, std::vector<tally> const& mine_did) {
        std::vector<long> did(at(4 * size_)), all(did.size());
        std::vector<int> drawn(at(size_ * most_tickets));
        for (auto const& t : mine_did) {
            for (int r = 0; r < size_; ++r) {
                long const four[] = {t.sums[at(r)], t.swaps[at(r)], t.fetched_sums[at(r)], t.rows[at(r)]};
                for (int i = 0; i < 4; ++i) did[at(4 * r + i)] += four[i];
            }
            for (auto [to, ticket] : t.tickets) ++drawn.at(at(to * most_tickets) + static_cast<std::size_t>(ticket));
        }
        MPI_Allreduce(did.data(), all.data(), 4 * size_, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, drawn.data(), size_ * most_tickets, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        std::vector<long> is(at(places));
        MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
        MPI_Get(is.data(), places, MPI_LONG, me, 0, places, MPI_LONG, win);
        MPI_Win_unlock(me, win);
        for (int i = 0; i < most_tickets; ++i) EXPECT_EQ(drawn[at(me * most_tickets + i)], i < is[tickets] ? 1 : 0) << i;
        for (int i = 0; i < 3; ++i) EXPECT_EQ(is[at(sum + i)], all[at(4 * me + i)]) << "counter " << i;
        for (int i = 0; i < row_length; ++i) EXPECT_EQ(is[at(row + i)], all[at(4 * me + 3)]) << "row, element " << i;
    }

private:
    static constexpr int most_tickets = 4000;
    long* base_ = nullptr;
};

TEST(COneSided, ThreadsOfAllRanksShareAWindow) {
    constexpr int threads = 3, turns = 150;
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int const flavor : {MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_CREATE})
        ranks(3, [&](int me, int size) {
            crowd c{flavor, size, threads};
            std::vector<crowd::tally> did(at(threads), crowd::tally{size});
            auto const everybody = [&](auto const& f) {
                std::vector<std::thread> all;
                for (int t = 0; t < threads; ++t) all.push_back(mpt::c::test::thread_of_rank([&, t] { f(t); }));
                for (auto& t : all) t.join();
            };
            MPI_Win_lock_all(0, c.win);
            everybody([&](int t) {
                random_source random{seed + static_cast<unsigned>(me * threads + t)};
                std::vector<long> own(at(size));
                for (int i = 0; i < turns; ++i) c.act(random, me, t, own, did[at(t)]);
            });
            MPI_Win_unlock_all(c.win);
            MPI_Barrier(MPI_COMM_WORLD);
            c.expect(me, did);
            MPI_Barrier(MPI_COMM_WORLD);
            // Each thread locks a target of its own; who has it alone reads and writes what others update.
            everybody([&](int t) {
                int const to = (me + t) % size;
                for (int i = 0; i < turns / 3; ++i) {
                    bool const alone = i % 2 == 0;
                    ok(MPI_Win_lock(alone ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, to, 0, c.win));
                    if (alone) c.rewrite_row(to), ++did[at(t)].rows[at(to)];
                    c.add_row(to, 2), did[at(t)].rows[at(to)] += 2;
                    c.swap(to), ++did[at(t)].swaps[at(to)];
                    ok(MPI_Win_unlock(to, c.win));
                }
            });
            MPI_Barrier(MPI_COMM_WORLD);
            c.expect(me, did);
            MPI_Barrier(MPI_COMM_WORLD);
        });
}

// --- requests -------------------------------------------------------------------------------------------------------------------

TEST(COneSided, OneThreadExposesWhileAnotherAccesses) {
    ranks(2, [](int me, int) {
        constexpr int rounds = 100;
        counter const c;
        MPI_Group all = MPI_GROUP_NULL, other = MPI_GROUP_NULL;
        int const it = 1 - me;
        MPI_Win_get_group(c.win, &all);
        MPI_Group_incl(all, 1, &it, &other);
        auto exposing = mpt::c::test::thread_of_rank([&] {
            for (int i = 0; i < rounds; ++i) {
                EXPECT_EQ(MPI_Win_post(other, 0, c.win), MPI_SUCCESS);
                int over = i % 2;
                if (over) MPI_Win_wait(c.win);
                while (!over) MPI_Win_test(c.win, &over);
                EXPECT_EQ(*c.mine, i + 1);
            }
        });
        for (long i = 1; i <= rounds; ++i) {
            EXPECT_EQ(MPI_Win_start(other, 0, c.win), MPI_SUCCESS);
            EXPECT_EQ(MPI_Put(&i, 1, MPI_LONG, it, 0, 1, MPI_LONG, c.win), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_complete(c.win), MPI_SUCCESS);
        }
        exposing.join();
        MPI_Group_free(&all);
        MPI_Group_free(&other);
    });
}

TEST(COneSided, RequestsAreWaitedForInEveryWay) {
    ranks(2, [](int me, int) {
        counter const c;
        long const x = 3;
        long got[4] = {-1, -1, -1, -1};
        MPI_Request r[4];
        for (auto& one : r) one = MPI_REQUEST_NULL;
        MPI_Status all[4];
        MPI_Win_lock_all(0, c.win);
        MPI_Raccumulate(&x, 1, MPI_LONG, me, 0, 1, MPI_LONG, MPI_SUM, c.win, &r[0]);
        EXPECT_NE(r[0], MPI_REQUEST_NULL);
        EXPECT_EQ(MPI_Wait(&r[0], &all[0]), MPI_SUCCESS);
        EXPECT_EQ(r[0], MPI_REQUEST_NULL);
        MPI_Win_flush(me, c.win);
        for (int i = 0; i < 4; ++i) MPI_Rget(&got[i], 1, MPI_LONG, me, 0, 1, MPI_LONG, c.win, &r[i]);
        int flag = 0, index = -1;
        EXPECT_EQ(MPI_Request_get_status(r[3], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_TRUE(flag);
        EXPECT_EQ(MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(got[index], 3);
        EXPECT_EQ(MPI_Request_free(&r[index == 1 ? 2 : 1]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Waitall(4, r, all), MPI_SUCCESS);
        for (auto one : r) EXPECT_EQ(one, MPI_REQUEST_NULL);
        MPI_Win_unlock_all(c.win);
        for (long g : got) EXPECT_EQ(g, 3);
    });
}

/// Which the standard leaves out; MPICH and Open MPI take them, and programs use that.
TEST(COneSided, LettersAreComparedAndSwapped) {
    ranks(2, [](int me, int) {
        counter const c;
        MPI_Win_lock_all(0, c.win);
        std::string found;
        if (char before = 0; me == 0)
            for (char const next : {'a', 'b', 'c'}) {
                char was = '?';
                EXPECT_EQ(MPI_Compare_and_swap(&next, &before, &was, MPI_CHAR, 1, 0, c.win), MPI_SUCCESS);
                MPI_Win_flush(1, c.win);
                found += was;
                before = 'a'; // so that the last one fails
            }
        MPI_Win_unlock_all(c.win);
        EXPECT_EQ(found, me == 0 ? std::string("\0ab", 3) : std::string{});
    });
}

// --- what does nothing, and what is refused -------------------------------------------------------------------------------------

TEST(COneSided, NobodyIsATargetOfNothing) {
    ranks(2, [](int me, int) {
        counter const c;
        long x = 7, y = 8;
        MPI_Request r[4];
        MPI_Win_lock_all(0, c.win);
        int const to = MPI_PROC_NULL;
        EXPECT_EQ(MPI_Put(&x, 1, MPI_LONG, to, 0, 1, MPI_LONG, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Get(&y, 1, MPI_LONG, to, 0, 1, MPI_LONG, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Accumulate(&x, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Get_accumulate(&x, 1, MPI_LONG, &y, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Fetch_and_op(&x, &y, MPI_LONG, to, 0, MPI_SUM, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Compare_and_swap(&x, &x, &y, MPI_LONG, to, 0, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Rput(&x, 1, MPI_LONG, to, 0, 1, MPI_LONG, c.win, &r[0]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Rget(&y, 1, MPI_LONG, to, 0, 1, MPI_LONG, c.win, &r[1]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Raccumulate(&x, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, c.win, &r[2]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Rget_accumulate(&x, 1, MPI_LONG, &y, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, c.win, &r[3]),
                  MPI_SUCCESS);
        EXPECT_EQ(MPI_Waitall(4, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (auto* const flush : {MPI_Win_flush, MPI_Win_flush_local}) EXPECT_EQ(flush(to, c.win), MPI_SUCCESS);
        MPI_Win_unlock_all(c.win);
        EXPECT_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, c.win), MPI_SUCCESS);
        for (auto* const flush : {MPI_Win_flush_all, MPI_Win_flush_local_all}) EXPECT_EQ(flush(c.win), MPI_SUCCESS);
        auto w = c.win;
        for (int const code : {MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w), MPI_Win_lock_all(0, w), MPI_Win_free(&w)})
            expect_failure(code, MPI_ERR_RMA_SYNC, {"MPI_Win_"});
        EXPECT_EQ(MPI_Win_unlock(to, c.win), MPI_SUCCESS);
        expect_failure(MPI_Win_unlock(to, c.win), MPI_ERR_RMA_SYNC, {"MPI_Win_unlock", "is not locked"});
        EXPECT_EQ(y, 8);
        EXPECT_EQ(c.of(me), 0);
    });
}

/// More messages than wires hold have to leave before the other says that it has them, and this rank does nothing but look for that.
TEST(COneSided, WhoPollsAWindowMovesMessages) {
    ranks(2, [](int me, int) {
        enum class by { flush, flush_all, unlock, sync };
        for (auto const way : {by::flush, by::flush_all, by::unlock, by::sync}) {
            counter const c;
            std::vector<MPI_Request> sent(20'000, MPI_REQUEST_NULL);
            char const byte = 1;
            long one = 1, seen = 0;
            if (way != by::unlock) MPI_Win_lock_all(0, c.win);
            if (me == 0) {
                for (auto& r : sent) MPI_Isend(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &r);
                while (seen == 0) {
                    if (way == by::unlock) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, c.win);
                    MPI_Fetch_and_op(nullptr, &seen, MPI_LONG, 0, 0, MPI_NO_OP, c.win);
                    switch (way) {
                    case by::flush: MPI_Win_flush(0, c.win); break;
                    case by::flush_all: MPI_Win_flush_all(c.win); break;
                    case by::unlock: MPI_Win_unlock(0, c.win); break;
                    case by::sync: MPI_Win_sync(c.win); break;
                    }
                }
                MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
            } else {
                char got = 0;
                for (auto const& r [[maybe_unused]] : sent)
                    MPI_Recv(&got, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (way == by::unlock) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, c.win);
                MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_REPLACE, c.win);
                if (way == by::unlock) MPI_Win_unlock(0, c.win);
            }
            if (way != by::unlock) MPI_Win_unlock_all(c.win);
        }
    });
}

TEST(COneSided, WhatOnlyFetchesReadsNoOrigin) {
    ranks(1, [](int, int) {
        counter const c;
        *c.mine = 42;
        long x = 0;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, c.win);
        EXPECT_EQ(MPI_Get_accumulate(nullptr, -9, MPI_DATATYPE_NULL, &x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP, c.win), 0);
        EXPECT_EQ(x, 42);
        x = 0;
        EXPECT_EQ(MPI_Fetch_and_op(nullptr, &x, MPI_LONG, 0, 0, MPI_NO_OP, c.win), MPI_SUCCESS);
        EXPECT_EQ(x, 42);
        MPI_Win_unlock(0, c.win);
        EXPECT_EQ(*c.mine, 42);
    });
}

/// Elements of a row are of any sort that the operation is defined on, and go by the short way or the long one.
TEST(COneSided, RowsOfAPredefinedTypeAreCombinedInEveryEpoch) {
    struct pair {
        int value, place;
    };
    for (char const* const granularity : {"0", "65536"})
        ranks(2, [granularity](int me, int) {
            MPI_Info hints = MPI_INFO_NULL;
            MPI_Info_create(&hints);
            MPI_Info_set(hints, "mpi_accumulate_granularity", granularity);
            MPI_Win w = MPI_WIN_NULL;
            double* mine = nullptr;
            MPI_Win_allocate(64 * sizeof(double), sizeof(double), hints, MPI_COMM_WORLD, &mine, &w);
            MPI_Info_free(&hints);
            std::fill_n(mine, 64, 1.0);
            MPI_Barrier(MPI_COMM_WORLD);
            std::array<double, 8> with{}, was{};
            std::iota(with.begin(), with.end(), 0.5);
            std::array<pair, 2> const pairs{{{3, 1}, {4, 2}}};
            std::array<pair, 2> found{{{0, 0}, {0, 0}}};
            for (int const kind : {MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED}) {
                int const row = kind == MPI_LOCK_SHARED ? 32 : 0, other = 1 - me;
                auto const add = [&](double* result) {
                    return result ? MPI_Get_accumulate(with.data(), 8, MPI_DOUBLE, result, 8, MPI_DOUBLE, other, row, 8,
                                                       MPI_DOUBLE, MPI_SUM, w)
                                  : MPI_Accumulate(with.data(), 8, MPI_DOUBLE, other, row, 8, MPI_DOUBLE, MPI_SUM, w);
                };
                auto const read = [&](void* result, int n, MPI_Datatype type, int place) {
                    return MPI_Get_accumulate(nullptr, 0, MPI_DATATYPE_NULL, result, n, type, other, place, n, type, MPI_NO_OP,
                                              w);
                };
                MPI_Win_lock(kind, other, 0, w);
                ok(add(nullptr));
                ok(add(was.data()));
                for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(was[i], 1 + with[i]);
                ok(read(was.data(), 8, MPI_DOUBLE, row));
                for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(was[i], 1 + 2 * with[i]);
                ok(MPI_Accumulate(with.data(), 4, MPI_C_DOUBLE_COMPLEX, other, row + 8, 4, MPI_C_DOUBLE_COMPLEX, MPI_PROD, w));
                ok(read(was.data(), 1, MPI_C_DOUBLE_COMPLEX, row + 8));
                EXPECT_EQ(was[0], -1.0) << "(1 + i) * (0.5 + 1.5 i)";
                EXPECT_EQ(was[1], 2.0);
                ok(MPI_Accumulate(pairs.data(), 2, MPI_2INT, other, row + 16, 2, MPI_2INT, MPI_REPLACE, w));
                ok(read(found.data(), 2, MPI_2INT, row + 16));
                EXPECT_EQ(found[0].value * 10 + found[0].place, 31);
                EXPECT_EQ(found[1].value * 10 + found[1].place, 42);
                MPI_Win_unlock(other, w);
            }
            MPI_Win_free(&w);
        });
}

TEST(COneSided, WrongArgumentsAreTheWindowsErrors) {
    ranks(2, [](int, int) {
        counter const c;
        auto const w = c.win;
        long x = 1, y = 2;
        MPI_Datatype raw = MPI_DATATYPE_NULL;
        MPI_Op mine = MPI_OP_NULL;
        MPI_Type_contiguous(2, MPI_LONG, &raw);
        MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &mine);
        MPI_Win_lock_all(0, w);
        auto const put = [&](void* at, int n, MPI_Datatype t, int target, MPI_Aint disp, int m, MPI_Datatype u) {
            return MPI_Put(at, n, t, target, disp, m, u, w);
        };
        expect_failure(put(&x, 1, MPI_LONG, 2, 0, 1, MPI_LONG), MPI_ERR_RANK,
                       {"MPI_Put", "target_rank is 2", "0 to 1, MPI_PROC_NULL"});
        expect_failure(put(&x, -1, MPI_LONG, 0, 0, 1, MPI_LONG), MPI_ERR_COUNT, {"origin_count is -1"});
        expect_failure(put(&x, 1, MPI_LONG, 0, 0, -4, MPI_LONG), MPI_ERR_COUNT, {"target_count is -4"});
        expect_failure(put(&x, 1, MPI_LONG, 0, -8, 1, MPI_LONG), MPI_ERR_DISP, {"target_disp is -8"});
        expect_failure(put(nullptr, 1, MPI_LONG, 0, 0, 1, MPI_LONG), MPI_ERR_BUFFER, {"origin_addr is a null pointer"});
        expect_failure(put(&x, 1, raw, 0, 0, 1, MPI_LONG), MPI_ERR_TYPE, {"origin_datatype", "not committed"});
        expect_failure(put(&x, 1, MPI_LONG, 0, 0, 1, raw), MPI_ERR_TYPE, {"target_datatype", "not committed"});
        expect_failure(put(&x, 1, MPI_DATATYPE_NULL, 0, 0, 1, raw), MPI_ERR_TYPE, {"origin_datatype is MPI_DATATYPE_NULL"});
        expect_failure(put(&x, 1, MPI_LONG, 0, 1, 1, MPI_LONG), MPI_ERR_RMA_RANGE, {"MPI_Put"}); // there is one element
        expect_failure(put(&x, 2, MPI_LONG, 0, 0, 2, MPI_LONG), MPI_ERR_RMA_RANGE, {"MPI_Put"});
        expect_failure(MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_WIN_NULL), MPI_ERR_WIN, {"win is MPI_WIN_NULL"});
        expect_failure(MPI_Win_sync(MPI_WIN_NULL), MPI_ERR_WIN, {"MPI_Win_sync", "win is MPI_WIN_NULL"});
        expect_failure(MPI_Accumulate(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, mine, w), MPI_ERR_OP, {"op is the user's operation"});
        expect_failure(MPI_Accumulate(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP, w), MPI_ERR_OP, {"op is MPI_NO_OP"});
        expect_failure(MPI_Accumulate(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_OP_NULL, w), MPI_ERR_OP, {"op is MPI_OP_NULL"});
        expect_failure(MPI_Accumulate(&x, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, w), MPI_ERR_OP, {"MPI_Accumulate"});
        expect_failure(MPI_Fetch_and_op(&x, nullptr, MPI_LONG, 0, 0, MPI_SUM, w), MPI_ERR_BUFFER, {"result_addr is a null"});
        expect_failure(MPI_Fetch_and_op(nullptr, &y, MPI_LONG, 0, 0, MPI_SUM, w), MPI_ERR_BUFFER, {"origin_addr is a null"});
        expect_failure(MPI_Compare_and_swap(&x, nullptr, &y, MPI_LONG, 0, 0, w), MPI_ERR_BUFFER, {"compare_addr is a null"});
        expect_failure(MPI_Accumulate(&x, 2, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, w), MPI_ERR_ARG, {"MPI_Accumulate"});
        expect_failure(MPI_Accumulate(&x, 2, MPI_LONG, 0, 0, 2, MPI_LONG, MPI_SUM, w), MPI_ERR_RMA_RANGE, {"MPI_Accumulate"});
        auto const fetch = [&](void* at, int n, void* into, int m, int k, MPI_Op op) {
            return MPI_Get_accumulate(at, n, MPI_LONG, into, m, MPI_LONG, 0, 0, k, MPI_LONG, op, w);
        };
        expect_failure(fetch(nullptr, 1, &y, 1, 1, MPI_SUM), MPI_ERR_BUFFER, {"origin_addr is a null"});
        expect_failure(fetch(&x, 1, nullptr, 1, 1, MPI_NO_OP), MPI_ERR_BUFFER, {"result_addr is a null"});
        expect_failure(fetch(&x, 1, &y, 1, -1, MPI_SUM), MPI_ERR_COUNT, {"target_count is -1"});
        expect_failure(fetch(&x, 1, &y, 1, 1, MPI_OP_NULL), MPI_ERR_OP, {"op is MPI_OP_NULL"});
        for (auto* const at : {static_cast<void*>(&x), MPI_IN_PLACE}) {
            void* const other = at == &x ? MPI_IN_PLACE : &x;
            expect_failure(fetch(at, 1, other, 1, 1, MPI_SUM), MPI_ERR_BUFFER, {"is MPI_IN_PLACE"});
            expect_failure(MPI_Fetch_and_op(at, other, MPI_LONG, 0, 0, MPI_SUM, w), MPI_ERR_BUFFER, {"is MPI_IN_PLACE"});
            expect_failure(MPI_Compare_and_swap(at, other, &y, MPI_LONG, 0, 0, w), MPI_ERR_BUFFER, {"is MPI_IN_PLACE"});
        }
        MPI_Datatype single = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(1, MPI_LONG, &single);
        expect_failure(MPI_Accumulate(&x, 1, single, 0, 0, 1, single, MPI_SUM, w), MPI_ERR_TYPE, {"not committed"});
        MPI_Type_free(&single);
        expect_failure(MPI_Accumulate(MPI_IN_PLACE, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, w), MPI_ERR_BUFFER,
                       {"origin_addr is MPI_IN_PLACE"});
        MPI_Win_unlock_all(w);
        EXPECT_EQ(c.of(0), 0);
        EXPECT_EQ(c.of(1), 0);
        MPI_Type_free(&raw);
        MPI_Op_free(&mine);
    });
}

TEST(COneSided, BothSidesHaveAsManyBytesAlsoWhereOneHasNone) {
    ranks(2, [](int me, int) {
        counter const c;
        long x = 1, y = 2;
        int const to = 1 - me;
        MPI_Win_lock_all(0, c.win);
        auto const refused = [](int code, char const* here, char const* there) {
            expect_failure(code, MPI_ERR_ARG, {here, there, "both sides are to have as many"});
        };
        for (int const target : {me, to}) {
            refused(MPI_Put(&x, 1, MPI_LONG, target, 0, 0, MPI_LONG, c.win), "8 bytes here", "0 bytes at the target");
            refused(MPI_Get(&x, 1, MPI_LONG, target, 0, 0, MPI_LONG, c.win), "8 bytes here", "0 bytes at the target");
            refused(MPI_Accumulate(&x, 1, MPI_LONG, target, 0, 0, MPI_LONG, MPI_SUM, c.win), "8 bytes here",
                    "0 bytes at the target");
            refused(MPI_Accumulate(&x, 0, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, c.win), "0 bytes here",
                    "8 bytes at the target");
            auto const fetch = [&](int n, int m, int k, MPI_Op op) {
                return MPI_Get_accumulate(&x, n, MPI_LONG, &y, m, MPI_LONG, target, 0, k, MPI_LONG, op, c.win);
            };
            refused(fetch(1, 0, 0, MPI_SUM), "8 bytes here", "0 bytes at the target");
            refused(fetch(0, 1, 0, MPI_SUM), "8 bytes here", "0 bytes at the target");
            refused(fetch(9, 1, 0, MPI_NO_OP), "8 bytes here", "0 bytes at the target");
            refused(fetch(1, 0, 1, MPI_SUM), "0 bytes here", "8 bytes at the target");
            EXPECT_EQ(fetch(0, 0, 0, MPI_SUM), MPI_SUCCESS);
            EXPECT_EQ(fetch(9, 0, 0, MPI_NO_OP), MPI_SUCCESS);
        }
        MPI_Win_unlock_all(c.win);
        EXPECT_EQ(y, 2);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(me), 0);
    });
}

/// Their bytes, or the way from the first to the last, are more than 64 bits count: products wrap round to nothing, or to less.
TEST(COneSided, CountsThatNoMemoryHasAreOutsideTheWindow) {
    ranks(2, [](int me, int) {
        counter const c;
        long x = 1, y = 2;
        MPI_Datatype apart = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(MPI_LONG, 0, MPI_Aint{1} << 40, &apart);
        MPI_Type_commit(&apart);
        MPI_Win_lock_all(0, c.win);
        for (MPI_Count const n : {MPI_Count{1} << 60, MPI_Count{1} << 61, (MPI_Count{1} << 61) + 1, MPI_Count{1} << 62})
            for (int const target : {me, 1 - me}) {
                auto const said = std::to_string(n) + " elements of 8 bytes at displacement 0 are not within rank " +
                                  std::to_string(target) + "'s part of the window, which has 8 bytes";
                auto const refused = [&](int code) { expect_failure(code, MPI_ERR_RMA_RANGE, {said.c_str()}); };
                refused(MPI_Put_c(&x, 1, MPI_LONG, target, 0, n, MPI_LONG, c.win));
                refused(MPI_Get_c(&x, 1, MPI_LONG, target, 0, n, MPI_LONG, c.win));
                for (auto const mine : {MPI_Count{1}, n}) {
                    refused(MPI_Accumulate_c(&x, mine, MPI_LONG, target, 0, n, MPI_LONG, MPI_SUM, c.win));
                    refused(
                        MPI_Get_accumulate_c(&x, mine, MPI_LONG, &y, mine, MPI_LONG, target, 0, n, MPI_LONG, MPI_SUM, c.win));
                }
                for (auto const there : {MPI_Count{1}, n}) {
                    expect_failure(MPI_Put_c(&x, n, MPI_LONG, target, 0, there, MPI_LONG, c.win), MPI_ERR_ARG, {"too large"});
                    expect_failure(MPI_Get_c(&x, n, MPI_LONG, target, 0, there, MPI_LONG, c.win), MPI_ERR_ARG, {"too large"});
                }
                expect_failure(MPI_Accumulate_c(&x, n, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, c.win), MPI_ERR_ARG,
                               {"too large"});
            }
        expect_failure(MPI_Put_c(&x, 1, MPI_LONG, me, 0, (MPI_Count{1} << 24) + 1, apart, c.win), MPI_ERR_RMA_RANGE,
                       {"16777217 elements of 8 bytes"});
        MPI_Win_unlock_all(c.win);
        MPI_Type_free(&apart);
        EXPECT_EQ(x * 10 + y, 12);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(me), 0);
    });
}

TEST(COneSided, WhatStandsOutsideItsEpochIsRefused) {
    ranks(2, [](int me, int) {
        counter const c;
        auto w = c.win;
        long x = 1;
        MPI_Group g = MPI_GROUP_NULL;
        MPI_Win_get_group(w, &g);
        auto const refused = [](int code) { expect_failure(code, MPI_ERR_RMA_SYNC, {"MPI_"}); };
        refused(MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w));
        refused(MPI_Win_unlock(0, w));
        refused(MPI_Win_unlock_all(w));
        refused(MPI_Win_complete(w));
        refused(MPI_Win_wait(w));
        refused(MPI_Win_flush(0, w));
        refused(MPI_Win_flush_all(w));
        refused(MPI_Win_flush_local(0, w));
        refused(MPI_Win_flush_local_all(w));
        MPI_Win_fence(0, w); // opens no epoch for requests and flushes
        MPI_Request r = MPI_REQUEST_NULL;
        long y = 0;
        refused(MPI_Rput(&x, 1, MPI_LONG, me, 0, 1, MPI_LONG, w, &r));
        refused(MPI_Rget(&y, 1, MPI_LONG, me, 0, 1, MPI_LONG, w, &r));
        refused(MPI_Raccumulate(&x, 1, MPI_LONG, me, 0, 1, MPI_LONG, MPI_SUM, w, &r));
        expect_failure(MPI_Rget_accumulate(&x, 1, MPI_LONG, &y, 1, MPI_LONG, me, 0, 1, MPI_LONG, MPI_SUM, w, &r),
                       MPI_ERR_RMA_SYNC, {"MPI_Rget_accumulate", "is not locked; operations with a request"});
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        refused(MPI_Win_flush(me, w));
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
        MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w);
        refused(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w));
        refused(MPI_Win_lock_all(0, w));
        refused(MPI_Win_start(g, 0, w));
        refused(MPI_Put(&x, 1, MPI_LONG, 1 - me, 0, 1, MPI_LONG, w)); // that one is not locked
        refused(MPI_Win_free(&w));
        EXPECT_EQ(MPI_Put(&x, 1, MPI_LONG, me, 0, 1, MPI_LONG, w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_unlock(me, w), MPI_SUCCESS);
        EXPECT_EQ(c.of(me), 1);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Group_free(&g);
    });
}

TEST(COneSided, EachSynchronisationTakesItsOwnPromises) {
    ranks(1, [](int, int) {
        counter const c;
        MPI_Group g = MPI_GROUP_NULL;
        MPI_Win_get_group(c.win, &g);
        auto const refused = [](int code, char const* name, char const* allowed) {
            expect_failure(code, MPI_ERR_ASSERT, {name, "assert is", allowed});
        };
        refused(MPI_Win_fence(MPI_MODE_NOCHECK, c.win), "MPI_Win_fence",
                "0, MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED");
        refused(MPI_Win_post(g, MPI_MODE_NOPRECEDE, c.win), "MPI_Win_post",
                "0, MPI_MODE_NOCHECK, MPI_MODE_NOSTORE, MPI_MODE_NOPUT");
        refused(MPI_Win_start(g, MPI_MODE_NOPUT, c.win), "MPI_Win_start", "allowed: 0, MPI_MODE_NOCHECK");
        refused(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOSTORE, c.win), "MPI_Win_lock", "allowed: 0, MPI_MODE_NOCHECK");
        refused(MPI_Win_lock_all(MPI_MODE_NOSUCCEED | MPI_MODE_NOCHECK, c.win), "MPI_Win_lock_all",
                "allowed: 0, MPI_MODE_NOCHECK");
        EXPECT_EQ(MPI_Win_post(g, MPI_MODE_NOSTORE | MPI_MODE_NOPUT, c.win), MPI_SUCCESS); // nothing was begun
        EXPECT_EQ(MPI_Win_start(g, 0, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_complete(c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_wait(c.win), MPI_SUCCESS);
        MPI_Group_free(&g);
    });
}

TEST(COneSided, GroupsAreOfTheWindow) {
    ranks(2, [](int me, int) {
        MPI_Win w = MPI_WIN_NULL;
        MPI_Group world = MPI_GROUP_NULL;
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &w);
        MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        auto const who = "rank " + std::to_string(1 - me) + " of group is not in the group of win, which has 1 processes";
        expect_failure(MPI_Win_start(world, 0, w), MPI_ERR_GROUP, {who.c_str()});
        expect_failure(MPI_Win_post(world, 0, w), MPI_ERR_GROUP, {who.c_str()});
        EXPECT_EQ(MPI_Win_post(MPI_GROUP_EMPTY, 0, w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_start(MPI_GROUP_EMPTY, 0, w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_complete(w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_wait(w), MPI_SUCCESS);
        MPI_Group_free(&world);
        EXPECT_EQ(MPI_Win_free(&w), MPI_SUCCESS);
    });
}

TEST(COneSided, AWindowNeedsNoWorld) {
    processes(2, [](int me, int) {
        MPI_Session s = MPI_SESSION_NULL;
        MPI_Group g = MPI_GROUP_NULL;
        MPI_Comm c = MPI_COMM_NULL;
        MPI_Win w = MPI_WIN_NULL;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
        MPI_Group_from_session_pset(s, "mpi://WORLD", &g);
        MPI_Comm_create_from_group(g, "window", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c);
        long *mine = nullptr, x = 10 + me;
        EXPECT_EQ(MPI_Win_allocate(sizeof(long), 1, MPI_INFO_NULL, c, &mine, &w), MPI_SUCCESS);
        MPI_Win_fence(0, w);
        EXPECT_EQ(MPI_Put(&x, 1, MPI_LONG, 1 - me, 0, 1, MPI_LONG, w), MPI_SUCCESS);
        MPI_Win_fence(0, w);
        EXPECT_EQ(*mine, 11 - me);
        EXPECT_EQ(MPI_Win_free(&w), MPI_SUCCESS);
        MPI_Comm_free(&c);
        MPI_Group_free(&g);
        EXPECT_EQ(MPI_Session_finalize(&s), MPI_SUCCESS);
    });
}

} // namespace
