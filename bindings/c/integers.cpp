// Chapter 20: handles as integers. The integer is a handle's number; the generation is found again.
#include "binding.hpp"
#include "entries.hpp"

namespace mpt::c::impl {

namespace {
template <class Handle> int integer_of(Handle h) noexcept { return static_cast<int>(static_cast<std::uint32_t>(word_of(h))); }
template <class Handle, class T> Handle from_integer(handle_table<T> const& table, int number) noexcept {
    return handle_of<Handle>(table.word_from(static_cast<std::uint32_t>(number)));
}
} // namespace

int Comm_toint(MPI_Comm h) { return integer_of(h); }
int Errhandler_toint(MPI_Errhandler h) { return integer_of(h); }
int Group_toint(MPI_Group h) { return integer_of(h); }
int Info_toint(MPI_Info h) { return integer_of(h); }
int Message_toint(MPI_Message h) { return integer_of(h); }
int Op_toint(MPI_Op h) { return integer_of(h); }
int Request_toint(MPI_Request h) { return integer_of(h); }
int Session_toint(MPI_Session h) { return integer_of(h); }
int Type_toint(MPI_Datatype h) { return integer_of(h); }
int Win_toint(MPI_Win h) { return integer_of(h); }

MPI_Comm Comm_fromint(int n) { return from_integer<MPI_Comm>(here().comms, n); }
MPI_Errhandler Errhandler_fromint(int n) { return from_integer<MPI_Errhandler>(here().errhandlers, n); }
MPI_Group Group_fromint(int n) { return from_integer<MPI_Group>(here().groups, n); }
MPI_Info Info_fromint(int n) { return from_integer<MPI_Info>(here().infos, n); }
MPI_Message Message_fromint(int n) { return from_integer<MPI_Message>(here().messages, n); }
MPI_Op Op_fromint(int n) { return from_integer<MPI_Op>(here().operations, n); }
MPI_Request Request_fromint(int n) { return from_integer<MPI_Request>(here().requests, n); }
MPI_Session Session_fromint(int n) { return from_integer<MPI_Session>(here().sessions, n); }
MPI_Datatype Type_fromint(int n) { return from_integer<MPI_Datatype>(here().datatypes, n); }
MPI_Win Win_fromint(int n) { return from_integer<MPI_Win>(here().wins, n); }

// There is none of these yet but the null handle.
int File_toint(MPI_File h) { return integer_of(h); }
MPI_File File_fromint(int n) { return handle_of<MPI_File>(static_cast<std::uint32_t>(n)); }

} // namespace mpt::c::impl
