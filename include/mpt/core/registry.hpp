/// core/registry - the process registry: the only global of mpt.
///
///        process
///        +-- jobs          what this process found out about its job when it first asked: segments are mapped once
///        +-- environments  one row each, type-erased: another facade, or a binding, finds here what is already made
///        +-- forked        set in a child of fork(): it must not go on as the same rank
///
///   A row says what an environment is (stack, layout), who it is (rank, size), and gives an opaque pointer with a table of
///   calls. Who knows the stack type casts; who does not may use the table, or refuses with a sentence.
///
///   Order    one mutex; nothing here is on a fast path, but `forked()`, which is one load.
///   Memory   rows are copied in and out; what a pointer in a row points to lives until its owner removes the row.
///   Tests    test/core_registry_test.cpp
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

/// What can be asked of an environment whose stack type is not known. Bindings extend it by composition: `of` names the
/// extension, so that two bindings cannot take each other's table for their own.
struct environment_calls {
    std::string_view of = {}; // "mpt", or who extends it
    void (*finalize)(void* environment) = nullptr;
    void (*abort)(void* environment, int code) = nullptr;
    void const* extension = nullptr;
};

struct environment_row {
    std::string_view stack = {}; // name; must outlive the row
    std::uint64_t layout = 0;    // hash of the stack's wire layout
    rank me{};
    std::int32_t size = 0;
    bool thread = false;         // other ranks live in this process
    void* environment = nullptr; // the key
    environment_calls const* calls = nullptr;
};

class process_registry {
public:
    static process_registry& instance() noexcept;

    /// Throws mpt::error(usage) when the environment is already there, or in a child of fork().
    void add(environment_row const& row);
    void remove(void* environment) noexcept;
    /// The first row, in the order of adding, that `wanted` accepts.
    std::optional<environment_row> find(std::function<bool(environment_row const&)> const& wanted) const;
    std::optional<environment_row> find(void* environment) const;
    std::vector<environment_row> rows() const;

    /// Keeps something alive and findable by its type's name until the process ends: what boot found out, mappings.
    void keep(std::string_view what, std::shared_ptr<void> thing);
    std::shared_ptr<void> kept(std::string_view what) const noexcept;
    /// What is kept under that name, made first where there is nothing: by one thread, while others that ask wait. When make()
    /// throws, nothing is kept. make() may use the registry, but not this call.
    std::shared_ptr<void> kept_or(std::string_view what, std::function<std::shared_ptr<void>()> const& make);

    /// True in a child of fork() that has not called exec: it is not the rank its parent is.
    bool forked() const noexcept;
    /// Throws mpt::error(usage) with a sentence when forked().
    void refuse_fork(std::string_view doing) const;

private:
    process_registry();
    struct impl;
    impl* impl_; // never destroyed: atexit handlers and other threads may still ask
};

} // namespace mpt::inline v0
