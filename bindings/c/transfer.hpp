/// transfer - sends and receives that are under way. MPI-4.1 sections 3.4 - 3.9.
///
///   Memory   an active transfer holds its communicator and its datatype: both may be freed meanwhile.
#pragma once
#include <memory>
#include <variant>

#include <mpt/datatype/typed.hpp>

#include "binding.hpp"
#include "request.hpp"

namespace mpt::c {

/// Data of the user's as an operation moves them: in one piece, or by their layout, which lies here until the operation ends.
class moved_data {
    std::variant<std::monostate, typed_source, typed_sink> layout_;

public:
    source out(void const* buffer, std::int64_t count, datatype const& t) {
        if (auto const run = t.contiguous_run(count)) return {at(buffer, *run), static_cast<std::size_t>(run->bytes)};
        return source::of(layout_.emplace<typed_source>(buffer, count, t));
    }
    sink in(void* buffer, std::int64_t count, datatype const& t) {
        if (auto const run = t.contiguous_run(count))
            return {const_cast<std::byte*>(at(buffer, *run)), static_cast<std::size_t>(run->bytes)};
        return sink::of(layout_.emplace<typed_sink>(buffer, count, t));
    }
    static std::byte const* at(void const* buffer, data_run const& run) noexcept {
        return reinterpret_cast<std::byte const*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                                  static_cast<std::uintptr_t>(run.offset));
    }
};

enum class sending : std::uint8_t { standard, synchronous, ready, buffered };

/// What a send or a receive was asked to do.
struct letter {
    void* buffer = nullptr;
    std::int64_t count = 0;
    ref<datatype_object> type;
    ref<comm> on;
    int peer = MPI_PROC_NULL; // rank in `on`
    int tag = 0;
};

/// One send or receive.
class transfer {
    letter what_;
    bool receives_ = false;
    sending mode_ = sending::standard;
    moved_data data_;
    protocol::request* under_way_ = nullptr;
    std::size_t room_ = 0;
    bool swift_ = false;              // start_now() may do it; then:
    mpt::rank world_peer_{};          // whom it names
    std::span<std::byte> in_place_{}; // its data

public:
    transfer(letter l, sending m) : what_{std::move(l)}, mode_{m} {}
    explicit transfer(letter l) : what_{std::move(l)}, receives_{true} {}

    void start();
    /// Receives a message that a matched probe took.
    void start(protocol::arrival& taken);
    /// Of one that will be started again and again: finds out once what start_now() needs.
    void prepare();
    bool is_swift() const noexcept { return swift_; }
    /// The short way of start(), of one that is_swift(): a receive, or a send that leaves at once. False: it was not started. For who holds its
    /// lane's lock.
    template <class Engine> [[gnu::always_inline]] bool start_now(Engine& engine) noexcept {
        if (!receives_)
            return engine.send_now(world_peer_, what_.on->context, mpt::tag{what_.tag}, in_place_.data(), in_place_.size());
        under_way_ = engine.receive({what_.on->context, world_peer_, mpt::tag{what_.tag}}, sink{in_place_});
        room_ = in_place_.size();
        return under_way_ != nullptr;
    }
    bool test() { return !under_way_ || wire_of(*what_.on).test(*under_way_); }
    bool peek(lane<stack> const& home) noexcept {
        if (!under_way_) return true;
        auto& mine = this->home();
        return &mine == &home ? under_way_->complete : mine.peek(*under_way_);
    }
    mpt::lane<stack>& home() noexcept { return wire_of(*what_.on).on(); }
    /// pending: it was started by an earlier call.
    waiting about(bool pending = false) const noexcept;
    ending seen() const;
    ending finish(bool pending = false);
    bool is_over() const noexcept { return !under_way_ || under_way_->complete; }
    bool went_well() const noexcept { return !under_way_ || under_way_->result.how == mpt::status::ok; }
    protocol::request* under_way() const noexcept { return under_way_; }
    /// Is it over, and went well? Then it has ended, and its status is told. For who holds its lane's lock.
    template <class Engine> bool ended(Engine& engine, MPI_Status* status) {
        if (!is_over() || !went_well()) return false;
        if (status != MPI_STATUS_IGNORE) seen().tell_to(status);
        if (under_way_) engine.drop(*std::exchange(under_way_, nullptr));
        return true;
    }
    void cancel() {
        if (under_way_) wire_of(*what_.on).cancel(*under_way_);
    }
    void abandon();
};

using packed_copy = std::unique_ptr<std::byte[]>;

class transfer_request final : public request {
    transfer one_;
    std::unique_ptr<transfer> other_; // the send of a sendrecv, whose status is that of the receive
    packed_copy copy_;                // what the send sends, where the receive overwrites it

public:
    static void* operator new(std::size_t size, block_store& from) { return from.take(size); }
    static void operator delete(void* p, block_store&) noexcept { block_store::give_back(p); }
    static void operator delete(void* p) noexcept { block_store::give_back(p); }

    explicit transfer_request(transfer t, MPI_Comm blame) : one_{std::move(t)} { blamed = blame; }
    transfer_request(transfer receive, std::unique_ptr<transfer> send, packed_copy copy, MPI_Comm blame)
        : one_{std::move(receive)}, other_{std::move(send)}, copy_{std::move(copy)} {
        blamed = blame;
    }
    bool is_over() const noexcept { return one_.is_over(); }
    bool went_well() const noexcept { return one_.went_well(); }
    protocol::request* under_way() const noexcept { return one_.under_way(); }
    /// Of a single one: as of its transfer. It may be started again.
    template <class Engine> bool ended(Engine& engine, MPI_Status* status) {
        if (!one_.ended(engine, status)) return false;
        active = false;
        return true;
    }

    /// For MPI_Start and MPI_Startall: it is of one transfer.
    void keep() {
        persistent = single = true;
        one_.prepare();
    }
    void start() override;
    void start(protocol::arrival& taken) { active = true, one_.start(taken); }
    bool is_swift() const noexcept { return one_.is_swift(); }
    template <class Engine> [[gnu::always_inline]] bool start_now(Engine& engine) noexcept {
        return one_.start_now(engine) && (active = true);
    }
    bool test() override {
        bool const done = one_.test(); // both, for progress
        return (!other_ || other_->test()) && done;
    }
    bool peek(lane<stack> const& home) noexcept override { return one_.peek(home) && (!other_ || other_->peek(home)); }
    lane<stack>& home() noexcept override { return one_.home(); }
    waiting about() const noexcept override { return one_.about(true); }
    ending seen() override { return one_.seen(); }
    ending finish() override;
    void cancel() override { one_.cancel(); }
    void abandon() override;
};

/// Names a request to the user.
MPI_Request publish(binding& b, ref<request> r);
/// The way of every call that begins an operation: makes the request and starts it.
MPI_Request launch(binding& b, ref<request> r);

/// Throws what an ending says, if it is an error.
void require(call& on, ending const& e, raised_on const& blamed);
ending ending_of(comm const& c, outcome const& o, std::size_t room, int asked);
/// Of a receive whose message came from a rank, and of a send.
ending ending_of_receive(outcome const& o, std::size_t room, int source);
ending ending_of_send(outcome const& o, std::size_t room);

} // namespace mpt::c
