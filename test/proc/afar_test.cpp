// Accumulates of much data on memory that is not mapped, by ranks that are processes: the target reads the origin's memory through the
// kernel, where that is allowed, in pieces of 128 KiB. Run by mptrun.
#include <algorithm>
#include <complex>
#include <cstdlib>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/mpi/environment.hpp>
#include <mpt/rma/window.hpp>
#include <unistd.h>

namespace {

using mpt::datatype;
using mpt::element_kind;
using mpt::operation;
namespace rma = mpt::rma;

using numbers = std::vector<std::int64_t>;
constexpr std::size_t many = 40'000, pieces = 3, short_pieces = 20; // 320'000 bytes by 128 KiB, and by 16 KiB
constexpr std::uint32_t patient = ~std::uint32_t{0} / 2;            // nobody gives up asking before he is answered
datatype const number = datatype::named(element_kind::int64);

/// f(world, window, own numbers): all of them 5.
template <class F> void with_window(mpt::environment<>& env, std::uint32_t looks, F f) {
    auto world = env.world();
    auto const& s = world.native();
    numbers own(many, 5);
    rma::wanted const w{
        .how = rma::flavor::create, .memory = std::as_writable_bytes(std::span{own}), .unit = 8, .looks = looks};
    auto const win = rma::make_window(*s.run, mpt::coll::team{s.wire, s.who, s.me, s.rooted_calls}, w);
    f(world, *win, own);
    win->free();
}
/// May the kernel copy between all, as mpt is told to let it?
template <class World> bool kernel_reads(World world) {
    std::uint64_t const word = 42 + static_cast<std::uint64_t>(world.rank());
    auto const pids = world.allgather(static_cast<std::int32_t>(::getpid()));
    auto const places = world.allgather(reinterpret_cast<std::uint64_t>(&word));
    int good = std::getenv("MPT_RMA_DIRECT") == nullptr && std::getenv("MPT_SINGLE_COPY") == nullptr;
    for (std::size_t q = 0; q < pids.size(); ++q) {
        std::uint64_t seen = 0;
        good = good && mpt::smp::read_process(pids[q], &seen, places[q], sizeof seen) == mpt::status::ok && seen == 42 + q;
    }
    auto const all = world.allgather(good); // and nobody leaves its word before
    return std::ranges::all_of(all, [](int g) { return g != 0; });
}

TEST(afar, the_target_reads_the_data_of_long_updates_where_they_are_and_writes_what_was_there) {
    mpt::environment<> env;
    with_window(env, patient, [](auto world, auto& w, numbers& own) {
        auto const each = kernel_reads(world) ? pieces : short_pieces;
        w.lock_all();
        if (world.rank() == 0) {
            numbers x(many), was(many);
            std::iota(x.begin(), x.end(), 1);
            rma::own_source const from{x.data(), many, number};
            rma::own_sink const into{was.data(), many, number};
            rma::target_place const all{1, 0, many, number};
            w.accumulate(from, all, operation::replace);
            w.accumulate(from, all, operation::sum);
            w.get_accumulate(from, into, all, operation::sum);
            for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(was[i], 2 * x[i]) << i;
            w.get_accumulate(from, into, all, operation::no_op);
            for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(was[i], 3 * x[i]) << i;
            EXPECT_EQ(w.done_by_waiting(1), 4 * each);
            // Not in one run here, so by pieces that this rank writes.
            auto const pairs = datatype::vector(many / 4, 1, 2, number);
            w.accumulate({x.data(), 1, pairs}, {1, 0, many / 4, number}, operation::replace);
            EXPECT_EQ(w.done_by_waiting(1), 4 * each + short_pieces / 4);
            w.flush(1);
        }
        w.unlock_all();
        world.barrier(); // where the others wait
        if (world.rank() == 1) {
            EXPECT_EQ(own[1], 3) << "every second number";
            EXPECT_EQ(own[many / 4], 3 * (many / 4 + 1));
            EXPECT_EQ(own[many - 1], std::int64_t{3 * many});
        }
    });
}

TEST(afar, elements_that_no_processor_changes_at_once_are_changed_too) {
    mpt::environment<> env;
    with_window(env, patient, [](auto world, auto& w, numbers& own) {
        auto const pair = datatype::named(element_kind::c_double_complex);
        w.lock_all();
        if (world.rank() == 0) {
            std::vector<std::complex<double>> const x(many / 2, {1, -2});
            w.accumulate({x.data(), many / 2, pair}, {1, 0, many / 2, pair}, operation::replace);
            w.accumulate({x.data(), many / 2, pair}, {1, 0, many / 2, pair}, operation::prod);
            w.flush(1);
        }
        w.unlock_all();
        world.barrier();
        if (world.rank() == 1) {
            std::vector<std::complex<double>> seen(many / 2);
            std::ranges::copy(std::as_bytes(std::span{own}), std::as_writable_bytes(std::span{seen}).begin());
            EXPECT_TRUE(std::ranges::all_of(seen, [](auto z) { return z == std::complex<double>{-3, -4}; }));
        }
    });
}

/// All ask all at once, each while others ask it; what somebody does not begin in time goes on by letters.
TEST(afar, all_do_it_for_each_other_and_what_is_not_begun_in_time_is_done_all_the_same) {
    mpt::environment<> env;
    for (auto const looks : {std::uint32_t{1}, std::uint32_t{50}, std::uint32_t{2000}, patient})
        with_window(env, looks, [](auto world, auto& w, numbers& own) {
            constexpr int turns = 20;
            constexpr std::size_t least = 30'000, most = least + 100 * turns;
            numbers const ones(many, 1);
            numbers was(many);
            w.lock_all();
            for (int i = 0; i < turns; ++i) {
                mpt::rank const to{(world.rank() + i) % world.size()};
                auto const n = i % 3 == 0 ? std::int64_t{many} : static_cast<std::int64_t>(least) + 100 * i;
                rma::own_source const from{ones.data(), n, number};
                if (i % 2 == 0) w.accumulate(from, {to, 0, n, number}, operation::sum);
                else {
                    w.get_accumulate(from, {was.data(), n, number}, {to, 0, n, number}, operation::sum);
                    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k)
                        ASSERT_TRUE(was[k] >= 5 && was[k] < 5 + turns * world.size()) << was[k];
                }
            }
            w.flush_all();
            w.unlock_all();
            world.barrier();
            constexpr std::int64_t whole = (turns + 2) / 3; // each turn is at one of the ranks
            for (std::size_t k = 0; k < least; ++k) ASSERT_EQ(own[k], 5 + turns) << k;
            for (std::size_t k = most; k < many; ++k) ASSERT_EQ(own[k], 5 + whole) << k;
        });
}

} // namespace
