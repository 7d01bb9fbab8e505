/// bench/harness - calibrated measuring: what every figure of this directory went through.
///
///   What crosses cores is 2-4 times slower in some minutes than in others, and on some pages than on others. The minutes: a
///   virtual machine's host moves its CPUs. So every round of batches stands between two calibrations, the rivals of one table are interleaved in one
///   round, and a round taken in a slow spell is dropped:
///
///        calibrate | ours | limit | calibrate | ours | limit | calibrate | ...
///           c0       \__ round 0 __/   c1       \__ round 1 __/    c2
///
///        round k counts when max(c[k], c[k+1]) <= slow_factor * calm;   calm = 10th percentile of the run's calibrations
///
///   The pages: see page_of_lines. settle() tries several and takes the best, so that the calibration tells of the CPUs only, and
///   runs can be compared; one_line and the like then stand for lines that lie well.
///
///   The calibration is the two-line cache ping-pong between sides 0 and 1 (two_lines). A crew whose sides 0 and 1 share a CPU
///   is not calibrated: nothing there crosses cores.
///   What is quoted: median and quartiles of the rounds that count; where a whole run was slow, all rounds, marked as such.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "crew.hpp"

namespace bench {

/// From side 0's store into its line to side 0's sight of side 1's answer in another line, halved: ns.
/// One message costs two line transfers (the writer takes the line from the poller, who fetches it back), as in any ring.
inline double two_lines(crew& c, int rounds = 200) noexcept {
    if (c.side() > 1) return 0;
    auto const side = static_cast<std::size_t>(c.side());
    word &mine = c.line(side), &theirs = c.line(1 - side);
    auto const base = mine.load(std::memory_order_relaxed); // order: both lines end every call at the same number
    auto const last = base + static_cast<std::uint64_t>(rounds);
    double const begin = now_ns();
    for (auto i = base + 1; i <= last; ++i) {
        if (side == 0) mine.store(i, std::memory_order_release); // sync(bench.two-lines): release
        while (theirs.load(std::memory_order_acquire) < i) {}    // sync(bench.two-lines): acquire
        if (side == 1) mine.store(i, std::memory_order_release); // sync(bench.two-lines): release
    }
    return (now_ns() - begin) / rounds / 2;
}

struct quartiles {
    double q1 = 0, median = 0, q3 = 0;
};

/// Of a copy, by linear interpolation. Zeroes when there is nothing.
inline quartiles quartiles_of(std::vector<double> v) {
    if (v.empty()) return {};
    std::sort(v.begin(), v.end());
    auto const at = [&](double q) {
        double const x = q * static_cast<double>(v.size() - 1);
        auto const i = static_cast<std::size_t>(x);
        return i + 1 < v.size() ? v[i] + (x - static_cast<double>(i)) * (v[i + 1] - v[i]) : v[i];
    };
    return {at(0.25), at(0.5), at(0.75)};
}

/// All calibrations of a run (of this process, side 0), and the level that counts as calm.
class calibration {
    std::vector<double> all_;
    double known_ = 0;

public:
    static constexpr double slow_factor = 1.6; // calm 120-165 ns and slow 290-640 ns where this was chosen

    void add(double ns) { all_.push_back(ns); }
    std::vector<double> const& all() const noexcept { return all_; }
    double calm() const {
        if (all_.empty()) return 0;
        auto v = all_;
        auto const tenth = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 10);
        std::nth_element(v.begin(), tenth, v.end());
        return known_ > 0 ? std::min(known_, *tenth) : *tenth;
    }
    /// What an earlier run on this machine found calm: a run that was slow from end to end then shows it.
    void know(double calm_ns) { known_ = calm_ns; }
    bool slow(double ns) const { return ns > slow_factor * calm(); }
};

inline calibration& calibrations_of_this_run() {
    static calibration c;
    return c;
}

/// One round's figure, between its calibrations (ns; 0 where none was taken).
struct sample {
    double value = 0, before = 0, after = 0;
};
using series = std::vector<sample>;

/// What is quoted of a series.
struct spread {
    quartiles of;
    std::size_t kept = 0, taken = 0;
    bool calm = true; // false: too few rounds were calm, and all were counted
};

inline spread spread_of(series const& s, calibration const& c = calibrations_of_this_run()) {
    std::vector<double> all, calm;
    double const level = c.calm() * calibration::slow_factor;
    for (auto const& x : s) {
        all.push_back(x.value);
        if (x.before <= level && x.after <= level) calm.push_back(x.value);
    }
    bool const enough = calm.size() >= std::min<std::size_t>(5, all.size());
    return {quartiles_of(enough ? calm : all), enough ? calm.size() : all.size(), all.size(), enough};
}

/// How long to go on.
struct plan {
    int rounds = 30;       // calm rounds wanted
    int most = 90;         // rounds taken at the most
    int calibrating = 100; // round trips per calibration; 0: none
};

/// Side 0 and 1 play ping-pong; the other sides sleep meanwhile, because a side that yields disturbs it. ns on side 0.
inline double undisturbed_two_lines(crew& c, int rounds) {
    auto& parked = c.block().parked;
    auto const seen = parked.load(std::memory_order_relaxed); // order: the meet below separates two calibrations
    c.meet();
    if (c.side() > 1) {
        while (parked.load(std::memory_order_acquire) == seen) futex_sleep(parked, seen); // sync(bench.park): acquire
        return 0;
    }
    for (int i = 0; c.sides() > 2 && i < 20; ++i) sched_yield(); // lets the others of this CPU fall asleep
    double const ns = two_lines(c, rounds);
    if (c.side() == 0) {
        parked.fetch_add(1, std::memory_order_release); // sync(bench.park): release
        if (c.sides() > 2) futex_wake(parked, c.sides());
    }
    return ns;
}

/// The same, and the run remembers it.
inline double calibrate(crew& c, int rounds) {
    double const ns = undisturbed_two_lines(c, rounds);
    if (c.side() == 0) calibrations_of_this_run().add(ns);
    return ns;
}

/// Takes rounds of all batches, interleaved, until p.rounds of them were calm or p.most were taken. All sides call it with the
/// same plan; a batch is a callable of no arguments that every side enters after a meet(). Side 0's results are returned.
template <class... Batch> std::array<series, sizeof...(Batch)> interleave(crew& c, plan p, Batch&&... batch) {
    std::array<series, sizeof...(Batch)> out;
    bool const calibrated = p.calibrating > 0;
    auto& run = calibrations_of_this_run();
    double before = calibrated ? calibrate(c, p.calibrating) : 0;
    int good = 0;
    for (int taken = 0; c.agree(good < p.rounds && taken < p.most); ++taken) {
        std::array<double, sizeof...(Batch)> value{};
        std::size_t i = 0;
        ((c.meet(), value[i++] = batch()), ...);
        double const after = calibrated ? calibrate(c, p.calibrating) : 0;
        for (std::size_t k = 0; k < value.size(); ++k) out[k].push_back({value[k], before, after});
        if (c.side() == 0 && !(calibrated && (run.slow(before) || run.slow(after)))) ++good;
        before = after;
    }
    return out;
}

template <class Batch> series measure(crew& c, plan p, Batch&& batch) {
    return std::move(interleave(c, p, std::forward<Batch>(batch))[0]);
}

/// Goes to the page whose lines are fastest, and lets the run know what calm is before the first figure counts.
inline void settle(crew& c, int calibrations = 60) {
    std::array<double, shared_block::pages> best;
    best.fill(1e9);
    for (int pass = 0; pass < 5; ++pass)
        for (std::size_t p = 0; p < best.size(); ++p) {
            c.move_to(p);
            best[p] = std::min(best[p], undisturbed_two_lines(c, 50));
        }
    auto const fastest = std::min_element(best.begin(), best.end()) - best.begin();
    c.move_to(c.agree(static_cast<std::uint64_t>(fastest)));
    for (int i = 0; i < calibrations; ++i) static_cast<void>(calibrate(c, 100));
}

/// Makes of a batch one that goes from page to page, so that its quartiles show what the place of a line does. All sides make it.
template <class Batch> auto wherever(crew& c, Batch batch) {
    return [&c, batch, page = std::size_t{0}]() mutable {
        auto const home = c.move_to(page++ % shared_block::pages);
        auto const value = batch();
        c.move_to(home);
        return value;
    };
}

} // namespace bench
