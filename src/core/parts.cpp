// Parts of a slice that peers look at: handed out, and taken back when all have left.
#include <mpt/mem/parts.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace mpt::inline v0::mem {

struct parts::impl {
    struct waiting {
        part* what;
        std::uint32_t members;
    };
    slice_heap& heap;
    std::mutex turn; // communicators of several threads come and go
    std::vector<waiting> list;
    std::vector<part*> free;

    /// What all have left may be used again.
    void collect() {
        free.reserve(free.size() + list.size());
        std::erase_if(list, [this](waiting const& w) {
            bool const gone = w.what->was_left_by(w.members);
            if (gone) free.push_back(w.what);
            return gone;
        });
    }
    part* again(std::size_t n) noexcept {
        auto const found = std::find_if(free.begin(), free.end(), [n](part const* p) { return p->bytes == n; });
        if (found == free.end()) return nullptr;
        auto* const p = *found;
        free.erase(found);
        p->left.store(0, std::memory_order_relaxed); // order: nobody else knows of it now
        return p;
    }
    part* fresh(std::size_t n) noexcept {
        auto const memory = heap.spare(sizeof(part) + n, purpose::collectives);
        if (memory.empty()) return nullptr;
        auto* const p = new (memory.data()) part{};
        p->bytes = n;
        return p;
    }
};

parts::parts(slice_heap& heap) : impl_{new impl{heap, {}, {}, {}}} {}
parts::~parts() = default;

part* parts::take(std::size_t n) noexcept try {
    std::scoped_lock const hold{impl_->turn};
    impl_->collect();
    auto* p = impl_->again(n);
    if (!p) p = impl_->fresh(n);
    if (p) std::memset(p->data(), 0, n);
    return p;
} catch (std::bad_alloc const&) { return nullptr; }

void parts::retire(part& p, std::uint32_t members) noexcept try {
    std::scoped_lock const hold{impl_->turn};
    impl_->list.push_back({&p, members});
    impl_->collect();
} catch (std::bad_alloc const&) {
    // it is lost to this slice, nothing else
}

std::size_t parts::retired() const noexcept {
    std::scoped_lock const hold{impl_->turn};
    return impl_->list.size();
}
slice_heap& parts::heap() const noexcept { return impl_->heap; }

} // namespace mpt::inline v0::mem
