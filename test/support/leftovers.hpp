/// test/support/leftovers - what a job left behind: processes, files in /dev/shm and /tmp, sockets.
#pragma once
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include <unistd.h>

namespace mpt::test {

/// Made before the job; the job's command begins with mark(), which all its processes inherit.
class leftovers {
    std::string mark_ = "MPT_TEST_MARK=" + std::to_string(::getpid()) + '-' + std::to_string(++count());
    std::set<std::string> before_ = things();

    static int& count() {
        static int n = 0;
        return n;
    }
    static std::string content(std::filesystem::path const& file) {
        std::ifstream f{file};
        return {std::istreambuf_iterator<char>{f}, {}};
    }
    /// Names with "mpt" in them, but those of the tests themselves.
    static std::set<std::string> things() {
        std::set<std::string> all;
        auto const keep = [&](std::string const& kind, std::string const& name) {
            if (name.find("mpt") != name.npos && name.find("mpt-test") == name.npos) all.insert(kind + ' ' + name);
        };
        std::error_code gone;
        for (auto const* folder : {"/dev/shm", "/tmp"})
            for (auto const& entry : std::filesystem::directory_iterator{folder, gone}) keep(folder, entry.path().filename());
        std::ifstream sockets{"/proc/net/unix"};
        for (std::string line; std::getline(sockets, line);) keep("socket", line.substr(line.find_last_of(' ') + 1));
        return all;
    }

public:
    std::string mark() const { return "env " + mark_ + ' '; }

    /// Processes of the job that live now; those whose program has this name, where one is given.
    std::set<pid_t> living(std::string const& program = {}) const {
        std::set<pid_t> all;
        for (auto const& entry : std::filesystem::directory_iterator{"/proc"}) {
            auto const text = content(entry.path() / "environ");
            if (text.find(mark_ + '\0') == text.npos) continue;
            std::error_code gone;
            if (!program.empty() && std::filesystem::read_symlink(entry.path() / "exe", gone).filename() != program) continue;
            all.insert(std::stoi(entry.path().filename()));
        }
        return all;
    }
    bool there(std::size_t n, std::string const& program = {}) const {
        return within(std::chrono::seconds{10}, [&] { return living(program).size() >= n; });
    }
    /// What is there and was not before; "" when all is gone, which may take a killed process a moment.
    std::string found(std::chrono::seconds limit = std::chrono::seconds{10}) const {
        std::string text;
        within(limit, [&] {
            text.clear();
            for (auto const pid : living()) text += "process " + content("/proc/" + std::to_string(pid) + "/stat");
            for (auto const& t : things())
                if (!before_.contains(t)) text += t + '\n';
            return text.empty();
        });
        return text;
    }

    template <class F> static bool within(std::chrono::seconds limit, F good) {
        for (auto const until = std::chrono::steady_clock::now() + limit;;
             std::this_thread::sleep_for(std::chrono::milliseconds{5})) {
            if (good()) return true;
            if (std::chrono::steady_clock::now() > until) return false;
        }
    }
};

} // namespace mpt::test
