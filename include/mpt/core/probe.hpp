/// core/probe - what this kernel, container and user let us do: every system call that may be refused, tried for once.
///
///        probe(feature::read_peer)  ->  available, or refused with errno; and in one line what mpt does then
///
///   A container refuses by seccomp (EPERM, ENOSYS), by a missing capability, by Yama, or because nobody set huge pages
///   aside; a setting that can be read says little about it, so each call is made for real, on memory and processes of our
///   own. mpt has another way for each of them. mptinfo shows all; whoever has to choose asks for one.
///
///   Memory   the first call of probe() for a feature tries it, all threads see that result; try_feature() tries again.
///   Cost     microseconds, but for read_child and read_peer: a short-lived child process that sends no signal when it dies
///            and that no wait() of the program finds. For set-up, never for a fast path.
///   Limit    whether one rank may read another's memory is a fact of that pair: the transport asks again, per pair.
///   Tests    test/core_probe_test.cpp; test/proc/mptinfo_test.cpp with the calls refused
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

enum class feature : std::uint8_t {
    memfd,      // memfd_create, and mapping it
    hugetlb,    // the same with huge pages
    membarrier, // registered and used, global expedited
    read_self,  // process_vm_readv of this process
    read_child, // of a child
    read_peer,  // of a process that is no descendant of the reader's, as ranks are to each other
    pidfd,      // pidfd_open
    mbind,      // a memory policy for a range
    futex,      // sleeping and waking on a word of shared memory
};

/// What a feature is for: the call, and what mpt does with it and without it.
struct feature_row {
    feature what;
    std::string_view call, with, without;
};
// clang-format off
inline constexpr std::array features{
    feature_row{feature::memfd, "memfd_create",
        "shared memory has no name and no limit of its own", "shared memory in unlinked files: their file system is the limit"},
    feature_row{feature::hugetlb, "memfd_create, huge pages",
        "huge pages of 2 MiB are set aside", "pages of ordinary size"},
    feature_row{feature::membarrier, "membarrier",
        "senders need no fence", "senders and sleepers both fence"},
    feature_row{feature::read_self, "process_vm_readv of itself",
        "the call exists", "large messages: pipelined double copy"},
    feature_row{feature::read_child, "process_vm_readv of a child",
        "descendants can be read", "not even descendants can be read"},
    feature_row{feature::read_peer, "process_vm_readv of a peer",
        "large messages: one copy", "large messages: pipelined double copy"},
    feature_row{feature::pidfd, "pidfd_open",
        "processes can be watched by descriptor", "processes are watched by wait()"},
    feature_row{feature::mbind, "mbind",
        "memory can be placed on a node", "memory lies where it is touched first"},
    feature_row{feature::futex, "futex",
        "a rank that waits long sleeps", "a rank that waits long keeps looking"},
};
// clang-format on

struct probe_result {
    feature what{};
    int error = 0; // 0: available; else the errno it was refused with
    constexpr bool available() const noexcept { return error == 0; }
};

constexpr feature_row const& row_of(feature f) noexcept { return features[static_cast<std::size_t>(f)]; }
/// The line for a result: row.with or row.without.
constexpr std::string_view consequence(probe_result const& r) noexcept {
    return r.available() ? row_of(r.what).with : row_of(r.what).without;
}
/// "available", "refused (EPERM)".
std::string to_string(probe_result const& r);

/// Tried at the first call, remembered since. Any thread.
probe_result probe(feature f);
/// Tried now.
probe_result try_feature(feature f) noexcept;

} // namespace mpt::inline v0
