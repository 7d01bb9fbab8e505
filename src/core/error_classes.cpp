// The table of error classes, and the registry of those that users add.
#include <mpt/mpi/error_classes.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include <mpt/core/registry.hpp>

namespace mpt::inline v0 {

namespace {
using enum error_class;

// clang-format off
constexpr error_class_row rows[]{
    {success,               "MPI_SUCCESS",                   "no error"},
    {buffer,                "MPI_ERR_BUFFER",                "the address cannot be one of data"},
    {count,                 "MPI_ERR_COUNT",                 "the number of elements is not allowed"},
    {type,                  "MPI_ERR_TYPE",                  "the datatype does not exist, is not committed or is not allowed here"},
    {tag,                   "MPI_ERR_TAG",                   "the tag is not allowed"},
    {comm,                  "MPI_ERR_COMM",                  "the communicator does not exist or is not allowed here"},
    {error_class::rank,     "MPI_ERR_RANK",                  "the rank is not one of the communicator, group or window"},
    {request,               "MPI_ERR_REQUEST",               "the request does not exist or is not allowed here"},
    {root,                  "MPI_ERR_ROOT",                  "the root is not a rank of the communicator"},
    {error_class::group,    "MPI_ERR_GROUP",                 "the group does not exist"},
    {op,                    "MPI_ERR_OP",                    "the operation does not exist or does not fit the datatype"},
    {topology,              "MPI_ERR_TOPOLOGY",              "the communicator has not the topology that the call needs"},
    {dims,                  "MPI_ERR_DIMS",                  "the dimensions of the grid are not allowed"},
    {arg,                   "MPI_ERR_ARG",                   "an argument has a value that is not allowed"},
    {unknown,               "MPI_ERR_UNKNOWN",               "nothing is known of this error"},
    {truncate,              "MPI_ERR_TRUNCATE",              "the message is longer than the buffer to receive it"},
    {other,                 "MPI_ERR_OTHER",                 "the call failed for a reason that has no class of its own"},
    {intern,                "MPI_ERR_INTERN",                "the library is at fault"},
    {pending,               "MPI_ERR_PENDING",               "the operation is not over yet"},
    {in_status,             "MPI_ERR_IN_STATUS",             "the error codes are in the statuses"},
    {access,                "MPI_ERR_ACCESS",                "permission is denied"},
    {amode,                 "MPI_ERR_AMODE",                 "the access mode is not allowed, or differs between processes"},
    {assertion,             "MPI_ERR_ASSERT",                "the assertion is not one that the call knows"},
    {bad_file,              "MPI_ERR_BAD_FILE",              "the file name is not allowed"},
    {base,                  "MPI_ERR_BASE",                  "no base of memory: a null pointer, or not what the library allocated"},
    {conversion,            "MPI_ERR_CONVERSION",            "a conversion function of the user failed"},
    {disp,                  "MPI_ERR_DISP",                  "the displacement is not allowed"},
    {dup_datarep,           "MPI_ERR_DUP_DATAREP",           "a data representation of that name exists already"},
    {file_exists,           "MPI_ERR_FILE_EXISTS",           "the file exists already"},
    {file_in_use,           "MPI_ERR_FILE_IN_USE",           "some process has the file open"},
    {file,                  "MPI_ERR_FILE",                  "the file handle is not one of an open file"},
    {info_key,              "MPI_ERR_INFO_KEY",              "the key of a hint is empty or too long"},
    {info_nokey,            "MPI_ERR_INFO_NOKEY",            "the info object has no such key"},
    {info_value,            "MPI_ERR_INFO_VALUE",            "the value of a hint is too long"},
    {error_class::info,     "MPI_ERR_INFO",                  "the info object does not exist"},
    {io,                    "MPI_ERR_IO",                    "reading or writing the file failed"},
    {keyval,                "MPI_ERR_KEYVAL",                "the key of the attribute does not exist or is not allowed here"},
    {locktype,              "MPI_ERR_LOCKTYPE",              "the sort of lock does not exist"},
    {name,                  "MPI_ERR_NAME",                  "nobody published a service of that name"},
    {no_mem,                "MPI_ERR_NO_MEM",                "there is no memory left"},
    {not_same,              "MPI_ERR_NOT_SAME",              "an argument differs between processes"},
    {no_space,              "MPI_ERR_NO_SPACE",              "there is no room left for the file"},
    {no_such_file,          "MPI_ERR_NO_SUCH_FILE",          "the file does not exist"},
    {port,                  "MPI_ERR_PORT",                  "the port does not exist"},
    {quota,                 "MPI_ERR_QUOTA",                 "the quota is used up"},
    {read_only,             "MPI_ERR_READ_ONLY",             "the file or its file system is read-only"},
    {rma_attach,            "MPI_ERR_RMA_ATTACH",            "the memory cannot be attached to the window"},
    {rma_conflict,          "MPI_ERR_RMA_CONFLICT",          "accesses to the window conflict"},
    {rma_range,             "MPI_ERR_RMA_RANGE",             "the memory is not within the window"},
    {rma_shared,            "MPI_ERR_RMA_SHARED",            "the memory cannot be shared by these processes"},
    {rma_sync,              "MPI_ERR_RMA_SYNC",              "the call does not fit the epoch of the window"},
    {service,               "MPI_ERR_SERVICE",               "the name cannot be withdrawn: nobody published it"},
    {size,                  "MPI_ERR_SIZE",                  "the size is not allowed"},
    {spawn,                 "MPI_ERR_SPAWN",                 "the processes could not be started"},
    {unsupported_datarep,   "MPI_ERR_UNSUPPORTED_DATAREP",   "the library lacks this data representation"},
    {unsupported_operation, "MPI_ERR_UNSUPPORTED_OPERATION", "the library lacks this operation"},
    {win,                   "MPI_ERR_WIN",                   "the window does not exist"},
    {rma_flavor,            "MPI_ERR_RMA_FLAVOR",            "the window was not made in the way that the call needs"},
    {proc_aborted,          "MPI_ERR_PROC_ABORTED",          "a process that takes part has ended"},
    {value_too_large,       "MPI_ERR_VALUE_TOO_LARGE",       "the value does not fit into the argument that is to hold it"},
    {session,               "MPI_ERR_SESSION",               "the session does not exist"},
    {errhandler,            "MPI_ERR_ERRHANDLER",            "the error handler does not exist or is not one for this object"},
    {abi,                   "MPI_ERR_ABI",                   "the binary interface is not the one that the program asks for"},
    {t_cannot_init,         "MPI_T_ERR_CANNOT_INIT",         "the tools' interface cannot be entered now"},
    {t_not_accessible,      "MPI_T_ERR_NOT_ACCESSIBLE",      "that part of the tools' interface cannot be reached now"},
    {t_not_initialized,     "MPI_T_ERR_NOT_INITIALIZED",     "the tools' interface was not entered"},
    {t_not_supported,       "MPI_T_ERR_NOT_SUPPORTED",       "the tools' interface lacks this"},
    {t_memory,              "MPI_T_ERR_MEMORY",              "there is no memory left for the tools' interface"},
    {t_invalid,             "MPI_T_ERR_INVALID",             "an argument of the tools' interface is not allowed"},
    {t_invalid_index,       "MPI_T_ERR_INVALID_INDEX",       "the index is not one of the tools' interface"},
    {t_invalid_item,        "MPI_T_ERR_INVALID_ITEM",        "the item is not one of the enumeration"},
    {t_invalid_session,     "MPI_T_ERR_INVALID_SESSION",     "the session is not one of the tools' interface"},
    {t_invalid_handle,      "MPI_T_ERR_INVALID_HANDLE",      "the handle is not one of the tools' interface"},
    {t_invalid_name,        "MPI_T_ERR_INVALID_NAME",        "nothing in the tools' interface has that name"},
    {t_out_of_handles,      "MPI_T_ERR_OUT_OF_HANDLES",      "the tools' interface has no handles left"},
    {t_out_of_sessions,     "MPI_T_ERR_OUT_OF_SESSIONS",     "the tools' interface has no sessions left"},
    {t_cvar_set_not_now,    "MPI_T_ERR_CVAR_SET_NOT_NOW",    "the control variable cannot be set now"},
    {t_cvar_set_never,      "MPI_T_ERR_CVAR_SET_NEVER",      "the control variable cannot be set"},
    {t_pvar_no_write,       "MPI_T_ERR_PVAR_NO_WRITE",       "the performance variable cannot be written or reset"},
    {t_pvar_no_startstop,   "MPI_T_ERR_PVAR_NO_STARTSTOP",   "the performance variable cannot be started or stopped"},
    {t_pvar_no_atomic,      "MPI_T_ERR_PVAR_NO_ATOMIC",      "the performance variable cannot be read and reset at once"},
};
// clang-format on

/// The row of a class of the standard, or nothing.
error_class_row const* standard(std::int32_t code) noexcept {
    auto const value = [](error_class_row const& r) { return static_cast<std::int32_t>(r.which); };
    auto const* const row = std::ranges::lower_bound(rows, code, {}, value);
    return row != std::end(rows) && value(*row) == code ? row : nullptr;
}

} // namespace

std::span<error_class_row const> error_class_rows() noexcept { return rows; }

error_class class_of(errc code) noexcept {
    switch (code) {
    case errc::argument: return arg;
    case errc::rank_range: return error_class::rank;
    case errc::tag_range: return error_class::tag;
    case errc::root: return error_class::root;
    case errc::truncate: return truncate;
    case errc::no_memory: return no_mem;
    case errc::peer_gone: return proc_aborted;
    case errc::unreachable: return other;
    case errc::system: return other;
    case errc::configuration: return other;
    case errc::launch: return other;
    case errc::usage: return other;
    case errc::protocol: return intern;
    case errc::rma_sync: return error_class::rma_sync;
    case errc::rma_range: return error_class::rma_range;
    case errc::rma_attach: return error_class::rma_attach;
    case errc::rma_flavor: return error_class::rma_flavor;
    case errc::rma_shared: return error_class::rma_shared;
    case errc::buffer: return error_class::buffer;
    }
    return unknown;
}

std::int32_t mpi_code_of(error const& e) noexcept {
    if (auto const* const of_mpi = dynamic_cast<mpi_error const*>(&e)) return of_mpi->mpi_code();
    return static_cast<std::int32_t>(class_of(e.code()));
}

struct error_registry::impl {
    struct entry {
        std::int32_t of_class; // its own number: a class
        std::int32_t codes = 0;
        std::optional<std::string> text = {};
    };
    mutable std::mutex turn;
    std::map<std::int32_t, entry> entries;
    std::int32_t last = last_error_code;

    std::int32_t next() {
        if (last == std::numeric_limits<std::int32_t>::max())
            throw error{errc::no_memory, fmt::format("mpt: all error codes up to {} were given out", last)};
        return ++last;
    }
    entry& at(char const* call, std::int32_t code) {
        auto const it = entries.find(code);
        if (it == entries.end())
            throw error{errc::argument, fmt::format("mpt: {}: {} is no error class or code that the user added", call, code)};
        return it->second;
    }
    void refuse_text(char const* call, std::int32_t code, entry const& e) {
        if (e.text)
            throw error{errc::argument,
                        fmt::format("mpt: {}: {} still has its text, which is to be removed first", call, code)};
    }
};

std::shared_ptr<error_registry> error_registry::of_process() {
    return std::static_pointer_cast<error_registry>(
        process_registry::instance().kept_or("error classes", [] { return std::make_shared<error_registry>(); }));
}

error_registry::error_registry() : impl_{std::make_unique<impl>()} {}
error_registry::~error_registry() = default;

std::int32_t error_registry::add_class() {
    std::scoped_lock const hold{impl_->turn};
    auto const code = impl_->next();
    impl_->entries.emplace(code, impl::entry{code});
    return code;
}

std::int32_t error_registry::add_code(std::int32_t of_class) {
    std::scoped_lock const hold{impl_->turn};
    auto const it = impl_->entries.find(of_class);
    bool const ours = it != impl_->entries.end() && it->second.of_class == of_class;
    if (!ours && !standard(of_class))
        throw error{errc::argument, fmt::format("mpt: add error code: {} is no error class", of_class)};
    auto const code = impl_->next();
    impl_->entries.emplace(code, impl::entry{of_class});
    if (ours) ++it->second.codes;
    return code;
}

void error_registry::add_string(std::int32_t code, std::string_view text) {
    if (text.size() >= max_error_string)
        throw error{errc::argument, fmt::format("mpt: add error string: the text has {} characters, {} are allowed",
                                                text.size(), max_error_string - 1)};
    std::scoped_lock const hold{impl_->turn};
    impl_->at("add error string", code).text = text;
}

void error_registry::remove_class(std::int32_t code) {
    static constexpr auto call = "remove error class";
    std::scoped_lock const hold{impl_->turn};
    auto const& e = impl_->at(call, code);
    if (e.of_class != code)
        throw error{errc::argument, fmt::format("mpt: {}: {} is a code of class {}, no class", call, code, e.of_class)};
    if (e.codes != 0)
        throw error{errc::argument,
                    fmt::format("mpt: {}: class {} still has {} codes, which are to be removed first", call, code, e.codes)};
    impl_->refuse_text(call, code, e);
    impl_->entries.erase(code);
}

void error_registry::remove_code(std::int32_t code) {
    static constexpr auto call = "remove error code";
    std::scoped_lock const hold{impl_->turn};
    auto const& e = impl_->at(call, code);
    if (e.of_class == code) throw error{errc::argument, fmt::format("mpt: {}: {} is a class, no code", call, code)};
    impl_->refuse_text(call, code, e);
    if (auto const it = impl_->entries.find(e.of_class); it != impl_->entries.end()) --it->second.codes;
    impl_->entries.erase(code);
}

void error_registry::remove_string(std::int32_t code) {
    std::scoped_lock const hold{impl_->turn};
    auto& e = impl_->at("remove error string", code);
    if (!e.text) throw error{errc::argument, fmt::format("mpt: remove error string: {} has no text", code)};
    e.text.reset();
}

std::int32_t error_registry::last_used() const {
    std::scoped_lock const hold{impl_->turn};
    return impl_->entries.empty() ? last_error_code : impl_->entries.rbegin()->first;
}

std::int32_t error_registry::class_of(std::int32_t code) const {
    if (standard(code)) return code;
    std::scoped_lock const hold{impl_->turn};
    return impl_->at("error class", code).of_class;
}

std::string error_registry::text_of(std::int32_t code) const {
    if (auto const* const row = standard(code)) return fmt::format("{}: {}", row->name, row->sentence);
    std::scoped_lock const hold{impl_->turn};
    return impl_->at("error string", code).text.value_or("");
}

} // namespace mpt::inline v0
