/// support/watchdog - ends a test that hangs, with a sentence instead of the runner's silence. What is sanitized takes up to ten times
/// as long, and has three times the time: the runner gives it four times.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "sanitized.hpp"

namespace mpt::test {

class watchdog {
    std::mutex m_;
    std::condition_variable over_;
    bool done_ = false;
    std::thread thread_;

public:
    explicit watchdog(std::string what, std::chrono::seconds limit = std::chrono::seconds{60})
        : thread_{[this, limit = limit * (sanitized ? 3 : 1), what = std::move(what)] {
              std::unique_lock l{m_};
              if (over_.wait_for(l, limit, [this] { return done_; })) return;
              std::fprintf(stderr, "watchdog: %s did not end in %lld s\n", what.c_str(), static_cast<long long>(limit.count()));
              std::abort();
          }} {}
    ~watchdog() {
        {
            std::lock_guard const l{m_};
            done_ = true;
        }
        over_.notify_one();
        thread_.join();
    }
};

} // namespace mpt::test
