// What the ways of joining a job share.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <mpt/boot/boot.hpp>

#include "boot_environment.hpp"

namespace mpt::inline v0::boot {

/// The segments of a job that may use so many CPUs, and whose launcher is that process (0: none, or not known yet).
mem::arena_plan make_segments(std::int32_t ranks, unsigned cpus, std::int32_t launcher);

/// The start of a control segment, read before anything is mapped; maker: who made it, for the sentence when it is none of ours.
control_header_prefix read_control(int fd, std::string_view maker);

/// The end of the launcher, however it comes, is the end of its ranks; but only its own child may ask for that.
void tie_to(std::int32_t launcher) noexcept;

/// Throws an error that every rank of the job finds: the first to come says it at once. A process that comes later with the same
/// sentence waits to be ended with the job, so that it is read once; if nobody ends it, it says so too.
[[noreturn]] void throw_once(control_header& job, bool shares_process, errc code, std::string const& sentence);

} // namespace mpt::inline v0::boot
