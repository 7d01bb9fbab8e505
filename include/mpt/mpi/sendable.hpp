/// mpi/sendable - what the C++ facade can send: trivially copyable values, and contiguous ranges of them.
///
///   value                     one element: int, double, std::complex<double>, a struct of such
///   contiguous sized range    its elements: std::vector<int>, std::array, std::span, std::string
///   layout                    what it lays out: typed_source{buffer, count, type}, and typed_sink to receive (datatype/typed.hpp); messages
///                             and alltoallw alone take them
///
///   Pointers are trivially copyable and yet mean nothing in another process: they are refused, alone and as elements. What is
///   neither is a sentence at compile time, not bytes on the wire.
#pragma once
#include <concepts>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>

#include <mpt/core/cursor.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

/// One element. Specialise for a type that is trivially copyable but must not travel (or that may, against appearances).
template <class T> inline constexpr bool is_sendable =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> && !std::is_null_pointer_v<T>;

template <class T>
concept element = std::is_object_v<T> && is_sendable<std::remove_cv_t<T>>;

template <class R>
concept element_range =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && element<std::ranges::range_value_t<R>>;

/// Data that lie anywhere, by whoever says where: any byte_source to be sent, any byte_sink to be received into.
template <class T>
concept laid_out = byte_source<std::remove_cvref_t<T>>;
template <class T>
concept laid_out_room = byte_sink<std::remove_cvref_t<T>>;

/// A value or a range that can be sent. A range counts as a range, also where it is trivially copyable (std::array).
template <class T>
concept sendable = element_range<T> || (element<std::remove_cvref_t<T>> && !std::ranges::range<T>);

/// Room for a message: an lvalue that may be written, or a view (std::span) of such room.
template <class T>
concept receivable = (element_range<T> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<T>>> &&
                      (std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<T>)) ||
                     (std::is_lvalue_reference_v<T> && element<std::remove_reference_t<T>> &&
                      !std::is_const_v<std::remove_reference_t<T>> && !std::ranges::range<T>);

/// What a message can be received into.
template <class T>
concept message_room = receivable<T> || laid_out_room<T>;

/// A container that can be made as long as the message that arrives.
template <class C>
concept growable = element_range<C> && requires(C& c, std::size_t n) { c.resize(n); };

namespace detail {
template <class T> struct element_of {
    using type = std::remove_cvref_t<T>;
};
template <element_range R> struct element_of<R> {
    using type = std::ranges::range_value_t<R>;
};

/// Refers to the layout.
template <laid_out T> source bytes_of(T const& v) noexcept {
    if constexpr (std::same_as<T, source>) return v;
    else return source::of(v);
}
template <laid_out_room T> sink room_of(T&& v) noexcept {
    if constexpr (std::same_as<std::remove_cvref_t<T>, sink>) return v;
    else return sink::of(v);
}
/// The extent is known where a value is meant.
template <class T> auto bytes_of(T const& v) noexcept {
    static_assert(sendable<T const&>,
                  "mpt: this type cannot be sent: neither trivially copyable nor a contiguous range of such "
                  "(see mpt/mpi/sendable.hpp)");
    if constexpr (std::ranges::range<T const>) return std::as_bytes(std::span{std::ranges::data(v), std::ranges::size(v)});
    else return std::as_bytes(std::span<T const, 1>{std::addressof(v), 1});
}
template <class T> auto room_of(T&& v) noexcept {
    static_assert(receivable<T&&>, "mpt: no message can be received into this: it must be writable, and outlive the call "
                                   "(see mpt/mpi/sendable.hpp)");
    if constexpr (std::ranges::range<T>) return std::as_writable_bytes(std::span{std::ranges::data(v), std::ranges::size(v)});
    else return std::as_writable_bytes(std::span<std::remove_reference_t<T>, 1>{std::addressof(v), 1});
}
} // namespace detail

/// The element type of a value (itself) or a range.
template <class T> using element_t = typename detail::element_of<T>::type;

/// Data that are there as long as a plan: an lvalue, or a view of elements.
template <class T>
concept standing = sendable<T> && (std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<T>);
/// The same, or a layout of such.
template <class T>
concept standing_data = standing<T> || (laid_out<T> && std::is_lvalue_reference_v<T>);
template <class T>
concept standing_room = receivable<T> || (laid_out_room<T> && std::is_lvalue_reference_v<T>);

} // namespace mpt::inline v0
