// Packing to external32 and back: a walk over the tree of the type, and a conversion per number.
#include <mpt/datatype/external32.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <mpt/core/error.hpp>

#include "datatype_node.hpp"

namespace mpt::inline v0 {

namespace {
/// Numbers of one kind; a complex one is two.
struct number {
    bool is_signed, is_extended; // extended: a long double, whatever that is here
    std::int64_t size, external, parts;

    explicit number(element_kind k)
        : is_signed{facts(k).values == element_class::signed_integer},
          is_extended{k == element_kind::c_long_double || k == element_kind::c_long_double_complex ||
                      k == element_kind::cxx_long_double_complex},
          size{facts(k).size}, external{facts(k).external}, parts{facts(k).values == element_class::complex ? 2 : 1} {
        size /= parts;
        external /= parts;
    }
};

// binary128: what a long double is outside.
#if __LDBL_MANT_DIG__ == 113
using quad = long double;
#else
__extension__ using quad = __float128;
#endif

/// n bytes between the machine's order and big-endian.
void turned(std::byte* to, std::byte const* from, std::int64_t n) {
    if constexpr (std::endian::native == std::endian::little) std::reverse_copy(from, from + n, to);
    else std::memcpy(to, from, static_cast<std::size_t>(n));
}

/// The integers whose size differs: long (8 and 4 bytes) and wchar_t (4 and 2).
template <class Integer> void narrow(std::byte* to, std::byte const* from, number const& n) {
    Integer v = 0;
    std::memcpy(&v, from, sizeof v);
    auto const bits = 8 * n.external - (n.is_signed ? 1 : 0);
    if (auto const above = v >> bits; above != 0 && !(n.is_signed && above == static_cast<Integer>(-1)))
        throw error{errc::argument, fmt::format("mpt: pack_external32: {} does not fit into {} bytes", v, n.external)};
    for (auto i = n.external; i-- > 0; v >>= 8) to[i] = static_cast<std::byte>(v & 0xff);
}
template <class Integer> void widen(std::byte* to, std::byte const* from, number const& n) {
    auto v = n.is_signed && (from[0] & std::byte{0x80}) != std::byte{0} ? static_cast<Integer>(-1) : Integer{0};
    for (std::int64_t i = 0; i < n.external; ++i)
        v = static_cast<Integer>(static_cast<std::uint64_t>(v) << 8 | std::to_integer<std::uint64_t>(from[i]));
    std::memcpy(to, &v, sizeof v);
}

struct outwards {
    using packed = std::byte*;
    static void convert(std::uintptr_t memory, packed to, number const& n) {
        auto const* from = reinterpret_cast<std::byte const*>(memory);
        if (n.is_extended) {
            long double v = 0;
            std::memcpy(&v, from, sizeof v);
            quad const q = v;
            turned(to, reinterpret_cast<std::byte const*>(&q), sizeof q);
        } else if (n.size == n.external) turned(to, from, n.size);
        else if (n.size == 4) narrow<std::uint32_t>(to, from, n);
        else if (n.is_signed) narrow<std::int64_t>(to, from, n);
        else narrow<std::uint64_t>(to, from, n);
    }
};
struct inwards {
    using packed = std::byte const*;
    static void convert(std::uintptr_t memory, packed from, number const& n) {
        auto* to = reinterpret_cast<std::byte*>(memory);
        if (n.is_extended) {
            quad q = 0;
            turned(reinterpret_cast<std::byte*>(&q), from, sizeof q);
            auto const v = static_cast<long double>(q);
            std::memcpy(to, &v, sizeof v);
        } else if (n.size == n.external) turned(to, from, n.size);
        else if (n.size == 4) widen<std::uint32_t>(to, from, n);
        else widen<std::int64_t>(to, from, n);
    }
};

/// Goes along the elements of a buffer in the order of the type.
template <class Way> class walk {
    typename Way::packed at_;

public:
    explicit walk(typename Way::packed start) : at_{start} {}

    void over(detail::type_node const& n, std::uintptr_t memory, std::int64_t count, std::int64_t stride) {
        if (n.elements == 0) return;
        if (n.children().empty()) return over_numbers(number{n.named}, memory, count, stride);
        for (std::int64_t i = 0; i < count; ++i)
            for (auto const& p : n.parts)
                over(n.children()[p.child].node(), memory + static_cast<std::uintptr_t>(i * stride + p.at), p.count, p.stride);
    }

private:
    void over_numbers(number const& n, std::uintptr_t memory, std::int64_t count, std::int64_t stride) {
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t part = 0; part < n.parts; ++part, at_ += n.external)
                Way::convert(memory + static_cast<std::uintptr_t>(i * stride + part * n.size), at_, n);
    }
};

void check(char const* call, std::int64_t count, datatype const& type, std::size_t room) {
    detail::check_type(call, type);
    detail::check_count(call, "count", count);
    auto const wanted = detail::product(count, type.external_size());
    if (static_cast<std::uint64_t>(wanted) > room)
        throw error{errc::truncate, fmt::format("mpt: {}: {} elements have {} bytes in external32, the buffer has {}", call,
                                                count, wanted, room)};
}
} // namespace

void pack_external32(void const* buffer, std::int64_t count, datatype const& type, std::span<std::byte> out) {
    check("pack_external32", count, type, out.size());
    walk<outwards>{out.data()}.over(type.node(), reinterpret_cast<std::uintptr_t>(buffer), count, type.extent());
}

void unpack_external32(std::span<std::byte const> in, void* buffer, std::int64_t count, datatype const& type) {
    check("unpack_external32", count, type, in.size());
    walk<inwards>{in.data()}.over(type.node(), reinterpret_cast<std::uintptr_t>(buffer), count, type.extent());
}

} // namespace mpt::inline v0
