/// mpi/collectives - what all ranks of a communicator do together: the part of a communicator_view that names no peer.
///
///        world.barrier();                                  auto sum = world.allreduce(x, std::plus{});
///        world.broadcast(values, 0);                       auto all = world.gather(x);             // at rank 0: one of each
///        auto mine = world.alltoallv(lists);               auto upto = world.scan(x);
///
///   A value or a contiguous range of trivially copyable elements goes in, of the same length on all ranks. The forms with v bring a
///   range of any length, and tell the lengths by themselves: one more small collective. What arrives comes back as a vector;
///   reductions of a range work in place.
///
///   An operation op(left, right) -> combined must be associative; it need not commute unless commutes_v<Op> says so, and gets
///   its operands in rank order.
///   Tests     test/mpi_collectives_test.cpp, test/mpi_collectives_random_test.cpp    Source MPI-4.1 chapter 6.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include <mpt/coll/allgather.hpp>
#include <mpt/coll/alltoall.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/gather.hpp>
#include <mpt/coll/reduce.hpp>
#include <mpt/coll/scan.hpp>
#include <mpt/coll/scatter.hpp>
#include <mpt/mpi/checks.hpp>
#include <mpt/mpi/operations.hpp>
#include <mpt/mpi/sendable.hpp>

namespace mpt::inline v0 {

namespace detail {
/// Room for n elements that becomes a vector, also of bool, whose vector is no array.
template <class T> class vector_room {
    std::vector<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>> v_;

public:
    explicit vector_room(std::size_t n) : v_(n) {}
    std::byte* data() noexcept { return reinterpret_cast<std::byte*>(v_.data()); }
    std::span<std::byte> bytes() noexcept { return std::as_writable_bytes(std::span{v_}); }
    std::vector<T> take() && {
        if constexpr (std::is_same_v<T, bool>) return {v_.begin(), v_.end()};
        else return std::move(v_);
    }
};

template <class T, class Op> coll::operand operand_of(Op& op) noexcept {
    return coll::operand::array(sizeof(T), commutes_v<Op, T>, std::addressof(op),
                                [](void* what, std::byte const* left, std::byte* right, std::size_t n) {
                                    std::span const both{right, n * sizeof(T)};
                                    combine<T>(std::span{left, n * sizeof(T)}, both, both, *static_cast<Op*>(what));
                                });
}

/// A range of ranges that can be sent: one for each rank.
template <class R>
concept range_of_ranges =
    std::ranges::random_access_range<R> && std::ranges::sized_range<R> && element_range<std::ranges::range_reference_t<R>>;
/// A range of layouts, of data to be sent and of rooms: one for each rank.
template <class R>
concept range_of_layouts =
    std::ranges::random_access_range<R> && std::ranges::sized_range<R> && laid_out<std::ranges::range_reference_t<R>>;
template <class R>
concept range_of_rooms =
    std::ranges::random_access_range<R> && std::ranges::sized_range<R> && laid_out_room<std::ranges::range_reference_t<R>>;
template <class R> using inner_t = std::ranges::range_value_t<std::ranges::range_reference_t<R>>;
} // namespace detail

template <class View, class Stack, class Errors> class collectives {
    template <class T> using as = typename Errors::template as<T>;
    template <class T> using lists = std::vector<std::vector<T>>;
    using length = std::uint64_t;

public:
    /// Returns when all ranks have called it. Section 6.3.
    as<void> barrier() const {
        return Errors::run([&] { coll::barrier(team()); });
    }
    /// The root's value (or range) to all. Section 6.4.
    template <receivable T> as<void> broadcast(T&& data, rank root = 0) const {
        return Errors::run([&] {
            checks::to("broadcast", root, ranks());
            std::span<std::byte> const bytes = detail::room_of(data);
            coll::broadcast(team(), bytes, root);
        });
    }

    // --- gather and scatter ---------------------------------------------------------------------------------------------------
    /// At the root every rank's elements, in rank order; elsewhere nothing. Section 6.5.
    template <sendable T> as<std::vector<element_t<T>>> gather(T const& mine, rank root = 0) const {
        return Errors::run([&] {
            checks::to("gather", root, ranks());
            std::span<std::byte const> const data = detail::bytes_of(mine);
            detail::vector_room<element_t<T>> all{at(root) ? count() * data.size() / sizeof(element_t<T>) : 0};
            coll::gather(team(), source{data}, coll::blocks{all.bytes(), data.size()}, root);
            return std::move(all).take();
        });
    }
    /// At the root every rank's range, of any length; elsewhere nothing.
    template <element_range R> as<lists<std::ranges::range_value_t<R>>> gatherv(R const& mine, rank root = 0) const {
        return Errors::run([&] {
            checks::to("gatherv", root, ranks());
            std::vector<length> lengths(at(root) ? count() : 0);
            length const own = std::ranges::size(mine);
            coll::gather(team(), source{&own, sizeof own}, blocks_of(lengths), root);
            auto all = lists_of<std::ranges::range_value_t<R>>(lengths);
            coll::gatherv(
                team(), source{detail::bytes_of(mine)}, [&](std::int32_t r) { return room(all, r); }, root);
            return all;
        });
    }
    /// all: at the root the elements for every rank, in rank order; not read elsewhere. Section 6.6.
    template <element_range R, receivable T> as<void> scatter(R const& all, T&& mine, rank root = 0) const {
        static_assert(std::is_same_v<std::ranges::range_value_t<R>, std::remove_cv_t<element_t<std::remove_reference_t<T>>>>,
                      "mpt: scatter: the elements are of one type");
        return Errors::run([&] {
            checks::to("scatter", root, ranks());
            std::span<std::byte> const into = detail::room_of(mine);
            std::span<std::byte const> const from = detail::bytes_of(all);
            if (at(root) && from.size() != into.size() * count())
                checks::bad_share("scatter", from.size(), into.size(), ranks());
            coll::scatter(team(), coll::const_blocks{from, into.size()}, sink{into}, root);
        });
    }
    /// all: at the root a range of any length for every rank; not read elsewhere.
    template <detail::range_of_ranges R> as<std::vector<detail::inner_t<R>>> scatterv(R const& all, rank root = 0) const {
        return Errors::run([&] {
            checks::to("scatterv", root, ranks());
            auto const lengths = at(root) ? lengths_of("scatterv", all) : std::vector<length>{};
            length own = 0;
            coll::scatter(team(), blocks_of(lengths), sink{&own, sizeof own}, root);
            std::vector<detail::inner_t<R>> mine(own);
            coll::scatterv(
                team(), [&](std::int32_t r) { return piece(all, r); }, sink{detail::room_of(mine)}, root);
            return mine;
        });
    }
    /// Every rank's elements, in rank order. Section 6.7.
    template <sendable T> as<std::vector<element_t<T>>> allgather(T const& mine) const {
        return Errors::run([&] { return allgathered(mine); });
    }
    /// Every rank's range, of any length.
    template <element_range R> as<lists<std::ranges::range_value_t<R>>> allgatherv(R const& mine) const {
        return Errors::run([&] {
            auto all = lists_of<std::ranges::range_value_t<R>>(allgathered(length{std::ranges::size(mine)}));
            coll::allgather(team(), source{detail::bytes_of(mine)}, [&](std::int32_t r) { return room(all, r); });
            return all;
        });
    }
    /// mine: for each rank as many elements, in rank order; what came from each, in the same order. Section 6.8.
    template <element_range R> as<std::vector<std::ranges::range_value_t<R>>> alltoall(R const& mine) const {
        return Errors::run([&] {
            auto const each = share("alltoall", std::ranges::size(mine)) * sizeof(std::ranges::range_value_t<R>);
            detail::vector_room<std::ranges::range_value_t<R>> all{std::ranges::size(mine)};
            coll::alltoall(team(), coll::const_blocks{detail::bytes_of(mine), each}, coll::blocks{all.bytes(), each});
            return std::move(all).take();
        });
    }
    /// mine: for each rank a range of any length; what came from each.
    template <detail::range_of_ranges R> as<lists<detail::inner_t<R>>> alltoallv(R const& mine) const {
        return Errors::run([&] {
            auto const out = lengths_of("alltoallv", mine);
            std::vector<length> in(count());
            coll::alltoall(team(), blocks_of(out), blocks_of(in));
            auto all = lists_of<detail::inner_t<R>>(in);
            coll::alltoallv(
                team(), [&](std::int32_t r) { return piece(mine, r); }, [&](std::int32_t r) { return room(all, r); });
            return all;
        });
    }

    /// mine: for each rank what it gets, laid out by any datatype; all: for each rank where what it brings goes, as large as what that rank
    /// has for this one.
    template <detail::range_of_layouts Out, detail::range_of_rooms In>
    as<void> alltoallw(Out const& mine, In const& all) const {
        return Errors::run([&] {
            for (auto const n : {std::ranges::size(mine), std::ranges::size(all)})
                if (n != count()) checks::bad_pieces("alltoallw", n, ranks());
            coll::alltoallv(
                team(), [&](std::int32_t r) { return piece(mine, r); },
                [&](std::int32_t r) { return detail::room_of(std::ranges::begin(all)[r]); });
        });
    }

    // --- reductions -----------------------------------------------------------------------------------------------------------
    /// Every rank's value combined, at the root; elsewhere nothing. Section 6.9.1.
    template <class T, class Op = std::plus<>>
        requires(element<T> && !std::ranges::range<T>)
    as<std::optional<T>> reduce(T const& mine, Op op = {}, rank root = 0) const {
        return Errors::run([&]() -> std::optional<T> {
            T all = mine;
            reduce_to_root(std::span{&all, 1}, op, root);
            return at(root) ? std::optional{all} : std::nullopt;
        });
    }
    /// Element by element; at the root in place, elsewhere the range is left as it is.
    template <element_range R, class Op = std::plus<>> as<void> reduce(R&& data, Op op = {}, rank root = 0) const {
        return Errors::run([&] { reduce_to_root(span_of(data), op, root); });
    }
    /// Every rank's value combined; all get it. Section 6.9.6.
    template <class T, class Op = std::plus<>>
        requires(element<T> && !std::ranges::range<T>)
    as<T> allreduce(T const& mine, Op op = {}) const {
        return Errors::run([&] {
            T all = mine;
            reduce_in_place(std::span{&all, 1}, op);
            return all;
        });
    }
    /// In place: the range holds this rank's elements before, the combination after.
    template <element_range R, class Op = std::plus<>> as<void> allreduce(R&& data, Op op = {}) const {
        return Errors::run([&] { reduce_in_place(span_of(data), op); });
    }
    /// The combination, of which rank r keeps the r-th of size() equal parts. Section 6.10.1.
    template <element_range R, class Op = std::plus<>>
    as<std::vector<std::ranges::range_value_t<R>>> reduce_scatter_block(R const& data, Op op = {}) const {
        return Errors::run([&] {
            auto const each = share("reduce_scatter_block", std::ranges::size(data));
            return reduced_part(data, op, each, [each](std::int32_t) { return each; });
        });
    }
    /// The combination, of which rank r keeps counts[r] elements. Section 6.10.2.
    template <element_range R, std::ranges::random_access_range Counts, class Op = std::plus<>>
    as<std::vector<std::ranges::range_value_t<R>>> reduce_scatter(R const& data, Counts const& counts, Op op = {}) const {
        return Errors::run([&] {
            if (std::ranges::size(counts) != count()) checks::bad_pieces("reduce_scatter", std::ranges::size(counts), ranks());
            auto const of = [&](std::int32_t r) { return static_cast<std::size_t>(std::ranges::begin(counts)[r]); };
            std::size_t sum = 0;
            for (std::int32_t r = 0; r < ranks(); ++r) sum += of(r);
            if (sum != std::ranges::size(data)) checks::bad_share("reduce_scatter", std::ranges::size(data), sum, 1);
            return reduced_part(data, op, of(self().rank()), of);
        });
    }
    /// The combination of the values of the ranks up to this one. Section 6.11.1.
    template <class T, class Op = std::plus<>>
        requires(element<T> && !std::ranges::range<T>)
    as<T> scan(T const& mine, Op op = {}) const {
        return Errors::run([&] {
            T sum = mine;
            coll::scan(team(), detail::operand_of<T>(op), nullptr, bytes(&sum), 1);
            return sum;
        });
    }
    /// In place.
    template <element_range R, class Op = std::plus<>> as<void> scan(R&& data, Op op = {}) const {
        return Errors::run([&] {
            auto const s = span_of(data);
            coll::scan(team(), detail::operand_of<typename decltype(s)::value_type>(op), nullptr, bytes(s.data()), s.size());
        });
    }
    /// The combination of the values of the ranks below this one; nothing at rank 0. Section 6.11.2.
    template <class T, class Op = std::plus<>>
        requires(element<T> && !std::ranges::range<T>)
    as<std::optional<T>> exscan(T const& mine, Op op = {}) const {
        return Errors::run([&]() -> std::optional<T> {
            T sum = mine;
            coll::exscan(team(), detail::operand_of<T>(op), nullptr, bytes(&sum), 1);
            return self().rank() == 0 ? std::nullopt : std::optional{sum};
        });
    }
    /// In place; at rank 0 the range is left as it is.
    template <element_range R, class Op = std::plus<>> as<void> exscan(R&& data, Op op = {}) const {
        return Errors::run([&] {
            auto const s = span_of(data);
            coll::exscan(team(), detail::operand_of<typename decltype(s)::value_type>(op), nullptr, bytes(s.data()), s.size());
        });
    }

protected:
    coll::team<Stack> team() const noexcept {
        auto const& s = self().native();
        return {s.wire, s.who, s.me, s.rooted_calls, &s.shared};
    }
    template <class T> std::vector<element_t<T>> allgathered(T const& mine) const {
        std::span<std::byte const> const data = detail::bytes_of(mine);
        detail::vector_room<element_t<T>> all{count() * data.size() / sizeof(element_t<T>)};
        coll::allgather(team(), source{data}, coll::blocks{all.bytes(), data.size()});
        return std::move(all).take();
    }

private:
    View const& self() const noexcept { return static_cast<View const&>(*this); }
    std::int32_t ranks() const noexcept { return self().size(); }
    std::size_t count() const noexcept { return static_cast<std::size_t>(ranks()); }
    bool at(rank root) const noexcept { return self().rank() == root; }
    std::size_t share(char const* call, std::size_t n) const {
        if (n % count() != 0) checks::bad_share(call, n, n / count(), ranks());
        return n / count();
    }

    template <class T> static std::byte* bytes(T* data) noexcept { return reinterpret_cast<std::byte*>(data); }
    template <class R> static auto span_of(R& data) noexcept {
        return std::span{std::ranges::data(data), std::ranges::size(data)};
    }
    static coll::blocks blocks_of(std::vector<length>& v) noexcept {
        return {std::as_writable_bytes(std::span{v}), sizeof(length)};
    }
    static coll::const_blocks blocks_of(std::vector<length> const& v) noexcept {
        return {std::as_bytes(std::span{v}), sizeof(length)};
    }
    template <class T> static coll::place room(lists<T>& all, std::int32_t r) noexcept {
        return {detail::room_of(all[static_cast<std::size_t>(r)])};
    }
    template <class R> static source piece(R const& all, std::int32_t r) noexcept {
        return {detail::bytes_of(std::ranges::begin(all)[r])};
    }
    template <class R> std::vector<length> lengths_of(char const* call, R const& all) const {
        if (std::ranges::size(all) != count()) checks::bad_pieces(call, std::ranges::size(all), ranks());
        std::vector<length> n;
        for (auto const& one : all) n.push_back(std::ranges::size(one));
        return n;
    }
    template <class T> static lists<T> lists_of(std::vector<length> const& lengths) {
        lists<T> all;
        for (auto const n : lengths) all.emplace_back(n);
        return all;
    }

    template <class T, class Op> void reduce_in_place(std::span<T> data, Op& op) const {
        coll::allreduce(team(), detail::operand_of<T>(op), nullptr, bytes(data.data()), data.size());
    }
    template <class T, class Op> void reduce_to_root(std::span<T> data, Op& op, rank root) const {
        checks::to("reduce", root, ranks());
        auto* const all = bytes(data.data());
        coll::reduce(team(), detail::operand_of<T>(op), all, at(root) ? all : nullptr, data.size(), root);
    }
    template <class R, class Op>
    auto reduced_part(R const& data, Op& op, std::size_t own, coll::by_rank<std::size_t> counts) const {
        using T = std::ranges::range_value_t<R>;
        detail::vector_room<T> part{own};
        coll::reduce_scatter(team(), detail::operand_of<T>(op), std::as_bytes(span_of(data)).data(), part.data(), counts);
        return std::move(part).take();
    }
};

} // namespace mpt::inline v0
