/// shmem/memory/order - when what a PE has done is done for others, and waiting for what they do. OpenSHMEM-1.6 sections 9.11, 9.12.
#pragma once
#include <mpt/shmem/memory.hpp>

namespace mpt::inline v0::shmem {

template <class Stack> void memory<Stack>::fence() {
    if (used_far_.load(std::memory_order_relaxed)) return quiet(); // order: as in far()
    fences::light(fence_mode::sleeper);                            // the compiler's
    fences::drain();                                               // the processor's
}
template <class Stack> void memory<Stack>::quiet() {
    if (owes_.load(std::memory_order_relaxed)) settle({}); // order: as in far()
    fences::light(fence_mode::both);
}
template <class Stack> void memory<Stack>::quiet(rank pe) {
    if (owes_.load(std::memory_order_relaxed)) settle(pe); // order: as in far()
    fences::light(fence_mode::both);
}
template <class Stack> void memory<Stack>::settle(std::optional<rank> pe) {
    if (used_far_.load(std::memory_order_relaxed)) // order: as in far()
        pe ? window_->flush(*pe) : window_->flush_all();
    ring_unrung();
}

template <class Stack> template <class T> T memory<Stack>::seen(T const* own) noexcept {
    return atomic_ref<T>{const_cast<T&>(*own)}.load(std::memory_order_acquire); // sync(shmem.word): acquire
}

/// Looks at the word alone first, more seldom at what others ask of this PE's static data, and at the wires now and then. Where nobody
/// sleeps soon nobody rings, so it looks long, and soon yields between: other programs may have left two PEs on one CPU.
/// origin: a flag there and back by 2 PEs without a common cache; of static data 0.46 and 0.54 us (p, put_signal), of the heap 0.24, where
/// it looked at both at every 256th look 0.78, 0.67 and 0.27.
template <class Stack> template <class Come> void memory<Stack>::await(Come const& come) {
    ring_unrung();
    auto& lane = run_->lane_of(context_);
    auto const alone = lane.looks();
    auto const looks = rings_ ? alone : 100 * std::min<std::uint32_t>(alone, 10'000);
    for (std::uint32_t i = 1; i <= looks; ++i) {
        if (come()) [[likely]]
            return;
        if (i % 32 == 0) lane.run_hooks();
        if (i % 128 != 0) continue;
        look_around();
        if (i > alone) lane.give_way();
    }
    lane.wait({wait_for::memory, context_, any_source, any_tag, 0}, [&](auto&) { return come(); });
}

/// What comes meanwhile: messages, and what others ask of this PE's static data.
template <class Stack> void memory<Stack>::look_around() {
    ring_unrung();
    if (window_->help()) return;
    auto& lane = run_->lane_of(context_);
    lane.enter([&](auto&) { lane.step(); });
}

template <class Stack> void memory<Stack>::ring(rank pe) noexcept {
    if (auto* const bell = bells_[static_cast<std::size_t>(pe.value)])
        bell->ring(run_->world(), run_->lane_of(context_).fences());
}

} // namespace mpt::inline v0::shmem
