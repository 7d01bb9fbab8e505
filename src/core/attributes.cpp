// Attributes. Callbacks run between steps that are whole in themselves: none runs under a lock, no iterator lives across one.
#include <mpt/mpi/attributes.hpp>
#include <mpt/mpi/caching.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace mpt::inline v0 {

namespace {

[[noreturn]] void no_keyval(char const* call, std::int32_t key) {
    throw mpi_error{error_class::keyval,
                    fmt::format("mpt: {}: there is no key {} for attributes of this sort of object", call, key)};
}

void check_code(char const* callback, std::int32_t key, std::int32_t code) {
    if (code != 0)
        throw mpi_error{code,
                        fmt::format("mpt: the {} callback of attribute key {} returned error code {}", callback, key, code)};
}

} // namespace

struct keyvals::impl {
    mutable std::mutex turn;
    std::map<std::int32_t, std::shared_ptr<keyval const>> live;
    std::map<std::int32_t, std::weak_ptr<keyval const>> freed; // while attributes have them
    std::int32_t next;
};

keyvals::keyvals(std::int32_t sort) : impl_{std::make_unique<impl>()} { impl_->next = first + sort; }
keyvals::~keyvals() = default;

std::int32_t keyvals::create(copy_callback copy, remove_callback remove) {
    std::scoped_lock const hold{impl_->turn};
    if (impl_->next > std::numeric_limits<std::int32_t>::max() - sorts)
        throw error{errc::no_memory, fmt::format("mpt: all attribute keys up to {} were given out", impl_->next)};
    auto const key = impl_->next;
    impl_->live.emplace(key, std::make_shared<keyval const>(key, std::move(copy), std::move(remove)));
    impl_->next += sorts;
    return key;
}

void keyvals::free(std::int32_t key) {
    decltype(impl_->live)::node_type freed; // its functions may be objects of the user: destroyed when nothing is held
    {
        std::scoped_lock const hold{impl_->turn};
        std::erase_if(impl_->freed, [](auto const& k) { return k.second.expired(); });
        freed = impl_->live.extract(key);
        if (freed && freed.mapped().use_count() > 1) impl_->freed.emplace(key, freed.mapped());
        if (impl_->freed.contains(key)) return;
    }
    if (!freed) no_keyval("free keyval", key);
}

std::shared_ptr<keyval const> keyvals::find(std::int32_t key) const {
    std::scoped_lock const hold{impl_->turn};
    auto const it = impl_->live.find(key);
    return it == impl_->live.end() ? nullptr : it->second;
}

attributes& keyvals::made(std::unique_ptr<attributes>& owned) const {
    std::scoped_lock const hold{impl_->turn};
    if (!owned) owned = std::make_unique<attributes>(*this);
    return *owned;
}
attributes* keyvals::so_far(std::unique_ptr<attributes> const& owned) const {
    std::scoped_lock const hold{impl_->turn};
    return owned.get();
}

struct attributes::impl {
    struct attribute {
        std::shared_ptr<keyval const> kind;
        void* value = nullptr;
        std::uint64_t serial = 0;
    };
    keyvals const& keys;
    mutable std::mutex turn;
    std::vector<attribute> all; // by rising serial
    std::uint64_t serials = 0;

    explicit impl(keyvals const& k) : keys{k} {}
    auto find(std::int32_t key) {
        return std::ranges::find(all, key, [](attribute const& a) { return a.kind->key; });
    }
    std::optional<attribute> look(std::int32_t key) {
        std::scoped_lock const hold{turn};
        auto const it = find(key);
        return it == all.end() ? std::nullopt : std::optional{*it};
    }
    std::optional<attribute> take(std::int32_t key) {
        std::scoped_lock const hold{turn};
        auto const it = find(key);
        if (it == all.end()) return std::nullopt;
        auto taken = std::move(*it);
        all.erase(it);
        return taken;
    }
    std::optional<attribute> take_last() {
        std::scoped_lock const hold{turn};
        if (all.empty()) return std::nullopt;
        auto taken = std::move(all.back());
        all.pop_back();
        return taken;
    }
    /// Whether nothing was in its place.
    bool put_new(attribute a) {
        std::scoped_lock const hold{turn};
        if (find(a.kind->key) != all.end()) return false;
        a.serial = ++serials;
        all.push_back(std::move(a));
        return true;
    }
    void put_back(attribute a) {
        std::scoped_lock const hold{turn};
        if (find(a.kind->key) == all.end())
            all.insert(std::ranges::upper_bound(all, a.serial, {}, &attribute::serial), std::move(a));
    }
    /// The key as a user may name it: a live one, or one that was freed while this object has an attribute under it.
    std::shared_ptr<keyval const> kind_of(char const* call, std::int32_t key) {
        if (auto live = keys.find(key)) return live;
        if (auto here = look(key)) return here->kind;
        no_keyval(call, key);
    }
    /// Runs the remove callback of an attribute that was taken off.
    void finish(void* object, attribute taken) {
        auto const kind = taken.kind;
        try {
            if (kind->remove) check_code("delete", kind->key, kind->remove(object, kind->key, taken.value));
        } catch (...) {
            put_back(std::move(taken));
            throw;
        }
    }
    /// Removes all; a callback that fails loses its attribute and stops nothing.
    void drop_all(void* object) {
        while (auto const taken = take_last()) {
            try {
                if (taken->kind->remove) taken->kind->remove(object, taken->kind->key, taken->value);
            } catch (...) {} // the error that brought us here is the one to tell
        }
    }
    std::vector<std::int32_t> names() const {
        std::scoped_lock const hold{turn};
        std::vector<std::int32_t> names;
        names.reserve(all.size());
        for (auto const& a : all) names.push_back(a.kind->key);
        return names;
    }
};

/// They stay until the process ends: objects may go after statics do.
keyvals& communicator_keys() {
    static auto& keys = *new keyvals{0};
    return keys;
}
keyvals& datatype_keys() {
    static auto& keys = *new keyvals{1};
    return keys;
}
keyvals& window_keys() {
    static auto& keys = *new keyvals{2};
    return keys;
}

attributes::attributes(keyvals const& keys) : impl_{std::make_unique<impl>(keys)} {}
attributes::~attributes() = default;

void attributes::set(void* object, std::int32_t key, void* value) {
    auto const kind = impl_->kind_of("set attr", key);
    while (!impl_->put_new({kind, value}))
        if (auto taken = impl_->take(key)) impl_->finish(object, std::move(*taken));
}

std::optional<void*> attributes::get(std::int32_t key) const {
    if (auto const here = impl_->look(key)) return here->value;
    impl_->kind_of("get attribute", key);
    return std::nullopt;
}

bool attributes::remove(void* object, std::int32_t key) {
    impl_->kind_of("delete attribute", key);
    auto taken = impl_->take(key);
    if (taken) impl_->finish(object, std::move(*taken));
    return taken.has_value();
}

void attributes::remove_all(void* object) {
    while (auto taken = impl_->take_last()) impl_->finish(object, std::move(*taken));
}

void attributes::copy_to(void* object, attributes& copy, void* copied_object) const {
    try {
        for (auto const key : impl_->names()) {
            auto const here = impl_->look(key);
            if (!here || !here->kind->copy) continue;
            auto const answer = here->kind->copy(object, key, here->value);
            check_code("copy", key, answer.code);
            if (answer.made) copy.impl_->put_new({here->kind, answer.value});
        }
    } catch (...) {
        copy.impl_->drop_all(copied_object);
        throw;
    }
}

cached::cached(keyvals const& keys, void* object) noexcept : keys_{&keys}, object_{object} {}
cached::cached(cached&&) noexcept = default;
cached::~cached() {
    try {
        remove_all();
    } catch (...) {} // there is nobody to tell
}
attributes& cached::made() { return keys_->made(all_); }
attributes* cached::so_far() const { return keys_->so_far(all_); }
void cached::set(std::int32_t key, void* value) { made().set(object_, key, value); }
std::optional<void*> cached::get(std::int32_t key) { return made().get(key); }
bool cached::remove(std::int32_t key) { return made().remove(object_, key); }
void cached::remove_all() {
    if (auto* const all = so_far()) all->remove_all(object_);
}
void cached::copy_to(cached& copy) const {
    if (auto* const all = so_far()) all->copy_to(object_, copy.made(), copy.object_);
}

} // namespace mpt::inline v0
