// Chapter 7: attributes of communicators, datatypes and windows, and chapter 16: their first names.
#include "attributes.hpp"

#include <cstdlib>
#include <cstring>

#include "entries.hpp"

namespace mpt::c {

namespace {

keyvals& keys_for(binding& b, comm const&) noexcept { return b.comm_keys; }
keyvals& keys_for(binding& b, datatype_object const&) noexcept { return b.type_keys; }
keyvals& keys_for(binding& b, win const&) noexcept { return b.win_keys; }

template <class Object> attributes& attached_to(binding& b, Object& object) {
    std::lock_guard const g{b.changing};
    if (!object.attached) object.attached = std::make_unique<attributes>(keys_for(b, object));
    return *object.attached;
}

template <class Object> attributes* attached_so_far(binding& b, Object const& object) {
    std::lock_guard const g{b.changing};
    return object.attached.get();
}

// --- functions of the user ------------------------------------------------------------------------------------------------------

template <class Handle> using copy_function = int(Handle, int, void*, void*, void*, int*);
template <class Handle> using delete_function = int(Handle, int, void*, void*);

/// The constants of mpi.h in their place have these addresses, for every sort of object.
constexpr std::uintptr_t no_function = 0, same_value = 1;
template <class F> std::uintptr_t address_of(F* f) noexcept { return reinterpret_cast<std::uintptr_t>(f); }

template <class Handle> copy_callback copier(copy_function<Handle>* f, void* extra) {
    if (address_of(f) == no_function) return {};
    if (address_of(f) == same_value) return copy_value;
    return [f, extra](void* object, std::int32_t key, void* value) {
        attribute_copy answer;
        int flag = 0;
        answer.code = f(static_cast<Handle>(object), key, extra, value, &answer.value, &flag);
        answer.made = flag != 0;
        return answer;
    };
}
template <class Handle> remove_callback remover(delete_function<Handle>* f, void* extra) {
    if (address_of(f) == no_function) return {};
    return
        [f, extra](void* object, std::int32_t key, void* value) { return f(static_cast<Handle>(object), key, value, extra); };
}

// --- predefined keys ------------------------------------------------------------------------------------------------------------

bool is_predefined(int key) noexcept { return key >= MPI_TAG_UB && key <= MPI_UNIVERSE_SIZE; }
bool is_of_windows(int key) noexcept { return key >= MPI_WIN_BASE && key <= MPI_WIN_MODEL; }
int& predefined(binding& b, int key) noexcept { return b.environment_attributes[static_cast<std::size_t>(key - MPI_TAG_UB)]; }

/// A window's own: the base is the value, the others are where their values are.
void* predefined(win& w, int key) noexcept {
    switch (key) {
    case MPI_WIN_BASE: return w.base;
    case MPI_WIN_SIZE: return &w.bytes;
    case MPI_WIN_DISP_UNIT: return &w.unit;
    case MPI_WIN_CREATE_FLAVOR: return &w.flavor;
    default: return &w.model;
    }
}

/// Whoever got the pointer reads it at any time: it is written only when a code was added since.
void renew_last_used_code(binding& b) {
    auto const now = b.errors().last_used();
    std::lock_guard const g{b.changing};
    if (auto& told = predefined(b, MPI_LASTUSEDCODE); told != now) told = now;
}

void must_be_users(call& on, int key) {
    if (is_predefined(key) || is_of_windows(key))
        on.fail(MPI_ERR_KEYVAL, "key " + std::to_string(key) + " is a predefined one, whose attributes cannot be changed");
}

// --- the calls, for every sort of object ----------------------------------------------------------------------------------------

template <class Object> void set(call& on, Object& object, int key, void* value) {
    must_be_users(on, key);
    ref<Object> const kept{object}; // callbacks may free it
    attributes_of(on.of(), object).set(object.handle, key, value);
}
template <class Object> void get(call& on, Object& object, int key, void* into, int& flag) {
    on.not_null(into, "attribute_val");
    auto const value = attributes_of(on.of(), object).get(key);
    flag = value.has_value();
    if (value) std::memcpy(into, &*value, sizeof *value); // a void** in truth
}
template <class Object> void remove(call& on, Object& object, int key) {
    must_be_users(on, key);
    ref<Object> const kept{object};
    attributes_of(on.of(), object).remove(object.handle, key);
}
void free_key(call& on, keyvals& keys, int& key) {
    must_be_users(on, key);
    keys.free(key);
    key = MPI_KEYVAL_INVALID;
}

} // namespace

attributes& attributes_of(binding& b, comm& c) { return attached_to(b, c); }
attributes& attributes_of(binding& b, datatype_object& t) { return attached_to(b, t); }
attributes& attributes_of(binding& b, win& w) { return attached_to(b, w); }
attributes* attributes_if_any(binding& b, comm const& c) { return attached_so_far(b, c); }
attributes* attributes_if_any(binding& b, datatype_object const& t) { return attached_so_far(b, t); }
attributes* attributes_if_any(binding& b, win const& w) { return attached_so_far(b, w); }

void begin_attributes(binding& b) {
    predefined(b, MPI_TAG_UB) = tag_upper_bound;
    predefined(b, MPI_IO) = MPI_ANY_SOURCE; // every rank can
    predefined(b, MPI_HOST) = MPI_PROC_NULL;
    predefined(b, MPI_WTIME_IS_GLOBAL) = 1;                     // the clock is the host's, and all ranks are on one
    auto const* const program = std::getenv("MPT_BOOT_APPNUM"); // mptrun says so where it starts several
    predefined(b, MPI_APPNUM) = program ? std::atoi(program) : 0;
    predefined(b, MPI_UNIVERSE_SIZE) = b.run().size();
}
void end_attributes(binding& b) { remove_attributes(b, *b.self); }

namespace impl {

void Comm_create_keyval(call& on, MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, int& key,
                        void* extra) {
    key = on.of().comm_keys.create(copier<MPI_Comm>(copy, extra), remover<MPI_Comm>(remove, extra));
}
void Comm_free_keyval(call& on, int& key) { free_key(on, on.of().comm_keys, key); }
void Comm_set_attr(call& on, comm& c, int key, void* value) { set(on, c, key, value); }
void Comm_get_attr(call& on, comm& c, int key, void* into, int& flag) {
    if (!is_predefined(key)) return get(on, c, key, into, flag);
    on.not_null(into, "attribute_val");
    if (flag = key == MPI_TAG_UB || !c.of_session; flag == 0) return; // the others are the world model's
    auto& b = on.of();
    if (key == MPI_LASTUSEDCODE) renew_last_used_code(b);
    void* const value = &predefined(b, key);
    std::memcpy(into, &value, sizeof value);
}
void Comm_delete_attr(call& on, comm& c, int key) { remove(on, c, key); }

void Type_create_keyval(call& on, MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* remove, int& key,
                        void* extra) {
    key = on.of().type_keys.create(copier<MPI_Datatype>(copy, extra), remover<MPI_Datatype>(remove, extra));
}
void Type_free_keyval(call& on, int& key) { free_key(on, on.of().type_keys, key); }
void Type_set_attr(call& on, datatype_object& t, int key, void* value) { set(on, t, key, value); }
void Type_get_attr(call& on, datatype_object& t, int key, void* into, int& flag) { get(on, t, key, into, flag); }
void Type_delete_attr(call& on, datatype_object& t, int key) { remove(on, t, key); }

void Win_create_keyval(call& on, MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* remove, int& key,
                       void* extra) {
    key = on.of().win_keys.create(copier<MPI_Win>(copy, extra), remover<MPI_Win>(remove, extra));
}
void Win_free_keyval(call& on, int& key) { free_key(on, on.of().win_keys, key); }
void Win_set_attr(call& on, win& w, int key, void* value) { set(on, w, key, value); }
void Win_get_attr(call& on, win& w, int key, void* into, int& flag) {
    if (!is_of_windows(key)) return get(on, w, key, into, flag);
    on.not_null(into, "attribute_val");
    auto* const value = predefined(w, key);
    std::memcpy(into, &value, sizeof value);
    flag = 1;
}
void Win_delete_attr(call& on, win& w, int key) { remove(on, w, key); }

void Keyval_create(call& on, MPI_Copy_function* copy, MPI_Delete_function* remove, int& key, void* extra) {
    Comm_create_keyval(on, copy, remove, key, extra);
}
void Keyval_free(call& on, int& key) { Comm_free_keyval(on, key); }
void Attr_put(call& on, comm& c, int key, void* value) { Comm_set_attr(on, c, key, value); }
void Attr_get(call& on, comm& c, int key, void* into, int& flag) { Comm_get_attr(on, c, key, into, flag); }
void Attr_delete(call& on, comm& c, int key) { Comm_delete_attr(on, c, key); }

} // namespace impl
} // namespace mpt::c
