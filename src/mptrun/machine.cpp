#include "machine.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include <sched.h>

namespace mptrun {
namespace {

constexpr int most_cpus = 1 << 20;

cpu_list both(cpu_list const& order, cpu_list const& some) {
    cpu_list result;
    std::ranges::copy_if(order, std::back_inserter(result), [&](int c) { return std::ranges::find(some, c) != some.end(); });
    return result;
}

std::string first_line(std::string const& file) {
    std::ifstream in{file};
    std::string line;
    std::getline(in, line);
    return line;
}
} // namespace

cpu_list read_cpus(std::string_view text) {
    cpu_list cpus;
    auto const* at = text.data();
    auto const* const end = at + text.size();
    for (int first = 0; at != end; ++at) {
        auto const [after, failed] = std::from_chars(at, end, first);
        if (failed != std::errc{} || first < 0 || first >= most_cpus) continue;
        int last = first;
        at = after;
        if (at != end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
        for (int c = first; c <= std::min(last, most_cpus); ++c) cpus.push_back(c);
        if (at == end) break;
    }
    return cpus;
}

std::string print(cpu_list const& cpus) {
    std::string text;
    for (std::size_t from = 0, to = 0; from < cpus.size(); from = to) {
        for (to = from + 1; to < cpus.size() && cpus[to] == cpus[to - 1] + 1;) ++to;
        text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[from]);
        if (to - from > 1) text += fmt::format("-{}", cpus[to - 1]);
    }
    return text;
}

cpu_list allowed_cpus() {
    cpu_list cpus;
    for (int size = CPU_SETSIZE; size <= most_cpus && cpus.empty();
         size *= 2) { // the kernel refuses a mask shorter than its own
        auto* const set = CPU_ALLOC(static_cast<unsigned>(size));
        if (set == nullptr) break;
        auto const bytes = CPU_ALLOC_SIZE(static_cast<unsigned>(size));
        if (::sched_getaffinity(0, bytes, set) == 0)
            for (int c = 0; c < size; ++c)
                if (CPU_ISSET_S(static_cast<unsigned>(c), bytes, set)) cpus.push_back(c);
        CPU_FREE(set);
    }
    return cpus;
}

machine::machine(std::string system, cpu_list allowed) : system_{std::move(system)}, allowed_{std::move(allowed)} {
    for (int const n : read("/node/online")) nodes_.push_back(read(fmt::format("/node/node{}/cpulist", n)));
    cpu_list ordered;
    for (auto const& n : nodes_) std::ranges::copy(both(n, allowed_), std::back_inserter(ordered));
    for (int const c : allowed_)
        if (std::ranges::find(ordered, c) == ordered.end()) ordered.push_back(c);
    allowed_ = std::move(ordered);
}

cpu_list machine::read(std::string const& file) const { return read_cpus(first_line(system_ + file)); }

cpu_list machine::online() const { return read("/cpu/online"); }

cpu_list machine::share_cache(int cpu, int depth) const {
    for (int i = 0; i < 16; ++i) {
        auto const cache = fmt::format("/cpu/cpu{}/cache/index{}", cpu, i);
        auto const found = first_line(system_ + cache + "/level");
        if (found.empty()) return {};
        if (found == std::to_string(depth) && first_line(system_ + cache + "/type") != "Instruction")
            return read(cache + "/shared_cpu_list");
    }
    return {};
}

cpu_list machine::together_with(int cpu, level l) const {
    auto const topology = fmt::format("/cpu/cpu{}/topology/", cpu);
    switch (l) {
    case level::hwthread: return {cpu};
    case level::core: return read(topology + "thread_siblings_list");
    case level::l1: return share_cache(cpu, 1);
    case level::l2: return share_cache(cpu, 2);
    case level::l3: return share_cache(cpu, 3);
    case level::socket: return read(topology + "core_siblings_list");
    case level::numa:
        for (auto const& n : nodes_)
            if (std::ranges::find(n, cpu) != n.end()) return n;
        return {};
    case level::machine: return allowed_;
    }
    return {};
}

std::vector<cpu_list> machine::split(std::function<cpu_list(int cpu)> const& together_with) const {
    std::vector<cpu_list> all;
    cpu_list left = allowed_;
    while (!left.empty()) {
        auto const found = both(left, together_with(left.front()));
        if (found.empty()) return {}; // not even the CPU itself: nobody says
        std::erase_if(left, [&](int c) { return std::ranges::find(found, c) != found.end(); });
        all.push_back(found);
    }
    return all;
}

std::vector<cpu_list> machine::objects(level l) const {
    auto const known = better_ ? better_(l) : std::vector<cpu_list>{};
    auto all = split([&](int cpu) {
        auto const has = [cpu](cpu_list const& o) { return std::ranges::find(o, cpu) != o.end(); };
        auto const o = std::ranges::find_if(known, has);
        return o == known.end() ? cpu_list{} : *o;
    });
    return all.empty() ? split([&](int cpu) { return together_with(cpu, l); }) : all;
}

} // namespace mptrun
