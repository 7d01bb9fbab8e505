/// attributes - attributes of communicators, datatypes and windows, for those who copy and free such objects. MPI-4.1 section 7.7.
///
///   The user's callbacks get the object's handle: it has one, which still lives.
#pragma once
#include "binding.hpp"

namespace mpt::c {

attributes& attributes_of(binding& b, comm& c);
attributes& attributes_of(binding& b, datatype_object& t);
attributes& attributes_of(binding& b, win& w);
/// Null: nobody has asked for them yet.
attributes* attributes_if_any(binding& b, comm const& c);
attributes* attributes_if_any(binding& b, datatype_object const& t);
attributes* attributes_if_any(binding& b, win const& w);

/// A new object gets what a dup gives it. Where that fails, it has none of them, and the error is thrown.
template <class Object> void copy_attributes(binding& b, Object& from, Object& to) {
    if (auto* const had = attributes_if_any(b, from)) had->copy_to(from.handle, attributes_of(b, to), to.handle);
}
/// Before an object is freed. Where a callback refuses, the object stays, and the error is thrown.
template <class Object> void remove_attributes(binding& b, Object& of) {
    if (auto* const had = attributes_if_any(b, of)) had->remove_all(of.handle);
}

} // namespace mpt::c
