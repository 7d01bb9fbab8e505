/// mpi/attributes - values that users hang on communicators, datatypes and windows, under keys that they make.
///
///        keyvals (one for each sort of object)         attributes (one for each object)
///        4096: copy, remove  <-----------------------  4097 -> value      in the order in which they were set
///        4097: copy, remove  <-----------------------  4096 -> value
///        4098: freed, and gone when its last attribute goes
///
///   Keys of different sorts of object are different numbers, so that one that is used on another sort of object is found out.
///
///   Callbacks are functions of the user. No lock is held while one runs, and it may call anything here, of the same object
///   too, return an error code, or throw:
///   - An attribute is taken off its object before its remove callback runs, so it is there no more for whoever asks, and
///     runs once. A callback that fails leaves it where it was, unless another one was set in its place meanwhile.
///   - set() removes what it finds under its key until it finds nothing. remove_all() takes the attribute that was set last
///     until there is none: what a callback sets meanwhile goes next.
///   - copy_to() asks for each key that was there at its start whether it still is, so nothing is copied that a callback
///     removed. A copy callback that fails ends it: the copies made so far are removed again, and the error comes back.
///
///   Cost    a look along the object's attributes for each call.
///   Order   one mutex for each object and each keyvals, held for steps that call nobody.
///   Limit   A remove callback that always sets its own attribute again keeps remove_all() busy for ever; one that leaves by
///           longjmp takes its attribute with it. A keyvals outlives the attributes that were made with it.
///   Tests   test/mpi_attributes_test.cpp
///   Source  MPI-4.1 section 7.7; section 11.2.4 for the order at the end of a program
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <mpt/mpi/error_classes.hpp>

namespace mpt::inline v0 {

class attributes;

/// What a copy callback answers: an error code that ends the call, or 0 and whether the new object gets a value, and which.
struct attribute_copy {
    std::int32_t code = 0;
    bool made = false;
    void* value = nullptr;
};
/// object: whatever names the object in the user's language. Empty functions: no copy is made; nothing is done.
using copy_callback = std::function<attribute_copy(void* object, std::int32_t key, void* value)>;
using remove_callback = std::function<std::int32_t(void* object, std::int32_t key, void* value)>;

/// Every copy has the same value: MPI_COMM_DUP_FN and its like.
inline attribute_copy copy_value(void*, std::int32_t, void* value) { return {0, true, value}; }

struct keyval {
    std::int32_t key;
    copy_callback copy;
    remove_callback remove;
};

/// The keys of one sort of object.
class keyvals {
public:
    static constexpr std::int32_t first = 4096, sorts = 3; // above the predefined keys; sorts of objects with keys of their own

    /// sort: less than `sorts`.
    explicit keyvals(std::int32_t sort = 0);
    ~keyvals();
    std::int32_t create(copy_callback copy, remove_callback remove);
    /// No attribute can be set under the key any more, but on objects that have one. Class keyval where there is no such key.
    /// Once more for a key that attributes still have: nothing happens.
    void free(std::int32_t key);
    /// Null where the key was never made, or was freed.
    std::shared_ptr<keyval const> find(std::int32_t key) const;
    /// What an object has for its attributes: made by whichever thread asks first; null where nobody has.
    attributes& made(std::unique_ptr<attributes>& owned) const;
    attributes* so_far(std::unique_ptr<attributes> const& owned) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

/// The attributes of one object. Destroyed without callbacks: its owner calls remove_all() while the object still lives.
class attributes {
public:
    explicit attributes(keyvals const& keys);
    ~attributes();

    /// Removes the value under the key, if any, then sets the new one.
    void set(void* object, std::int32_t key, void* value);
    std::optional<void*> get(std::int32_t key) const;
    /// Whether there was one.
    bool remove(void* object, std::int32_t key);
    /// The other way round than they were set. A callback that fails ends it; what is left can be removed later.
    void remove_all(void* object);
    /// For a new object, without attributes, that is to be a copy of this one. In the order in which they were set.
    void copy_to(void* object, attributes& copy, void* copied_object) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace mpt::inline v0
