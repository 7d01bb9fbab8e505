/// plain - a send or a receive as most are: begun once, data in one piece, from or to one rank that the call names.
///
///        MPI_Isend --- has left already ---> binding::left, one handle for all of those
///            `-------- has not -----------.
///        MPI_Irecv -----------------------'--> plain_transfer --- end() ---> the status, or an ending that is an error
///
///   All that it needs later stands in the engine's request. So it holds neither its communicator nor its datatype: a window of 64
///   receives is begun and ended without a read-modify-write, and its objects, a cache line each, are those of the last one, each
///   with its slot in the table of handles (handles.hpp, retired).
#pragma once
#include <optional>

#include "transfer.hpp"

namespace mpt::c {

class plain_transfer final : public request {
    mpt::lane<stack>* lane_ = nullptr;
    protocol::request* under_way_ = nullptr;
    int peer_ = MPI_PROC_NULL; // rank in its communicator

    bool receives() const noexcept { return under_way_->kind == protocol::role::receive; }
    std::size_t room() const noexcept { return receives() ? under_way_->into.size() : under_way_->from.size(); }
    ending ending_of(outcome const& o, bool received, std::size_t room) const;

public:
    plain_transfer() noexcept { plain = true; }
    /// It is under way: to or from a rank of the communicator.
    void begin(comm const& c, int peer, protocol::request& r) noexcept {
        lane_ = static_cast<mpt::lane<stack>*>(c.lane);
        under_way_ = &r;
        peer_ = peer;
        blamed = c.handle;
        active = true;
    }
    wire on() const noexcept { return {*lane_, under_way_->wanted.context}; }
    bool is_over() const noexcept { return under_way_->complete; }
    bool went_well() const noexcept { return under_way_->result.how == mpt::status::ok; }
    protocol::request* under_way() const noexcept { return under_way_; }
    /// Is it over, and went well? Then it has ended, and its status is told. For who holds its lane's lock.
    template <class Engine> bool ended(Engine& engine, MPI_Status* status) noexcept {
        auto& r = *under_way_;
        if (!r.complete || r.result.how != mpt::status::ok) return false;
        if (receives()) tell(status, peer_, r.result.label, static_cast<std::int64_t>(r.result.bytes));
        else tell_sent(status);
        active = false;
        engine.drop(r);
        return true;
    }
    /// finish(), and what is told of a good end is told. An ending: the error.
    std::optional<ending> end(MPI_Status* status);

    void start() override {} // is not persistent
    bool test() override { return on().test(*under_way_); }
    bool peek(mpt::lane<stack> const& home) noexcept override {
        return lane_ == &home ? under_way_->complete : lane_->peek(*under_way_);
    }
    mpt::lane<stack>& home() noexcept override { return *lane_; }
    mpt::lane<stack>& home() const noexcept { return *lane_; }
    waiting about() const noexcept override;
    ending seen() override { return ending_of(under_way_->result, receives(), room()); }
    ending finish() override;
    void cancel() override { on().cancel(*under_way_); }
    void abandon() override;
};

/// The whole of a receive of data in one piece, of a rank or any. looked_for: the message was, a while, and is to be waited for.
void receive(call& on, std::span<std::byte> room, int source, int tag, comm& c, MPI_Status* status, bool looked_for = false);

/// What the handle of all sends stands for that have left: complete whenever somebody asks, and not cancelled.
class sends_that_left final : public request {
    binding& on_;

public:
    explicit sends_that_left(binding& b) noexcept : on_{b} { active = true; }
    void start() override {}
    bool test() override { return true; }
    bool peek(mpt::lane<stack> const&) noexcept override { return true; }
    mpt::lane<stack>& home() noexcept override { return *static_cast<mpt::lane<stack>*>(on_.world->lane); }
    waiting about() const noexcept override { return {wait_for::pending_send}; }
    ending seen() override { return {}; }
    ending finish() override { return {}; }
    void cancel() override {}
    void abandon() override {}
};

} // namespace mpt::c
