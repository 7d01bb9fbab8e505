/// call - one call of the C interface: which function, whose error handler, and the checks of its arguments.
///
///        MPI_Send(...) --> run("MPI_Send", f): f(call) --> handles looked up, values checked (generated) --> impl::Send
///                             |                                   `-- fail(class, sentence) throws mpi_error
///                             `-- catches mpt::error, std::bad_alloc --> raise(): the object's error handler
///
///   Where there is no error nothing is spent but the checks. An exception of the user's own functions passes through.
///   The object whose handler is called is the call's first communicator (window, file); that of its request or message; the session
///   that is named, or that a group comes from; MPI_COMM_SELF where there is none. Where that is not there either (sessions without
///   the world model), an error ends the job. A call that is given the error handler of a new object has that one called. The handler
///   runs after the catch: no state of ours is half-done, and it may call MPI, throw, or longjmp.
///
///   Source   MPI-4.1 chapter 9.    Tests    test/c/*_test.cpp
#pragma once
#include <mpi.h>

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <mpt/mpi/error_classes.hpp>

#include "counted.hpp"

namespace mpt::c {

struct comm;
struct datatype_object;
struct errhandler;
struct group_object;
struct session;
struct info_object;
struct operation_object;
struct request;
struct message;
struct win;
struct binding;

/// Numbers of an array argument: of int, or of 64 bits (MPI_Count, MPI_Aint).
class numbers {
    void const* at_;
    bool wide_;

public:
    numbers(int const* p) noexcept : at_{p}, wide_{false} {}
    numbers(MPI_Count const* p) noexcept : at_{p}, wide_{true} {}
    MPI_Count operator[](std::int64_t i) const noexcept {
        return wide_ ? static_cast<MPI_Count const*>(at_)[i] : static_cast<int const*>(at_)[i];
    }
    bool null() const noexcept { return at_ == nullptr; }
};
static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count));

/// A function of the user in one of its two forms.
template <class Small, class Large> struct either {
    Small* small = nullptr;
    Large* large = nullptr;
    either(Small* f) noexcept : small{f} {}
    either(Large* f) noexcept : large{f} {}
};

/// The object whose error handler hears of an error, by its handle; none: MPI_COMM_SELF.
class raised_on {
    enum class sort : std::uint8_t { nothing, comm, file, session, win };
    shown<sort> of_ = sort::nothing; // a request's is looked at by other threads
    shown<void*> handle_ = nullptr;
    template <class Handle> Handle as(sort wanted, Handle null) const noexcept {
        return of_ == wanted ? static_cast<Handle>(static_cast<void*>(handle_)) : null;
    }

public:
    raised_on() = default;
    raised_on(MPI_Comm h) noexcept : of_{h == MPI_COMM_NULL ? sort::nothing : sort::comm}, handle_{h} {}
    raised_on(MPI_File h) noexcept : of_{sort::file}, handle_{h} {} // MPI_FILE_NULL has a handler
    raised_on(MPI_Session h) noexcept : of_{h == MPI_SESSION_NULL ? sort::nothing : sort::session}, handle_{h} {}
    raised_on(MPI_Win h) noexcept : of_{h == MPI_WIN_NULL ? sort::nothing : sort::win}, handle_{h} {}
    explicit operator bool() const noexcept { return of_ != sort::nothing; }
    MPI_Comm comm() const noexcept { return as(sort::comm, MPI_COMM_NULL); }
    MPI_File file() const noexcept { return as(sort::file, MPI_FILE_NULL); }
    MPI_Session session() const noexcept { return as(sort::session, MPI_SESSION_NULL); }
    MPI_Win win() const noexcept { return as(sort::win, MPI_WIN_NULL); }
};

/// Which of a rank's special values an argument may have.
enum class also : std::uint8_t { none = 0, null = 1, any = 2 };
constexpr also operator|(also a, also b) noexcept { return static_cast<also>(static_cast<int>(a) | static_cast<int>(b)); }
constexpr bool has(also a, also b) noexcept { return (static_cast<int>(a) & static_cast<int>(b)) != 0; }

class call {
    char const* name_;
    binding& binding_;
    raised_on on_;
    MPI_Errhandler judge_ = MPI_ERRHANDLER_NULL; // that is called in place of an object's

public:
    bool const large;

    call(char const* name, binding& b, bool large_form) noexcept : name_{name}, binding_{b}, large{large_form} {}
    call(call const&) = delete;

    char const* name() const noexcept { return name_; }
    binding& of() const noexcept { return binding_; }
    raised_on const& on() const noexcept { return on_; }
    /// Errors from here on are this object's.
    void blame(raised_on const& o) noexcept { on_ = o; }
    /// ... or that which a request, a message or a group belongs to. A handle that stands for nothing belongs to nothing.
    void blame(MPI_Request h) noexcept;
    void blame(MPI_Message h) noexcept;
    void blame(MPI_Group h) noexcept;
    /// Errors from here on are this handler's: it is a new object's, which is not there yet.
    void judged_by(MPI_Errhandler h) noexcept { judge_ = h; }
    MPI_Errhandler judge() const noexcept { return judge_; }

    [[noreturn]] void fail(int code, std::string sentence) const;
    /// `argument is VALUE; allowed: WHAT`
    [[noreturn]] void refuse(int code, char const* argument, std::int64_t value, std::string const& allowed) const;
    [[noreturn]] void not_supported() const;

    // --- handles: the object, or the error that says what the handle is ------------------------------------------------------
    comm& object(MPI_Comm h, char const* argument);
    datatype_object& object(MPI_Datatype h, char const* argument) const;
    group_object& object(MPI_Group h, char const* argument);
    session& object(MPI_Session h, char const* argument);
    win& object(MPI_Win h, char const* argument);
    operation_object& object(MPI_Op h, char const* argument) const;
    errhandler& object(MPI_Errhandler h, char const* argument) const;
    info_object& object(MPI_Info h, char const* argument) const;
    request& object(MPI_Request h, char const* argument);
    message& object(MPI_Message h, char const* argument);
    /// nullptr for the null handle.
    template <class Handle> auto* object_or_null(Handle h, Handle null, char const* argument) {
        return h == null ? nullptr : &object(h, argument);
    }
    /// The same, where the handle is taken to live: what entry points without checks call.
    comm& known(MPI_Comm h) noexcept;
    session& known(MPI_Session h) noexcept;
    win& known(MPI_Win h) noexcept;
    datatype_object& known(MPI_Datatype h) const noexcept;
    group_object& known(MPI_Group h) noexcept;
    operation_object& known(MPI_Op h) const noexcept;
    errhandler& known(MPI_Errhandler h) const noexcept;
    info_object& known(MPI_Info h) const noexcept;
    template <class Handle> auto* known_or_null(Handle h, Handle null) noexcept { return h == null ? nullptr : &known(h); }
    /// An array of handles, each of which must live (or be null, where `null` says what null is).
    template <class Handle> void objects(Handle const* h, std::int64_t n, char const* argument, Handle const* null = nullptr) {
        for (std::int64_t i = 0; i < n; ++i)
            if (!null || h[i] != *null) nth(h, i, argument);
    }
    /// The same for requests, of which windows are long.
    void objects(MPI_Request const* h, std::int64_t n, char const* argument, MPI_Request const* null = nullptr);
    /// One of an array: what is wrong with it is told with its place.
    template <class Handle> void nth(Handle const* h, std::int64_t i, char const* argument) {
        try {
            object(h[i], argument);
        } catch (mpi_error const&) {
            auto const place = std::string{argument} + '[' + std::to_string(i) + ']';
            object(h[i], place.c_str());
        }
    }

    // --- values ----------------------------------------------------------------------------------------------------------------
    void at_least(std::int64_t value, std::int64_t least, char const* argument, int code) const {
        if (value < least) [[unlikely]]
            refuse(code, argument, value, least ? "at least " + std::to_string(least) : "not negative");
    }
    void each_at_least(numbers values, std::int64_t n, std::int64_t least, char const* argument, int code) const;
    void rank(int value, int size, char const* argument, also words, int code = MPI_ERR_RANK) const {
        if (static_cast<unsigned>(value) < static_cast<unsigned>(size)) [[likely]]
            return;
        if (has(words, also::null) && value == MPI_PROC_NULL) return;
        if (has(words, also::any) && value == MPI_ANY_SOURCE) return;
        bad_rank(value, size, argument, words, code);
    }
    void each_rank(int const* values, std::int64_t n, int size, char const* argument, also words) const {
        for (std::int64_t i = 0; i < n; ++i) rank(values[i], size, argument, words);
    }
    void root(int value, comm const& c, char const* argument) const;
    /// Is this process the root? Has it a part of its own beside what the root has for all? Has it a part in the call at all? Between
    /// two groups, those of the root's group but the root have none.
    static bool at_root(int root, comm const& c) noexcept;
    static bool has_part(int root, comm const& c) noexcept;
    static bool takes_part(int root, comm const& c) noexcept;
    void tag(int value, char const* argument, bool any) const {
        if (value < 0 && !(any && value == MPI_ANY_TAG)) [[unlikely]]
            refuse(MPI_ERR_TAG, argument, value, any ? "0 to 2147483647, or MPI_ANY_TAG" : "0 to 2147483647");
    }
    /// One of n values; names: what they are called.
    void one_of(std::int64_t value, std::int64_t const* values, std::size_t n, char const* names, char const* argument,
                int code) const;
    /// None that the user has made.
    void predefined(operation_object const& op, char const* argument) const;
    /// Bits of `all` only.
    void bits(std::int64_t value, std::int64_t all, char const* names, char const* argument, int code) const;

    // --- memory -----------------------------------------------------------------------------------------------------------------
    void not_null(void const* p, char const* argument, int code = MPI_ERR_ARG) const {
        if (p == nullptr) [[unlikely]]
            fail(code, std::string{argument} + " is a null pointer");
    }
    void committed(datatype_object const& t, char const* argument) const;
    /// count elements of t may lie at p.
    void data(void const* p, std::int64_t count, datatype_object const& t, char const* argument) const;
    void data(void const* p, numbers counts, std::int64_t n, datatype_object const& t, char const* argument) const;
    void bytes(void const* p, std::int64_t n, char const* argument, int code = MPI_ERR_BUFFER) const;

private:
    [[noreturn]] void bad_rank(int value, int size, char const* argument, also words, int code) const;
};

/// The binding of this process; refuses a call before init or after finalize, unless `anytime`.
binding& here() noexcept;
void require_running(call& c);

/// Refuses a call before MPI_T_init_thread or after the last MPI_T_finalize.
void require_tools(call& c);

/// An error of one of several operations: the call returns MPI_ERR_IN_STATUS, and its handler hears the operation's own code.
struct error_in_status : mpi_error {
    int cause;
    error_in_status(int code, std::string const& sentence) : mpi_error{MPI_ERR_IN_STATUS, sentence}, cause{code} {}
};

/// Calls the error handler; what the function returns. heard: the code that the handler gets.
int raise(call const& c, int code, std::string const& sentence, int heard);
/// The code of an error that a handler gets.
int heard_of(error const& e) noexcept;
/// The same for the tools' interface, which calls no handler. Classes of the rest of MPI become MPI_T_ERR_INVALID.
int raise_tool(call const& c, int code, std::string const& sentence);

/// What a call leaves that has failed: nothing of it, or null handles where it would have put new ones.
struct nothing_made {
    void operator()() const noexcept {}
};

/// Runs one call.
template <class F, class Undo = nothing_made>
int run(char const* name, bool large, bool anytime, F&& f, Undo const& undo = {}) {
    call c{name, here(), large};
    std::optional<std::pair<int, std::string>> wrong; // no text is made where nothing is
    int heard = MPI_ERR_NO_MEM;
    try {
        if (!anytime) require_running(c);
        f(c);
        return MPI_SUCCESS;
    } catch (error const& e) {
        wrong.emplace(mpi_code_of(e), e.what());
        heard = heard_of(e);
    } catch (std::bad_alloc const&) { wrong.emplace(MPI_ERR_NO_MEM, "no memory"); }
    undo();
    return raise(c, wrong->first, wrong->second, heard);
}
/// Runs one call of the tools' interface. entered: it needs MPI_T_init_thread first.
template <class F> int run_tool(char const* name, bool entered, F&& f) {
    call c{name, here(), false};
    try {
        if (entered) require_tools(c);
        f(c);
        return MPI_SUCCESS;
    } catch (error const& e) { return raise_tool(c, mpi_code_of(e), e.what()); } catch (std::bad_alloc const&) {
        return raise_tool(c, MPI_ERR_NO_MEM, "no memory");
    }
}

/// A wide value that leaves through an int: MPI_UNDEFINED where it does not fit.
inline int narrow(MPI_Count n) noexcept { return n == static_cast<int>(n) ? static_cast<int>(n) : MPI_UNDEFINED; }

} // namespace mpt::c
