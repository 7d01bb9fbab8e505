// What a job says of itself when it begins, where the variables of OpenSHMEM-1.6 section 8 ask for it: SHMEM_VERSION, SHMEM_INFO and
// SHMEM_DEBUG, by those names or with SMA_ as before 1.4. Any value asks, 0 and none too.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <mpt/config/config.hpp>
#include <mpt/core/version.hpp>

#include "engine.hpp"

namespace mpt::c::shmem {

namespace {

bool is_asked(std::string const& name) {
    return std::ranges::any_of(std::array{"SHMEM_", "SMA_"},
                               [&](char const* before) { return std::getenv((before + name).c_str()) != nullptr; });
}

std::string version_text() {
    return "mpt " + to_string(core_version()) + " (" + std::string{core_build()} + "), OpenSHMEM " +
           std::to_string(SHMEM_MAJOR_VERSION) + "." + std::to_string(SHMEM_MINOR_VERSION) + "\n";
}

/// Each variable of OpenSHMEM's that mpt follows: what it does, and its value here.
std::string info_text(config::values const& values) {
    std::string text = "SHMEM_VERSION: prints the library's version at the start\n"
                       "SHMEM_INFO: prints this text at the start\n"
                       "SHMEM_DEBUG: every PE says where its symmetric memory is\n";
    for (std::size_t i = 0; i < config::table.size(); ++i) {
        auto const& row = config::table[i];
        if (!row.also.name.starts_with("SHMEM_")) continue;
        auto const value = config::format(row, values.at(i));
        text += std::string{row.also.name} + ": " + std::string{row.help} + " (" + std::string{row.name} +
                "; allowed: " + config::range(row) + "; here: " + (value.empty() ? "not set" : value) + ")\n";
    }
    return text;
}

std::string debug_text(mpt::shmem::memory<stack>& memory) {
    auto const heap = memory.heap();
    auto text = "mpt: PE " + std::to_string(memory.me().value) + " of " + std::to_string(memory.size()) +
                ": a symmetric heap of " + std::to_string(heap.size()) + " bytes at " +
                std::to_string(reinterpret_cast<std::uintptr_t>(heap.data())) +
                (memory.is_direct(heap.data()) ? ", which others map\n" : ", which others reach by messages\n");
    for (auto const& p : memory.partitions()) {
        text += "mpt: PE " + std::to_string(memory.me().value) + ": partition " + std::to_string(p.id) + ": " +
                std::to_string(p.bytes) + " bytes from " + std::to_string(p.begin) + " on, " + std::string{to_string(p.kind)} +
                ", pages of " + std::to_string(p.page_bytes) + "\n";
        if (!p.lacks.empty()) text += p.lacks + "\n";
    }
    return text;
}

} // namespace

void announce(engine& e) {
    auto const is_first = e.memory().me() == 0;
    if (is_first && is_asked("VERSION")) std::fputs(version_text().c_str(), stdout);
    if (is_first && is_asked("INFO")) std::fputs(info_text(e.job().run().configuration()).c_str(), stdout);
    if (is_asked("DEBUG")) std::fputs(debug_text(e.memory()).c_str(), stderr);
    if (is_first) std::fflush(stdout);
}

} // namespace mpt::c::shmem
