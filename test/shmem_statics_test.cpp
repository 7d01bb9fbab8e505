#include <array>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/shmem/statics.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
using mpt::rank;
using mpt::shmem::static_file;
using mpt::shmem::static_map;

int initialized = 7;
int zeroed[1 << 16];
alignas(4096) char page[4096];

std::uint64_t number(void const* p) { return reinterpret_cast<std::uintptr_t>(p); }
bool is_part(void const* p) {
    for (auto const& s : mpt::shmem::static_parts())
        if (number(p) - s.at < s.bytes) return true;
    return false;
}
constexpr std::uint64_t any = 1ull << 40;

TEST(shmem_statics, are_what_the_program_may_write) {
    static int local;
    static int const constant = 5;
    int automatic = 0;
    EXPECT_TRUE(is_part(&initialized));
    EXPECT_TRUE(is_part(zeroed));
    EXPECT_TRUE(is_part(&local));
    EXPECT_FALSE(is_part(&constant));
    EXPECT_FALSE(is_part(&automatic));
    EXPECT_FALSE(is_part(reinterpret_cast<void const*>(&::getpid)));
}

// The tests below come in this order: once shared, they stay so.
TEST(shmem_statics, stay_private_where_they_are_too_long) {
    EXPECT_FALSE(mpt::shmem::share_statics(mpt::shmem::static_parts(), sizeof zeroed));
    EXPECT_FALSE(mpt::shmem::share_statics(mpt::shmem::static_parts(), 0));
    EXPECT_FALSE(mpt::shmem::share_statics({}, any));
}
TEST(shmem_statics, stay_private_where_another_thread_might_store) {
    static_file shared;
    std::thread([&] { shared = mpt::shmem::share_statics(mpt::shmem::static_parts(), any); }).join();
    EXPECT_FALSE(shared);
}
TEST(shmem_statics, stay_private_where_some_are_protected) {
    ASSERT_EQ(::mprotect(page, sizeof page, PROT_READ), 0);
    EXPECT_FALSE(mpt::shmem::share_statics(mpt::shmem::static_parts(), any));
    ASSERT_EQ(::mprotect(page, sizeof page, PROT_READ | PROT_WRITE), 0);
}

/// The same process as PE 0 sees it from PE 1.
struct shmem_statics_shared : testing::Test {
    static_file file = mpt::shmem::share_statics(mpt::shmem::static_parts(), any);
    static_map other;
    void SetUp() override {
        if (!file) GTEST_SKIP() << "this process has a thread that a sanitizer began";
        other.learn(mpt::shmem::static_parts(), {file, file}, rank{1});
    }
    template <class T> T& at(T& variable) { return *reinterpret_cast<T*>(other.find(&variable, rank{0})); }
};

TEST_F(shmem_statics_shared, keep_what_they_held_and_are_one_with_what_others_map) {
    EXPECT_EQ(initialized, 7);
    zeroed[5] = 6;
    EXPECT_NE(&at(initialized), &initialized);
    EXPECT_EQ(at(initialized), 7);
    EXPECT_EQ(at(zeroed)[5], 6);
    at(initialized) = 8;
    EXPECT_EQ(std::exchange(initialized, 7), 8);
    EXPECT_EQ(other.find(&initialized, rank{1}), reinterpret_cast<std::byte*>(&initialized));
    int automatic = 0;
    EXPECT_EQ(other.find(&automatic, rank{0}), nullptr);
}
TEST_F(shmem_statics_shared, are_shared_once) {
    auto const again = mpt::shmem::share_statics(mpt::shmem::static_parts(), any);
    EXPECT_EQ(again.file, file.file);
    EXPECT_EQ(again.inode, file.inode);
}
TEST_F(shmem_statics_shared, are_found_nowhere_where_the_file_is_another) {
    auto closed = file, other_program = file;
    closed.inode += 1, other_program.bytes += 4096;
    static_map wrong;
    wrong.learn(mpt::shmem::static_parts(), {closed, other_program, {}, file}, rank{3});
    for (rank const pe : {rank{0}, rank{1}, rank{2}}) EXPECT_EQ(wrong.find(&initialized, pe), nullptr);
}

/// What f says in a child of fork().
template <class F> int in_child(F const& f) {
    auto const child = ::fork();
    if (child == 0) ::_exit(f());
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
TEST_F(shmem_statics_shared, are_a_childs_own) {
    initialized = 1, zeroed[1] = 2;
    EXPECT_EQ(in_child([] {
                  auto const seen = initialized == 1 && zeroed[1] == 2 && zeroed[60000] == 0;
                  initialized = 10, zeroed[1] = 20, zeroed[60000] = 30;
                  return seen && in_child([] { return std::exchange(initialized, 11); }) == 10 && initialized == 10 ? 3 : 4;
              }),
              3);
    EXPECT_EQ(initialized, 1);
    EXPECT_EQ(zeroed[1], 2);
    EXPECT_EQ(zeroed[60000], 0);
    initialized = 7;
}
TEST_F(shmem_statics_shared, are_a_childs_as_they_were_when_it_came_to_be) {
    std::array<int, 2> go{};
    ASSERT_EQ(::pipe(go.data()), 0);
    initialized = 1;
    auto const child = ::fork();
    if (child == 0) {
        char c = 0;
        ::_exit(::read(go[0], &c, 1) == 1 && initialized == 1 ? 0 : 1);
    }
    initialized = 2;
    EXPECT_EQ(::write(go[1], "x", 1), 1);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(std::exchange(initialized, 7), 2);
    ::close(go[0]), ::close(go[1]);
}
TEST_F(shmem_statics_shared, are_the_own_of_children_that_threads_make_at_once) {
    std::vector<std::thread> threads;
    std::array<int, 3> wrong{};
    for (std::size_t t = 0; t < wrong.size(); ++t)
        threads.emplace_back([&, t] {
            auto& own = zeroed[100 + t];
            for (int i = 1; i <= 40; ++i) {
                own = i;
                wrong[t] += in_child([&] { return std::exchange(own, -1); }) != i || own != i;
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(wrong, (std::array<int, 3>{}));
}
TEST_F(shmem_statics_shared, are_a_childs_own_where_the_program_has_closed_the_file) {
    auto const kept = ::dup(static_cast<int>(file.file));
    ::close(static_cast<int>(file.file));
    zeroed[7] = 8;
    EXPECT_EQ(in_child([] { return std::exchange(zeroed[7], 9) + zeroed[8]; }), 8);
    EXPECT_EQ(zeroed[7], 8);
    ASSERT_EQ(::dup2(kept, static_cast<int>(file.file)), file.file);
    ::close(kept);
}
} // namespace
