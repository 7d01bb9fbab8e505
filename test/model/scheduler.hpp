/// model/scheduler - runs a small program on several threads under thousands of schedules, with memory as weak as C++ allows,
/// and says what went wrong. Deterministic: a seed is a schedule.
///
///   How to use it
///
///     using namespace mpt::model;
///     struct state {                                          // built anew for every schedule
///         mpt::lock::ticket::type<model_world> lock;          // what takes a World gets model_world,
///         mpt::smp::ring_writer<model_atomics> writer;        // what takes Atomics gets model_atomics
///         model_data<int> n;                                  // plain data: races are reported
///     };
///     auto const result = check({.schedules = 5000}, [](execution& x) {
///         auto s = std::make_shared<state>();
///         x.thread([s] { mpt::guard g{s->lock}; s->n.set(s->n.get() + 1); });
///         x.thread([s] { mpt::guard g{s->lock}; s->n.set(s->n.get() + 1); });
///         x.finally([s] { require(s->n.get() == 2, "both counted"); });
///     });
///     EXPECT_TRUE(result.ok) << result.report;
///
///   - Up to 7 threads, each a fibre. Exactly one runs; at every atomic access, fence, pause, yield and world call the scheduler
///     may let another go on. Keep programs small: two or three threads, a handful of operations each.
///   - Loads may return old values wherever release and acquire do not forbid it (memory.hpp says what is modelled).
///   - Plain memory is watched where the program says so: model_data<T>, or plain_read(p, n) and plain_write(p, n) beside the
///     access, e.g. over a whole ring cell before it is published and when it is read.
///   - A loop that waits should give way by pause() or yield() of atomics or world; a bare spin is preempted after 64 accesses.
///   - require(claim, text) fails the schedule. Do not use EXPECT_ in threads: a failed schedule's threads are left lying.
///   - Sleepers (world.wait) are never woken by time unless options.timeouts says so: a lost wake-up is a deadlock, and found.
///   - Objects on a thread's stack are not destroyed when a schedule fails; let them own nothing.
///   - Sizes: atomic<T> has T's size and alignment and may lie in zeroed memory, as in a shared segment.
///
///   Showing that a model bites
///
///     auto const missed = needless(options, body, "ticket.hpp");
///
///   weakens every memory order and drops every fence that the named header asks for, one at a time and as little as possible
///   (acquire and release to relaxed, acq_rel to either, seq_cst to acq_rel), and returns those whose loss no schedule noticed.
///   An empty answer: every order is needed, and the model would notice its loss.
///
///   A failure prints its seed; MPT_MODEL_SEED=<seed> starts with that schedule, but where the program names a seed of its own.
///   MPT_MODEL_SCHEDULES=<factor> tries more.
#pragma once
#include <cstdlib>
#include <sstream>

#include "atomics.hpp"
#include "execution.hpp"

namespace mpt::model {

struct outcome {
    bool ok = true;
    std::uint64_t seed = 0;      // of the schedule that failed
    std::uint64_t schedules = 0; // tried
    std::uint64_t steps = 0;     // accesses in all of them
    std::string what;            // went wrong
    std::string report;          // what, seed and the schedule itself
    std::map<site, std::memory_order> sites;
};

using body = std::function<void(execution&)>;

namespace detail {
inline std::uint64_t from_environment(char const* name, std::uint64_t otherwise) {
    auto const* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

inline std::string replay(options const& o, std::uint64_t seed, execution::fibre_pool& fibres, execution::fault planted,
                          body const& program) {
    execution x{o, seed, fibres, true, planted, nullptr};
    program(x);
    x.run();
    std::ostringstream text;
    auto const& lines = x.trace();
    constexpr std::size_t shown = 120;
    if (lines.size() > shown) text << "  ... " << lines.size() - shown << " earlier\n";
    for (auto i = lines.size() > shown ? lines.size() - shown : 0; i < lines.size(); ++i) text << "  " << lines[i] << '\n';
    return text.str();
}
} // namespace detail

inline outcome check(options o, body const& program, execution::fault planted = {}, bool note_sites = false) {
    outcome result;
    execution::fibre_pool fibres;
    auto const first = o.seed ? *o.seed : detail::from_environment("MPT_MODEL_SEED", 1);
    auto const wanted = o.schedules * detail::from_environment("MPT_MODEL_SCHEDULES", 1);
    for (std::uint64_t seed = first; result.schedules < wanted; ++seed) {
        {
            execution x{o, seed, fibres, false, planted, note_sites ? &result.sites : nullptr};
            program(x);
            x.run();
            ++result.schedules;
            result.steps += x.steps();
            if (x.failure().empty()) continue;
            result.what = x.failure();
        }
        result.ok = false;
        result.seed = seed;
        result.report = result.what + "\nMPT_MODEL_SEED=" + std::to_string(seed) + " (schedule " +
                        std::to_string(result.schedules) + ")\n" + detail::replay(o, seed, fibres, planted, program);
        break;
    }
    return result;
}

inline std::vector<std::memory_order> weaker(site const& s) {
    using enum std::memory_order;
    if (s.fence) return {relaxed};
    if (s.order == seq_cst) return {acq_rel};
    if (s.order == acq_rel) return {acquire, release};
    return s.order == relaxed ? std::vector<std::memory_order>{} : std::vector{relaxed};
}

/// Orders and fences of `file` whose loss no schedule noticed, as "file:line order -> weaker order".
inline std::vector<std::string> needless(options const& o, body const& program, std::string_view file) {
    auto few = o;
    few.schedules = std::min(o.schedules, 300u);
    auto const sites = check(few, program, {}, true).sites;
    std::vector<std::string> survivors;
    for (auto const& [s, order] : sites) {
        if (s.file != file) continue;
        for (auto const to : weaker(s)) {
            if (!check(o, program, {&s, to}).ok) continue;
            survivors.push_back(std::string{s.file} + ":" + std::to_string(s.line) + " " +
                                (s.fence ? "fence dropped" : std::string{name_of(order)} + " -> " + name_of(to)));
        }
    }
    return survivors;
}

} // namespace mpt::model
