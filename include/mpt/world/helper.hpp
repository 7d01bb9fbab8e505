/// world/helper - a thread of mpt's own beside the program's: a small stack, no signals, joined by its destructor.
///
///   The program's handlers of signals run in the program's threads. fn does not throw. Tests: test/world_helper_test.cpp
#pragma once
#include <functional>
#include <memory>

namespace mpt::inline v0::world {

class helper {
    struct impl;
    std::unique_ptr<impl> impl_;

public:
    /// Throws mpt::error(system) where the system gives no thread.
    explicit helper(std::function<void()> fn);
    ~helper();
    helper(helper const&) = delete;
    helper& operator=(helper const&) = delete;
};

} // namespace mpt::inline v0::world
