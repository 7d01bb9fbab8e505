/// mpi/session - parts of a program that use mpt without knowing of each other: MPI's sessions model.
///
///        mpt::session here;                                     // no environment, no main(), no order among ranks
///        auto const all = here.group_of("mpi://WORLD");
///        auto comm = here.communicator_of(all, "org.example.solver");
///        comm.allreduce(1, std::plus{});
///
///        session --.                    .-- an environment that the program has made already
///        session --+--> session_home ---+
///        MPI_Init -'                    '-- one of the home's own, which has begun alone and stays until the process ends
///
///   To open and to close a session is local: it meets nobody. A communicator waits for its group's ranks, and for no others.
///   The home's environment is never taken down while the process lives, because a peer may have kept what it knows of us,
///   and may name us again; what is closed last lets the process end (job::leave).
///
///   Cost     the first session of a process: a runtime (stack/runtime.hpp). Each further one: a lock.
///   Threads  any thread may open and close sessions and make communicators; those of one tag and group come in one order.
///   Limit    under PMI-1 the first session of a process waits for all ranks. Once a home has an environment of its own, the
///            process cannot make an mpt::environment any more; one that a session has found must outlive it.
///   Tests    test/mpi_session_test.cpp, test/c/sessions_test.cpp, test/proc/c_processes_test.cpp
///   Source   MPI-4.1 sections 7.4.2 (from a group) and 11.3
#pragma once
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <mpt/coll/broadcast.hpp>
#include <mpt/core/hash.hpp>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/error_classes.hpp>

namespace mpt::inline v0 {

/// What all sessions of a rank share, and the world model with them.
template <class Stack = standard_stack> class session_home {
    std::mutex changing_;
    std::optional<boot::membership> member_; // where nobody can find out: ranks that are threads
    std::unique_ptr<environment<Stack>> own_;
    environment<Stack>* env_ = nullptr;
    int users_ = 0, worlds_ = 0; // all; those that have met the others
    std::function<config::values()> configure_ = config::values::of_process;

public:
    session_home() = default;
    explicit session_home(boot::membership m) : member_{std::move(m)} {}
    /// The one of this process.
    static std::shared_ptr<session_home> of_process() {
        auto const name = "sessions of " + Stack::describe();
        return std::static_pointer_cast<session_home>(
            process_registry::instance().kept_or(name, [] { return std::make_shared<session_home>(); }));
    }

    /// Where the variables of an environment of our own come from.
    void configure_by(std::function<config::values()> source) {
        std::lock_guard const g{changing_};
        configure_ = std::move(source);
    }

    /// Begins a use; the environment is there until the use ends.
    environment<Stack>& enter() { return enter(beginning::alone, boot::facade::mpi); }
    void leave() {
        std::lock_guard const g{changing_};
        if (--users_ > 0) return;
        if (own_) own_->native().depart();
    }
    /// The same for what all ranks do together, in which they meet. Of several (MPI and OpenSHMEM) the first meets the others when it
    /// begins, and the last when it ends.
    environment<Stack>& enter_world(boot::facade by = boot::facade::mpi) {
        auto& env = enter(beginning::together, by);
        if (own_) own_->native().begin_again(), own_->native().meet();
        std::lock_guard const g{changing_};
        ++worlds_;
        return env;
    }
    void leave_world() {
        if (is_last_world() && own_) own_->native().leave();
        std::lock_guard const g{changing_};
        if (--users_ > 0 && own_) own_->native().job().come_back();
    }

private:
    bool is_last_world() {
        std::lock_guard const g{changing_};
        return --worlds_ == 0;
    }
    environment<Stack>& enter(beginning how, boot::facade by) {
        std::lock_guard const g{changing_};
        if (users_ == 0) begin(how, by);
        ++users_;
        env_->native().job().speak(by);
        return *env_;
    }
    void begin(beginning how, boot::facade by) {
        if (own_) return own_->native().job().come_back();
        env_ = adopted();
        if (env_) return;
        auto member = member_ ? *member_ : boot::detect();
        member.by = by;
        own_ = std::make_unique<environment<Stack>>(std::move(member), configure_(), how);
        env_ = own_.get();
    }
    /// The environment that another part of this process has made already, if it is of our stack.
    static environment<Stack>* adopted() {
        auto const of_process = [](environment_row const& r) { return !r.thread; };
        auto const row = Stack::world_type::shares_process ? std::nullopt : process_registry::instance().find(of_process);
        if (!row) return nullptr;
        if (row->stack != Stack::describe() || row->layout != Stack::layout())
            throw mpi_error{error_class::other, "this process has an environment of another stack, " + std::string{row->stack} +
                                                    "; needed is one of " + Stack::describe()};
        return static_cast<environment<Stack>*>(row->environment);
    }
};

namespace process_sets {

inline constexpr std::array<std::string_view, 2> names{"mpi://WORLD", "mpi://SELF"};

/// Capitals do not count.
constexpr bool same(std::string_view a, std::string_view b) noexcept {
    constexpr auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, {}, small, small);
}

/// Who is in a set. Throws mpi_error(arg) where there is none of that name.
inline group members(std::string_view name, rank me, std::int32_t size) {
    if (same(name, names[0])) return group::range(0, size);
    if (same(name, names[1])) return group::range(me, 1);
    throw mpi_error{error_class::arg, "there is no process set \"" + std::string{name} + "\"; there are " +
                                          std::string{names[0]} + " and " + std::string{names[1]}};
}

} // namespace process_sets

inline constexpr std::size_t longest_string_tag = 1024; // MPI_MAX_STRINGTAG_LEN

/// Collective over the group, and nobody else: a context for a communicator of it, drawn by its first rank. Until then they talk in
/// one that follows from group and tag. Throws mpi_error for a tag that is too long, and where this rank is not in the group.
template <class Stack> context_id agreed_context(runtime<Stack>& run, group const& who, std::string_view tag) {
    if (tag.size() > longest_string_tag)
        throw mpi_error{error_class::arg, "stringtag has " + std::to_string(tag.size()) + " characters; allowed: up to " +
                                              std::to_string(longest_string_tag)};
    auto const me = who.find(run.me());
    if (!me)
        throw mpi_error{error_class::group, "this process (rank " + std::to_string(run.me().value) +
                                                " of all) is not in group, which has " + std::to_string(who.size()) +
                                                " processes"};
    run.await(who);
    auto word = hash_of("from_group", tag);
    for (std::int32_t i = 0; i < who.size(); ++i) word = combine(word, who.world(i).value);
    auto const side = drawn_context(word);
    std::uint32_t calls = 0; // of the side context, which is there for this one alone
    coll::team<Stack> const t{channel<Stack>{run.lane_of(side), side}, who, *me, calls};
    auto context = run.new_context();
    coll::broadcast(t, coll::place{std::as_writable_bytes(std::span{&context, 1})}, 0);
    return context;
}

template <class Stack = standard_stack> class [[nodiscard]] session {
    std::shared_ptr<session_home<Stack>> home_;
    environment<Stack>* env_;
    std::shared_ptr<buffer_home<Stack>> buffers_ = std::make_shared<buffer_home<Stack>>();

public:
    session() : session{session_home<Stack>::of_process()} {}
    explicit session(std::shared_ptr<session_home<Stack>> home) : home_{std::move(home)}, env_{&home_->enter()} {}
    session(session&&) noexcept = default;
    session& operator=(session&& o) noexcept {
        return std::swap(home_, o.home_), std::swap(env_, o.env_), std::swap(buffers_, o.buffers_), *this;
    }
    /// Waits until what was sent has left this process.
    ~session() {
        if (!home_) return;
        buffers_->settle();
        try {
            home_->leave();
        } catch (error const&) { // the job was ended meanwhile
        }
    }

    static constexpr auto const& psets() noexcept { return process_sets::names; }
    group group_of(std::string_view pset) const {
        return process_sets::members(pset, env_->native().me(), env_->native().size());
    }
    /// Collective over the group. Ranks that make several at once, in several threads, tell them apart by their tags.
    communicator<Stack> communicator_of(group const& who, std::string_view tag) const {
        auto const context = agreed_context(env_->native(), who, tag);
        return {env_->native(), context, who, *who.find(env_->native().me()), {env_->buffers(), buffers_}};
    }
    runtime<Stack>& native() const noexcept { return env_->native(); }
    /// Of buffered sends (mpi/buffered.hpp).
    std::shared_ptr<buffer_home<Stack>> const& buffers() const noexcept { return buffers_; }
};

session() -> session<>;

} // namespace mpt::inline v0
