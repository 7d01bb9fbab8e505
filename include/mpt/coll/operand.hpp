/// coll/operand - what a reduction combines: elements of some layout, and how two runs of them become one.
///
///        origin      origin + extent
///        |   lowest  |                          contiguous   extent == packed == reach, lowest == 0: an array
///        v <-------> v                          any other    read() packs a run of elements, write() unpacks it
///        .   [##   ##].   [##   ##]
///            <- reach ->
///
///   combine(what, left, right, n) gives right[i] = left[i] op right[i] for n elements whose origins are left and right; left is
///   what came from lower ranks. merge(what, left, right, result, n), where there is one, gives result[i] = left[i] op right[i] in memory
///   that overlaps neither. combine may be the user's: it may throw, and call mpt. The algorithms keep rank order by choosing which
///   buffer is left, and take the two the other way round only where the operation commutes.
///
///   A reduction is a team with an operand: messages of elements, and work buffers that have the elements' layout and the
///   alignment of the user's. An operand is a row of numbers and functions, not a template argument: the algorithms are compiled
///   once a stack, whatever is combined.
///   Tests     test/coll_operand_test.cpp    Source MPI-4.1 sections 6.9.1 and 6.9.5.
#pragma once
#include <algorithm>

#include <mpt/coll/pieces.hpp>
#include <mpt/coll/team.hpp>

namespace mpt::inline v0::coll {

struct operand {
    using combiner = coll::combiner;
    using merger = void (*)(void* what, std::byte const* left, std::byte const* right, std::byte* result, std::size_t n);
    using reader = void (*)(void* what, std::byte const* origin, std::size_t offset, std::span<std::byte> into) noexcept;
    using writer = void (*)(void* what, std::byte* origin, std::size_t offset, std::span<std::byte const> from) noexcept;

    std::size_t packed = 0;    // bytes of an element in a message
    std::ptrdiff_t extent = 0; // from one element's origin to the next one's
    std::ptrdiff_t lowest = 0; // from an element's origin to its first byte
    std::size_t reach = 0;     // from its first byte to behind its last
    bool commutes = false;
    void* what = nullptr; // the functions' own
    combiner combine = nullptr;
    reader read = nullptr; // offset counts packed bytes from the first element on; null: contiguous
    writer write = nullptr;
    merger merge = nullptr; // of an array alone
    bool ours = false;      // combine throws nothing, calls nothing and waits for nobody: it is none of the user's

    /// An array of elements of `size` bytes.
    static constexpr operand array(std::size_t size, bool commutes, void* what, combiner f, merger apart = nullptr) noexcept {
        return {size, static_cast<std::ptrdiff_t>(size), 0, size, commutes, what, f, nullptr, nullptr, apart};
    }
    /// Of arrays: result = left op right, where result is right's memory, or apart from both.
    void combine_into(std::byte const* left, std::byte const* right, std::byte* result, std::size_t n) const {
        if (right == result) return combine(what, left, result, n);
        if (merge) return merge(what, left, right, result, n);
        copy_bytes(result, right, n * packed);
        combine(what, left, result, n);
    }
    bool is_contiguous() const noexcept { return read == nullptr; }
    /// Where element i begins, counted from the first one's origin.
    template <class Byte> Byte* at(Byte* origin, std::size_t i) const noexcept {
        return origin + static_cast<std::ptrdiff_t>(i) * extent;
    }
};

/// n elements, as a message that is read.
class elements_out {
    operand const* op_;
    std::byte const* origin_;
    std::size_t n_;

public:
    elements_out(operand const& op, std::byte const* origin, std::size_t n) noexcept : op_{&op}, origin_{origin}, n_{n} {}
    std::size_t size() const noexcept { return n_ * op_->packed; }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept { op_->read(op_->what, origin_, offset, into); }
    std::optional<std::span<std::byte const>> contiguous() const noexcept {
        if (!op_->is_contiguous()) return std::nullopt;
        return std::span{origin_, size()};
    }
};
/// n elements, as room for a message.
class elements_in {
    operand const* op_;
    std::byte* origin_;
    std::size_t n_;

public:
    elements_in(operand const& op, std::byte* origin, std::size_t n) noexcept : op_{&op}, origin_{origin}, n_{n} {}
    std::size_t size() const noexcept { return n_ * op_->packed; }
    void write(std::size_t offset, std::span<std::byte const> from) const noexcept {
        op_->write(op_->what, origin_, offset, from);
    }
    std::optional<std::span<std::byte>> contiguous() const noexcept {
        if (!op_->is_contiguous()) return std::nullopt;
        return std::span{origin_, size()};
    }
};

/// Room for n elements; its origin is aligned as well as memory from new is. memory(n): a scratch of n bytes. It stays where it is.
class work_buffer {
    std::ptrdiff_t low_, shift_;
    scratch memory_;

    static constexpr std::ptrdiff_t alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    /// From the origin of the first element to the lowest byte of all, and to behind the highest.
    static std::ptrdiff_t low_of(operand const& op, std::size_t n) noexcept {
        return op.lowest + std::min<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(n - 1) * op.extent);
    }

public:
    static std::size_t bytes_of(operand const& op, std::size_t n) noexcept {
        auto const far = static_cast<std::ptrdiff_t>(n - 1) * op.extent;
        return n == 0 ? 0 : op.reach + static_cast<std::size_t>((far < 0 ? -far : far) + alignment);
    }
    template <class Memory> work_buffer(operand const& op, std::size_t n, Memory const& memory)
        : low_{n == 0 ? 0 : low_of(op, n)}, shift_{((low_ % alignment) + alignment) % alignment},
          memory_{memory(bytes_of(op, n))} {}
    std::byte* origin() const noexcept { return memory_.data() + (shift_ - low_); }
};

template <team_type Team> class reduction {
    Team const& t_;
    operand const& op_;
    speaker speaker_;

public:
    reduction(Team const& t, operand const& op, speaker s) : t_{t}, op_{t.lasting(op)}, speaker_{s} {}

    std::int32_t me() const noexcept { return t_.me(); }
    std::int32_t size() const noexcept { return t_.size(); }
    bool differs() const noexcept { return t_.differs(); }
    operand const& op() const noexcept { return op_; }
    speaker speaks() const noexcept { return speaker_; }
    template <class Byte> Byte* at(Byte* origin, std::size_t i) const noexcept { return op_.at(origin, i); }
    template <text Name> std::size_t limit() const noexcept { return t_.template limit<Name>(); }
    work_buffer work(std::size_t n) const {
        return {op_, n, [this](std::size_t bytes) { return t_.memory(bytes); }};
    }

    void send(std::int32_t to, std::byte const* data, std::size_t n) const {
        elements_out const out{op_, data, n};
        t_.send(to, speaker_, out);
    }
    void recv(std::int32_t from, std::byte* into, std::size_t n) const {
        elements_in const in{op_, into, n};
        t_.recv(from, speaker_, in);
    }
    void exchange(std::int32_t to, std::byte const* data, std::size_t given, std::int32_t from, std::byte* into,
                  std::size_t taken) const {
        elements_out const out{op_, data, given};
        elements_in const in{op_, into, taken};
        t_.exchange(to, out, from, in, speaker_);
    }
    void copy(std::byte const* from, std::byte* into, std::size_t n) const {
        if (from == into || n == 0) return;
        elements_out const out{op_, from, n};
        elements_in const in{op_, into, n};
        t_.move(out, in);
    }
    /// right = left op right, element by element.
    void combine(std::byte const* left, std::byte* right, std::size_t n) const {
        if (n != 0) t_.combine(op_.combine, op_.what, left, right, n, op_.ours);
    }
    /// have = have op other, or, where `other` is from lower ranks, other op have. What is in `other` afterwards is not said: the two
    /// pointers may have changed places.
    void join(std::byte*& have, std::byte*& other, std::size_t n, bool other_is_lower) const {
        if (other_is_lower) return combine(other, have, n);
        combine(have, other, n);
        std::swap(have, other);
    }
};

} // namespace mpt::inline v0::coll
