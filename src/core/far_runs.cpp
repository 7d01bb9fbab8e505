// The runs of a message that its receiver reads one by one: protocol/request.hpp.
#include <algorithm>
#include <array>
#include <new>

#include <mpt/protocol/request.hpp>

namespace mpt::inline v0::protocol {

namespace {
/// The runs of a source, as many as the table may have. False: there are more.
bool list_all(source const& from, std::vector<memory_run>& all, std::size_t most) {
    std::array<memory_run, 64> some;
    for (std::size_t told = 0; told < from.size();) {
        auto const got = from.list(told, from.size() - told, some);
        if (got.runs == 0 || all.size() + got.runs > most) return false;
        all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(got.runs));
        told += got.bytes;
    }
    return true;
}
} // namespace

bool far_runs::tabulate(source const& from, std::size_t least) noexcept {
    constexpr std::size_t hull = 1;
    try {
        listed.assign(hull, {});
        if (!list_all(from, listed, hull + from.size() / least)) return listed.clear(), false;
    } catch (std::bad_alloc const&) { return listed.clear(), false; }
    std::uint64_t first = ~std::uint64_t{0}, end = 0;
    for (auto const& r : std::span{listed}.subspan(hull)) first = std::min(first, r.at), end = std::max(end, r.at + r.bytes);
    for (auto& r : std::span{listed}.subspan(hull)) r.at -= first;
    listed.front() = {first, end - first};
    return true;
}

bool far_runs::is_table_of(std::uint64_t size) const noexcept {
    std::uint64_t sum = 0;
    for (auto const& r : std::span{listed}.subspan(std::min<std::size_t>(listed.size(), 1))) {
        if (r.bytes == 0 || r.bytes > size - sum) return false;
        sum += r.bytes;
    }
    return sum == size;
}

listed_runs far_runs::list(std::uint64_t offset, std::uint64_t most, std::span<memory_run> into) noexcept {
    listed_runs told;
    auto const add = [&](memory_run const& whole, std::uint64_t from) {
        auto const n = std::min(whole.bytes - from, most - told.bytes);
        into[told.runs++] = {whole.at + from, n};
        told.bytes += static_cast<std::size_t>(n);
    };
    if (regular.count != 0) {
        auto i = offset / regular.bytes, from = offset % regular.bytes;
        for (; i < regular.count && told.runs < into.size() && told.bytes < most; ++i, from = 0)
            add({regular.at + i * static_cast<std::uint64_t>(regular.stride), regular.bytes}, from);
        return told;
    }
    while (next < listed.size() && offset - before >= listed[next].bytes) before += listed[next++].bytes;
    auto from = offset - before;
    for (auto i = next; i < listed.size() && told.runs < into.size() && told.bytes < most; ++i, from = 0) add(listed[i], from);
    return told;
}

std::size_t cut_runs(std::span<memory_run> runs, std::uint64_t bytes) noexcept {
    std::size_t kept = 0;
    for (; kept < runs.size() && bytes != 0; ++kept) {
        runs[kept].bytes = std::min(runs[kept].bytes, bytes);
        bytes -= runs[kept].bytes;
    }
    return kept;
}

bool has_long_runs(sink const& into, std::uint64_t most, std::size_t least) noexcept {
    if (into.is_contiguous()) return true;
    if (!into.lists()) return false;
    std::array<memory_run, 64> first;
    auto const got = into.list(0, static_cast<std::size_t>(most), first);
    return got.runs != 0 && got.bytes >= got.runs * least;
}

far_runs* far_book::make() noexcept {
    try {
        auto& f = *all_.emplace_back(std::make_unique<far_runs>());
        f.place = all_.size() - 1;
        return &f;
    } catch (std::bad_alloc const&) { return nullptr; }
}

void far_book::drop(far_runs& f) noexcept {
    auto const i = f.place;
    if (i + 1 != all_.size()) {
        all_[i] = std::move(all_.back());
        all_[i]->place = i;
    }
    all_.pop_back();
}

} // namespace mpt::inline v0::protocol
