// What memory a rank had, for people: stack/memory_report.hpp.
#include <mpt/stack/memory_report.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

namespace mpt::inline v0 {
namespace {
using mem::purpose;

std::string line(std::string_view what, mem::slice_heap::share const& s) {
    return fmt::format("  {:<21} {:>12} {:>12}", what, s.now, s.most);
}
std::string line(std::string_view what, mem::slice_heap::share const& s, mem::standing const& is) {
    auto text = line(what, s) + fmt::format(" {:>12} {:>18}", is.touched, is.huge);
    for (std::size_t i = 0; i < is.by_node.size(); ++i)
        text += fmt::format("{}{}: {}", i == 0 ? "   " : ", ", is.by_node[i].first, is.by_node[i].second);
    return text + '\n';
}
std::string lines(mem::slice_heap::shares const& use, std::initializer_list<purpose> all) {
    std::string text;
    for (auto const p : all) text += line(fmt::format("  {}", to_string(p)), use[p]) + '\n';
    return text;
}
} // namespace

std::string report(memory_facts const& f) {
    auto text = fmt::format("mpt: {:<18} {:>12} {:>12} {:>12} {:>18}   by node\n",
                            fmt::format("memory of rank {}", f.who.value), "then", "at most", "touched", "in huge pages");
    text += line("library", f.use.library, f.stands.library);
    text += lines(f.use, {purpose::control, purpose::mailboxes, purpose::buffers, purpose::collectives});
    text += line("program", f.use.user, f.stands.user);
    text += lines(f.use, {purpose::allocated, purpose::windows, purpose::symmetric});
    text += line("unexpected messages", f.unexpected) + '\n';
    if (!f.lacks.empty()) text += "  library: " + f.lacks + '\n';
    return text;
}

void memory_marks::add(rank who, std::array<std::uint64_t, uses> const& bytes) noexcept {
    ++ranks;
    for (std::size_t i = 0; i < uses; ++i) {
        auto& x = of[i];
        if (bytes[i] < x.least) x.least = bytes[i], x.who_least = who;
        if (bytes[i] > x.most || ranks == 1) x.most = bytes[i], x.who_most = who;
    }
}

std::string report(memory_marks const& all) {
    auto text = fmt::format("mpt: {:<28} {:>12} {:>8} {:>12} {:>8}\n", fmt::format("memory of {} ranks, at most", all.ranks),
                            "least", "of rank", "most", "of rank");
    for (std::size_t i = 0; i < memory_marks::uses; ++i) {
        auto const& x = all.of[i];
        text += fmt::format("  {:<31} {:>12} {:>8} {:>12} {:>8}\n",
                            i < mem::purposes ? to_string(static_cast<purpose>(i)) : "unexpected messages", x.least,
                            x.who_least.value, x.most, x.who_most.value);
    }
    return text;
}

void tell_report(std::string const& text, rank who, std::string_view file) {
    if (!file.empty()) {
        auto const name = fmt::format("{}.{}", file, who.value);
        if (auto* const f = std::fopen(name.c_str(), "we")) {
            auto const written = std::fputs(text.c_str(), f) >= 0;
            if (std::fclose(f) == 0 && written) return;
        }
        fmt::print(stderr, "mpt: rank {} cannot write its memory report to {}: {}.\n", who.value, name, std::strerror(errno));
    }
    std::fputs(text.c_str(), stderr);
}

} // namespace mpt::inline v0
