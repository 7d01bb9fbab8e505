/// transport::self - a rank that talks to itself. Also the tutorial: copy this file to begin a transport of your own
/// (docs/adding-a-transport.md).
///
///        reserve            commit             poll
///        free --> open ---> ready ------------> free        one ring, frames leave in the order of reserve()
///                  | cell dies                   ^
///                  '------> dropped -------------'          skipped, not handed over
///
///   Memory    Depth frames of Frame bytes in the endpoint; Loans buffers of Loan bytes in the rank's slice.
///   Order     program order: one thread at a time enters an endpoint, and nobody else does.
///   Limit     reaches its own rank only.
///   Tests     test/transport_self_test.cpp
#pragma once
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include <mpt/transport/transport.hpp>
#include <mpt/world/native.hpp>

namespace mpt::inline v0::transport {

/// The policy: what it is called, what it can do, and - per world - the endpoint that does it.
template <bytes Frame = 256_B, std::size_t Depth = 16, bytes Loan = 4_KiB, std::size_t Loans = 8> struct self {
    static_assert(std::has_single_bit(Depth), "mpt::transport::self: Depth must be a power of two, its counters wrap");
    static_assert(Loans <= 32, "mpt::transport::self: at most 32 loans");

    using kind = mpt::kind::transport;
    static constexpr std::string_view name = "self";
    static constexpr transport_facts facts{.max_frame = Frame, .ordered = true, .lends = true, .reads = true};

    template <class World> class endpoint;
};

template <bytes Frame, std::size_t Depth, bytes Loan, std::size_t Loans> template <class World>
class self<Frame, Depth, Loan, Loans>::endpoint {
    enum class stage : std::uint8_t { open, ready, dropped };
    struct slot {
        stage at = stage::dropped;
        std::uint16_t op = 0;
        std::uint32_t size = 0;
        alignas(16) std::array<std::byte, Frame> data{};
    };

public:
    struct address {};

    // 1. Frames: what every transport must have.

    class cell {
        friend endpoint;
        slot* slot_ = nullptr;
        explicit cell(slot* s) noexcept : slot_{s} {}

    public:
        cell() = default;
        cell(cell&& o) noexcept : slot_{std::exchange(o.slot_, nullptr)} {}
        cell& operator=(cell&& o) noexcept { return std::swap(slot_, o.slot_), *this; }
        ~cell() {
            if (slot_) slot_->at = stage::dropped;
        }
        explicit operator bool() const noexcept { return slot_ != nullptr; }
        std::span<std::byte> payload() noexcept { return {slot_->data.data(), slot_->size}; }
    };

    explicit endpoint(lane_context<World> const& c)
        : me_{c.job.me()}, pool_{c.heap.extent(Loan * Loans, line_pair, mem::purpose::buffers)},
          free_{pool_.empty() ? 0 : every_loan} {}

    address local() const noexcept { return {}; }
    bool reaches(rank p) const noexcept { return p == me_; }
    std::string_view why_not(rank) const noexcept { return "carries only what a rank sends to itself"; }

    cell reserve(rank p, std::size_t n) noexcept {
        if (p != me_ || n > Frame || head_ - tail_ == Depth) return {};
        auto& s = ring_[head_++ % Depth];
        s.at = stage::open;
        s.size = static_cast<std::uint32_t>(n);
        return cell{&s};
    }
    void commit(cell c, std::uint16_t op) noexcept {
        auto& s = *std::exchange(c.slot_, nullptr);
        s.op = op;
        s.at = stage::ready;
    }

    /// The slot is freed after the sink returns: the sink may reserve and commit.
    template <class Sink> std::size_t poll(Sink&& sink, std::size_t budget) noexcept {
        std::size_t handed = 0;
        for (; handed < budget && tail_ != head_; ++tail_) {
            auto const& s = ring_[tail_ % Depth];
            if (s.at == stage::open) break;
            if (s.at == stage::dropped) continue;
            sink(frame{me_, s.op, {s.data.data(), s.size}});
            ++handed;
        }
        return handed;
    }
    template <class Sink> std::size_t poll_from(rank p, Sink&& sink) noexcept { return p == me_ ? poll(sink, 1) : 0; }

    bool flush() noexcept { return true; }
    std::span<int const> descriptors() const noexcept { return {}; }

    // 2. Lending (optional): so that a blocking send to oneself completes before the receive is posted.

    class loan {
        friend endpoint;
        std::span<std::byte> memory_{};
        std::uint32_t index_ = Loans;

    public:
        explicit operator bool() const noexcept { return index_ < Loans; }
        std::span<std::byte> memory() const noexcept { return memory_; }
        std::uint64_t ref() const noexcept { return index_; }
    };

    std::size_t max_loan() const noexcept { return Loan; }
    loan lend(rank p, std::size_t n) noexcept {
        loan l;
        if (p != me_ || n > Loan || free_ == 0) return l;
        l.index_ = static_cast<std::uint32_t>(std::countr_zero(free_));
        l.memory_ = pool_.subspan(l.index_ * Loan, n);
        free_ &= free_ - 1;
        return l;
    }
    void revoke(loan l) noexcept { give_back(me_, l.ref()); }
    std::span<std::byte const> borrow(rank, std::uint64_t ref, std::size_t n) const noexcept {
        if (ref >= Loans || n > Loan) return {};
        return pool_.subspan(ref * Loan, n);
    }
    void give_back(rank, std::uint64_t ref) noexcept {
        if (ref < Loans) free_ |= 1u << ref;
    }

    // 3. Reading the peer's memory (optional).

    remote_memory expose(std::span<std::byte const> memory) const noexcept {
        return {.address = reinterpret_cast<std::uintptr_t>(memory.data()), .size = memory.size()};
    }
    status get(rank p, std::span<std::byte> into, remote_memory const& from, std::size_t offset) noexcept {
        if (p != me_ || offset > from.size || into.size() > from.size - offset) return status::refused;
        copy_bytes(into.data(), reinterpret_cast<std::byte const*>(from.address) + offset, into.size());
        return status::ok;
    }
    status get_runs(rank p, std::span<memory_run const> into, remote_memory const& from,
                    std::span<memory_run const> theirs) noexcept {
        bool const whole =
            p == me_ && along_runs(into, theirs, [&](std::uint64_t to, std::uint64_t at, std::size_t n) noexcept {
                if (at > from.size || n > from.size - at) return false;
                copy_bytes(reinterpret_cast<std::byte*>(to), reinterpret_cast<std::byte const*>(from.address) + at, n);
                return true;
            });
        return whole ? status::ok : status::refused;
    }
    mpt::least_runs least_runs(rank, remote_memory const&) const noexcept { return {512, 512}; } // as smp by loads

private:
    static constexpr std::uint32_t every_loan = Loans == 32 ? ~0u : (1u << Loans) - 1;

    rank me_;
    std::uint32_t head_ = ~0u - 3, tail_ = ~0u - 3; // every run crosses the wrap
    std::array<slot, Depth> ring_{};
    std::span<std::byte> pool_;
    std::uint32_t free_; // one bit per loan
};

static_assert(transport_policy<self<>> && transport_endpoint<self<>::endpoint<world::native>, world::native>);
static_assert(transport_lending<self<>::endpoint<world::native>> && transport_readable<self<>::endpoint<world::native>>);

} // namespace mpt::inline v0::transport
