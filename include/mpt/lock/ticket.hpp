/// lock::ticket - first come, first served; recursive; its waiters sleep when their turn is long in coming. The default.
///
///        next 7        serving 4            bells   b0  b1  b2  b3  b4  b5  b6  b7
///        (arrivals)    (one store a turn)                           ^5  ^6
///
///        acquire: mine = next++                                   release: ++serving
///          serving == mine           ---> ours                             ring the bell of the new turn:
///          look `spins` times, then yield `yields` times                   a load where nobody sleeps on it
///          arm bell[mine % bells], look once more, sleep
///
///        yield: place = away(mine)      CPU to others             release: place of the new turn is away?
///               place was passed?  draw another ticket                     then passed, and on to the next turn
///               still away?        stay in line
///
///        leave with others in line: kept, odd                     come back: kept, even, up to `keeps` times in a row
///                                                                 next in line: sees it odd and unchanged for `grace` looks: takes it
///
///   States  free: serving == next. held: serving is the holder's ticket; tickets serving+1 .. next-1 wait. By bias: depth_ is 0;
///           whoever draws a ticket then revokes the bias in its turn, and is the holder when the favourite has left.
///   Away    Where threads outnumber CPUs, a turn given to a thread that is not running stops all others until the system runs it,
///           and as all of them come again at once, every turn after it too. So who yields says so in places_[mine % places], and a
///           release passes it by: first come, first served holds among those who look or sleep. Who was passed `passes` times is
///           away no more. A place that another ticket has is not waited for: its waiter stays in line. Both sides change a place by
///           one read-modify-write, so one of them is first: a waiter that comes back before it was passed is in line, whether
///           its turn has come meanwhile or not. What is handed over hangs on `serving` alone.
///   Kept    A turn that goes from core to core takes the lock's lines along, and those of what it guards: a microsecond for what took
///           fifty nanoseconds. So who leaves may come back before the next in line, if it does so at once and not too often; and who
///           then only tries (it looks for something, and others in line have something to do) passes the turn on. The next in line
///           is first all the same where it sleeps or has waited out the grace, and no two waiters change places.
///           origin: two CPUs of an AMD EPYC guest, 12 lines inside, M acquires/s, without / with / by the mutex: 2 threads 7 / 22 / 6, 4
///           threads 2 to 8 / 16 / 6, 16 threads 1 to 5 / 15 / 6; of spins, 1000 / 4000: 16 threads 6 / 15
///   Order   One hand-over: release stores serving (release), the next holder loads it (acquire); or release makes kept odd (release), and
///           whoever makes it even (acquire) is the holder: by one read-modify-write, so one of them. A waiter that sleeps is
///           reached through its bell (world/bell.hpp, Dekker): the release either sees it armed and wakes, or the
///           waiter's last look at `serving` and `kept`, which comes after arm(), sees its turn. The bell belongs to the ticket, so
///           the one sleeper whose turn it is wakes and nobody else; tickets `bells` apart share one and wake together,
///           and all but one go back to sleep.
///           owner_ is compared only with one's own number: a thread that reads its own number wrote it last, for it
///           writes 0 before it lets the lock go; whatever else it reads, it is not the holder.
///   Wake    no wake-up is lost, and yet no sleep is longer than 100 ms: a ringer that is stopped or killed between its two
///           steps, and a kernel that loses a wake-up, cost that much and do not hang anybody.
///   Cost    by bias: two stores, some twenty instructions. By ticket, free: one read-modify-write to acquire; two stores and a
///           load to release, each of a line that is the holder's while nobody waits, and a full fence only where the node's mode
///           is fence_mode::both.
///   Mutex   by_mutex(), before the first use, puts the system's mutex in the place of tickets, bells and bias, for who asks for it
///           at run time (MPT_TICKET): in the order that the system likes. Who has the bias pays nothing for that choice.
///   Memory  three lines, the bells and the places; shared memory is fine: the owner's number is unique on the machine, and a mode that is not
///           `both` says that all processes which map the lock have registered (core/fences.hpp).
///   Limit   A release still looks at its bell after the next holder may have come: the lock's memory outlives the last
///           release. At most 2^32 - 1 threads wait. A holder that dies keeps the lock.
///   Tests   test/lock_ticket_test.cpp (conformance), test/model/ticket_model_test.cpp (every order is needed, none missing),
///           test/stress/lock_bias_stress_test.cpp
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <mpt/core/types.hpp>
#include <mpt/lock/bias.hpp>
#include <mpt/lock/lock.hpp>
#include <mpt/lock/pthread.hpp>
#include <mpt/world/bell.hpp>

namespace mpt::inline v0::lock {

/// Spins: looks before the first yield, some microseconds: what a holder takes that comes back. Yields: yields before the first sleep.
/// Patience: how often a thread leaves the lock with nobody in between before it may enter by plain stores (lock/bias.hpp): what so
/// many tickets cost more is what a revocation costs, a microsecond or two.
/// Passes: how often a waiter that yields may be passed by. Places: where waiters say that they yield: more than there may be waiters, for
/// who finds its place taken stays in line. Keeps: how often in a row a holder comes back before others. Grace: looks, half a
/// microsecond.
template <std::uint32_t Spins = 4000, std::uint32_t Yields = 200, std::uint32_t Bells = 8, std::uint32_t Patience = 256,
          std::uint32_t Passes = 16, std::uint32_t Places = 64, std::uint32_t Keeps = 64, std::uint32_t Grace = 512>
struct basic_ticket {
    static_assert(Bells > 0 && (Bells & (Bells - 1)) == 0, "mpt::lock::ticket: the number of bells is a power of two");
    static_assert(Places > 0 && (Places & (Places - 1)) == 0, "mpt::lock::ticket: the number of places is a power of two");
    using kind = mpt::kind::lock;
    static constexpr std::string_view name = "ticket";
    static constexpr bool process_shared = true;
    static constexpr bool recursive = true;
    static constexpr bool fair = true;

    template <class World> class type {
        template <class T> using atomic = typename World::atomics::template atomic<T>;
        static_assert(atomic<std::uint32_t>::is_always_lock_free && atomic<std::uint64_t>::is_always_lock_free,
                      "mpt::lock::ticket: a lock in shared memory must not hide a mutex");
        static constexpr nanoseconds longest_sleep{100'000'000}; // see Wake

        alignas(cache_line) atomic<std::uint32_t> next_{0};    // arrivals write
        alignas(cache_line) atomic<std::uint32_t> serving_{0}; // the holder writes, the waiters spin
        alignas(cache_line) atomic<std::uint64_t> owner_{0};   // the holder writes its number, 0 when it goes
        atomic<std::uint64_t> keeper_{0};                      // who has kept its turn
        atomic<std::uint32_t> kept_{0};                        // odd: it is kept. By the holder, and who becomes it
        std::uint32_t depth_ = 0;                              // the holder's by ticket
        std::uint32_t returns_ = 0;   // the holder's: how often a turn was kept, since others had theirs
        fence_mode mode_, bias_mode_; // the latter the holder's
        bias<World, Patience> bias_{};
        [[no_unique_address]] World world_;
        std::array<world::bell<World>, Bells> bells_{};
        std::array<atomic<std::uint64_t>, Places> places_{}; // 0, or away(ticket), or passed(ticket): see Away
        std::optional<pthread::type<World>> mutex_;
        typename pthread::type<World>::node no_node_;

        static constexpr std::uint64_t away(std::uint32_t ticket) noexcept { return std::uint64_t{ticket} << 2 | 1; }
        static constexpr std::uint64_t passed(std::uint32_t ticket) noexcept { return std::uint64_t{ticket} << 2 | 2; }

    public:
        struct node {};

        /// mode: who fences, as the node decided: the same for all who take this lock. `both` is right everywhere, and costs
        /// every release a full fence.
        explicit type(World w = {}, fence_mode mode = fence_mode::both) noexcept : mode_{mode}, bias_mode_{mode}, world_{w} {}
        type(type const&) = delete;
        type& operator=(type const&) = delete;
        /// Its maker, before anybody uses it: the system's mutex from here on. Throws as lock::pthread does.
        void by_mutex() { mutex_.emplace(); }
        /// By a thread that expects to be alone: it has the bias from now on, as if it had earned it. All who take this lock are of
        /// processes that have registered (core/fences.hpp): revoking may be the visitor's price whatever the node's mode is.
        void favour_caller() noexcept {
            node mine;
            acquire(mine);
            if (depth_ != 0) bias_.grant(world_.self(), bias_mode_ = fence_mode::sleeper);
            release(mine);
        }

        [[gnu::always_inline]] void acquire(node&) noexcept {
            auto const me = world_.self();
            if (!bias_.enter(me)) acquire_by_ticket(me);
        }
        [[gnu::always_inline]] bool try_acquire(node&) noexcept {
            auto const me = world_.self();
            return bias_.enter(me) || try_by_ticket(me);
        }
        [[gnu::always_inline]] void release(node&) noexcept {
            if (depth_ == 0) [[likely]]
                return bias_.leave();
            release_ticket();
        }

    private:
        [[gnu::noinline]] void acquire_by_ticket(std::uint64_t me) noexcept {
            if (again(me)) return;
            if (mutex_) return mutex_->acquire(no_node_), own(me);
            if (come_back(me)) return own(me);
            for (std::uint32_t passes = 0;; ++passes) {
                auto const mine = next_.fetch_add(1, std::memory_order_relaxed); // order: only uniqueness is needed
                if (is_turn(mine) || wait_turn(mine, passes < Passes)) break;
            }
            bias_.revoke(world_, me, bias_mode_);
            own(me);
        }
        [[gnu::noinline]] bool try_by_ticket(std::uint64_t me) noexcept {
            if (again(me)) return true;
            if (mutex_) return mutex_->try_acquire(no_node_) && (own(me), true);
            if (come_back(me)) return pass_on(), false;
            if (bias_.seems_taken()) return false;
            auto free = serving_.load(std::memory_order_acquire);            // sync(ticket.hand-over): acquire
            if (next_.load(std::memory_order_relaxed) != free) return false; // order: a hint, which leaves the line where it is
            // order: only uniqueness; no later turn than `free` can have been served before its ticket was drawn
            if (!next_.compare_exchange_strong(free, free + 1, std::memory_order_relaxed)) return false;
            bool const alone = bias_.try_revoke(me, bias_mode_);
            if (alone) own(me);
            else pass_on();
            return alone;
        }
        [[gnu::noinline]] void release_ticket() noexcept {
            if (--depth_ != 0) return;
            auto const me = owner_.load(std::memory_order_relaxed); // order: our own store
            owner_.store(0, std::memory_order_relaxed);             // order: read as our own number by us alone
            if (mutex_) return mutex_->release(no_node_);
            if (keep_turn(me)) return;
            bias_.earn(me, bias_mode_);
            pass_on();
        }
        /// Who leaves: true where the turn stays with it.
        bool keep_turn(std::uint64_t me) noexcept {
            auto const turn = serving_.load(std::memory_order_relaxed) + 1;           // order: only the holder writes it
            if (returns_ == Keeps || next_.load(std::memory_order_relaxed) == turn || // order: a hint, either way is right
                places_[turn % Places].load(std::memory_order_relaxed) == away(turn)) // order: the same
                return false;
            ++returns_;
            keeper_.store(me, std::memory_order_relaxed); // order: read as our own number by us alone
            // order: only the holder makes it odd
            kept_.store(kept_.load(std::memory_order_relaxed) + 1, std::memory_order_release); // sync(ticket.kept): release
            bells_[turn % Bells].ring(world_, mode_);
            return true;
        }
        /// Whoever has kept the turn, or has found another's kept meanwhile.
        bool come_back(std::uint64_t me) noexcept {
            if (keeper_.load(std::memory_order_relaxed) != me) return false; // order: only our own store can read as `me`
            return take_kept(kept_.load(std::memory_order_relaxed));         // order: the exchange decides
        }
        /// seen: what kept_ was. True: the caller is the holder.
        bool take_kept(std::uint32_t seen) noexcept {
            return seen % 2 != 0 &&
                   kept_.compare_exchange_strong(seen, seen + 1, std::memory_order_acquire, // sync(ticket.kept): acquire
                                                 std::memory_order_relaxed); // order: refused, nothing hangs on it
        }
        void pass_on() noexcept {
            returns_ = 0;
            next_turn();
        }
        void next_turn() noexcept {
            auto turn = serving_.load(std::memory_order_relaxed) + 1; // order: only the holder writes it
            while (pass_by(turn)) ++turn;
            serving_.store(turn, std::memory_order_release); // sync(ticket.hand-over): release
            bells_[turn % Bells].ring(world_, mode_);
        }
        bool again(std::uint64_t me) noexcept {
            if (bias_.enter_again(me)) return true;
            if (owner_.load(std::memory_order_relaxed) != me) return false; // order: only our own store can read as `me`
            ++depth_;
            return true;
        }
        void own(std::uint64_t me) noexcept {
            owner_.store(me, std::memory_order_relaxed); // order: read as our own number by us alone
            depth_ = 1;
        }
        bool is_turn(std::uint32_t mine) const noexcept {
            return serving_.load(std::memory_order_acquire) == mine; // sync(ticket.hand-over): acquire
        }
        /// What a waiter has seen of a kept turn, and how often it has looked.
        struct grace {
            std::uint32_t looks = 0, kept = 0;
        };
        /// A look of a waiter that is awake: with each `apart`th it looks after a kept turn, too.
        bool is_turn(std::uint32_t mine, grace& g, std::uint32_t apart) noexcept {
            auto const turn = serving_.load(std::memory_order_acquire); // sync(ticket.hand-over): acquire
            if (turn == mine) return true;
            if (turn + 1 != mine || ++g.looks % apart != 0) [[likely]]
                return false;
            auto const now = kept_.load(std::memory_order_relaxed); // order: the exchange decides
            return std::exchange(g.kept, now) == now && take_turn(mine, now);
        }
        /// The next in line takes a kept turn.
        bool take_turn(std::uint32_t mine, std::uint32_t kept) noexcept {
            if (!take_kept(kept)) return false;
            returns_ = 0;
            serving_.store(mine, std::memory_order_relaxed); // order: those in line see who is next, and nothing hangs on it
            return true;
        }
        /// The holder: true where the waiter of that turn is away, and has lost it.
        bool pass_by(std::uint32_t turn) noexcept {
            auto& place = places_[turn % Places];
            auto seen = place.load(std::memory_order_relaxed); // order: a hint, the exchange decides
            if (seen != away(turn)) [[likely]]
                return false;
            return place.compare_exchange_strong(seen, passed(turn), std::memory_order_relaxed); // order: see Away
        }
        /// False: the turn is lost.
        bool yield_at(std::uint32_t mine, bool may_pass) noexcept {
            auto& place = places_[mine % Places];
            std::uint64_t empty = 0;
            // order: see Away
            bool const left = may_pass && place.compare_exchange_strong(empty, away(mine), std::memory_order_relaxed);
            world_.yield();
            return !left || place.exchange(0, std::memory_order_relaxed) == away(mine); // order: see Away
        }
        /// False: the turn is lost.
        [[gnu::noinline]] bool wait_turn(std::uint32_t mine, bool may_pass) noexcept {
            grace g;
            for (std::uint32_t i = 0; i < Spins; ++i)
                if (is_turn(mine, g, Grace)) return true;
            for (std::uint32_t i = 0; i < Yields; ++i) {
                if (!yield_at(mine, may_pass)) return false;
                if (is_turn(mine, g, 1)) return true; // a yield is a grace
            }
            auto& bell = bells_[mine % Bells];
            while (true) {
                auto const seen = bell.arm(mode_);
                if (is_turn(mine) || takes_at_once(mine)) return true;
                bell.sleep(world_, seen, longest_sleep);
                for (std::uint32_t i = 0; i < Spins; ++i) // a turn that was kept may be so again, and each time would wake us
                    if (is_turn(mine, g, Grace)) return true;
            }
        }
        /// Who would sleep, and be woken: the next in line does not.
        bool takes_at_once(std::uint32_t mine) noexcept {
            return serving_.load(std::memory_order_relaxed) + 1 == mine && // order: the exchange acquires
                   take_turn(mine, kept_.load(std::memory_order_relaxed)); // order: the exchange decides
        }
    };
};

using ticket = basic_ticket<>;
static_assert(lock_policy<ticket>);

} // namespace mpt::inline v0::lock
