// What the compiler refuses of a stack, with which sentence.
#include <mpt/lock/none.hpp>
#include <mpt/stack/stack.hpp>
#include <mpt/world/threads.hpp>

namespace {
using namespace mpt;

struct lock_without_facts {
    using kind = mpt::kind::lock;
    static constexpr std::string_view name = "bare";
    template <class World> using type = lock::none::type<World>;
};
struct lock_of_nothing {
    using kind = mpt::kind::lock;
    static constexpr std::string_view name = "of nothing";
    static constexpr bool process_shared = true, recursive = true, fair = true;
    template <class World> struct type : lock::none::type<World> {
        explicit type(World) {}
    };
};
struct wait_without_type {
    using kind = mpt::kind::wait;
    static constexpr std::string_view name = "bare";
    using type = int;
};
struct empty_world {
    using kind = mpt::kind::world;
    static constexpr std::string_view name = "bare";
};
struct empty_protocol {
    using kind = mpt::kind::protocol;
    static constexpr std::string_view name = "bare";
};

// A refusal is one line.
// clang-format off
void use() {
    static_cast<void>(stack<>::layout());
    static_cast<void>(stack<protocol::rndv_put<>, lock::none, protocol::e0<>, world::threads>::layout());
    static_cast<void>(stack<lock::none, lock::ticket>::layout()); // refused: mpt::stack: two policies of the same kind
    static_cast<void>(stack<world::native, lock::none, world::threads>::layout()); // refused: mpt::stack: two policies of the same kind
    static_cast<void>(stack<protocol::e0<>>::layout());              // refused: mpt::stack: name protocol::rndv_put
    static_cast<void>(stack<protocol::rndv_put<>>::layout());        // refused: mpt::stack: name protocol::e0
    static_cast<void>(stack<protocol::e0<>, protocol::e0<>, protocol::rndv_put<>>::layout()); // refused: mpt::stack: the same protocol twice
    static_cast<void>(stack<empty_protocol>::layout());                         // refused: mpt::stack: not a protocol
    static_cast<void>(stack<lock_without_facts>::layout());                     // refused: mpt::stack: not a lock
    static_cast<void>(stack<lock_of_nothing>::layout());                        // refused: mpt::stack: this lock is not made of (world, fence_mode)
    static_cast<void>(stack<wait_without_type>::layout());                      // refused: mpt::stack: not a wait policy
    static_cast<void>(stack<empty_world>::layout());                            // refused: mpt::stack: not a world
}
// clang-format on
} // namespace
