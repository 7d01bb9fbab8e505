/// shmem/statics - a program's variables with static storage, laid on memory that the other PEs of the node map: as the heap is, they
/// are reached by loads, stores and the processor's atomics.
///
///        private      [ .data .bss ]   pages of this process alone                          at another PE, when it first asks
///        shared       [ .data .bss ]   the same addresses, the same bytes, of a memfd -->   /proc/PID/fd/N, mapped somewhere
///
///   Only    what the program itself may write. Its constants, and variables of its libraries, are reached as before (shmem/memory.hpp); so
///           is all of it where the PE had several threads or had begun MPI when OpenSHMEM began (somebody might have stored meanwhile),
///           where it is longer than MPT_SHARE_STATIC, and where its file cannot be opened. Each PE decides for itself: both ways meet in
///           the same bytes, in one domain of atomicity.
///   Fork    a child has a copy of its own, made when it is: whole pages that were ever touched. vfork, posix_spawn, system and popen copy
///           nothing. Handlers of pthread_atfork that were there before this library was loaded come before it in the child, and what they
///           write to the program's variables the parent sees.
///   Cost    of pages that are not zero a copy, at the beginning. A large array loses the huge pages that Linux may have given it,
///           hence the limit.
///   Stays   so until the process ends, and serves OpenSHMEM when it begins again.
///   Threads any number may call find() at once.
///   Tests   test/shmem_statics_test.cpp, test/shmem/statics.c    Source OpenSHMEM-1.6 section 4
#pragma once
#include <memory>
#include <vector>

#include <mpt/core/atomics.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0::shmem {

/// Whole pages of the program's variables, and where in the file they are.
struct static_part {
    std::uint64_t at = 0, bytes = 0, offset = 0;
};
/// Those of this process, the same ones in all that run the program.
std::vector<static_part> static_parts();

/// Where another process finds a PE's; sent as it is.
struct static_file {
    std::int64_t process = 0, file = -1; // -1: nowhere
    std::uint64_t inode = 0, bytes = 0;
    explicit operator bool() const noexcept { return file >= 0; }
};
/// Lays them on a file, if they are no more than so many bytes and this is the only thread; once for all.
static_file share_statics(std::vector<static_part> const& parts, std::uint64_t most) noexcept;

/// The PEs' variables, as they are mapped here.
class static_map {
    std::vector<static_part> parts_;
    std::vector<static_file> files_; // the PEs'
    std::int32_t me_ = 0;
    std::unique_ptr<native_atomics::atomic<std::byte*>[]> places_; // null: nobody has asked yet

public:
    static_map() = default;
    static_map(static_map const&) = delete;
    static_map& operator=(static_map const&) = delete;
    ~static_map();
    /// files: of PEs whose variables are not the same, or lie nowhere, none.
    void learn(std::vector<static_part> parts, std::vector<static_file> files, rank me);
    /// Where a PE's variable can be loaded and stored here; null: it is none, or nowhere.
    std::byte* find(void const* address, rank pe) const noexcept {
        auto const number = reinterpret_cast<std::uintptr_t>(address);
        for (auto const& p : parts_)
            if (number - p.at < p.bytes) return find_in(p, number - p.at, pe);
        return nullptr;
    }

private:
    std::byte* find_in(static_part const& p, std::uint64_t within, rank pe) const noexcept {
        auto const who = static_cast<std::size_t>(pe.value);
        if (!files_[who]) return nullptr;
        if (pe.value == me_) return reinterpret_cast<std::byte*>(p.at + within);
        auto* place = places_[who].load(std::memory_order_acquire); // sync(shmem.statics): acquire
        if (!place) place = map(who);
        return place == &nowhere ? nullptr : place + p.offset + within;
    }
    std::byte* map(std::size_t who) const noexcept;
    static std::byte nowhere;
};

} // namespace mpt::inline v0::shmem
