// instructions_c - how many instructions messages of 8 bytes take through the C interface: MPI_Send and MPI_Recv, blocking; and a
// message's share of a window of 64, begun by MPI_Isend and MPI_Irecv and completed by MPI_Waitall on either side; and persistent ones:
// MPI_Start and MPI_Wait of a send, MPI_Start of a receive.
//
//     valgrind --tool=callgrind --toggle-collect=counted_NAME instructions_c NAME     (tools/check_instructions.py does it)
//
// As in instructions.cpp, two ranks live in one thread, which is the one and then the other. It is linked with the flavour of the
// C tests, whose calls find their rank by a variable of the thread, and which is compiled as this build is: a release takes fewer.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

#include <mpi.h>

#include "binding.hpp"

namespace {

using word = std::uint64_t;
using mpt::c::binding;
constexpr int calls = 1000, tag = 7, window = 64, windows = 16;

/// One of the two ranks; its environment is made beside the other's.
struct rank_of_c {
    binding state;

    explicit rank_of_c(mpt::boot::membership const& m) { state.membership = m; }
    void enter() {
        mpt::c::take_up(state);
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    }
    void leave() {
        mpt::c::take_up(state);
        MPI_Finalize();
    }
};

extern "C" {
[[gnu::noinline]] void counted_send_byte(word const& v) { MPI_Send(&v, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD); }
[[gnu::noinline]] void counted_recv_byte(word& v) { MPI_Recv(&v, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
[[gnu::noinline]] void counted_send_double(word const& v) { MPI_Send(&v, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD); }
[[gnu::noinline]] void counted_recv_double(word& v) { MPI_Recv(&v, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
[[gnu::noinline]] void counted_isend(word const& v, MPI_Request& r) { MPI_Isend(&v, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &r); }
[[gnu::noinline]] void counted_irecv(word& v, MPI_Request& r) { MPI_Irecv(&v, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &r); }
[[gnu::noinline]] void counted_restart_send(MPI_Request& r) { MPI_Start(&r), MPI_Wait(&r, MPI_STATUS_IGNORE); }
[[gnu::noinline]] void counted_restart_recv(MPI_Request& r) { MPI_Start(&r); }
[[gnu::noinline]] void counted_sent(MPI_Request* all) { MPI_Waitall(window, all, MPI_STATUSES_IGNORE); }
[[gnu::noinline]] void counted_received(MPI_Request* all) { MPI_Waitall(window, all, MPI_STATUSES_IGNORE); }
}

/// Not counted: what grows with the first window has grown then. It may ask the system how much memory there is, which reads files.
void isend(word const& v, MPI_Request& r) { MPI_Isend(&v, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &r); }
void irecv(word& v, MPI_Request& r) { MPI_Irecv(&v, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &r); }
void waitall(MPI_Request* all) { MPI_Waitall(window, all, MPI_STATUSES_IGNORE); }

/// The calls of a window.
struct window_calls {
    decltype(&isend) begin_send;
    decltype(&irecv) begin_receive;
    decltype(&waitall) end_sends, end_receives;
};

/// Windows from rank 0 to rank 1, acknowledged. The messages are there when they are waited for.
bool stream(rank_of_c& zero, rank_of_c& one, window_calls const& call, int times) {
    word out[window], in[window], back = 0;
    MPI_Request sends[window], receives[window];
    bool right = true;
    for (int t = 0; t < times; ++t) {
        mpt::c::take_up(one.state);
        for (int i = 0; i < window; ++i) call.begin_receive(in[i], receives[i]);
        mpt::c::take_up(zero.state);
        for (int i = 0; i < window; ++i) out[i] = static_cast<word>(t * window + i), call.begin_send(out[i], sends[i]);
        call.end_sends(sends);
        mpt::c::take_up(one.state);
        call.end_receives(receives);
        for (int i = 0; i < window; ++i) right = right && in[i] == out[i];
        MPI_Send(in, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        mpt::c::take_up(zero.state);
        MPI_Recv(&back, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return right;
}

/// Rank 0 sends, rank 1 receives, and answers by the same calls, which are not counted.
template <class Put, class Take> bool exchange(rank_of_c& zero, rank_of_c& one, Put put, Take take, int times) {
    word out = 0, in = 0, back = 0;
    bool right = true;
    for (int i = 0; i < times; ++i) {
        ++out;
        mpt::c::take_up(zero.state);
        put(out);
        mpt::c::take_up(one.state);
        take(in);
        MPI_Send(&in, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        mpt::c::take_up(zero.state);
        MPI_Recv(&back, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right = right && back == out;
    }
    return right;
}

/// The same by persistent requests: the receive is posted first, and the message there when it is waited for.
bool exchange_again(rank_of_c& zero, rank_of_c& one, int times) {
    word out = 0, in = 0, back = 0;
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    bool right = true;
    mpt::c::take_up(zero.state);
    MPI_Send_init(&out, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &send);
    mpt::c::take_up(one.state);
    MPI_Recv_init(&in, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &receive);
    for (int i = 0; i < times; ++i) {
        ++out;
        counted_restart_recv(receive);
        mpt::c::take_up(zero.state);
        counted_restart_send(send);
        mpt::c::take_up(one.state);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        MPI_Send(&in, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        mpt::c::take_up(zero.state);
        MPI_Recv(&back, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mpt::c::take_up(one.state);
        right = right && back == out;
    }
    MPI_Request_free(&receive);
    mpt::c::take_up(zero.state);
    MPI_Request_free(&send);
    return right;
}

bool measured(rank_of_c& zero, rank_of_c& one, char const* name) {
    auto const is = [&](char const* n) { return std::strcmp(name, n) == 0; };
    auto const put = [](word const& v) { MPI_Send(&v, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD); };
    auto const take = [](word& v) { MPI_Recv(&v, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); };
    if (!exchange(zero, one, put, take, calls) || !stream(zero, one, {isend, irecv, waitall, waitall}, 2))
        return false; // a warm-up
    if (is("send_byte") || is("recv_byte")) return exchange(zero, one, counted_send_byte, counted_recv_byte, calls);
    if (is("send_double") || is("recv_double")) return exchange(zero, one, counted_send_double, counted_recv_double, calls);
    if (is("isend") || is("irecv") || is("sent") || is("received"))
        return stream(zero, one, {counted_isend, counted_irecv, counted_sent, counted_received}, windows);
    if (is("restart_send") || is("restart_recv")) return exchange_again(zero, one, calls);
    std::fputs("usage: instructions_c send_byte | recv_byte | send_double | recv_double | isend | irecv | sent | received | "
               "restart_send | restart_recv\n",
               stderr);
    return false;
}

} // namespace

int main(int argc, char** argv) {
    auto const members = mpt::boot::local_members(2);
    rank_of_c zero{members[0]}, one{members[1]};
    auto const both = [&](auto step) {
        std::thread other{[&] { step(one); }};
        step(zero);
        other.join();
    };
    both([](rank_of_c& r) { r.enter(); });
    std::string_view const name = argc == 2 ? argv[1] : "";
    bool const right = measured(zero, one, argc == 2 ? argv[1] : "");
    both([](rank_of_c& r) { r.leave(); });
    bool const in_windows = name.find('_') == name.npos;
    if (right) std::printf("%d calls\n", in_windows ? windows * window : calls);
    return right ? 0 : 1;
}
