// Chapter 10: info objects; chapter 16: their older questions.
#include <cstring>

#include <mpt/boot/announced.hpp>

#include "binding.hpp"
#include "entries.hpp"
#include "text.hpp"

namespace mpt::c {

namespace {

MPI_Info publish(binding& b, info hints) {
    auto object = ref<info_object>::adopt(new info_object);
    object->hints = std::move(hints);
    return binding::publish<MPI_Info>(b.infos, std::move(object));
}

void must_be_users(call& on, info_object const& i) {
    if (&i == &on.of().infos.get(MPI_INFO_ENV)) on.fail(MPI_ERR_INFO, "info is MPI_INFO_ENV, which can only be read");
}

} // namespace

namespace impl {

void Info_create(call& on, MPI_Info& made) { made = publish(on.of(), {}); }
void Info_create_env(call& on, int argc, char** argv, MPI_Info& made) {
    auto const n = static_cast<std::size_t>(std::max(argc, 0));
    auto& b = on.of();
    std::optional<std::int32_t> ranks;
    if (std::lock_guard const g{b.changing}; b.world) ranks = b.world->size(); // another thread may be in MPI_Init
    else if (b.membership) ranks = b.membership->size;
    if (!ranks) ranks = boot::announced_size(); // the same before MPI_Init as after it: MPI-4.1 section 11.2.1
    made = publish(b, environment_info({argv, n}, ranks));
}
void Info_dup(call& on, info_object& i, MPI_Info& made) { made = publish(on.of(), i.hints); }
void Info_free(call& on, MPI_Info& handle) {
    must_be_users(on, on.of().infos.get(handle));
    on.of().infos.remove(word_of(handle))->let_go();
    handle = MPI_INFO_NULL;
}

void Info_set(call& on, info_object& i, char const* key, char const* value) {
    must_be_users(on, i);
    i.hints.set(key, value);
}
void Info_delete(call& on, info_object& i, char const* key) {
    must_be_users(on, i);
    i.hints.erase(key);
}

void Info_get_nkeys(call&, info_object& i, int& n) { n = i.hints.size(); }
void Info_get_nthkey(call&, info_object& i, int n, char* key) {
    int length = 0;
    put_text(i.hints.key(n), key, MPI_MAX_INFO_KEY, length);
}
/// A length of 0 asks for the length alone.
void Info_get_string(call& on, info_object& i, char const* key, int& length, char* value, int& flag) {
    on.at_least(length, 0, "buflen", MPI_ERR_ARG);
    if (length > 0) on.not_null(value, "value");
    auto const needed = i.hints.get_string(key, {value, static_cast<std::size_t>(length)});
    flag = needed.has_value();
    if (needed) length = *needed;
}
void Info_get(call& on, info_object& i, char const* key, int length, char* value, int& flag) {
    int room = length + 1; // the zero did not count here
    Info_get_string(on, i, key, room, value, flag);
}
void Info_get_valuelen(call&, info_object& i, char const* key, int& length, int& flag) {
    auto const value = i.hints.get(key);
    flag = value.has_value();
    if (value) length = static_cast<int>(value->size());
}

} // namespace impl
} // namespace mpt::c
