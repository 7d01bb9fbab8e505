// Small things that the files of the arena and of boot share: an owned descriptor, a small file's text, sizes for people.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace mpt::inline v0::detail {

class descriptor {
    int fd_ = -1;

public:
    descriptor() = default;
    explicit descriptor(int fd) noexcept : fd_{fd} {}
    descriptor(descriptor&& o) noexcept : fd_{std::exchange(o.fd_, -1)} {}
    descriptor& operator=(descriptor&& o) noexcept {
        std::swap(fd_, o.fd_);
        return *this;
    }
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }
    explicit operator bool() const noexcept { return fd_ >= 0; }
};

/// A control group as it is mounted here.
struct cgroup {
    bool is_v2;
    std::string directory;
};
/// Those of this controller that this process is in, each before its parent. root: "" but where a test plants a tree.
std::vector<cgroup> cgroups_of(std::string const& root, std::string_view controller);

/// How many huge pages of this size the control groups still let us touch; a touch beyond that is a bus error, reserved or not.
std::uint64_t touchable_pages(std::uint64_t page);
inline constexpr std::uint64_t any_number = ~0ull; // no group limits it

/// The text of a small file of /proc or /sys; empty when it cannot be read.
std::string read_text(char const* path);
/// The number after `key` at the start of a line, or `missing`.
std::uint64_t number_after(std::string_view text, std::string_view key, std::uint64_t missing) noexcept;
/// "41.0 MB".
std::string human(std::uint64_t bytes);

/// Allocates pages of a fresh (zero) part of a segment, also where fallocate is refused or unknown. 0 or an errno.
int allocate(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;

/// How much address space this process may give to an arena, and who says so.
struct address_budget {
    std::uint64_t bytes;
    std::string_view who;
};
address_budget measure_address_budget() noexcept;

} // namespace mpt::inline v0::detail
