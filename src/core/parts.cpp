// Parts of a slice that peers look at: handed out, and taken back when all have left.
#include <mpt/mem/parts.hpp>

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

    /// What all have left may be used again.
    void collect() noexcept {
        std::erase_if(list, [this](waiting const& w) {
            if (!w.what->was_left_by(w.members)) return false;
            heap.free_object(w.what);
            return true;
        });
    }
};

parts::parts(slice_heap& heap) : impl_{new impl{heap, {}, {}}} {}
parts::~parts() = default;

part* parts::take(std::size_t n) noexcept {
    {
        std::scoped_lock const hold{impl_->turn};
        impl_->collect();
    }
    auto* const memory = impl_->heap.object(sizeof(part) + n, alignof(part));
    if (!memory) return nullptr;
    auto* const made = new (memory) part{};
    std::memset(made->data(), 0, n);
    return made;
}

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
