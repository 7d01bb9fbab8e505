/// smp/copy - reaching into a peer's memory: by plain loads and stores where we map it, else through the kernel (CMA).
///
///        memory of the peer lies in     read, write by
///        its slice of the arena         memcpy through our mapping of the slice
///        this process                   memcpy (ranks as threads; a rank and itself)
///        another process                process_vm_readv / process_vm_writev, if the system lets us
///
///   Leave    asked for once per peer, by a real probe at the first large message: the words that the peer's lane block shows
///            through the mapping must be what the kernel reads at the address and pid that the peer published. So a pid that
///            means somebody else (another pid namespace) is refused like a missing permission. A copy that is refused later,
///            in the middle of a run, withdraws the leave.
///   Limit    one call moves at most 2 GiB (the kernel's cap), and less when it meets a bad page: the loop goes on, and the next
///            call says what is wrong.
///   Errors   EPERM, EACCES, ENOSYS: refused. ESRCH: peer_gone. EFAULT: bad_address; the buffer, ours or the peer's, is not
///            (all) mapped or not writable, which is the user's error and not a reason to try another way.
///   Ended    a job of threads that is ended: memory outside the slices is not touched any more, for its owner may be unwinding:
///            peer_gone.
///   Tests    test/transport_smp_copy_test.cpp
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <mpt/core/types.hpp>
#include <mpt/transport/smp/layout.hpp>
#include <mpt/transport/transport.hpp>

namespace mpt::inline v0::smp {

/// src/core/smp_cma.cpp. Whole or an error; how much of `into` was written before an error is unspecified.
status read_process(std::int32_t pid, void* into, std::uint64_t from, std::size_t n) noexcept;
status write_process(std::int32_t pid, std::uint64_t into, void const* from, std::size_t n) noexcept;
/// May this process read, or write, all of these bytes of its own? For who was told of a bad address, and not whose: it asks the system.
bool is_there(void const* p, std::size_t n, bool writable);
/// Runs of ours, by address, from runs of theirs, by their offset from `from`: see transport.hpp. Up to most_runs_per_get of each.
status read_process_runs(std::int32_t pid, std::span<memory_run const> into, std::uint64_t from,
                         std::span<memory_run const> theirs) noexcept;
/// The other way.
status write_process_runs(std::int32_t pid, std::span<memory_run const> from, std::uint64_t into,
                          std::span<memory_run const> theirs) noexcept;
/// This process.
std::int32_t own_process() noexcept;
/// Where the system lets only ancestors trace (Yama): lets `pid` and its descendants, the ranks it started, trace us.
void allow_tracer(std::int32_t pid) noexcept;

/// How one peer's memory is reached. Private to its owner.
struct reach {
    slice_view slice{}; // the peer's slice as we map it
    std::int32_t pid = 0;
    bool same_process = false; // its addresses are ours
    leave cma = leave::untried;
    std::uint64_t probe_address = 0;            // in the peer: two words ...
    std::uint64_t const* probe_words = nullptr; // ... that we see here
    boot::job* job = nullptr;                   // where ranks are threads: may be ended while their memory goes

    /// Asks the system, if nobody has; see the top.
    bool may_cma() noexcept {
        if (cma == leave::untried) [[unlikely]] {
            std::uint64_t seen[2]{};
            bool const good = read_process(pid, seen, probe_address, sizeof seen) == status::ok &&
                              std::memcmp(seen, probe_words, sizeof seen) == 0;
            cma = good ? leave::granted : leave::refused;
        }
        return cma == leave::granted;
    }

    /// Copies bytes [offset, offset + n) of the peer's exposed memory.
    status read(void* into, remote_memory const& from, std::uint64_t offset, std::size_t n) noexcept {
        if (n == 0) return status::ok;
        if (auto const* p = mapped(from, offset, n)) return copy(from, into, p, n);
        if (from.in_slice) [[unlikely]]
            return outside();
        if (!may_cma()) return status::refused;
        return remember(read_process(pid, into, from.address + offset, n));
    }
    status write(remote_memory const& into, std::uint64_t offset, void const* from, std::size_t n) noexcept {
        if (n == 0) return status::ok;
        if (auto* p = mapped(into, offset, n)) return copy(into, p, from, n);
        if (into.in_slice) [[unlikely]]
            return outside();
        if (!may_cma()) return status::refused;
        return remember(write_process(pid, into.address + offset, from, n));
    }
    status read_runs(std::span<memory_run const> into, remote_memory const& from, std::span<memory_run const> theirs) noexcept {
        if (!loads(from)) {
            if (!may_cma()) return status::refused;
            return remember(read_process_runs(pid, into, from.address, theirs));
        }
        bool const may_go = job != nullptr && !from.in_slice;
        if (may_go && !job->begin_copy()) return status::peer_gone;
        bool const whole = along_runs(into, theirs, [&](std::uint64_t to, std::uint64_t at, std::size_t n) noexcept {
            auto const* p = mapped(from, at, n);
            if (p) copy_bytes(reinterpret_cast<std::byte*>(to), p, n);
            return p != nullptr;
        });
        if (may_go) job->end_copy();
        return whole ? status::ok : outside();
    }
    /// Would read() copy by loads?
    bool loads(remote_memory const& m) const noexcept { return m.in_slice || same_process; }
    /// Could read() and write() reach this memory, as far as we know?
    bool reaches(remote_memory const& m) noexcept { return m.in_slice ? slice.base != nullptr : same_process || may_cma(); }

private:
    /// Memory in slices stays as long as anybody's job; a thread's own may go when the job is ended.
    status copy(remote_memory const& theirs, void* to, void const* from, std::size_t n) noexcept {
        bool const may_go = job != nullptr && !theirs.in_slice;
        if (may_go && !job->begin_copy()) return status::peer_gone;
        copy_bytes(static_cast<std::byte*>(to), static_cast<std::byte const*>(from), n);
        if (may_go) job->end_copy();
        return status::ok;
    }
    std::byte* mapped(remote_memory const& m, std::uint64_t offset, std::size_t n) const noexcept {
        if (m.in_slice)
            return slice.holds(m.address, m.size) && offset <= m.size && n <= m.size - offset ? slice.at(m.address + offset)
                                                                                              : nullptr;
        return same_process ? reinterpret_cast<std::byte*>(m.address + offset) : nullptr;
    }
    status outside() const noexcept { return slice.base ? status::bad_address : status::refused; }
    status remember(status s) noexcept {
        if (s == status::refused) [[unlikely]]
            cma = leave::refused;
        return s;
    }
};

} // namespace mpt::inline v0::smp
