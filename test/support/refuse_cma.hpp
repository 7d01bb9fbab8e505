/// test/support/refuse_cma - from here on the kernel refuses this process CMA, as a container's profile does. For good.
#pragma once
#include <array>
#include <cstddef>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace mpt::test {

/// with: the errno. False: no filter can be set here.
inline bool refuse_cma(int with) {
    auto const statement = [](unsigned code, unsigned k) { return sock_filter{static_cast<unsigned short>(code), 0, 0, k}; };
    auto const jump = [](unsigned k) { return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, k}; };
    auto const answer = statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(with));
    std::array filter{statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                      jump(SYS_process_vm_readv),
                      answer,
                      jump(SYS_process_vm_writev),
                      answer,
                      statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog const program{filter.size(), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

} // namespace mpt::test
