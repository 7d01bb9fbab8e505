/// transport::recording<T> - T, and a count of its frames by op: for tests that ask what a protocol said, not what it did.
///
///        reserve --> T            commit --> sent[op] + 1 --> T            T --> poll --> received[op] + 1 --> sink
///
///   Memory    1 KiB per endpoint.
///   Order     the counts belong to the lane: read them where the endpoint may be entered, or after its threads have ended.
///   Limit     ops from 63 on are counted together.
///   Tests     test/transport_recording_test.cpp, and every law that T obeys: a wrapper changes nothing else.
#pragma once
#include <algorithm>
#include <array>

#include <mpt/transport/transport.hpp>

namespace mpt::inline v0::transport {

/// How often each op went by, and how many bytes of payload.
struct op_counts {
    static constexpr std::uint16_t others = 63;
    std::array<std::uint64_t, others + 1> frames{};
    std::uint64_t bytes = 0;

    void add(std::uint16_t op, std::size_t n) noexcept {
        ++frames[std::min(op, others)];
        bytes += n;
    }
    std::uint64_t of(std::uint16_t op) const noexcept { return frames[std::min(op, others)]; }
    std::uint64_t total() const noexcept {
        std::uint64_t n = 0;
        for (auto const x : frames) n += x;
        return n;
    }
};

template <transport_policy T> struct recording {
    using kind = mpt::kind::transport;
    static constexpr std::string_view name = "recording";
    static constexpr transport_facts facts = T::facts;

    /// Whatever else T's endpoint offers, this one offers too.
    template <class World> class endpoint : public T::template endpoint<World> {
        using base = typename T::template endpoint<World>;
        op_counts sent_{}, received_{};

        template <class Sink> auto counted(Sink& sink) noexcept { return counting<Sink>{received_, sink}; }
        template <class Sink> struct counting {
            op_counts& counts;
            Sink& sink;
            void operator()(frame const& f) const noexcept {
                counts.add(f.op, f.payload.size());
                sink(f);
            }
            template <class F> void stretched(F f) const noexcept
                requires requires(Sink& s) { s.stretched(f); }
            {
                counts.add(f.op, f.size);
                sink.stretched(f);
            }
        };

    public:
        using base::base;
        using typename base::cell;

        void commit(cell c, std::uint16_t op) noexcept {
            sent_.add(op, c.payload().size());
            base::commit(std::move(c), op);
        }
        template <class Fill>
            requires transport_stretching<base>
        bool stretch(rank p, std::size_t n, std::uint16_t op, Fill&& fill) noexcept {
            if (!base::stretch(p, n, op, fill)) return false;
            sent_.add(op, n);
            return true;
        }
        template <class Sink> std::size_t poll(Sink&& sink, std::size_t budget) noexcept {
            return base::poll(counted(sink), budget);
        }
        template <class Sink> std::size_t poll_from(rank p, Sink&& sink) noexcept { return base::poll_from(p, counted(sink)); }

        op_counts const& sent() const noexcept { return sent_; }
        op_counts const& received() const noexcept { return received_; }
    };
};

} // namespace mpt::inline v0::transport
