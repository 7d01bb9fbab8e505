#include <stdexcept>

#include <gtest/gtest.h>
#include <mpt/lock/none.hpp>
#include <mpt/stack/waiting.hpp>
#include <mpt/world/native.hpp>

namespace {

using namespace mpt;
constexpr world::native world_;
using lock_type = lock::none::type<world::native>;

TEST(stack_waiting, a_wait_tells_once_and_takes_it_back_at_its_end) {
    wait_record record{};
    waiting const first{wait_for::receive, context_id{7}, rank{3}, tag{5}, 24},
        second{wait_for::probe, context_id{8}, rank{4}, tag{6}, 0};
    try {
        telling said{record, world_};
        EXPECT_EQ(read(record).what, wait_for::nothing);
        said.tell(first);
        said.tell(second);
        auto const seen = read(record);
        EXPECT_EQ(seen.what, wait_for::receive);
        EXPECT_EQ(seen.context, context_id{7});
        EXPECT_EQ(seen.peer, 3);
        EXPECT_EQ(seen.label, 5);
        EXPECT_EQ(seen.size, 24u);
        throw std::runtime_error{"the job was ended"};
    } catch (std::runtime_error const&) {}
    EXPECT_EQ(read(record).what, wait_for::nothing);
}

TEST(stack_waiting, a_wait_that_told_nothing_leaves_what_another_told) {
    wait_record record{};
    telling longer{record, world_};
    longer.tell({wait_for::probe});
    { telling const brief{record, world_}; }
    EXPECT_EQ(read(record).what, wait_for::probe);
}

TEST(stack_waiting, a_thread_is_present_once_from_its_first_look_in_vain_until_it_leaves) {
    wait::berths<world::native> all;
    lock_type lock;
    {
        presence<world::native, lock_type> one{all, world_, lock}, other{all, world_, lock};
        EXPECT_EQ(all.looking(), 0u);
        one.come(), one.come();
        EXPECT_EQ(all.looking(), 1u);
        other.come();
        EXPECT_EQ(all.looking(), 2u);
        one.go(), one.go();
        EXPECT_EQ(all.looking(), 1u);
        one.come();
        one.leave(), one.leave();
        EXPECT_EQ(all.looking(), 1u);
    }
    EXPECT_EQ(all.looking(), 0u) << "its end, be it by an exception, is a leave";
}

} // namespace
