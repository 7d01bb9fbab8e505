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

/// A function of the program on buffers.
void call_user(operation_object const& op, datatype_object const& t, void const* left, void* right, std::int64_t n) {
    shown_type const living{t};
    auto const most = op.function.large ? n : std::min<std::int64_t>(n, std::numeric_limits<int>::max());
    for (std::int64_t done = 0; done < n;) {
        auto const count = std::min(most, n - done), at = done * t.type.extent();
        auto* const in = static_cast<std::byte*>(const_cast<void*>(left)) + at;
        auto* const inout = static_cast<std::byte*>(right) + at;
        auto type = living.handle;
        if (op.function.large) {
            auto length = static_cast<MPI_Count>(count);
            op.function.large(in, inout, &length, &type);
        } else {
            auto length = static_cast<int>(count);
            op.function.small(in, inout, &length, &type);
        }
        done += count;
    }
}

/// Null: the operation is the program's.
kernel checked_kernel(call const& on, operation_object const& op, datatype_object const& t) {
    on.committed(t, "datatype");
    if (!op.predefined) return nullptr;
    if (*op.predefined == operation::replace || *op.predefined == operation::no_op)
        on.fail(MPI_ERR_OP, std::string{"op is "} + op.name + ", which is for one-sided communication only");
    auto const k = is_basic(t.type) ? find_kernel(*op.predefined, t.type.element()) : nullptr;
    if (!k)
        on.fail(MPI_ERR_OP, std::string{op.name} + " is not defined on " + (t.name.empty() ? "a derived datatype" : t.name));
    return k;
}

/// Two words, which a std::function holds in itself: both objects are kept by the combination.
typed_operation::function function_of(operation_object const& op, datatype_object const& t) {
    if (op.predefined) return {};
    return [&op, &t](void const* left, void* right, std::int64_t n) { call_user(op, t, left, right, n); };
}

} // namespace

combination::combination(call const& on, operation_object& op, datatype_object& t)
    : typed_operation{t.type, op.commutes, checked_kernel(on, op, t),
                      op.predefined ? find_merger(*op.predefined, t.type.element()) : nullptr, function_of(op, t)} {
    if (!op.predefined) kept_op_ = ref<operation_object>{op}, kept_type_ = ref<datatype_object>{t};
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
