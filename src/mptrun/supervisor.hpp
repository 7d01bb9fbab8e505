// The life of a job on one node, as its launcher sees it.
//
//        start ranks --> all ended well --------------------------------------------> exit code 0
//              |
//              +--> one failed, the time is over ----> say so once, aborted = 1 + code in the control segment,
//              |                                       SIGTERM; 2 s later SIGKILL ---> its code, 128 + signal, 124
//              +--> INT TERM HUP came ---------------> passed on; 2 s later SIGKILL; a second INT kills at once
//              +--> USR1 USR2 TSTP CONT came --------> passed on
//
//   Nothing here is busy: SIGCHLD says that a rank ended. Nothing is left behind: segments have no names, ranks die with
//   mptrun (PDEATHSIG), and what a failed job leaves in the ranks' process groups is killed.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <mpt/boot/boot.hpp>

#include "image.hpp"
#include "options.hpp"
#include "ranks.hpp"
#include "streams.hpp"

namespace mptrun {

class supervisor {
public:
    supervisor(options const& o, images const& what);
    ~supervisor();
    /// Starts the ranks, waits for them, returns mptrun's exit code. Throws usage_error when they cannot be started.
    int run();

private:
    struct member {
        pid_t pid = -1;
        bool alive = false;
    };

    void catch_signals();
    void start_all();
    void listen();
    void signalled(int signal);
    void reap();
    void ended(int rank, int wait_status);
    void judge_quiet_end(int rank);
    void look_for_deserters();
    void fail(int rank, int code, std::string const& why);
    void end_others(int signal);
    void send(int signal);
    void finish();
    void stop_when_drained();
    std::string others() const;
    mpt::boot::control_record& record(int rank);

    options const& options_;
    images const& images_;
    mpt::mem::arena_plan plan_;
    std::shared_ptr<mpt::mem::arena> arena_;
    mpt::boot::control_header* header_;
    boost::asio::io_context io_{1};
    boost::asio::signal_set signals_;
    boost::asio::steady_timer limit_, grace_, deserters_, drain_;
    std::vector<int> ignored_; // signals that whoever started us wants ignored
    std::vector<member> ranks_;
    stream_set streams_;
    int alive_ = 0;
    int code_ = 0;
    bool failed_ = false; // the first failure has been said
    bool ending_ = false; // the ranks have been told to end
    int interrupts_ = 0;
    bool left_early_ = false; // a rank that never joined has ended
};

} // namespace mptrun
