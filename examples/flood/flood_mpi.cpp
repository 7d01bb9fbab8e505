// The program of flood.cpp once more, against mpi.h: the same result to the last bit.
//     mptrun -n 4 build/examples/flood/flood_mpi examples/flood/terrain.pgm flood.png
#include <array>
#include <mpi.h>

#include "page.hpp"
#include "picture.hpp"

namespace {

using flood::region, flood::task, flood::tally, flood::water;

class simulation {
    task task_;
    std::array<int, 2> dims_{}; // rows, columns
    MPI_Comm grid_;
    int rank_ = 0, size_ = 0;
    int north_ = 0, south_ = 0, west_ = 0, east_ = 0;
    region mine_;
    water part_;
    MPI_Datatype column_ = MPI_DATATYPE_NULL;
    std::array<MPI_Request, 8> borders_{};

    region share(int rank) const {
        std::array<int, 2> at{};
        MPI_Cart_coords(grid_, rank, 2, at.data());
        return flood::share_of(task_.width, task_.height, at[1], dims_[1], at[0], dims_[0]);
    }
    static MPI_Comm made_grid(std::array<int, 2>& dims) {
        std::array const periods{0, 0};
        MPI_Comm grid = MPI_COMM_NULL;
        int size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Dims_create(size, 2, dims.data());
        MPI_Cart_create(MPI_COMM_WORLD, 2, dims.data(), periods.data(), 0, &grid);
        return grid;
    }

    /// Counts and displacements of the ranks' parts, `frame` cells wider on each side, one after the other.
    std::pair<std::vector<int>, std::vector<int>> parts(int frame) const {
        std::vector<int> counts, displacements;
        for (int r = 0, at = 0; r < size_; at += counts.back(), ++r) {
            region const of = share(r);
            counts.push_back((of.width + 2 * frame) * (of.height + 2 * frame));
            displacements.push_back(at);
        }
        return {counts, displacements};
    }
    std::vector<double> ground(flood::terrain const& map) const {
        std::vector<double> all, own(static_cast<std::size_t>((mine_.width + 2) * (mine_.height + 2)));
        if (rank_ == 0)
            for (int r = 0; r < size_; ++r) {
                auto const cut = map.framed(share(r));
                all.insert(all.end(), cut.begin(), cut.end());
            }
        auto const [counts, displacements] = parts(1);
        MPI_Scatterv(all.data(), counts.data(), displacements.data(), MPI_DOUBLE, own.data(), static_cast<int>(own.size()),
                     MPI_DOUBLE, 0, grid_);
        return own;
    }

    /// The exchange is the same in every step: its requests are made once.
    void make_borders() {
        int const w = part_.width(), h = part_.height();
        MPI_Type_vector(h, 1, part_.stride(), MPI_DOUBLE, &column_);
        MPI_Type_commit(&column_);
        MPI_Send_init(&part_.at(1, 1), w, MPI_DOUBLE, north_, 0, grid_, &borders_[0]);
        MPI_Send_init(&part_.at(1, h), w, MPI_DOUBLE, south_, 0, grid_, &borders_[1]);
        MPI_Send_init(&part_.at(1, 1), 1, column_, west_, 0, grid_, &borders_[2]);
        MPI_Send_init(&part_.at(w, 1), 1, column_, east_, 0, grid_, &borders_[3]);
        MPI_Recv_init(&part_.at(1, 0), w, MPI_DOUBLE, north_, 0, grid_, &borders_[4]);
        MPI_Recv_init(&part_.at(1, h + 1), w, MPI_DOUBLE, south_, 0, grid_, &borders_[5]);
        MPI_Recv_init(&part_.at(0, 1), 1, column_, west_, 0, grid_, &borders_[6]);
        MPI_Recv_init(&part_.at(w + 1, 1), 1, column_, east_, 0, grid_, &borders_[7]);
    }
    void exchange() {
        MPI_Startall(8, borders_.data());
        MPI_Waitall(8, borders_.data(), MPI_STATUSES_IGNORE);
    }
    void find_neighbours() {
        MPI_Comm_rank(grid_, &rank_);
        MPI_Comm_size(grid_, &size_);
        MPI_Cart_shift(grid_, 0, 1, &north_, &south_);
        MPI_Cart_shift(grid_, 1, 1, &west_, &east_);
    }

public:
    simulation(task const& t, flood::terrain const& map) : task_{t}, grid_{made_grid(dims_)}, part_{0, 0, {}} {
        find_neighbours();
        mine_ = share(rank_);
        part_ = water{mine_.width, mine_.height, ground(map)};
        make_borders();
    }
    ~simulation() {
        for (auto& r : borders_) MPI_Request_free(&r);
        MPI_Type_free(&column_);
        MPI_Comm_free(&grid_);
    }
    simulation(simulation const&) = delete;
    simulation& operator=(simulation const&) = delete;

    int rows() const { return dims_[0]; }
    int columns() const { return dims_[1]; }

    tally run() {
        auto const& weather = task_.weather;
        flood::progress line;
        tally counted;
        double const start = flood::seconds();
        for (double time = 0; time < weather.end(); ++counted.steps) {
            double const begin = flood::seconds();
            exchange();
            double deepest = part_.deepest();
            MPI_Allreduce(MPI_IN_PLACE, &deepest, 1, MPI_DOUBLE, MPI_MAX, grid_);
            counted.communicating += flood::seconds() - begin;
            double const dt = weather.step(time, deepest);
            part_.step(dt, weather.rain(time));
            time += dt;
            if (rank_ == 0) line.show(weather, time, counted.steps, deepest);
        }
        counted.time = flood::seconds() - start;
        for (auto [neighbour, cells] :
             {std::pair{north_, mine_.width}, {south_, mine_.width}, {west_, mine_.height}, {east_, mine_.height}})
            if (neighbour != MPI_PROC_NULL) counted.count(counted.steps, cells);
        return counted;
    }

    std::vector<double> depths() const {
        auto const own = part_.depths();
        auto const [counts, displacements] = parts(0);
        std::size_t const cells = rank_ == 0 ? region{0, 0, task_.width, task_.height}.cells() : 0;
        std::vector<double> gathered(cells), all(cells);
        MPI_Gatherv(own.data(), static_cast<int>(own.size()), MPI_DOUBLE, gathered.data(), counts.data(), displacements.data(),
                    MPI_DOUBLE, 0, grid_);
        for (int r = 0; rank_ == 0 && r < size_; ++r)
            flood::paste(share(r), &gathered[static_cast<std::size_t>(displacements[static_cast<std::size_t>(r)])], all,
                         task_.width);
        return all;
    }
};

/// Ranks 0 and 1: half a round trip of a message, the best of several times in a row. Seconds; 0 for the others.
double one_way(int rank, int size, int bytes, int rounds) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (size < 2 || rank > 1) return 0;
    std::vector<char> data(static_cast<std::size_t>(bytes));
    return flood::best_of_ten(rounds, [&] {
        if (rank == 0) MPI_Send(data.data(), bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data.data(), bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(data.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    });
}

void simulate(int rank, int size, int argc, char** argv) {
    flood::options asked;
    flood::terrain map;
    task t;
    if (rank == 0) {
        asked = flood::options::parse(argc, argv);
        map = flood::read_terrain(asked.map);
        t = {map.width, map.height, asked.weather};
    }
    MPI_Bcast(&t, sizeof t, MPI_BYTE, 0, MPI_COMM_WORLD);

    simulation rain{t, map};
    auto counted = rain.run();
    counted.latency = one_way(rank, size, 8, 1000);
    counted.bandwidth = flood::per_second(1 << 20, one_way(rank, size, 1 << 20, 20));

    auto const depth = rain.depths();
    std::vector<tally> all(static_cast<std::size_t>(size));
    MPI_Gather(&counted, sizeof counted, MPI_BYTE, all.data(), sizeof counted, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    flood::write_picture(asked.picture, map, depth);
    flood::print_page(asked, map, depth, all, rain.rows(), rain.columns());
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    try {
        simulate(rank, size, argc, argv);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "flood: %s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
