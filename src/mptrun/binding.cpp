#include "binding.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <mpt/wait/cpus.hpp>

#include "topology.hpp"

namespace mptrun {
namespace {

/// One mptrun at a time binds by itself. An abstract name in the kernel, which goes with the process; held by whoever comes first.
bool only_one() {
    constexpr std::string_view name = "mpt.mptrun.binds";
    auto const s = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return s >= 0 && ::bind(s, reinterpret_cast<sockaddr*>(&address), size) == 0; // the socket lives as long as we
}

/// `count` of `n` things, evenly: the part with this number.
std::pair<std::size_t, std::size_t> slice(std::size_t n, std::size_t parts, std::size_t number) {
    return {n * number / parts, n * (number + 1) / parts};
}

std::vector<cpu_list> objects_or_error(machine const& m, level l, std::string_view option) {
    auto all = m.objects(l);
    if (all.empty())
        throw usage_error{fmt::format("{} {}: this system does not say which CPUs share one.", option, name_of(l))};
    return all;
}

/// Objects with a CPU in common with this one, by number.
std::vector<std::size_t> inside(std::vector<cpu_list> const& objects, cpu_list const& whole) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < objects.size(); ++i)
        if (std::ranges::find_first_of(objects[i], whole) != objects[i].end()) found.push_back(i);
    return found;
}
} // namespace

places even_shares(machine const& m, int ranks) {
    auto const n = static_cast<std::size_t>(ranks);
    auto cores = m.objects(level::core);
    if (!cores.empty() && n > cores.size()) cores = m.objects(level::hwthread);
    if (n > cores.size()) return {};
    places shares(n);
    for (std::size_t r = 0; r < n; ++r) {
        auto const [from, to] = slice(cores.size(), n, r);
        for (auto i = from; i < to; ++i) std::ranges::copy(cores[i], std::back_inserter(shares[r]));
        std::ranges::sort(shares[r]);
    }
    return shares;
}

places widened(machine const& m, places shares) {
    auto const nodes = m.objects(level::numa);
    bool differ = false;
    for (auto& share : shares) {
        cpu_list wide;
        for (auto const n : inside(nodes, share)) std::ranges::copy(nodes[n], std::back_inserter(wide));
        std::ranges::sort(wide);
        share = std::move(wide);
        differ = differ || share.size() < m.allowed().size();
    }
    return differ ? shares : places{};
}

places chosen(machine const& m, placing const& p, int ranks) {
    auto const objects = objects_or_error(m, p.object, "--bind-to");
    std::vector<std::vector<std::size_t>> groups;
    if (p.by)
        for (auto const& whole : objects_or_error(m, *p.by, "--map-by")) groups.push_back(inside(objects, whole));
    else groups.push_back(inside(objects, m.allowed()));
    auto const width = static_cast<std::size_t>(p.width), per = static_cast<std::size_t>(std::max(p.per, 1));
    std::vector<std::size_t> used(groups.size());
    places where(static_cast<std::size_t>(ranks));
    for (std::size_t r = 0; r < where.size(); ++r) {
        auto const g = r / per % groups.size();
        for (std::size_t i = 0; i < std::min(width, groups[g].size()); ++i)
            std::ranges::copy(objects[groups[g][used[g]++ % groups[g].size()]], std::back_inserter(where[r]));
        std::ranges::sort(where[r]);
    }
    return where;
}

bool may_bind(machine const& m) {
    auto own = m.allowed();
    std::ranges::sort(own);
    if (own != m.online()) return false;
    auto const quota = mpt::quota_cpus();
    return (quota == 0 || quota >= own.size()) && only_one();
}

places bind_ranks(options& o) {
    auto const asked = o.place.bind == placing::how::objects;
    if (o.ranks > 0 && (o.place.bind == placing::how::none || (o.ranks == 1 && !asked))) return {};
    machine here{"/sys/devices/system", allowed_cpus()};
    if (asked || o.place.by) here.ask(hwloc_objects);
    if (o.ranks == 0) {
        auto const n = objects_or_error(here, *o.place.by, "--map-by").size();
        count_ranks(o, o.place.per * static_cast<int>(n));
    }
    if (asked) return chosen(here, o.place, o.ranks);
    auto const scarce = static_cast<std::size_t>(o.ranks) > here.allowed().size();
    if (o.place.bind == placing::how::none || scarce || here.objects(level::numa).size() < 2 || !may_bind(here)) return {};
    return widened(here, even_shares(here, o.ranks));
}

std::string binding_report(places const& where, int ranks) {
    auto const of = [&](int r) { return where.empty() ? cpu_list{} : where[static_cast<std::size_t>(r)]; };
    std::string text;
    for (int first = 0, next = 0; first < ranks; first = next) {
        for (next = first + 1; next < ranks && of(next) == of(first);) ++next;
        auto const who = next - first == 1 ? fmt::format("rank {}", first) : fmt::format("ranks {}-{}", first, next - 1);
        text += fmt::format("mptrun: {}: {}\n", who, of(first).empty() ? "not bound" : "CPUs " + print(of(first)));
    }
    return text;
}

} // namespace mptrun
