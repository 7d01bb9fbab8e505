/// test/support/cgroup - a memory cgroup of this machine, v1 or v2, that is made for a test and removed again.
#pragma once
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <unistd.h>

namespace mpt::test {

class cgroup {
    std::filesystem::path where_;
    bool good_ = false;

public:
    /// file: the one that holds the limit. False when the hierarchy is not there, or may not be written.
    cgroup(std::filesystem::path const& parent, std::string const& file, std::string const& limit)
        : where_{parent / ("mpt-test-" + std::to_string(::getpid()))} {
        std::error_code failed;
        if (!std::filesystem::create_directory(where_, failed)) return;
        std::ofstream{where_ / file} << limit << std::flush;
        good_ = text(file).starts_with(limit);
        if (!good_) ::rmdir(where_.c_str());
    }
    ~cgroup() {
        for (int i = 0; good_ && i < 500 && ::rmdir(where_.c_str()) != 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    cgroup(cgroup const&) = delete;
    cgroup& operator=(cgroup const&) = delete;
    explicit operator bool() const { return good_; }
    std::filesystem::path const& where() const { return where_; }
    std::string text(std::string const& file) const {
        std::ifstream f{where_ / file};
        return {std::istreambuf_iterator<char>{f}, {}};
    }
    /// What to write before a command that runs in here.
    std::string enter() const { return "sh -c 'echo $$ > " + (where_ / "cgroup.procs").string() + " && exec \"$@\"' -- "; }
};

/// A kind of memory cgroup: where one is made, what its files are called, and what mpt calls it.
struct cgroup_kind {
    std::filesystem::path parent;
    std::string limit, kills; // files; `kills` has a line "oom_kill N"
    std::string who;

    cgroup of(std::string const& bytes) const { return {parent, limit, bytes}; }
};

/// In this process's own directory, so that the parents' limits count too.
inline cgroup_kind cgroup_v1() {
    cgroup_kind kind{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control", "cgroup v1 memory"};
    std::ifstream f{"/proc/self/cgroup"};
    for (std::string line; std::getline(f, line);)
        if (auto const at = line.find(":memory:"); at != line.npos) kind.parent += line.substr(at + 8);
    return kind;
}
inline cgroup_kind cgroup_v2() {
    bool const mixed = std::filesystem::exists("/sys/fs/cgroup/unified");
    return {mixed ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup", "memory.max", "memory.events", "cgroup v2 memory"};
}

inline std::string const mb_64 = "67108864";

} // namespace mpt::test
