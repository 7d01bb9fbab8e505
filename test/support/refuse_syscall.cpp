// refuse_syscall ERRNO name [name...] -- program [args...]
// Runs a program for which the kernel refuses some system calls, as a container's seccomp profile does. ERRNO is EPERM, ENOSYS,
// EACCES or ENOMEM. The filter goes on to all descendants. Exit 125: the filter cannot be set; 126: the program cannot be run.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {
struct named {
    std::string_view name;
    int number;
};
constexpr std::array calls{
    named{"process_vm_readv", SYS_process_vm_readv},
    named{"process_vm_writev", SYS_process_vm_writev},
    named{"memfd_create", SYS_memfd_create},
    named{"membarrier", SYS_membarrier},
    named{"pidfd_open", SYS_pidfd_open},
    named{"fallocate", SYS_fallocate},
    named{"mbind", SYS_mbind},
    named{"sched_getaffinity", SYS_sched_getaffinity},
    named{"sched_setaffinity", SYS_sched_setaffinity},
    named{"close_range", SYS_close_range},
};
constexpr std::array errors{named{"EPERM", EPERM}, named{"ENOSYS", ENOSYS}, named{"EACCES", EACCES}, named{"ENOMEM", ENOMEM}};

int number_of(auto const& table, std::string_view name) {
    for (auto const& t : table)
        if (t.name == name) return t.number;
    std::fprintf(stderr, "refuse_syscall: \"%.*s\" is not in its table\n", static_cast<int>(name.size()), name.data());
    ::_exit(125);
}

sock_filter statement(unsigned code, unsigned k) { return {static_cast<unsigned short>(code), 0, 0, k}; }

void refuse(std::vector<int> const& numbers, int with) {
    std::vector<sock_filter> filter{statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (auto const n : numbers) {
        filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<unsigned>(n)});
        filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(with)));
    }
    filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog const program{static_cast<unsigned short>(filter.size()), filter.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return;
    std::fprintf(stderr, "refuse_syscall: no filter: %s\n", std::strerror(errno));
    ::_exit(125);
}
} // namespace

int main(int argc, char** argv) {
    std::vector<int> numbers;
    int at = 2;
    for (; at < argc && std::string_view{argv[at]} != "--"; ++at) numbers.push_back(number_of(calls, argv[at]));
    if (at + 1 >= argc || numbers.empty()) {
        std::fprintf(stderr, "usage: refuse_syscall ERRNO name [name...] -- program [args...]\n");
        return 125;
    }
    refuse(numbers, number_of(errors, argv[1]));
    ::execvp(argv[at + 1], argv + at + 1);
    std::fprintf(stderr, "refuse_syscall: cannot run %s: %s\n", argv[at + 1], std::strerror(errno));
    return 126;
}
