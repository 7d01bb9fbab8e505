/// test/support/sanitized - which sanitizer this program is built with: MPT_TEST_ASAN or MPT_TEST_TSAN is then defined.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define MPT_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPT_TEST_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MPT_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MPT_TEST_TSAN 1
#endif
#endif

namespace mpt::test {
#if defined(MPT_TEST_ASAN) || defined(MPT_TEST_TSAN)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
} // namespace mpt::test

// Shadow memory needs terabytes of addresses, and with the quarantine more than a rank's share of 64 MB; and valgrind runs no
// sanitized program.
#define MPT_TEST_ONLY_UNSANITIZED()                                                                                            \
    if (mpt::test::sanitized) GTEST_SKIP() << "a sanitized program needs other memory than the one that users run"
