#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/memory_ration.hpp"
#include <mpt/protocol/matching.hpp>

namespace {

using mpt::any_source;
using mpt::any_tag;
using mpt::context_id;
using mpt::status;
using mpt::protocol::arrival_hook;
using mpt::protocol::envelope;
using mpt::protocol::matching;
using mpt::protocol::posted_hook;
using mpt::test::memory_ration;

// The engine's objects, as far as matching knows them.
struct receive : posted_hook {
    int id = 0;
};
struct message : arrival_hook {
    int id = 0;
};
int id_of(posted_hook const* p) { return p ? static_cast<receive const*>(p)->id : -1; }
int id_of(arrival_hook const* a) { return a ? static_cast<message const*>(a)->id : -1; }

envelope of(std::uint64_t context, int source, int label) { return {context_id{context}, source, label}; }

/// MPI's rules in the plainest words: two lists in time order, searched from the front.
class oracle {
    struct entry {
        int id;
        envelope what;
    };
    std::vector<entry> posted_, arrivals_;

    static bool fits(envelope const& wanted, envelope const& came) {
        return wanted.context == came.context && (wanted.source == any_source || wanted.source == came.source) &&
               (wanted.label == any_tag || wanted.label == came.label);
    }
    static void drop(std::vector<entry>& v, int id) {
        v.erase(std::find_if(v.begin(), v.end(), [&](entry const& e) { return e.id == id; }));
    }

public:
    int find(envelope const& wanted) const {
        for (auto const& e : arrivals_)
            if (fits(wanted, e.what)) return e.id;
        return -1;
    }
    int match(envelope const& came) {
        for (auto const& e : posted_)
            if (fits(e.what, came)) {
                auto const id = e.id;
                drop(posted_, id);
                return id;
            }
        return -1;
    }
    void post(int id, envelope const& wanted) { posted_.push_back({id, wanted}); }
    void store(int id, envelope const& came) { arrivals_.push_back({id, came}); }
    void withdraw(int id) { drop(posted_, id); }
    void remove(int id) { drop(arrivals_, id); }
    std::size_t posted() const { return posted_.size(); }
    std::size_t arrivals() const { return arrivals_.size(); }
    int any_posted(std::size_t n) const { return posted_[n % posted_.size()].id; }
    int any_arrival(std::size_t n) const { return arrivals_[n % arrivals_.size()].id; }
    std::vector<int> arrival_ids() const {
        std::vector<int> v;
        for (auto const& e : arrivals_) v.push_back(e.id);
        return v;
    }
    std::vector<int> posted_ids() const {
        std::vector<int> v;
        for (auto const& e : posted_) v.push_back(e.id);
        std::sort(v.begin(), v.end());
        return v;
    }
};

/// What a random program looks like.
struct shape {
    int contexts = 2, sources = 3, labels = 3;
    int wild = 30;     // percent of receives that leave each of source and tag open
    int probes = 10;   // percent of steps that are probes
    int cancels = 5;   // percent of steps that withdraw a receive, and as many that take out a probed message
    int messages = 50; // percent of the other steps that are messages; the rest are receives
    int steps = 400;
    std::size_t memory = ~std::size_t{0};
    unsigned lanes = 1;
};

class program {
    shape s_;
    std::mt19937_64 random_;
    memory_ration memory_;
    std::vector<std::unique_ptr<matching>> lanes_;
    oracle oracle_;
    std::deque<receive> receives_; // by id: 2 * index
    std::deque<message> messages_; // by id: 2 * index + 1
    int refused_ = 0;

    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    bool percent(int p) { return below(100) < p; }
    matching& lane(envelope const& e) { return *lanes_[static_cast<std::uint64_t>(e.context) % lanes_.size()]; }

    envelope come() { return of(static_cast<unsigned>(below(s_.contexts)), below(s_.sources), below(s_.labels)); }
    envelope wish() {
        auto e = come();
        if (percent(s_.wild)) e.source = any_source;
        if (percent(s_.wild)) e.label = any_tag;
        return e;
    }

    void receive_step() {
        auto const wanted = wish();
        auto const expected = oracle_.find(wanted);
        auto* const got = lane(wanted).take(wanted);
        ASSERT_EQ(id_of(got), expected) << "take";
        if (got) {
            EXPECT_EQ(got->what, messages_[static_cast<std::size_t>(expected / 2)].what);
            return oracle_.remove(expected);
        }
        auto& r = receives_.emplace_back();
        r.id = 2 * static_cast<int>(receives_.size() - 1);
        if (lane(wanted).post(r, wanted) == status::ok) oracle_.post(r.id, wanted);
        else refuse();
    }
    void message_step() {
        auto const came = come();
        auto const expected = oracle_.match(came);
        auto* const got = lane(came).match(came);
        ASSERT_EQ(id_of(got), expected) << "match";
        if (got) return;
        auto& m = messages_.emplace_back();
        m.id = 2 * static_cast<int>(messages_.size() - 1) + 1;
        if (lane(came).store(m, came) == status::ok) oracle_.store(m.id, came);
        else refuse();
    }
    void probe_step() {
        auto const wanted = wish();
        ASSERT_EQ(id_of(lane(wanted).find(wanted)), oracle_.find(wanted)) << "find";
    }
    void withdraw_step() {
        if (oracle_.posted() == 0) return;
        auto const id = oracle_.any_posted(random_());
        auto& r = receives_[static_cast<std::size_t>(id / 2)];
        lane(r.what).withdraw(r);
        oracle_.withdraw(id);
    }
    void remove_step() {
        if (oracle_.arrivals() == 0) return;
        auto const id = oracle_.any_arrival(random_());
        auto& m = messages_[static_cast<std::size_t>(id / 2)];
        lane(m.what).remove(m);
        oracle_.remove(id);
    }
    void refuse() {
        ++refused_;
        EXPECT_GT(memory_.refusals, 0u) << "no_memory, although memory was never refused";
    }
    void compare() {
        std::size_t posted = 0, arrivals = 0;
        std::vector<int> arrival_ids, posted_ids;
        for (auto& l : lanes_) {
            posted += l->posted();
            arrivals += l->arrivals();
            EXPECT_EQ(l->quiet(), l->posted() + l->arrivals() == 0);
            ASSERT_TRUE(l->consistent());
            l->each_arrival([&](arrival_hook const& a) { arrival_ids.push_back(id_of(&a)); });
            l->each_posted([&](posted_hook const& p) { posted_ids.push_back(id_of(&p)); });
        }
        ASSERT_EQ(posted, oracle_.posted());
        ASSERT_EQ(arrivals, oracle_.arrivals());
        if (lanes_.size() > 1) std::sort(arrival_ids.begin(), arrival_ids.end());
        ASSERT_EQ(arrival_ids, oracle_.arrival_ids());
        std::sort(posted_ids.begin(), posted_ids.end());
        ASSERT_EQ(posted_ids, oracle_.posted_ids());
    }

public:
    program(shape const& s, std::uint64_t seed) : s_{s}, random_{seed}, memory_{s.memory} {
        for (unsigned i = 0; i < s.lanes; ++i) lanes_.push_back(std::make_unique<matching>(memory_.source()));
    }
    void step() {
        if (percent(s_.probes)) return probe_step();
        if (percent(s_.cancels)) return withdraw_step();
        if (percent(s_.cancels)) return remove_step();
        if (percent(s_.messages)) return message_step();
        receive_step();
    }
    void run() {
        for (int i = 0; i < s_.steps && !testing::Test::HasFatalFailure(); ++i) {
            step();
            if (i % 64 == 0) compare();
        }
        if (!testing::Test::HasFatalFailure()) compare();
    }
    void favour(int messages) { s_.messages = messages; }
    int refused() const { return refused_; }
};

/// MPT_SEED=n replays one program; without it, programs from a random seed on.
std::pair<std::uint64_t, int> seeds(int programs) {
    if (auto const* given = std::getenv("MPT_SEED")) return {std::strtoull(given, nullptr, 0), 1};
    return {std::random_device{}() * std::uint64_t{1'000'000}, programs};
}
void run_programs(shape const& s, int programs) {
    auto const [first, count] = seeds(programs);
    testing::Test::RecordProperty("first_seed", std::to_string(first));
    std::cout << "seeds " << first << " to " << first + static_cast<unsigned>(count) - 1 << '\n';
    for (auto seed = first; seed < first + static_cast<unsigned>(count); ++seed) {
        SCOPED_TRACE("replay with MPT_SEED=" + std::to_string(seed));
        program{s, seed}.run();
        if (testing::Test::HasFailure()) return;
    }
}

TEST(protocol_matching, random_programs_with_few_keys_match_as_the_oracle_does) { run_programs({}, 3000); }
TEST(protocol_matching, random_programs_of_one_key_match_as_the_oracle_does) {
    run_programs({.contexts = 1, .sources = 1, .labels = 1, .wild = 50}, 1000);
}
TEST(protocol_matching, random_programs_with_many_keys_match_as_the_oracle_does) {
    run_programs({.contexts = 5, .sources = 40, .labels = 40, .wild = 20, .steps = 2000}, 200);
}
TEST(protocol_matching, random_programs_without_wildcards_match_as_the_oracle_does) {
    run_programs({.sources = 10, .labels = 10, .wild = 0}, 1000);
}
TEST(protocol_matching, random_programs_of_wildcards_only_match_as_the_oracle_does) {
    run_programs({.sources = 5, .labels = 5, .wild = 95}, 1000);
}
TEST(protocol_matching, random_programs_with_a_backlog_of_messages_match_as_the_oracle_does) {
    run_programs({.sources = 6, .labels = 6, .wild = 25, .cancels = 2, .messages = 70, .steps = 1500}, 200);
}
TEST(protocol_matching, random_programs_with_a_backlog_of_receives_match_as_the_oracle_does) {
    run_programs({.sources = 6, .labels = 6, .wild = 25, .cancels = 2, .messages = 25, .steps = 1500}, 200);
}
TEST(protocol_matching, random_programs_over_three_lanes_match_as_the_oracle_does) {
    run_programs({.contexts = 7, .steps = 800, .lanes = 3}, 500);
}
TEST(protocol_matching, random_programs_that_flood_and_drain_match_as_the_oracle_does) {
    auto const [first, count] = seeds(100);
    std::cout << "seeds from " << first << '\n';
    for (auto seed = first; seed < first + static_cast<unsigned>(count); ++seed) {
        SCOPED_TRACE("replay with MPT_SEED=" + std::to_string(seed));
        shape s{.contexts = 2, .sources = 8, .labels = 8, .wild = 40, .steps = 200};
        program p{s, seed};
        for (int phase = 0; phase < 6; ++phase) {
            p.favour(phase % 2 ? 90 : 10);
            p.run();
            if (HasFailure()) return;
        }
    }
}
TEST(protocol_matching, random_programs_that_run_out_of_memory_match_as_the_oracle_does) {
    int refused = 0;
    auto const [first, count] = seeds(400);
    std::cout << "seeds from " << first << '\n';
    for (auto seed = first; seed < first + static_cast<unsigned>(count); ++seed) {
        SCOPED_TRACE("replay with MPT_SEED=" + std::to_string(seed));
        shape s{.contexts = 3, .sources = 12, .labels = 12, .wild = 20, .messages = 60, .steps = 800};
        s.memory = seed % 5 * 4096; // none at all, or a chunk of bins or a few
        program p{s, seed};
        p.run();
        refused += p.refused();
        if (HasFailure()) return;
    }
    EXPECT_TRUE(refused > 0 || std::getenv("MPT_SEED")) << "the test did not test what it says";
}

TEST(protocol_matching, quiet_means_that_nothing_is_posted_and_nothing_kept) {
    memory_ration memory;
    matching m{memory.source()};
    EXPECT_TRUE(m.quiet());
    receive r;
    message a;
    ASSERT_EQ(m.post(r, of(1, 2, 3)), status::ok);
    EXPECT_FALSE(m.quiet());
    m.withdraw(r);
    EXPECT_TRUE(m.quiet());
    ASSERT_EQ(m.store(a, of(1, 2, 3)), status::ok);
    EXPECT_FALSE(m.quiet());
    EXPECT_EQ(m.take(of(1, 2, 3)), &a);
    EXPECT_TRUE(m.quiet());
}

TEST(protocol_matching, a_message_goes_to_the_earliest_of_four_kinds_of_receive) {
    envelope const kinds[]{
        of(1, 2, 3), {context_id{1}, any_source, 3}, {context_id{1}, 2, any_tag}, {context_id{1}, any_source, any_tag}};
    int order[]{0, 1, 2, 3};
    do {
        memory_ration memory;
        matching m{memory.source()};
        receive r[4];
        for (int k : order) ASSERT_EQ(m.post(r[k], kinds[k]), status::ok);
        for (int k : order) EXPECT_EQ(m.match(of(1, 2, 3)), &r[k]);
        EXPECT_EQ(m.match(of(1, 2, 3)), nullptr);
    } while (std::next_permutation(std::begin(order), std::end(order)));
}

TEST(protocol_matching, context_source_and_tag_all_must_fit) {
    memory_ration memory;
    matching m{memory.source()};
    receive r;
    ASSERT_EQ(m.post(r, of(1, 2, 3)), status::ok);
    for (auto const& e : {of(9, 2, 3), of(1, 9, 3), of(1, 2, 9), of(1, 3, 2), of(0, 2, 3)}) EXPECT_EQ(m.match(e), nullptr);
    EXPECT_EQ(m.match(of(1, 2, 3)), &r);
}

TEST(protocol_matching, extreme_tags_ranks_and_contexts_are_ordinary_keys) {
    memory_ration memory;
    matching m{memory.source()};
    std::vector<envelope> keys;
    for (std::uint64_t c : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63})
        for (int s : {0, 1, 0x7fffffff})
            for (int t : {0, 1, 0x7fffffff}) keys.push_back(of(c, s, t));
    std::vector<receive> r(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(m.post(r[i], keys[i]), status::ok);
    for (std::size_t i = keys.size(); i-- > 0;) EXPECT_EQ(m.match(keys[i]), &r[i]);
}

TEST(protocol_matching, a_collective_context_is_apart_from_its_point_to_point_twin) {
    memory_ration memory;
    matching m{memory.source()};
    receive r;
    context_id const c{42};
    ASSERT_EQ(m.post(r, {c, any_source, any_tag}), status::ok);
    EXPECT_EQ(m.match({collective(c), 0, 0}), nullptr);
    EXPECT_EQ(m.match({c, 0, 0}), &r);
}

/// A hundred thousand of anything: if a step walked what is there, this would take minutes.
constexpr int many = 100'000;

TEST(protocol_matching, many_receives_of_one_key_can_be_withdrawn_from_the_middle) {
    memory_ration memory;
    matching m{memory.source()};
    std::vector<receive> r(many);
    for (auto& x : r) ASSERT_EQ(m.post(x, of(1, 2, 3)), status::ok);
    for (int i = 0; i < many; ++i)
        if (i % 3) m.withdraw(r[i]);
    for (int i = 0; i < many; i += 3) ASSERT_EQ(m.match(of(1, 2, 3)), &r[i]);
    EXPECT_TRUE(m.quiet());
    EXPECT_LE(memory.given, 4096u) << "one key needs one bin";
}

TEST(protocol_matching, many_receives_of_distinct_keys_match_in_any_order) {
    memory_ration memory;
    matching m{memory.source()};
    std::vector<receive> r(many);
    for (int i = 0; i < many; ++i) ASSERT_EQ(m.post(r[i], of(7, i % 1000, i / 1000)), status::ok);
    for (int i = 0; i < many; ++i) {
        auto const k = static_cast<int>(std::int64_t{i} * 7919 % many);
        ASSERT_EQ(m.match(of(7, k % 1000, k / 1000)), &r[k]);
    }
    EXPECT_TRUE(m.quiet());
}

TEST(protocol_matching, many_messages_of_distinct_keys_are_found_by_every_kind_of_receive) {
    memory_ration memory;
    matching m{memory.source()};
    std::vector<message> a(many);
    for (int i = 0; i < many; ++i) ASSERT_EQ(m.store(a[i], of(7, i % 1000, i / 1000)), status::ok);
    int next = 0;
    for (; next < 1000; ++next) ASSERT_EQ(m.take({context_id{7}, any_source, any_tag}), &a[next]);
    for (; next < 2000; ++next) ASSERT_EQ(m.take({context_id{7}, any_source, next / 1000}), &a[next]);
    for (; next < 3000; ++next) ASSERT_EQ(m.take({context_id{7}, next % 1000, any_tag}), &a[next]);
    for (int i = many; i-- > next;) ASSERT_EQ(m.take(of(7, i % 1000, i / 1000)), &a[i]);
    EXPECT_TRUE(m.quiet());
}

TEST(protocol_matching, a_stream_of_keys_used_once_needs_bounded_memory) {
    memory_ration memory;
    matching m{memory.source()};
    receive r[10];
    for (int i = 0; i < 1'000'000; ++i) {
        ASSERT_EQ(m.match(of(3, 1, i - 10)), i >= 10 ? &r[i % 10] : nullptr);
        ASSERT_EQ(m.post(r[i % 10], of(3, 1, i)), status::ok);
    }
    EXPECT_LE(memory.given, 256u * 1024);
}

TEST(protocol_matching, wildcards_cost_nothing_more_once_the_tables_ran_empty) {
    memory_ration memory;
    matching m{memory.source()};
    message a[20];
    for (int i = 0; i < 20; ++i) ASSERT_EQ(m.store(a[i], of(1, i, 0)), status::ok);
    for (auto& x : a) ASSERT_EQ(m.take({context_id{1}, any_source, 0}), &x);
    auto const before = m.bins().bins();
    ASSERT_EQ(m.store(a[0], of(2, 0, 0)), status::ok);
    EXPECT_EQ(m.bins().bins(), before + 1) << "only the message's own bin is made";
}

TEST(protocol_matching, a_refused_receive_or_message_leaves_no_trace) {
    memory_ration memory{0};
    matching m{memory.source()};
    receive r;
    message a;
    EXPECT_EQ(m.post(r, of(1, 2, 3)), status::no_memory);
    EXPECT_EQ(m.store(a, of(1, 2, 3)), status::no_memory);
    EXPECT_TRUE(m.quiet());
    memory.left = 1 << 20;
    EXPECT_EQ(m.match(of(1, 2, 3)), nullptr);
    EXPECT_EQ(m.find(of(1, 2, 3)), nullptr);
    EXPECT_EQ(m.post(r, of(1, 2, 3)), status::ok);
    EXPECT_EQ(m.match(of(1, 2, 3)), &r);
}

TEST(protocol_matching, a_message_with_a_wildcard_or_another_impossible_envelope_is_refused) {
    memory_ration memory;
    matching m{memory.source()};
    message a;
    for (auto const& e : {of(1, any_source, 3), of(1, 2, any_tag), of(1, -5, 3), of(1, 2, -1), of(1, 2, -0x7fffffff - 1)})
        EXPECT_EQ(m.store(a, e), status::refused);
    EXPECT_TRUE(m.quiet());
}

TEST(protocol_matching, without_memory_for_wildcard_bins_wildcards_still_find_the_earliest) {
    memory_ration memory{4096}; // one chunk of 64 bins
    matching m{memory.source()};
    std::vector<message> a(60);
    for (int i = 0; i < 60; ++i) ASSERT_EQ(m.store(a[i], of(1, i, i)), status::ok);
    EXPECT_EQ(m.find({context_id{1}, any_source, 30}), &a[30]);
    for (int i = 0; i < 60; ++i) ASSERT_EQ(m.take({context_id{1}, i % 2 ? i : any_source.value, any_tag}), &a[i]);
}

TEST(protocol_matching, the_report_of_posted_receives_is_in_post_order_for_each_key) {
    memory_ration memory;
    matching m{memory.source()};
    std::vector<receive> r(300);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(m.post(r[i], of(1, i % 7, 0)), status::ok);
    std::vector<std::vector<posted_hook const*>> seen(7);
    m.each_posted([&](posted_hook const& p) { seen[static_cast<std::size_t>(p.what.source.value)].push_back(&p); });
    for (int s = 0; s < 7; ++s)
        for (std::size_t i = 0; i < seen[s].size(); ++i) EXPECT_EQ(seen[s][i], &r[7 * i + s]);
}

/// One block that holds everything, so that a copy of the block is what another process would map somewhere else.
struct block {
    static constexpr std::size_t size = 1 << 20;
    struct alignas(64) line {
        std::byte bytes[64];
    };
    std::vector<line> lines = std::vector<line>(size / 64);
    std::size_t used = 0;
    std::byte* begin() { return lines.front().bytes; }
    template <class T> T* make(auto&&... args) { return new (take(sizeof(T))) T(args...); }
    void* take(std::size_t n) { return lines[std::exchange(used, used + (n + 63) / 64 * 64) / 64].bytes; }
    mpt::memory_source source() {
        return {[](void* self, std::size_t n, std::size_t) noexcept { return static_cast<block*>(self)->take(n); }, this};
    }
};

TEST(protocol_matching, another_process_reads_the_entries_at_other_addresses) {
    block owner;
    auto* const m = owner.make<matching>(owner.source());
    for (int i = 0; i < 500; ++i) {
        ASSERT_EQ(m->post(*owner.make<receive>(), of(1, i, 7)), status::ok);
        ASSERT_EQ(m->store(*owner.make<message>(), of(2, i, 8)), status::ok);
    }
    ASSERT_LT(owner.used, block::size);
    block copy;
    auto* const base = copy.begin();
    std::memcpy(base, owner.begin(), owner.used);
    auto const see = [&]<class T>(T* p) -> T* {
        auto const at = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(owner.begin());
        return at < owner.used ? reinterpret_cast<T*>(base + at) : nullptr;
    };
    auto const theirs = reinterpret_cast<matching const*>(base + (reinterpret_cast<std::byte*>(m) - owner.begin()));
    std::memset(owner.begin(), 0xdd, owner.used); // the owner's addresses mean nothing here
    int posted = 0, arrivals = 0;
    theirs->each_posted([&](posted_hook const& p) { posted += p.what.label == 7; }, see);
    theirs->each_arrival([&](arrival_hook const& a) { EXPECT_EQ(a.what.source, arrivals++); }, see);
    EXPECT_EQ(posted, 500);
    EXPECT_EQ(arrivals, 500);
    EXPECT_EQ(theirs->posted(), 500u);
}

TEST(protocol_matching, a_torn_picture_of_the_tables_ends_the_walk) {
    block owner;
    auto* const m = owner.make<matching>(owner.source());
    message* last = nullptr;
    for (int i = 0; i < 50; ++i) ASSERT_EQ(m->store(*(last = owner.make<message>()), of(2, i, 8)), status::ok);
    auto* const second = last->order.previous;
    second->next = second; // a ring that never comes back to its head
    int seen = 0;
    m->each_arrival([&](arrival_hook const&) { ++seen; });
    EXPECT_EQ(seen, 50);
    second->next = &last->order;
    auto const blind = [&]<class T>(T* p) -> T* { return static_cast<void const*>(p) == &last->order ? nullptr : p; };
    seen = 0;
    m->each_arrival([&](arrival_hook const&) { ++seen; }, blind);
    EXPECT_EQ(seen, 49);
}

} // namespace
