// Loans: a buffer is written again only after its reader is through with it.
#include <array>
#include <memory>

#include <gtest/gtest.h>
#include <mpt/transport/smp/pool.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
namespace smp = mpt::smp;

/// `messages` loans out of a pool of two; one word per message says which buffer and generation it lies in. Each is two pieces long;
/// begun: the word goes when the first is written.
struct loan_program {
    unsigned messages;
    bool begun = false;

    struct state {
        alignas(128) std::array<std::byte, 2 * 256> memory{};
        smp::loan_pool<model_atomics> pool{2, 16, 0xfffffe};
        std::array<model_atomics::atomic<std::uint32_t>, 6> sent{};
    };
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        x.thread([s, n = messages, begun = begun] {
            auto const extend = [&](std::size_t bytes) { return std::span{s->memory}.first(bytes); };
            for (std::uint32_t k = 0; k < n; ++k) {
                auto i = s->pool.lend(extend);
                for (; i == s->pool.none; i = s->pool.lend(extend)) model_atomics::pause();
                auto& b = s->pool.at(i);
                auto const piece = [&](std::size_t at) {
                    plain_write(b.data + at, 8);
                    b.data[at] = static_cast<std::byte>(k);
                };
                if (begun) b.begin(s->pool.generation(i));
                piece(0);
                if (!begun) piece(8);
                else b.show(s->pool.generation(i), 8);
                s->sent[k].store((s->pool.generation(i) << 1 | i) + 1, std::memory_order_release);
                if (begun) piece(8), b.show(s->pool.generation(i), 16);
            }
        });
        x.thread([s, n = messages, begun = begun] {
            using buffer = smp::loan_buffer<model_atomics>;
            for (std::uint32_t k = 0; k < n; ++k) {
                auto ref = s->sent[k].load(std::memory_order_acquire);
                for (; ref == 0; ref = s->sent[k].load(std::memory_order_acquire)) model_atomics::pause();
                auto& b = *reinterpret_cast<buffer*>(s->memory.data() + ((ref - 1) & 1) * 256);
                for (std::size_t at : {0u, 8u}) {
                    while (begun && b.shows((ref - 1) >> 1) < at + 8) model_atomics::pause();
                    plain_read(b.data + at, 8);
                    require(b.data[at] == static_cast<std::byte>(k), "the message that was sent");
                }
                b.give_back((ref - 1) >> 1);
            }
        });
    }
};

TEST(loan_model, a_message_lies_still_until_its_reader_gives_it_back) {
    for (bool const begun : {false, true}) {
        auto const result = check({.schedules = 8000}, loan_program{6, begun});
        EXPECT_TRUE(result.ok) << result.report;
    }
}

TEST(loan_model, needs_every_order_of_its_header) {
    for (auto const& m : needless({.schedules = 4000}, loan_program{6, true}, "pool.hpp")) ADD_FAILURE() << m;
}

} // namespace
