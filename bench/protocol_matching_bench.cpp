// What a step of the matching costs, alone: no frame, no copy, no lock.
//
//   receive_then_message    time from post() to the match() that takes the receive out: one of each, `entries` others waiting
//   message_then_receive    time from store() to the take() that takes the message out: one of each, `entries` others kept
//   wildcard_...            the same with a receive that leaves the source open
//
// Arguments: entries waiting besides; distinct keys among them. With 1 key they all wait under the key that is measured, so
// that the entry taken is the oldest of them; otherwise the steps go through all the keys in turn, and caches count.
// Cost should not grow with entries but for the cache misses of touching that many.
// Fixture memory: a chunk at a time from operator new, zeroed, never given back before the end.
#include <cstdlib>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include <mpt/protocol/matching.hpp>

namespace {

using mpt::any_source;
using mpt::any_tag;
using mpt::context_id;
using mpt::status;
using namespace mpt::protocol;

class chunks {
    std::vector<std::unique_ptr<void, decltype(&std::free)>> all_;

public:
    mpt::memory_source source() {
        return {[](void* self, std::size_t n, std::size_t align) noexcept -> void* {
                    auto* const p = std::aligned_alloc(align, (n + align - 1) / align * align);
                    if (!p) return nullptr;
                    static_cast<chunks*>(self)->all_.emplace_back(p, &std::free);
                    return __builtin_memset(p, 0, n);
                },
                this};
    }
};

struct bed {
    chunks memory;
    matching tables{memory.source()};
    std::int64_t entries, keys;

    explicit bed(benchmark::State const& state) : entries{state.range(0)}, keys{state.range(1)} {}
    envelope key(std::int64_t i) const {
        return {context_id{0x5eed'0000'1234'5678u}, keys == 1 ? 3 : i % keys % 1000, keys == 1 ? 7 : i % keys / 1000};
    }
};

void check(benchmark::State& state, bool good) {
    if (!good) state.SkipWithError("a step gave the wrong entry");
}

// One more receive than `entries` waits at most; each round posts one and matches the oldest of its key.
void receive_then_message(benchmark::State& state) {
    bed b{state};
    std::vector<posted_hook> receives(static_cast<std::size_t>(b.entries) + 1);
    std::int64_t i = 0;
    bool good = true;
    for (; i < b.entries; ++i) good &= b.tables.post(receives[static_cast<std::size_t>(i)], b.key(i)) == status::ok;
    auto* fresh = &receives.back();
    for (auto _ : state) {
        auto const k = b.key(i++);
        good &= b.tables.post(*fresh, k) == status::ok;
        fresh = b.tables.match(k);
        if (!fresh) break;
    }
    check(state, good && fresh);
}

void message_then_receive(benchmark::State& state) {
    bed b{state};
    std::vector<arrival_hook> messages(static_cast<std::size_t>(b.entries) + 1);
    std::int64_t i = 0;
    bool good = true;
    for (; i < b.entries; ++i) good &= b.tables.store(messages[static_cast<std::size_t>(i)], b.key(i)) == status::ok;
    auto* fresh = &messages.back();
    for (auto _ : state) {
        auto const k = b.key(i++);
        good &= b.tables.store(*fresh, k) == status::ok;
        fresh = b.tables.take(k);
        if (!fresh) break;
    }
    check(state, good && fresh);
}

void wildcard_receive_then_message(benchmark::State& state) {
    bed b{state};
    std::vector<posted_hook> receives(static_cast<std::size_t>(b.entries) + 1);
    std::int64_t i = 0;
    bool good = true;
    for (; i < b.entries; ++i) good &= b.tables.post(receives[static_cast<std::size_t>(i)], b.key(i)) == status::ok;
    posted_hook open;
    envelope const wanted{context_id{1}, any_source, 7};
    posted_hook* got = nullptr;
    for (auto _ : state) {
        good &= b.tables.post(open, wanted) == status::ok;
        got = b.tables.match({context_id{1}, 5, 7});
    }
    check(state, good && got == &open);
}

void message_then_wildcard_receive(benchmark::State& state) {
    bed b{state};
    std::vector<arrival_hook> messages(static_cast<std::size_t>(b.entries) + 1);
    std::int64_t i = 0;
    bool good = true;
    for (; i < b.entries; ++i) good &= b.tables.store(messages[static_cast<std::size_t>(i)], b.key(i)) == status::ok;
    auto* fresh = &messages.back();
    for (auto _ : state) {
        auto const k = b.key(i++);
        good &= b.tables.store(*fresh, k) == status::ok;
        fresh = b.tables.take({k.context, any_source, any_tag});
        if (!fresh) break;
    }
    check(state, good && fresh);
}

void sizes(benchmark::internal::Benchmark* b) {
    b->ArgNames({"entries", "keys"});
    for (int entries : {0, 10, 1000, 100'000}) b->Args({entries, 1});
    for (int entries : {10, 1000, 100'000}) b->Args({entries, entries});
}
BENCHMARK(receive_then_message)->Apply(sizes);
BENCHMARK(message_then_receive)->Apply(sizes);
BENCHMARK(wildcard_receive_then_message)->Apply(sizes);
BENCHMARK(message_then_wildcard_receive)->Apply(sizes);

} // namespace

BENCHMARK_MAIN();
