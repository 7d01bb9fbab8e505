/// rma/element - elements of a window combined with others, each at once: what accumulates are made of, whoever executes them.
///
///        element                                          by
///        2, 4 or 8 bytes, aligned to its size             the processor: an atomic operation, or a loop of compare-and-swap
///        any other (bytes, double complex, pairs)         the lock `wide` of the part that it lies in
///
///   Which it is follows from kind and address alone, so all accumulates of one kind on one element meet in one place, also where one
///   rank executes them by loads and stores and another has them executed by the owner's agent. Who has a part's rows to itself
///   (rma/rows.hpp) changes what would be the processor's by combine_rows().
///
///   So all that one call does to bytes happens at once: programs move whole structures as MPI_BYTE, though MPI promises it of elements
///   only. Rows of bytes go at a kernel's speed.
///
///   Data come packed, as a message carries them: pairs without their gaps. `old`, where there is one, gets what was there.
///
///   Where nobody else can change a part's elements meanwhile (an exclusive lock), or all have agreed on it (a window's hint), all of
///   them go under the lock, and rows of any kind at a kernel's speed.
///
///   Order   An element's change acquires and releases, so what a rank has written before it changes a flag is there for who reads
///           the flag by another accumulate.
///   Cost    sum, bit operations, replace, no_op of integers: one instruction an element, of a replace whose old value nobody asks
///           for a store. Else a compare-and-swap an element, in rows for 16 bytes, and there a kernel's call for 64 elements.
///   Limit   elements that only plain loads and stores touch meanwhile are the program's mistake. Who holds `wide` does not wait for anything.
///   Tests   test/rma_element_test.cpp    Source MPI-4.1 sections 12.3.4 and 12.7.1.
#pragma once
#include <span>

#include <mpt/datatype/operation.hpp>
#include <mpt/datatype/runs.hpp>
#include <mpt/rma/lock_word.hpp>

namespace mpt::inline v0::rma {

/// An operation on elements of a kind. Not valid: it is not defined there.
class element_action {
    kernel combine_;
    operation what_;
    element_kind kind_;
    std::uint8_t packed_ = 0, whole_ = 0; // bytes in a message; for a processor's atomic, else 0

public:
    element_action(operation what, element_kind kind) noexcept : combine_{find_kernel(what, kind)}, what_{what}, kind_{kind} {
        if (!is_valid()) return;
        auto const& f = facts(kind);
        bool const has_word = f.size == f.extent && (f.size == 2 || f.size == 4 || f.size == 8);
        packed_ = f.size, whole_ = has_word ? f.size : 0;
    }

    bool is_valid() const noexcept { return combine_ != nullptr; }
    operation what() const noexcept { return what_; }
    element_kind kind() const noexcept { return kind_; }
    /// Packed bytes of an element.
    std::size_t size() const noexcept { return packed_; }
    /// Of elements that a processor changes at once: how long they are; of others 0.
    std::size_t whole() const noexcept { return whole_; }
    kernel function() const noexcept { return combine_; }
    /// The same, no element by the processor.
    element_action under_lock() const noexcept {
        auto a = *this;
        a.whole_ = 0;
        return a;
    }
};

/// The elements in these runs, in their order, become what they were `op` the operand's. Runs hold whole elements together; one may
/// end in the middle of a pair that has a gap. old: null, or room for as many packed bytes as the runs have. operand: not looked at by no_op.
void combine(element_action const& action, std::span<memory_run const> runs, std::byte const* operand, std::byte* old,
             lock_word<>& wide);
/// The same by who alone changes elements that a processor changes at once: at a kernel's speed where they are aligned.
void combine_rows(element_action const& action, std::span<memory_run const> runs, std::byte const* operand, std::byte* old,
                  lock_word<>& wide);
/// The same of one aligned integer of 4 or 8 bytes, where the processor has an instruction for the operation, and sums of float and
/// double. old: null where nobody asks. False: it is something else, and nothing was done.
bool combine_one(operation what, element_kind kind, std::byte* at, std::byte const* operand, std::byte* old) noexcept;
/// The same under the part's lock, whatever the element's alignment.
bool combine_one_locked(operation what, element_kind kind, std::byte* at, std::byte const* operand, std::byte* old,
                        lock_word<>& wide) noexcept;
/// The same of compare_and_swap(): one of the processor's words, by one of its instructions. False: nothing was done.
bool swap_one(std::size_t size, std::byte* at, std::byte const* expected, std::byte const* desired, std::byte* old) noexcept;
/// One element of `size` bytes becomes *desired where it equals *expected; old gets what it was. size: as the kind's. locked: not by the
/// processor.
void compare_and_swap(std::size_t size, std::byte* at, std::byte const* expected, std::byte const* desired, std::byte* old,
                      lock_word<>& wide, bool locked = false);

} // namespace mpt::inline v0::rma
