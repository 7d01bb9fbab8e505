// A library that is loaded where it is installed, and its functions that are used: what needs it goes without where it is not there.
#pragma once
#include <memory>

#include <dlfcn.h>

namespace mpt::inline v0::detail {

class loaded_library {
    std::unique_ptr<void, int (*)(void*)> loaded_;
    bool complete_ = loaded_ != nullptr;

public:
    /// flags: RTLD_NODELETE for one that does not bear being unloaded.
    explicit loaded_library(char const* name, int flags = 0) noexcept
        : loaded_{::dlopen(name, RTLD_NOW | RTLD_LOCAL | flags), &::dlclose} {}

    /// Its type alone is named: with an address the linker asks for it. nullptr: it is not there.
    template <class F> F* function(char const* name) noexcept {
        auto* const f = loaded_ ? ::dlsym(loaded_.get(), name) : nullptr;
        complete_ = complete_ && f;
        return reinterpret_cast<F*>(f);
    }
    /// Is it there, with all that was asked of it so far?
    bool complete() const noexcept { return complete_; }
};

} // namespace mpt::inline v0::detail
