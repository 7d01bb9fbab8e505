// Rounds: an entry is written again only when nobody looks at it any more, whoever waits for whom in the rounds between.
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/coll/rounds.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
using rounds = mpt::coll::rounds<model_atomics>;
constexpr std::uint64_t sets = 8;

/// `ranks` threads go through rounds; kind[k] of a round: -1, all wait for all; else the rank that the others wait for.
/// A chunk beside the entries is used again after `kept` rounds.
struct rounds_program {
    std::vector<int> kinds;
    int ranks = 2;
    static constexpr std::uint64_t kept = 4;

    struct state {
        std::vector<std::unique_ptr<std::array<rounds::entry, sets>>> memory;
        std::vector<std::array<std::byte, kept * 8>> chunks;
        std::vector<rounds> all; // not the threads': those that are given up free nothing
    };
    static std::byte value(int rank, std::uint64_t round) {
        return static_cast<std::byte>(16 * rank + static_cast<int>(round));
    }

    static void look(state& s, rounds& r, int q) {
        while (!r.has_begun(q, r.last())) model_atomics::pause();
        auto const& e = r.of(q);
        plain_read(&e.call, 20);
        require(e.call == r.last() && e.size == static_cast<std::uint64_t>(q) && e.where == r.last() % 1000,
                "the entry of that rank and round");
        auto const* const chunk = s.chunks[static_cast<std::size_t>(q)].data() + r.last() % kept * 8;
        plain_read(chunk, 8);
        require(*chunk == value(q, r.last()), "the chunk of that rank and round");
    }
    static void run(state& s, int me, std::vector<int> const& kinds, int ranks) {
        auto& r = s.all[static_cast<std::size_t>(me)];
        for (int const kind : kinds) {
            if (auto const least = r.awaited(kept)) {
                for (int q = 0; q < ranks; ++q)
                    while (q != me && !r.has_begun(q, least)) model_atomics::pause();
                r.all_have_begun(least);
            }
            auto* const chunk = s.chunks[static_cast<std::size_t>(me)].data() + r.next() % kept * 8;
            plain_write(chunk, 8);
            *chunk = value(me, r.next());
            plain_write(&r.own().call, 20);
            r.show(r.next(), static_cast<std::uint64_t>(me), static_cast<std::uint32_t>(r.next() % 1000));
            for (int q = 0; q < ranks; ++q)
                if (q != me && (kind < 0 || kind == q)) look(s, r, q);
            if (kind < 0) r.all_have_begun(r.last());
        }
    }
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        for (int r = 0; r < ranks; ++r) s->memory.push_back(std::make_unique<std::array<rounds::entry, sets>>());
        s->chunks.resize(static_cast<std::size_t>(ranks));
        std::vector<rounds::entry*> of;
        for (auto const& m : s->memory) of.push_back(m->data());
        for (int r = 0; r < ranks; ++r) s->all.emplace_back(of, mpt::rank{r}, sets);
        for (int r = 0; r < ranks; ++r) x.thread([s, r, k = kinds, n = ranks] { run(*s, r, k, n); });
    }
};

std::vector<int> const from_one_root(11, 0);
std::vector<int> const mixed{0, 0, 1, -1, 1, 0, 0, 0, 0, 0, 1, -1, 0};

TEST(rounds_model, a_root_that_runs_ahead_overwrites_nothing_that_is_read) {
    auto const result = check({.schedules = 6000}, rounds_program{from_one_root});
    EXPECT_TRUE(result.ok) << result.report;
}

TEST(rounds_model, rounds_of_all_sorts_follow_each_other) {
    for (int ranks : {2, 3}) {
        auto const result = check({.schedules = 3000}, rounds_program{mixed, ranks});
        EXPECT_TRUE(result.ok) << ranks << " ranks: " << result.report;
    }
}

TEST(rounds_model, needs_every_order_of_its_header) {
    for (auto const& m : needless({.schedules = 3000}, rounds_program{from_one_root}, "rounds.hpp")) ADD_FAILURE() << m;
}

} // namespace
