/// test/support/pmi_launcher - a launcher that speaks PMI-1: starts ranks of a shell command, each with a socket in PMI_FD, answers
/// them, and ends the others when one fails. Tests make it lie.
///
///        pmi_launcher l{4, program + " hello"};
///        l.hear = [](int rank, std::string asked) { ... };     what it takes a rank to have said
///        l.say = [](int rank, std::string answer) { ... };     what it says in truth; nothing: it hangs up
///        auto const e = l.run();                               the first code that was not 0
#pragma once
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include "process.hpp"

namespace mpt::test {

class pmi_launcher {
    struct member {
        int line = -1;
        pid_t pid = 0;
        std::string heard{};
        bool greeted = false, finalized = false, alive = true;
    };
    std::string command_;
    std::vector<member> members_;
    std::map<std::string, std::string> store_;
    int out_ = detail::scratch(), err_ = detail::scratch(), code_ = 0;
    std::size_t in_barrier_ = 0;

public:
    std::function<std::string(int, std::string)> hear = [](int, std::string asked) { return asked; };
    std::function<std::optional<std::string>(int, std::string)> say = [](int, std::string answer) { return answer; };
    std::vector<std::string> log; // "0 cmd=init ...": what the ranks asked

    pmi_launcher(int ranks, std::string command) : command_{std::move(command)}, members_(static_cast<std::size_t>(ranks)) {}

    ended run(std::chrono::seconds limit = std::chrono::seconds{60}) {
        for (std::size_t r = 0; r < members_.size(); ++r) start(r);
        auto const until = std::chrono::steady_clock::now() + limit;
        ended e;
        while (alive()) {
            serve();
            if (!e.late && std::chrono::steady_clock::now() > until) e.late = true, fail(125);
        }
        for (auto& m : members_) hang_up(m);
        e.code = code_;
        e.out = detail::content(out_);
        e.err = detail::content(err_);
        return e;
    }

private:
    bool alive() const {
        for (auto const& m : members_)
            if (m.alive) return true;
        return false;
    }
    void start(std::size_t r) {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
        auto& m = members_[r];
        m.line = ends[0];
        m.pid = ::fork();
        if (m.pid == 0) become(r, ends[1]);
        ::close(ends[1]);
    }
    [[noreturn]] void become(std::size_t r, int line) {
        ::setpgid(0, 0);
        ::dup2(::open("/dev/null", O_RDONLY), 0);
        ::dup2(out_, 1);
        ::dup2(err_, 2);
        ::setenv("PMI_FD", std::to_string(::dup(line)).c_str(), 1);
        ::setenv("PMI_RANK", std::to_string(r).c_str(), 1);
        ::setenv("PMI_SIZE", std::to_string(members_.size()).c_str(), 1);
        ::execl("/bin/sh", "sh", "-c", ("exec " + command_).c_str(), nullptr);
        ::_exit(127);
    }

    static void hang_up(member& m) {
        if (m.line >= 0) ::close(m.line);
        m.line = -1;
    }
    /// The first failure counts; the others are ended by it.
    void fail(int code) {
        if (code_ == 0) code_ = code;
        for (auto const& m : members_)
            if (m.alive) ::kill(-m.pid, SIGKILL);
    }

    void serve() {
        std::vector<pollfd> ready;
        for (auto const& m : members_) ready.push_back({m.line, POLLIN, 0});
        ::poll(ready.data(), ready.size(), 5);
        for (std::size_t r = 0; r < members_.size(); ++r)
            if (ready[r].revents != 0) listen(r);
        for (auto& m : members_) reap(m);
    }
    void reap(member& m) {
        int status = 0;
        if (!m.alive || ::waitpid(m.pid, &status, WNOHANG) != m.pid) return;
        m.alive = false;
        auto const code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (code != 0) fail(code);
        else if (m.greeted && !m.finalized) fail(124);
    }
    void listen(std::size_t r) {
        auto& m = members_[r];
        std::array<char, 1024> piece{};
        auto const n = ::recv(m.line, piece.data(), piece.size(), MSG_DONTWAIT);
        if (n <= 0) return hang_up(m);
        m.heard.append(piece.data(), static_cast<std::size_t>(n));
        for (std::size_t end = 0; m.line >= 0 && (end = m.heard.find('\n')) != std::string::npos;) {
            auto const asked = m.heard.substr(0, end);
            m.heard.erase(0, end + 1);
            log.push_back(std::to_string(r) + ' ' + asked);
            obey(r, hear(static_cast<int>(r), asked));
        }
    }

    void answer(std::size_t r, std::string const& text) {
        auto& m = members_[r];
        auto const line = say(static_cast<int>(r), text + '\n');
        if (!line) return hang_up(m);
        static_cast<void>(::send(m.line, line->data(), line->size(), MSG_NOSIGNAL));
    }
    static std::string word(std::string const& line, std::string const& name) {
        auto const at = line.find(name + '=');
        if (at == std::string::npos) return {};
        auto const from = at + name.size() + 1;
        return line.substr(from, line.find(' ', from) - from);
    }
    void obey(std::size_t r, std::string const& asked) {
        auto const what = word(asked, "cmd");
        if (what == "init") {
            members_[r].greeted = true;
            answer(r, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
        } else if (what == "get_maxes") answer(r, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0");
        else if (what == "get_my_kvsname") answer(r, "cmd=my_kvsname kvsname=kvs_0");
        else if (what == "put") {
            store_[word(asked, "key")] = word(asked, "value");
            answer(r, "cmd=put_result rc=0 msg=well done");
        } else if (what == "get") {
            auto const found = store_.find(word(asked, "key"));
            answer(r, found == store_.end() ? "cmd=get_result rc=-1 msg=no such key"
                                            : "cmd=get_result rc=0 value=" + found->second);
        } else if (what == "barrier_in") {
            if (++in_barrier_ % members_.size() == 0)
                for (std::size_t i = 0; i < members_.size(); ++i) answer(i, "cmd=barrier_out");
        } else if (what == "finalize") {
            members_[r].finalized = true;
            answer(r, "cmd=finalize_ack");
        } else if (what == "abort") fail(std::atoi(word(asked, "exitcode").c_str()));
        else answer(r, "cmd=what rc=-1");
    }
};

} // namespace mpt::test
