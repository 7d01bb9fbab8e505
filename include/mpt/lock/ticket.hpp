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
///        leave with others in line, or as a tenant: kept, odd     come back: kept, even, up to `keeps` times in a row
///                                                                 next in line: sees it odd and unchanged: takes it
///
///   States  free: serving == next. held: serving is the holder's ticket; tickets serving+1 .. next-1 wait. By bias: depth_ is 0;
///           whoever has drawn a ticket, or taken a kept turn, then revokes the bias, and is the holder when the favourite has left.
///   Away    who yields says so, and a release passes it by, up to `passes` times: see ticket/places.hpp. What is handed over hangs on
///           `serving` alone.
///   Kept    A turn that goes from core to core takes the lock's lines along, and those of what it guards: a microsecond for what took
///           fifty nanoseconds. So who leaves may come back before the next in line, if it does so at once; who then only tries, or has
///           been there in vain (it looks for something, and others in line have something to do), passes the turn on. The next in line
///           is first all the same where it sleeps, or has seen that nobody comes back, and no two waiters change places.
///   Tenant  Threads that come as soon as they have left meet a lock that is free, every other time, and take those lines from each other
///           with each pass. So who has come `streak` times in a row keeps the turn although nobody is in line, and over those that are
///           away, until it was there in vain `vain` times in a row, or gives up; or until the next in line has waited for `stay`: it
///           claims its turn, which a release then passes on, or it takes. The next in line looks for a tenant that is
///           gone seldom, and less and less often: every look takes a line from who is inside. Where nobody is in line, who tries
///           takes a turn that is as somebody found it `gone` before, and any that is kept at the `tries`th time: so who only tries gets
///           in, too.
///           A tenant that has kept its turn `settled` times has the bias as well, whoever is in line: it comes and goes by plain stores, and
///           the turn stays kept. Who takes it, because the tenant is gone or the turn is claimed, revokes the bias.
///           origin: two threads of a rank that send windows of 64 messages to themselves, M/s, without and with tenants: on two CPUs of an
///           AMD EPYC guest 3 and 5 to 8, where one has 8 to 10; on 16 of an Intel Xeon's 1.2 and 3.2, four threads 0.9 and 3.7, 16 0.4 and 2.7
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
///   Cost    by bias: two stores, some thirty instructions. By ticket, free: one read-modify-write to acquire; two stores and a
///           load to release, each of a line that is the holder's while nobody waits, and a full fence only where the node's mode
///           is fence_mode::both.
///   Mutex   by_mutex(), before the first use, puts the system's mutex in the place of tickets and bells, for who asks for it at run
///           time (MPT_TICKET): in the order that the system likes. Nobody earns a bias there; a favoured caller has it until
///           another comes, and pays nothing for that choice.
///   Memory  four lines, the seats, the bells and the places; shared memory is fine: the owner's number is unique on the machine. A mode
///           that is not `both` says that one process alone takes the lock, and has registered (core/fences.hpp).
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
#include <mpt/lock/ticket/places.hpp>
#include <mpt/world/bell.hpp>

namespace mpt::inline v0::lock {

/// Spins: looks before the first yield, some microseconds: what a holder takes that comes back. Yields: yields before the first sleep.
/// Patience: how often a thread leaves the lock with nobody in between before it may enter by plain stores (lock/bias.hpp): what so
/// many tickets cost more is what a revocation costs, a microsecond or two.
/// Passes: how often a waiter that yields may be passed by. Places: where waiters say that they yield: more than there may be waiters, for
/// who finds its place taken stays in line. Keeps: how often in a row a holder comes back before others: a millisecond or so of short
/// passes, where nobody claims its turn. Grace: looks, half a microsecond, before the first for a turn that was kept.
/// Seats: of favourites, see lock/bias.hpp. Streak, Vain, Stay, Gone, Tries, Settled: see Tenant; Stay and Gone are microseconds. Vain: longer
/// than the answer to a window of messages takes. origin: windows of 64 by 2, 4, 8, 16 threads of two ranks, Intel Xeon, two far CPUs,
/// M/s, 128 / 512: 7.2 / 8.1, 7.9 / 8.3, 7.7 / 8.1, 6.8 / 8.3
template <std::uint32_t Spins = 4000, std::uint32_t Yields = 200, std::uint32_t Bells = 8, std::uint32_t Patience = 256,
          std::uint32_t Passes = 16, std::uint32_t Places = 64, std::uint32_t Keeps = 16384, std::uint32_t Grace = 512,
          std::uint32_t Streak = 8, std::uint32_t Vain = 512, std::uint32_t Stay = 300, std::uint32_t Gone = 5,
          std::uint32_t Tries = 512, std::uint32_t Settled = 64, std::uint32_t Seats = 32>
struct basic_ticket {
    static_assert(Bells > 0 && (Bells & (Bells - 1)) == 0, "mpt::lock::ticket: the number of bells is a power of two");
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
        static constexpr nanoseconds stay{1000 * std::int64_t{Stay}}, gone{1000 * std::int64_t{Gone}};
        static constexpr nanoseconds apart{stay / 32}; // from one look after a kept turn to the next,
        static constexpr std::uint32_t many = 64;      // or so many yields

        /// Of those who tried and found the turn kept: how lively it was, and how often that was so.
        struct tries {
            std::uint32_t lively, all;
        };

        alignas(cache_line) atomic<std::uint32_t> next_{0}; // arrivals write
        atomic<std::uint32_t> claimed_{0};                  // the next in line writes its ticket, once it has waited for long
        alignas(cache_line) atomic<std::uint32_t> serving_{0}; // the holder writes, the waiters spin
        alignas(cache_line) atomic<tries> tried_{tries{}};     // who tries writes
        atomic<std::int64_t> tried_at_{0};                     // when somebody found it so lively first, ns
        alignas(cache_line) atomic<std::uint64_t> owner_{0};   // the holder writes its number, 0 when it goes
        atomic<std::uint64_t> keeper_{0};                      // who has kept its turn
        atomic<std::uint32_t> kept_{0};                        // odd: it is kept. By the holder, and who becomes it
        std::uint32_t depth_ = 0;                              // the holder's by ticket
        // The holder's: how often a turn was kept, since others had theirs; how often its keeper has come in a row, not in vain; how often
        // in vain, since; whether this time.
        std::uint32_t returns_ = 0, row_ = 0, vain_ = 0;
        bool in_vain_ = false;
        std::uint32_t vain_at_ = 0;   // of a tenant that has the bias: which stay was in vain last
        fence_mode mode_, bias_mode_; // the latter the holder's
        bias<World, Patience, Settled, Seats> bias_{};
        [[no_unique_address]] World world_;
        std::array<world::bell<World>, Bells> bells_{};
        ticket_places<World, Places> places_{};
        std::optional<pthread::type<World>> mutex_;
        typename pthread::type<World>::node no_node_;

    public:
        struct node {};

        /// mode: who fences, as the node decided: the same for all who take this lock. `both` is right everywhere, and costs
        /// every release a full fence.
        explicit type(World w = {}, fence_mode mode = fence_mode::both) noexcept : mode_{mode}, bias_mode_{mode}, world_{w} {}
        type(type const&) = delete;
        type& operator=(type const&) = delete;
        /// Its maker, before anybody uses it: the system's mutex from here on. Throws as lock::pthread does.
        void by_mutex() { mutex_.emplace(); }
        /// Before anybody uses it: all who take this lock are threads of one process that has registered (core/fences.hpp), so revoking
        /// a bias may be the visitor's price whatever the mode is.
        void allow_bias() noexcept { bias_mode_ = fence_mode::sleeper; }
        /// The same, and by a thread that expects to be alone: it has the bias from now on, as if it had earned it.
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
        /// The holder, who has found nothing to do: this pass is none of a row of passes, and the turn others'.
        [[gnu::always_inline]] void in_vain() noexcept {
            in_vain_ = true;
            if (depth_ == 0 && is_kept()) [[unlikely]]
                was_settled_in_vain();
        }
        /// Anyone who is not inside, and will not come back soon: a turn that it has kept is others'.
        void give_up() noexcept {
            auto const me = world_.self();
            if (mutex_ || bias_.holds(me) || !come_back(me)) return;
            row_ = 0;
            bias_.drop(me, bias_mode_);
            pass_on();
        }

    private:
        [[gnu::noinline]] void acquire_by_ticket(std::uint64_t me) noexcept {
            if (come_back(me)) return bias_.revoke(world_, me, bias_mode_), own(me); // first, for a tenant does it every time
            if (again(me)) return;
            if (mutex_) return mutex_->acquire(no_node_), bias_.revoke(world_, me, bias_mode_), own(me);
            bias_.retire(me);
            for (std::uint32_t passes = 0;; ++passes) {
                auto const mine = next_.fetch_add(1, std::memory_order_relaxed); // order: only uniqueness is needed
                if (is_turn(mine) || wait_turn(mine, passes < Passes)) break;
            }
            bias_.revoke(world_, me, bias_mode_);
            own(me);
        }
        [[gnu::noinline]] bool try_by_ticket(std::uint64_t me) noexcept {
            if (again(me)) return true;
            if (mutex_) return mutex_->try_acquire(no_node_) && is_alone_with_mutex(me);
            if (come_back(me)) {
                if (is_tenant() && bias_.try_revoke(me, bias_mode_)) return own(me), true;
                return pass_on(), false;
            }
            if (bias_.seems_taken()) return false;
            auto free = serving_.load(std::memory_order_acquire);    // sync(ticket.hand-over): acquire
            auto const next = next_.load(std::memory_order_relaxed); // order: a hint, which leaves the line where it is
            if (next == free + 1) {
                if (!take_abandoned()) return false;
            } else if (next != free || !next_.compare_exchange_strong(free, free + 1, std::memory_order_relaxed))
                return false; // order: only uniqueness; no later turn than `free` can have been served before its ticket was drawn
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
            bool const vain = std::exchange(in_vain_, false);
            count_pass(me, vain);
            if (!keep_turn(me, vain)) pass_on();
        }
        bool is_tenant() const noexcept { return row_ >= Streak; } // the keeper
        void count_pass(std::uint64_t me, bool vain) noexcept {
            if (keeper_.load(std::memory_order_relaxed) != me) { // order: holders write it
                keeper_.store(me, std::memory_order_relaxed);    // order: read as our own number by us alone
                row_ = vain_ = 0;
            }
            if (!vain) row_ += is_tenant() ? 0 : 1, vain_ = 0;
            else if (++vain_ >= Vain) row_ = 0;
        }
        /// Who leaves: true where the turn stays with it.
        bool keep_turn(std::uint64_t me, bool vain) noexcept {
            auto const turn = serving_.load(std::memory_order_relaxed) + 1;   // order: only the holder writes it
            bool const alone = next_.load(std::memory_order_relaxed) == turn; // order: a hint, either way is right
            bool keeps = returns_ != Keeps && !is_claimed(turn) && (is_tenant() || (!alone && !vain && !places_.is_away(turn)));
            if ((alone || !keeps) && bias_.earn(me, bias_mode_)) keeps = false;
            if (!keeps) return false;
            ++returns_;
            if (is_tenant()) bias_.settle(me, bias_mode_, returns_);
            // order: only the holder makes it odd
            kept_.store(kept_.load(std::memory_order_relaxed) + 1, std::memory_order_release); // sync(ticket.kept): release
            bells_[turn % Bells].ring(world_, mode_);
            return true;
        }
        bool is_alone_with_mutex(std::uint64_t me) noexcept {
            bool const alone = bias_.try_revoke(me, bias_mode_);
            if (alone) own(me);
            else mutex_->release(no_node_);
            return alone;
        }
        bool is_claimed(std::uint32_t turn) const noexcept {
            return claimed_.load(std::memory_order_relaxed) == turn; // order: a hint; seen late, the turn is kept once more
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
        /// Who tries, while nobody is in line: true where it has taken a turn whose keeper is gone.
        bool take_abandoned() noexcept {
            auto const now = kept_.load(std::memory_order_relaxed); // order: the exchange decides
            if (now % 2 == 0) return false;
            auto const lively = liveliness(now);
            auto const before = tried_.load(std::memory_order_relaxed); // order: a hint
            auto const moment = world_.now();
            if (before.lively != lively) tried_at_.store(moment.count(), std::memory_order_relaxed); // order: a hint
            bool const is_gone = before.lively == lively &&
                                 moment.count() - tried_at_.load(std::memory_order_relaxed) >= gone.count(); // order: a hint
            bool const takes = is_gone || before.all + 1 >= Tries;
            tried_.store(takes ? tries{} : tries{lively, before.all + 1}, std::memory_order_relaxed); // order: a hint
            if (!takes || !take_kept(now)) return false;
            returns_ = 0;
            return true;
        }
        void pass_on() noexcept {
            returns_ = 0;
            next_turn();
        }
        void next_turn() noexcept {
            auto turn = serving_.load(std::memory_order_relaxed) + 1; // order: only the holder writes it
            while (places_.pass_by(turn)) ++turn;
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
            in_vain_ = false;
        }
        bool is_turn(std::uint32_t mine) const noexcept {
            return serving_.load(std::memory_order_acquire) == mine; // sync(ticket.hand-over): acquire
        }
        bool is_kept() const noexcept {
            return kept_.load(std::memory_order_relaxed) % 2 != 0;
        } // order: the holder's, or a hint
        /// Differs from one look to the next where a keeper was there meanwhile. kept: what kept_ is.
        std::uint32_t liveliness(std::uint32_t kept) const noexcept {
            return kept + 2 * static_cast<std::uint32_t>(bias_.stays());
        }
        /// A tenant that is inside by its bias, in vain; once too often, and it holds its turn from here on, which its release passes on.
        [[gnu::noinline]] void was_settled_in_vain() noexcept {
            auto const now = static_cast<std::uint32_t>(bias_.stays()); // a stay in a stay counts as one that found something
            if (now == vain_at_) return;                                // said twice
            vain_ = now == vain_at_ + 1 ? vain_ + 1 : 1;
            vain_at_ = now;
            if (vain_ < Vain || !take_kept(kept_.load(std::memory_order_relaxed))) return; // order: the exchange decides
            auto const depth = bias_.give_back();
            own(world_.self());
            depth_ = depth;
            in_vain_ = true;
        }
        /// What a waiter has seen of the keeper, when it looks again, and whether its last look found something else.
        struct watch {
            std::uint32_t looks = 0, next = Grace, lively = 0;
            bool busy = false;
        };
        bool is_next(std::uint32_t mine) const noexcept {
            return serving_.load(std::memory_order_relaxed) + 1 == mine; // order: the exchange acquires
        }
        /// The next in line: true where it has taken a turn whose keeper is gone.
        bool take_over(std::uint32_t mine, watch& w) noexcept {
            auto const now = kept_.load(std::memory_order_relaxed); // order: the exchange decides
            auto const lively = liveliness(now);
            w.busy = std::exchange(w.lively, lively) != lively || bias_.seems_taken();
            return (!w.busy || is_claimed(mine)) && take_turn(mine, now);
        }
        /// A look of a waiter that is awake.
        bool look(std::uint32_t mine, watch& w) noexcept {
            if (is_turn(mine)) return true;
            if (!is_next(mine) || ++w.looks < w.next) [[likely]]
                return false;
            w.next *= 2;
            return take_over(mine, w);
        }
        /// The next in line takes a kept turn.
        bool take_turn(std::uint32_t mine, std::uint32_t kept) noexcept {
            if (!take_kept(kept)) return false;
            returns_ = 0;
            serving_.store(mine, std::memory_order_relaxed); // order: those in line see who is next, and nothing hangs on it
            return true;
        }
        /// False: the turn is lost.
        [[gnu::noinline]] bool wait_turn(std::uint32_t mine, bool may_pass) noexcept {
            auto& bell = bells_[mine % Bells];
            patience p;
            for (std::uint32_t yields = Yields;; yields = 0) { // who was woken is next, or the bell is another's
                watch w;
                for (std::uint32_t i = 0; i < Spins; ++i)
                    if (look(mine, w)) return true;
                for (std::uint32_t i = 0; i < yields || (w.busy && is_next(mine)); ++i) {
                    if (!places_.yield(world_, mine, may_pass && !p.claims)) return false;
                    if (is_turn(mine) || (wears_out(mine, p, i) && take_over(mine, w))) return true;
                }
                wears_out(mine, p, 0);
                auto const seen = bell.arm(mode_);
                if (is_turn(mine) || takes_at_once(mine)) return true;
                bell.sleep(world_, seen, longest_sleep);
            }
        }
        /// Of a waiter: when it became the next in line, when it looked after a kept turn, and whether it has claimed it.
        struct patience {
            nanoseconds since{}, looked{};
            bool claims = false;
        };
        /// Of the next in line: it claims its turn when it has waited for long. True: it is time to look after a kept turn.
        bool wears_out(std::uint32_t mine, patience& p, std::uint32_t yields) noexcept {
            if (!is_next(mine)) return false;
            auto const now = world_.now();
            if (p.since == nanoseconds{}) p.since = now;
            if (!p.claims && now - p.since >= stay) {
                p.claims = true;
                claimed_.store(mine, std::memory_order_relaxed); // order: see is_claimed
            }
            if (!p.claims && now - p.looked < apart && yields % many != many - 1) return false;
            p.looked = now;
            return true;
        }
        /// Who would sleep, and be woken: the next in line does not.
        bool takes_at_once(std::uint32_t mine) noexcept {
            return is_next(mine) && take_turn(mine, kept_.load(std::memory_order_relaxed)); // order: the exchange decides
        }
    };
};

using ticket = basic_ticket<>;
static_assert(lock_policy<ticket>);

} // namespace mpt::inline v0::lock
