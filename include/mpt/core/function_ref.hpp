/// core/function_ref - a reference to something that can be called, whatever its type: for what is compiled once and calls it seldom.
///
///        void each(int n, function_ref<void(int)> f);
///        each(3, [&](int i) { sum += i; });
///
///   It owns nothing: what it refers to outlives the call that it is given to.
///   Cost    two words; an indirect call.    Tests  test/core_function_ref_test.cpp
#pragma once
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace mpt::inline v0 {

template <class Signature> class function_ref;

template <class R, class... A> class function_ref<R(A...)> {
    void const* object_;
    R (*call_)(void const*, A...);

public:
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, function_ref> && std::is_object_v<std::remove_reference_t<F>> &&
                 std::is_invocable_r_v<R, F&, A...>)
    function_ref(F&& f) noexcept // NOLINT(*-explicit-*): a function is given as it is
        : object_{std::addressof(f)}, call_{[](void const* object, A... arguments) -> R {
              using pointer = std::add_pointer_t<F>; // const where F is
              auto& it = *static_cast<pointer>(const_cast<void*>(object));
              if constexpr (std::is_void_v<R>) it(std::forward<A>(arguments)...);
              else return it(std::forward<A>(arguments)...);
          }} {}
    R operator()(A... arguments) const { return call_(object_, std::forward<A>(arguments)...); }
};

} // namespace mpt::inline v0
