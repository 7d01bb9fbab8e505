// A thread of mpt's own.
#include <mpt/world/helper.hpp>

#include <csignal>
#include <cstring>
#include <pthread.h>

#include <mpt/core/error.hpp>

namespace mpt::inline v0::world {

namespace {
constexpr std::size_t stack_bytes = 1 << 20; // of address space; sanitizers want more than we do

[[noreturn]] void refuse(int why) {
    throw error{errc::system, std::string{"mpt: the system gives no thread for a helper: "} + std::strerror(why) + ".", why};
}
} // namespace

struct helper::impl {
    std::function<void()> fn;
    pthread_t thread;

    static void* run(void* self) {
        static_cast<impl*>(self)->fn();
        return nullptr;
    }
};

helper::helper(std::function<void()> fn) : impl_{std::make_unique<impl>(impl{std::move(fn), {}})} {
    sigset_t all, before;
    ::sigfillset(&all);
    pthread_attr_t how;
    if (auto const why = ::pthread_attr_init(&how); why != 0) refuse(why);
    ::pthread_attr_setstacksize(&how, stack_bytes);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    auto const why = ::pthread_create(&impl_->thread, &how, &impl::run, impl_.get());
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&how);
    if (why != 0) refuse(why);
}

helper::~helper() { ::pthread_join(impl_->thread, nullptr); }

} // namespace mpt::inline v0::world
