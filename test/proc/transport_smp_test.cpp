// transport::smp between processes: frames, sleeping, copies through the kernel, refused for all, for one, and in the middle.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>

#include "../support/refuse_cma.hpp"
#include "support/smp_pair.hpp"
#include <mpt/world/native.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
using namespace mpt;
using test::refuse_cma;
using end_type = transport::smp<>::endpoint<world::native>;

/// One rank of the job, as the body of a test sees it.
struct seat {
    boot::job& job;
    mem::slice_heap& heap;
    end_type& end;
    int me;

    /// The next frame of a peer; sleeps when there is none for long, as an engine does.
    template <class T> T await(rank from) {
        T v{};
        auto sink = [&](frame const& f) { v = test::value_of<T>(f); };
        for (int empty = 0;; ++empty) {
            if (end.poll_from(from, sink)) return v;
            if (empty < 2000) continue;
            auto const armed = end.bell().arm(job.fences());
            if (end.poll_from(from, sink)) return v;
            end.bell().sleep(world::native{}, armed, std::chrono::milliseconds{100});
            end.bell().disarm();
        }
    }
    template <class T> void tell(rank to, T const& v) {
        while (!test::send_value(end, to, v)) end.poll([](frame const&) {}, 4);
    }
};

/// A failure of a check in a rank: printed, and the rank's exit code.
#define RANK_CHECK(what)                                                                                                       \
    if (!(what)) return std::fprintf(stderr, "rank %d, line %d: not true: %s\n", s.me, __LINE__, #what), 1

/// Runs body(seat) in n processes; 0 from all of them.
testing::AssertionResult run(int n, std::function<int(seat&)> const& body, smp::settings const& settings = {}) {
    auto const plan = boot::make_segments(n);
    std::vector<pid_t> children;
    for (int r = 0; r < n; ++r) {
        auto const pid = ::fork();
        if (pid != 0) {
            children.push_back(pid);
            continue;
        }
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::alarm(50); // the watchdog of this process
        int code = 99;
        try {
            boot::membership m;
            m.me = r, m.size = n, m.plan = plan;
            boot::job job{m, 1, "test"};
            mem::slice_heap heap{job.share_arena(), job.me(), job.arena().own_limit()};
            end_type end{lane_context<world::native>{{}, job, heap, 0, 0, 1, {}}, settings};
            auto const a = end.local();
            job.publish(0, 0, std::as_bytes(std::span{&a, 1}));
            job.meet();
            seat s{job, heap, end, r};
            code = body(s);
            if (code == 0) job.meet();
            else job.header().aborted.store(2);
        } catch (std::exception const& e) { std::fprintf(stderr, "rank %d: %s\n", r, e.what()); }
        ::_exit(code);
    }
    ::close(plan.control_fd);
    ::close(plan.data_fd);
    bool good = true;
    for (auto const pid : children) {
        int status = 0;
        ::waitpid(pid, &status, 0);
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return good ? testing::AssertionSuccess() : testing::AssertionFailure() << "a rank failed, see above";
}

/// Whether processes of one parent may read each other here at all.
bool cma_works() {
    static bool const works = static_cast<bool>(run(2, [](seat& s) {
        if (s.me == 0) {
            std::uint64_t const word = 42;
            s.tell(1, s.end.expose(std::as_bytes(std::span{&word, 1})));
            s.await<int>(1);
            return 0;
        }
        std::uint64_t word = 0;
        auto const where = s.await<remote_memory>(0);
        auto const got = s.end.get(0, std::as_writable_bytes(std::span{&word, 1}), where, 0);
        s.tell(0, 1);
        return got == status::ok && word == 42 ? 0 : 1;
    }));
    return works;
}
#define NEEDS_CMA                                                                                                              \
    if (!cma_works()) GTEST_SKIP() << "the kernel refuses process_vm_readv between processes"

std::vector<std::byte> pattern(std::size_t n, unsigned seed) {
    std::vector<std::byte> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>((i * 131 + seed) >> 3);
    return v;
}

TEST(transport_smp_processes, frames_go_back_and_forth_between_processes_that_may_sleep) {
    EXPECT_TRUE(run(2, [](seat& s) {
        rank const other{1 - s.me};
        for (std::uint64_t i = 0; i < 20'000; ++i) {
            if (s.me == 0) s.tell(other, i);
            RANK_CHECK(s.await<std::uint64_t>(other) == i);
            if (s.me == 1) s.tell(other, i);
        }
        return 0;
    }));
}

TEST(transport_smp_processes, many_ranks_hear_everybody) {
    for (auto const hot : {16u, 2u})
        EXPECT_TRUE(run(5,
                        [](seat& s) {
                            std::vector<int> got(5, 0), sent(5, 0);
                            int all = 0;
                            while (all < 4 * 500) {
                                for (int p = 0; p < 5; ++p)
                                    if (p != s.me && sent[static_cast<std::size_t>(p)] < 500 &&
                                        test::send_value(s.end, p, sent[static_cast<std::size_t>(p)]))
                                        ++sent[static_cast<std::size_t>(p)];
                                bool good = true;
                                s.end.poll(
                                    [&](frame const& f) {
                                        good = good && test::value_of<int>(f) == got[static_cast<std::size_t>(f.from.value)]++,
                                        ++all;
                                    },
                                    16);
                                RANK_CHECK(good);
                                world::native{}.yield();
                            }
                            while (std::accumulate(sent.begin(), sent.end(), 0) < 4 * 500)
                                for (int p = 0; p < 5; ++p)
                                    if (p != s.me && sent[static_cast<std::size_t>(p)] < 500 &&
                                        test::send_value(s.end, p, sent[static_cast<std::size_t>(p)]))
                                        ++sent[static_cast<std::size_t>(p)];
                            return 0;
                        },
                        {.ring_lines = 16, .hot_peers = hot}));
}

TEST(transport_smp_processes, a_loan_is_read_in_place_by_another_process) {
    EXPECT_TRUE(run(2,
                    [](seat& s) {
                        rank const other{1 - s.me};
                        for (unsigned i = 0; i < 300; ++i) {
                            std::size_t const n = 1 + i * 37 % 4096;
                            auto const bytes = pattern(n, i);
                            if (s.me == 0) {
                                auto l = s.end.lend(other, n);
                                while (!l) l = s.end.lend(other, n);
                                std::memcpy(l.memory().data(), bytes.data(), n);
                                s.tell(other, l.ref());
                            } else {
                                auto const ref = s.await<std::uint64_t>(other);
                                auto const seen = s.end.borrow(other, ref, n);
                                RANK_CHECK(seen.size() == n && std::memcmp(seen.data(), bytes.data(), n) == 0);
                                s.end.give_back(other, ref);
                            }
                        }
                        return 0;
                    },
                    {.loans = 4, .loan_bytes = 4096}));
}

TEST(transport_smp_processes, private_memory_is_read_by_its_peer) {
    NEEDS_CMA;
    EXPECT_TRUE(run(2, [](seat& s) {
        rank const other{1 - s.me};
        for (std::size_t const n : {1u, 4096u, 1'000'001u}) {
            auto const bytes = pattern(n, 7);
            if (s.me == 0) {
                s.tell(other, s.end.expose(bytes));
                s.await<int>(other);
            } else {
                auto const where = s.await<remote_memory>(other);
                std::vector<std::byte> into(n);
                RANK_CHECK(s.end.get(other, into, where, 0) == status::ok && into == bytes);
                s.tell(other, 1);
            }
        }
        return 0;
    }));
}

TEST(transport_smp_processes, a_buffer_that_is_not_mapped_is_a_bad_address_and_nobody_crashes) {
    NEEDS_CMA;
    EXPECT_TRUE(run(2, [](seat& s) {
        rank const other{1 - s.me};
        if (s.me == 0) {
            auto* at = static_cast<std::byte*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            s.tell(other, s.end.expose({at, 4096}));
            auto const fine = pattern(100, 1);
            s.tell(other, s.end.expose(fine));
            s.await<int>(other);
            return 0;
        }
        std::vector<std::byte> into(100);
        RANK_CHECK(s.end.get(other, into, s.await<remote_memory>(other), 0) == status::bad_address);
        RANK_CHECK(s.end.get(other, into, s.await<remote_memory>(other), 0) == status::ok);
        s.tell(other, 1);
        return 0;
    }));
}

/// Both sides of a joint copy; what each saw at the end.
joint_state share(seat& s, std::vector<std::byte>& buffer, bool helps = true) {
    rank const other{1 - s.me};
    auto state = joint_state::waiting;
    auto const over = [&] { return state == joint_state::done || state == joint_state::refused; };
    if (s.me == 0) {
        auto const ticket = s.end.offer(other, buffer);
        s.tell(other, ticket);
        if (!helps) s.await<int>(other);
        while (!over()) state = s.end.advance_offer(ticket);
        s.end.withdraw(ticket);
    } else {
        auto const ticket = s.await<std::uint32_t>(other);
        s.end.accept(other, ticket, buffer);
        while (!over()) state = s.end.advance_accept(other, ticket);
        if (!helps) s.tell(other, 1);
    }
    return state;
}

TEST(transport_smp_processes, both_processes_copy_one_message) {
    NEEDS_CMA;
    for (bool const helps : {true, false})
        EXPECT_TRUE(run(2, [helps](seat& s) {
            for (std::size_t const n : {1u, 100'000u, 5'000'001u})
                for (unsigned round = 0; round < 8; ++round) {
                    auto const bytes = pattern(n, round);
                    auto buffer = s.me == 0 ? bytes : std::vector<std::byte>(n);
                    RANK_CHECK(share(s, buffer, helps) == joint_state::done);
                    RANK_CHECK(buffer == bytes);
                }
            return 0;
        }));
}

TEST(transport_smp_processes, where_the_kernel_refuses_all_every_way_of_asking_says_refused) {
    for (int const error : {EPERM, ENOSYS})
        EXPECT_TRUE(run(2, [error](seat& s) {
            RANK_CHECK(refuse_cma(error));
            rank const other{1 - s.me};
            std::vector<std::byte> buffer(100'000);
            RANK_CHECK(share(s, buffer) == joint_state::refused);
            if (s.me == 0) {
                s.tell(other, s.end.expose(buffer));
                s.await<int>(other);
            } else {
                RANK_CHECK(s.end.get(other, buffer, s.await<remote_memory>(other), 0) == status::refused);
                s.tell(other, 1);
            }
            return 0;
        }));
}

TEST(transport_smp_processes, arena_memory_is_copied_where_the_kernel_refuses) {
    EXPECT_TRUE(run(2, [](seat& s) {
        RANK_CHECK(refuse_cma(EPERM));
        rank const other{1 - s.me};
        auto const bytes = pattern(300'000, 3);
        if (s.me == 0) {
            auto const memory = s.heap.allocate(bytes.size());
            std::memcpy(memory.data(), bytes.data(), bytes.size());
            s.tell(other, s.end.expose(memory));
            s.await<int>(other);
            return 0;
        }
        std::vector<std::byte> into(bytes.size());
        RANK_CHECK(s.end.get(other, into, s.await<remote_memory>(other), 0) == status::ok && into == bytes);
        s.tell(other, 1);
        return 0;
    }));
}

TEST(transport_smp_processes, one_rank_may_be_refused_while_the_others_are_not) {
    NEEDS_CMA;
    EXPECT_TRUE(run(3, [](seat& s) {
        if (s.me == 2) { RANK_CHECK(refuse_cma(EPERM)); }
        auto const bytes = pattern(50'000, 4);
        if (s.me == 0) {
            for (int p : {1, 2}) s.tell(p, s.end.expose(bytes));
            for (int p : {1, 2}) s.await<int>(p);
            return 0;
        }
        std::vector<std::byte> into(bytes.size());
        auto const got = s.end.get(0, into, s.await<remote_memory>(0), 0);
        RANK_CHECK(got == (s.me == 1 ? status::ok : status::refused));
        s.tell(0, 1);
        return 0;
    }));
}

TEST(transport_smp_processes, a_leave_that_ends_in_the_middle_of_a_run_is_noticed_by_both_sides) {
    NEEDS_CMA;
    for (int const loser : {0, 1})
        EXPECT_TRUE(run(2, [loser](seat& s) {
            auto const bytes = pattern(400'000, 5);
            auto buffer = s.me == 0 ? bytes : std::vector<std::byte>(bytes.size());
            RANK_CHECK(share(s, buffer) == joint_state::done && buffer == bytes);
            if (s.me == loser) { RANK_CHECK(refuse_cma(EPERM)); }
            auto const state = share(s, buffer);
            // A receiver that may not read is refused. A sender that may not write says so if it came to write a piece, and
            // the next message goes without its help.
            if (loser == 1) { RANK_CHECK(state == joint_state::refused); }
            if (loser == 0) { RANK_CHECK(share(s, buffer) == joint_state::done); }
            return 0;
        }));
}

TEST(transport_smp_processes, a_peer_that_died_is_gone) {
    NEEDS_CMA;
    EXPECT_TRUE(run(2, [](seat& s) {
        std::vector<std::byte> bytes(1000);
        if (s.me == 0) {
            s.tell(1, s.end.expose(bytes));
            ::_exit(0);
        }
        auto const where = s.await<remote_memory>(0);
        auto got = status::ok; // the first reads may still find it alive
        for (int i = 0; i < 40'000 && got == status::ok; ++i) {
            got = s.end.get(0, bytes, where, 0);
            if (got == status::ok) world::native{}.sleep_for(std::chrono::milliseconds{1});
        }
        if (got != status::peer_gone && got != status::refused) return 1; // refused: the probe found nobody
        ::_exit(0);                                                       // nobody is left to meet
    }));
}

} // namespace
