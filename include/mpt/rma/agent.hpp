/// rma/agent - a thread inside a target that does what others may not do to its memory themselves, while the program computes.
///
///        origin                                            target's agent
///        letter ------ an ordinary message ----------->    kept as unexpected, by whoever polls the lane
///        rung, bell.ring() ---- words of the arena ---->   wakes: takes the letter, does it, looks for more, sleeps
///        answer <------ an ordinary message ------------   where the letter names a tag
///
///   A window of memory that not all reach has an agent at each rank whose memory it is, on the window's lane and in its context,
///   there when the window is made and gone when it is freed; its thread stays (rma/clerk.hpp). That sleeps on a bell of its own, not on the
///   lane's, so that the program's messages do not wake it. A thread of the program that waits may do its work: help().
///
///   Small operations, long updates, and what is not too scattered need no letter while a thread of the program waits:
///   rma/active_message.hpp. The agent owns what serves them: all who change elements for others take turns, and count as one thread where
///   rows are somebody's (rma/rows.hpp).
///
///   What it changes it changes as anybody would (rma/element.hpp). Letters of one rank are done in their order: who takes letters
///   has the agent's turn, until what he took is done.
///
///   Wake      a frame may leave, or come, long after its send began (a full wire, streams). So who sends a letter rings at each
///             look until it has left, and who waits for an answer at each look until that is there: no answer is late by a nap. Only
///             a letter without an answer may be, where its frame came after the ring; its confirmation has one.
///   Order     the frame is published before the ring, and taken after arm(): world/bell.hpp.
///   Threads   the program's threads share the window's lane with it: its lock must be one for threads.
///   Ending    the job's end ends it. It may only go when no letter is under way.
///   Memory    256 KiB once data were read through the kernel.
///   Tests     test/rma_agent_test.cpp, and by test/rma_random_test.cpp over streams
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <mpt/lock/pthread.hpp>
#include <mpt/rma/agent/letter.hpp>
#include <mpt/rma/clerk.hpp>
#include <mpt/rma/element.hpp>
#include <mpt/rma/memory.hpp>
#include <mpt/stack/p2p.hpp>
#include <mpt/stack/runtime.hpp>

namespace mpt::inline v0::rma {

/// Which memory of this rank a window has: one part, or what is attached. For the program and the agent at once.
class exposed_memory {
    struct impl;
    std::unique_ptr<impl> impl_;

public:
    exposed_memory();
    ~exposed_memory();
    /// False: it overlaps what is there. A part of no bytes overlaps nothing.
    bool add(std::uint64_t at, std::uint64_t n);
    /// How many bytes it had; none: nothing begins there. Where a part of no bytes begins there too, that one goes last.
    std::optional<std::uint64_t> remove(std::uint64_t at);
    /// Parts that touch count as one.
    bool has(std::uint64_t at, std::uint64_t n) const;
};

inline constexpr tag ask_tag{3};

template <class Stack> class window;

template <class Stack> class agent final : wait_hook, duty {
    using world_type = typename Stack::world_type;

    window<Stack>& of_;
    channel<Stack> wire_;
    control<world_type>& control_;
    exposed_memory const& memory_;
    wait_hooks<world_type>& hooks_;
    using turn_type = typename lock::pthread::template type<world_type>;
    turn_type turn_{};                  // to take letters and do them: the agent, or a thread of the program that helps it
    turn_type change_{};                // to change elements that others have asked for
    std::unique_ptr<std::byte[]> afar_; // who has change_: data that the kernel reads, and what was there
    std::vector<std::byte> letter_, answer_;
    std::map<std::int32_t, std::uint32_t> refused_; // by sender
    std::uint32_t called_ = 0;                      // as control::called was, for who waits
    bool had_one_ = false;                          // the clerk's: the last look found a letter
    clerk<Stack>& by_;

public:
    /// Of a window that knows all of its own. Throws as clerk::serve does.
    agent(window<Stack>& w, clerk<Stack>& by)
        : of_{w}, wire_{w.wire_}, control_{*w.control_}, memory_{w.memory_}, hooks_{w.run_->hooks()}, by_{by} {
        hooks_.add(*this);
        try {
            by_.serve(*this);
        } catch (...) {
            hooks_.remove(*this);
            throw;
        }
    }
    ~agent() {
        hooks_.remove(*this);
        by_.leave(*this);
    }
    agent(agent const&) = delete;

    /// Does what the agent has been asked for: for a thread that waits, and looks more often than the agent wakes. False: somebody
    /// is at it.
    bool help() {
        typename turn_type::node place;
        if (!turn_.try_acquire(place)) return false;
        in_turn const mine{turn_, place};
        while (auto* const a = wire_.improbe(any_source, ask_tag)) serve(*a);
        return true;
    }

private:
    struct in_turn {
        turn_type& turn;
        typename turn_type::node& place;
        ~in_turn() { turn.release(place); }
    };
    /// The next letter.
    bool do_next(bool all) override {
        if (!all && !had_one_ && !control_.rung.clear()) return false;
        return had_one_ = take_one();
    }
    bool take_one() {
        typename turn_type::node place;
        turn_.acquire(place);
        in_turn const mine{turn_, place};
        auto* const a = wire_.improbe(any_source, ask_tag);
        if (a) serve(*a);
        return a != nullptr;
    }
    void serve(protocol::arrival& a) {
        letter_.resize(static_cast<std::size_t>(a.size));
        auto const got = wire_.recv(a, std::span{letter_});
        if (got.how != status::ok)
            throw error{errc::system, "mpt: a one-sided operation of rank " + std::to_string(got.source.value) +
                                          " did not reach the agent: " + std::string{to_string(got.how)} + '.'};
        opened_letter const l{letter_};
        auto& refused = refused_[got.source];
        answer_.clear();
        if (l.head.what == request::confirm) confirm(std::exchange(refused, 0));
        else if (!is_ours(l)) refused += l.head.answer == 0; // who waits for an answer hears of it now
        else execute(l);
        if (l.head.answer != 0) wire_.send(got.source, tag{l.head.answer}, std::span<std::byte const>{answer_});
        else control_.letters.one_done();
    }
    bool is_ours(opened_letter const& l) const {
        std::uint64_t first = ~std::uint64_t{0}, end = 0;
        bool is_sane = true;
        for (auto const& r : l.runs()) {
            std::uint64_t last = 0;
            is_sane &= !__builtin_add_overflow(r.at, r.bytes, &last);
            first = std::min(first, r.at), end = std::max(end, last);
        }
        if (is_sane && first < end && memory_.has(first, end - first)) return true; // one look in place of one for each
        return std::ranges::all_of(l.runs(), [&](memory_run const& r) { return memory_.has(r.at, r.bytes); });
    }
    void confirm(std::uint32_t refused) {
        answer_.resize(sizeof refused);
        std::memcpy(answer_.data(), &refused, sizeof refused);
    }
    void execute(opened_letter const& l) {
        if (l.head.answer != 0) answer_.resize(l.bytes_of_runs());
        execute(l, answer_);
    }
    /// answer: room for what is fetched, or none.
    void execute(opened_letter const& l, std::span<std::byte> answer) {
        switch (l.head.what) {
        case request::put: return put(l);
        case request::get: return get(l, answer);
        case request::update: return update(l, answer);
        case request::swap: return swap(l, answer);
        case request::confirm:
        case request::list: return;
        }
    }
    static std::byte* at(memory_run const& r) noexcept { return reinterpret_cast<std::byte*>(r.at); }
    static void must(bool good) {
        if (!good) throw error{errc::protocol, "mpt: a letter to an agent has other data than its runs."};
    }
    /// By a thread of the program that waits.
    std::size_t look() noexcept override {
        auto const called = control_.called.load(std::memory_order_relaxed); // order: a hint
        std::size_t done = std::exchange(called_, called) != called;
        for (auto& line : control_.asked)
            if (line.try_begin()) line.end(execute(line.message()), by_.is_awake()), ++done;
        return done;
    }
    /// False: it is not for our memory, there is no memory for it, or it is none. Nothing was done then.
    bool execute(active_message& m) noexcept try {
        if (m.what == request::list) return execute_list(m);
        memory_run const run{m.at, m.bytes};
        std::size_t const n = m.bytes, sent = m.what == request::swap ? 2 * n : n;
        if (!memory_.has(run.at, n)) return false;
        std::array<std::byte, active_message::most> was_there;
        auto *data = m.data.data(), *old = was_there.data();
        if (sent > m.data.size()) {
            auto const there = m.elsewhere();
            if (there.is_afar != 0) return change_from_afar(m, there);
            data = m.what == request::swap ? nullptr : wire_.on().look_into(rank{there.of}, there.at, 2 * n);
            if (!data) return false;
            old = data + n;
        }
        switch (m.what) {
        case request::put: return m.op == operation::no_op ? (copy_bytes(at(run), data, n), true) : put_and_change(m);
        case request::get: return copy_bytes(data, at(run), n), true;
        case request::update: {
            auto* const was = m.fetches ? old : nullptr;
            bool const is_one = !of_.rows_locked_ && n == facts(m.kind).size;
            if (!is_one || !of_.inside(here(), [&] { return combine_one(m.op, m.kind, at(run), data, was); })) {
                element_action const a{m.op, m.kind};
                if (!a.is_valid() || n % a.size() != 0) return false;
                change(a, {&run, 1}, m.op == operation::no_op ? nullptr : data, was);
            }
            if (m.fetches && old == was_there.data()) copy_bytes(data, old, n);
            return true;
        }
        case request::swap:
            of_.swap_at(here(), n, at(run), data, data + n, old, of_.rows_locked_);
            return copy_bytes(data, old, n), true;
        case request::confirm:
        case request::list: break;
        }
        return false;
    } catch (std::bad_alloc const&) { return false; } catch (error const&) {
        return false;
    }
    /// A letter on the origin's desk; its answer goes behind it.
    bool execute_list(active_message const& m) {
        auto const there = m.elsewhere();
        auto* const desk = wire_.on().look_into(rank{there.of}, there.at, 2 * desk_bytes);
        if (!desk || m.bytes > desk_bytes) return false;
        opened_letter const l{std::span<std::byte const>{desk, m.bytes}};
        auto const n = m.fetches ? l.bytes_of_runs() : 0;
        if (n > desk_bytes || !is_ours(l)) return false;
        try {
            execute(l, {desk + desk_bytes, n});
        } catch (std::bad_alloc const&) { // some of the runs may be changed: nobody may do that again
            of_.run_->job().abort(1, "mpt: no memory for a one-sided operation's data");
        }
        return true;
    }
    /// An update whose data are where the origin's program has them. False: the kernel does not reach them. What was there and cannot be
    /// written is 0 bytes.
    bool change_from_afar(active_message& m, active_message::place const& there) {
        element_action const a{m.op, m.kind};
        std::size_t const n = m.bytes;
        if (m.what != request::update || n > most_afar || !a.is_valid() || n % a.size() != 0) return false;
        if (there.of < 0 || there.of >= of_.size()) return false;
        auto const pid = of_.at(rank{there.of}).pid;
        bool const looks = m.op != operation::no_op;
        typename turn_type::node place;
        change_.acquire(place);
        in_turn const mine{change_, place};
        if (!afar_) afar_ = std::make_unique_for_overwrite<std::byte[]>(2 * most_afar);
        auto *const data = afar_.get(), *const old = data + most_afar;
        memory_run const run{m.at, n};
        if (looks && smp::read_process(pid, data, there.at, n) != status::ok) return false;
        change(a, {&run, 1}, looks ? data : nullptr, m.fetches ? old : nullptr);
        if (m.fetches && smp::write_process(pid, there.answer_at, old, n) != status::ok) m.bytes = 0;
        return true;
    }
    bool put_and_change(active_message const& m) {
        auto const then = m.what_follows();
        element_action const a{m.op, m.kind};
        if (!a.is_valid() || a.size() != sizeof then.value || !memory_.has(then.at, sizeof then.value)) return false;
        copy_bytes(at({m.at, m.bytes}), m.data.data(), m.bytes);
        memory_run const number{then.at, sizeof then.value};
        change(a, {&number, 1}, reinterpret_cast<std::byte const*>(&then.value), nullptr);
        return true;
    }
    auto& here() noexcept { return of_.at(of_.me_); }
    /// As one of the program's threads does: all who do the agent's work are one, or they would take the rows from each other.
    void change(element_action const& a, std::span<memory_run const> runs, std::byte const* operand, std::byte* old) {
        constexpr auto agents = ~std::uint64_t{0}; // no thread's number
        typename turn_type::node place;
        change_.acquire(place);
        in_turn const mine{change_, place};
        of_.combine_at(here(), of_.rows_locked_ ? a.under_lock() : a, runs, operand, old, agents);
    }
    void put(opened_letter const& l) {
        must(l.data.size() == l.bytes_of_runs());
        auto const* p = l.data.data();
        for (auto const& r : l.runs()) copy_bytes(at(r), p, r.bytes), p += r.bytes;
    }
    void get(opened_letter const& l, std::span<std::byte> answer) {
        must(answer.size() == l.bytes_of_runs());
        auto* p = answer.data();
        for (auto const& r : l.runs()) copy_bytes(p, at(r), r.bytes), p += r.bytes;
    }
    void update(opened_letter const& l, std::span<std::byte> answer) {
        element_action const asked{l.head.op, l.head.kind};
        bool const looks = l.head.op != operation::no_op;
        must(asked.is_valid() && (!looks || l.data.size() == l.bytes_of_runs()));
        for (auto const& r : l.runs()) must(asked.whole() == 0 || r.bytes % asked.whole() == 0);
        change(asked, l.runs(), looks ? l.data.data() : nullptr, answer.empty() ? nullptr : answer.data());
    }
    void swap(opened_letter const& l, std::span<std::byte> answer) {
        must(l.head.runs == 1 && l.data.size() == 2 * l.bytes_of_runs() && !answer.empty());
        auto const n = answer.size();
        of_.swap_at(here(), n, at(l.runs()[0]), l.data.data(), l.data.data() + n, answer.data(), of_.rows_locked_);
    }
};

} // namespace mpt::inline v0::rma
