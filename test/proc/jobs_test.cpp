// Thousands of short jobs in a row: no wrong exit code, nothing left. MPT_TEST_JOBS says how many (10,000).
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "../support/leftovers.hpp"
#include "../support/programs.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

namespace {
using namespace mpt::test;

long number(char const* variable, long otherwise) {
    auto const* const text = std::getenv(variable);
    return text ? std::strtol(text, nullptr, 10) : otherwise;
}

std::ptrdiff_t descriptors() {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, std::filesystem::directory_iterator{});
}
/// Shared memory of the machine, in kB.
long shared_memory() {
    std::ifstream file{"/proc/meminfo"};
    long n = 0;
    for (std::string word; file >> word;)
        if (word == "Shmem:") file >> n;
    return n;
}

/// mptrun, one rank that ends with this code; what is said goes nowhere. Returns mptrun's code.
int job_that_ends_with(int code, char** environment) {
    auto const text = std::to_string(code);
    auto const program_of_rank = program("MPT_TEST_RANK", "proc_rank");
    std::array<char const*, 7> const argv{mptrun.c_str(), "-n", "1", program_of_rank.c_str(), "code", text.c_str(), nullptr};
    posix_spawn_file_actions_t quiet;
    ::posix_spawn_file_actions_init(&quiet);
    ::posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    pid_t pid = -1;
    int status = -1;
    if (::posix_spawnp(&pid, mptrun.c_str(), &quiet, nullptr, const_cast<char**>(argv.data()), environment) == 0)
        ::waitpid(pid, &status, 0);
    ::posix_spawn_file_actions_destroy(&quiet);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(jobs, thousands_in_a_row_give_their_exit_codes_and_leave_nothing) {
    leftovers const left;
    std::string mark = left.mark().substr(std::strlen("env "));
    mark.pop_back();
    std::vector<char*> environment{mark.data()};
    for (auto** e = environ; *e; ++e) environment.push_back(*e);
    environment.push_back(nullptr);
    auto const most = number("MPT_TEST_JOBS", 10'000);
    auto const open = descriptors();
    auto const memory = shared_memory();
    for (long done = 0; done < most; ++done) {
        int const code = static_cast<int>(done % 3 == 0 ? 1 + done % 120 : 0);
        ASSERT_EQ(job_that_ends_with(code, environment.data()), code) << "job " << done;
    }
    EXPECT_EQ(descriptors(), open);
    EXPECT_EQ(left.found(), "");
    EXPECT_LT(shared_memory() - memory, 64 * 1024) << "kB of shared memory more than before";
}

} // namespace
