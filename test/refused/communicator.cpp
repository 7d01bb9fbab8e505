// What the compiler refuses of a communicator: buffers that would be gone, and types that mean nothing in another process.
#include <array>
#include <memory>
#include <string>

#include <mpt/datatype/typed.hpp>
#include <mpt/mpi/environment.hpp>

namespace {
[[maybe_unused]] void use(mpt::environment<mpt::local_stack>::view world) {
    std::array<int, 3> values{};
    std::vector<int> numbers(3);
    std::vector<std::string> words;
    std::unique_ptr<int> owner;
    int x = 0;
    auto const number = mpt::datatype::named(mpt::element_kind::c_int);
    world.send(mpt::typed_source{&x, 1, number}, 1);
    world.recv(mpt::typed_sink{&x, 1, number}, 1);
    world.send(x, 1);
    world.isend(values, 1).wait();
    world.isend(std::move(numbers), 1).wait();
    world.irecv(x, 1).wait();
    world.isend(std::array<int, 3>{}, 1).wait();             // refused: use of deleted function
    world.isend(5, 1).wait();                                // refused: use of deleted function
    world.issend(std::vector<int>(3), 1).wait();             // refused: use of deleted function
    world.send(words, 1);                                    // refused: mpt: this type cannot be sent
    world.send(&x, 1);                                       // refused: mpt: this type cannot be sent
    world.send(owner, 1);                                    // refused: mpt: this type cannot be sent
    world.isend(mpt::typed_source{&x, 1, number}, 1).wait(); // refused: use of deleted function
    world.irecv(mpt::typed_sink{&x, 1, number}, 1).wait();   // refused: use of deleted function
    world.recv(words, 1);                                    // refused: receivable
    world.irecv(std::vector<int>(3), 1).wait();              // refused: receivable
    world.allreduce(words);                                  // refused: no matching function
}
} // namespace
