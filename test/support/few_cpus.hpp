/// test/support/few_cpus - a thread, and those that it starts, on few CPUs.
#pragma once
#include <sched.h>

namespace mpt::test {

/// Lets the calling thread and those it starts from now run on `cpus` CPUs at most, as long as it lives.
class few_cpus {
    cpu_set_t before_;

public:
    explicit few_cpus(int cpus) {
        cpu_set_t now;
        CPU_ZERO(&now);
        ::sched_getaffinity(0, sizeof before_, &before_);
        for (int c = 0; c < CPU_SETSIZE && CPU_COUNT(&now) < cpus; ++c)
            if (CPU_ISSET(c, &before_)) CPU_SET(c, &now);
        ::sched_setaffinity(0, sizeof now, &now);
    }
    ~few_cpus() { ::sched_setaffinity(0, sizeof before_, &before_); }
};

} // namespace mpt::test
