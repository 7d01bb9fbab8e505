/// mpi/insight - what a rank can tell of its own work, and what of it can be changed while it runs: what MPI_T is in C.
///
///        mpt::insight in{env, {mpt::notice_kind::unexpected}};
///        auto const before = in.look();
///        work();
///        auto const f = in.look().since(before);
///        f[mpt::figure::e1_messages_sent]                          // every figure is a row of stack/figures.hpp
///        in.set("MPT_EAGER_MAX", "16K");                           // every variable a row of config/table.hpp
///        while (auto const n = in.next()) log(n->peer, n->bytes);  // every notice a kind of protocol/notices.hpp
///
///   Notices wait, 1024 at most, until they are asked for; what finds no room is counted (lost). Who wants none makes the engines
///   look for nobody.
///
///   Threads  everything by anybody.    Limit  ends before its environment does.
///   Cost     look(): the lock of each lane once. Figures of communicators walk what is posted, or kept.
///   Tests    test/mpi_insight_test.cpp    Source MPI-4.1 section 15.3
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <mpt/mpi/environment.hpp>
#include <mpt/stack/figures.hpp>

namespace mpt::inline v0 {

using protocol::notice;
using protocol::notice_kind;

template <class Stack = standard_stack> class insight {
    runtime<Stack>& run_;
    protocol::notice_queue news_;
    bool const watches_;

public:
    /// Notices of these kinds from here on.
    explicit insight(environment<Stack>& env, std::initializer_list<notice_kind> wanted = {})
        : run_{env.native()}, watches_{wanted.size() != 0} {
        std::uint32_t kinds = 0;
        for (auto const k : wanted) kinds |= protocol::bit_of(k);
        news_.want(kinds);
        if (watches_) run_.watch(news_);
    }
    ~insight() {
        if (watches_) run_.unwatch(news_);
    }
    insight(insight const&) = delete;

    figures look() const { return run_.look(); }
    /// A figure of a communicator.
    std::uint64_t look(figure f, communicator_view<Stack> c) const { return run_.look_at(f, c.context()); }

    /// A variable as it is now, in the table's words: "8K", "on".
    std::string get(std::string_view variable) const {
        auto const at = place(variable);
        return config::format(config::table[at], run_.configuration().at(at));
    }
    /// Changes one of config::live on this rank: what begins from now on follows it.
    void set(std::string_view variable, std::string_view value) { run_.tune(place(variable), value); }

    /// The earliest notice that waits.
    std::optional<notice> next() noexcept {
        notice n;
        return news_.take(n) ? std::optional{n} : std::nullopt;
    }
    /// How many notices of a kind found no room since this was asked last.
    std::uint64_t lost(notice_kind k) noexcept { return news_.take_lost(k); }

private:
    static std::size_t place(std::string_view variable) {
        auto const at = config::row_of(variable);
        if (at == config::table.size())
            throw error{errc::argument,
                        "mpt: insight: \"" + std::string{variable} + "\" is no variable; mptinfo --env lists them"};
        return at;
    }
};

} // namespace mpt::inline v0
