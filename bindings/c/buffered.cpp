#include "buffered.hpp"

#include "entries.hpp"
#include "transfer.hpp"

namespace mpt::c {

void send_buffered(comm& c, mpt::rank to, int tag, source const& from) {
    auto const* const of_session = c.of_session ? &c.of_session->buffer : nullptr;
    send_by<send_buffer>({&c.buffer, of_session, &here().buffer}, wire_of(c), to, tag, from);
}

void flush_all(binding& b) {
    std::vector all{b.buffer.attached(), b.world->buffer.attached(), b.self->buffer.attached()};
    b.comms.each_now([&](comm& c) { all.push_back(c.buffer.attached()); });
    for (auto const& buffer : all)
        if (buffer) buffer->flush();
}

namespace {

using place = buffer_place<send_buffer>;

void attach(call& on, place& where, void* memory, MPI_Count size) {
    bool const automatic = memory == MPI_BUFFER_AUTOMATIC;
    if (!automatic) on.bytes(memory, size, "buffer");
    std::span<std::byte> const bytes{static_cast<std::byte*>(memory), static_cast<std::size_t>(automatic ? 0 : size)};
    where.attach(std::make_shared<send_buffer>(bytes, automatic));
}

/// What is sent by it meanwhile finds no buffer.
void detach(place& where, void* address, MPI_Count& size) {
    auto const gone = where.detach();
    gone->close();
    void* const memory = gone->is_heap() ? MPI_BUFFER_AUTOMATIC : gone->memory().data();
    std::memcpy(address, &memory, sizeof memory); // a void** in truth
    size = static_cast<MPI_Count>(gone->memory().size());
}

void flush(place const& where) {
    if (auto const attached = where.attached()) attached->flush();
}

/// Done when the buffer's messages have left.
class flush_request final : public request {
    lane<stack>* home_;
    std::shared_ptr<send_buffer> buffer_; // as it was attached

public:
    flush_request(lane<stack>& home, std::shared_ptr<send_buffer> s, raised_on const& of)
        : home_{&home}, buffer_{std::move(s)} {
        blamed = of;
    }
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

MPI_Request flush_later(call const& on, place const& where) {
    auto& b = on.of();
    return launch(b, ref<request>::adopt(new flush_request{b.run().lane_at(0), where.attached(), on.on()}));
}

} // namespace

namespace impl {

void Buffer_attach(call& on, void* memory, MPI_Count size) { attach(on, on.of().buffer, memory, size); }
void Buffer_detach(call& on, void* address, MPI_Count& size) { detach(on.of().buffer, address, size); }
void Buffer_flush(call& on) { flush(on.of().buffer); }
void Buffer_iflush(call& on, MPI_Request& r) { r = flush_later(on, on.of().buffer); }
void Comm_attach_buffer(call& on, comm& c, void* memory, MPI_Count size) { attach(on, c.buffer, memory, size); }
void Comm_detach_buffer(call&, comm& c, void* address, MPI_Count& size) { detach(c.buffer, address, size); }
void Comm_flush_buffer(call&, comm& c) { flush(c.buffer); }
void Comm_iflush_buffer(call& on, comm& c, MPI_Request& r) { r = flush_later(on, c.buffer); }
void Session_attach_buffer(call& on, session& s, void* memory, MPI_Count size) { attach(on, s.buffer, memory, size); }
void Session_detach_buffer(call&, session& s, void* address, MPI_Count& size) { detach(s.buffer, address, size); }
void Session_flush_buffer(call&, session& s) { flush(s.buffer); }
void Session_iflush_buffer(call& on, session& s, MPI_Request& r) { r = flush_later(on, s.buffer); }

} // namespace impl
} // namespace mpt::c
