// A datatype's inside: the tree of constructors, and what is computed from it when it is made.
#pragma once
#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <mpt/core/atomics.hpp>
#include <mpt/datatype/datatype.hpp>

namespace mpt::inline v0::detail {

/// Sums and products of counts and displacements; what 64 bits do not hold is an error.
[[noreturn]] void too_large(std::int64_t a, char by, std::int64_t b);
inline std::int64_t sum(std::int64_t a, std::int64_t b) {
    std::int64_t c = 0;
    if (__builtin_add_overflow(a, b, &c)) [[unlikely]]
        too_large(a, '+', b);
    return c;
}
inline std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t c = 0;
    if (__builtin_mul_overflow(a, b, &c)) [[unlikely]]
        too_large(a, '*', b);
    return c;
}

type_signature append(type_signature a, type_signature b) noexcept;
type_signature repeat(type_signature a, std::int64_t count) noexcept;

/// `count` of one child, `stride` bytes apart, the first one at `at`.
struct part {
    std::int64_t at = 0, count = 1, stride = 0;
    std::uint32_t child = 0;
};

/// Most types have one or two.
using part_list = boost::container::small_vector<part, 2>;

struct layout; // datatype_layout.cpp

struct type_node : type_facts {
    std::int64_t alignment = 1, start = 0; // start: where the first element in the order is
    bool marked = false;                   // something in it was resized: these bounds count, and no others
    std::int64_t marked_lower = 0, marked_upper = 0;
    part_list parts;
    std::vector<datatype> inner; // what parts count, where it is not the types that it was made of
    datatype_contents made;
    mutable native_atomics::atomic<layout const*> flat{nullptr};

    type_node() = default;
    /// c: none where the parts are of the types in `how`.
    type_node(part_list&& p, std::vector<datatype>&& c, datatype_contents&& how);
    ~type_node();
    type_node(type_node const&) = delete;
    type_node& operator=(type_node const&) = delete;

    std::span<datatype const> children() const noexcept { return inner.empty() ? made.types : inner; }

    /// What every constructor ends with.
    static datatype make(part_list&& parts, std::vector<datatype>&& children, datatype_contents&& how);
    static datatype make(part_list&& parts, datatype_contents&& how) { return make(std::move(parts), {}, std::move(how)); }
    static datatype make_resized(part_list&& parts, std::vector<datatype>&& children, datatype_contents&& how,
                                 std::int64_t lower, std::int64_t extent);
    static datatype share(type_node const& forever) noexcept;

private:
    static constexpr std::size_t many = 4;
    bool take_all();
    void take(part const& p);
    void take_bounds(part const& p, type_node const& child);
    void take_order(part const& p, type_node const& child);
    void close();
};

/// The arguments of a call, put where MPI_Type_get_contents looks for them.
class recorder {
    datatype_contents how_;

public:
    recorder(combiner made_by, count_form f) : how_{.made_by = made_by, .form = f} {}
    /// So many counts are to come.
    recorder& expect(std::size_t n) { return (wide() ? how_.counts : how_.integers).reserve(n), *this; }
    recorder& integer(std::int64_t v) { return how_.integers.push_back(v), *this; }
    recorder& count(std::int64_t v) { return wide() ? how_.counts.push_back(v) : how_.integers.push_back(v), *this; }
    recorder& address(std::int64_t v) { return wide() ? how_.counts.push_back(v) : how_.addresses.push_back(v), *this; }
    recorder& counts(datatype::values vs) { return append(wide() ? how_.counts : how_.integers, vs); }
    recorder& addresses(datatype::values vs) { return append(wide() ? how_.counts : how_.addresses, vs); }
    recorder& integers(datatype::values vs) { return append(how_.integers, vs); }
    recorder& type(datatype const& t) { return how_.types.push_back(t), *this; }
    recorder& types(std::span<datatype const> ts) { return how_.types.insert(how_.types.end(), ts.begin(), ts.end()), *this; }
    datatype_contents take() { return std::move(how_); }

private:
    bool wide() const noexcept { return how_.form == count_form::large; }
    recorder& append(std::vector<std::int64_t>& to, datatype::values vs) {
        return to.insert(to.end(), vs.begin(), vs.end()), *this;
    }
};

/// Refuses what no constructor takes. `call`: its name.
void check_type(char const* call, datatype const& old);
[[noreturn]] void is_negative(char const* call, char const* what, std::int64_t n);
inline void check_count(char const* call, char const* what, std::int64_t n) {
    if (n < 0) [[unlikely]]
        is_negative(call, what, n);
}

} // namespace mpt::inline v0::detail
