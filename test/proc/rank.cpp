// rank MODE [arguments]: what a rank does in the tests of mptrun and of limits. It uses the floors up to boot/ only.
//   hello               joins, meets, says who it is
//   end WHO HOW OTHERS  rank WHO ends as HOW says while the others are in OTHERS (meet, compute, deaf)
//   memory              each rank hands 1 MB round in a ring through the arena, then asks for more than there is
//   twice               joins, then runs itself as a child, which must be a job of one
//   fork                joins, then forks a child that goes on inside mpt and must be refused; the rank itself goes on
//   layout              each rank claims another stack
//   code N              joins, and ends with this exit code
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include <mpt/boot/boot.hpp>
#include <mpt/core/error.hpp>
#include <mpt/mem/arena.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace {
using namespace mpt;
constexpr std::size_t megabyte = 1 << 20;

[[noreturn]] void end(std::string_view how, boot::job* job) {
    if (how == "exit0") ::_exit(0);
    if (how == "exit3") ::_exit(3);
    if (how == "segv") ::raise(SIGSEGV);
    if (how == "kill") ::raise(SIGKILL);
    if (how == "abort" && job) job->abort(9, "as asked");
    throw std::runtime_error{"rank throws"};
}

int ends(std::string const& who, std::string const& how, std::string const& others) {
    if (how == "early" && who == std::getenv("TEST_RANK")) ::_exit(0);
    boot::job job{boot::detect(), 1, "test"};
    job.meet();
    if (std::to_string(job.me().value) == who) end(how, &job);
    if (others == "deaf") ::signal(SIGTERM, SIG_IGN);
    if (others == "meet") job.meet();
    for (;;) std::this_thread::yield();
}

/// Rank r fills a library extent; its right neighbour reads it; four rounds.
void ring(boot::job& job, mem::slice_heap& heap) {
    auto const mine = heap.extent(megabyte);
    if (mine.empty()) throw error{errc::no_memory, "no room for the ring"};
    auto const at = heap.refer(mine.data());
    job.publish(0, 0, std::as_bytes(std::span{&at, 1}));
    job.meet();
    rank const left = (job.me() + job.size() - 1) % job.size();
    mem::reference there;
    std::memcpy(&there, job.address(left, 0, 0).data(), sizeof there);
    auto const theirs = job.arena().slice(left, job.record(left).slice_bytes);
    if (theirs.empty()) throw error{errc::no_memory, "the neighbour's slice cannot be mapped"};
    for (int round = 1; round <= 4; ++round) {
        std::fill(mine.begin(), mine.end(), std::byte(job.me() * 16 + round));
        job.meet();
        auto const seen = theirs.subspan(there.offset, megabyte);
        if (std::ranges::count(seen, std::byte(left * 16 + round)) != static_cast<std::ptrdiff_t>(megabyte))
            throw error{errc::protocol, "wrong bytes"};
        job.meet();
    }
}

/// Library memory until there is no more: every byte of it can be touched.
std::size_t fill(mem::slice_heap& heap, std::size_t most) {
    std::size_t got = 0;
    while (got < most) {
        auto const s = heap.extent(megabyte);
        if (s.empty()) break;
        std::memset(s.data(), 1, s.size());
        got += s.size();
    }
    return got;
}

int memory(std::size_t most) {
    boot::job job{boot::detect(), 1, "test"};
    mem::slice_heap heap{job.share_arena(), job.me(), job.arena().own_limit()};
    ring(job, heap);
    try {
        static_cast<void>(heap.allocate(std::size_t{1} << 36));
        return 4;
    } catch (error const& e) {
        std::printf("rank %d: %s\n", job.me().value, e.what());
        if (e.code() != errc::no_memory) return 5;
    }
    auto const user = heap.allocate(megabyte);
    std::memset(user.data(), 2, user.size());
    job.meet();
    std::printf("rank %d: filled %zu MB\n", job.me().value, fill(heap, most) / megabyte);
    job.meet();
    return 0;
}

int hello() {
    boot::job job{boot::detect(), 1, "test"};
    job.meet();
    std::printf("rank %d of %d\n", job.me().value, job.size());
    return 0;
}

int hello_and(int code) {
    boot::job job{boot::detect(), 1, "test"};
    job.meet();
    return code;
}

int twice(char const* self) {
    boot::job job{boot::detect(), 1, "test"};
    job.meet();
    std::fflush(stdout);
    auto const code = std::system((std::string{self} + " hello").c_str());
    job.meet();
    return WEXITSTATUS(code);
}

/// The child ends by exit(), so that its copies of our objects are destroyed: that must not look like our own end.
int forks() {
    boot::job job{boot::detect(), 1, "test"};
    job.meet();
    auto const child = ::fork();
    if (child == 0) {
        try {
            job.meet();
        } catch (error const& e) {
            return std::string_view{e.what()}.find("child of fork()") != std::string_view::npos ? 7 : 8;
        }
        return 9;
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (job.record(job.me()).state.load(std::memory_order_acquire) != boot::rank_state::running)
        return 10; // sync(boot.record): acquire
    job.meet();
    return WEXITSTATUS(status) == 7 ? 0 : WEXITSTATUS(status);
}

int layout() {
    auto const who = boot::detect();
    boot::job job{who, static_cast<std::uint64_t>(who.me + 1), "stack" + std::to_string(who.me.value)};
    job.meet();
    return 0;
}

int run(int argc, char** argv) {
    std::string const mode = argc > 1 ? argv[1] : "";
    if (mode == "hello") return hello();
    if (mode == "careless") return []() noexcept { return hello(); }(); // catches nothing
    if (mode == "end" && argc > 4) return ends(argv[2], argv[3], argv[4]);
    if (mode == "memory" && argc > 2) return memory(static_cast<std::size_t>(std::atol(argv[2])) * megabyte);
    if (mode == "twice") return twice(argv[0]);
    if (mode == "fork") return forks();
    if (mode == "layout") return layout();
    if (mode == "code" && argc > 2) return hello_and(std::atoi(argv[2]));
    std::fprintf(stderr, "rank: no such mode\n");
    return 2;
}
} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (error const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 6;
    }
}
