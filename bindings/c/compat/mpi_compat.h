/* mpi_compat - names that old programs use and the standard's binary interface does not have. With mptcc -compat, mpi.h has them.
 *
 *   MPI_Fint and its conversions    a Fortran integer is the handle's integer of MPI 5.0 (MPI_Comm_toint); a Fortran status is the
 *                                   C status as integers
 *   what MPI-3.0 removed            MPI_Type_struct, MPI_Address, MPI_Errhandler_set and their kin, by the functions that replace them
 *
 *   The library behind it, libmpt_mpi_compat, calls nothing but the standard's functions. A profiling tool may replace each function here,
 *   too: they have PMPI_ twins.
 *
 *   Limit   MPI_LB and MPI_UB are for MPI_Type_struct alone. The type that it makes is resized, and says so when it is asked for its
 *           envelope. Types built of it keep its bounds as MPI-4.1 has it, but a marker of theirs counts alone.
 *   Limit   No datatype answers with the MPI_COMBINER_*_INTEGER: they were for types made by Fortran's old functions.
 *   Source  MPI-4.1 sections 16.2 - 16.4 and 19.3.4; MPI-2.2 section 4.1. */
#ifndef MPI_COMPAT_H
#define MPI_COMPAT_H
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Fortran's handles and statuses ---------------------------------------------------------------------------------------------- */

typedef int MPI_Fint;

/* What a Fortran 2008 program has for a status: the same fields. */
typedef struct {
    MPI_Fint MPI_SOURCE, MPI_TAG, MPI_ERROR;
    MPI_Fint MPI_internal[5];
} MPI_F08_status;

#define MPI_F_STATUS_IGNORE ((MPI_Fint*)0)
#define MPI_F_STATUSES_IGNORE ((MPI_Fint*)0)
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status*)0)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status*)0)

MPI_Fint MPI_Comm_c2f(MPI_Comm comm);
MPI_Comm MPI_Comm_f2c(MPI_Fint comm);
MPI_Fint MPI_Errhandler_c2f(MPI_Errhandler errhandler);
MPI_Errhandler MPI_Errhandler_f2c(MPI_Fint errhandler);
MPI_Fint MPI_File_c2f(MPI_File file);
MPI_File MPI_File_f2c(MPI_Fint file);
MPI_Fint MPI_Group_c2f(MPI_Group group);
MPI_Group MPI_Group_f2c(MPI_Fint group);
MPI_Fint MPI_Info_c2f(MPI_Info info);
MPI_Info MPI_Info_f2c(MPI_Fint info);
MPI_Fint MPI_Message_c2f(MPI_Message message);
MPI_Message MPI_Message_f2c(MPI_Fint message);
MPI_Fint MPI_Op_c2f(MPI_Op op);
MPI_Op MPI_Op_f2c(MPI_Fint op);
MPI_Fint MPI_Request_c2f(MPI_Request request);
MPI_Request MPI_Request_f2c(MPI_Fint request);
MPI_Fint MPI_Session_c2f(MPI_Session session);
MPI_Session MPI_Session_f2c(MPI_Fint session);
MPI_Fint MPI_Type_c2f(MPI_Datatype datatype);
MPI_Datatype MPI_Type_f2c(MPI_Fint datatype);
MPI_Fint MPI_Win_c2f(MPI_Win win);
MPI_Win MPI_Win_f2c(MPI_Fint win);

/* f_status: MPI_F_STATUS_SIZE integers. No status is one to be ignored. */
int MPI_Status_c2f(MPI_Status const* c_status, MPI_Fint* f_status);
int MPI_Status_f2c(MPI_Fint const* f_status, MPI_Status* c_status);
int MPI_Status_c2f08(MPI_Status const* c_status, MPI_F08_status* f08_status);
int MPI_Status_f082c(MPI_F08_status const* f08_status, MPI_Status* c_status);
int MPI_Status_f2f08(MPI_Fint const* f_status, MPI_F08_status* f08_status);
int MPI_Status_f082f(MPI_F08_status const* f08_status, MPI_Fint* f_status);

/* --- what MPI-3.0 removed -------------------------------------------------------------------------------------------------------- */

typedef MPI_Comm_errhandler_function MPI_Handler_function;
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;

/* No numbers of the standard's handles: below the first of objects, above the last of predefined ones. */
#define MPI_LB ((MPI_Datatype)0x00000ffe)
#define MPI_UB ((MPI_Datatype)0x00000fff)

#define MPI_COMBINER_HVECTOR_INTEGER (-105)
#define MPI_COMBINER_HINDEXED_INTEGER (-107)
#define MPI_COMBINER_STRUCT_INTEGER (-110)

int MPI_Address(void* location, MPI_Aint* address);
int MPI_Errhandler_create(MPI_Handler_function* handler_fn, MPI_Errhandler* errhandler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent);
int MPI_Type_hindexed(int count, int* array_of_blocklengths, MPI_Aint* array_of_displacements, MPI_Datatype oldtype,
                      MPI_Datatype* newtype);
int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype);
int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement);
int MPI_Type_struct(int count, int* array_of_blocklengths, MPI_Aint* array_of_displacements, MPI_Datatype* array_of_types,
                    MPI_Datatype* newtype);
int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement);

/* --- the twins, through which a profiling tool reaches what it replaces -------------------------------------------------------------- */

MPI_Fint PMPI_Comm_c2f(MPI_Comm comm);
MPI_Comm PMPI_Comm_f2c(MPI_Fint comm);
MPI_Fint PMPI_Errhandler_c2f(MPI_Errhandler errhandler);
MPI_Errhandler PMPI_Errhandler_f2c(MPI_Fint errhandler);
MPI_Fint PMPI_File_c2f(MPI_File file);
MPI_File PMPI_File_f2c(MPI_Fint file);
MPI_Fint PMPI_Group_c2f(MPI_Group group);
MPI_Group PMPI_Group_f2c(MPI_Fint group);
MPI_Fint PMPI_Info_c2f(MPI_Info info);
MPI_Info PMPI_Info_f2c(MPI_Fint info);
MPI_Fint PMPI_Message_c2f(MPI_Message message);
MPI_Message PMPI_Message_f2c(MPI_Fint message);
MPI_Fint PMPI_Op_c2f(MPI_Op op);
MPI_Op PMPI_Op_f2c(MPI_Fint op);
MPI_Fint PMPI_Request_c2f(MPI_Request request);
MPI_Request PMPI_Request_f2c(MPI_Fint request);
MPI_Fint PMPI_Session_c2f(MPI_Session session);
MPI_Session PMPI_Session_f2c(MPI_Fint session);
MPI_Fint PMPI_Type_c2f(MPI_Datatype datatype);
MPI_Datatype PMPI_Type_f2c(MPI_Fint datatype);
MPI_Fint PMPI_Win_c2f(MPI_Win win);
MPI_Win PMPI_Win_f2c(MPI_Fint win);
int PMPI_Status_c2f(MPI_Status const* c_status, MPI_Fint* f_status);
int PMPI_Status_f2c(MPI_Fint const* f_status, MPI_Status* c_status);
int PMPI_Status_c2f08(MPI_Status const* c_status, MPI_F08_status* f08_status);
int PMPI_Status_f082c(MPI_F08_status const* f08_status, MPI_Status* c_status);
int PMPI_Status_f2f08(MPI_Fint const* f_status, MPI_F08_status* f08_status);
int PMPI_Status_f082f(MPI_F08_status const* f08_status, MPI_Fint* f_status);
int PMPI_Address(void* location, MPI_Aint* address);
int PMPI_Errhandler_create(MPI_Handler_function* handler_fn, MPI_Errhandler* errhandler);
int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler);
int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent);
int PMPI_Type_hindexed(int count, int* array_of_blocklengths, MPI_Aint* array_of_displacements, MPI_Datatype oldtype,
                       MPI_Datatype* newtype);
int PMPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype);
int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement);
int PMPI_Type_struct(int count, int* array_of_blocklengths, MPI_Aint* array_of_displacements, MPI_Datatype* array_of_types,
                     MPI_Datatype* newtype);
int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement);

#ifdef __cplusplus
}
#endif
#endif
