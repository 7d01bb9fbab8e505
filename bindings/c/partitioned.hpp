/// partitioned - the two sides of a partitioned operation as requests. MPI-4.1 chapter 4; stack/partitioned.hpp moves the data.
///
///   Memory   they hold communicator and datatype: both may be freed meanwhile.
///   Limit    cannot be cancelled; nothing moves to or from MPI_PROC_NULL.
#pragma once
#include <mpt/stack/partitioned.hpp>

#include "transfer.hpp"

namespace mpt::c {

/// What a side was asked to do: `what.count` elements are one partition.
struct partitioned_letter {
    letter what;
    int partitions = 0;
};

/// What both sides have in common. Side: partitioned_send or partitioned_recv.
template <class Side> class partitioned_request : public request {
protected:
    partitioned_letter asked_;
    moved_data data_;
    std::optional<Side> side_; // nothing: MPI_PROC_NULL

    explicit partitioned_request(partitioned_letter l) : asked_{std::move(l)} {
        persistent = true;
        blamed = asked_.what.on->handle;
    }
    MPI_Count elements() const noexcept { return asked_.partitions * asked_.what.count; }

public:
    int partitions() const noexcept { return asked_.partitions; }

    void start() override {
        if (side_) side_->start();
        active = true;
    }
    bool test() override { return !side_ || side_->test(); }
    bool peek(lane<stack> const& home) noexcept override { return !side_ || side_->peek(home); }
    lane<stack>& home() noexcept override { return wire_of(*asked_.what.on).on(); }
    waiting about() const noexcept override { return side_ ? side_->about() : waiting{}; }
    ending finish() override {
        if (side_) side_->wait();
        auto e = seen();
        if (side_) side_->collect();
        active = false;
        return e;
    }
    void cancel() override { throw mpi_error{MPI_ERR_REQUEST, "request is a partitioned operation: it cannot be cancelled"}; }
    void abandon() override {
        active = false;
        if (side_) side_->abandon();
    }
};

class partitioned_send_request final : public partitioned_request<partitioned_send<stack>> {
public:
    partitioned_send_request(binding& b, partitioned_letter l);
    ending seen() override;
    void ready(int partition) {
        if (side_) side_->ready(static_cast<std::uint64_t>(partition));
    }
};

class partitioned_recv_request final : public partitioned_request<partitioned_recv<stack>> {
public:
    partitioned_recv_request(binding& b, partitioned_letter l);
    ending seen() override;
    bool arrived(int partition) { return !side_ || side_->arrived(static_cast<std::uint64_t>(partition)); }

private:
    std::string mismatch() const;
};

} // namespace mpt::c
