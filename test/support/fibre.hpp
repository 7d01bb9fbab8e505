/// support/fibre - a stack of its own that runs until it suspends itself: what the model scheduler and the virtual world are
/// made of.
///
///        owner                      fibre
///        f.start(body)
///        f.resume()   ----------->  body() runs
///                     <-----------  fibre::suspend()
///        f.resume()   ----------->  goes on after suspend()
///                     <-----------  body returned: f.finished()
///
///   It stands on Boost.Context's bare fcontext and not on boost::context::fiber, because a fibre must be left lying where it
///   is (a model that found a fault, a simulation that ended): fiber's destructor throws through the frames, and ours are
///   noexcept. Objects on a fibre that is left lying are not destroyed.
///   The sanitizers are told of every switch. One operating-system thread drives all fibres.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <utility>

#include <boost/context/detail/fcontext.hpp>
#include <sys/mman.h>

#include "sanitized.hpp"

#ifdef MPT_TEST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef MPT_TEST_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace mpt::test {

class fibre {
    static constexpr std::size_t guard_bytes = 4096;
    static inline fibre* current_ = nullptr;

    std::size_t size_;
    std::byte* low_;
    boost::context::detail::fcontext_t inside_ = nullptr, outside_ = nullptr;
    std::function<void()> body_;
    bool finished_ = true;
    [[maybe_unused]] void* fake_stack_ = nullptr; // AddressSanitizer's, of whoever is not running
    [[maybe_unused]] void const* outer_low_ = nullptr;
    [[maybe_unused]] std::size_t outer_size_ = 0;
    [[maybe_unused]] void* tsan_inside_ = nullptr;
    [[maybe_unused]] void* tsan_outside_ = nullptr;

public:
    explicit fibre(std::size_t stack_bytes = 256 * 1024) : size_{stack_bytes + guard_bytes} {
        void* const p = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED || ::mprotect(p, guard_bytes, PROT_NONE) != 0) std::abort();
        low_ = static_cast<std::byte*>(p);
    }
    ~fibre() {
        forget();
        ::munmap(low_, size_);
    }
    fibre(fibre const&) = delete;
    fibre& operator=(fibre const&) = delete;

    /// Whatever lay on the stack is forgotten. body must not let an exception out.
    void start(std::function<void()> body) {
        if (!finished_) forget();
        body_ = std::move(body);
        finished_ = false;
        if (inside_ != nullptr) return; // it goes on in enter()
        inside_ = boost::context::detail::make_fcontext(low_ + size_, size_ - guard_bytes, &fibre::enter);
#ifdef MPT_TEST_TSAN
        tsan_inside_ = __tsan_create_fiber(0);
#endif
    }

    /// From outside of all fibres: runs it until it suspends or ends.
    void resume() {
        current_ = this;
#ifdef MPT_TEST_ASAN
        void* mine = nullptr;
        __sanitizer_start_switch_fiber(&mine, low_ + guard_bytes, size_ - guard_bytes);
#endif
#ifdef MPT_TEST_TSAN
        tsan_outside_ = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(tsan_inside_, 0);
#endif
        inside_ = boost::context::detail::jump_fcontext(inside_, this).fctx;
#ifdef MPT_TEST_ASAN
        __sanitizer_finish_switch_fiber(mine, nullptr, nullptr);
#endif
        current_ = nullptr;
    }

    /// From inside: back to whoever resumed.
    static void suspend() { current_->leave(); }

    static fibre* current() noexcept { return current_; }
    bool finished() const noexcept { return finished_; }

private:
    void forget() {
        inside_ = nullptr;
#ifdef MPT_TEST_ASAN
        ASAN_UNPOISON_MEMORY_REGION(low_ + guard_bytes, size_ - guard_bytes);
#endif
#ifdef MPT_TEST_TSAN
        if (tsan_inside_ != nullptr) __tsan_destroy_fiber(tsan_inside_);
        tsan_inside_ = nullptr;
#endif
    }

    void leave() {
#ifdef MPT_TEST_ASAN
        __sanitizer_start_switch_fiber(&fake_stack_, outer_low_, outer_size_);
#endif
#ifdef MPT_TEST_TSAN
        __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
        outside_ = boost::context::detail::jump_fcontext(outside_, nullptr).fctx;
#ifdef MPT_TEST_ASAN
        __sanitizer_finish_switch_fiber(fake_stack_, &outer_low_, &outer_size_);
#endif
    }

    static void enter(boost::context::detail::transfer_t t) {
        auto* const self = static_cast<fibre*>(t.data);
        self->outside_ = t.fctx;
#ifdef MPT_TEST_ASAN
        __sanitizer_finish_switch_fiber(nullptr, &self->outer_low_, &self->outer_size_);
#endif
        while (true) { // a finished fibre that is started again keeps its stack: that is cheap
            self->body_();
            self->body_ = nullptr;
            self->finished_ = true;
            self->leave();
        }
    }
};

} // namespace mpt::test
