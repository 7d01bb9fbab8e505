/// flood - rain on real terrain, on any number of ranks: the program against mpt's C++ headers. flood_mpi.cpp is the same against mpi.h.
///
///   The ranks form a grid and share out the map. Every step each tells its neighbours the depths along their common border,
///   and all agree on the deepest water, from which the length of the step follows.
#pragma once
#include <array>
#include <utility>
#include <vector>

#include <mpt/mpi/cartesian.hpp>
#include <mpt/mpt.hpp>

#include "page.hpp"

namespace flood {

/// The ranks as a grid. Where it ends at the edge of the map, the neighbour is nobody: proc_null.
class layout {
    std::array<std::int32_t, 2> dims_{}; // rows, columns
    mpt::cartesian grid_;

public:
    explicit layout(std::int32_t ranks) {
        mpt::dims_create(ranks, dims_);
        grid_ = {dims_, std::array{0, 0}, ranks};
    }
    int rows() const { return dims_[0]; }
    int columns() const { return dims_[1]; }
    auto vertical(mpt::rank r) const { return grid_.shift(r, 0, 1); }
    auto horizontal(mpt::rank r) const { return grid_.shift(r, 1, 1); }
    region share(task const& t, mpt::rank r) const {
        std::array<std::int32_t, 2> at{};
        grid_.coords_of(r, at);
        return share_of(t.width, t.height, at[1], columns(), at[0], rows());
    }
};

template <class Communicator> class simulation {
    Communicator world_;
    task task_;
    layout ranks_{world_.size()};
    mpt::rank north_ = ranks_.vertical(world_.rank()).source, south_ = ranks_.vertical(world_.rank()).destination;
    mpt::rank west_ = ranks_.horizontal(world_.rank()).source, east_ = ranks_.horizontal(world_.rank()).destination;
    region mine_ = ranks_.share(task_, world_.rank());
    water part_;

    /// Rank 0 cuts the map; the parts may be of any length.
    std::vector<double> ground(terrain const& map) {
        std::vector<std::vector<double>> parts;
        if (world_.rank() == 0)
            for (int r = 0; r < world_.size(); ++r) parts.push_back(map.framed(ranks_.share(task_, mpt::rank{r})));
        return world_.scatterv(parts);
    }

    /// Our outermost cells become the neighbours' ghosts, and theirs become ours. A send ends where its request's scope ends.
    void exchange() {
        auto const up = world_.isend(part_.row(1), north_), down = world_.isend(part_.row(part_.height()), south_);
        auto const left = world_.isend(part_.column(1), west_), right = world_.isend(part_.column(part_.width()), east_);
        world_.recv(part_.row(0), north_);
        world_.recv(part_.row(part_.height() + 1), south_);
        part_.column(0, world_.template recv<std::vector<double>>(west_));
        part_.column(part_.width() + 1, world_.template recv<std::vector<double>>(east_));
    }

public:
    /// map: at rank 0; not read elsewhere.
    simulation(Communicator world, task const& t, terrain const& map)
        : world_{world}, task_{t}, part_{mine_.width, mine_.height, ground(map)} {}

    layout const& ranks() const { return ranks_; }

    tally run() {
        auto const& weather = task_.weather;
        progress line;
        tally counted;
        double const start = seconds();
        for (double time = 0; time < weather.end(); ++counted.steps) {
            double const begin = seconds();
            exchange();
            double const deepest = world_.allreduce(part_.deepest(), mpt::max);
            counted.communicating += seconds() - begin;
            double const dt = weather.step(time, deepest);
            part_.step(dt, weather.rain(time));
            time += dt;
            if (world_.rank() == 0) line.show(weather, time, counted.steps, deepest);
        }
        counted.time = seconds() - start;
        for (auto [neighbour, cells] :
             {std::pair{north_, mine_.width}, {south_, mine_.width}, {west_, mine_.height}, {east_, mine_.height}})
            if (neighbour != mpt::proc_null) counted.count(counted.steps, cells);
        return counted;
    }

    /// All depths in the order of the map, at rank 0; elsewhere nothing.
    std::vector<double> depths() {
        auto const parts = world_.gatherv(part_.depths());
        std::vector<double> all(world_.rank() == 0 ? region{0, 0, task_.width, task_.height}.cells() : 0);
        for (std::size_t r = 0; r < parts.size(); ++r)
            paste(ranks_.share(task_, mpt::rank{r}), parts[r].data(), all, task_.width);
        return all;
    }
};

/// Ranks 0 and 1: half a round trip of a message, the best of several times in a row. Seconds; 0 for the others.
template <class Communicator> double one_way(Communicator world, std::size_t bytes, int rounds) {
    world.barrier();
    if (world.size() < 2 || world.rank() > 1) return 0;
    std::vector<char> data(bytes);
    mpt::rank const other{1 - world.rank()};
    return best_of_ten(rounds, [&] {
        if (world.rank() == 0) world.send(data, other);
        world.recv(data, other);
        if (world.rank() == 1) world.send(data, other);
    });
}

} // namespace flood
