/// core/assert - what must be true here, said where it must be true: the one macro of mpt.
///
///        MPT_ASSERT(cheap, n <= room());               a compare or two: on in every build without NDEBUG
///        MPT_ASSERT(paranoid, is_sorted(entries));     may walk a structure: only with -DMPT_ASSERT_LEVEL=2
///
///   -DMPT_ASSERT_LEVEL=0|1|2 overrides NDEBUG either way. The condition is compiled at every level, so it cannot rot, and
///   evaluated only at its own. A failure says expression, file, line and function on standard error and aborts: it is a bug
///   of mpt's, never a way to tell a user that an argument was wrong.
#pragma once

#ifndef MPT_ASSERT_LEVEL
#ifdef NDEBUG
#define MPT_ASSERT_LEVEL 0
#else
#define MPT_ASSERT_LEVEL 1
#endif
#endif

namespace mpt::inline v0 {

enum class assertion : int { cheap = 1, paranoid = 2 };

/// Compared with the level of the file that asks: a constant in each of them.
constexpr bool asserts(assertion level, int active) noexcept { return static_cast<int>(level) <= active; }

/// src/core/assert.cpp: says what failed, and aborts.
[[noreturn]] void assertion_failed(char const* condition, char const* file, int line, char const* function) noexcept;

} // namespace mpt::inline v0

#define MPT_ASSERT(level, ...)                                                                                                 \
    (!::mpt::asserts(::mpt::assertion::level, MPT_ASSERT_LEVEL) || static_cast<bool>(__VA_ARGS__)                              \
         ? static_cast<void>(0)                                                                                                \
         : ::mpt::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__, static_cast<char const*>(__func__)))
