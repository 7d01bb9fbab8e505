/// neighbor_calls - the collectives of neighbours as objects, like those of collective_calls.hpp. MPI-4.1 sections 8.6 and 8.7.
#pragma once
#include <mpt/coll/neighbor.hpp>

#include "collectives.hpp"
#include "parts.hpp"

namespace mpt::c {

/// Throws where comm has no neighbours that exchange data.
coll::neighbours neighbours_of(call const& on, comm const& c);
void refuse_in_place(call const& on, void const* sendbuf, void const* recvbuf);

template <class Where> class neighbor_allgather_call {
    coll::neighbours near_;
    parts<Where> all_;
    moved_data layout_;
    source mine_;

public:
    neighbor_allgather_call(call const& on, comm const& c, void const* buffer, MPI_Count count, datatype_object const& t,
                            Where const& all)
        : near_{neighbours_of(on, c)}, all_{near_.sources.size(), all}, mine_{layout_.out(buffer, count, t.type)} {
        refuse_in_place(on, buffer, all.buffer);
        for (std::size_t i = 0; i < near_.sources.size(); ++i)
            if (near_.sources[i] != proc_null)
                require_apart(on, {buffer, 0, count, t.type}, all_.where(static_cast<std::int32_t>(i)));
    }
    template <class Team> void run(Team const& t) const { coll::neighbor_allgather(t, near_, mine_, all_); }
};

template <class Where> class neighbor_alltoall_call {
    coll::neighbours near_;
    parts<Where> mine_, all_;

public:
    neighbor_alltoall_call(call const& on, comm const& c, Where const& mine, Where const& all)
        : near_{neighbours_of(on, c)}, mine_{near_.destinations.size(), mine}, all_{near_.sources.size(), all} {
        refuse_in_place(on, mine.buffer, all.buffer);
        if constexpr (std::is_same_v<Where, typed>) require_types(on, mine, all);
        for (std::size_t i = 0; i < std::min(near_.sources.size(), near_.destinations.size()); ++i) {
            auto const r = static_cast<std::int32_t>(i);
            if (near_.sources[i] != proc_null && near_.destinations[i] != proc_null)
                require_apart(on, mine_.where(r), all_.where(r));
        }
    }
    template <class Team> void run(Team const& t) const { coll::neighbor_alltoall(t, near_, mine_, all_); }
};

} // namespace mpt::c
