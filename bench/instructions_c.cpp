// instructions_c - how many instructions messages of 8 bytes take through the C interface: MPI_Send and MPI_Recv, blocking.
//
//     valgrind --tool=callgrind --toggle-collect=counted_NAME instructions_c NAME     (tools/check_instructions.py does it)
//
// As in instructions.cpp, two ranks live in one thread, which is the one and then the other. It is linked with the flavour of the
// C tests, whose calls find their rank by a variable of the thread, and which is compiled as this build is: a release takes fewer.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

#include <mpi.h>

#include "binding.hpp"

namespace {

using word = std::uint64_t;
using mpt::c::binding;
constexpr int calls = 1000, tag = 7;

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

bool measured(rank_of_c& zero, rank_of_c& one, char const* name) {
    auto const is = [&](char const* n) { return std::strcmp(name, n) == 0; };
    auto const put = [](word const& v) { MPI_Send(&v, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD); };
    auto const take = [](word& v) { MPI_Recv(&v, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); };
    if (!exchange(zero, one, put, take, calls)) return false; // a warm-up
    if (is("send_byte") || is("recv_byte")) return exchange(zero, one, counted_send_byte, counted_recv_byte, calls);
    if (is("send_double") || is("recv_double")) return exchange(zero, one, counted_send_double, counted_recv_double, calls);
    std::fputs("usage: instructions_c send_byte | recv_byte | send_double | recv_double\n", stderr);
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
    bool const right = measured(zero, one, argc == 2 ? argv[1] : "");
    both([](rank_of_c& r) { r.leave(); });
    if (right) std::printf("%d calls\n", calls);
    return right ? 0 : 1;
}
