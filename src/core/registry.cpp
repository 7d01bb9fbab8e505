// The process registry (core/registry.hpp).
#include <mpt/core/atomics.hpp>
#include <mpt/core/error.hpp>
#include <mpt/core/registry.hpp>

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <pthread.h>

namespace mpt::inline v0 {

struct process_registry::impl {
    mutable std::mutex lock;
    std::mutex making;
    std::vector<environment_row> rows;
    std::map<std::string, std::shared_ptr<void>, std::less<>> kept;
    native_atomics::atomic<bool> forked{false};
};

process_registry& process_registry::instance() noexcept {
    static process_registry registry;
    return registry;
}

process_registry::process_registry() : impl_{new impl} {
    // The lock is held across fork(), so that the child never finds it taken by a thread that it does not have.
    ::pthread_atfork([] { instance().impl_->lock.lock(); }, [] { instance().impl_->lock.unlock(); },
                     [] {
                         auto& i = *instance().impl_;
                         i.lock.unlock();
                         if (!i.rows.empty() || !i.kept.empty())
                             i.forked.store(true, std::memory_order_relaxed); // order: the child has one thread
                     });
}

void process_registry::add(environment_row const& row) {
    refuse_fork("make an environment");
    std::scoped_lock const lock{impl_->lock};
    if (std::ranges::any_of(impl_->rows, [&](auto const& r) { return r.environment == row.environment; }))
        throw error{errc::usage, fmt::format("mpt: this environment (rank {} of {}, stack {}) is already registered.",
                                             row.me.value, row.size, row.stack)};
    impl_->rows.push_back(row);
}

void process_registry::remove(void* environment) noexcept {
    std::scoped_lock const lock{impl_->lock};
    std::erase_if(impl_->rows, [&](auto const& r) { return r.environment == environment; });
}

std::optional<environment_row> process_registry::find(std::function<bool(environment_row const&)> const& wanted) const {
    auto const all = rows(); // `wanted` is called without the lock
    auto const at = std::ranges::find_if(all, wanted);
    return at == all.end() ? std::nullopt : std::optional{*at};
}

std::optional<environment_row> process_registry::find(void* environment) const {
    return find([&](environment_row const& r) { return r.environment == environment; });
}

std::vector<environment_row> process_registry::rows() const {
    std::scoped_lock const lock{impl_->lock};
    return impl_->rows;
}

void process_registry::keep(std::string_view what, std::shared_ptr<void> thing) {
    std::scoped_lock const lock{impl_->lock};
    impl_->kept.insert_or_assign(std::string{what}, std::move(thing));
}

std::shared_ptr<void> process_registry::kept(std::string_view what) const noexcept {
    std::scoped_lock const lock{impl_->lock};
    auto const at = impl_->kept.find(what);
    return at == impl_->kept.end() ? nullptr : at->second;
}

std::shared_ptr<void> process_registry::kept_or(std::string_view what, std::function<std::shared_ptr<void>()> const& make) {
    std::scoped_lock const making{impl_->making};
    if (auto known = kept(what)) return known;
    auto made = make();
    keep(what, made);
    return made;
}

bool process_registry::forked() const noexcept {
    return impl_->forked.load(std::memory_order_relaxed);
} // order: set before the child runs

void process_registry::refuse_fork(std::string_view doing) const {
    if (forked())
        throw error{
            errc::usage,
            fmt::format(
                "mpt: this process is a child of fork() of a rank and cannot {}: a child may call exec, or go on without mpt.",
                doing)};
}

} // namespace mpt::inline v0
