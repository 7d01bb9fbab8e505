// What this libmpt_core was built as.
#include <mpt/core/processor.hpp>
#include <mpt/core/version.hpp>

namespace mpt::inline v0 {

namespace detail {
extern std::string_view const commit; // src/core/commit.cpp.in
}

namespace {

#if defined(__clang__)
constexpr std::string_view compiler = __VERSION__; // says "Clang" by itself
#else
constexpr std::string_view compiler = "g++ " __VERSION__;
#endif

#if defined(NDEBUG)
constexpr std::string_view kind_of_build = "release";
#else
constexpr std::string_view kind_of_build = "debug";
#endif

#if defined(__has_feature) // clang's names
#if __has_feature(address_sanitizer)
#define MPT_CHECKS_ADDRESSES 1
#elif __has_feature(thread_sanitizer)
#define MPT_CHECKS_THREADS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(MPT_CHECKS_ADDRESSES)
constexpr std::string_view checks = " with address sanitizer";
#elif defined(__SANITIZE_THREAD__) || defined(MPT_CHECKS_THREADS)
constexpr std::string_view checks = " with thread sanitizer";
#else
constexpr std::string_view checks = "";
#endif

} // namespace

version core_version() noexcept { return header_version; } // of the headers the library was compiled with

std::string_view core_build() noexcept {
    static std::string const text = std::string{compiler} + ", " + std::string{kind_of_build} + std::string{checks} + ", " +
                                    std::string{processor::name} + ", " + std::string{detail::commit};
    return text;
}

} // namespace mpt::inline v0
