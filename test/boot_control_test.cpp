// The control segment is read by programs of other builds: its layout is fixed.
#include <cstddef>
#include <set>

#include <gtest/gtest.h>
#include <mpt/boot/control.hpp>

#include "support/job_of.hpp"

namespace {
using namespace mpt;
using boot::control_header;
using boot::control_record;

TEST(control, layout_is_the_one_of_version_1) {
    EXPECT_EQ(control_header::current_version, 1u);
    EXPECT_EQ(offsetof(control_header, magic), 0u);
    EXPECT_EQ(offsetof(control_header, version), 8u);
    EXPECT_EQ(offsetof(control_header, ranks), 12u);
    EXPECT_EQ(offsetof(control_header, cookie), 16u);
    EXPECT_EQ(offsetof(control_header, stride), 32u);
    EXPECT_EQ(offsetof(control_header, job_id), 40u);
    EXPECT_EQ(offsetof(control_header, fences), 48u);
    EXPECT_EQ(offsetof(control_header, scarce), 52u);
    EXPECT_EQ(offsetof(control_header, launcher_pid), 56u);
    EXPECT_EQ(offsetof(control_header, arrived), 128u);
    EXPECT_EQ(offsetof(control_header, aborted), 256u);
    EXPECT_EQ(sizeof(control_record), 8192u);
    EXPECT_EQ(offsetof(control_record, state), 0u);
    EXPECT_EQ(offsetof(control_record, layout), 24u);
    EXPECT_EQ(offsetof(control_record, stack_name), 40u);
    EXPECT_EQ(offsetof(control_record, slice_bytes), 144u);
    EXPECT_EQ(offsetof(control_record, job_values), 152u);
    EXPECT_EQ(offsetof(control_record, addresses), 1176u);
    EXPECT_EQ(boot::control_records_at, 4096u);
    EXPECT_EQ(boot::control_bytes(3), 4096u + 3 * 8192);
}

TEST(control, what_several_ranks_write_lies_on_lines_of_its_own) {
    EXPECT_GE(offsetof(control_header, arrived) - offsetof(control_header, launcher_pid), cache_line);
    EXPECT_GE(offsetof(control_header, aborted) - offsetof(control_header, arrived), line_pair);
    EXPECT_EQ(offsetof(control_record, waiting) % line_pair, 0u);
    EXPECT_EQ(offsetof(control_record, calls) % line_pair, 0u);
}

TEST(control, every_job_has_its_own_cookie_and_number) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 8; ++i) {
        auto const m = test::job_of(1).front();
        auto const& h = *reinterpret_cast<control_header const*>(m.arena->control().data());
        EXPECT_EQ(h.magic, control_header::magic_value);
        EXPECT_EQ(h.ranks, 1u);
        EXPECT_EQ(h.stride, m.plan.stride);
        for (auto const x : {h.cookie[0], h.cookie[1], h.job_id}) EXPECT_TRUE(seen.insert(x).second);
    }
}

TEST(control, records_start_absent_and_empty) {
    auto const m = test::job_of(2).front();
    for (auto const b : m.arena->control().subspan(boot::control_records_at)) ASSERT_EQ(b, std::byte{0});
}
} // namespace
