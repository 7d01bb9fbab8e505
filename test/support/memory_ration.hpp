/// test/support/memory_ration - a memory_source for tests: zeroed memory from operator new, that counts, that may refuse, and gives all back at its end.
#pragma once
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include <mpt/core/pool.hpp>

namespace mpt::test {

class memory_ration {
    struct piece {
        void* at;
        std::size_t align;
    };
    std::vector<piece> pieces_;

public:
    std::size_t left = std::numeric_limits<std::size_t>::max(); // bytes it still gives out
    std::size_t given = 0;
    std::size_t calls = 0;
    std::size_t refusals = 0;

    memory_ration() = default;
    explicit memory_ration(std::size_t limit) : left{limit} {}
    memory_ration(memory_ration const&) = delete;
    ~memory_ration() {
        for (auto const& p : pieces_) ::operator delete(p.at, std::align_val_t{p.align});
    }

    mpt::memory_source source() noexcept {
        return {[](void* self, std::size_t n, std::size_t align) noexcept -> void* {
                    return static_cast<memory_ration*>(self)->more(n, align);
                },
                this};
    }

private:
    void* more(std::size_t n, std::size_t align) {
        ++calls;
        if (n > left) return ++refusals, nullptr;
        auto* const p = ::operator new(n, std::align_val_t{align});
        std::memset(p, 0, n);
        pieces_.push_back({p, align});
        left -= n;
        given += n;
        return p;
    }
};

} // namespace mpt::test
