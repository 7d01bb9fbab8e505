/// planned/of_neighbours - the collectives of a communicator with a topology (mpi/planned.hpp): all others, and those of neighbours.
#pragma once
#include <mpt/mpi/neighborhood.hpp>
#include <mpt/mpi/planned/on_ranges.hpp>

namespace mpt::inline v0::detail {

/// Those of neighbours, too.
template <class Team> class collectives_of_neighbours : public collectives_on_ranges<Team> {
    using base = collectives_on_ranges<Team>;
    topology const& shape_;

public:
    collectives_of_neighbours(Team const& t, topology const& shape, std::vector<std::shared_ptr<void>>& kept) noexcept
        : base{t, t.me(), t.size(), kept}, shape_{shape} {}

    template <standing T, receivable R> void neighbor_allgather(T&& mine, R&& all) const {
        std::span<std::byte const> const one = bytes_of(mine);
        std::span<std::byte> const pieces = room_of(all);
        must_be("neighbor_allgather", base::count(all), base::count(mine), sources());
        coll::neighbor_allgather(this->team(), near(), source{one}, coll::blocks{pieces, one.size()});
    }
    template <standing_data T, class Lists> void neighbor_allgatherv(T&& mine, Lists& all) const {
        must_be("neighbor_allgatherv", std::ranges::size(all), 1, sources());
        coll::neighbor_allgather(this->team(), near(), source{bytes_of(mine)}, base::rooms(all));
    }
    template <standing R, receivable I> void neighbor_alltoall(R&& mine, I&& all, std::size_t each) const {
        must_be("neighbor_alltoall", base::count(mine), each, destinations());
        must_be("neighbor_alltoall", base::count(all), each, sources());
        auto const size = each * sizeof(element_t<R>);
        coll::neighbor_alltoall(this->team(), near(), coll::const_blocks{bytes_of(mine), size},
                                coll::blocks{room_of(all), size});
    }
    template <class Out, class In> void neighbor_alltoallv(Out& mine, In& all) const {
        must_be("neighbor_alltoallv", std::ranges::size(mine), 1, destinations());
        must_be("neighbor_alltoallv", std::ranges::size(all), 1, sources());
        coll::neighbor_alltoall(this->team(), near(), base::lists(mine), base::rooms(all));
    }
    template <range_of_layouts Out, range_of_rooms In> void neighbor_alltoallw(Out& mine, In& all) const {
        must_be("neighbor_alltoallw", std::ranges::size(mine), 1, destinations());
        must_be("neighbor_alltoallw", std::ranges::size(all), 1, sources());
        coll::neighbor_alltoall(this->team(), near(), base::lists(mine), base::rooms(all));
    }

private:
    std::size_t sources() const noexcept { return shape_.sources().size(); }
    std::size_t destinations() const noexcept { return shape_.destinations().size(); }
    coll::neighbours near() const noexcept {
        return {shape_.sources(), shape_.destinations(), shape_.template as<cartesian>() != nullptr};
    }
    void must_be(char const* call, std::size_t have, std::size_t each, std::size_t neighbours) const {
        shape_.require_neighbours(call);
        if (have != each * neighbours) checks::bad_neighbours(call, have, each, neighbours);
    }
};

} // namespace mpt::inline v0::detail
