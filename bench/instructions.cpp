// instructions - how many instructions small messages take: a figure that does not move with the machine's mood, so it is a gate.
//
//     valgrind --tool=callgrind --toggle-collect=counted_NAME instructions NAME     (tools/check_instructions.py does it)
//
// Two ranks live in one thread, which sends as the one and then receives as the other: nobody waits, so every run takes the same
// steps. Each NAME is a function counted_NAME, called 1000 times after a warm-up by another copy of the same code.
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include <mpt/lock/none.hpp>
#include <mpt/mpt.hpp>

namespace {

using namespace mpt::literals;

// A chunk of another size makes these stacks of our own, compiled here as in a release, and not the library's, whatever that is.
template <class Lock> using stack_with = mpt::stack<mpt::world::threads, Lock, mpt::protocol::e0<>, mpt::protocol::e1<>,
                                                    mpt::protocol::rndv_get<>, mpt::protocol::rndv_put<33_KiB>>;
using unlocked = stack_with<mpt::lock::none>;
using locked = stack_with<mpt::lock::ticket>;
constexpr int calls = 1000;

template <class Stack> struct pair_of_ranks {
    std::unique_ptr<mpt::environment<Stack>> first, second;

    pair_of_ranks() {
        auto const members = mpt::boot::local_members(2);
        std::thread other{[&] { second = std::make_unique<mpt::environment<Stack>>(members[1]); }};
        first = std::make_unique<mpt::environment<Stack>>(members[0]);
        other.join();
    }
    ~pair_of_ranks() {
        std::thread other{[&] { second.reset(); }};
        first.reset();
        other.join();
    }
    pair_of_ranks(pair_of_ranks const&) = delete;
    pair_of_ranks& operator=(pair_of_ranks const&) = delete;
};

template <class Stack> using view = mpt::communicator_view<Stack>;
using word = std::uint64_t;

// What is counted: tag 7 from rank 0 to rank 1.
template <class S> inline void send(view<S> w, word& v) { w.send(v, 1, 7); }
template <class S> inline void recv(view<S> w, word& v) { w.recv(v, 0, 7); }
template <class S> inline void isend(view<S> w, word& v) { w.isend(v, 1, 7).wait(); }
template <class S> inline void irecv(view<S> w, word& v) { w.irecv(v, 0, 7).wait(); }

extern "C" {
[[gnu::noinline]] void counted_send(view<unlocked> w, word& v) { send(w, v); }
[[gnu::noinline]] void counted_recv(view<unlocked> w, word& v) { recv(w, v); }
[[gnu::noinline]] void counted_isend(view<unlocked> w, word& v) { isend(w, v); }
[[gnu::noinline]] void counted_irecv(view<unlocked> w, word& v) { irecv(w, v); }
[[gnu::noinline]] void counted_send_locked(view<locked> w, word& v) { send(w, v); }
[[gnu::noinline]] void counted_recv_locked(view<locked> w, word& v) { recv(w, v); }
}

/// put sends as rank 0, take receives as rank 1; and an answer goes back, as in a ping-pong.
template <class S, class Put, class Take> bool exchange(Put put, Take take, int times) {
    pair_of_ranks<S> ranks;
    auto const zero = ranks.first->world(), one = ranks.second->world();
    word out = 0, in = 0;
    bool right = true;
    auto const round = [&](auto send_it, auto take_it) {
        ++out;
        send_it(zero, out);
        take_it(one, in);
        right = right && in == out;
        one.send(in, 0, 7);
        zero.recv(in, 1, 7);
    };
    for (int i = 0; i < 1000; ++i) round([](auto w, word& v) { send(w, v); }, [](auto w, word& v) { recv(w, v); });
    for (int i = 0; i < 100; ++i) round([](auto w, word& v) { isend(w, v); }, [](auto w, word& v) { irecv(w, v); });
    for (int i = 0; i < times; ++i) round(put, take);
    return right;
}

} // namespace

int main(int argc, char** argv) {
    auto const is = [&](char const* name) { return argc == 2 && std::strcmp(argv[1], name) == 0; };
    bool right = false;
    if (is("send") || is("recv")) right = exchange<unlocked>(counted_send, counted_recv, calls);
    else if (is("isend") || is("irecv")) right = exchange<unlocked>(counted_isend, counted_irecv, calls);
    else if (is("send_locked") || is("recv_locked")) right = exchange<locked>(counted_send_locked, counted_recv_locked, calls);
    else std::fputs("usage: instructions send | recv | isend | irecv | send_locked | recv_locked\n", stderr);
    if (right) std::printf("%d calls\n", calls);
    return right ? 0 : 1;
}
