// The life of a job on one node, as its launcher sees it.
//
//        start ranks --> all ended well --------------------------------------------> exit code 0
//              |
//              +--> one failed, the time is over ----> say so once, aborted = 1 + code in the control segment,
//              |                                       SIGTERM; 2 s later SIGKILL ---> its code, 128 + signal, 124
//              +--> INT TERM HUP came ---------------> says who waits for whom if all have for 1 s; passed on; 2 s later SIGKILL;
//              |                                       a second INT kills at once
//              +--> USR1 USR2 TSTP CONT came --------> passed on
//              +--> QUIT came, or nothing has moved for MPT_HANG_REPORT seconds --> says who waits for whom, and goes on
//
//   Nothing here is busy: SIGCHLD says that a rank ended. Nothing is left behind: segments have no names, ranks die with
//   mptrun (PDEATHSIG), what a failed job leaves in the ranks' process groups is killed, and where mptrun itself is killed
//   the sentinel does that.
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
#include "report.hpp"
#include "sentinel.hpp"
#include "streams.hpp"

namespace mptrun {

class supervisor {
public:
    supervisor(options const& o, images const& what);
    ~supervisor();
    /// Starts the ranks, waits for them, returns mptrun's exit code. Throws usage_error when they cannot be started.
    int run();

private:
    void catch_signals();
    void start_all();
    void listen();
    void signalled(int signal);
    void explain(int signal) const;
    void reap();
    void ended(int rank, int wait_status);
    void judge_quiet_end(int rank);
    void look_for_deserters();
    void fail(int rank, int code, std::string const& why);
    bool lacks_checks(int rank, int code) const;
    void end_others(int signal);
    void send(int signal);
    void finish();
    void stop_when_drained();
    void watch_progress();
    void say_all(std::string const& first, std::vector<std::string> const& more) const;
    std::string others() const;
    std::string name_of(int rank) const;
    std::string before_joining(int rank) const;
    std::span<mpt::boot::control_record> records() const;
    report look() const { return {records(), ranks_}; }
    mpt::boot::control_record& record(int rank) const { return records()[static_cast<std::size_t>(rank)]; }

    sentinel sentinel_; // before anything that it would hold too
    options const& options_;
    images const& images_;
    mpt::mem::arena_plan plan_;
    std::shared_ptr<mpt::mem::arena> arena_;
    mpt::boot::control_header* header_;
    boost::asio::io_context io_{1};
    boost::asio::signal_set signals_;
    boost::asio::steady_timer limit_, grace_, deserters_, drain_, progress_;
    std::vector<int> ignored_; // signals that whoever started us wants ignored
    std::vector<member> ranks_;
    stream_set streams_;
    int alive_ = 0;
    int code_ = 0;
    bool failed_ = false; // the first failure has been said
    bool ending_ = false; // the ranks have been told to end
    int interrupts_ = 0;
    std::chrono::milliseconds tick_; // how often it is looked for progress; 0: never
    std::uint64_t seen_ = 0;         // report::fingerprint() of the last look
    int unchanged_ = 0;              // looks that saw the same
    bool left_early_ = false;        // a rank that never joined has ended
};

} // namespace mptrun
