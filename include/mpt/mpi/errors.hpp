/// mpi/errors - how the C++ facade tells of an error: a policy of the communicator's type.
///
///   errors::throwing    (default) throws mpt::error                     recv(...) -> T
///   errors::returning   gives result<T>: a value or an mpt::mpi_error   recv(...) -> result<T>
///   errors::aborting    prints the sentence and ends the job            recv(...) -> T
///
///   mpi_code_of(error) is MPI's code of what was thrown, result<T>::error().mpi_code() of what was returned (mpi/error_classes.hpp).
///   An argument error leaves everything as it was: the communicator goes on working, whatever the policy.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <variant>

#include <mpt/mpi/error_classes.hpp>

namespace mpt::inline v0 {

/// A value or an error. Asking for the value of an error throws it.
template <class T> class [[nodiscard]] result {
    std::variant<T, mpi_error> v_;

public:
    result(T value) : v_{std::in_place_index<0>, std::move(value)} {}
    result(mpt::error const& e) : v_{std::in_place_index<1>, e} {}
    explicit operator bool() const noexcept { return v_.index() == 0; }
    bool has_value() const noexcept { return v_.index() == 0; }
    T& value() & { return check(), *std::get_if<0>(&v_); }
    T const& value() const& { return check(), *std::get_if<0>(&v_); }
    T&& value() && { return check(), std::move(*std::get_if<0>(&v_)); }
    T& operator*() & { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    mpi_error const& error() const { return std::get<1>(v_); }

private:
    void check() const {
        if (auto const* e = std::get_if<1>(&v_)) throw *e;
    }
};
template <> class [[nodiscard]] result<void> {
    std::variant<std::monostate, mpi_error> v_;

public:
    result() = default;
    result(mpt::error const& e) : v_{std::in_place_index<1>, e} {}
    explicit operator bool() const noexcept { return v_.index() == 0; }
    bool has_value() const noexcept { return v_.index() == 0; }
    void value() const {
        if (auto const* e = std::get_if<1>(&v_)) throw *e;
    }
    mpi_error const& error() const { return std::get<1>(v_); }
};

namespace errors {

struct throwing {
    template <class T> using as = T;
    template <class F> static decltype(auto) run(F&& f) { return std::forward<F>(f)(); }
};

struct returning {
    template <class T> using as = result<T>;
    template <class F> static auto run(F&& f) -> result<std::invoke_result_t<F>> {
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
                std::forward<F>(f)();
                return {};
            } else return {std::forward<F>(f)()};
        } catch (error const& e) { return {e}; }
    }
};

/// Ends this process; its launcher ends the others (design section 9).
struct aborting {
    template <class T> using as = T;
    template <class F> static decltype(auto) run(F&& f) {
        try {
            return std::forward<F>(f)();
        } catch (error const& e) {
            std::fprintf(stderr, "%s\n", e.what());
            std::abort();
        }
    }
};

} // namespace errors
} // namespace mpt::inline v0
