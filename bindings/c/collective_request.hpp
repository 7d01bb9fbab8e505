/// collective_request - non-blocking and persistent collectives: a schedule, and what it refers to. MPI-4.1 sections 6.12 and 6.13.
///
///        MPI_Igather(...)      begun<gather_call<even>>(on, comm, arguments...)       checked, written down, started
///        MPI_Gather_init(...)  prepared<gather_call<even>>(...)                       checked, written down
///
///   Memory   holds its communicator, datatypes and operation: all may be freed meanwhile. Arrays of counts and displacements are read
///            before the call returns.
///   Limit    cannot be cancelled, nor freed while it is active: both are errors of the program.
#pragma once
#include <mpt/coll/schedule.hpp>

#include "collective_calls.hpp"
#include "transfer.hpp"

namespace mpt::c {

class collective_request : public request {
    ref<comm> on_;
    std::vector<ref<counted>> used_; // what may be freed meanwhile
    std::optional<coll::schedule<stack>> steps_;

protected:
    explicit collective_request(comm& c) : on_{c} { blamed = c.handle; }
    template <class Algorithm> void write_down(coll::team<stack> const& t, Algorithm const& f) {
        steps_.emplace(t, on_->next_schedule(), f);
    }
    static bool stays(datatype_object const& t) noexcept { return t.type.is_predefined(); }
    static bool stays(operation_object const& o) noexcept { return o.predefined.has_value(); }
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
    bool is_collective() const noexcept override { return true; }
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
};

template <class Call, class... Args> MPI_Request begun(call& on, comm& c, Args&&... arguments) {
    return launch(on.of(), ref<request>::adopt(new collective_of<Call>{on, c, arguments...}));
}
template <class Call, class... Args> MPI_Request prepared(call& on, comm& c, Args&&... arguments) {
    auto r = ref<request>::adopt(new collective_of<Call>{on, c, arguments...});
    r->persistent = true;
    return publish(on.of(), std::move(r));
}

} // namespace mpt::c
