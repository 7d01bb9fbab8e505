/// tools - the state of the tools' interface (MPI_T) of one rank: what its handles stand for, and who wants to hear of events.
///
///        control variable      a row of config::table         read and written as text there; before MPI_Init what is written
///                                                             rules the environment that it makes, later runtime::tune()
///        performance variable  a row of figure_table          a handle keeps what it counted while it was started
///        event type            a protocol::notice_kind        engines post to binding::news; the next call of MPI by any thread
///                                                             of the rank calls the callbacks, before it does anything else
///
///   A callback runs outside of every other call's work, with no lock held: it may call anything (MPI_T_CB_REQUIRE_NONE). One
///   thread at a time calls callbacks. A rank that is not in MPI keeps 1024 events; later ones are lost, and counted.
///
///   Errors   are returned, never raised; MPI_Error_string of the last one has its sentence.
///   Threads  everything by anybody: one mutex, under which a look at figures takes the lanes' locks.
///   Tests    test/c/tools_test.cpp    Source MPI-4.1 section 15.3.
#pragma once
#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "binding.hpp"

namespace mpt::c {

/// What a handle of the tools' interface stands for.
struct tool_object : counted {
    enum class sort : std::uint8_t { enumeration, cvar, session, pvar, registration, event };
    sort const is;
    explicit tool_object(sort s) noexcept : is{s} {}
};

struct enumeration : tool_object {
    static constexpr sort kind = sort::enumeration;
    std::string_view const name, words; // "a|b|c": values are places
    MPI_T_enum handle = MPI_T_ENUM_NULL;
    enumeration(std::string_view n, std::string_view w) noexcept : tool_object{kind}, name{n}, words{w} {}
};

struct cvar_handle : tool_object {
    static constexpr sort kind = sort::cvar;
    std::size_t const row;
    explicit cvar_handle(std::size_t r) noexcept : tool_object{kind}, row{r} {}
};

struct pvar_session : tool_object {
    static constexpr sort kind = sort::session;
    std::vector<MPI_T_pvar_handle> handles;
    pvar_session() noexcept : tool_object{kind} {}
};

struct pvar_handle : tool_object {
    static constexpr sort kind = sort::pvar;
    pvar_session* const session;
    figure_row const& row;
    context_id const context; // of the communicator that it is bound to
    bool running = false;
    std::uint64_t begun = 0, sum = 0; // the figure when it was started, and what it counted before

    pvar_handle(pvar_session& s, figure_row const& r, context_id c) noexcept
        : tool_object{kind}, session{&s}, row{r}, context{c} {}
};

struct registration : tool_object {
    static constexpr sort kind = sort::registration;
    static constexpr std::size_t levels = 4;
    struct callback {
        MPI_T_event_cb_function* f = nullptr;
        void* user_data = nullptr;
    };
    protocol::notice_kind const about;
    MPI_T_event_registration handle{};
    std::array<callback, levels> callbacks{}; // by safety level
    MPI_T_event_dropped_cb_function* dropped = nullptr;
    bool freed = false, calling = false;
    MPI_T_event_free_cb_function* when_freed = nullptr;
    void* freed_data = nullptr;

    explicit registration(protocol::notice_kind k) noexcept : tool_object{kind}, about{k} {}
    /// The one that asks least of us, or nullptr.
    callback const* chosen() const noexcept {
        for (auto const& c : callbacks)
            if (c.f) return &c;
        return nullptr;
    }
};

struct event_instance : tool_object {
    static constexpr sort kind = sort::event;
    protocol::notice const what;
    explicit event_instance(protocol::notice const& n) noexcept : tool_object{kind}, what{n} {}
};

struct tool_state {
    std::mutex changing; // for all that follows
    int entered = 0;
    handle_table<tool_object> objects;
    std::vector<ref<enumeration>> enumerations;
    std::vector<ref<registration>> registrations;
    std::vector<std::pair<std::size_t, std::string>> early; // variables written before MPI_Init
    config::values values;                                  // as they were when MPI was left
    figures last;                                           // likewise
    bool watching = false, telling = false;

    tool_state();
    ~tool_state();
    /// A new handle of an object; throws mpi_error where there are none left.
    template <class Handle, class T> Handle publish(ref<T> object, int code = MPI_T_ERR_OUT_OF_HANDLES) {
        auto const word = objects.add(object.get());
        if (word == 0) throw mpi_error{code, "there are no handles left"};
        object.release();
        return handle_of<Handle>(word);
    }
    template <class Handle> void forget(Handle h) noexcept {
        if (auto* const object = objects.remove(word_of(h))) object->let_go();
    }
    MPI_T_enum enumeration_of(std::string_view words) const noexcept;
};

/// The state, made when it is first asked for.
tool_state& tools_of(binding& b);

/// The object of a handle, or the error.
template <class T, class Handle>
T& living(call& on, tool_state& t, Handle h, char const* argument, int code = MPI_T_ERR_INVALID_HANDLE) {
    auto* const object = t.objects.find_handle(h);
    if (!object || object->is != T::kind)
        on.fail(code, std::string{argument} + " is no handle of the tools' interface that lives, or one of another sort");
    return static_cast<T&>(*object);
}

/// 0 <= index < n, or the error.
inline std::size_t index_of(call& on, int index, std::size_t n, char const* argument) {
    if (index < 0 || static_cast<std::size_t>(index) >= n)
        on.refuse(MPI_T_ERR_INVALID_INDEX, argument, index, "0 to " + std::to_string(n) + " less one");
    return static_cast<std::size_t>(index);
}

/// A text leaves by the tools' rules: as much as fits; the length becomes that of the whole text with its zero. MPI-4.1 section
/// 15.3.3.
void give_text(std::string_view text, char* into, int* length) noexcept;
/// A value leaves, where it is wanted.
template <class T, class U> void give(T* to, U const& value) noexcept {
    if (to) *to = static_cast<T>(value);
}

/// Categories: see tools_categories.cpp.
enum class tool_group : std::uint8_t { all, traffic, matching, waiting, memory, reports };

/// The name of an event type and what it is about.
struct event_row {
    protocol::notice_kind what;
    std::string_view name;
    tool_group group;
    std::string_view help;
};
inline constexpr std::array<event_row, protocol::notice_kinds> event_table{{
    {protocol::notice_kind::unexpected, "mpt_unexpected_message", tool_group::matching, "a message came before its receive"},
    {protocol::notice_kind::offered, "mpt_rendezvous_offered", tool_group::traffic, "a message was announced to its receiver"},
    {protocol::notice_kind::sent, "mpt_rendezvous_sent", tool_group::traffic,
     "an announced message has left; its memory is the sender's again"},
    {protocol::notice_kind::received, "mpt_rendezvous_received", tool_group::traffic, "an announced message is here"},
    {protocol::notice_kind::throttled, "mpt_throttled", tool_group::matching,
     "a peer asked this rank to announce its messages, for too many wait there"},
    {protocol::notice_kind::relieved, "mpt_relieved", tool_group::matching, "a peer takes messages unannounced again"},
}};

} // namespace mpt::c
