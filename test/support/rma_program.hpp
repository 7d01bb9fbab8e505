/// test/support/rma_program - random one-sided programs against a serial oracle: every rank replays what all of them did on plain arrays.
///
///        rma_program<decltype(world)>{world, rma::flavor::create, seed}.run(steps)
///
///   All ranks call it with the same seed; what is not as it must be is thrown.
#pragma once
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "dice.hpp"
#include <mpt/rma/window.hpp>

namespace mpt::test::one_sided {
using mpt::datatype;
using mpt::element_kind;
using mpt::operation;
namespace rma = mpt::rma;

/// Each target's part: for each origin places of its own, one for each operation between two synchronisations; then numbers that all
/// change, then bytes that nobody changes.
constexpr std::size_t slot_bytes = 256, slots = 8, own_bytes = slots * slot_bytes, common_numbers = 16, still_bytes = 512;

struct layout {
    int ranks;
    std::size_t own(int origin) const { return static_cast<std::size_t>(origin) * own_bytes; }
    std::size_t common() const { return own(ranks); }
    std::size_t still() const { return common() + common_numbers * 8; }
    std::size_t size() const { return still() + still_bytes; }
};
using memory = std::vector<std::byte>;

/// Elements of a kind at places that do not touch each other's, as a datatype and as a list.
struct scattered_elements {
    datatype type;
    std::vector<std::size_t> at; // bytes from where it begins
};
inline scattered_elements some_elements(element_kind kind, std::size_t n, std::size_t room, dice& d) {
    std::size_t const extent = mpt::facts(kind).extent;
    std::vector<std::size_t> at;
    std::vector<std::int64_t> places;
    bool const dense = d.coin();
    for (std::size_t next = 0; at.size() < n && (next + 1) * extent <= room; next += dense ? 1 : 1 + d.below(4))
        at.push_back(next * extent), places.push_back(static_cast<std::int64_t>(next));
    if (!dense && d.coin()) std::reverse(at.begin(), at.end()), std::reverse(places.begin(), places.end());
    return {datatype::indexed_block(1, places, datatype::named(kind)), at};
}

enum class act { put, get, accumulate, get_accumulate, fetch_and_op, swap, common };

constexpr element_kind kinds[]{element_kind::int8,       element_kind::c_short,   element_kind::int32,
                               element_kind::uint64,     element_kind::c_double,  element_kind::cxx_double_complex,
                               element_kind::double_int, element_kind::float_int, element_kind::short_int};
constexpr operation ops[]{operation::sum,  operation::max,    operation::bxor,    operation::prod,
                          operation::land, operation::minloc, operation::replace, operation::no_op};

/// One operation of one rank: the same dice give the same operation on every rank.
struct deed {
    act what;
    int target;
    element_kind kind;
    operation op;
    std::size_t begins; // in the target's part
    scattered_elements there, here;
    std::vector<std::byte> data; // packed for kernels: extents
    std::size_t number = 0;      // of the common ones

    deed(layout const& l, int origin, std::size_t slot, dice& d)
        : what{static_cast<act>(d.below(7))}, target{static_cast<int>(d.below(static_cast<unsigned>(l.ranks)))} {
        do kind = kinds[d.below(std::size(kinds))], op = ops[d.below(std::size(ops))];
        while (!mpt::find_kernel(op, kind));
        bool const one = what == act::fetch_and_op || what == act::swap;
        if (what == act::swap) kind = d.coin() ? element_kind::int32 : element_kind::uint64;
        if (what == act::common) kind = element_kind::uint64, op = operation::sum, number = d.below(common_numbers);
        std::size_t const extent = mpt::facts(kind).extent, room = what == act::get ? still_bytes : slot_bytes;
        begins = what == act::get ? l.still() : l.own(origin) + slot * slot_bytes;
        if (one) begins += extent * d.below(8);
        std::size_t const wanted = one ? 1 : 1 + d.below(d.coin() ? 4 : static_cast<unsigned>(room / extent));
        there = some_elements(kind, wanted, one ? extent : room, d);
        here = some_elements(kind, there.at.size(), 5 * there.at.size() * extent, d);
        data.resize(there.at.size() * extent);
        for (auto& b : data) b = std::byte(d.below(3)); // small, so that sums stay numbers
        if (kind == element_kind::c_double || kind == element_kind::cxx_double_complex) as_numbers(d);
    }
    void as_numbers(dice& d) {
        for (std::size_t i = 0; i < data.size(); i += 8) {
            double const x = d.below(5);
            std::memcpy(&data[i], &x, 8);
        }
    }
    std::size_t extent() const { return mpt::facts(kind).extent; }
    std::size_t bytes_here() const { return 5 * there.at.size() * extent() + extent(); }
    /// The data where the program has them.
    memory spread() const {
        memory m(bytes_here(), std::byte{0xee});
        for (std::size_t i = 0; i < here.at.size(); ++i) std::memcpy(&m[here.at[i]], &data[i * extent()], extent());
        return m;
    }
    /// What is there, element by element, as kernels want it; gaps are what they are there.
    memory seen(memory const& part) const {
        memory m(data.size());
        for (std::size_t i = 0; i < there.at.size(); ++i) std::memcpy(&m[i * extent()], &part[begins + there.at[i]], extent());
        return m;
    }
    void write(memory& part, memory const& m) const {
        for (std::size_t i = 0; i < there.at.size(); ++i) put_element(&part[begins + there.at[i]], &m[i * extent()]);
    }
    /// Without the gaps, which nobody owns.
    void put_element(std::byte* to, std::byte const* from) const {
        auto const& f = mpt::facts(kind);
        if (!f.is_pair()) return void(std::memcpy(to, from, f.size));
        std::memcpy(to, from, mpt::facts(f.first).size);
        std::memcpy(to + f.second_at, from + f.second_at, mpt::facts(f.second).size);
    }
    bool same(memory const& a, memory const& b) const {
        memory x(a.size()), y(b.size());
        for (std::size_t i = 0; i < a.size(); i += extent()) put_element(&x[i], &a[i]), put_element(&y[i], &b[i]);
        return x == y;
    }
    std::uint64_t added() const { return static_cast<std::uint64_t>(data[0]) + 1; }

    /// On the oracle's array: what a fetch of it gives.
    memory replay(memory& part, layout const& l) const {
        if (what == act::common) {
            std::uint64_t x;
            std::memcpy(&x, &part[l.common() + 8 * number], 8);
            x += added();
            std::memcpy(&part[l.common() + 8 * number], &x, 8);
            return {};
        }
        auto const was = seen(part);
        if (what == act::get) return was;
        auto now = was;
        if (what == act::put) now = data;
        else if (what == act::swap) now = swaps() ? data : was;
        else mpt::find_kernel(op, kind)(data.data(), now.data(), there.at.size());
        write(part, now);
        return was;
    }
    /// A swap expects what is there, or something else.
    bool swaps() const { return data[0] != std::byte{0}; }
};

template <class Window> struct actor {
    Window& w;
    layout const& l;

    /// expected: what a fetch is to bring. base: what the target's displacements count from.
    void perform(deed const& d, memory const& expected, std::uint64_t base) const {
        rma::target_place const there{d.target, static_cast<std::int64_t>(base + d.begins), 1, d.there.type};
        auto mine = d.spread();
        memory result(d.bytes_here(), std::byte{0xdd});
        rma::own_source const from{mine.data(), 1, d.here.type};
        rma::own_sink const into{result.data(), 1, d.here.type};
        auto const element = datatype::named(d.kind);
        auto const place = static_cast<std::int64_t>(base + d.begins + d.there.at[0]);
        switch (d.what) {
        case act::put: return w.put(from, there);
        case act::get: w.get(into, there); break;
        case act::accumulate: return w.accumulate(from, there, d.op);
        case act::get_accumulate: w.get_accumulate(from, into, there, d.op); break;
        case act::fetch_and_op:
            w.fetch_and_op(mine.data() + d.here.at[0], result.data() + d.here.at[0], element, d.target, place, d.op);
            break;
        case act::swap: {
            auto guess = expected;
            if (!d.swaps()) guess[0] ^= std::byte{0xff};
            w.compare_and_swap(mine.data() + d.here.at[0], guess.data(), result.data() + d.here.at[0], element, d.target,
                               place);
            break;
        }
        case act::common: {
            auto const x = d.added();
            auto const number = datatype::named(element_kind::uint64);
            auto const at = static_cast<std::int64_t>(base + l.common() + 8 * d.number);
            return w.accumulate({&x, 1, number}, {d.target, at, 1, number}, operation::sum);
        }
        }
        memory got(d.data.size());
        for (std::size_t i = 0; i < d.here.at.size(); ++i) std::memcpy(&got[i * d.extent()], &result[d.here.at[i]], d.extent());
        if (!d.same(got, expected))
            throw std::runtime_error{"something else was fetched: act " + std::to_string(static_cast<int>(d.what)) + ", " +
                                     std::string{mpt::facts(d.kind).name} + ", op " + std::to_string(static_cast<int>(d.op))};
    }
};

enum class mode { fence, post_start, lock, lock_all };

template <class Window> void begin(Window& w, mode m) {
    if (m == mode::post_start) w.post(w.members()), w.start(w.members());
    if (m == mode::lock_all) w.lock_all();
}
template <class Window> void end(Window& w, mode m, auto const& world) {
    if (m == mode::fence) w.fence();
    if (m == mode::post_start) w.complete(), w.wait();
    if (m == mode::lock_all) w.unlock_all();
    if (m == mode::lock || m == mode::lock_all) world.barrier(), w.sync();
}

template <class View> struct program {
    using stack = typename View::stack_type;

    View world;
    rma::flavor how;
    unsigned seed;
    int n = world.size(), me = world.rank();
    layout l{n};
    bool dynamic = how == rma::flavor::dynamic;
    memory own = memory(how == rma::flavor::create || dynamic ? l.size() : 0);
    std::unique_ptr<rma::window<stack>> w = make();
    std::byte* mine = dynamic ? own.data() : w->own().base;
    /// A dynamic window's displacements are addresses.
    std::vector<std::uint64_t> bases = world.allgather(dynamic ? reinterpret_cast<std::uint64_t>(mine) : 0);
    std::vector<memory> all = std::vector<memory>(static_cast<std::size_t>(n), memory(l.size()));

    auto make() {
        auto const& s = world.native();
        mpt::coll::team<stack> const team{s.wire, s.who, s.me, s.rooted_calls};
        auto made = rma::make_window(*s.run, team, {.how = how, .memory = own, .size = l.size(), .unit = 1});
        if (dynamic) made->attach(own);
        return made;
    }
    memory const& expected() const { return all[static_cast<std::size_t>(me)]; }
    void run(int steps) {
        for (std::size_t r = 0; r < all.size(); ++r)
            for (std::size_t i = 0; i < still_bytes; ++i) all[r][l.still() + i] = std::byte(i * 7 + r);
        std::memcpy(mine, expected().data(), l.size());
        w->sync();
        world.barrier();
        dice common{seed};
        for (int i = 0; i < steps; ++i) step(i, static_cast<mode>(common.below(4)));
        w->free();
    }
    void step(int i, mode m) {
        if (m == mode::fence) w->fence();
        begin(*w, m);
        for (int origin = 0; origin < n; ++origin) {
            dice d{seed + 1000u * static_cast<unsigned>(i) + static_cast<unsigned>(origin)};
            auto const all_of_it = 1 + d.below(slots);
            for (std::size_t slot = 0; slot < all_of_it; ++slot) one(origin, m == mode::lock ? 0 : slot, m, d);
        }
        end(*w, m, world);
        if (std::memcmp(mine, expected().data(), l.size()) != 0)
            throw std::runtime_error{"rank " + std::to_string(me) + " has something else after step " + std::to_string(i) +
                                     ", mode " + std::to_string(static_cast<int>(m)) + ", seed " + std::to_string(seed)};
        world.barrier();
        if (m == mode::fence) w->fence({.no_succeed = true});
    }
    void one(int origin, std::size_t slot, mode m, dice& d) {
        deed const what{l, origin, slot, d};
        auto const target = static_cast<std::size_t>(what.target);
        bool const alone = d.coin();
        auto const brings = what.replay(all[target], l);
        if (origin != me) return;
        if (m == mode::lock) w->lock(alone ? rma::lock_kind::exclusive : rma::lock_kind::shared, what.target);
        actor<rma::window<stack>>{*w, l}.perform(what, brings, bases[target]);
        if (m == mode::lock_all && alone) w->flush(what.target);
        if (m == mode::lock) w->unlock(what.target);
    }
};

} // namespace mpt::test::one_sided

namespace mpt::test {
template <class View> using rma_program = one_sided::program<View>;
}
