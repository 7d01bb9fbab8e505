#include "buffered.hpp"

#include "entries.hpp"
#include "transfer.hpp"

namespace mpt::c {

bool send_buffer::reap() {
    for (auto b = blocks_.begin(); b != blocks_.end();) {
        if (!b->on.test(*b->under_way)) {
            ++b;
            continue;
        }
        b->on.collect(*b->under_way);
        b = blocks_.erase(b);
    }
    return blocks_.empty();
}

std::list<send_buffer::block>::iterator send_buffer::place_for(std::size_t n) {
    std::size_t at = 0;
    for (auto b = blocks_.begin(); b != blocks_.end(); at = b->at + b->size, ++b)
        if (b->at - at >= n) return b;
    if (size_ - at >= n) return blocks_.end();
    std::size_t used = 0;
    for (auto const& b : blocks_) used += b.size;
    throw mpi_error{error_class::buffer, "a buffered send needs " + std::to_string(n) + " bytes side by side (" +
                                             std::to_string(MPI_BSEND_OVERHEAD) + " of them overhead); of the attached " +
                                             std::to_string(size_) + " bytes " + std::to_string(used) + " are in use"};
}

void send_buffer::send(wire const& w, mpt::rank to, int tag, source const& from) {
    std::lock_guard const g{changing_};
    reap();
    auto const n = from.size() + MPI_BSEND_OVERHEAD; // what the standard lets a program count on, and no byte more
    auto const before = automatic_ ? blocks_.end() : place_for(n);
    auto const at = automatic_ || before == blocks_.begin() ? 0 : std::prev(before)->at + std::prev(before)->size;
    auto own = automatic_ ? std::make_unique_for_overwrite<std::byte[]>(from.size()) : nullptr;
    std::span<std::byte> const copy{automatic_ ? own.get() : memory_ + at, from.size()};
    from.read(0, copy);
    auto* const r = w.start_send(to, tag, source{std::span<std::byte const>{copy}}, send_mode::standard);
    try {
        blocks_.insert(before, {at, n, std::move(own), r, w, {wait_for::send, w.context(), to, tag, from.size()}});
    } catch (...) {
        w.abandon(*r, {wait_for::send, w.context(), to, tag, from.size()});
        throw;
    }
}

bool send_buffer::test() {
    std::lock_guard const g{changing_};
    return reap();
}

bool send_buffer::peek(lane<stack> const& home) noexcept {
    std::unique_lock const g{changing_, std::try_to_lock};
    if (!g) return false;
    return std::ranges::all_of(
        blocks_, [&](block const& b) { return &b.on.on() == &home ? b.under_way->complete : b.on.on().peek(*b.under_way); });
}

void send_buffer::flush() {
    while (!test()) { // waits outside the lock: what frees a place may be another thread's buffered send
        std::unique_lock g{changing_};
        if (blocks_.empty()) return;
        auto& home = blocks_.front().on.on();
        auto const about = blocks_.front().about;
        g.unlock();
        home.wait(about, [&](auto&) { return peek(home); });
    }
}

void send_buffered(comm& c, mpt::rank to, int tag, source const& from) {
    auto& b = here();
    auto* const own = c.buffer ? c.buffer.get() : c.of_session ? c.of_session->buffer.get() : nullptr;
    auto* const buffer = own ? own : b.buffer.get();
    if (!buffer) throw mpi_error{error_class::buffer, "no buffer is attached for buffered sends (MPI_Buffer_attach)"};
    buffer->send(wire_of(c), to, tag, from);
}

void flush_all(binding& b) {
    std::vector<std::shared_ptr<send_buffer>> all{b.buffer, b.world->buffer, b.self->buffer};
    b.comms.each_now([&](comm& c) { all.push_back(c.buffer); });
    for (auto const& buffer : all)
        if (buffer) buffer->flush();
}

namespace {

void attach(call& on, std::shared_ptr<send_buffer>& where, void* memory, MPI_Count size) {
    bool const automatic = memory == MPI_BUFFER_AUTOMATIC;
    if (where) on.fail(MPI_ERR_BUFFER, "a buffer of " + std::to_string(where->size()) + " bytes is attached already");
    if (!automatic) on.bytes(memory, size, "buffer");
    where = std::make_shared<send_buffer>(memory, static_cast<std::size_t>(size), automatic);
}

void detach(call& on, std::shared_ptr<send_buffer>& where, void* address, MPI_Count& size) {
    if (!where) on.fail(MPI_ERR_BUFFER, "no buffer is attached");
    where->flush();
    void* const memory = where->memory();
    std::memcpy(address, &memory, sizeof memory); // a void** in truth
    size = memory == MPI_BUFFER_AUTOMATIC ? 0 : static_cast<MPI_Count>(where->size());
    where.reset();
}

/// Done when the buffer's messages have left.
class flush_request final : public request {
    lane<stack>* home_;
    std::shared_ptr<send_buffer> buffer_;

public:
    flush_request(lane<stack>& home, std::shared_ptr<send_buffer> s) : home_{&home}, buffer_{std::move(s)} {}
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

MPI_Request flush_later(binding& b, std::shared_ptr<send_buffer> const& s) {
    return launch(b, ref<request>::adopt(new flush_request{b.run().lane_at(0), s}));
}

} // namespace

namespace impl {

void Buffer_attach(call& on, void* memory, MPI_Count size) { attach(on, on.of().buffer, memory, size); }
void Buffer_detach(call& on, void* address, MPI_Count& size) { detach(on, on.of().buffer, address, size); }
void Buffer_flush(call& on) {
    if (on.of().buffer) on.of().buffer->flush();
}
void Buffer_iflush(call& on, MPI_Request& r) { r = flush_later(on.of(), on.of().buffer); }
void Comm_attach_buffer(call& on, comm& c, void* memory, MPI_Count size) { attach(on, c.buffer, memory, size); }
void Comm_detach_buffer(call& on, comm& c, void* address, MPI_Count& size) { detach(on, c.buffer, address, size); }
void Comm_flush_buffer(call&, comm& c) {
    if (c.buffer) c.buffer->flush();
}
void Comm_iflush_buffer(call& on, comm& c, MPI_Request& r) { r = flush_later(on.of(), c.buffer); }
void Session_attach_buffer(call& on, session& s, void* memory, MPI_Count size) { attach(on, s.buffer, memory, size); }
void Session_detach_buffer(call& on, session& s, void* address, MPI_Count& size) { detach(on, s.buffer, address, size); }
void Session_flush_buffer(call&, session& s) {
    if (s.buffer) s.buffer->flush();
}
void Session_iflush_buffer(call& on, session& s, MPI_Request& r) { r = flush_later(on.of(), s.buffer); }

} // namespace impl
} // namespace mpt::c
