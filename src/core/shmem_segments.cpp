// The segments with data of this process: shmem/segments.hpp.
#include <mpt/core/hash.hpp>
#include <mpt/shmem/segments.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include <climits>
#include <elf.h>
#include <link.h>
#include <unistd.h>

namespace mpt::inline v0::shmem {
namespace {

struct collecting {
    std::vector<segment> found;
    std::exception_ptr failed;
};

/// What the linker has named the file by, from all that it has in it; empty: it did not.
std::string_view build_id(dl_phdr_info const& object) noexcept {
    using namespace std::string_view_literals;
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        auto const& h = object.dlpi_phdr[i];
        if (h.p_type != PT_NOTE) continue;
        std::string_view notes{reinterpret_cast<char const*>(object.dlpi_addr + h.p_vaddr), h.p_memsz};
        std::size_t const least = h.p_align == 8 ? 8 : 4; // what follows a part begins at a multiple of it
        auto const up = [least](std::size_t n) { return (n + least - 1) / least * least; };
        while (notes.size() >= sizeof(ElfW(Nhdr))) {
            auto const& note = *reinterpret_cast<ElfW(Nhdr) const*>(notes.data());
            auto const name = sizeof note, text = up(name + note.n_namesz), end = text + note.n_descsz;
            if (end > notes.size()) break;
            if (note.n_type == NT_GNU_BUILD_ID && notes.substr(name, note.n_namesz) == "GNU\0"sv)
                return notes.substr(text, note.n_descsz);
            notes.remove_prefix(std::min(up(end), notes.size()));
        }
    }
    return {};
}

/// A library has its file's name; the program has none here, and is told from another by its build id or the place of its file.
std::uint64_t identity(dl_phdr_info const& object) noexcept {
    if (std::string_view const name{object.dlpi_name}; !name.empty()) return hash_of(name);
    if (auto const id = build_id(object); !id.empty()) return hash_of(id);
    std::array<char, PATH_MAX> path{};
    auto const n = ::readlink("/proc/self/exe", path.data(), path.size());
    return hash_of(std::string_view{path.data(), n > 0 ? static_cast<std::size_t>(n) : 0});
}

void collect(dl_phdr_info const& object, std::vector<segment>& found) {
    auto const object_id = identity(object);
    for (ElfW(Word) const flags : {PF_R | PF_W, PF_R})
        for (int i = 0; i < object.dlpi_phnum; ++i) {
            auto const& h = object.dlpi_phdr[i];
            if (h.p_type != PT_LOAD || h.p_memsz == 0 || (h.p_flags & (flags | PF_X | PF_W)) != flags) continue;
            found.push_back({object.dlpi_addr + h.p_vaddr, h.p_memsz, object_id, flags == PF_R});
        }
}

/// No exception may pass the loader.
int each_object(dl_phdr_info* object, std::size_t, void* into) noexcept {
    auto& all = *static_cast<collecting*>(into);
    try {
        collect(*object, all.found);
    } catch (...) { all.failed = std::current_exception(); }
    return all.failed ? 1 : 0;
}
} // namespace

std::vector<segment> data_segments() {
    collecting all;
    ::dl_iterate_phdr(each_object, &all);
    if (all.failed) std::rethrow_exception(all.failed);
    return std::move(all.found);
}

std::size_t segment_of(std::vector<segment> const& all, std::uint64_t address) noexcept {
    auto const found = std::ranges::find_if(all, [address](segment const& s) { return address - s.at < s.bytes; });
    return static_cast<std::size_t>(found - all.begin());
}

} // namespace mpt::inline v0::shmem
