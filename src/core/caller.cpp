// core/caller.hpp: glibc's walk over the stack, the dynamic linker's list of objects, and addr2line of binutils.
#include <mpt/core/caller.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

extern char** environ; // NOLINT(readability-redundant-declaration): glibc has it in unistd.h only for _GNU_SOURCE

namespace mpt::inline v0 {
namespace {

/// A loaded object, and what an address is called in it.
struct place {
    link_map const* object = nullptr;
    std::string file;
    std::uintptr_t offset = 0;
};

place place_of(void const* address) {
    Dl_info is{};
    link_map* object = nullptr;
    if (::dladdr1(address, &is, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 || !object) return {};
    std::string file = object->l_name;
    if (file.empty()) file = std::filesystem::read_symlink("/proc/self/exe").string(); // the program
    return {object, file, reinterpret_cast<std::uintptr_t>(address) - object->l_addr};
}

/// What addr2line prints of an address; empty where it is not there, or takes too long.
std::string read_line_table(std::string const& file, std::uintptr_t offset) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
    auto const at = fmt::format("{:#x}", offset);
    std::array<char*, 5> words{const_cast<char*>("addr2line"), const_cast<char*>("-e"), const_cast<char*>(file.c_str()),
                               const_cast<char*>(at.c_str()), nullptr};
    posix_spawn_file_actions_t files{};
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    bool const runs = ::posix_spawnp(&child, words[0], &files, nullptr, words.data(), environ) == 0;
    ::posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    std::string said;
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{2};
    while (runs) {
        auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
        pollfd readable{ends[0], POLLIN, 0};
        std::array<char, 512> part{};
        if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) <= 0) break;
        auto const n = ::read(ends[0], part.data(), part.size());
        if (n <= 0) break;
        said.append(part.data(), static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
    if (runs) ::kill(child, SIGKILL), ::waitpid(child, nullptr, 0);
    return said.substr(0, said.find_first_of(" \n")); // "FILE:LINE (discriminator 3)"
}

std::string told(place const& p) {
    auto const line = read_line_table(p.file, p.offset);
    if (!line.empty() && line.front() != '?' && !line.ends_with(":?") && !line.ends_with(":0"))
        return std::filesystem::path{line}.lexically_normal().string();
    return fmt::format("{}+{:#x}", std::filesystem::path{p.file}.filename().string(), p.offset);
}

} // namespace

std::string called_at(void const* library) noexcept try {
    auto const called = place_of(library).object, own = place_of(reinterpret_cast<void const*>(&called_at)).object;
    auto const program =
        place_of(reinterpret_cast<void const*>(::getauxval(AT_ENTRY))).object; // NOLINT(performance-no-int-to-ptr)
    if (!called || called == program) return {};
    std::array<void*, 64> frames{};
    auto const n = static_cast<std::size_t>(::backtrace(frames.data(), static_cast<int>(frames.size())));
    bool entered = false; // frames of the library were seen
    for (std::size_t i = 0; i < n; ++i) {
        auto const at = place_of(static_cast<char*>(frames[i]) - 1); // of the call, not of what follows it
        bool const ours = at.object == called || at.object == own;
        if (entered && !ours) return at.object ? told(at) : "";
        entered |= at.object == called;
    }
    return {};
} catch (...) { return {}; }

std::string with_caller(std::string_view sentence, void const* library) noexcept {
    auto const place = called_at(library);
    if (place.empty()) return std::string{sentence};
    if (sentence.ends_with('.')) sentence.remove_suffix(1);
    return fmt::format("{}, called at {}", sentence, place);
}

} // namespace mpt::inline v0
