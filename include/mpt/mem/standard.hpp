/// mem::standard - the system's own pages, placed by first touch: what every machine has.
#pragma once
#include <mpt/mem/memory.hpp>

namespace mpt::inline v0::mem {

struct standard {
    using kind = mpt::kind::memory;
    static constexpr std::string_view name = "standard";
    static constexpr bytes page = 4_KiB;
    static constexpr unsigned memfd_flags = 0;
    /// Nothing to say: the kernel's defaults are what is meant.
    static status shape(std::span<std::byte>) noexcept { return status::ok; }
};
static_assert(memory_policy<standard>);

} // namespace mpt::inline v0::mem
