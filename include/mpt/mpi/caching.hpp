/// mpi/caching - attributes of the C++ interface's objects: pointers that a library hangs on what it was given, under keys of its own.
///
///        auto const key = mpt::window_keys().create(copy, remove);       callbacks, or {}: mpi/attributes.hpp
///        w.attributes().set(key, plan);
///        if (auto const found = w.attributes().get(key)) ...             std::optional<void*>
///
///   Callbacks know an object by a pointer: a communicator and a window by their native(), a datatype by itself. Attributes are removed
///   when their object goes, also in a destructor, where a callback that fails is not heard. A copy (dup) has what copy callbacks give.
///
///   Cost     a pointer for an object without attributes. Keys stay until the process ends.
///   Threads  everything by anybody; an object goes, or is copied to, when nobody else uses it.
///   Tests    test/mpi_caching_test.cpp    Source MPI-4.1 section 7.7
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

namespace mpt::inline v0 {

class attributes;
class keyvals;

/// The keys of a process's C++ objects (mpi/attributes.hpp).
keyvals& communicator_keys();
keyvals& datatype_keys();
keyvals& window_keys();

/// The attributes of one object, if it has any.
class cached {
    keyvals const* keys_;
    void* object_;
    std::unique_ptr<attributes> all_; // made for the first one; guarded by the keys

    attributes& made();
    attributes* so_far() const;

public:
    /// object: what callbacks get.
    cached(keyvals const& keys, void* object) noexcept;
    cached(cached&&) noexcept;
    cached& operator=(cached&&) = delete;
    ~cached();

    void set(std::int32_t key, void* value);
    std::optional<void*> get(std::int32_t key);
    /// Whether there was one.
    bool remove(std::int32_t key);
    void remove_all();
    /// copy: of a new object, without attributes.
    void copy_to(cached& copy) const;
};

} // namespace mpt::inline v0
