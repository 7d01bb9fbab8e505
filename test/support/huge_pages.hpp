/// test/support/huge_pages - a pool of huge pages for the time of a test, where the system lets us make one.
///
///        huge_pages const pool{8};                      eight pages of 2 MiB, free: nobody else's test has any meanwhile
///        if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
///        huge_pages const one{1, 1 << 30};              of 1 GiB
///
///   Before and after it the pool is as the machine has it. Tests that change it, or take of it, take turns (huge_pages_turn).
#pragma once
#include <cstdint>
#include <fstream>
#include <string>

#include <mpt/mem/offer.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace mpt::test {

/// Held by one process of the machine; as often as it likes, by one thread.
class huge_pages_turn {
    static inline int held_ = 0, file_ = -1;

public:
    huge_pages_turn() {
        if (held_++ != 0) return;
        file_ = ::open("/tmp/mpt-test-huge-pages.turn", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file_ >= 0) ::flock(file_, LOCK_EX);
    }
    ~huge_pages_turn() {
        if (--held_ == 0 && file_ >= 0) ::close(file_);
    }
    huge_pages_turn(huge_pages_turn const&) = delete;
    huge_pages_turn& operator=(huge_pages_turn const&) = delete;
};

class huge_pages {
    huge_pages_turn turn_;
    std::uint64_t page_, before_ = 0;
    std::string why_not_;

    static mem::page_pool now(std::uint64_t page) {
        auto const here = mem::look_around({}, {});
        auto const* const pool = here.pool(page);
        return pool ? *pool : mem::page_pool{};
    }
    bool write(std::uint64_t n) const {
        std::ofstream to{"/sys/kernel/mm/hugepages/hugepages-" + std::to_string(page_ / 1024) + "kB/nr_hugepages"};
        return static_cast<bool>(to << n << std::flush);
    }

public:
    explicit huge_pages(std::uint64_t n, std::uint64_t page = 2 << 20) : page_{page} {
        auto const is = now(page);
        before_ = is.pages;
        auto const used = is.pages - is.free; // by others: they keep theirs
        if (!write(used + n)) why_not_ = "the system lets nobody here make huge pages";
        else if (free(page) != n) why_not_ = "the system has no memory for " + std::to_string(n) + " huge pages";
    }
    ~huge_pages() {
        if (free(page_) + before_ != 0) write(before_);
    }
    huge_pages(huge_pages const&) = delete;
    huge_pages& operator=(huge_pages const&) = delete;

    std::string const& why_not() const noexcept { return why_not_; }
    /// Pages that nobody has, nor was promised.
    static std::uint64_t free(std::uint64_t page = 2 << 20) { return now(page).free; }
};

} // namespace mpt::test
