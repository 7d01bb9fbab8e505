/// planned/on_ranges - every collective in the form without results: on memory of the caller, which mpi/planned.hpp writes down or does.
///
///   A team of one side, or of both sides of an intercommunicator, is a template argument: one class for all.
///   What a schedule needs as long as it lives (operations, parts of layouts) goes into `kept`.
#pragma once
#include <mpt/mpi/intercommunicator.hpp>
#include <mpt/mpi/typed_operation.hpp>

namespace mpt::inline v0 {

namespace detail {

/// Packed bytes of a layout.
template <class Cursor> struct cut_of {
    Cursor whole;
    std::size_t first, length;

    std::size_t size() const noexcept { return length; }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept
        requires byte_source<Cursor>
    {
        whole.read(first + offset, into);
    }
    void write(std::size_t offset, std::span<std::byte const> from) const noexcept
        requires byte_sink<Cursor>
    {
        whole.write(first + offset, from);
    }
    auto contiguous() const noexcept {
        auto bytes = whole.contiguous();
        if (bytes) bytes = bytes->subspan(first, length);
        return bytes;
    }
};

/// The collectives of a team, or of both sides of an intercommunicator, on ranges.
template <class All> class collectives_on_ranges {
    static constexpr bool one_side = coll::team_type<All>;
    All const& all_;
    rank me_;
    std::int32_t pieces_; // of the others, or of the other side
    std::vector<std::shared_ptr<void>>& kept_;

public:
    collectives_on_ranges(All const& all, rank me, std::int32_t pieces, std::vector<std::shared_ptr<void>>& kept) noexcept
        : all_{all}, me_{me}, pieces_{pieces}, kept_{kept} {}

    void barrier() const { coll::barrier(all_); }
    template <receivable T> void broadcast(T&& data, rank root) const {
        check("broadcast", root);
        std::span<std::byte> const bytes = room_of(data);
        coll::broadcast(all_, coll::place{bytes}, root);
    }
    /// The memory that `in` writes is the one that `out` reads.
    template <laid_out Out, laid_out_room In> void broadcast(Out& out, In& in, rank root) const {
        check("broadcast", root);
        same("broadcast", source{bytes_of(out)}.size(), sink{room_of(in)}.size());
        coll::broadcast(all_, coll::place{bytes_of(out), room_of(in)}, root);
    }
    /// all counts at the root only, here and below.
    template <standing T, receivable R> void gather(T&& mine, R&& all, rank root) const {
        auto const [one, pieces] = shares<T>("gather", root, bytes_of(mine), room_of(all));
        coll::gather(all_, source{one}, coll::blocks{pieces, one.size()}, root);
    }
    /// Layouts in equal pieces: that of all is cut where the packed bytes of one piece end.
    template <standing_data T, standing_room R>
        requires(laid_out<T> || laid_out_room<R>)
    void gather(T&& mine, R&& all, rank root) const {
        source const one{bytes_of(mine)};
        sink const pieces{room_of(all)};
        check("gather", root);
        if (at(root)) share("gather", pieces.size(), one.size());
        coll::gather(all_, one, cut(pieces), root);
    }
    template <standing_data T, class Lists> void gatherv(T&& mine, Lists& all, rank root) const {
        check("gatherv", root);
        if (at(root)) fits("gatherv", all);
        coll::gatherv(all_, source{bytes_of(mine)}, rooms(all), root);
    }
    template <standing R, receivable T> void scatter(R&& all, T&& mine, rank root) const {
        auto const [one, pieces] = shares<T>("scatter", root, room_of(mine), bytes_of(all));
        coll::scatter(all_, coll::const_blocks{pieces, one.size()}, sink{one}, root);
    }
    template <standing_data R, standing_room T>
        requires(laid_out<R> || laid_out_room<T>)
    void scatter(R&& all, T&& mine, rank root) const {
        sink const one{room_of(mine)};
        source const pieces{bytes_of(all)};
        check("scatter", root);
        if (at(root)) share("scatter", pieces.size(), one.size());
        coll::scatter(all_, cut(pieces), one, root);
    }
    /// The root's part of gather() and its like where its own piece is in its place already; the others call gather(), as ever.
    template <standing_room R>
        requires one_side
    void gather_in_place(R&& all) const {
        sink const pieces{room_of(all)};
        share("gather_in_place", pieces.size(), pieces.size() / static_cast<std::size_t>(pieces_));
        coll::gather(all_, coll::in_place, cut(pieces), me_);
    }
    template <class Lists>
        requires one_side
    void gatherv_in_place(Lists& all) const {
        fits("gatherv_in_place", all);
        coll::gatherv(all_, coll::in_place, rooms(all), me_);
    }
    /// The same of scatter(): the root's piece stays in its place.
    template <standing_data R>
        requires one_side
    void scatter_in_place(R&& all) const {
        source const pieces{bytes_of(all)};
        share("scatter_in_place", pieces.size(), pieces.size() / static_cast<std::size_t>(pieces_));
        coll::scatter(all_, cut(pieces), coll::in_place, me_);
    }
    template <class Lists>
        requires one_side
    void scatterv_in_place(Lists& all) const {
        fits("scatterv_in_place", all);
        coll::scatterv(all_, lists(all), coll::in_place, me_);
    }
    template <class Lists, standing_room T> void scatterv(Lists& all, T&& mine, rank root) const {
        check("scatterv", root);
        if (at(root)) fits("scatterv", all);
        coll::scatterv(all_, lists(all), sink{room_of(mine)}, root);
    }
    template <standing T, receivable R> void allgather(T&& mine, R&& all) const {
        std::span<std::byte const> const one = bytes_of(mine);
        std::span<std::byte> const pieces = room_of(all);
        share("allgather", count(all), count(mine));
        coll::allgather(all_, source{one}, coll::blocks{pieces, one.size()});
    }
    /// All pieces as they are read and as they are written.
    template <standing_data T, laid_out Out, laid_out_room In> void allgather(T&& mine, Out& out, In& in) const {
        source const one{bytes_of(mine)}, read{bytes_of(out)};
        sink const write{room_of(in)};
        share("allgather", read.size(), one.size()), share("allgather", write.size(), one.size());
        coll::allgather(all_, one, places_of(read, write));
    }
    /// In place: this rank's piece is there already.
    template <receivable R>
        requires one_side
    void allgather_in_place(R&& all) const {
        auto const each = count(all) / static_cast<std::size_t>(pieces_);
        share("allgather_in_place", count(all), each);
        coll::allgather(all_, coll::in_place, coll::blocks{room_of(all), each * sizeof(element_t<R>)});
    }
    template <standing T, class Lists> void allgatherv(T&& mine, Lists& all) const {
        fits("allgatherv", all);
        coll::allgather(all_, source{bytes_of(mine)}, [&](std::int32_t r) { return coll::place{room_at(all, r)}; });
    }
    /// Each piece as it is read and as it is written.
    template <standing_data T, range_of_layouts Out, range_of_rooms In> void allgatherv(T&& mine, Out& out, In& in) const {
        fits("allgatherv", out), fits("allgatherv", in);
        coll::allgather(all_, source{bytes_of(mine)}, places(out, in));
    }
    template <standing R, receivable I> void alltoall(R&& mine, I&& all) const {
        std::span<std::byte const> const out = bytes_of(mine);
        std::span<std::byte> const in = room_of(all);
        auto const each = count(mine) / static_cast<std::size_t>(pieces_), size = each * sizeof(element_t<R>);
        share("alltoall", count(mine), each), share("alltoall", count(all), each);
        coll::alltoall(all_, coll::const_blocks{out, size}, coll::blocks{in, size});
    }
    template <standing_data R, standing_room I>
        requires(laid_out<R> || laid_out_room<I>)
    void alltoall(R&& mine, I&& all) const {
        source const out{bytes_of(mine)};
        sink const in{room_of(all)};
        auto const each = out.size() / static_cast<std::size_t>(pieces_);
        share("alltoall", out.size(), each), share("alltoall", in.size(), each);
        coll::alltoall(all_, cut(out), cut(in));
    }
    template <class Out, class In> void alltoallv(Out& mine, In& all) const {
        fits("alltoallv", mine), fits("alltoallv", all);
        coll::alltoallv(all_, lists(mine), rooms(all));
    }
    template <range_of_layouts Out, range_of_rooms In> void alltoallw(Out& mine, In& all) const {
        fits("alltoallw", mine), fits("alltoallw", all);
        coll::alltoallv(all_, lists(mine), rooms(all));
    }
    /// In place: what comes from a rank takes the place of what it gets, and is as long.
    template <receivable R>
        requires one_side
    void alltoall_in_place(R&& all) const {
        auto const each = count(all) / static_cast<std::size_t>(pieces_);
        share("alltoall_in_place", count(all), each);
        coll::alltoall_in_place(all_, coll::blocks{room_of(all), each * sizeof(element_t<R>)});
    }
    template <laid_out Out, laid_out_room In>
        requires one_side
    void alltoall_in_place(Out& out, In& in) const {
        source const read{bytes_of(out)};
        sink const write{room_of(in)};
        auto const each = read.size() / static_cast<std::size_t>(pieces_);
        share("alltoall_in_place", read.size(), each), share("alltoall_in_place", write.size(), each);
        coll::alltoall_in_place(all_, places_of(read, write));
    }
    template <class Lists>
        requires one_side
    void alltoallv_in_place(Lists& all) const {
        fits("alltoallv_in_place", all);
        coll::alltoall_in_place(all_, [&](std::int32_t r) { return coll::place{room_at(all, r)}; });
    }
    template <range_of_layouts Out, range_of_rooms In>
        requires one_side
    void alltoallw_in_place(Out& out, In& in) const {
        fits("alltoallw_in_place", out), fits("alltoallw_in_place", in);
        coll::alltoall_in_place(all_, places(out, in));
    }

    // --- reductions, element by element -------------------------------------------------------------------------------------------
    /// In place at the root, or into the root's range from the other side; elsewhere the range is left as it is.
    template <receivable R, class Op = std::plus<>> void reduce(R&& data, Op op, rank root) const {
        check("reduce", root);
        auto* const d = room_of(data).data();
        coll::reduce(all_, operand<R>(op), d, at(root) ? d : nullptr, count(data), root);
    }
    /// In place.
    template <receivable R, class Op = std::plus<>>
        requires one_side
    void allreduce(R&& data, Op op = {}) const {
        coll::allreduce(all_, operand<R>(op), nullptr, room_of(data).data(), count(data));
    }
    template <standing R, receivable I, class Op = std::plus<>> void allreduce(R&& mine, I&& all, Op op = {}) const {
        same("allreduce", count(mine), count(all));
        coll::allreduce(all_, operand<R>(op), bytes_of(mine).data(), room_of(all).data(), count(mine));
    }
    /// In place.
    template <receivable R, class Op = std::plus<>>
        requires one_side
    void scan(R&& data, Op op = {}) const {
        coll::scan(all_, operand<R>(op), nullptr, room_of(data).data(), count(data));
    }
    /// In place; at rank 0 the range is left as it is.
    template <receivable R, class Op = std::plus<>>
        requires one_side
    void exscan(R&& data, Op op = {}) const {
        coll::exscan(all_, operand<R>(op), nullptr, room_of(data).data(), count(data));
    }
    /// part: for as many elements as counts has at this rank's place; the counts are of this side's ranks.
    template <standing R, receivable I, std::ranges::random_access_range Counts, class Op = std::plus<>>
    void reduce_scatter(R&& mine, I&& part, Counts const& counts, Op op = {}) const {
        auto const of = [&](std::int32_t r) { return static_cast<std::size_t>(std::ranges::begin(counts)[r]); };
        std::size_t sum = 0;
        for (std::int32_t r = 0; r < ours(); ++r) sum += of(r);
        same("reduce_scatter", count(mine), sum), same("reduce_scatter", count(part), of(me_));
        coll::reduce_scatter(all_, operand<R>(op), bytes_of(mine).data(), room_of(part).data(), of);
    }
    template <standing R, receivable I, class Op = std::plus<>>
    void reduce_scatter_block(R&& mine, I&& part, Op op = {}) const {
        auto const each = count(part);
        same("reduce_scatter_block", count(mine), each * static_cast<std::size_t>(ours()));
        coll::reduce_scatter_block(all_, operand<R>(op), bytes_of(mine).data(), room_of(part).data(), each);
    }

    // --- reductions of n elements of any datatype, from an address on (mpi/typed_operation.hpp) ----------------------------------------
    /// all counts at the root only.
    void reduce(void const* mine, void* all, std::int64_t n, typed_operation const& op, rank root) const {
        check("reduce", root);
        auto const& o = keep(op);
        coll::reduce(all_, o, o.origin(mine), at(root) ? o.origin(all) : nullptr, o.count(n), root);
    }
    void allreduce(void const* mine, void* all, std::int64_t n, typed_operation const& op) const {
        auto const& o = keep(op);
        coll::allreduce(all_, o, o.origin(mine), o.origin(all), o.count(n));
    }
    /// At rank 0 `sums` is left as it is by exscan.
    void scan(void const* mine, void* sums, std::int64_t n, typed_operation const& op) const
        requires one_side
    {
        auto const& o = keep(op);
        coll::scan(all_, o, o.origin(mine), o.origin(sums), o.count(n));
    }
    void exscan(void const* mine, void* sums, std::int64_t n, typed_operation const& op) const
        requires one_side
    {
        auto const& o = keep(op);
        coll::exscan(all_, o, o.origin(mine), o.origin(sums), o.count(n));
    }
    /// part: for as many elements as counts has at this rank's place; the counts are of this side's ranks.
    template <std::ranges::random_access_range Counts>
    void reduce_scatter(void const* mine, void* part, Counts const& counts, typed_operation const& op) const {
        auto const& o = keep(op);
        if (std::ssize(counts) != ours()) checks::bad_pieces("reduce_scatter", std::size(counts), ours());
        coll::reduce_scatter(all_, o, o.origin(mine), o.origin(part), counted(o, counts));
    }
    void reduce_scatter_block(void const* mine, void* part, std::int64_t each, typed_operation const& op) const {
        auto const& o = keep(op);
        coll::reduce_scatter_block(all_, o, o.origin(mine), o.origin(part), o.count(each));
    }
    /// In place: data are what is brought, and then what comes out; elsewhere than at the root they are left as they are.
    void reduce(void* data, std::int64_t n, typed_operation const& op, rank root) const { reduce(data, data, n, op, root); }
    void allreduce(void* data, std::int64_t n, typed_operation const& op) const
        requires one_side
    {
        auto const& o = keep(op);
        coll::allreduce(all_, o, nullptr, o.origin(data), o.count(n));
    }
    void scan(void* data, std::int64_t n, typed_operation const& op) const
        requires one_side
    {
        auto const& o = keep(op);
        coll::scan(all_, o, nullptr, o.origin(data), o.count(n));
    }
    void exscan(void* data, std::int64_t n, typed_operation const& op) const
        requires one_side
    {
        auto const& o = keep(op);
        coll::exscan(all_, o, nullptr, o.origin(data), o.count(n));
    }
    /// This rank's part comes to the beginning of the data.
    template <std::ranges::random_access_range Counts>
        requires one_side
    void reduce_scatter(void* data, Counts const& counts, typed_operation const& op) const {
        auto const& o = keep(op);
        if (std::ssize(counts) != ours()) checks::bad_pieces("reduce_scatter", std::size(counts), ours());
        coll::reduce_scatter(all_, o, nullptr, o.origin(data), counted(o, counts));
    }
    void reduce_scatter_block(void* data, std::int64_t each, typed_operation const& op) const
        requires one_side
    {
        auto const& o = keep(op);
        coll::reduce_scatter_block(all_, o, nullptr, o.origin(data), o.count(each));
    }

protected:
    All const& team() const noexcept { return all_; }
    template <class R> static std::size_t count(R const& data) noexcept { return bytes_of(data).size() / sizeof(element_t<R>); }
    template <class Lists> static auto room_at(Lists& all, std::int32_t r) { return room_of(std::ranges::begin(all)[r]); }
    template <class Lists> static auto rooms(Lists& all) {
        return [&all](std::int32_t r) { return sink{room_at(all, r)}; };
    }
    template <class Out, class In> static auto places(Out& out, In& in) {
        return [&out, &in](std::int32_t r) {
            return coll::place{bytes_of(std::ranges::begin(out)[r]), room_of(std::ranges::begin(in)[r])};
        };
    }
    template <class Lists> static auto lists(Lists& all) {
        return [&all](std::int32_t r) { return source{bytes_of(std::ranges::begin(all)[r])}; };
    }

private:
    std::int32_t ours() const noexcept {
        if constexpr (one_side) return pieces_;
        else return all_.here().size();
    }
    bool at(rank root) const noexcept { return root == (one_side ? me_ : rank{root_here}); }
    void check(char const* call, rank root) const {
        if (one_side || (root != root_here && root != root_beside)) checks::to(call, root, pieces_);
    }
    void share(char const* call, std::size_t all, std::size_t one) const {
        if (all != one * static_cast<std::size_t>(pieces_)) checks::bad_share(call, all, one, pieces_);
    }
    static void same(char const* call, std::size_t one, std::size_t other) {
        if (one != other) checks::bad_share(call, one, other, 1);
    }
    template <class Lists> void fits(char const* call, Lists const& all) const {
        auto const n = static_cast<std::size_t>(std::ranges::size(all));
        if (n != static_cast<std::size_t>(pieces_)) checks::bad_pieces(call, n, pieces_);
    }
    /// What one rank has, and the root has for all.
    template <class T, class One, class Pieces> auto shares(char const* call, rank root, One one, Pieces pieces) const {
        constexpr auto size = sizeof(element_t<T>);
        check(call, root);
        if (at(root)) share(call, pieces.size() / size, one.size() / size);
        return std::pair{std::span<typename One::element_type>{one}, std::span<typename Pieces::element_type>{pieces}};
    }
    /// A piece for each rank, equal parts of a layout.
    template <class Cursor> auto cut(Cursor const& whole) const {
        auto const each = whole.size() / static_cast<std::size_t>(pieces_);
        auto own = std::make_shared<std::vector<cut_of<Cursor>>>();
        for (std::size_t r = 0; r < static_cast<std::size_t>(pieces_); ++r) own->push_back({whole, r * each, each});
        auto* const parts = own->data();
        kept_.push_back(std::move(own));
        return [parts](std::int32_t r) { return Cursor::of(parts[r]); };
    }
    auto places_of(source const& read, sink const& write) const {
        return [out = cut(read), in = cut(write)](std::int32_t r) { return coll::place{out(r), in(r)}; };
    }
    typed_operation const& keep(typed_operation const& op) const {
        auto own = std::make_shared<typed_operation>(op);
        auto const& kept = *own;
        kept_.push_back(std::move(own));
        return kept;
    }
    template <class Counts> static auto counted(typed_operation const& op, Counts const& counts) {
        return [&](std::int32_t r) { return op.count(static_cast<std::int64_t>(std::ranges::begin(counts)[r])); };
    }
    template <class R, class Op> coll::operand operand(Op const& op) const {
        auto own = std::make_shared<Op>(op);
        auto& kept = *own;
        kept_.push_back(std::move(own));
        return operand_of<element_t<R>>(kept);
    }
};

} // namespace detail

} // namespace mpt::inline v0
