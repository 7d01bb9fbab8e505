// Chapter 6: operations.
#include "operations.hpp"

#include <limits>

#include <mpt/datatype/typed.hpp>

#include "entries.hpp"

namespace mpt::c {

namespace {

struct named_operation {
    MPI_Op handle;
    operation what;
    char const* name;
};

named_operation const named_operations[] = {
    {MPI_SUM, operation::sum, "MPI_SUM"},
    {MPI_MIN, operation::min, "MPI_MIN"},
    {MPI_MAX, operation::max, "MPI_MAX"},
    {MPI_PROD, operation::prod, "MPI_PROD"},
    {MPI_BAND, operation::band, "MPI_BAND"},
    {MPI_BOR, operation::bor, "MPI_BOR"},
    {MPI_BXOR, operation::bxor, "MPI_BXOR"},
    {MPI_LAND, operation::land, "MPI_LAND"},
    {MPI_LOR, operation::lor, "MPI_LOR"},
    {MPI_LXOR, operation::lxor, "MPI_LXOR"},
    {MPI_MINLOC, operation::minloc, "MPI_MINLOC"},
    {MPI_MAXLOC, operation::maxloc, "MPI_MAXLOC"},
    {MPI_REPLACE, operation::replace, "MPI_REPLACE"},
    {MPI_NO_OP, operation::no_op, "MPI_NO_OP"},
};
static_assert(std::size(named_operations) == operations);

/// A datatype as a function of the user names it: by its handle, or where the program has freed that meanwhile, by one for this call.
class shown_type {
    binding& in_{here()};
    bool mine_;

public:
    MPI_Datatype handle;

    explicit shown_type(datatype_object const& t)
        : mine_{in_.datatypes.find_handle(t.handle) != &t}, handle{mine_ ? again(t) : t.handle} {}
    shown_type(shown_type const&) = delete;
    ~shown_type() {
        if (!mine_) return;
        if (auto* const gone = in_.datatypes.remove(word_of(handle))) gone->let_go();
    }

private:
    MPI_Datatype again(datatype_object const& t) const {
        return binding::publish<MPI_Datatype>(in_.datatypes, ref<datatype_object>{const_cast<datatype_object&>(t)});
    }
};

/// The greatest multiple of every alignment up to a place.
std::int64_t aligned_below(std::int64_t at) noexcept { return at & -std::int64_t{__STDCPP_DEFAULT_NEW_ALIGNMENT__}; }

} // namespace

bool is_basic(datatype const& t) noexcept {
    if (t.element() == element_kind::mixed || t.true_lower_bound() != 0 || t.lower_bound() != 0) return false;
    auto const& one = facts(t.element());
    return t.elements() == (one.is_pair() ? 2 : 1) && t.extent() == one.extent;
}

combination::combination(call const& on, operation_object& op, datatype_object& t)
    : op_{op}, type_{t}, shift_{aligned_below(t.type.true_lower_bound())} {
    on.committed(t, "datatype");
    if (op.predefined) find_kernel(on);
    else kept_op_ = ref<operation_object>{op}, kept_type_ = ref<datatype_object>{t};
    auto const& type = t.type;
    auto const low = std::min(type.lower_bound(), type.true_lower_bound());
    auto const high = std::max(type.upper_bound(), type.true_lower_bound() + type.true_extent());
    operand_ = {static_cast<std::size_t>(type.size()), type.extent(), low - shift_, static_cast<std::size_t>(high - low)};
    operand_.commutes = op.commutes;
    operand_.what = this;
    operand_.combine = [](void* what, std::byte const* left, std::byte* right, std::size_t n) {
        static_cast<combination const*>(what)->combine(left, right, n);
    };
    if (type.is_contiguous(2) && low == 0) return;
    operand_.read = [](void* what, std::byte const* origin, std::size_t offset, std::span<std::byte> into) noexcept {
        static_cast<combination const*>(what)->read(origin, offset, into);
    };
    operand_.write = [](void* what, std::byte* origin, std::size_t offset, std::span<std::byte const> from) noexcept {
        static_cast<combination const*>(what)->write(origin, offset, from);
    };
}

void combination::find_kernel(call const& on) {
    if (*op_.predefined == operation::replace || *op_.predefined == operation::no_op)
        on.fail(MPI_ERR_OP, std::string{"op is "} + op_.name + ", which is for one-sided communication only");
    if (is_basic(type_.type)) kernel_ = mpt::find_kernel(*op_.predefined, type_.type.element());
    if (!kernel_)
        on.fail(MPI_ERR_OP,
                std::string{op_.name} + " is not defined on " + (type_.name.empty() ? "a derived datatype" : type_.name));
}

void combination::combine(std::byte const* left, std::byte* right, std::size_t n) const {
    if (kernel_) kernel_(left, right, n);
    else call_user(left, right, n);
}

void combination::call_user(std::byte const* left, std::byte* right, std::size_t n) const {
    shown_type const living{type_};
    auto const most = op_.function.large ? n : std::min<std::size_t>(n, std::numeric_limits<int>::max());
    for (std::size_t done = 0; done < n;) {
        auto const count = std::min(most, n - done);
        auto* const in = const_cast<std::byte*>(operand_.at(left, done)) - shift_;
        auto* const inout = operand_.at(right, done) - shift_;
        auto type = living.handle;
        if (op_.function.large) {
            auto length = static_cast<MPI_Count>(count);
            op_.function.large(in, inout, &length, &type);
        } else {
            auto length = static_cast<int>(count);
            op_.function.small(in, inout, &length, &type);
        }
        done += count;
    }
}

std::int64_t combination::elements(std::size_t bytes) const noexcept {
    return static_cast<std::int64_t>((bytes + operand_.packed - 1) / operand_.packed);
}
void combination::read(std::byte const* origin, std::size_t offset, std::span<std::byte> into) const noexcept {
    typed_source{origin - shift_, elements(offset + into.size()), type_.type}.read(offset, into);
}
void combination::write(std::byte* origin, std::size_t offset, std::span<std::byte const> from) const noexcept {
    typed_sink{origin - shift_, elements(offset + from.size()), type_.type}.write(offset, from);
}

void predefine_operations(binding& b) {
    for (auto const& o : named_operations) b.operations.predefine(word_of(o.handle), new operation_object{o.what, o.name});
}
void forget_operations(binding& b) {
    for (auto const& o : named_operations) b.operations.get(o.handle).let_go();
}

namespace impl {

void Op_create(call& on, either<MPI_User_function, MPI_User_function_c> function, int commute, MPI_Op& op) {
    op = binding::publish<MPI_Op>(on.of().operations,
                                  ref<operation_object>::adopt(new operation_object{function, commute != 0}));
}
void Op_free(call& on, MPI_Op& op) {
    auto const& o = on.object(op, "op");
    if (o.predefined) on.fail(MPI_ERR_OP, std::string{"op is "} + o.name + ", which is predefined: it cannot be freed");
    on.of().operations.remove(word_of(op))->let_go();
    op = MPI_OP_NULL;
}
void Op_commutative(call&, operation_object& op, int& commute) { commute = op.commutes; }

} // namespace impl
} // namespace mpt::c
