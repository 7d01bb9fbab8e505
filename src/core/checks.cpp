// The sentences of mpi/checks.hpp.
#include <mpt/mpi/checks.hpp>

#include <fmt/format.h>

namespace mpt::inline v0::checks {

void bad_rank(char const* call, std::int32_t r, std::int32_t size) {
    throw error{errc::rank_range,
                fmt::format("mpt: {}: rank {} is not in the communicator, whose ranks are 0 to {}", call, r, size - 1)};
}
void bad_tag(char const* call, std::int32_t t) {
    throw error{errc::tag_range, fmt::format("mpt: {}: tag {} is not allowed, tags are 0 to {}", call, t, tag_upper_bound)};
}
void too_long(char const* call, std::size_t message, std::size_t buffer, std::int32_t source, std::int32_t t) {
    throw error{errc::truncate,
                fmt::format("mpt: {}: the message from rank {} with tag {} has {} bytes, the buffer {}; what fits was received",
                            call, source, t, message, buffer)};
}
void not_whole(char const* call, std::size_t message, std::size_t element) {
    throw error{errc::truncate, fmt::format("mpt: {}: a message of {} bytes is no whole number of elements of {} bytes", call,
                                            message, element)};
}
void bad_share(char const* call, std::size_t have, std::size_t each, std::int32_t size) {
    throw error{errc::argument, fmt::format("mpt: {}: {} given, but {} for each of {} ranks are {}", call, have, each, size,
                                            each * static_cast<std::size_t>(size))};
}
void bad_pieces(char const* call, std::size_t have, std::int32_t size) {
    throw error{errc::argument, fmt::format("mpt: {}: {} pieces for {} ranks", call, have, size)};
}
void bad_neighbours(char const* call, std::size_t have, std::size_t each, std::size_t neighbours) {
    throw error{errc::argument, fmt::format("mpt: {}: {} elements, but {} for each of {} neighbours are {}", call, have, each,
                                            neighbours, each * neighbours)};
}
void failed(char const* call, status how) {
    auto const code = how == status::no_memory ? errc::no_memory : how == status::peer_gone ? errc::peer_gone : errc::system;
    throw error{code, fmt::format("mpt: {}: {}", call, to_string(how))};
}

} // namespace mpt::inline v0::checks
