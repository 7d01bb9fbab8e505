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

/// Frames of one to three cells.
struct long_program {
    unsigned frames;
    std::uint32_t first;
    static constexpr std::size_t watched = offsetof(smp::line<model_atomics>, number);
    static std::uint32_t cells_of(unsigned i) { return 1 + i * 7 % 3; }

    void operator()(execution& x) const {
        auto s = std::make_shared<ring_program::state>(first);
        auto const start = smp::first_number(smp::direction::from_lower, first);
        x.thread([s, start, n = frames] {
            for (unsigned i = 0; i < n; ++i) {
                auto cells = s->out.reserve(cells_of(i));
                for (; !cells; cells = s->out.reserve(cells_of(i))) model_atomics::pause();
                for (std::uint32_t k = 0; k < cells_of(i); ++k) plain_write(&cells[k], watched);
                cells[0].publish(static_cast<std::uint16_t>(i), 0, start + i * smp::number_step);
            }
        });
        x.thread([s, start, n = frames] {
            for (unsigned i = 0; i < n; ++i) {
                while (!s->in.front().holds(start + i * smp::number_step)) model_atomics::pause();
                auto const cells = s->in.cells();
                require(cells[0].size == i, "the frame that was sent");
                for (std::uint32_t k = 0; k < cells_of(i); ++k) plain_read(&cells[k], watched);
                s->in.skip(cells_of(i) - 1);
                s->in.pop();
            }
        });
    }
};

TEST(ring_model, frames_arrive_once_whole_and_in_order) {
    for (auto const& program : {long_program{4, 0}, long_program{9, 0}, long_program{9, 0xfffffffb}}) {
        auto const result = check({.schedules = 8000}, program);
        EXPECT_TRUE(result.ok) << result.report;
    }
    for (auto const& program : {ring_program{3, 0}, ring_program{9, 0}, ring_program{9, 0xfffffffb}}) {
        auto const result = check({.schedules = 8000}, program);
        EXPECT_TRUE(result.ok) << result.report;
    }
}

TEST(ring_model, needs_every_order_of_its_headers) {
    for (auto const* file : {"ring.hpp", "line.hpp"}) {
        for (auto const& m : needless({.schedules = 4000}, ring_program{9, 0}, file)) ADD_FAILURE() << m;
        for (auto const& m : needless({.schedules = 4000}, long_program{9, 0}, file)) ADD_FAILURE() << "long: " << m;
    }
}

} // namespace
