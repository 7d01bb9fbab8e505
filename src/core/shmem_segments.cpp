// The segments with data of this process: shmem/segments.hpp.
#include <mpt/core/hash.hpp>
#include <mpt/shmem/segments.hpp>

#include <algorithm>
#include <exception>
#include <string_view>

#include <link.h>

namespace mpt::inline v0::shmem {
namespace {

struct collecting {
    std::vector<segment> found;
    std::exception_ptr failed;
};

void collect(dl_phdr_info const& object, std::vector<segment>& found) {
    for (ElfW(Word) const flags : {PF_R | PF_W, PF_R})
        for (int i = 0; i < object.dlpi_phnum; ++i) {
            auto const& h = object.dlpi_phdr[i];
            if (h.p_type != PT_LOAD || h.p_memsz == 0 || (h.p_flags & (flags | PF_X | PF_W)) != flags) continue;
            found.push_back(
                {object.dlpi_addr + h.p_vaddr, h.p_memsz, hash_of(std::string_view{object.dlpi_name}), flags == PF_R});
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
