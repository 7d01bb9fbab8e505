// Chapter 3: waiting for requests, and asking whether they are done.
#include <algorithm>
#include <vector>

#include "entries.hpp"
#include "generalized.hpp"
#include "partitioned.hpp"
#include "plain.hpp"
#include "quick.hpp"

namespace mpt::c {

namespace {

/// An active request of an array.
struct pending {
    int index;
    request* r;
};

[[gnu::always_inline]] inline request* active(binding& b, MPI_Request handle) noexcept {
    auto* const r = handle == MPI_REQUEST_NULL ? nullptr : b.requests.find_handle(handle);
    return r && r->active ? r : nullptr;
}

std::vector<pending> active_ones(binding& b, MPI_Request const* handles, int n) {
    std::vector<pending> all;
    all.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
        if (auto* const r = active(b, handles[i])) all.push_back({i, r});
    return all;
}

/// The end of a request that is done, or is waited for here: its handle dies where it is not persistent. It lives as long as this
/// waits, and the request is active: another thread may cancel it, ask for its state, or make a partition of it ready.
[[gnu::noinline]] ending end_of(binding& b, MPI_Request& handle) {
    ref<request> kept{b.requests.get(handle)};
    auto& home = kept->home();
    auto const is_over = [&](auto&) { return kept->peek(home); };
    auto peer = any_source;
    bool const over = home.enter([&](auto&) { return kept->peek(home) || (peer = kept->awaited(), false); });
    if (!over) home.wait(kept->about(), is_over, nullptr, peer);
    bool const ends = !kept->persistent;
    if (ends) b.requests.remove(word_of(std::exchange(handle, MPI_REQUEST_NULL)))->let_go();
    auto e = kept->finish();
    if (auto& r = *kept; ends && e.code == MPI_SUCCESS) r.rest(b, std::move(kept));
    return e;
}

/// An ending that is an error, and whose handler hears of it.
struct failure {
    ending what;
    raised_on blamed;
};

/// Ends a request and writes its status; what is to be raised, if anything is.
std::optional<failure> end(binding& b, MPI_Request& handle, request& r, MPI_Status* status) {
    auto const blamed = r.blamed;
    std::optional<ending> wrong;
    if (handle == b.left) {
        handle = MPI_REQUEST_NULL;
        tell_sent(status);
    } else if (r.plain) {
        wrong = static_cast<plain_transfer&>(r).end(status);
        b.requests.retire(word_of(std::exchange(handle, MPI_REQUEST_NULL)));
    } else {
        auto e = end_of(b, handle);
        e.tell_to(status);
        if (e.code != MPI_SUCCESS) wrong = std::move(e);
    }
    if (!wrong) [[likely]]
        return std::nullopt;
    return failure{std::move(*wrong), blamed};
}

/// Completes one request of a call that completes one: status, and the error.
void complete(call& on, MPI_Request& handle, MPI_Status* status) {
    auto const wrong = end(on.of(), handle, on.of().requests.get(handle), status);
    if (wrong) require(on, wrong->what, wrong->blamed);
}

MPI_Status* nth(MPI_Status* all, int i) noexcept { return all == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : all + i; }

/// Ends the sends of an array that have left, from that place on: the place of the next request.
[[gnu::noinline]] int end_left(MPI_Request left, int i, int n, MPI_Request* handles, MPI_Status* statuses) noexcept {
    for (; i < n && handles[i] == left; ++i) {
        handles[i] = MPI_REQUEST_NULL;
        tell_sent(nth(statuses, i));
    }
    return i;
}

/// The ends of several requests: errors go into the statuses, and the call says MPI_ERR_IN_STATUS.
class endings {
    call& on_;
    MPI_Status* statuses_;
    int told_ = 0;             // statuses from the first one on
    int failed_ = MPI_SUCCESS; // the code of the first that did
    raised_on blamed_;
    std::string sentence_;
    std::vector<std::pair<int, int>> codes_; // place in the statuses, code of an error

public:
    endings(call& on, MPI_Status* statuses) : on_{on}, statuses_{statuses} {}

    /// Ends a request.
    void add(MPI_Request& handle, request& r, int index, int place) {
        auto const wrong = end(on_.of(), handle, r, nth(statuses_, place));
        told_ = place + 1;
        if (wrong) [[unlikely]]
            failed(wrong->what, wrong->blamed, index, place);
    }
    /// An end that is told of.
    void add(ending const& e, raised_on const& blamed, int index, int place) {
        e.tell_to(nth(statuses_, place));
        told_ = place + 1;
        if (e.code != MPI_SUCCESS) failed(e, blamed, index, place);
    }
    /// The first n statuses were written, by whomever.
    void told(int n) noexcept { told_ = n; }
    void add_empty(int place) {
        tell_empty(nth(statuses_, place));
        told_ = place + 1;
    }
    /// Throws where one failed.
    void close() const {
        if (failed_ == MPI_SUCCESS) return;
        for (int i = 0; statuses_ != MPI_STATUSES_IGNORE && i < told_; ++i) statuses_[i].MPI_ERROR = MPI_SUCCESS;
        for (auto const& [place, code] : codes_) statuses_[place].MPI_ERROR = code;
        on_.blame(blamed_);
        throw error_in_status{failed_, sentence_};
    }

private:
    void failed(ending const& e, raised_on const& blamed, int index, int place) {
        if (statuses_ != MPI_STATUSES_IGNORE) codes_.emplace_back(place, e.code);
        if (failed_ != MPI_SUCCESS) return;
        failed_ = e.code, blamed_ = blamed;
        sentence_ = "request " + std::to_string(index) + ": " + e.sentence;
    }
};

using retirement = handle_table<request>::retirement;

/// Is it one of the two sorts of transfers that end without much ado? use(transfer) then; else nothing.
bool is_brief(request const& r) noexcept { return r.plain || r.single; }
template <class Use> auto as_brief(request& r, Use const& use) {
    return r.plain ? use(static_cast<plain_transfer&>(r)) : use(static_cast<transfer_request&>(r));
}
bool is_over(request& r) {
    return as_brief(r, [](auto& t) { return t.is_over(); });
}

bool went_well(request& r) {
    return as_brief(r, [](auto& t) { return t.went_well(); });
}
mpt::lane<stack>& home_of(request& r) {
    return *as_brief(r, [](auto& t) { return &t.home(); });
}

template <class Engine> [[gnu::noinline]] bool end_single(transfer_request& t, mpt::lane<stack> const& home, Engine& engine,
                                                          MPI_Status* status) noexcept {
    return &t.home() == &home && t.ended(engine, status);
}
/// Ends an active transfer on this lane that is over and went well. False: it is something else, and nothing was done. For who holds the
/// lane's lock.
template <class Engine> [[gnu::always_inline]] inline bool end_brief(request& r, mpt::lane<stack> const& home, Engine& engine,
                                                                     retirement& retired, MPI_Request& handle,
                                                                     MPI_Status* status) noexcept {
    if (!r.plain) [[unlikely]]
        return r.single && end_single(static_cast<transfer_request&>(r), home, engine, status);
    auto& t = static_cast<plain_transfer&>(r);
    if (&t.home() != &home || !t.ended(engine, status)) return false;
    retired.add(word_of(std::exchange(handle, MPI_REQUEST_NULL)));
    return true;
}
/// The same of an array's request, which may be none, or a send that has left.
template <class Engine> [[gnu::always_inline]] inline bool end_now(binding& b, mpt::lane<stack> const& home, Engine& engine,
                                                                   retirement& retired, MPI_Request& handle,
                                                                   MPI_Status* status) noexcept {
    if (handle == b.left) return tell_sent(status), handle = MPI_REQUEST_NULL, true;
    auto* const r = active(b, handle);
    if (!r) return tell_empty(status), true;
    return end_brief(*r, home, engine, retired, handle, status);
}

/// Whose message a transfer waits for, where the next one of the array does not wait for that rank's, too: those come together, and are taken
/// together.
mpt::rank awaited(binding& b, protocol::request const* over, MPI_Request const* next, MPI_Request const* end) noexcept {
    auto const peer = over ? over->awaited() : any_source;
    if (peer == any_source || next == end || *next == b.left) return peer;
    auto* const r = active(b, *next);
    auto const* const other = r && is_brief(*r) ? as_brief(*r, [](auto& t) { return t.under_way(); }) : nullptr;
    return other && other->awaited() == peer ? any_source : peer;
}

/// Waits for the transfer at place `from` of an array, and ends it with those behind it that are over: the place of the next one. It
/// is `from` where that did not go well.
int end_run(binding& b, request& first, int from, int n, MPI_Request* handles, MPI_Status* statuses) {
    auto& home = first.home();
    int at = from;
    auto const take = [&](auto& engine) {
        retirement retired{b.requests};
        while (at < n && end_now(b, home, engine, retired, handles[at], nth(statuses, at))) ++at;
        return at != from || is_over(first);
    };
    auto* const over = as_brief(first, [](auto& t) { return t.under_way(); });
    if (!home.enter(take)) home.wait(first.about(), take, over, awaited(b, over, handles + from + 1, handles + n));
    return at;
}

/// Ends the first request of an array that is a send that has left, or a transfer that is over and went well, and tells its place. Nothing:
/// there is none, or it could not be seen without progress, and nothing was done.
std::optional<int> end_first(binding& b, int n, MPI_Request* handles, MPI_Status* status) {
    mpt::lane<stack>* home = nullptr; // of the first transfer; others on it are looked at
    int at = 0;
    auto const has_left = [&] { return handles[at] == b.left && (tell_sent(status), handles[at] = MPI_REQUEST_NULL, true); };
    for (; at < n && !home; ++at) {
        if (has_left()) return at;
        auto* const r = active(b, handles[at]);
        if (r && is_brief(*r)) home = &r->home(), --at;
    }
    if (!home) return std::nullopt;
    bool const found = home->enter([&](auto& engine) {
        retirement retired{b.requests};
        for (; at < n; ++at) {
            if (has_left()) return true;
            auto* const r = active(b, handles[at]);
            if (r && end_brief(*r, *home, engine, retired, handles[at], status)) return true;
        }
        return false;
    });
    return found ? std::optional{at} : std::nullopt;
}

/// Ends the requests of an array if all of them are over, or soon, and went well: transfers of one lane, and sends that have left. False:
/// nothing was done.
bool end_all(binding& b, int n, MPI_Request* handles, MPI_Status* statuses) noexcept {
    constexpr int longest = 16;         // of longer arrays the long way's one walk is cheaper than the two of this one
    constexpr std::uint32_t most = 128; // rounds, 10 us in shared memory: then the other lanes and hooks have their turn
    if (n > longest) return false;
    int at = 0; // those before it are over
    while (at < n && handles[at] == b.left) ++at;
    if (at == n) return end_left(b.left, 0, n, handles, statuses), true;
    auto* const first = active(b, handles[at]);
    if (!first || !is_brief(*first)) return false;
    auto& home = home_of(*first);
    bool goes_on = true;
    auto const end = [&](auto& engine) {
        for (; at < n; ++at) {
            if (handles[at] == b.left) continue;
            auto* const r = active(b, handles[at]);
            if (!r || !is_brief(*r) || &home_of(*r) != &home || (is_over(*r) && !went_well(*r))) return goes_on = false;
            if (!is_over(*r)) return false;
        }
        retirement retired{b.requests};
        for (int i = 0; i < n; ++i) end_now(b, home, engine, retired, handles[i], nth(statuses, i));
        return true;
    };
    auto const look = [&](auto& engine) {
        if (home.is_over()) return goes_on = false;
        auto& r = *active(b, handles[at]);
        if (is_over(r)) return end(engine); // another thread's look has brought it
        auto const peer = awaited(b, as_brief(r, [](auto& t) { return t.under_way(); }), handles + at + 1, handles + n);
        if ((peer != any_source ? engine.progress_with(peer) : engine.progress()) != 0) return end(engine);
        goes_on = !home.looked_in_vain(); // who waits there looks for us, too
        return false;
    };
    if (home.enter(end)) return true;
    goes_on = goes_on && !home.is_waited_on();
    bool ended = false;
    for (auto left = std::min(home.looks() / mpt::lane<stack>::engine_type::looks, most); goes_on && !ended && left != 0;
         --left)
        ended = home.enter(look);
    if (ended) home.run_hooks(); // it was a wait
    return ended;
}

/// Asks requests one after the other whether they are done. Progress is made once for all transfers of a lane.
class asked {
    mpt::lane<stack>* moved_ = nullptr;

public:
    bool is_done(request& r) {
        if (!is_brief(r)) return r.test();
        auto& home = r.home();
        if (home.enter([&](auto&) { return is_over(r); })) return true;
        return std::exchange(moved_, &home) != &home && r.test();
    }
};

/// The first that is done; progress is made. Nothing: none is.
std::optional<int> any_done(std::vector<pending> const& all) {
    asked ask;
    for (auto const& p : all)
        if (ask.is_done(*p.r)) return p.index;
    return std::nullopt;
}

/// Waits until one is done. all: not empty.
int wait_any(std::vector<pending> const& all) {
    if (auto const done = any_done(all)) return *done;
    auto& home = all.front().r->home(); // whose wait serves the other lanes
    int ready = -1;
    home.wait(all.front().r->about(), [&](auto&) {
        for (auto const& p : all)
            if (p.r->peek(home)) return ready = p.index, true;
        return false;
    });
    return ready;
}

/// What was freed while it was active, and is done now.
void reap(binding& b) {
    std::lock_guard const g{b.changing};
    std::erase_if(b.orphans, [](ref<request> const& r) {
        if (!r->test()) return false;
        r->finish();
        return true;
    });
}

void refuse_collective(call const& on, request const& r, char const* what) {
    if (r.collective)
        on.fail(MPI_ERR_REQUEST, std::string{"request is a collective operation that is under way: it cannot be "} + what);
}

/// Whoever frees a partitioned send that is under way could say of no partition any more that it is ready. MPI-4.1 section 4.2.
void refuse_partitioned(call const& on, request& r) {
    bool const partitioned = dynamic_cast<partitioned_send_request*>(&r) || dynamic_cast<partitioned_recv_request*>(&r);
    if (partitioned && !r.test())
        on.fail(MPI_ERR_REQUEST, "request is a partitioned operation that is under way: it cannot be freed");
}

/// Of an operation that the user has not completed yet the handle goes on living, for the call that does.
void free_by_handle(binding& b, MPI_Request& handle) {
    auto const word = word_of(std::exchange(handle, MPI_REQUEST_NULL));
    ref<generalized_request> const r{static_cast<generalized_request&>(*b.requests.find(word))};
    if (!r->give_up()) return;
    b.requests.remove(word)->let_go();
    r->forget();
}

/// What a call says of a request that it does not complete.
void tell_of(call& on, request& r, MPI_Status* status) {
    auto const e = r.seen();
    e.tell_to(status);
    require(on, e, r.blamed);
}

} // namespace

void free_orphans(binding& b) {
    reap(b);
    for (auto const& r : b.orphans) r->abandon();
    b.orphans.clear();
}

namespace impl {

void Wait(call& on, MPI_Request& handle, MPI_Status* status) {
    if (!active(on.of(), handle)) return tell_empty(status);
    complete(on, handle, status);
}
void Test(call& on, MPI_Request& handle, int& flag, MPI_Status* status) {
    auto* const r = active(on.of(), handle);
    flag = !r || r->test();
    if (!r) return tell_empty(status);
    if (flag) complete(on, handle, status);
}

void Waitall(call& on, int n, MPI_Request* handles, MPI_Status* statuses) {
    auto& b = on.of();
    auto const left = b.left;
    endings all{on, statuses};
    for (int i = 0; i < n;) {
        if (handles[i] == left) {
            i = end_left(left, i, n, handles, statuses);
            continue;
        }
        auto* const r = active(b, handles[i]);
        if (!r) {
            tell_empty(nth(statuses, i++));
            continue;
        }
        auto const next = is_brief(*r) ? end_run(b, *r, i, n, handles, statuses) : i;
        if (next == i) all.add(handles[i], *r, i, i), ++i;
        else i = next;
    }
    all.told(n);
    all.close();
}
void Testall(call& on, int n, MPI_Request* handles, int& flag, MPI_Status* statuses) {
    flag = true;
    asked ask;
    for (auto const& p : active_ones(on.of(), handles, n)) flag &= ask.is_done(*p.r);
    if (flag) Waitall(on, n, handles, statuses);
}

void Waitany(call& on, int n, MPI_Request* handles, int& index, MPI_Status* status) {
    auto const all = active_ones(on.of(), handles, n);
    if (all.empty()) return index = MPI_UNDEFINED, tell_empty(status);
    index = wait_any(all);
    complete(on, handles[index], status);
}
void Testany(call& on, int n, MPI_Request* handles, int& index, int& flag, MPI_Status* status) {
    auto const all = active_ones(on.of(), handles, n);
    auto const done = any_done(all);
    index = done.value_or(MPI_UNDEFINED);
    flag = all.empty() || done;
    if (all.empty()) return tell_empty(status);
    if (done) complete(on, handles[index], status);
}

void Testsome(call& on, int n, MPI_Request* handles, int& count, int* indices, MPI_Status* statuses) {
    auto const all = active_ones(on.of(), handles, n);
    if (all.empty()) return static_cast<void>(count = MPI_UNDEFINED);
    count = 0;
    endings ends{on, statuses};
    asked ask;
    for (auto const& p : all)
        if (ask.is_done(*p.r)) {
            ends.add(handles[p.index], *p.r, p.index, count);
            indices[count++] = p.index;
        }
    ends.close();
}
void Waitsome(call& on, int n, MPI_Request* handles, int& count, int* indices, MPI_Status* statuses) {
    auto const all = active_ones(on.of(), handles, n);
    if (!all.empty()) wait_any(all);
    Testsome(on, n, handles, count, indices, statuses);
}

void Request_get_status(call& on, MPI_Request handle, int& flag, MPI_Status* status) {
    auto* const r = active(on.of(), handle);
    flag = !r || r->test();
    if (!r) tell_empty(status);
    else if (flag) tell_of(on, *r, status);
}
void Request_get_status_all(call& on, int n, MPI_Request const* handles, int& flag, MPI_Status* statuses) {
    flag = true;
    for (auto const& p : active_ones(on.of(), handles, n)) flag &= p.r->test();
    if (!flag) return;
    endings all{on, statuses};
    for (int i = 0; i < n; ++i) {
        if (auto* const r = active(on.of(), handles[i])) all.add(r->seen(), r->blamed, i, i);
        else all.add_empty(i);
    }
    all.close();
}
void Request_get_status_any(call& on, int n, MPI_Request const* handles, int& index, int& flag, MPI_Status* status) {
    auto const all = active_ones(on.of(), handles, n);
    auto const done = any_done(all);
    index = done.value_or(MPI_UNDEFINED);
    flag = all.empty() || done;
    if (all.empty()) tell_empty(status);
    if (done) tell_of(on, *active(on.of(), handles[index]), status);
}
void Request_get_status_some(call& on, int n, MPI_Request const* handles, int& count, int* indices, MPI_Status* statuses) {
    auto const all = active_ones(on.of(), handles, n);
    if (all.empty()) return static_cast<void>(count = MPI_UNDEFINED);
    count = 0;
    endings ends{on, statuses};
    for (auto const& p : all)
        if (p.r->test()) {
            ends.add(p.r->seen(), p.r->blamed, p.index, count);
            indices[count++] = p.index;
        }
    ends.close();
}

void Request_free(call& on, MPI_Request& handle) {
    auto& b = on.of();
    if (handle == b.left) return static_cast<void>(handle = MPI_REQUEST_NULL);
    on.blame(handle);
    if (auto* const r = active(b, handle)) {
        refuse_collective(on, *r, "freed");
        refuse_partitioned(on, *r);
        if (r->by_handle) return free_by_handle(b, handle);
    }
    reap(b);
    auto const r = ref<request>::adopt(b.requests.remove(word_of(std::exchange(handle, MPI_REQUEST_NULL))));
    if (!r->active) return;
    std::lock_guard const g{b.changing};
    b.orphans.push_back(r);
}
void Cancel(call& on, MPI_Request& handle) {
    on.blame(handle);
    auto* const r = active(on.of(), handle);
    if (!r) on.fail(MPI_ERR_REQUEST, "request is not active: there is nothing to cancel");
    refuse_collective(on, *r, "cancelled");
    r->cancel();
}

} // namespace impl

/* One that is done already. A handle that is none is told of by the long way, when nothing else is done. */

int quick::Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
    auto& b = here();
    if (b.is_ready() && count > 0 && array_of_requests && indx)
        if (auto const ended = end_first(b, count, array_of_requests, status)) return *indx = *ended, MPI_SUCCESS;
    return otherwise::Waitany(count, array_of_requests, indx, status);
}
/* All, where they are over soon. */
int quick::Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
    auto& b = here();
    if (b.is_ready() && count > 0 && array_of_requests && end_all(b, count, array_of_requests, array_of_statuses))
        return MPI_SUCCESS;
    return otherwise::Waitall(count, array_of_requests, array_of_statuses);
}
int quick::Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
    auto& b = here();
    if (b.is_ready() && count > 0 && array_of_requests && indx && flag)
        if (auto const ended = end_first(b, count, array_of_requests, status)) return *indx = *ended, *flag = 1, MPI_SUCCESS;
    return otherwise::Testany(count, array_of_requests, indx, flag, status);
}

} // namespace mpt::c
