// The segments of a job whose launcher is not ours. Rank 0 makes them and hands the descriptors to the others over an abstract Unix
// socket, which has no file and goes with its process. Where it is, the ranks learn from the launcher's key-value store.
//
//   rank 0                                                  rank r
//   put mpt-0 = node#host, mpt-segments = socket#key        put mpt-r = node#host
//   ================================== barrier ==================================
//   is every node mine?                                     is rank 0's node mine?
//   is the uid mine, the key right?  <---- greeting ------  key, rank
//   when all have come: the segments ----- handover ----->  two descriptors, how they are laid out
//
//   Limit   ranks on one node. A rank on another one is refused by rank 0, with the names of both hosts.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <mpt/boot/boot.hpp>

#include "boot_pmi1.hpp"

namespace mpt::inline v0::boot {

/// Where a rank runs: two processes with the same number share memory and reach each other's abstract sockets.
struct node_name {
    std::uint64_t number = 0;
    std::string host;
};
node_name own_node();
std::string print_node(node_name const& n);
std::optional<node_name> parse_node(std::string_view text);

/// Where rank 0 waits for the others, and what they must know.
struct meeting_place {
    std::uint64_t socket = 0;
    std::array<std::uint64_t, 2> key{};
};
std::string print_place(meeting_place const& p);
std::optional<meeting_place> parse_place(std::string_view text);

/// Meets the other ranks: this process's segments. Throws mpt::error.
mem::arena_plan meet_on_node(pmi1_line& line, rank me, std::int32_t size);

} // namespace mpt::inline v0::boot
