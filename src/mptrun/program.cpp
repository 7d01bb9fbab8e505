#include "program.hpp"

#include "options.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <elf.h>
#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>

namespace mptrun {
namespace {

bool runnable(std::string const& path) noexcept {
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string why_not(std::string const& path) {
    struct stat s {};
    if (::stat(path.c_str(), &s) != 0) return errno == ENOENT ? "there is no such file" : std::strerror(errno);
    if (S_ISDIR(s.st_mode)) return "it is a directory";
    if (!S_ISREG(s.st_mode)) return "it is not a file";
    return fmt::format("it is not executable; chmod +x {} makes it so", path);
}

/// The first runnable one of the directories.
std::string search(std::string_view path, std::string const& name) {
    while (!path.empty()) {
        auto const end = path.find(':');
        auto const candidate = fmt::format("{}/{}", end == 0 ? "." : path.substr(0, end), name);
        if (runnable(candidate)) return std::filesystem::absolute(candidate);
        path.remove_prefix(end == path.npos ? path.size() : end + 1);
    }
    return {};
}

std::string start_of(std::string const& file) {
    std::string text(256, '\0');
    std::ifstream in{file, std::ios::binary};
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

/// 0: no ELF file. The two bytes stand at the same place in both widths.
unsigned machine_of(std::string const& start) {
    if (start.size() < 20 || start.compare(0, SELFMAG, ELFMAG) != 0) return 0;
    auto const at = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(start[i])); };
    return start[EI_DATA] == ELFDATA2MSB ? at(18) * 256 + at(19) : at(19) * 256 + at(18);
}

std::string machine_name(unsigned machine) {
    switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_386: return "32-bit x86";
    case EM_AARCH64: return "aarch64";
    case EM_ARM: return "32-bit ARM";
    case EM_PPC64: return "ppc64";
    case EM_RISCV: return "RISC-V";
    case EM_S390: return "s390";
    default: return fmt::format("machine {}", machine);
    }
}

std::string interpreter_of(std::string const& start) {
    auto const line = start.substr(2, start.find('\n') - 2);
    auto const from = std::min(line.find_first_not_of(" \t"), line.size());
    return line.substr(from, line.find_first_of(" \t\r", from) - from);
}
} // namespace

std::string find_program(std::string const& name, std::string const& directory, std::string_view path) {
    if (!directory.empty() && !std::filesystem::is_directory(directory))
        throw usage_error{fmt::format("--wdir: there is no directory {}.", directory)};
    if (name.find('/') != name.npos) { // as exec sees it, after the change of directory
        auto const seen = directory.empty() || name.front() == '/' ? name : directory + '/' + name;
        if (!runnable(seen)) throw usage_error{fmt::format("cannot run {}: {}.", name, why_not(seen))};
        return name;
    }
    auto const* const variable = std::getenv("PATH");
    for (std::string_view const where : {path, std::string_view{variable ? variable : "/usr/local/bin:/usr/bin:/bin"}})
        if (auto found = search(where, name); !found.empty()) return found;
    if (runnable("./" + name)) return std::filesystem::absolute(name); // nobody wants "not found" for what `ls` shows
    throw usage_error{fmt::format("there is no program \"{}\" in PATH, nor here.", name)};
}

std::string why_not_run(std::string const& file, int error) {
    auto const start = start_of(file);
    if (start.starts_with("#!") && error == ENOENT)
        return fmt::format("its first line asks for {}, which is not there", interpreter_of(start));
    if (error == ENOENT && machine_of(start) != 0) return "the loader that it asks for is not there";
    if (error != ENOEXEC) return std::strerror(error);
    if (start.empty()) return "it is empty";
    auto const theirs = machine_of(start), ours = machine_of(start_of("/proc/self/exe"));
    if (theirs == 0) return "it is no program, and no script with a first line such as #!/bin/sh";
    if (theirs == ours) return "it is a damaged program";
    return fmt::format("it is built for {}, and this machine is {}", machine_name(theirs), machine_name(ours));
}

} // namespace mptrun
