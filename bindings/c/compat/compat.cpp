// What mpi_compat.h declares, by the standard's functions: PMPI_ ones, so that a profiling tool sees the program's calls alone.
#include <mpi_compat.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

/// A function and its twin, as the names of the standard have them.
#define MPT_TWINS(Type, name, parameters)                                                                                      \
    extern "C" [[gnu::visibility("default")]] Type P##name parameters;                                                         \
    extern "C" [[gnu::visibility("default")]] Type name parameters __attribute__((weak, alias("P" #name)));                    \
    Type P##name parameters

namespace {

static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint) && sizeof(MPI_F08_status) == sizeof(MPI_Status));

int copy_status(void const* from, void* to) {
    if (from == nullptr || to == nullptr) {
        PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_ARG);
        return MPI_ERR_ARG;
    }
    std::memcpy(to, from, sizeof(MPI_Status));
    return MPI_SUCCESS;
}

/// The arguments of MPI_Type_struct without the markers, and where those put the bounds.
struct unmarked {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    std::vector<MPI_Datatype> types;
    std::optional<MPI_Aint> lower, upper;

    unmarked(int count, int const* blocklengths, MPI_Aint const* displacements, MPI_Datatype const* all) {
        for (int i = 0; i < count; ++i) {
            auto const at = displacements[i];
            if (all[i] != MPI_LB && all[i] != MPI_UB) {
                lengths.push_back(blocklengths[i]), places.push_back(at), types.push_back(all[i]);
                continue;
            }
            if (blocklengths[i] == 0) continue;
            if (all[i] == MPI_LB) lower = lower ? std::min(*lower, at) : at;
            else upper = upper ? std::max(*upper, at) : at;
        }
    }
    int count() const { return static_cast<int>(types.size()); }
};

/// Gives a type that was just made its bounds. It goes when that fails.
int bound(unmarked const& with, MPI_Datatype* made) {
    auto plain = *made;
    MPI_Aint lower = 0, extent = 0;
    int code = PMPI_Type_get_extent(plain, &lower, &extent);
    auto const upper = with.upper.value_or(lower + extent);
    lower = with.lower.value_or(lower);
    if (code == MPI_SUCCESS) code = PMPI_Type_create_resized(plain, lower, upper - lower, made);
    PMPI_Type_free(&plain);
    return code;
}

} // namespace

MPT_TWINS(int, MPI_Status_c2f, (MPI_Status const* c, MPI_Fint* f)) { return copy_status(c, f); }
MPT_TWINS(int, MPI_Status_f2c, (MPI_Fint const* f, MPI_Status* c)) { return copy_status(f, c); }
MPT_TWINS(int, MPI_Status_c2f08, (MPI_Status const* c, MPI_F08_status* f)) { return copy_status(c, f); }
MPT_TWINS(int, MPI_Status_f082c, (MPI_F08_status const* f, MPI_Status* c)) { return copy_status(f, c); }
MPT_TWINS(int, MPI_Status_f2f08, (MPI_Fint const* from, MPI_F08_status* to)) { return copy_status(from, to); }
MPT_TWINS(int, MPI_Status_f082f, (MPI_F08_status const* from, MPI_Fint* to)) { return copy_status(from, to); }

MPT_TWINS(int, MPI_Address, (void* location, MPI_Aint* address)) { return PMPI_Get_address(location, address); }
MPT_TWINS(int, MPI_Errhandler_create, (MPI_Handler_function * f, MPI_Errhandler* made)) {
    return PMPI_Comm_create_errhandler(f, made);
}
MPT_TWINS(int, MPI_Errhandler_get, (MPI_Comm comm, MPI_Errhandler* handler)) { return PMPI_Comm_get_errhandler(comm, handler); }
MPT_TWINS(int, MPI_Errhandler_set, (MPI_Comm comm, MPI_Errhandler handler)) { return PMPI_Comm_set_errhandler(comm, handler); }

MPT_TWINS(int, MPI_Type_extent, (MPI_Datatype type, MPI_Aint* extent)) {
    MPI_Aint lower = 0;
    return PMPI_Type_get_extent(type, &lower, extent);
}
MPT_TWINS(int, MPI_Type_lb, (MPI_Datatype type, MPI_Aint* lower)) {
    MPI_Aint extent = 0;
    return PMPI_Type_get_extent(type, lower, &extent);
}
MPT_TWINS(int, MPI_Type_ub, (MPI_Datatype type, MPI_Aint* upper)) {
    MPI_Aint lower = 0, extent = 0;
    auto const code = PMPI_Type_get_extent(type, upper ? &lower : nullptr, &extent);
    if (code == MPI_SUCCESS) *upper = lower + extent;
    return code;
}
MPT_TWINS(int, MPI_Type_hindexed, (int count, int* lengths, MPI_Aint* places, MPI_Datatype type, MPI_Datatype* made)) {
    return PMPI_Type_create_hindexed(count, lengths, places, type, made);
}
MPT_TWINS(int, MPI_Type_hvector, (int count, int length, MPI_Aint stride, MPI_Datatype type, MPI_Datatype* made)) {
    return PMPI_Type_create_hvector(count, length, stride, type, made);
}
MPT_TWINS(int, MPI_Type_struct, (int count, int* lengths, MPI_Aint* places, MPI_Datatype* types, MPI_Datatype* made)) {
    if (count <= 0 || !lengths || !places || !types) return PMPI_Type_create_struct(count, lengths, places, types, made);
    unmarked const all{count, lengths, places, types};
    int const code = PMPI_Type_create_struct(all.count(), all.lengths.data(), all.places.data(), all.types.data(), made);
    return code == MPI_SUCCESS && (all.lower || all.upper) ? bound(all, made) : code;
}

#define MPT_CONVERSIONS(Handle, Sort)                                                                                          \
    MPT_TWINS(MPI_Fint, MPI_##Sort##_c2f, (Handle h)) { return PMPI_##Sort##_toint(h); }                                       \
    MPT_TWINS(Handle, MPI_##Sort##_f2c, (MPI_Fint h)) { return PMPI_##Sort##_fromint(h); }

MPT_CONVERSIONS(MPI_Comm, Comm)
MPT_CONVERSIONS(MPI_Errhandler, Errhandler)
MPT_CONVERSIONS(MPI_File, File)
MPT_CONVERSIONS(MPI_Group, Group)
MPT_CONVERSIONS(MPI_Info, Info)
MPT_CONVERSIONS(MPI_Message, Message)
MPT_CONVERSIONS(MPI_Op, Op)
MPT_CONVERSIONS(MPI_Request, Request)
MPT_CONVERSIONS(MPI_Session, Session)
MPT_CONVERSIONS(MPI_Datatype, Type)
MPT_CONVERSIONS(MPI_Win, Win)
