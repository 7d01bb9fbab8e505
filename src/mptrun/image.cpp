#include "image.hpp"

#include "../core/boot_environment.hpp"
#include "pages.hpp"
#include "program.hpp"
#include "streams.hpp"
#include "words.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include <unistd.h>

namespace mptrun {
namespace {

/// mptrun's own library directory, where it is installed beside its libraries; a program with a foreign RUNPATH then loads ours.
std::string own_libraries() {
    std::array<char, 4096> self{};
    auto const n = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
    std::string path{self.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
    path = path.substr(0, path.rfind('/'));
    path = path.substr(0, path.rfind('/')) + "/lib";
    return ::access((path + "/libmpt_core.so.0").c_str(), R_OK) == 0 ? path : std::string{};
}

/// The folder of a flavour's libraries.
std::string flavour_folder(std::string const& libraries, std::string const& flavour) {
    auto const all = std::filesystem::path{libraries} / "mpt";
    std::error_code ignored;
    if (!libraries.empty() && std::filesystem::is_directory(all / flavour, ignored)) return all / flavour;
    if (libraries.empty())
        throw usage_error{fmt::format("--flavour {}: this mptrun is not installed beside its libraries.", flavour)};
    std::vector<std::string> there;
    for (auto const& folder : std::filesystem::directory_iterator{all, ignored}) there.push_back(folder.path().filename());
    std::ranges::sort(there);
    throw usage_error{
        there.empty() ? fmt::format("--flavour {}: there are no flavours in {}.", flavour, all.string())
                      : fmt::format("--flavour {}: there is no such flavour; there are {}.", flavour, fmt::join(there, ", "))};
}

bool names(std::string_view entry, std::string_view variable) noexcept {
    return entry.size() > variable.size() && entry.starts_with(variable) && entry[variable.size()] == '=';
}

void set(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
    std::erase_if(environment, [&](auto const& e) { return names(e, name); });
    environment.push_back(fmt::format("{}={}", name, value));
}

bool is_ours(std::string const& entry) noexcept {
    for (auto** e = environ; *e; ++e)
        if (entry == *e) return true;
    return false;
}

int debugged_ranks(options const& o) {
    int n = 0;
    for (int r = 0; r < o.ranks; ++r) n += o.debugged.has(r);
    return n;
}

/// "cd DIR && env A=1 taskset -c 0-1 program": what differs from what a shell would do without being told.
std::string command_line(image const& i, options const& o, int rank) {
    std::vector<std::string> words;
    if (!i.of->inherits) words = {"env", "-i"};
    for (auto const& e : *i.environment) {
        if (i.of->inherits && is_ours(e)) continue;
        if (words.empty()) words.emplace_back("env");
        words.push_back(e);
    }
    if (i.cpus) words.insert(words.end(), {"taskset", "-c", print(*i.cpus)});
    words.push_back(i.program);
    words.insert(words.end(), i.arguments.begin() + 1, i.arguments.end());
    auto text = joined(words) + redirections(o, rank);
    return i.of->directory.empty() ? text : fmt::format("(cd {} && {})", shell_quoted(i.of->directory), text);
}
} // namespace

std::vector<std::string> environment_of(part const& p) {
    std::vector<std::string> all;
    if (p.inherits)
        for (auto** e = environ; *e; ++e) all.emplace_back(*e);
    for (auto const& [name, value] : p.variables) set(all, name, value);
    using namespace mpt::boot;
    for (auto const* ours : {handed_variable, program_variable, errhandler_variable, memory_kinds_variable})
        std::erase_if(all, [ours](auto const& e) { return names(e, ours); });
    auto const value_of = [&](std::string_view name) {
        auto const at = std::ranges::find_if(all, [&](auto const& e) { return names(e, name); });
        return at == all.end() ? std::string{} : at->substr(name.size() + 1);
    };
    if (morecore const asked{value_of("HUGETLB_MORECORE"), value_of("HUGETLB_DEFAULT_PAGE_SIZE")}; !asked.pages.empty()) {
        auto const now = value_of("GLIBC_TUNABLES"), then = with_morecore(now, asked, mpt::mem::look_around({}, {}));
        if (then != now) set(all, "GLIBC_TUNABLES", then);
    }
    if (!p.errhandler.empty()) set(all, errhandler_variable, p.errhandler);
    if (!p.memory_kinds.empty()) set(all, memory_kinds_variable, p.memory_kinds);
    auto libraries = own_libraries();
    if (!p.flavour.empty()) libraries = flavour_folder(libraries, p.flavour) + ':' + libraries;
    if (libraries.empty()) return all;
    if (auto const path = value_of("LD_LIBRARY_PATH"); !path.empty()) libraries += ':' + path;
    set(all, "LD_LIBRARY_PATH", libraries);
    return all;
}

bool debugs_here(options const& o) { return !o.debugged.empty() && debugged_ranks(o) == 1; }

images::images(options const& o, places where) : options_{o}, places_{std::move(where)} {
    for (auto const& p : o.parts) parts_.push_back({find_program(p.command[0], p.directory, p.path), environment_of(p)});
}

std::vector<std::string> images::prefix_of(int rank, part const& p) const {
    std::vector<std::string> words;
    auto const add = [&](std::vector<std::string> const& more) {
        for (auto const& w : more) words.push_back(expanded(w, rank));
    };
    for (auto const& on : options_.prefixes)
        if (on.ranks.has(rank)) add(on.words);
    add(p.prefix);
    if (!options_.debugged.has(rank)) return words;
    if (debugs_here(options_)) add({"gdb", "-q", "--args"});
    else add({"gdbserver", "--once", fmt::format("localhost:{}", options_.debug_port + rank)});
    return words;
}

image images::of(int rank) const {
    auto const& p = part_of(options_, rank);
    auto const& ready = parts_[static_cast<std::size_t>(&p - options_.parts.data())];
    image i{ready.program, prefix_of(rank, p), &ready.environment, &p, nullptr};
    if (!places_.empty()) i.cpus = &places_[static_cast<std::size_t>(rank)];
    auto const wrapped = !i.arguments.empty();
    if (wrapped) i.program = find_program(i.arguments[0], p.directory, p.path);
    i.arguments.push_back(wrapped ? ready.program : p.command[0]);
    i.arguments.insert(i.arguments.end(), p.command.begin() + 1, p.command.end());
    return i;
}

std::string dry_run(options const& o, images const& all, places const& where) {
    auto shown = o;
    shown.dry_run = false;
    auto text = fmt::format("# mptrun {}\n", joined(canonical(shown)));
    auto const cpus = [&](int r) {
        return where.empty() ? std::string{"not bound"} : "CPUs " + print(where[static_cast<std::size_t>(r)]);
    };
    for (int first = 0, next = 0; first < o.ranks; first = next) {
        auto const command = command_line(all.of(first), o, first);
        for (next = first + 1; next < o.ranks && cpus(next) == cpus(first) && command_line(all.of(next), o, next) == command;)
            ++next;
        auto const who = next - first == 1 ? fmt::format("rank {}", first) : fmt::format("ranks {}-{}", first, next - 1);
        text += fmt::format("# {} of {}, {}\n{}\n", who, o.ranks, cpus(first), command);
    }
    return text;
}

std::string debugger_lines(options const& o, images const& all) {
    std::string text;
    if (o.debugged.empty() || debugs_here(o)) return text;
    for (int r = 0; r < o.ranks; ++r)
        if (o.debugged.has(r))
            text += fmt::format("mptrun: rank {}: gdb -q -ex 'target remote localhost:{}' {}\n", r, o.debug_port + r,
                                shell_quoted(all.of(r).of->command[0]));
    return text;
}

} // namespace mptrun
