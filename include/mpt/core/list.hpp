/// core/list - lists that run through the objects themselves: nothing is allocated, every step takes the same time.
///
///        list<request>  (the list holds the head)
///
///          .-> head <--> request a <--> request b <-.
///          `----------------------------------------'     a ring: no step has a special case, and an object leaves its
///                                                         list without knowing which list it is on
///
///   An object derives from list_node for the one list it can be on; one that is on several at a time derives from a node
///   type for each and names it:   struct by_age : list_node {};   struct job : by_age {};   list<job, by_age> oldest;
///
///   Memory   two pointers in each object and two in each list. A list must stay where it is, and end before its objects or
///            after them as it likes: it never touches them at its end.
///   Limit    not thread-safe; an object is on a list at most once. A node is not initialised until it is on a list.
///   Tests    test/core_list_test.cpp
#pragma once
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include <mpt/core/assert.hpp>

namespace mpt::inline v0 {

/// A place on a ring of nodes. Trivial: objects that are made on a fast path pay nothing for being able to be listed.
struct list_node {
    list_node* previous;
    list_node* next;

    /// Makes this a ring of one: the head of an empty list.
    void close() noexcept { previous = next = this; }
    /// Of a head: the list is empty.
    bool alone() const noexcept { return next == this; }

    void insert_before(list_node& at) noexcept {
        auto* const before = at.previous;
        previous = before;
        before->next = this; // between the two: keeps compilers from building one vector of both, which takes longer
        next = &at;
        at.previous = this;
    }
    void unlink() noexcept {
        MPT_ASSERT(cheap, previous->next == this && next->previous == this);
        previous->next = next;
        next->previous = previous;
    }
};
static_assert(std::is_trivially_default_constructible_v<list_node> && sizeof(list_node) == 2 * sizeof(void*));

/// T derives from Node, Node derives from (or is) list_node.
template <class T, class Node = list_node> class list {
    list_node head_;

    static T& object(list_node* n) noexcept { return static_cast<T&>(static_cast<Node&>(*n)); }
    static list_node& node(T& t) noexcept { return static_cast<Node&>(t); }

public:
    class iterator {
        list_node* at_ = nullptr;

    public:
        using iterator_category = std::bidirectional_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T*;
        using reference = T&;

        iterator() = default;
        explicit iterator(list_node* at) noexcept : at_{at} {}
        T& operator*() const noexcept { return object(at_); }
        T* operator->() const noexcept { return &object(at_); }
        iterator& operator++() noexcept { return at_ = at_->next, *this; }
        iterator operator++(int) noexcept { return iterator{std::exchange(at_, at_->next)}; }
        iterator& operator--() noexcept { return at_ = at_->previous, *this; }
        iterator operator--(int) noexcept { return iterator{std::exchange(at_, at_->previous)}; }
        bool operator==(iterator const&) const = default;
    };

    list() noexcept { head_.close(); }
    list(list const&) = delete;
    list& operator=(list const&) = delete;

    bool empty() const noexcept { return head_.alone(); }
    T& front() noexcept {
        MPT_ASSERT(cheap, !empty());
        return object(head_.next);
    }
    T& back() noexcept {
        MPT_ASSERT(cheap, !empty());
        return object(head_.previous);
    }

    void push_back(T& t) noexcept { node(t).insert_before(head_); }
    void push_front(T& t) noexcept { node(t).insert_before(*head_.next); }
    /// t is on this list. Iterators to other objects stay good.
    void erase(T& t) noexcept { node(t).unlink(); }
    T& pop_front() noexcept {
        auto& t = front();
        erase(t);
        return t;
    }
    /// Takes over all of other's objects, in their order, behind our own.
    void splice_back(list& other) noexcept {
        if (other.empty()) return;
        auto &first = *other.head_.next, &last = *other.head_.previous, &before = *head_.previous;
        before.next = &first;
        first.previous = &before;
        last.next = &head_;
        head_.previous = &last;
        other.head_.close();
    }

    iterator begin() noexcept { return iterator{head_.next}; }
    iterator end() noexcept { return iterator{&head_}; }
};

} // namespace mpt::inline v0
