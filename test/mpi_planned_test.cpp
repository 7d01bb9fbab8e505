#include <array>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "support/dice.hpp"
#include "support/wires.hpp"
#include <mpt/datatype/typed.hpp>
#include <mpt/mpi/planned.hpp>

namespace {
using namespace mpt::test;
using list = std::vector<int>;
using lists = std::vector<list>;

template <class Stack> using mpi_planned = over<Stack>;
TYPED_TEST_SUITE(mpi_planned, wires);

void fill(list& l, dice& d) {
    for (auto& x : l) x = static_cast<int>(d.below(1000));
}
std::size_t at(int r) { return static_cast<std::size_t>(r); }
/// A list for each rank, of the lengths that length(rank) tells.
template <class F> lists lists_of(int n, F const& length) {
    lists all;
    for (int r = 0; r < n; ++r) all.emplace_back(at(length(r)));
    return all;
}
int first_of(int a, int) { return a; } // does not commute

/// What is written down once gives, in every run, what the blocking one gives for the data of that run.
TYPED_TEST(mpi_planned, collectives_do_again_and_again_what_the_blocking_ones_do) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int n : {1, 2, 5})
        this->job(n, [n, seed](auto world) {
            int const me = world.rank(), root = n / 2;
            auto const length = [](int from, int to) { return (from + 2 * to) % 4; };
            list two(2), cast(3), field(7), upto(4), below(4), sums(3), part(1), own(at(2 * n)), swapped(at(2 * n)),
                gathered(at(2 * n)), all(at(2 * n)), mine(2), count(at(n), 0), share(at(me % 3));
            std::size_t counted = 0;
            for (int r = 0; r < n; ++r) counted += at(count[at(r)] = r % 3);
            list many(counted), block(at(n));
            auto const leaving = [&] { return lists_of(n, [&](int r) { return length(me, r); }); };
            auto const coming = [&] { return lists_of(n, [&](int r) { return length(r, me); }); };
            auto out = leaving(), parts = lists_of(n, [&](int r) { return me == root ? length(root, r) : 0; });
            auto in = coming(), everybody = lists_of(n, [](int r) { return r; }),
                 at_root = lists_of(n, [](int r) { return r + 1; });
            list some(at(me)), more(at(me + 1)), piece(at(length(root, me)));

            auto plan = mpt::planned(world, [&](auto const& to) {
                to.barrier();
                to.broadcast(cast, root);
                to.gather(two, gathered, root), to.scatter(own, mine, root), to.allgather(two, all), to.alltoall(own, swapped);
                to.gatherv(more, at_root, root), to.scatterv(parts, piece, root), to.allgatherv(some, everybody);
                to.alltoallv(out, in);
                to.reduce(sums, std::plus{}, root), to.allreduce(field), to.scan(upto, first_of), to.exscan(below, std::plus{});
                to.reduce_scatter_block(block, part), to.reduce_scatter(many, share, count);
            });
            dice d{seed + static_cast<unsigned>(me)};
            for (int run = 0; run < 3; ++run) {
                for (auto* l : {&two, &cast, &field, &upto, &below, &sums, &own, &some, &more, &many, &block}) fill(*l, d);
                for (auto* ls : {&out, &parts})
                    for (auto& l : *ls) fill(l, d);
                auto const before_cast = cast, before_field = field, before_upto = upto, before_below = below,
                           before_sums = sums;
                plan.start();
                EXPECT_TRUE(plan.is_active() || n == 1);
                plan.wait();
                EXPECT_FALSE(plan.is_active());

                auto same = before_cast;
                world.broadcast(same, root);
                EXPECT_EQ(cast, same);
                if (me == root) {
                    EXPECT_EQ(gathered, world.gather(two, root));
                } else world.gather(two, root);
                list expected(2);
                world.scatter(own, expected, root);
                EXPECT_EQ(mine, expected);
                EXPECT_EQ(all, world.allgather(two));
                EXPECT_EQ(swapped, world.alltoall(own));
                auto const lists_at_root = world.gatherv(more, root);
                if (me == root) { EXPECT_EQ(at_root, lists_at_root); }
                EXPECT_EQ(piece, world.scatterv(parts, root));
                EXPECT_EQ(everybody, world.allgatherv(some));
                EXPECT_EQ(in, world.alltoallv(out));
                same = before_sums, world.reduce(same, std::plus{}, root);
                EXPECT_EQ(sums, same);
                same = before_field, world.allreduce(same);
                EXPECT_EQ(field, same);
                same = before_upto, world.scan(same, first_of);
                EXPECT_EQ(upto, same);
                same = before_below, world.exscan(same, std::plus{});
                EXPECT_EQ(below, same);
                EXPECT_EQ(part, world.reduce_scatter_block(block));
                EXPECT_EQ(share, world.reduce_scatter(many, count));
            }
        });
}

TYPED_TEST(mpi_planned, both_sides_of_an_intercommunicator_get_what_the_other_brings) {
    this->job(5, [](auto world) {
        int const side = world.rank() >= 2, n = side == 0 ? 2 : 3, there = 5 - n;
        auto const half = world.split(side);
        mpt::intercommunicator const across{half->view(), 0, world, side == 0 ? 2 : 0};
        int const me = across.rank();
        mpt::rank const root = side == 1 ? 1 : me == 1 ? mpt::root_here : mpt::root_beside; // rank 1 of side 0
        list const one{10 * side + me};
        list cast{side == 0 ? 7 : 0}, all(at(there)), gathered(at(there)), mine(1), swapped(at(there)), best(1), sum{one},
            part(1);
        list own(at(there)), block(6);
        for (int r = 0; r < there; ++r) own[at(r)] = 100 * (10 * side + me) + r;
        std::iota(block.begin(), block.end(), 10 * me);
        auto some = list(at(me + 1), side), shares = list{1, 2, 3};
        auto theirs = lists_of(there, [](int r) { return r + 1; });
        auto done = mpt::begun(across, [&](auto const& to) {
            to.barrier();
            to.broadcast(cast, root);
            to.gather(one, gathered, root), to.scatter(shares, mine, root), to.allgather(one, all), to.alltoall(own, swapped);
            to.allgatherv(some, theirs), to.reduce(sum, std::plus{}, root), to.allreduce(one, best, mpt::max);
        });
        done.wait();
        EXPECT_EQ(cast.front(), 7);
        list bring(at(there));
        std::iota(bring.begin(), bring.end(), 10 * (1 - side));
        EXPECT_EQ(all, bring);
        if (root == mpt::root_here) {
            EXPECT_EQ(gathered, bring);
            EXPECT_EQ(sum.front(), 10 + 11 + 12);
        }
        if (side == 1) { EXPECT_EQ(mine.front(), me + 1); }
        for (int r = 0; r < there; ++r) {
            EXPECT_EQ(swapped[at(r)], 100 * (10 * (1 - side) + r) + me);
            EXPECT_EQ(theirs[at(r)], list(at(r + 1), 1 - side));
        }
        EXPECT_EQ(best.front(), bring.back());
        std::ranges::fill(all, -1), std::ranges::fill(best, -1);
        mpt::done(across, [&](auto const& to) { to.allgather(one, all), to.allreduce(one, best, mpt::max); });
        EXPECT_EQ(all, bring);
        EXPECT_EQ(best.front(), bring.back());
        auto parts = mpt::planned(across, [&](auto const& to) {
            list const counts = side == 0 ? list{4, 2} : list{2, 2, 2};
            part.resize(at(counts[at(me)]));
            to.reduce_scatter(block, part, counts);
        });
        parts.start(), parts.wait();
        int const tens = side == 0 ? 30 : 10, ranks = there; // the sum of the other side's first elements
        int const first = side == 0 ? 4 * me : 2 * me;
        for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], tens + ranks * (first + static_cast<int>(i)));
    });
}

TYPED_TEST(mpi_planned, neighbours_swap_as_often_as_one_likes) {
    this->job(4, [](auto world) {
        std::array const dims{4}, periodic{1};
        auto const ring = mpt::with_topology(world, mpt::cartesian{dims, periodic, world.size()});
        int const me = world.rank(), left = (me + 3) % 4, right = (me + 1) % 4;
        list one(1), both(2), out(4), in(4);
        lists lengths{list(at(me)), list(2)}, theirs{list(2), list(at(right))}, gathered{list(1), list(1)};
        auto swap = mpt::planned(ring->view(), [&](auto const& to) {
            to.neighbor_allgather(one, both), to.neighbor_alltoall(out, in, 2);
            to.neighbor_allgatherv(one, gathered), to.neighbor_alltoallv(lengths, theirs);
            to.allreduce(one); // of all ranks, in between
        });
        for (int run = 0; run < 3; ++run) {
            one = {me + 10 * run};
            for (int i = 0; i < 4; ++i) out[at(i)] = 100 * run + 10 * me + i;
            lengths = {list(at(me), run), list(2, me)};
            swap.start();
            swap.wait();
            EXPECT_EQ(both, (list{left + 10 * run, right + 10 * run}));
            EXPECT_EQ(gathered, (lists{{left + 10 * run}, {right + 10 * run}}));
            EXPECT_EQ(in, (list{100 * run + 10 * left + 2, 100 * run + 10 * left + 3, 100 * run + 10 * right,
                                100 * run + 10 * right + 1}));
            EXPECT_EQ(theirs, (lists{list(2, left), list(at(right), run)}));
            EXPECT_EQ(one.front(), 6 + 40 * run);
        }
        auto const twin = ring->idup().wait(); // has the same neighbours
        one = {100 + me};
        mpt::done(twin, [&](auto const& to) { to.neighbor_allgather(one, both); });
        EXPECT_EQ(both, (list{100 + left, 100 + right}));
    });
}

/// What goes from a rank to another: blocks with gaps there, every second element here.
class pair_of_layouts {
    int from_, to_, blocks_, length_, stride_;

public:
    pair_of_layouts(unsigned seed, int from, int to) : from_{from}, to_{to} {
        dice d{seed + static_cast<unsigned>(31 * from + to)};
        blocks_ = static_cast<int>(d.below(40)), length_ = 1 + static_cast<int>(d.below(9));
        stride_ = length_ + static_cast<int>(d.below(5));
    }
    int size() const { return blocks_ * length_; }
    int value(int i, int run) const { return 100000 * run + 10000 * from_ + 1000 * to_ + i; }
    mpt::datatype leaves() const {
        return mpt::datatype::vector(blocks_, length_, stride_, mpt::datatype::named(mpt::element_kind::c_int));
    }
    mpt::datatype comes() const { return mpt::datatype::vector(size(), 1, 2, mpt::datatype::named(mpt::element_kind::c_int)); }
    list before(int run) const {
        list l(at(blocks_ * stride_), -1);
        for (int i = 0; i < size(); ++i) l[at(i / length_ * stride_ + i % length_)] = value(i, run);
        return l;
    }
    list after(int run) const {
        list l(at(2 * size()), -2);
        for (int i = 0; i < size(); ++i) l[at(2 * i)] = value(i, run);
        return l;
    }
};

/// A rank's side of an exchange of such data with some ranks.
struct typed_exchange {
    std::vector<pair_of_layouts> to, from;
    lists leaving, coming;
    std::vector<mpt::typed_source> out;
    std::vector<mpt::typed_sink> in;

    template <class Destinations, class Sources>
    typed_exchange(unsigned seed, int me, Destinations const& destinations, Sources const& sources) {
        for (int const r : destinations) to.emplace_back(seed, me, r);
        for (int const r : sources) from.emplace_back(seed, r, me);
        for (auto const& p : to) leaving.push_back(p.before(0));
        for (auto const& p : from) coming.push_back(list(at(2 * p.size())));
        for (std::size_t i = 0; i < to.size(); ++i) out.emplace_back(leaving[i].data(), 1, to[i].leaves());
        for (std::size_t i = 0; i < from.size(); ++i) in.emplace_back(coming[i].data(), 1, from[i].comes());
    }
    /// In place: the layouts refer to the lists' memory.
    void fill(int run) {
        for (std::size_t i = 0; i < to.size(); ++i) std::ranges::copy(to[i].before(run), leaving[i].begin());
        for (auto& l : coming) std::ranges::fill(l, -2);
    }
    void expect(int run) const {
        for (std::size_t i = 0; i < from.size(); ++i) EXPECT_EQ(coming[i], from[i].after(run));
    }
};

TYPED_TEST(mpi_planned, data_of_any_datatype_go_where_their_layouts_say) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int n : {1, 4})
        this->job(n, [n, seed](auto world) {
            int const me = world.rank(), left = (me + n - 1) % n, right = (me + 1) % n;
            list everybody(at(n));
            std::iota(everybody.begin(), everybody.end(), 0);
            typed_exchange all{seed, me, everybody, everybody};
            int run = 0;
            auto const swap = [&](auto const& exchange) { all.fill(++run), exchange(), all.expect(run); };
            swap([&] { world.alltoallw(all.out, all.in); });
            swap([&] { mpt::begun(world, [&](auto const& to) { to.alltoallw(all.out, all.in); }).wait(); });
            auto plan = mpt::planned(world, [&](auto const& to) { to.alltoallw(all.out, all.in); });
            for (int i = 0; i < 2; ++i) swap([&] { plan.start(), plan.wait(); });

            auto const ring = mpt::with_topology(world, mpt::own_edges(world, std::vector<mpt::edge>{{me, right}}));
            typed_exchange next{seed, me, list{right}, list{left}};
            auto const pass = [&](auto const& exchange) { next.fill(++run), exchange(), next.expect(run); };
            pass([&] { ring.neighbor_alltoallw(next.out, next.in); });
            auto again = mpt::planned(ring.view(), [&](auto const& to) { to.neighbor_alltoallw(next.out, next.in); });
            for (int i = 0; i < 2; ++i) pass([&] { again.start(), again.wait(); });

            pass([&] { world.sendrecv(next.out[0], right, next.in[0], left); });
            pass([&] {
                auto in = world.irecv(next.in[0], left);
                auto out = world.isend(next.out[0], right);
                EXPECT_EQ(in.wait().template count<int>(), at(next.from[0].size()));
                out.wait();
            });
            pass([&] {
                auto in = world.irecv(next.in[0], left);
                world.ssend(mpt::typed_source{next.leaving[0].data(), 1, next.to[0].leaves()}, right);
                in.wait();
            });
            pass([&] {
                auto out = world.issend(next.out[0], right);
                world.recv(mpt::typed_sink{next.coming[0].data(), 1, next.from[0].comes()}, left);
                out.wait();
            });
            all.out.pop_back();
            EXPECT_THROW(world.alltoallw(all.out, all.in), mpt::error);
        });
}

/// What is written down does what is expected: here and now, begun, and twice as a plan.
template <class World, class Write, class Fill, class Expect>
void in_every_form(World const& world, Write const& write, Fill const& fill, Expect const& expect) {
    int run = 0;
    fill(++run), mpt::done(world, write), expect(run);
    fill(++run), mpt::begun(world, write).wait(), expect(run);
    auto plan = mpt::planned(world, write);
    for (int i = 0; i < 2; ++i) fill(++run), plan.start(), plan.wait(), expect(run);
}

TYPED_TEST(mpi_planned, layouts_go_in_and_come_out_of_all_that_take_pieces) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int n : {1, 4})
        this->job(n, [n, seed](auto world) {
            int const me = world.rank(), root = n / 2;
            list everybody(at(n)), nobody;
            std::iota(everybody.begin(), everybody.end(), 0);
            auto const check = [&](auto& x, auto const& write) {
                in_every_form(
                    world, write, [&](int run) { x.fill(run); }, [&](int run) { x.expect(run); });
            };
            typed_exchange up{seed, me, list{root}, me == root ? everybody : nobody};
            check(up, [&](auto const& to) { to.gatherv(up.out[0], up.in, root); });
            typed_exchange down{seed, me, me == root ? everybody : nobody, list{root}};
            check(down, [&](auto const& to) { to.scatterv(down.out, down.in[0], root); });

            pair_of_layouts const cast{seed, root, 0};
            auto memory = me == root ? cast.before(0) : cast.after(0);
            auto const type = me == root ? cast.leaves() : cast.comes();
            mpt::typed_source const read{memory.data(), 1, type};
            mpt::typed_sink const write{memory.data(), 1, type};
            in_every_form(
                world, [&](auto const& to) { to.broadcast(read, write, root); },
                [&](int run) {
                    if (me == root) std::ranges::copy(cast.before(run), memory.begin());
                    else std::ranges::fill(memory, -2);
                },
                [&](int run) { EXPECT_EQ(memory, me == root ? cast.before(run) : cast.after(run)); });

            typed_exchange mine{seed, me, list{0}, nobody}, all{seed, 0, nobody, everybody};
            std::vector<mpt::typed_source> again;
            for (int r = 0; r < n; ++r) again.emplace_back(all.coming[at(r)].data(), 1, all.from[at(r)].comes());
            in_every_form(
                world, [&](auto const& to) { to.allgatherv(mine.out[0], again, all.in); },
                [&](int run) { mine.fill(run), all.fill(run); }, [&](int run) { all.expect(run); });
        });
}

TYPED_TEST(mpi_planned, what_comes_takes_the_place_of_what_went) {
    for (int n : {1, 2, 5})
        this->job(n, [n](auto world) {
            int const me = world.rank();
            auto const length = [me](int r) { return 1 + (r + me) % 3 + r * me; }; // the same from the other side
            auto const value = [](int run, int from, int to, int i) { return 1000 * run + 100 * from + 10 * to + i; };
            auto const one_gap = [&](int run, int r, int from, int to) {
                list l(at(2 * length(r)), -1);
                for (int i = 0; i < length(r); ++i) l[at(2 * i)] = value(run, from, to, i);
                return l;
            };
            auto const of_all = [&](int run, bool come) {
                lists all;
                for (int r = 0; r < n; ++r) all.push_back(come ? one_gap(run, r, r, me) : one_gap(run, r, me, r));
                return all;
            };
            lists whole = of_all(0, false), gaps = whole;
            auto const fill = [&](lists& to, int run) {
                auto const from = of_all(run, false);
                for (int r = 0; r < n; ++r) std::ranges::copy(from[at(r)], to[at(r)].begin()); // which plans refer to
            };
            list even(at(2 * n));
            std::vector<mpt::typed_source> out;
            std::vector<mpt::typed_sink> in;
            for (int r = 0; r < n; ++r) {
                auto const t = mpt::datatype::vector(length(r), 1, 2, mpt::datatype::named(mpt::element_kind::c_int));
                out.emplace_back(gaps[at(r)].data(), 1, t), in.emplace_back(gaps[at(r)].data(), 1, t);
            }
            in_every_form(
                world,
                [&](auto const& to) {
                    to.alltoall_in_place(even), to.alltoallv_in_place(whole), to.alltoallw_in_place(out, in);
                },
                [&](int run) {
                    for (int i = 0; i < 2 * n; ++i) even[at(i)] = value(run, me, i / 2, i % 2);
                    fill(whole, run), fill(gaps, run);
                },
                [&](int run) {
                    for (int i = 0; i < 2 * n; ++i) EXPECT_EQ(even[at(i)], value(run, i / 2, me, i % 2));
                    EXPECT_EQ(whole, of_all(run, true));
                    EXPECT_EQ(gaps, of_all(run, true));
                });
            out.pop_back();
            EXPECT_THROW(mpt::done(world, [&](auto const& to) { to.alltoallw_in_place(out, in); }), mpt::error);
        });
}

TYPED_TEST(mpi_planned, mistakes_are_sentences_and_leave_the_ranks_agreed) {
    this->job(2, [](auto world) {
        list three(3), two(2);
        lists none;
        auto const said = [&](auto const& what) -> std::string {
            try {
                static_cast<void>(mpt::planned(world, what));
                return "";
            } catch (mpt::error const& e) { return e.what(); }
        };
        EXPECT_NE(said([&](auto const& to) { to.broadcast(two, 2); }).find("broadcast"), std::string::npos);
        EXPECT_NE(said([&](auto const& to) { to.allgather(two, three); }).find("3"), std::string::npos);
        EXPECT_NE(said([&](auto const& to) { to.alltoallv(none, none); }).find("alltoallv"), std::string::npos);
        auto sum = mpt::planned(
            world, [&](auto const& to) { to.allreduce(two, [](int, int) -> int { throw std::domain_error{"no"}; }); });
        sum.wait(); // nothing was started
        sum.start();
        EXPECT_THROW(sum.start(), mpt::error);
        EXPECT_THROW(sum.wait(), std::domain_error);
        auto const result =
            mpt::planned(world.template with<mpt::errors::returning>(), [&](auto const& to) { to.broadcast(two, 9); });
        EXPECT_FALSE(result);
        list const one{1};
        {
            auto const dropped = mpt::begun(world, [&](auto const& to) { to.allgather(one, two); });
        }
        EXPECT_EQ(two, (list{1, 1}));
        EXPECT_EQ(world.allreduce(1), 2);
    });
}
/// The root's own piece is in its place before, and stays there; the others call what they always call.
TYPED_TEST(mpi_planned, roots_have_their_pieces_in_place) {
    for (int const n : {1, 2, 5})
        this->job(n, [n](auto world) {
            int const me = world.rank(), root = n - 1;
            auto const one_gap = mpt::datatype::vector(2, 1, 2, mpt::datatype::named(mpt::element_kind::c_int));
            list all(at(2 * n)), one(2), gaps(at(3 * n)), shares(at(2 * n)), share(2), summed(at(2 * n)), counts(at(n), 2);
            lists some = lists_of(n, [](int r) { return r + 1; }), parts = some;
            list own(at(me + 1)), part(at(me + 1));
            auto const three = mpt::datatype::resized(one_gap, 0, 3 * sizeof(int));
            mpt::typed_sink const laid{gaps.data(), n, three};
            mpt::typed_operation const sum{mpt::datatype::named(mpt::element_kind::c_int), mpt::operation::sum};
            auto const value = [](int run, int r, int i) { return 1000 * run + 10 * r + i; };
            in_every_form(
                world,
                [&](auto const& to) {
                    if (me == root) {
                        to.gather_in_place(all), to.gatherv_in_place(some), to.gather_in_place(laid);
                        to.scatter_in_place(shares), to.scatterv_in_place(parts);
                    } else {
                        to.gather(one, all, root), to.gatherv(own, some, root), to.gather(one, all, root);
                        to.scatter(shares, share, root), to.scatterv(parts, part, root);
                    }
                    to.reduce_scatter(summed.data(), counts, sum);
                },
                [&](int run) {
                    for (int r = 0; r < n; ++r)
                        for (int i = 0; i < r + 1; ++i) {
                            some[at(r)][at(i)] = r == me ? value(run, r, i) : -1;
                            parts[at(r)][at(i)] = me == root ? value(run, r, i) : -1;
                        }
                    own = some[at(me)];
                    for (int i = 0; i < 2; ++i) one[at(i)] = value(run, me, i);
                    std::ranges::fill(all, -1), std::ranges::fill(gaps, -1);
                    for (int i = 0; i < 2; ++i) all[at(2 * me + i)] = gaps[at(3 * me + 2 * i)] = value(run, me, i);
                    for (int i = 0; i < 2 * n; ++i) shares[at(i)] = value(run, i / 2, i % 2), summed[at(i)] = me + i;
                },
                [&](int run) {
                    if (me == root)
                        for (int r = 0; r < n; ++r) {
                            for (int i = 0; i < 2; ++i) {
                                EXPECT_EQ(all[at(2 * r + i)], value(run, r, i));
                                EXPECT_EQ(gaps[at(3 * r + 2 * i)], value(run, r, i));
                                EXPECT_EQ(shares[at(2 * r + i)], value(run, r, i));
                            }
                            EXPECT_EQ(gaps[at(3 * r + 1)], -1);
                            for (int i = 0; i < r + 1; ++i) {
                                EXPECT_EQ(some[at(r)][at(i)], value(run, r, i));
                                EXPECT_EQ(parts[at(r)][at(i)], value(run, r, i));
                            }
                        }
                    else {
                        for (int i = 0; i < 2; ++i) EXPECT_EQ(share[at(i)], value(run, me, i));
                        for (int i = 0; i < me + 1; ++i) EXPECT_EQ(part[at(i)], value(run, me, i));
                    }
                    for (int i = 0; i < 2; ++i) EXPECT_EQ(summed[at(i)], n * (n - 1) / 2 + n * (2 * me + i));
                });
            list odd(at(2 * n + 1));
            if (n > 1) {
                EXPECT_THROW(mpt::done(world, [&](auto const& to) { to.gather_in_place(odd); }), mpt::error);
            }
        });
}

} // namespace
