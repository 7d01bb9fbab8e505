#include <gtest/gtest.h>
#include <mpt/core/hash.hpp>
#include <mpt/shmem/segments.hpp>

namespace {
int initialized = 7, zeroed;
int const constant = 5;

std::uint64_t number(void const* p) { return reinterpret_cast<std::uintptr_t>(p); }

TEST(shmem_segments, hold_data_with_static_storage_and_nothing_else) {
    static int local;
    auto const all = mpt::shmem::data_segments();
    int automatic = 0;
    auto const heap = std::make_unique<int>();
    for (void const* p : {static_cast<void const*>(&initialized), static_cast<void const*>(&zeroed),
                          static_cast<void const*>(&local), static_cast<void const*>(&constant)}) {
        auto const k = mpt::shmem::segment_of(all, number(p));
        ASSERT_LT(k, all.size());
        EXPECT_EQ(all[k].is_constant(), p == &constant);
        EXPECT_LE(all[k].at, number(p));
        EXPECT_LT(number(p), all[k].at + all[k].bytes);
    }
    EXPECT_LT(mpt::shmem::segment_of(all, number(stderr)), all.size()); // of a library
    for (void const* p : {static_cast<void const*>(&automatic), static_cast<void const*>(heap.get())})
        EXPECT_EQ(mpt::shmem::segment_of(all, number(p)), all.size());
}

TEST(shmem_segments, of_the_program_are_named_by_it) {
    auto const all = mpt::shmem::data_segments();
    EXPECT_NE(all[mpt::shmem::segment_of(all, number(&initialized))].object, mpt::hash_of(std::string_view{}));
}

TEST(shmem_segments, are_the_same_at_every_look) {
    auto const one = mpt::shmem::data_segments(), two = mpt::shmem::data_segments();
    ASSERT_EQ(one.size(), two.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i].at, two[i].at);
        EXPECT_EQ(one[i].object, two[i].object);
    }
}
} // namespace
