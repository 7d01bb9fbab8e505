/// mpi/environment - a rank's part in a job, from its beginning to its end.
///
///        int main(int argc, char** argv) {
///            mpt::environment env{argc, argv};          // started by mptrun: one of its ranks; by hand: a job of one
///            auto world = env.world();
///            ...
///        }                                              // finishes what is under way and meets the others
///
///   mpt::environment<stack> names another stack. The destructor never throws; when an exception leaves main, the rank dies and
///   its launcher ends the others.
#pragma once
#include <memory>

#include <mpt/mpi/communicator.hpp>
#include <mpt/stack/standard.hpp>

namespace mpt::inline v0 {

template <class Stack = standard_stack> class environment {
public:
    using stack_type = Stack;
    using view = communicator_view<Stack>;

    /// Joins the job this process was started in. Throws mpt::error when that cannot be done.
    environment() : environment{boot::detect()} {}
    environment(int&, char**&) : environment{} {} // arguments are the program's: mpt takes none
    explicit environment(boot::membership m) : environment{std::move(m), config::values::of_process()} {}
    environment(boot::membership m, config::values const& v, beginning how = beginning::together)
        : run_{std::make_unique<runtime<Stack>>(the_only(std::move(m)), v, how)} {
        enlist();
    }
    ~environment() {
        buffers_->settle();
        process_registry::instance().remove(this);
    }
    environment(environment const&) = delete;
    environment& operator=(environment const&) = delete;

    /// All ranks of the job.
    view world() const noexcept { return view{*world_}; }
    /// This rank alone.
    view self() const noexcept { return view{*self_}; }
    mpt::rank rank() const noexcept { return run_->me(); }
    std::int32_t size() const noexcept { return run_->size(); }

    /// n elements of the arena, which peers reach without a copy through the kernel. Throws mpt::error(no_memory) with the numbers.
    template <element T> std::span<T> allocate(std::size_t n) {
        if (n > static_cast<std::size_t>(-1) / sizeof(T))
            throw error{errc::argument, "mpt: allocate: more bytes than an address can count"};
        auto const s = run_->allocate(bytes{n * sizeof(T)}, run_->allocation_wish());
        return {reinterpret_cast<T*>(s.data()), n};
    }
    template <element T> void deallocate(std::span<T> s) noexcept { run_->deallocate(std::as_writable_bytes(s)); }

    /// Ends the whole job with this exit code.
    [[noreturn]] void abort(int code, std::string_view why = {}, void const* library = nullptr) noexcept {
        run_->job().abort(code, why, library);
    }

    runtime<Stack>& native() noexcept { return *run_; }
    /// Error classes and codes that the program adds, by this interface or by C's; a communicator's handler is its error policy.
    error_registry& errors() noexcept { return *errors_; }
    /// Of buffered sends (mpi/buffered.hpp).
    std::shared_ptr<buffer_home<Stack>> const& buffers() const noexcept { return buffers_; }

private:
    /// A process is one rank: two environments would share its memory.
    static boot::membership the_only(boot::membership m) {
        auto const of_process = [](environment_row const& r) { return !r.thread; };
        if (!Stack::world_type::shares_process && process_registry::instance().find(of_process))
            throw error{errc::usage,
                        "mpt: this process has an environment already (that of MPI_Init or a session stays until the "
                        "process ends); a session can be opened beside it"};
        return m;
    }
    void enlist() {
        world_ =
            std::make_unique<communicator_state<Stack>>(*run_, runtime<Stack>::world_context, group::range(0, run_->size()),
                                                        run_->me(), buffer_origin<Stack>{buffers_, {}});
        self_ = std::make_unique<communicator_state<Stack>>(*run_, runtime<Stack>::self_context, group::range(run_->me(), 1),
                                                            mpt::rank{0}, buffer_origin<Stack>{buffers_, {}});
        static std::string const name = Stack::describe(); // rows keep a view of it
        process_registry::instance().add({.stack = name,
                                          .layout = Stack::layout(),
                                          .me = run_->me(),
                                          .size = run_->size(),
                                          .thread = Stack::world_type::shares_process,
                                          .environment = this});
    }

    std::shared_ptr<error_registry> errors_ =
        Stack::world_type::shares_process ? std::make_shared<error_registry>() : error_registry::of_process();
    std::unique_ptr<runtime<Stack>> run_;
    std::shared_ptr<buffer_home<Stack>> buffers_ = std::make_shared<buffer_home<Stack>>();
    std::unique_ptr<communicator_state<Stack>> world_, self_;
};

environment() -> environment<>;
environment(int&, char**&) -> environment<>;

} // namespace mpt::inline v0
