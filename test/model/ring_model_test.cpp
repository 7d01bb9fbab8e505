// The mailbox ring under every schedule that a seed can draw: frames arrive once, whole and in order; a cell is never written
// while it is read; and no order in the headers can be spared.
#include <array>
#include <memory>

#include <gtest/gtest.h>
#include <mpt/transport/smp/ring.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
namespace smp = mpt::smp;

struct ring_program {
    unsigned frames;
    std::uint32_t first; // where the counters start
    static constexpr std::uint32_t lines = 4;

    struct state {
        std::array<smp::line<model_atomics>, lines> cells{};
        model_atomics::atomic<std::uint32_t> consumed;
        smp::ring_writer<model_atomics> out;
        smp::ring_reader<model_atomics> in;
        explicit state(std::uint32_t first)
            : consumed{first}, out{cells.data(), consumed, lines, first}, in{cells.data(), consumed, lines, first} {}
    };

    void operator()(execution& x) const {
        auto s = std::make_shared<state>(first);
        auto const start = smp::first_number(smp::direction::from_lower, first);
        x.thread([s, start, n = frames] {
            for (unsigned i = 0; i < n; ++i) {
                auto* c = s->out.reserve();
                for (; c == nullptr; c = s->out.reserve()) model_atomics::pause();
                plain_write(c, offsetof(smp::line<model_atomics>, number));
                c->publish(static_cast<std::uint16_t>(i), 0, start + i * smp::number_step);
            }
        });
        x.thread([s, start, n = frames] {
            for (unsigned i = 0; i < n; ++i) {
                while (!s->in.front().holds(start + i * smp::number_step)) model_atomics::pause();
                plain_read(&s->in.front(), offsetof(smp::line<model_atomics>, number));
                require(s->in.front().size == i, "the frame that was sent");
                s->in.pop();
            }
        });
    }
};

TEST(ring_model, frames_arrive_once_whole_and_in_order) {
    for (auto const& program : {ring_program{3, 0}, ring_program{9, 0}, ring_program{9, 0xfffffffb}}) {
        auto const result = check({.schedules = 8000}, program);
        EXPECT_TRUE(result.ok) << result.report;
    }
}

TEST(ring_model, needs_every_order_of_its_headers) {
    for (auto const* file : {"ring.hpp", "line.hpp"}) {
        auto const missed = needless({.schedules = 4000}, ring_program{9, 0}, file);
        for (auto const& m : missed) ADD_FAILURE() << m;
    }
}

} // namespace
