/// test/support/scattered - a buffer of packed bytes that lies side by side, or in runs with gaps between them, as dice have it.
///
///        scattered b{100, dice};    b.fill(bytes);    b.out() is a source, b.in() a sink, b.both() a place
///        b.packed() is what is in it; b.whole() says that nothing was written into the gaps
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "dice.hpp"
#include <mpt/coll/pieces.hpp>

namespace mpt::test {

/// The byte i of what `from` has for `to` in step `seed`.
inline std::byte value_of(unsigned seed, int from, int to, std::size_t i) {
    auto x = seed * 2654435761u + static_cast<unsigned>(from) * 40503u + static_cast<unsigned>(to) * 9973u +
             static_cast<unsigned>(i) * 31u;
    return static_cast<std::byte>((x ^ x >> 15) & 0xff);
}
inline std::vector<std::byte> values_of(unsigned seed, int from, int to, std::size_t n) {
    std::vector<std::byte> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = value_of(seed, from, to, i);
    return v;
}

class scattered {
    static constexpr std::byte untouched{0xa5};
    std::size_t size_, run_, stride_;
    std::vector<std::byte> memory_;

    std::size_t place(std::size_t i) const noexcept { return i / run_ * stride_ + i % run_; }
    /// f(i, place, n) for every piece of the packed bytes [offset, offset + size) that lies side by side; i counts from offset.
    template <class F> void each_run(std::size_t offset, std::size_t size, F const& f) const {
        for (std::size_t i = 0, n = 0; i < size; i += n) {
            n = std::min(run_ - (offset + i) % run_, size - i);
            f(i, place(offset + i), n);
        }
    }
    struct reading {
        scattered const* b;
        std::size_t size() const noexcept { return b->size_; }
        void read(std::size_t offset, std::span<std::byte> into) const noexcept {
            b->each_run(offset, into.size(), [&](std::size_t i, std::size_t at, std::size_t n) {
                std::memcpy(into.data() + i, b->memory_.data() + at, n);
            });
        }
        std::optional<std::span<std::byte const>> contiguous() const noexcept {
            if (b->run_ == b->stride_) return std::span{b->memory_}.first(b->size_);
            return std::nullopt;
        }
    } reading_{this};
    struct writing {
        scattered* b;
        std::size_t size() const noexcept { return b->size_; }
        void write(std::size_t offset, std::span<std::byte const> from) const noexcept {
            b->each_run(offset, from.size(), [&](std::size_t i, std::size_t at, std::size_t n) {
                std::memcpy(b->memory_.data() + at, from.data() + i, n);
            });
        }
        std::optional<std::span<std::byte>> contiguous() const noexcept {
            if (b->run_ == b->stride_) return std::span{b->memory_}.first(b->size_);
            return std::nullopt;
        }
    } writing_{this};

public:
    scattered(std::size_t size, dice& d) : size_{size}, run_{d.one_of<std::size_t>({1, 3, 8, 100, 5000})}, stride_{run_} {
        if (d.coin()) stride_ += d.one_of<std::size_t>({1, 5, 64});
        memory_.assign(place(size) + stride_, untouched);
    }
    scattered(scattered const&) = delete;
    std::size_t size() const noexcept { return size_; }
    source out() const noexcept { return source::of(reading_); }
    sink in() noexcept { return sink::of(writing_); }
    coll::place both() noexcept { return {out(), in()}; }

    void fill(std::vector<std::byte> const& bytes) { in().write(0, bytes); }
    std::vector<std::byte> packed() const {
        std::vector<std::byte> v(size_);
        out().read(0, v);
        return v;
    }
    bool whole() const {
        std::vector<bool> ours(memory_.size());
        for (std::size_t i = 0; i < size_; ++i) ours[place(i)] = true;
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if (!ours[i] && memory_[i] != untouched) return false;
        return true;
    }
};

} // namespace mpt::test
