/// config/table/row - what a row of the table is, and how one is written: a row that contradicts itself does not compile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <mpt/core/types.hpp>

namespace mpt::inline v0::config {

using namespace mpt::literals;

enum class scope : std::uint8_t { local, job };

/// What a value looks like.
enum class form : std::uint8_t {
    size,   // bytes, with an optional unit: 4096, 4K, 2M, 1GiB
    count,  // a whole number
    toggle, // on or off
    word,   // one of a few words
    set,    // any of a few words, with commas between
    text,   // anything
};

/// Another name that is accepted for a variable.
enum class meaning : std::uint8_t { same, opposite };
struct alias {
    std::string_view name{};
    meaning means = meaning::same;
};

struct row {
    std::string_view name;
    form type;
    std::uint64_t initial; // a toggle: 0 or 1; a word: its place; a set: bit i for its word i
    std::uint64_t least, most;
    std::string_view words; // a word, a set: "auto|smp|stream"
    scope where;
    std::string_view help;
    std::string_view origin; // who chose the default
    alias also{};
};

/// Is it another name of the row's: its alias, or SMA_ in place of the alias's SHMEM_?
constexpr bool is_other_name(row const& r, std::string_view name) noexcept {
    constexpr std::string_view now = "SHMEM_", before = "SMA_";
    auto const also = r.also.name;
    if (also.empty()) return false;
    return name == also ||
           (also.starts_with(now) && name.starts_with(before) && also.substr(now.size()) == name.substr(before.size()));
}

/// How many words "a|b|c" has; the place of one in it (word_count when it is none of them); the word at a place.
constexpr std::size_t word_count(std::string_view words) noexcept {
    std::size_t n = 1;
    for (char const c : words) n += c == '|';
    return n;
}
constexpr std::string_view word_at(std::string_view words, std::size_t place) noexcept {
    for (; place > 0; --place) words.remove_prefix(words.find('|') + 1);
    return words.substr(0, words.find('|'));
}
constexpr std::size_t word_place(std::string_view words, std::string_view word) noexcept {
    auto const n = word_count(words);
    for (std::size_t i = 0; i < n; ++i)
        if (word_at(words, i) == word) return i;
    return n;
}

/// Names that mpt's own programs hand to each other: no knobs, and no warning about them.
constexpr bool is_internal(std::string_view name) noexcept {
    return name == "MPT_BOOT" || name.starts_with("MPT_BOOT_") || name.starts_with("MPT_TEST_");
}

namespace detail {

/// A throw that the compiler meets is an error message of the compiler.
consteval row checked(row r) {
    if (!(r.least <= r.initial && r.initial <= r.most)) throw "mpt::config: the default lies outside its range";
    if (!r.name.starts_with("MPT_") || is_internal(r.name)) throw "mpt::config: this is no name for a variable";
    if (r.help.empty() || r.origin.empty()) throw "mpt::config: a row says what it does and who chose its default";
    if (r.also.means == meaning::opposite && r.type != form::toggle) throw "mpt::config: only a toggle has an opposite";
    if (r.type == form::set && word_count(r.words) > 32) throw "mpt::config: a set has 32 words at most";
    if (r.type == form::count && r.most > 0xffffffff) throw "mpt::config: a count has 32 bits";
    if (r.type == form::text && r.where == scope::job) throw "mpt::config: a text cannot be compared between ranks";
    return r;
}

consteval row size(std::string_view name, bytes initial, bytes least, bytes most, scope where, std::string_view help,
                   std::string_view origin, alias also = {}) {
    return checked({name, form::size, initial, least, most, {}, where, help, origin, also});
}
consteval row count(std::string_view name, std::uint64_t initial, std::uint64_t least, std::uint64_t most, scope where,
                    std::string_view help, std::string_view origin, alias also = {}) {
    return checked({name, form::count, initial, least, most, {}, where, help, origin, also});
}
enum class state : std::uint8_t { off, on };
consteval row toggle(std::string_view name, state initial, scope where, std::string_view help, std::string_view origin,
                     alias also = {}) {
    return checked({name, form::toggle, static_cast<std::uint64_t>(initial), 0, 1, {}, where, help, origin, also});
}
consteval row word(std::string_view name, std::string_view initial, std::string_view words, scope where, std::string_view help,
                   std::string_view origin, alias also = {}) {
    return checked({name, form::word, word_place(words, initial), 0, word_count(words) - 1, words, where, help, origin, also});
}
/// Initially empty.
consteval row set(std::string_view name, std::string_view words, scope where, std::string_view help, std::string_view origin,
                  alias also = {}) {
    return checked({name, form::set, 0, 0, (std::uint64_t{1} << word_count(words)) - 1, words, where, help, origin, also});
}
consteval row text(std::string_view name, scope where, std::string_view help, std::string_view origin, alias also = {}) {
    return checked({name, form::text, 0, 0, 0, {}, where, help, origin, also});
}

inline constexpr std::string_view guess = "estimate", measured = "measured, docs/design.md", cray = "Cray MPT's default",
                                  quiet = "quiet unless asked";

} // namespace detail

} // namespace mpt::inline v0::config
