// Cartesian grids.
#include <mpt/mpi/cartesian.hpp>

#include <algorithm>
#include <compare>
#include <functional>
#include <numeric>

#include <fmt/format.h>

namespace mpt::inline v0 {

namespace {
using numbers = std::vector<std::int32_t>;

/// Prime factors, falling.
numbers primes_of(std::int32_t n) {
    numbers primes;
    for (std::int32_t p = 2; p <= n / p; ++p)
        for (; n % p == 0; n /= p) primes.push_back(p);
    if (n > 1) primes.push_back(n);
    std::ranges::reverse(primes);
    return primes;
}

/// Divisors beyond 1, rising.
numbers divisors_of(std::int32_t n) {
    numbers divisors;
    for (std::int32_t d = 1; d <= n / d; ++d) {
        if (n % d != 0) continue;
        if (d > 1) divisors.push_back(d);
        if (d != n / d) divisors.push_back(n / d);
    }
    std::ranges::sort(divisors);
    return divisors;
}

/// The greatest number whose k-th power is at most n; n, k >= 1.
std::int32_t root(std::int32_t n, std::size_t k) {
    auto const fits = [n, k](std::int32_t x) {
        std::int64_t left = n;
        for (std::size_t i = 0; i < k && left > 0 && x > 1; ++i) left /= x;
        return left > 0;
    };
    std::int32_t low = 1, high = n;
    while (low < high) {
        auto const middle = high - (high - low) / 2;
        if (fits(middle)) low = middle;
        else high = middle - 1;
    }
    return low;
}

/// Finds the `places` factors of n that are closest together. Factors that are 1 are not written down.
class closest_factors {
    struct grade {
        std::int32_t spread;
        std::int64_t sum;
        std::int32_t below; // the largest, negative: of equals the one without a small factor
        auto operator<=>(grade const&) const = default;
    };
    std::size_t places_;
    numbers divisors_;
    numbers best_, now_ = {}; // falling
    grade grade_;

    grade grade_of(numbers const& factors) const {
        bool const full = factors.size() == places_;
        auto const largest = factors.empty() ? 1 : factors.front();
        return {largest - (full ? factors.back() : 1),
                std::accumulate(factors.begin(), factors.end(), static_cast<std::int64_t>(places_ - factors.size())), -largest};
    }
    /// Prime after prime goes to the smallest factor so far.
    static numbers guess(std::int32_t n, std::size_t places) {
        numbers factors(std::min<std::size_t>(places, 31), 1); // no more are needed: 2^31 > n
        for (auto const p : primes_of(n)) *std::ranges::min_element(factors) *= p;
        std::ranges::sort(factors, std::greater{});
        factors.erase(std::ranges::find(factors, 1), factors.end());
        return factors;
    }
    /// Every way to go on with factors of `rest` that are at most `most`, as long as it can be as close as the best.
    void search(std::int32_t rest, std::int32_t most) {
        if (rest == 1) {
            if (auto const g = grade_of(now_); g < grade_) best_ = now_, grade_ = g;
            return;
        }
        if (now_.size() == places_) return;
        auto const smallest = root(rest, places_ - now_.size()); // the last factor is not above it
        for (auto d = std::ranges::lower_bound(divisors_, smallest); d != divisors_.end() && *d <= std::min(most, rest); ++d) {
            auto const largest = now_.empty() ? *d : now_.front();
            if (largest - smallest > grade_.spread) return;
            if (rest % *d != 0) continue;
            now_.push_back(*d);
            search(rest / *d, *d);
            now_.pop_back();
        }
    }

public:
    closest_factors(std::int32_t n, std::size_t places)
        : places_{places}, divisors_{divisors_of(n)}, best_{guess(n, places)}, grade_{grade_of(best_)} {
        search(n, n);
    }
    numbers const& operator*() const noexcept { return best_; }
};

[[noreturn]] void bad_dims(std::string const& what) { throw mpi_error{error_class::dims, what}; }

/// What of `nodes` is left for the free dimensions.
std::int32_t left_for(std::int32_t nodes, std::span<std::int32_t const> dims) {
    if (nodes < 1) bad_dims(fmt::format("mpt: dims create: a grid of {} nodes, at least 1 is needed", nodes));
    auto left = nodes;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] < 0) bad_dims(fmt::format("mpt: dims create: dimension {} is {}, which is negative", i, dims[i]));
        if (dims[i] == 0) continue;
        if (left % dims[i] != 0)
            bad_dims(fmt::format("mpt: dims create: {} nodes cannot be divided by the given dimensions, which are {}", nodes,
                                 fmt::join(dims, " x ")));
        left /= dims[i];
    }
    return left;
}

} // namespace

void dims_create(std::int32_t nodes, std::span<std::int32_t> dims) {
    auto const left = left_for(nodes, dims);
    auto const places = static_cast<std::size_t>(std::ranges::count(dims, 0));
    if (places == 0) {
        if (left != 1)
            bad_dims(fmt::format("mpt: dims create: the given dimensions make {} nodes, not {}", nodes / left, nodes));
        return;
    }
    closest_factors const found{left, places};
    auto next = (*found).begin();
    for (auto& d : dims)
        if (d == 0) d = next != (*found).end() ? *next++ : 1;
}

cartesian::cartesian(std::span<std::int32_t const> dims, std::span<std::int32_t const> periodic, std::int32_t available)
    : dims_{dims.begin(), dims.end()} {
    if (periodic.size() < dims.size())
        throw mpi_error{error_class::arg,
                        fmt::format("mpt: cart create: {} dimensions, but {} periods", dims.size(), periodic.size())};
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] < 1) bad_dims(fmt::format("mpt: cart create: dimension {} is {}, at least 1 is needed", i, dims[i]));
        if (dims[i] > available / size_)
            bad_dims(fmt::format("mpt: cart create: a grid of {} needs more than the {} processes there are",
                                 fmt::join(dims, " x "), available));
        size_ *= dims[i];
        periodic_.push_back(periodic[i] != 0);
    }
}

void cartesian::check_rank(char const* call, rank r) const {
    if (r < 0 || r >= size_)
        throw mpi_error{error_class::rank,
                        fmt::format("mpt: {}: rank {} is not in the grid, whose ranks are 0 to {}", call, r.value, size_ - 1)};
}

void cartesian::check_length(char const* call, std::size_t given) const {
    if (given < dims_.size())
        throw mpi_error{error_class::arg,
                        fmt::format("mpt: {}: room for {} dimensions, but the grid has {}", call, given, dims_.size())};
}

std::int32_t cartesian::stride(std::size_t dimension) const noexcept {
    return std::accumulate(dims_.begin() + static_cast<std::ptrdiff_t>(dimension) + 1, dims_.end(), 1, std::multiplies{});
}

rank cartesian::rank_of(std::span<std::int32_t const> coords) const {
    check_length("cart rank", coords.size());
    std::int32_t r = 0;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
        std::int64_t const n = dims_[i];
        bool const inside = coords[i] >= 0 && coords[i] < n;
        if (!inside && !periodic_[i])
            throw mpi_error{error_class::arg,
                            fmt::format("mpt: cart rank: coordinate {} is {}; the dimension is not periodic and ends at {}", i,
                                        coords[i], n - 1)};
        r = static_cast<std::int32_t>(r * n + (coords[i] % n + n) % n);
    }
    return r;
}

void cartesian::coords_of(rank r, std::span<std::int32_t> coords) const {
    check_rank("cart coords", r);
    check_length("cart coords", coords.size());
    for (auto i = dims_.size(); i-- > 0; r.value /= dims_[i]) coords[i] = r.value % dims_[i];
}

rank cartesian::moved(rank r, std::size_t dimension, std::int64_t distance) const {
    std::int64_t const n = dims_[dimension], by = stride(dimension);
    auto const here = r.value / by % n, there = here + distance;
    if (!periodic_[dimension] && (there < 0 || there >= n)) return proc_null;
    return r.value + ((there % n + n) % n - here) * by;
}

cartesian::ends cartesian::shift(rank r, std::int32_t dimension, std::int32_t distance) const {
    check_rank("cart shift", r);
    if (dimension < 0 || static_cast<std::size_t>(dimension) >= dims_.size())
        throw mpi_error{error_class::arg,
                        fmt::format("mpt: cart shift: there is no dimension {}, the grid has {}", dimension, dims_.size())};
    auto const d = static_cast<std::size_t>(dimension);
    return {moved(r, d, -std::int64_t{distance}), moved(r, d, distance)};
}

cartesian::part cartesian::part_of(rank r, std::span<std::int32_t const> remain) const {
    check_length("cart sub", remain.size());
    numbers coords(dims_.size());
    coords_of(r, coords);
    part p{0, 0};
    for (std::size_t i = 0; i < dims_.size(); ++i) {
        auto& number = remain[i] != 0 ? p.me.value : p.which;
        number = number * dims_[i] + coords[i];
    }
    return p;
}

cartesian cartesian::slice(std::span<std::int32_t const> remain) const {
    check_length("cart sub", remain.size());
    cartesian kept;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
        if (remain[i] == 0) continue;
        kept.dims_.push_back(dims_[i]);
        kept.periodic_.push_back(periodic_[i]);
        kept.size_ *= dims_[i];
    }
    return kept;
}

std::vector<rank> cartesian::neighbours(rank r) const {
    check_rank("cart neighbours", r);
    std::vector<rank> list;
    list.reserve(2 * dims_.size());
    for (std::size_t i = 0; i < dims_.size(); ++i)
        for (auto const distance : {-1, 1}) list.push_back(moved(r, i, distance));
    return list;
}

} // namespace mpt::inline v0
