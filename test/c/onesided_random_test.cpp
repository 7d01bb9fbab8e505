// Chapter 12 of the C interface: random programs of one-sided calls, beside a table of numbers.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <set>

#include "some_windows.hpp"

namespace {

using mpt::c::test::at;
using mpt::c::test::below;
using mpt::c::test::ok;
using mpt::c::test::open_window;
using mpt::c::test::random_source;
using mpt::c::test::ranks;
using mpt::c::test::slots;

// --- random programs ------------------------------------------------------------------------------------------------------------
// All ranks draw the same program from one seed: rounds of operations between two synchronisations. No two of a round conflict,
// so the model, a table of numbers for each rank, knows every result. Ranks compare their memory and what they fetched with it.

using number = std::int64_t;

enum class sort { integer, real, pair };

/// A predefined datatype: every number that the programs use fits into it, or wraps.
struct element {
    MPI_Datatype type;
    int size; // from one to the next
    sort of;
    void (*write)(std::byte*, number);
    number (*read)(std::byte const*);

    number wrapped(number n) const {
        std::byte room[16]{};
        write(room, n);
        return read(room);
    }
};
template <class T> element element_of(MPI_Datatype type) {
    return {type, sizeof(T), std::is_floating_point_v<T> ? sort::real : sort::integer,
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
/// A value and an index: eights and ones.
template <class Value> element pair_of(MPI_Datatype type) {
    struct pair {
        Value value;
        int index;
    };
    return {type, sizeof(pair), sort::pair,
            [](std::byte* to, number n) {
                auto const value = static_cast<Value>(n / 8);
                int const index = static_cast<int>(n % 8);
                std::memcpy(to + offsetof(pair, value), &value, sizeof value);
                std::memcpy(to + offsetof(pair, index), &index, sizeof index);
            },
            [](std::byte const* from) {
                pair p{};
                std::memcpy(&p.value, from + offsetof(pair, value), sizeof p.value);
                std::memcpy(&p.index, from + offsetof(pair, index), sizeof p.index);
                return 8 * static_cast<number>(p.value) + p.index;
            }};
}
std::vector<element> elements() {
    return {pair_of<int>(MPI_2INT),
            pair_of<short>(MPI_SHORT_INT),
            pair_of<double>(MPI_DOUBLE_INT),
            element_of<std::int8_t>(MPI_INT8_T),
            element_of<int>(MPI_INT),
            element_of<std::int64_t>(MPI_INT64_T),
            element_of<std::uint16_t>(MPI_UINT16_T),
            element_of<float>(MPI_FLOAT),
            element_of<double>(MPI_DOUBLE)};
}

number times(number a, number b) { return static_cast<number>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); }

/// The greater value; of two with the same one the lesser index.
number further(number a, number b) { return a / 8 > b / 8 || (a / 8 == b / 8 && a < b) ? a : b; }

struct update {
    MPI_Op op;
    bool of_integers, of_reals, of_pairs, commutes;
    number (*combine)(number there, number mine);

    bool is_for(sort s) const noexcept { return s == sort::integer ? of_integers : s == sort::real ? of_reals : of_pairs; }
};
update const updates[] = {
    {MPI_SUM, true, true, false, true, [](number a, number b) { return a + b; }},
    {MPI_MAX, true, true, false, true, [](number a, number b) { return std::max(a, b); }},
    {MPI_MIN, true, true, false, true, [](number a, number b) { return std::min(a, b); }},
    {MPI_PROD, true, false, false, true, times},
    {MPI_BAND, true, false, false, true, [](number a, number b) { return a & b; }},
    {MPI_BOR, true, false, false, true, [](number a, number b) { return a | b; }},
    {MPI_BXOR, true, false, false, true, [](number a, number b) { return a ^ b; }},
    {MPI_LAND, true, false, false, true, [](number a, number b) { return number{a != 0 && b != 0}; }},
    {MPI_LOR, true, false, false, true, [](number a, number b) { return number{a != 0 || b != 0}; }},
    {MPI_LXOR, true, false, false, true, [](number a, number b) { return number{(a != 0) != (b != 0)}; }},
    {MPI_MAXLOC, false, false, true, true, further},
    {MPI_MINLOC, false, false, true, true, [](number a, number b) { return std::min(a, b); }}, // the lesser value, then index
    {MPI_REPLACE, true, true, true, false, [](number, number b) { return b; }},
    {MPI_NO_OP, true, true, true, false, [](number a, number) { return a; }},
};

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
        static update const many{MPI_OP_NULL, false, false, false, false, nullptr};
        t.with = first || t.with == o.with ? o.with : &many;
        t.by = o.origin;
    }
    operation drawn(int origin) {
        auto const what = static_cast<act>(below(random_, element_.of == sort::integer ? 6 : 5));
        bool const one = what == act::fetch_and_op || what == act::compare_and_swap;
        int const n = one ? 1 : 1 + below(random_, 6);
        update const* with = nullptr;
        while (what != act::put && what != act::get && what != act::compare_and_swap && !with) {
            with = &updates[random_() % std::size(updates)];
            if (!with->is_for(element_.of) || (what == act::accumulate && with->op == MPI_NO_OP)) with = nullptr;
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

TEST(COneSidedRandom, RandomProgramsAgreeWithATableOfNumbers) {
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

} // namespace
