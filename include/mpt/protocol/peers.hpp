/// protocol/peers - what a lane keeps of each rank it has to do with: one line, made at first contact.
///
///   The table is sparse: a directory of pages of 64 peers, each page made when one of its peers is first named. A job of
///   100,000 ranks costs a rank that speaks to ten neighbours 12 KB of directory and a few pages of 4 KB.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <mpt/core/list.hpp>
#include <mpt/protocol/request.hpp>

namespace mpt::inline v0::protocol {

/// A control frame that the wire would not take yet.
struct control_frame : list_node {
    op what = op::none;
    std::uint32_t size = 0;
    std::array<std::byte, 48> body{};
};

struct alignas(cache_line) peer {
    std::uint8_t wire = 0xff; // number in the route; 0xff: not asked yet
    bool clear = true;        // nothing stands in the way of send_now: nothing waits, not throttled
    bool throttled = false;   // the peer asked us to announce instead of send
    bool throttling = false;  // we asked the peer
    bool stuck = false;       // on the engine's list of peers with something waiting
    bool acked = false;       // we acknowledged its last message, and sent it nothing by a loan since: it may wait for us
    std::uint8_t by_loan = 0; // messages yet to go through buffers since it did not read one where it lies
    rank who{};
    std::uint32_t chunks = 0; // that it pushed to us: it is there
    list<request> waiting;    // sends that the wire refused, in call order
    list<control_frame> controls;
};
static_assert(sizeof(peer) == cache_line);

class peer_table {
    static constexpr std::size_t page_peers = 64;
    std::vector<std::unique_ptr<peer[]>> pages_;

public:
    explicit peer_table(std::int32_t ranks) : pages_((static_cast<std::size_t>(ranks) + page_peers - 1) / page_peers) {}

    [[gnu::always_inline]] peer& at(rank r) noexcept {
        auto const i = static_cast<std::size_t>(r.value);
        auto* const page = pages_[i / page_peers].get();
        if (!page) [[unlikely]]
            return first(i);
        return page[i % page_peers];
    }

private:
    /// The first one of its page that is named.
    [[gnu::noinline]] peer& first(std::size_t named) {
        auto const number = named / page_peers;
        auto& page = pages_[number] = std::make_unique<peer[]>(page_peers);
        for (std::size_t i = 0; i < page_peers; ++i) page[i].who = rank{number * page_peers + i};
        return page[named % page_peers];
    }
};

} // namespace mpt::inline v0::protocol
