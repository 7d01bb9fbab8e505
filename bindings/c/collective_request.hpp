/// collective_request - non-blocking and persistent collectives: a schedule, and what it refers to. MPI-4.1 sections 6.12 and 6.13.
///
///        MPI_Igather(...)      begun<gather_call<even>>(on, comm, arguments...)       checked, written down, started
///        MPI_Gather_init(...)  prepared<gather_call<even>>(...)                       checked, written down
///
///   Again    One that is over rests with what it was called with, where that is words and predefined objects: the same call again begins
///            it again, under a new number, and neither makes nor writes down anything.
///            origin: MPI_Iallreduce and MPI_Wait, 8 bytes, two ranks, AMD EPYC, Zen 4: 5500 to 6200 instructions and 0.50 us, so 2600 to
///            2750 and 0.24, with the schedule's first steps at once and a wait that makes no call object
///   Memory   holds its communicator, datatypes and operation: all may be freed meanwhile. One that rests holds none, and at most 64 KiB.
///            Arrays of counts and displacements are read before the call returns.
///   Limit    cannot be cancelled, nor freed while it is active: both are errors of the program.
#pragma once
#include <array>

#include <mpt/coll/schedule.hpp>

#include "collective_calls.hpp"
#include "recent.hpp"
#include "transfer.hpp"

namespace mpt::c {

/// What a call was made with, where words say all of it.
struct call_words {
    std::array<std::uint64_t, 9> all{};
    std::uint32_t mark() const noexcept { return mark_of(all); }
    friend bool operator==(call_words const&, call_words const&) = default;
};

class collective_request : public request {
    call_words called_{};            // what it was called with; none: it never rests
    ref<comm> on_;                   // not while it rests
    std::vector<ref<counted>> used_; // what may be freed meanwhile
    std::optional<coll::schedule<stack>> steps_;

protected:
    static constexpr std::size_t most_at_rest = 64 << 10; // bytes of the steps and their memory
    explicit collective_request(comm& c) : on_{c} { collective = true, blamed = c.handle; }
    template <class Algorithm> void write_down(coll::team<stack> const& t, Algorithm const& f) {
        steps_.emplace(t, on_->next_schedule(), f);
    }
    static bool stays(datatype_object const& t) noexcept { return t.type.is_predefined(); }
    static bool stays(operation_object const& o) noexcept { return o.predefined.has_value(); }
    /// As end_well(), for those whose finish() is no more than ours.
    bool end_steps_well(std::uint32_t looks) noexcept;
    /// An argument; what is counted lives as long as this request.
    template <class T> void use(T const& x) {
        if constexpr (std::is_convertible_v<T, counted const*>) {
            if (x) use(*x);
        } else if constexpr (std::is_base_of_v<counted, T>) {
            if (!stays(x)) used_.emplace_back(const_cast<T&>(x));
        } else if constexpr (requires { x.type; }) use(x.type);
        else if constexpr (std::is_same_v<T, typed>)
            for (int r = 0; x.buffer != MPI_IN_PLACE && r < x.how_many; ++r) use(x.type(r));
    }

public:
    void start() override;
    bool test() override { return steps_->test(); }
    bool peek(lane<stack> const& home) noexcept override { return steps_->peek(home); }
    lane<stack>& home() noexcept override { return steps_->home(); }
    waiting about() const noexcept override { return steps_->about(); }
    mpt::rank awaited() const noexcept override { return steps_->awaited(); }
    ending seen() override;
    ending finish() override;
    /// May it rest, once it is over?
    void call_it(call_words const& called) {
        if (used_.empty() && steps_->bytes() <= most_at_rest) called_ = called;
    }
    void rest(binding& b, ref<request> mine) noexcept override;
    /// It is over, and kept for the same call.
    bool rests() const noexcept { return !on_; }
    bool was(call_words const& called) const noexcept { return called_ == called; }
    static collective_request& of(ref<request> const& r) noexcept { return static_cast<collective_request&>(*r); }
    /// It rests, and is begun again on the same communicator.
    static MPI_Request begin_again(binding& b, comm& c, ref<request> resting);
    void cancel() override {}
    void abandon() override;
};

template <class Call> class collective_of final : public collective_request {
    Call what_;

public:
    template <class... Args> collective_of(call const& on, comm& c, Args&... arguments)
        : collective_request{c}, what_{on, c, arguments...} {
        (use(arguments), ...);
        write_down(team_of(c), [this](auto const& t) { what_.run(t); });
    }
    bool end_well(std::uint32_t looks) noexcept override { return end_steps_well(looks); }
};

/// An argument as words: the same words, the same argument. Lists are none.
template <class T> constexpr std::size_t words_in() {
    using type = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<type, even>) return 3;
    else return std::is_pointer_v<type> || std::is_integral_v<type> || std::is_base_of_v<counted, type>;
}
template <class... Args> inline constexpr bool are_words = ((words_in<Args>() != 0) && ...);

template <class T> void put_words(std::uint64_t*& to, T const& x) noexcept {
    if constexpr (std::is_same_v<T, even>) put_words(to, x.buffer), put_words(to, x.count), put_words(to, x.type);
    else if constexpr (std::is_pointer_v<T>) *to++ = reinterpret_cast<std::uintptr_t>(x);
    else if constexpr (std::is_integral_v<T>) *to++ = static_cast<std::uint64_t>(x);
    else *to++ = reinterpret_cast<std::uintptr_t>(&x);
}
template <class Call> inline constexpr char kind_of_call = 0; // its address tells
template <class Call, class... Args> call_words words_of(comm const& c, Args const&... arguments) noexcept {
    static_assert((2 + ... + words_in<Args>()) <= std::tuple_size_v<decltype(call_words::all)>);
    call_words w;
    auto* to = w.all.data();
    put_words(to, &kind_of_call<Call>), put_words(to, c.handle);
    (put_words(to, arguments), ...);
    return w;
}

template <class Call, class... Args> MPI_Request begun(call& on, comm& c, Args&&... arguments) {
    auto& b = on.of();
    auto const make = [&] { return new collective_of<Call>{on, c, arguments...}; };
    if constexpr (!are_words<Args...>) return launch(b, ref<request>::adopt(make()));
    else {
        auto const called = words_of<Call>(c, arguments...);
        if (auto resting = b.resting.take(called.mark(), [&](auto const& r) { return collective_request::of(r).was(called); }))
            return collective_request::begin_again(b, c, std::move(resting));
        auto* const made = make();
        made->call_it(called);
        return launch(b, ref<request>::adopt(made));
    }
}
template <class Call, class... Args> MPI_Request prepared(call& on, comm& c, Args&&... arguments) {
    auto r = ref<request>::adopt(new collective_of<Call>{on, c, arguments...});
    r->persistent = true;
    return publish(on.of(), std::move(r));
}

} // namespace mpt::c
