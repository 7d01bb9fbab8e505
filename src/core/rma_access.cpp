// Accesses to a window that conflict.
#include <mpt/rma/access_log.hpp>

#include <algorithm>

namespace mpt::inline v0::rma {

namespace {

bool updates(access const& a) noexcept { return a.what == touch::update || a.what == touch::swap; }

bool only_reads(access const& a) noexcept {
    return a.what == touch::get || (a.what == touch::update && a.op == operation::no_op);
}

bool meet(memory_run const& a, memory_run const& b) noexcept { return a.at < b.at + b.bytes && b.at < a.at + a.bytes; }

/// Updates of one origin come in its order; those of several are to be by one operation.
bool may_meet(access const& a, access const& b) noexcept {
    if (a.kind != b.kind) return false;
    auto const goes_with_any = [](access const& x) { return x.what == touch::swap || x.op == operation::no_op; };
    return a.by == b.by || a.op == b.op || goes_with_any(a) || goes_with_any(b);
}

char const* done_by(access const& a) noexcept {
    switch (a.what) {
    case touch::get: return "read";
    case touch::put: return "written";
    case touch::update: return "updated";
    case touch::swap: return "compared and swapped";
    }
    return "touched";
}

} // namespace

bool conflict(access const& a, access const& b) noexcept {
    if (a.epoch != b.epoch || !meet(a.where, b.where)) return false;
    if (only_reads(a) && only_reads(b)) return false; // whatever they read it as
    if (!updates(a) || !updates(b)) return true;
    return !may_meet(a, b);
}

std::string told_conflict(access const& now, access const& before, std::int32_t target) {
    auto const first = std::max(now.where.at, before.where.at);
    auto const end = std::min(now.where.at + now.where.bytes, before.where.at + before.where.bytes);
    auto said = "bytes " + std::to_string(first) + " to " + std::to_string(end) + " of rank " + std::to_string(target) +
                "'s part of the window are " + done_by(now) + " by this call, and were " + done_by(before) + " by rank " +
                std::to_string(before.by) + " in the same epoch";
    if (!updates(now) || !updates(before)) return said;
    if (now.kind != before.kind)
        return said + ", as " + std::string{facts(now.kind).name} + " and as " + std::string{facts(before.kind).name};
    return said + ", by another operation";
}

} // namespace mpt::inline v0::rma
