// What memory a rank had, for people: stack/memory_report.hpp.
#include <mpt/stack/memory_report.hpp>

#include <fmt/format.h>

namespace mpt::inline v0 {
namespace {
std::string line(std::string_view what, mem::slice_heap::share const& s) {
    return fmt::format("  {:<21} {:>12} {:>12}", what, s.now, s.most);
}
std::string line(std::string_view what, mem::slice_heap::share const& s, mem::standing const& is) {
    auto text = line(what, s) + fmt::format(" {:>12} {:>18}", is.touched, is.huge);
    for (std::size_t i = 0; i < is.by_node.size(); ++i)
        text += fmt::format("{}{}: {}", i == 0 ? "   " : ", ", is.by_node[i].first, is.by_node[i].second);
    return text;
}
} // namespace

std::string report(memory_facts const& f) {
    auto text = fmt::format("mpt: {:<18} {:>12} {:>12} {:>12} {:>18}   by node\n",
                            fmt::format("memory of rank {}", f.who.value), "then", "at most", "touched", "in huge pages");
    text += line("library", f.use.library, f.stands.library) + '\n';
    text += line("program", f.use.user, f.stands.user) + '\n';
    text += line("unexpected messages", f.unexpected) + '\n';
    if (!f.lacks.empty()) text += "  library: " + f.lacks + '\n';
    return text;
}

} // namespace mpt::inline v0
