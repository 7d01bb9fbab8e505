/// core/pool - objects of one type that come and go all the time, in memory that only grows.
///
///        memory_source ---> chunk  [ slot | slot | slot | ... ]      slab<T>   pointers only, no overhead
///                           chunk  [ slot | slot | ...                pool<T>   and a 32-bit index per object, which may
///                                     ^                                         travel over a wire and is checked when it
///                                     fresh: never used, not touched yet        comes back
///
///   A freed slot is the next one handed out: its lines are warm. A pool's slot counts its lives: the generation is odd while an
///   object lives in it and even while it is free, so an index from outside is worth a pointer only together with the
///   generation that it was given with; a double destroy is an assertion.
///
///        slot of a pool    | index 4 | generation 4 | T ... |     index: of the slot; while free, of the next free slot
///
///   Memory   comes from a memory_source (in a stack: extents of the rank's slice of the arena) and is never given back. A
///            pool's directory of chunks doubles; the old ones are lost, which is at most as much again (8 bytes a chunk).
///   Cost     create, destroy: a dozen instructions, and a call of the source per chunk. at: two loads and two compares.
///   Limit    one thread at a time. An object on a slot's generation that wrapped (2^31 lives) can be mistaken for an old one.
///   Tests    test/core_pool_test.cpp
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <mpt/core/assert.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

/// Where growing structures get their memory. `more` returns zeroed memory, or nullptr when there is none; what it gave is
/// never returned. align: a power of two, at most a page.
struct memory_source {
    void* (*more)(void* self, std::size_t size, std::size_t align) noexcept = nullptr;
    void* self = nullptr;

    void* operator()(std::size_t size, std::size_t align) const noexcept { return more(self, size, align); }
};

/// Objects known by their address. T has no destructor to run.
template <class T, bytes Chunk = 4_KiB> class slab {
    static_assert(std::is_trivially_destructible_v<T> && sizeof(T) >= sizeof(void*));
    struct freed {
        freed* next;
    };
    static constexpr std::size_t per_chunk = std::max<std::size_t>(Chunk / sizeof(T), 4);

    memory_source source_;
    freed* free_ = nullptr;
    std::byte* fresh_ = nullptr;
    std::byte* end_ = nullptr;

public:
    explicit slab(memory_source source) noexcept : source_{source} {}
    slab(slab const&) = delete;
    slab& operator=(slab const&) = delete;

    /// A T with the given arguments; nullptr: no memory.
    template <class... Args> T* create(Args&&... args) noexcept {
        if (free_) {
            auto* const place = free_;
            free_ = free_->next;
            return ::new (static_cast<void*>(place)) T(std::forward<Args>(args)...);
        }
        if (fresh_ == end_ && !more()) return nullptr;
        return ::new (static_cast<void*>(std::exchange(fresh_, fresh_ + sizeof(T)))) T(std::forward<Args>(args)...);
    }
    /// t came from create() of this slab.
    void destroy(T* t) noexcept { free_ = ::new (static_cast<void*>(t)) freed{free_}; }

private:
    bool more() noexcept {
        auto* const chunk = static_cast<std::byte*>(source_(per_chunk * sizeof(T), std::max(alignof(T), cache_line)));
        if (!chunk) return false;
        fresh_ = chunk;
        end_ = chunk + per_chunk * sizeof(T);
        return true;
    }
};

/// Objects that also have an index, from 0 up, and a generation.
template <class T, bytes Chunk = 16_KiB> class pool {
    static_assert(std::is_nothrow_destructible_v<T>);
    struct header {
        std::uint32_t index;      // of this slot; while it is free, of the next free one
        std::uint32_t generation; // odd: alive
    };
    static constexpr std::size_t align = std::max(alignof(T), alignof(header));
    static constexpr std::size_t offset = (sizeof(header) + align - 1) / align * align; // of T in its slot
    static constexpr std::size_t stride = (offset + sizeof(T) + align - 1) / align * align;
    static constexpr std::uint32_t per_chunk =
        std::bit_floor(static_cast<std::uint32_t>(std::max<std::size_t>(Chunk / stride, 8)));
    static constexpr int shift = std::countr_zero(per_chunk);
    static constexpr std::uint32_t first_directory = 8;

public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// most: objects that may live at a time.
    explicit pool(memory_source source, std::uint32_t most = none) noexcept : source_{source}, most_{most} {}
    ~pool() {
        if constexpr (!std::is_trivially_destructible_v<T>) each([](T& t) { std::destroy_at(&t); });
    }
    pool(pool const&) = delete;
    pool& operator=(pool const&) = delete;

    /// A T{args...}; nullptr: no memory, or `most` of them live.
    template <class... Args> T* create(Args&&... args) noexcept {
        std::uint32_t const index = free_ != none ? free_ : made_;
        if (index == made_ && !fresh()) return nullptr;
        auto* const place = slot(index);
        auto* const head = reinterpret_cast<header*>(place);
        if (index == free_) free_ = head->index;
        head->index = index;
        ++head->generation;
        ++alive_;
        return ::new (static_cast<void*>(place + offset)) T{std::forward<Args>(args)...};
    }
    /// t lives in this pool.
    void destroy(T* t) noexcept {
        auto* const head = header_of(t);
        MPT_ASSERT(cheap, head->generation % 2 == 1 && at(head->index) == t);
        std::destroy_at(t);
        ++head->generation;
        free_ = std::exchange(head->index, free_);
        --alive_;
    }

    std::uint32_t index_of(T const* t) const noexcept { return header_of(t)->index; }
    std::uint32_t generation_of(T const* t) const noexcept { return header_of(t)->generation; }

    /// What lives at an index that may have come from anywhere; nullptr: nothing does.
    T* at(std::uint32_t index) noexcept {
        if (index >= made_) [[unlikely]]
            return nullptr;
        auto* const place = slot(index);
        return reinterpret_cast<header*>(place)->generation % 2 == 1 ? object(place) : nullptr;
    }
    /// The same, if it is still the object that had this generation.
    T* at(std::uint32_t index, std::uint32_t generation) noexcept {
        if (index >= made_ || generation % 2 == 0) [[unlikely]]
            return nullptr;
        auto* const place = slot(index);
        return reinterpret_cast<header*>(place)->generation == generation ? object(place) : nullptr;
    }

    /// Calls f(object) for all that live, by index.
    template <class F> void each(F&& f) {
        for (std::uint32_t i = 0; i < made_; ++i)
            if (auto* const t = at(i)) f(*t);
    }

    std::uint32_t alive() const noexcept { return alive_; }
    /// Slots that were ever used; every valid index is below.
    std::uint32_t made() const noexcept { return made_; }

private:
    std::byte* slot(std::uint32_t index) const noexcept {
        return directory_[index >> shift] + (index & (per_chunk - 1)) * stride;
    }
    static T* object(std::byte* place) noexcept { return std::launder(reinterpret_cast<T*>(place + offset)); }
    static header* header_of(T* t) noexcept { return reinterpret_cast<header*>(reinterpret_cast<std::byte*>(t) - offset); }
    static header const* header_of(T const* t) noexcept {
        return reinterpret_cast<header const*>(reinterpret_cast<std::byte const*>(t) - offset);
    }

    /// Makes slot made_ usable. False: no memory, or enough of them.
    bool fresh() noexcept {
        if (made_ >= most_) return false;
        if (made_ >> shift == chunks_ && !grow()) return false;
        ++made_;
        return true;
    }
    bool grow() noexcept {
        if (chunks_ == capacity_ && !widen()) return false;
        auto* const chunk = static_cast<std::byte*>(source_(per_chunk * stride, std::max(align, cache_line)));
        if (!chunk) return false;
        directory_[chunks_++] = chunk;
        return true;
    }
    bool widen() noexcept {
        auto* const wider = static_cast<std::byte**>(source_(2 * capacity_ * sizeof(std::byte*), cache_line));
        if (!wider) return false;
        std::copy_n(directory_, chunks_, wider);
        directory_ = wider;
        capacity_ *= 2;
        return true;
    }

    memory_source source_;
    std::byte* first_[first_directory]{};
    std::byte** directory_ = first_;
    std::uint32_t capacity_ = first_directory, chunks_ = 0;
    std::uint32_t made_ = 0, alive_ = 0, most_;
    std::uint32_t free_ = none; // head of the free slots
};

} // namespace mpt::inline v0
