// A whole communication stack on a transport of one's own (my_transport.hpp): name it, and everything above works over it.
//     build/examples/my_transport
#include "my_transport.hpp"

#include <cstdio>
#include <vector>

#include <mpt/mpt.hpp>
#include <mpt/world/threads.hpp>

int main() {
    using mine = mpt::stack<my_transport, mpt::world::threads>;
    mpt::local_job<mine>(4, [](auto world) {
        int const me = world.rank(), n = world.size();
        std::vector<int> const out(100'000, me); // 400 kB: about four hundred frames
        std::vector<int> in(out.size());
        world.sendrecv(out, (me + 1) % n, in, (me + n - 1) % n);
        auto const sum = world.allreduce(in.back());
        if (me == 0)
            std::printf("%s: %zu numbers came from rank %d, the ranks add up to %d\n", mine::describe().c_str(), in.size(),
                        in[0], sum);
    });
}
