/// coll/plan - a collective written down: what one rank does in it, step by step.
///
///        plan p;
///        coll::allreduce(recorder{p, group, me, number, variables}, operand, mine, all, n);       // nothing is sent
///
///        phase 1   message >2   message <1         a message starts with those of its phase, which ends when all of them have
///                  move                            this rank's own steps are done where they stand
///                  combine
///        phase 2   message >4   message <5   ...
///
///   An exchange is a phase, of two messages or of many; so are sends that follow each other, and receives. What an algorithm keeps on
///   its stack (parts of data, runs of elements) is copied into the plan, and its scratch memory is the plan's: a plan can be run again
///   and again.
///
///   Labels   blocking collectives label messages by the algorithm alone; these by their number among the communicator's too, which
///            is the same on all ranks, because they call them in the same order (MPI-4.1 section 6.12). It counts modulo 2^27.
///   Memory   about 100 bytes a message, and the scratch memory of the algorithm. What the data refer to (buffers, layouts) is the caller's,
///            until the plan is run no more.
///   Tests    test/coll_plan_test.cpp
#pragma once
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <mpt/coll/team.hpp>

namespace mpt::inline v0::coll {

/// How many collectives of a communicator that do not block have labels of their own, by their numbers.
inline constexpr std::uint32_t schedule_numbers = 1u << 27;
constexpr tag numbered(std::uint32_t speaker, std::uint32_t number) noexcept {
    return tag{static_cast<std::int32_t>(number % schedule_numbers << 4 | speaker)};
}
/// The label of the same message of another one.
constexpr tag numbered(tag label, std::uint32_t number) noexcept {
    return label == any_tag ? label : numbered(static_cast<std::uint32_t>(label.value) & 15, number);
}

/// A message to a rank, or from it.
struct message_step {
    bool sends;
    std::uint32_t phase;
    std::int32_t peer; // rank of the group
    rank world;        // the same in the job
    tag label;
    source out;
    sink in;
    protocol::request* under_way = nullptr; // of who runs the plan
    std::size_t size() const noexcept { return sends ? out.size() : in.size(); }
};
struct move_step {
    source from;
    sink into;
};
struct combine_step {
    combiner how;
    void* what;
    std::byte const* left;
    std::byte* right;
    std::size_t n;
    bool ours; // as operand::ours
    static constexpr std::size_t few = 256;
    bool is_brief() const noexcept { return ours && n <= few; }
    void run() const { how(what, left, right, n); }
};
using plan_step = std::variant<message_step, move_step, combine_step>;

/// The steps of one rank, and the memory they need.
class plan {
public:
    enum class sort : std::uint8_t { sends, receives, others };

private:
    static constexpr std::size_t few = 4, chunk = 1024, alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

    std::vector<plan_step> steps_;
    std::vector<std::unique_ptr<scratch>> memory_;
    std::span<std::byte> free_; // of the chunk that small objects share
    std::uint32_t phase_ = 0;
    sort open_ = sort::others; // which more messages may belong to the last phase
    detail::mismatch wrong_;   // of what this rank sends to itself

public:
    std::vector<plan_step> const& steps() const noexcept { return steps_; }
    std::vector<plan_step>& steps() noexcept { return steps_; }
    void add(plan_step const& s) {
        if (steps_.empty()) steps_.reserve(few);
        steps_.push_back(s);
    }
    detail::mismatch& wrong() noexcept { return wrong_; }
    /// The steps of another collective by the same call.
    void renumber(std::uint32_t number) noexcept {
        for (auto& s : steps_)
            if (auto* const m = std::get_if<message_step>(&s)) m->label = numbered(m->label, number);
    }
    /// Of the steps, and of the memory that they need.
    std::size_t bytes() const noexcept {
        auto all = steps_.capacity() * sizeof(plan_step);
        for (auto const& m : memory_) all += m->all().size();
        return all;
    }
    /// The phase of messages that come next. Those of one sort that follow each other are a phase.
    std::uint32_t phase_for(sort s) noexcept {
        if (s == sort::others || std::exchange(open_, s) != s) ++phase_;
        return phase_;
    }
    /// What comes next begins a phase.
    void close_phase() noexcept { open_ = sort::others; }
    /// Bytes that live as long as the plan.
    std::span<std::byte> memory(std::size_t n) { return memory_.emplace_back(std::make_unique<scratch>(n))->all(); }
    /// A copy that lives as long as the plan.
    template <class T> T const& keep(T const& object) {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= chunk && alignof(T) <= alignment);
        constexpr auto room = (sizeof(T) + alignment - 1) / alignment * alignment;
        if (free_.size() < room) free_ = memory(chunk);
        auto* const at = std::exchange(free_, free_.subspan(room)).data();
        return *::new (static_cast<void*>(at)) T(object);
    }
};

/// A team (coll/team.hpp) that writes down what is asked of it.
class recorder {
    using sort = plan::sort;

    plan* plan_;
    group const* who_;
    rank me_;
    std::uint32_t number_;
    config::values const* variables_;

public:
    /// number: of this collective among those of its communicator that are not blocking.
    recorder(plan& p, group const& who, rank me, std::uint32_t number, config::values const& variables) noexcept
        : plan_{&p}, who_{&who}, me_{me}, number_{number}, variables_{&variables} {}

    rank me() const noexcept { return me_; }
    std::int32_t size() const noexcept { return who_->size(); }
    group const& who() const noexcept { return *who_; }
    template <text Name> std::size_t limit() const noexcept { return variables_->get<Name>(); }
    recorder const& rooted(speaker, std::int32_t, way = way::usual) const noexcept { return *this; }
    bool differs() const noexcept { return false; } // what comes is not known yet
    recorder among(group const& who, rank me) const noexcept {
        auto r = *this;
        r.who_ = &who, r.me_ = me;
        return r;
    }

    template <class Out> void send(std::int32_t to, speaker s, Out const& data) const {
        add_send(plan_->phase_for(sort::sends), to, s, kept(data));
    }
    template <class In> void recv(std::int32_t from, speaker s, In const& into) const {
        add_receive(plan_->phase_for(sort::receives), from, s, room(into));
    }
    template <class Out, class In>
    void exchange(std::int32_t to, Out const& data, std::int32_t from, In const& into, speaker s) const {
        plan_->close_phase();
        auto const phase = plan_->phase_for(sort::others);
        add_receive(phase, from, s, room(into));
        add_send(phase, to, s, kept(data));
    }
    void exchange_all(std::span<incoming const> in, std::span<outgoing const> out, speaker s) const {
        plan_->close_phase();
        auto const phase = plan_->phase_for(sort::others);
        for (auto const& m : in) add_receive(phase, m.from, s, m.into);
        for (auto const& m : out) add_send(phase, m.to, s, m.data);
    }
    void nod(std::int32_t to, std::int32_t from, speaker s) const { exchange(to, source{}, from, sink{}, s); }
    void keep(source const& mine, sink const& into) const {
        if (mine.size() != into.size()) return plan_->wrong().note(mine.size(), into.size(), me_);
        move(mine, into);
    }
    template <class Out, class In> void move(Out const& from, In const& into) const {
        plan_->close_phase();
        plan_->add(move_step{kept(from), room(into)});
    }
    /// ours: as operand::ours.
    void combine(combiner f, void* what, std::byte const* left, std::byte* right, std::size_t n, bool ours = false) const {
        plan_->close_phase();
        plan_->add(combine_step{f, what, left, right, n, ours});
    }
    scratch memory(std::size_t n) const { return scratch{plan_->memory(n)}; }
    template <class T> T const& lasting(T const& object) const { return plan_->keep(object); }

private:
    tag label(speaker s) const noexcept { return numbered(static_cast<std::uint32_t>(s), number_); }
    void add_send(std::uint32_t phase, std::int32_t to, speaker s, source const& data) const {
        plan_->add(message_step{true, phase, to, who_->world(to), label(s), data, {}});
    }
    void add_receive(std::uint32_t phase, std::int32_t from, speaker s, sink const& into) const {
        plan_->add(message_step{false, phase, from, who_->world(from), label(s), {}, into});
    }

    static source kept(source const& s) noexcept { return s; }
    template <byte_source S>
        requires(!std::same_as<S, source>)
    source kept(S const& layout) const {
        return source::of(plan_->keep(layout));
    }
    static sink room(sink const& s) noexcept { return s; }
    template <byte_sink S>
        requires(!std::same_as<S, sink>)
    sink room(S const& layout) const {
        return sink::of(plan_->keep(layout));
    }
};
static_assert(team_type<recorder>);

} // namespace mpt::inline v0::coll
