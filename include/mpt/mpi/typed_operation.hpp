/// mpi/typed_operation - what a reduction does to elements of any datatype: a predefined operation, or a function of the program.
///
///        mpt::typed_operation const sum{mpt::datatype::named(mpt::element_kind::c_double), mpt::operation::sum};
///        mpt::typed_operation const hull{interval, [](void const* left, void* right, std::int64_t n) { ... }};     right = left op right
///        mpt::done(world, [&](auto const& to) { to.allreduce(mine, all, 100, hull); });                            mpi/planned.hpp
///        mpt::reduce_local(mine, all, 100, hull);                                                                  no messages
///
///        buffer            origin                 The algorithms tell places by origins that are not null: of a datatype whose
///        |<--- shift ---->||<- data ->|           displacements are addresses, the buffer is. A shift keeps the alignment.
///
///   A predefined operation is a compiled loop (datatype/operation.hpp), and defined on basic datatypes. A function gets any datatype,
///   in rank order unless it is said to commute; it may throw, and use mpt.
///   Cost    as an operation on numbers; elements that do not lie side by side are packed and unpacked on their way.
///   Tests   test/mpi_typed_operation_test.cpp    Source MPI-4.1 sections 6.9.1 to 6.9.7.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <utility>

#include <mpt/coll/operand.hpp>
#include <mpt/datatype/operation.hpp>
#include <mpt/datatype/typed.hpp>
#include <mpt/mpi/checks.hpp>
#include <mpt/mpi/error_classes.hpp>
#include <mpt/mpi/operations.hpp>
#include <mpt/mpi/sendable.hpp>

namespace mpt::inline v0 {

/// By operation's order.
inline constexpr std::array<std::string_view, operations> operation_names{
    "max", "min", "sum", "prod", "land", "band", "lor", "bor", "lxor", "bxor", "minloc", "maxloc", "replace", "no_op"};

/// A named datatype, or one like it by another name: a duplicate, a Fortran type by precision.
inline bool is_basic(datatype const& t) noexcept {
    if (t.element() == element_kind::mixed || t.true_lower_bound() != 0 || t.lower_bound() != 0) return false;
    auto const& one = facts(t.element());
    return t.elements() == (one.is_pair() ? 2 : 1) && t.extent() == one.extent;
}

class typed_operation {
public:
    /// Buffers of n elements, at least one: right[i] = left[i] op right[i]. Left is what came from lower ranks.
    using function = std::function<void(void const* left, void* right, std::int64_t n)>;

private:
    datatype type_;
    bool commutes_;
    kernel kernel_; // of a predefined operation
    merger merger_; // of some predefined operations
    function function_;
    std::ptrdiff_t shift_; // bytes from a buffer to its origin

public:
    /// f commutes: its operands may come in any order.
    typed_operation(datatype type, function f, bool commutes = false)
        : typed_operation{std::move(type), commutes, nullptr, nullptr, std::move(f)} {}
    /// Throws mpi_error(error_class::op) where the one is not defined on the other.
    typed_operation(datatype const& type, operation what)
        : typed_operation{type, true, kernel_of(type, what), find_merger(what, type.element()), {}} {}

    datatype const& type() const noexcept { return type_; }
    bool commutes() const noexcept { return commutes_; }
    /// As the algorithms take it; refers to this.
    operator coll::operand() const noexcept;
    std::byte* origin(void const* buffer) const noexcept { return moved(buffer, shift_); }
    /// How many elements there are to combine: none without bytes.
    std::size_t count(std::int64_t n) const noexcept { return type_.size() == 0 ? 0 : static_cast<std::size_t>(n); }
    /// By origins.
    void combine(std::byte const* left, std::byte* right, std::size_t n) const {
        if (kernel_) kernel_(left, right, n);
        else function_(buffer_of(left), buffer_of(right), static_cast<std::int64_t>(n));
    }

protected:
    typed_operation(datatype type, bool commutes, kernel k, merger m, function f)
        : type_{std::move(type)}, commutes_{commutes}, kernel_{k}, merger_{m}, function_{std::move(f)},
          shift_{type_.true_lower_bound() & -std::ptrdiff_t{__STDCPP_DEFAULT_NEW_ALIGNMENT__}} {}

private:
    /// By numbers: a buffer may be MPI_BOTTOM, a null pointer, and data are at what is added to it.
    static std::byte* moved(void const* p, std::ptrdiff_t by) noexcept {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(by));
    }
    std::byte* buffer_of(std::byte const* origin) const noexcept { return moved(origin, -shift_); }
    static kernel kernel_of(datatype const& type, operation what) {
        auto const name = "mpt: operation " + std::string{operation_names[static_cast<std::size_t>(what)]};
        if (what == operation::replace || what == operation::no_op)
            throw mpi_error{error_class::op, name + " is for one-sided communication only"};
        auto const k = is_basic(type) ? find_kernel(what, type.element()) : nullptr;
        if (!k)
            throw mpi_error{error_class::op, name + " is not defined on " +
                                                 (is_basic(type) ? std::string{facts(type.element()).name}
                                                                 : "a derived datatype of " + std::to_string(type.size()) +
                                                                       " bytes; a function of the program may be")};
        return k;
    }
    /// Enough elements to have so many packed bytes.
    std::int64_t elements(std::size_t bytes) const noexcept {
        auto const one = type_.size();
        return (static_cast<std::int64_t>(bytes) + one - 1) / one;
    }
    void read(std::byte const* origin, std::size_t offset, std::span<std::byte> into) const noexcept {
        typed_source{buffer_of(origin), elements(offset + into.size()), type_}.read(offset, into);
    }
    void write(std::byte* origin, std::size_t offset, std::span<std::byte const> from) const noexcept {
        typed_sink{buffer_of(origin), elements(offset + from.size()), type_}.write(offset, from);
    }
};

inline typed_operation::operator coll::operand() const noexcept {
    auto const low = std::min(type_.lower_bound(), type_.true_lower_bound());
    auto const high = std::max(type_.upper_bound(), type_.true_lower_bound() + type_.true_extent());
    coll::operand o{static_cast<std::size_t>(type_.size()), type_.extent(), low - shift_, static_cast<std::size_t>(high - low)};
    o.commutes = commutes_, o.ours = kernel_ != nullptr;
    o.what = const_cast<typed_operation*>(this);
    o.combine = [](void* what, std::byte const* left, std::byte* right, std::size_t n) {
        static_cast<typed_operation const*>(what)->combine(left, right, n);
    };
    if (type_.is_contiguous(2) && low == 0) {
        if (merger_)
            o.merge = [](void* what, std::byte const* left, std::byte const* right, std::byte* result, std::size_t n) {
                static_cast<typed_operation const*>(what)->merger_(left, right, result, n);
            };
        return o;
    }
    o.read = [](void* what, std::byte const* origin, std::size_t offset, std::span<std::byte> into) noexcept {
        static_cast<typed_operation const*>(what)->read(origin, offset, into);
    };
    o.write = [](void* what, std::byte* origin, std::size_t offset, std::span<std::byte const> from) noexcept {
        static_cast<typed_operation const*>(what)->write(origin, offset, from);
    };
    return o;
}

/// right[i] = left[i] op right[i], here. The buffers do not overlap. Section 6.9.7.
inline void reduce_local(void const* left, void* right, std::int64_t n, typed_operation const& op) {
    if (auto const count = op.count(n); count != 0) op.combine(op.origin(left), op.origin(right), count);
}
template <sendable L, receivable R, class Op = std::plus<>> void reduce_local(L const& left, R&& right, Op op = {}) {
    using T = element_t<std::remove_reference_t<R>>;
    static_assert(std::is_same_v<element_t<L>, T>, "mpt: reduce_local: the elements are of one type");
    std::span<std::byte const> const one = detail::bytes_of(left);
    std::span<std::byte> const other = detail::room_of(right);
    if (one.size() != other.size()) checks::bad_share("reduce_local", one.size() / sizeof(T), other.size() / sizeof(T), 1);
    detail::combine<T>(one, other, other, op);
}

} // namespace mpt::inline v0
