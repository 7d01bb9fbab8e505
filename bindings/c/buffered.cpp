#include "buffered.hpp"

#include "entries.hpp"
#include "transfer.hpp"

namespace mpt::c {

namespace {

using buffer_place = std::shared_ptr<send_buffer>; // guarded by binding::changing

/// What is attached there, which lives while it is used: another thread may detach it.
buffer_place attached_to(buffer_place const& where) {
    std::lock_guard const g{here().changing};
    return where;
}
buffer_place buffer_for(binding& b, comm const& c) {
    std::lock_guard const g{b.changing};
    if (c.buffer) return c.buffer;
    return c.of_session && c.of_session->buffer ? c.of_session->buffer : b.buffer;
}

} // namespace

void send_buffered(comm& c, mpt::rank to, int tag, source const& from) {
    auto const buffer = buffer_for(here(), c);
    if (!buffer) throw mpi_error{error_class::buffer, "no buffer is attached for buffered sends (MPI_Buffer_attach)"};
    buffer->send(wire_of(c), to, tag, from);
}

void flush_all(binding& b) {
    std::vector<buffer_place> all;
    {
        std::lock_guard const g{b.changing};
        all = {b.buffer, b.world->buffer, b.self->buffer};
        b.comms.each_now([&](comm& c) { all.push_back(c.buffer); });
    }
    for (auto const& buffer : all)
        if (buffer) buffer->flush();
}

namespace {

void attach(call& on, buffer_place& where, void* memory, MPI_Count size) {
    bool const automatic = memory == MPI_BUFFER_AUTOMATIC;
    if (!automatic) on.bytes(memory, size, "buffer");
    std::span<std::byte> const bytes{static_cast<std::byte*>(memory), static_cast<std::size_t>(automatic ? 0 : size)};
    std::lock_guard const g{on.of().changing};
    if (where) on.fail(MPI_ERR_BUFFER, "a buffer of " + std::to_string(where->memory().size()) + " bytes is attached already");
    where = std::make_shared<send_buffer>(bytes, automatic);
}

/// What is sent by it meanwhile finds no buffer.
void detach(call& on, buffer_place& where, void* address, MPI_Count& size) {
    buffer_place gone;
    {
        std::lock_guard const g{on.of().changing};
        gone.swap(where);
    }
    if (!gone) on.fail(MPI_ERR_BUFFER, "no buffer is attached");
    gone->flush();
    void* const memory = gone->is_heap() ? MPI_BUFFER_AUTOMATIC : gone->memory().data();
    std::memcpy(address, &memory, sizeof memory); // a void** in truth
    size = static_cast<MPI_Count>(gone->memory().size());
}

void flush(buffer_place const& where) {
    if (auto const attached = attached_to(where)) attached->flush();
}

/// Done when the buffer's messages have left.
class flush_request final : public request {
    lane<stack>* home_;
    buffer_place buffer_; // as it was attached

public:
    flush_request(lane<stack>& home, buffer_place s) : home_{&home}, buffer_{std::move(s)} {}
    void start() override { active = true; }
    bool test() override { return !buffer_ || buffer_->test(); }
    bool peek(lane<stack> const& home) noexcept override { return !buffer_ || buffer_->peek(home); }
    lane<stack>& home() noexcept override { return *home_; }
    waiting about() const noexcept override { return {wait_for::send}; }
    ending seen() override { return {}; }
    ending finish() override {
        active = false;
        if (buffer_) buffer_->flush();
        return {};
    }
    void cancel() override {}
    void abandon() override { active = false; }
};

MPI_Request flush_later(binding& b, buffer_place const& where) {
    return launch(b, ref<request>::adopt(new flush_request{b.run().lane_at(0), attached_to(where)}));
}

} // namespace

namespace impl {

void Buffer_attach(call& on, void* memory, MPI_Count size) { attach(on, on.of().buffer, memory, size); }
void Buffer_detach(call& on, void* address, MPI_Count& size) { detach(on, on.of().buffer, address, size); }
void Buffer_flush(call& on) { flush(on.of().buffer); }
void Buffer_iflush(call& on, MPI_Request& r) { r = flush_later(on.of(), on.of().buffer); }
void Comm_attach_buffer(call& on, comm& c, void* memory, MPI_Count size) { attach(on, c.buffer, memory, size); }
void Comm_detach_buffer(call& on, comm& c, void* address, MPI_Count& size) { detach(on, c.buffer, address, size); }
void Comm_flush_buffer(call&, comm& c) { flush(c.buffer); }
void Comm_iflush_buffer(call& on, comm& c, MPI_Request& r) { r = flush_later(on.of(), c.buffer); }
void Session_attach_buffer(call& on, session& s, void* memory, MPI_Count size) { attach(on, s.buffer, memory, size); }
void Session_detach_buffer(call& on, session& s, void* address, MPI_Count& size) { detach(on, s.buffer, address, size); }
void Session_flush_buffer(call&, session& s) { flush(s.buffer); }
void Session_iflush_buffer(call& on, session& s, MPI_Request& r) { r = flush_later(on.of(), s.buffer); }

} // namespace impl
} // namespace mpt::c
