/// mpi/checks - argument checks that say what was wrong, with the numbers (src/core/checks.cpp keeps the sentences out of line).
#pragma once
#include <mpt/core/error.hpp>

namespace mpt::inline v0::checks {

[[noreturn]] void bad_rank(char const* call, std::int32_t r, std::int32_t size);
[[noreturn]] void bad_tag(char const* call, std::int32_t t);
[[noreturn]] void too_long(char const* call, std::size_t message, std::size_t buffer, std::int32_t source, std::int32_t t);
[[noreturn]] void not_whole(char const* call, std::size_t message, std::size_t element);
/// A collective's elements do not make `each` for every rank; pieces are not as many as ranks.
[[noreturn]] void bad_share(char const* call, std::size_t have, std::size_t each, std::int32_t size);
[[noreturn]] void bad_pieces(char const* call, std::size_t have, std::int32_t size);
/// A collective's elements do not make `each` for every neighbour.
[[noreturn]] void bad_neighbours(char const* call, std::size_t have, std::size_t each, std::size_t neighbours);
[[noreturn]] void failed(char const* call, status how);

inline void to(char const* call, rank r, std::int32_t size) {
    if (r.value < 0 || r.value >= size) [[unlikely]]
        bad_rank(call, r, size);
}
inline void from(char const* call, rank r, std::int32_t size) {
    if (r.value != any_source && (r.value < 0 || r.value >= size)) [[unlikely]]
        bad_rank(call, r, size);
}
inline void label(char const* call, tag t) {
    if (t.value < 0) [[unlikely]]
        bad_tag(call, t);
}
inline void wanted(char const* call, tag t) {
    if (t.value < 0 && t.value != any_tag) [[unlikely]]
        bad_tag(call, t);
}

} // namespace mpt::inline v0::checks
