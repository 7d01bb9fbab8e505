/// mpi/planned - collectives that are written down once, on memory of the caller, and done whenever it suits, again and again.
///
///        auto step = mpt::planned(world, [&](auto const& all) {           nothing is sent yet
///            all.allreduce(std::span{residual}, mpt::max);
///            all.broadcast(parameters, 0);                                several in a row: one after the other
///        });
///        for (...) { step.start(); work(); step.wait(); }
///
///        auto lists = mpt::begun(world, [&](auto const& all) { all.alltoallv(leaving, coming); });    ...   lists.wait();
///        mpt::done(world, [&](auto const& all) { all.broadcast(read_column, write_column, 0); });                       here and now
///
///   The function gets every collective in the form without results: what goes in and what comes out are ranges of the caller's, which
///   must stay where they are, as long as they are when it is written down. With v: a range of ranges, one for each rank; nothing tells
///   lengths. With w: a range of layouts (datatype/typed.hpp), which all others with v take too. A piece that is read and written is two
///   layouts of the same memory: a source and a sink. In place: no piece is of the same memory as another one. On an intercommunicator pieces are the other side's, on a communicator with a topology there are those of neighbours
///   too. All ranks write the same down, in the same order among the collectives that do not block.
///
///   Cost      as the collective itself; what its algorithm keeps is made once.
///   Limit     pieces of one element type; operations are copied. One run at a time. A plan waits when it is destroyed, and is withdrawn where
///             an exception unwinds past it. The communicator outlives it.
///   Tests     test/mpi_planned_test.cpp    Source MPI-4.1 sections 6.12, 6.13, 8.7 and 8.8
#pragma once
#include <mpt/mpi/intercommunicator.hpp>
#include <mpt/mpi/neighborhood.hpp>

namespace mpt::inline v0 {

/// Data that are there as long as a plan: an lvalue, or a view of elements.
template <class T>
concept standing = sendable<T> && (std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<T>);
/// The same, or a layout of such.
template <class T>
concept standing_data = standing<T> || (laid_out<T> && std::is_lvalue_reference_v<T>);
template <class T>
concept standing_room = receivable<T> || (laid_out_room<T> && std::is_lvalue_reference_v<T>);

namespace detail {

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
    template <standing_data T, class Lists> void gatherv(T&& mine, Lists& all, rank root) const {
        check("gatherv", root);
        if (at(root)) fits("gatherv", all);
        coll::gatherv(all_, source{bytes_of(mine)}, rooms(all), root);
    }
    template <standing R, receivable T> void scatter(R&& all, T&& mine, rank root) const {
        auto const [one, pieces] = shares<T>("scatter", root, room_of(mine), bytes_of(all));
        coll::scatter(all_, coll::const_blocks{pieces, one.size()}, sink{one}, root);
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
    template <class R, class Op> coll::operand operand(Op const& op) const {
        auto own = std::make_shared<Op>(op);
        auto& kept = *own;
        kept_.push_back(std::move(own));
        return operand_of<element_t<R>>(kept);
    }
};

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

} // namespace detail

/// Collectives that were written down.
template <class Stack> class [[nodiscard]] planned_collectives {
    struct work {
        std::vector<std::shared_ptr<void>> kept; // operations
        std::optional<coll::schedule<Stack>> steps;
    };
    std::unique_ptr<work> work_ = std::make_unique<work>();
    int exceptions_ = std::uncaught_exceptions(); // on their way when this was made

public:
    /// write(team, kept) writes the steps down.
    template <class Write> planned_collectives(coll::team<Stack> const& t, std::uint32_t number, Write const& write) {
        work_->steps.emplace(t, number, [&](auto const& team) { write(team, work_->kept); });
    }
    planned_collectives(planned_collectives&&) noexcept = default;
    planned_collectives& operator=(planned_collectives&& o) noexcept {
        if (this == &o) return *this;
        settle();
        work_ = std::move(o.work_), exceptions_ = o.exceptions_;
        return *this;
    }
    ~planned_collectives() { settle(); }

    bool is_active() const noexcept { return work_ && work_->steps->is_active(); }
    void start() {
        if (is_active()) throw error{errc::usage, "mpt: start: these collectives are under way; wait() comes first"};
        work_->steps->start();
    }
    /// One round of progress; true: complete, and wait() will not wait.
    bool test() { return work_->steps->test(); }
    /// Waits for what was started, if anything was. Throws what it failed by.
    void wait() { work_->steps->finish(); }

private:
    void settle() noexcept {
        if (!is_active()) return;
        try {
            if (std::uncaught_exceptions() > exceptions_) work_->steps->abandon();
            else work_->steps->wait(), work_->steps->collect();
        } catch (error const&) { // the job is over: nobody will touch the data any more
        }
    }
};

namespace detail {
using kept_operations = std::vector<std::shared_ptr<void>>;

/// Gives `what` the collectives of a communicator, by a team of its own side.
template <class Stack, class Errors, class Team, class What>
void offer(communicator_view<Stack, Errors> const&, Team const& t, kept_operations& kept, What const& what) {
    what(collectives_on_ranges{t, t.me(), t.size(), kept});
}
template <class Stack, class Errors, class Team, class What>
void offer(topology_view<Stack, Errors> const& c, Team const& t, kept_operations& kept, What const& what) {
    what(collectives_of_neighbours{t, c.shape(), kept});
}
template <class Stack, class Errors, class Team, class What>
void offer(intercommunicator_view<Stack, Errors> const& c, Team const& t, kept_operations& kept, What const& what) {
    coll::between const sides{t, c.native().who};
    what(collectives_on_ranges{sides, t.me(), c.native().who.size(), kept});
}
/// Shared memory of collectives that block: those of one call meet there, whichever form it has.
template <class Stack, class Errors> coll::meeting* meeting_of(communicator_view<Stack, Errors> const& c) noexcept {
    return &c.native().shared;
}
template <class Stack, class Errors> coll::meeting* meeting_of(intercommunicator_view<Stack, Errors> const&) noexcept {
    return nullptr;
}
template <class View> coll::team<typename View::stack_type> own_side(View const& c, coll::meeting* shared = nullptr) noexcept {
    auto const& s = c.native();
    return {s.wire, c.members(), s.me, s.rooted_calls, shared};
}
} // namespace detail

/// Collective: all ranks write the same down. Nothing is sent before start().
template <class View, class What> auto planned(View const& c, What const& what) {
    return View::errors_type::run([&] {
        auto const write = [&](auto const& t, auto& kept) { detail::offer(c, t, kept, what); };
        return planned_collectives<typename View::stack_type>{detail::own_side(c), c.native().next_schedule(), write};
    });
}
/// The same here and now: nothing is written down.
template <class View, class What> auto done(View const& c, What const& what) {
    return View::errors_type::run([&] {
        detail::kept_operations kept;
        detail::offer(c, detail::own_side(c, detail::meeting_of(c)), kept, what);
    });
}
/// What planned() writes down, started.
template <class View, class What> auto begun(View const& c, What const& what) {
    return View::errors_type::run([&] {
        auto p = planned(c.template with<errors::throwing>(), what);
        p.start();
        return p;
    });
}

} // namespace mpt::inline v0
