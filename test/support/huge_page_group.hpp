/// test/support/huge_page_group - a process of a control group that may touch so many huge pages and no more, where the system lets us make
/// one (version 1's controller, mounted for the time of the test).
///
///        EXPECT_EQ(in_group_of(2, [] { return ...; }), 0);        what it returns, in a process of its own
#pragma once
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mpt::test {

inline constexpr int no_group = 77; // no control group of that sort can be made here
inline constexpr int died = 78;     // by a signal: of a touch beyond the limit, SIGBUS

namespace detail {
inline bool write_line(std::string const& file, std::string const& text) {
    std::ofstream to{file};
    return static_cast<bool>(to << text << std::flush);
}
/// f in a child: its value, or died.
template <class F> int in_child(F f) {
    auto const child = ::fork();
    if (child == 0) ::_exit(f());
    int is = 0;
    while (::waitpid(child, &is, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(is) ? WEXITSTATUS(is) : died;
}
inline bool has_hierarchy() {
    std::ifstream groups{"/proc/self/cgroup"};
    for (std::string line; std::getline(groups, line);)
        if (line.find(":hugetlb:") != line.npos) return true;
    return false;
}
/// Within a fifth of a second.
inline bool is_gone() {
    for (int tries = 0; tries < 20 && has_hierarchy(); ++tries) ::usleep(10'000);
    return !has_hierarchy();
}
} // namespace detail

template <class F> int in_group_of(unsigned pages, F f) {
    return detail::in_child([&] {
        auto folder = (std::filesystem::temp_directory_path() / "mpt-test-hugetlb-XXXXXX").string();
        if (::mkdtemp(folder.data()) == nullptr) return no_group;
        int code = no_group;
        auto const mount = [&] { return ::mount("none", folder.c_str(), "cgroup", 0, "hugetlb") == 0; };
        bool const was_there = detail::has_hierarchy();
        if (::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && mount()) {
            auto const group = folder + "/mpt-test-" + std::to_string(::getpid());
            std::error_code failed;
            if (std::filesystem::create_directory(group, failed) &&
                detail::write_line(group + "/hugetlb.2MB.limit_in_bytes", std::to_string(std::uint64_t{pages} << 21)))
                code = detail::in_child(
                    [&] { return detail::write_line(group + "/cgroup.procs", std::to_string(::getpid())) ? f() : no_group; });
            ::rmdir(group.c_str());
            ::usleep(20'000);
            ::umount(folder.c_str());
            // It goes, after a moment, with the last mount that finds it empty, and the kernel takes a moment to let a group go.
            for (int tries = 0; tries < 5 && !was_there && !detail::is_gone(); ++tries)
                if (mount()) ::umount(folder.c_str());
        }
        ::rmdir(folder.c_str());
        return code;
    });
}

} // namespace mpt::test
