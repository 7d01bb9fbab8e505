/// mpi/error_classes - MPI's error classes, the codes that users add, and which class an error of ours belongs to.
///
///        0 .. 62, 1001 .. 1018        16383            16384 ..
///        classes of the standard      MPI_ERR_LASTCODE classes and codes of the user, in the order in which they came
///
///   A code belongs to a class; a class is a code that belongs to itself. Nothing but its class stays of an error that was
///   raised: the sentence of an mpt::error is for whoever handles it.
///
///   Removing takes the order of the standard: first the text, then the code, then the class. A number is never given out
///   twice, so that a code that somebody kept cannot mean something else later.
///
///   Order   one mutex in the registry; every function may be called by any thread at any time.
///   Tests   test/mpi_error_classes_test.cpp (the values are those of bindings/c/mpi_constants.tbl)
///   Source  MPI-5.0 sections 9.4 and 9.5, appendix A.1.1
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <mpt/core/error.hpp>

namespace mpt::inline v0 {

/// The error classes of the standard, with the values of its binary interface.
enum class error_class : std::int32_t {
    success = 0,
    buffer,
    count,
    type,
    tag,
    comm,
    rank,
    request,
    root,
    group,
    op,
    topology,
    dims,
    arg,
    unknown,
    truncate,
    other,
    intern,
    pending,
    in_status,
    access,
    amode,
    assertion,
    bad_file,
    base,
    conversion,
    disp,
    dup_datarep,
    file_exists,
    file_in_use,
    file,
    info_key,
    info_nokey,
    info_value,
    info,
    io,
    keyval,
    locktype,
    name,
    no_mem,
    not_same,
    no_space,
    no_such_file,
    port,
    quota,
    read_only,
    rma_attach,
    rma_conflict,
    rma_range,
    rma_shared,
    rma_sync,
    service,
    size,
    spawn,
    unsupported_datarep,
    unsupported_operation,
    win,
    rma_flavor,
    proc_aborted,
    value_too_large,
    session,
    errhandler,
    abi,
    t_cannot_init = 1001,
    t_not_accessible,
    t_not_initialized,
    t_not_supported,
    t_memory,
    t_invalid,
    t_invalid_index,
    t_invalid_item,
    t_invalid_session,
    t_invalid_handle,
    t_invalid_name,
    t_out_of_handles,
    t_out_of_sessions,
    t_cvar_set_not_now,
    t_cvar_set_never,
    t_pvar_no_write,
    t_pvar_no_startstop,
    t_pvar_no_atomic,
};

inline constexpr std::int32_t last_error_code = 16383; // MPI_ERR_LASTCODE
inline constexpr std::size_t max_error_string = 512;   // MPI_MAX_ERROR_STRING, with the closing zero

struct error_class_row {
    error_class which;
    std::string_view name;     // "MPI_ERR_RANK"
    std::string_view sentence; // what MPI_Error_string says after the name
};
/// Every class of the standard, by rising value.
std::span<error_class_row const> error_class_rows() noexcept;

/// The class that an error of ours belongs to.
error_class class_of(errc code) noexcept;

/// The code that a C function returns for an error.
std::int32_t mpi_code_of(error const& e) noexcept;

/// An error whose class MPI names more closely than errc does, or whose code came from a function of the user.
class mpi_error : public error {
    std::int32_t mpi_code_;

public:
    mpi_error(error_class which, std::string const& what) : mpi_error{static_cast<std::int32_t>(which), what} {}
    mpi_error(std::int32_t mpi_code, std::string const& what) : error{errc::argument, what}, mpi_code_{mpi_code} {}
    /// The same error, and the code that C would return for it.
    explicit mpi_error(error const& e) : error{e}, mpi_code_{mpi_code_of(e)} {}
    std::int32_t mpi_code() const noexcept { return mpi_code_; }
};

/// The classes and codes that the user added (environment::errors()). Errors are mpt::error of class argument, and change nothing.
class error_registry {
public:
    /// The one of this process, as long as the process: the C interface's, and of every environment that is not a thread's.
    static std::shared_ptr<error_registry> of_process();

    error_registry();
    ~error_registry();

    std::int32_t add_class();
    std::int32_t add_code(std::int32_t of_class);
    /// Gives a code of the user its text, or another one: at most max_error_string - 1 characters.
    void add_string(std::int32_t code, std::string_view text);

    /// A class goes when it has no text and no codes any more, a code when it has no text any more.
    void remove_class(std::int32_t code);
    void remove_code(std::int32_t code);
    void remove_string(std::int32_t code);

    /// MPI_LASTUSEDCODE: the greatest code there is, at least last_error_code.
    std::int32_t last_used() const;
    /// MPI_Error_class and MPI_Error_string. A code of the user without a text has an empty one.
    std::int32_t class_of(std::int32_t code) const;
    std::string text_of(std::int32_t code) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace mpt::inline v0
