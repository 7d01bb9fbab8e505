/// boot/announced - how many ranks there are, for a process that need not have joined them.
#pragma once
#include <cstdint>
#include <optional>

namespace mpt::inline v0::boot {

/// What the launcher says: 1 where nobody launched us, nothing where detect() would throw for its variables. Any thread may ask at
/// any time; the answer stays.
std::optional<std::int32_t> announced_size();

} // namespace mpt::inline v0::boot
