/// mpi/nonblocking - collectives that are begun here and waited for later: a part of a communicator_view.
///
///        auto sum = world.iallreduce(x, std::plus{});       ...       double all = sum.wait();
///        auto all = world.igather(std::move(values));       ...       auto v = all.wait();          // at rank 0: everybody's
///        auto done = world.iallreduce(std::span{field});    ...       done.wait();                  // combined in place
///        auto met = world.ibarrier();                       while (!met.test()) work();
///
///   Data are taken by value, and live with the request: copy or move a container in and get it back from wait(), or bring a span, which
///   refers to the caller's memory. All ranks begin the collectives of a communicator in the same order; any number may be under way.
///
///   A request waits when it is destroyed. When an exception unwinds past it, it is withdrawn where that can be done.
///   Limit     no forms that tell lengths by themselves: those take two steps. An operation runs while its rank waits or tests, in
///             any of its threads, one at a time.
///   Tests     test/mpi_nonblocking_test.cpp    Source MPI-4.1 section 6.12.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <mpt/coll/schedule.hpp>
#include <mpt/mpi/collectives.hpp>

namespace mpt::inline v0 {

namespace detail {

/// A schedule, the data it refers to, and what comes of them.
template <class Stack, class Result> struct begun {
    std::optional<coll::schedule<Stack>> steps;
    virtual ~begun() = default;
    virtual Result take() = 0;
};
template <class Stack, class Held, class Take> struct begun_with final
    : begun<Stack, std::invoke_result_t<Take const&, Held&>> {
    Held held;
    Take how;
    begun_with(Held h, Take t) : held{std::move(h)}, how{std::move(t)} {}
    std::invoke_result_t<Take const&, Held&> take() override { return how(held); }
};

} // namespace detail

/// A collective under way, and its result.
template <class Stack, class Result> class [[nodiscard]] collective_request {
    std::unique_ptr<detail::begun<Stack, Result>> work_;
    int exceptions_ = std::uncaught_exceptions(); // on their way when this was made

public:
    explicit collective_request(std::unique_ptr<detail::begun<Stack, Result>> work) : work_{std::move(work)} {}
    collective_request(collective_request&&) noexcept = default;
    collective_request& operator=(collective_request&& o) noexcept {
        if (this == &o) return *this;
        settle();
        work_ = std::move(o.work_), exceptions_ = o.exceptions_;
        return *this;
    }
    ~collective_request() { settle(); }

    /// wait() was not called yet, or failed.
    bool pending() const noexcept { return work_ != nullptr; }
    /// One round of progress; true: complete, and wait() will not wait.
    bool test() { return !work_ || work_->steps->test(); }
    /// Waits, and gives the result, once. Throws what the collective failed by.
    Result wait() {
        if (!work_) throw error{errc::usage, "mpt: wait: this collective's result was taken already"};
        work_->steps->finish();
        return std::exchange(work_, nullptr)->take();
    }

private:
    void settle() noexcept {
        if (!work_) return;
        try {
            if (std::uncaught_exceptions() > exceptions_) work_->steps->abandon();
            else work_->steps->wait(), work_->steps->collect();
        } catch (error const&) { // the job is over: nobody will touch the data any more
        }
    }
};

namespace detail {
/// The next collective of a team that does not block. record(team, held) is what the algorithm does with the data; take(held) what
/// comes of them.
template <class Stack, class Held, class Record, class Take>
auto started_by(coll::team<Stack> const& t, std::uint32_t number, Held held, Record const& record, Take take) {
    using work = begun_with<Stack, Held, Take>;
    auto w = std::make_unique<work>(std::move(held), std::move(take));
    w->steps.emplace(t, number, [&](auto const& recorder) { record(recorder, w->held); });
    w->steps->start();
    using result = decltype(w->take());
    return collective_request<Stack, result>{std::unique_ptr<begun<Stack, result>>{std::move(w)}};
}
} // namespace detail

template <class View, class Stack, class Errors> class nonblocking_collectives {
    template <class T> using request = collective_request<Stack, T>;
    template <class T> using as = typename Errors::template as<request<T>>;
    template <class T> using list = std::vector<element_t<T>>;

public:
    /// Complete when all ranks have begun it. Section 6.12.1.
    as<void> ibarrier() const {
        return Errors::run([&] {
            return started(
                nullptr, [](auto const& t, auto&) { coll::barrier(t); }, [](auto&) {});
        });
    }
    /// The root's value or range to all, in the place of theirs. Section 6.12.2.
    template <class T> as<T> ibroadcast(T data, rank root = 0) const {
        return Errors::run([&] {
            checks::to("ibroadcast", root, self().size());
            return started(
                std::move(data), [root](auto const& t, T& d) { coll::broadcast(t, std::span<std::byte>{room(d)}, root); },
                &given<T>);
        });
    }
    /// At the root every rank's elements, in rank order; elsewhere nothing. Section 6.12.3.
    template <sendable T> as<list<T>> igather(T mine, rank root = 0) const {
        return Errors::run([&] {
            checks::to("igather", root, self().size());
            return gathering(std::move(mine), self().rank() == root ? count() : 0,
                             [root](auto const& t, source const& one, coll::blocks all) { coll::gather(t, one, all, root); });
        });
    }
    /// all: at the root the elements for every rank, in rank order; not read elsewhere. mine: room for this rank's. Section 6.12.4.
    template <element_range R, class T> as<T> iscatter(R all, T mine, rank root = 0) const {
        static_assert(std::is_same_v<std::remove_cv_t<std::ranges::range_value_t<R>>, element_t<T>>,
                      "mpt: iscatter: the elements are of one type");
        return Errors::run([&] {
            checks::to("iscatter", root, self().size());
            auto const from = detail::bytes_of(all).size(), into = room(mine).size();
            if (self().rank() == root && from != into * count()) checks::bad_share("iscatter", from, into, self().size());
            return started(
                std::pair{std::move(all), std::move(mine)},
                [root](auto const& t, auto& d) {
                    std::span<std::byte> const into_mine = room(d.second);
                    coll::scatter(t, coll::const_blocks{detail::bytes_of(d.first), into_mine.size()}, sink{into_mine}, root);
                },
                [](auto& d) { return std::move(d.second); });
        });
    }
    /// Every rank's elements, in rank order. Section 6.12.5.
    template <sendable T> as<list<T>> iallgather(T mine) const {
        return Errors::run([&] {
            return gathering(std::move(mine), count(),
                             [](auto const& t, source const& one, coll::blocks all) { coll::allgather(t, one, all); });
        });
    }
    /// mine: for each rank as many elements, in rank order; what came from each, in the same order. Section 6.12.6.
    template <element_range R> as<list<R>> ialltoall(R mine) const {
        return Errors::run([&] {
            auto const n = std::ranges::size(mine);
            if (n % count() != 0) checks::bad_share("ialltoall", n, n / count(), self().size());
            auto const each = n / count() * sizeof(element_t<R>);
            return started(
                std::pair{std::move(mine), detail::vector_room<element_t<R>>{n}},
                [each](auto const& t, auto& d) {
                    coll::alltoall(t, coll::const_blocks{detail::bytes_of(d.first), each},
                                   coll::blocks{d.second.bytes(), each});
                },
                [](auto& d) { return std::move(d.second).take(); });
        });
    }

    // --- reductions: a value, or element by element ----------------------------------------------------------------------------
    /// The combination at the root; elsewhere the data as they were. Section 6.12.7.
    template <class T, class Op = std::plus<>> as<T> ireduce(T data, Op op = {}, rank root = 0) const {
        return Errors::run([&] {
            checks::to("ireduce", root, self().size());
            return combining(std::move(data), std::move(op),
                             [root](auto const& t, auto const& how, std::byte* d, std::size_t n) {
                                 coll::reduce(t, how, d, t.me() == root ? d : nullptr, n, root);
                             });
        });
    }
    /// Section 6.12.8.
    template <class T, class Op = std::plus<>> as<T> iallreduce(T data, Op op = {}) const {
        return Errors::run([&] {
            return combining(std::move(data), std::move(op), [](auto const& t, auto const& how, std::byte* d, std::size_t n) {
                coll::allreduce(t, how, nullptr, d, n);
            });
        });
    }
    /// The combination of the ranks up to this one. Section 6.12.11.
    template <class T, class Op = std::plus<>> as<T> iscan(T data, Op op = {}) const {
        return Errors::run([&] {
            return combining(std::move(data), std::move(op), [](auto const& t, auto const& how, std::byte* d, std::size_t n) {
                coll::scan(t, how, nullptr, d, n);
            });
        });
    }
    /// Of the ranks below this one; at rank 0 the data as they were. Section 6.12.12.
    template <class T, class Op = std::plus<>> as<T> iexscan(T data, Op op = {}) const {
        return Errors::run([&] {
            return combining(std::move(data), std::move(op), [](auto const& t, auto const& how, std::byte* d, std::size_t n) {
                coll::exscan(t, how, nullptr, d, n);
            });
        });
    }
    /// The combination, of which rank r keeps the r-th of size() equal parts. Section 6.12.9.
    template <element_range R, class Op = std::plus<>> as<list<R>> ireduce_scatter_block(R data, Op op = {}) const {
        return Errors::run([&] {
            auto const n = std::ranges::size(data), each = n / count();
            if (n % count() != 0) checks::bad_share("ireduce_scatter_block", n, each, self().size());
            using T = element_t<R>;
            return started(
                std::tuple{std::move(data), std::move(op), detail::vector_room<T>{each}},
                [each](auto const& t, auto& d) {
                    auto& [all, f, part] = d;
                    auto const bytes = detail::bytes_of(all);
                    coll::reduce_scatter_block(t, detail::operand_of<T>(f), bytes.data(), part.data(), each);
                },
                [](auto& d) { return std::move(std::get<2>(d)).take(); });
        });
    }

protected:
    template <class Held, class Record, class Take> auto started(Held held, Record const& record, Take take) const {
        auto const& s = self().native();
        coll::team<Stack> const t{s.wire, s.who, s.me, s.rooted_calls};
        return detail::started_by(t, s.next_schedule(), std::move(held), record, std::move(take));
    }

private:
    View const& self() const noexcept { return static_cast<View const&>(*this); }
    std::size_t count() const noexcept { return static_cast<std::size_t>(self().size()); }
    template <class T> static auto room(T& d) noexcept { return detail::room_of(d); }
    template <class T> static T given(T& d) { return std::move(d); }

    template <class T, class Gather> auto gathering(T mine, std::size_t pieces, Gather gather) const {
        auto const n = pieces * detail::bytes_of(mine).size() / sizeof(element_t<T>);
        return started(
            std::pair{std::move(mine), detail::vector_room<element_t<T>>{n}},
            [gather](auto const& t, auto& d) {
                std::span<std::byte const> const one = detail::bytes_of(d.first);
                gather(t, source{one}, coll::blocks{d.second.bytes(), one.size()});
            },
            [](auto& d) { return std::move(d.second).take(); });
    }
    template <class T, class Op, class Combine> auto combining(T data, Op op, Combine combine) const {
        return started(
            std::pair{std::move(data), std::move(op)},
            [combine](auto const& t, auto& d) {
                std::span<std::byte> const bytes = room(d.first);
                combine(t, detail::operand_of<element_t<T>>(d.second), bytes.data(), bytes.size() / sizeof(element_t<T>));
            },
            [](auto& d) { return std::move(d.first); });
    }
};

} // namespace mpt::inline v0
