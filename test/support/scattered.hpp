/// test/support/scattered - a buffer of packed bytes that lies side by side, or in runs with gaps between them, as dice have it.
///
///        scattered b{100, dice};    b.fill(bytes);    b.out() is a source, b.in() a sink, b.both() a place
///        b.packed() is what is in it; b.whole() says that nothing was written into the gaps
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "dice.hpp"
#include <mpt/coll/pieces.hpp>

namespace mpt::test {

/// The byte i of what `from` has for `to` in step `seed`.
std::byte value_of(unsigned seed, int from, int to, std::size_t i);
std::vector<std::byte> values_of(unsigned seed, int from, int to, std::size_t n);

/// Its loops over bytes stand in scattered.cpp: they are optimized where tests are not.
class scattered {
    static constexpr std::byte untouched{0xa5};
    std::size_t size_, run_, stride_;
    std::vector<std::byte> memory_;

    std::size_t place(std::size_t i) const noexcept { return i / run_ * stride_ + i % run_; }
    template <class F> void each_run(std::size_t offset, std::size_t size, F const& f) const;
    struct reading {
        scattered const* b;
        std::size_t size() const noexcept { return b->size_; }
        void read(std::size_t offset, std::span<std::byte> into) const noexcept;
        std::optional<std::span<std::byte const>> contiguous() const noexcept {
            if (b->run_ == b->stride_) return std::span{b->memory_}.first(b->size_);
            return std::nullopt;
        }
    } reading_{this};
    struct writing {
        scattered* b;
        std::size_t size() const noexcept { return b->size_; }
        void write(std::size_t offset, std::span<std::byte const> from) const noexcept;
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
    bool whole() const;
};

} // namespace mpt::test
