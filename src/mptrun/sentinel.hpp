// A process beside mptrun, for the case that mptrun is killed by force.
//
//        mptrun --- a pipe: the ranks' process groups ---> sentinel          mptrun is gone: end of file, SIGKILL to each group
//
//   The ranks themselves die with mptrun (PDEATHSIG), but not what they started: that is in its rank's process group. A process
//   that left the group was meant to live on, and does. A sentinel that is killed is replaced. It holds nothing else open.
#pragma once
#include <vector>

#include <sys/types.h>

namespace mptrun {

class sentinel {
public:
    /// Where it cannot be started, the job goes without.
    sentinel() { start(); }
    ~sentinel() { stop(); }
    sentinel(sentinel const&) = delete;
    sentinel& operator=(sentinel const&) = delete;

    /// Called by the leader of the group itself, before it becomes what may start others: mptrun may be killed right after.
    void join(pid_t group) const noexcept { tell(group); }
    /// A group that has joined.
    void watch(pid_t group) { groups_.push_back(group); }
    /// The group is empty: another process may soon have its number.
    void forget(pid_t group);
    /// A child of mptrun has ended; true: it was the sentinel, and there is another now.
    bool replaced(pid_t ended);

private:
    void start();
    void stop() noexcept;
    void tell(pid_t word) const noexcept;

    std::vector<pid_t> groups_;
    pid_t pid_ = -1;
    int to_ = -1;
};

} // namespace mptrun
