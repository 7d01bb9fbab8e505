/// mpi/window - one-sided communication: memory of every rank of a communicator that the others read, write and update.
///
///        mpt::window w{world, mpt::allocated<double>(1000)};          every rank 1000 numbers, which peers reach by loads and stores
///        w.local()[3] = 1.5;
///        w.fence();
///        w.put(values, 1, 100);                                       to rank 1, from its element 100 on
///        w.accumulate(2.0, 0, 7, std::plus{});                        rank 0's element 7 += 2
///        w.fence();                                                   all of it is there, on all ranks
///
///        if (auto const mine = w.lock(1)) {                           alone with rank 1's part, which does nothing for it
///            auto const was = w.fetch_and_op(1.0, 1, 0, std::plus{});
///            w.flush(1);
///        }                                                            unlocked
///
///   allocated<T>(n)  memory of mpt's            shared_memory<T>(n)   the same, and span_of(r) is rank r's part, in place
///   exposed(range)   memory of one's own, which outlives the window; others reach it through the kernel or by a thread of this rank
///
///   dynamic<T>()     none yet: attach(range) gives the address by which others name it      w.put(2.0, 1, address)
///
///        w.put({column, 4, type}, 1, {100, 4, type});                 elements of any layout at both sides, from element 100 on
///
///   A window has a name, hints (mpi/hints.hpp) and attributes (mpi/caching.hpp). Its memory of mpt's begins where
///   mpi_minimum_memory_alignment says: what each rank allocates, and of shared parts that follow each other the first.
///
///   Elements are trivially copyable; those of accumulates, fetch_and_op and compare_and_swap are numbers (arithmetic types, std::complex),
///   and their operations those of mpi/operations.hpp, and mpt::replace. Every operation is complete here when it returns.
///
///   The destructor is collective, as the constructor is: all ranks come to it. Where an exception unwinds it waits for nobody.
///   Tests   test/mpi_window_test.cpp    Source MPI-4.1 chapter 12.
#pragma once
#include <complex>
#include <exception>

#include <mpt/mpi/caching.hpp>
#include <mpt/mpi/communicator.hpp>
#include <mpt/mpi/hints.hpp>
#include <mpt/mpi/window/typed.hpp>
#include <mpt/rma/window.hpp>

namespace mpt::inline v0 {

/// op(was, given) -> given.
struct replace_by {
    template <class T> constexpr T operator()(T const&, T const& given) const { return given; }
};
inline constexpr replace_by replace{};

/// What a window is made over: elements of T.
template <element T> struct window_memory {
    rma::wanted what;
};
template <element T> window_memory<T> allocated(std::size_t n) {
    return {{.how = rma::flavor::allocate, .size = n * sizeof(T), .unit = sizeof(T)}};
}
/// contiguous: each rank's part follows that of the rank before; else each lies where its rank is at home.
template <element T> window_memory<T> shared_memory(std::size_t n, bool contiguous = false) {
    return {{.how = rma::flavor::shared, .size = n * sizeof(T), .unit = sizeof(T), .contiguous = contiguous}};
}
template <receivable R> auto exposed(R&& range) {
    using T = element_t<std::remove_reference_t<R>>;
    return window_memory<T>{{.how = rma::flavor::create, .memory = detail::room_of(range), .unit = sizeof(T)}};
}
/// Memory that comes later, and goes.
template <element T> window_memory<T> dynamic() { return {{.how = rma::flavor::dynamic}}; }

namespace detail {
/// MPI's name of an operation.
template <class Op> inline constexpr operation operation_of = operation::no_op;
template <class T> inline constexpr operation operation_of<std::plus<T>> = operation::sum;
template <class T> inline constexpr operation operation_of<std::multiplies<T>> = operation::prod;
template <class T> inline constexpr operation operation_of<std::bit_and<T>> = operation::band;
template <class T> inline constexpr operation operation_of<std::bit_or<T>> = operation::bor;
template <class T> inline constexpr operation operation_of<std::bit_xor<T>> = operation::bxor;
template <class T> inline constexpr operation operation_of<std::logical_and<T>> = operation::land;
template <class T> inline constexpr operation operation_of<std::logical_or<T>> = operation::lor;
template <> inline constexpr operation operation_of<min_of> = operation::min;
template <> inline constexpr operation operation_of<max_of> = operation::max;
template <> inline constexpr operation operation_of<replace_by> = operation::replace;

/// The kind of C++'s numbers; mixed: none.
template <class T> constexpr element_kind number_kind() noexcept {
    if constexpr (std::is_same_v<T, bool>) return element_kind::cxx_bool;
    else if constexpr (std::is_same_v<T, float>) return element_kind::c_float;
    else if constexpr (std::is_same_v<T, double>) return element_kind::c_double;
    else if constexpr (std::is_same_v<T, long double>) return element_kind::c_long_double;
    else if constexpr (std::is_same_v<T, std::complex<float>>) return element_kind::cxx_float_complex;
    else if constexpr (std::is_same_v<T, std::complex<double>>) return element_kind::cxx_double_complex;
    else if constexpr (std::is_same_v<T, std::complex<long double>>) return element_kind::cxx_long_double_complex;
    else if constexpr (!std::is_integral_v<T>) return element_kind::mixed;
    else if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? element_kind::int8 : element_kind::uint8;
    else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? element_kind::int16 : element_kind::uint16;
    else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? element_kind::int32 : element_kind::uint32;
    else if constexpr (sizeof(T) == 8) return std::is_signed_v<T> ? element_kind::int64 : element_kind::uint64;
    else return element_kind::mixed;
}

template <class T, class Op> consteval operation checked_operation() {
    static_assert(number_kind<T>() != element_kind::mixed,
                  "mpt::window: these elements are no numbers: they can be put and got, "
                  "but not combined (see mpt/mpi/window.hpp)");
    static_assert(operation_of<Op> != operation::no_op, "mpt::window: no operation of one-sided communication (see "
                                                        "mpt/mpi/window.hpp)");
    return operation_of<Op>;
}
} // namespace detail

template <element T, class Stack> class window {
    hints::of_window hints_;
    std::string name_;
    std::unique_ptr<rma::window<Stack>> w_;
    cached attached_{window_keys(), w_.get()};
    int exceptions_ = std::uncaught_exceptions();

public:
    using request = basic_request<Stack>;

    /// A lock that is given back when this goes.
    class [[nodiscard]] locked {
        rma::window<Stack>* w_;
        rank target_; // proc_null: all
        int exceptions_ = std::uncaught_exceptions();

    public:
        locked(rma::window<Stack>& w, rank target) noexcept : w_{&w}, target_{target} {}
        locked(locked const&) = delete;
        ~locked() noexcept(false) {
            if (std::uncaught_exceptions() > exceptions_) return; // what is under way is not waited for
            if (target_ == proc_null) w_->unlock_all();
            else w_->unlock(target_);
        }
        explicit operator bool() const noexcept { return true; }
    };

    /// Collective.
    template <class Errors>
    window(communicator_view<Stack, Errors> const& on, window_memory<T> const& memory, info const& given = {})
        : hints_{hints::made_with(given)},
          w_{rma::make_window(*on.native().run, team_of(on.native()), with_hints(memory.what, hints_, given))} {}
    window(window&&) noexcept = default;
    window& operator=(window&&) = delete;
    ~window() {
        if (!w_ || std::uncaught_exceptions() > exceptions_) return;
        try {
            attached_.remove_all();
            w_->free();
        } catch (error const&) { // the job is over, or an epoch was left open: nobody waits for us
        }
    }

    mpt::rank rank() const noexcept { return w_->me(); }
    std::int32_t size() const noexcept { return w_->size(); }
    /// This rank's own part.
    std::span<T> local() const noexcept { return elements(w_->own()); }
    /// Any rank's part of a shared window, in place.
    std::span<T> span_of(mpt::rank r) const {
        checks::to("span_of", r, size());
        return elements(w_->shared(r));
    }

    // --- what the program calls it, and says of it ---------------------------------------------------------------------------------
    std::string const& name() const noexcept { return name_; }
    void set_name(std::string name) { name_ = std::move(name); }
    void set_info(info const& given) { hints::change(hints_, given); }
    /// The hints in use.
    info get_info() const { return hints::shown(hints_); }
    cached& attributes() noexcept { return attached_; }

    // --- memory of a dynamic window. Section 12.2.4 --------------------------------------------------------------------------------
    /// The address by which others name the memory, which stays until it is detached.
    template <receivable R> std::size_t attach(R&& memory) {
        std::span<std::byte> const bytes = detail::room_of(memory);
        w_->attach(bytes);
        return reinterpret_cast<std::size_t>(bytes.data());
    }
    template <receivable R> void detach(R&& memory) { w_->detach(std::span<std::byte>{detail::room_of(memory)}.data()); }

    // --- operations: `at` counts the target's elements. Section 12.3 --------------------------------------------------------------
    template <class U> void put(U const& data, mpt::rank to, std::size_t at = 0) {
        auto const bytes = detail::bytes_of(data);
        if (is_one("put", to)) w_->put({bytes.data(), std::ssize(bytes), raw()}, place(to, at, std::ssize(bytes)));
    }
    template <receivable U> void get(U&& into, mpt::rank from, std::size_t at = 0) {
        std::span<std::byte> const bytes = detail::room_of(into);
        if (is_one("get", from)) w_->get({bytes.data(), std::ssize(bytes), raw()}, place(from, at, std::ssize(bytes)));
    }
    T value(mpt::rank from, std::size_t at = 0) {
        T v{};
        get(v, from, at);
        return v;
    }
    /// element = op(element, value), atomically, for each. Section 12.3.4.
    template <class U, class Op = std::plus<>> void accumulate(U const& data, mpt::rank to, std::size_t at = 0, Op = {}) {
        auto const n = elements_in(data);
        if (is_one("accumulate", to))
            w_->accumulate({detail::bytes_of(data).data(), n, number()}, typed_place(to, at, n),
                           detail::checked_operation<T, Op>());
    }
    /// The same; what was there.
    template <class U, class Op = std::plus<>>
    std::vector<T> get_accumulate(U const& data, mpt::rank to, std::size_t at = 0, Op = {}) {
        auto const n = elements_in(data);
        detail::vector_room<T> was{static_cast<std::size_t>(n)};
        if (is_one("get_accumulate", to))
            w_->get_accumulate({detail::bytes_of(data).data(), n, number()}, {was.data(), n, number()}, typed_place(to, at, n),
                               detail::checked_operation<T, Op>());
        return std::move(was).take();
    }
    template <class Op = std::plus<>> T fetch_and_op(T const& value, mpt::rank to, std::size_t at = 0, Op = {}) {
        T was{};
        if (is_one("fetch_and_op", to))
            w_->fetch_and_op(&value, &was, number(), to, static_cast<std::int64_t>(at), detail::checked_operation<T, Op>());
        return was;
    }
    /// The element, as an accumulate sees it.
    T fetch(mpt::rank from, std::size_t at = 0) {
        T was{};
        if (is_one("fetch", from))
            w_->fetch_and_op(nullptr, &was, number(), from, static_cast<std::int64_t>(at), operation::no_op);
        return was;
    }
    /// element = desired where it was `expected`; what it was.
    T compare_and_swap(T const& expected, T const& desired, mpt::rank to, std::size_t at = 0) {
        T was{};
        if (is_one("compare_and_swap", to))
            w_->compare_and_swap(&desired, &expected, &was, number(), to, static_cast<std::int64_t>(at));
        return was;
    }

    // --- elements of any layout at both sides ----------------------------------------------------------------------------------------
    void put(rma::own_source const& from, mpt::rank to, target_data const& there) {
        if (is_one("put", to)) w_->put(from, place(to, there));
    }
    void get(rma::own_sink const& into, mpt::rank from, target_data const& there) {
        if (is_one("get", from)) w_->get(into, place(from, there));
    }
    void accumulate(rma::own_source const& from, mpt::rank to, target_data const& there, operation op) {
        detail::require_update("accumulate", op, there, {&from.type});
        if (is_one("accumulate", to)) w_->accumulate(from, place(to, there), op);
    }
    /// was: what was there. With operation::no_op nothing changes.
    void get_accumulate(rma::own_source const& from, rma::own_sink const& was, mpt::rank to, target_data const& there,
                        operation op) {
        if (op == operation::no_op) detail::require_update("get_accumulate", op, there, {&was.type});
        else detail::require_update("get_accumulate", op, there, {&from.type, &was.type});
        if (is_one("get_accumulate", to)) w_->get_accumulate(from, was, place(to, there), op);
    }

    // --- the same as requests, which are complete: see rma/window.hpp. Section 12.3.5 ------------------------------------------------
    template <class... Args> request rput(Args const&... as_put) { return put(as_put...), request{}; }
    template <class U, class... Args> request rget(U&& into, Args const&... as_get) {
        return get(std::forward<U>(into), as_get...), request{};
    }
    template <class... Args> request raccumulate(Args const&... as_accumulate) {
        return accumulate(as_accumulate...), request{};
    }
    request rget_accumulate(rma::own_source const& from, rma::own_sink const& was, mpt::rank to, target_data const& there,
                            operation op) {
        return get_accumulate(from, was, to, there, op), request{};
    }

    // --- epochs. Section 12.5 -----------------------------------------------------------------------------------------------------
    void fence(rma::promises p = {}) { w_->fence(p); }
    /// Ranks of the window.
    void start(std::vector<std::int32_t> const& targets, rma::promises p = {}) { w_->start(of(targets), p); }
    void complete() { w_->complete(); }
    void post(std::vector<std::int32_t> const& origins, rma::promises p = {}) { w_->post(of(origins), p); }
    void wait() { w_->wait(); }
    bool test() { return w_->test(); }
    locked lock(mpt::rank target, rma::lock_kind kind = rma::lock_kind::exclusive, rma::promises p = {}) {
        checks::to("lock", target, size());
        w_->lock(kind, target, p);
        return {*w_, target};
    }
    locked lock_shared(mpt::rank target) { return lock(target, rma::lock_kind::shared); }
    locked lock_all(rma::promises p = {}) {
        w_->lock_all(p);
        return {*w_, proc_null};
    }
    void flush(mpt::rank target) {
        checks::to("flush", target, size());
        w_->flush(target);
    }
    void flush_all() { w_->flush_all(); }
    void flush_local(mpt::rank target) {
        checks::to("flush_local", target, size());
        w_->flush_local(target);
    }
    void flush_local_all() { w_->flush_local_all(); }
    void sync() { w_->sync(); }

    rma::window<Stack>& native() noexcept { return *w_; }

private:
    static coll::team<Stack> team_of(communicator_state<Stack> const& s) noexcept {
        return {s.wire, s.who, s.me, s.rooted_calls};
    }
    static rma::wanted with_hints(rma::wanted w, hints::of_window const& h, info const& given) {
        w.contiguous = w.contiguous && !hints::noncontiguous(h);
        w.rows_locked = hints::rows_locked(h);
        w.alignment = hints::alignment(given);
        return w;
    }
    static std::span<T> elements(rma::part const& p) noexcept { return {reinterpret_cast<T*>(p.base), p.size / sizeof(T)}; }
    static datatype const& raw() {
        static datatype const t = datatype::named(element_kind::byte);
        return t;
    }
    static datatype const& number() {
        static_assert(detail::number_kind<T>() != element_kind::mixed, "mpt::window: these elements are no numbers");
        static datatype const t = datatype::named(detail::number_kind<T>());
        return t;
    }
    template <class U> static std::int64_t elements_in(U const& data) {
        static_assert(std::is_same_v<element_t<U>, T>, "mpt::window: what is combined are elements of the window's type");
        return static_cast<std::int64_t>(detail::bytes_of(data).size() / sizeof(T));
    }
    rma::target_place place(mpt::rank r, std::size_t at, std::ptrdiff_t n) const {
        return {r, static_cast<std::int64_t>(at), n, raw()};
    }
    static rma::target_place place(mpt::rank r, target_data const& there) {
        return {r, static_cast<std::int64_t>(there.at), there.count, there.type};
    }
    rma::target_place typed_place(mpt::rank r, std::size_t at, std::int64_t n) const {
        return {r, static_cast<std::int64_t>(at), n, number()};
    }
    bool is_one(char const* call, mpt::rank r) const {
        if (r == proc_null) return false;
        checks::to(call, r, size());
        return true;
    }
    group of(std::vector<std::int32_t> ranks) const {
        for (auto& r : ranks) {
            checks::to("start or post", r, size());
            r = w_->members().world(r).value;
        }
        return group::of(std::move(ranks));
    }
};
template <class Stack, class Errors, element T>
window(communicator_view<Stack, Errors> const&, window_memory<T> const&, info const& = {}) -> window<T, Stack>;

} // namespace mpt::inline v0
