/// config/config - the values of the table's variables, read once from an environment.
///
///        auto const v = config::values::of_process();       // throws mpt::error naming every bad value, and its range
///        auto const spin = v.get<"MPT_SPIN">();             // std::uint32_t; a name that is not in the table does not compile
///        if (v.get<"MPT_WAIT">() == "spin") ...             // nor does a word that the variable does not know
///
///   form     get() returns       written as
///   size     bytes               4096  4K  4KiB  2M  1G  1T   (powers of 1024, in either case)
///   count    std::uint32_t       2000
///   toggle   bool                on off  yes no  true false  1 0
///   word     word<row>           one of the row's words; compared with ==, shown by view()
///   set      chosen<row>         any of the row's words, with commas between; or all, none
///   text     std::string_view    anything
///
///   A bad value is an error; so are a variable and its alias that disagree. An unknown MPT_ name is a warning with the name
///   that was probably meant. A variable that is set to nothing counts as not set. Ranks compare job_values() when they meet.
///
///   Cost    read at start; whoever needs a value on a hot path copies it when it is made. No global, no static.
///   Tests   test/config_config_test.cpp
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpt/config/table.hpp>
#include <mpt/core/error.hpp>
#include <mpt/core/hash.hpp>
#include <mpt/core/text.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0::config {

/// Where a value came from.
enum class given : std::uint8_t {
    initial,     // the table
    environment, // the variable itself
    alias,       // its other name
    program,     // set()
};
std::string_view to_string(given s) noexcept;

/// One variable's value now.
struct setting {
    std::uint64_t number = 0;
    std::string text{}; // of form::text
    given from = given::initial;
};

/// The value of a variable of words. Comparing it with a word that the row does not have does not compile.
template <std::size_t Row> class word {
    std::uint8_t place_;

    struct known {
        std::size_t place;
        template <std::size_t N> consteval known(char const (&literal)[N])
            : place{word_place(table[Row].words, {literal, N - 1})} {
            if (place > table[Row].most) throw "mpt::config: this variable does not know that word";
        }
    };

public:
    constexpr explicit word(std::uint64_t place) noexcept : place_{static_cast<std::uint8_t>(place)} {}
    constexpr std::string_view view() const noexcept { return word_at(table[Row].words, place_); }
    friend constexpr bool operator==(word a, known b) noexcept { return a.place_ == b.place; }
    friend constexpr bool operator==(word a, word b) noexcept { return a.place_ == b.place_; }
};

/// The value of a variable that takes a set of words. Asking for a word that the row does not have does not compile.
template <std::size_t Row> class chosen {
    std::uint64_t bits_;

public:
    constexpr explicit chosen(std::uint64_t bits) noexcept : bits_{bits} {}
    template <mpt::text Word> constexpr bool has() const noexcept {
        constexpr auto place = word_place(table[Row].words, Word.view());
        static_assert(place < word_count(table[Row].words), "mpt::config: this variable does not know that word");
        return (bits_ >> place & 1) != 0;
    }
    /// Bit i: the row's word i.
    constexpr operator std::size_t() const noexcept { return bits_; }
};

class values {
    std::array<setting, table.size()> settings_;
    std::vector<std::string> warnings_;

public:
    /// The defaults.
    values();

    /// From "NAME=value" strings closed by a null pointer, as environ has them. Throws mpt::error(configuration) with a line
    /// for each bad value.
    static values read(char const* const* environment);
    /// The same, for those who want to go on: bad values keep their default, `problems` gets a sentence for each.
    static values read(char const* const* environment, std::vector<std::string>& problems);
    /// From the environment of this process; where that says nothing, the defaults of this processor.
    static values of_process();

    template <mpt::text Name> auto get() const noexcept {
        constexpr std::size_t at = row_of(Name.view());
        static_assert(at < table.size(), "mpt::config: no such variable in the table");
        if constexpr (at < table.size()) return as<at>(settings_[at]);
    }

    /// Overrules the environment, in the same words: set<"MPT_EAGER_MAX">("4K"). Throws as read() does.
    template <mpt::text Name> values& set(std::string_view value) {
        constexpr std::size_t at = row_of(Name.view());
        static_assert(at < table.size(), "mpt::config: no such variable in the table");
        if constexpr (at < table.size()) assign(at, value);
        return *this;
    }

    /// The same by the row's place.
    values& set(std::size_t row, std::string_view value) { return assign(row, value), *this; }

    setting const& at(std::size_t row) const noexcept { return settings_[row]; }
    /// Whole sentences, without a line's end.
    std::span<std::string const> warnings() const noexcept { return warnings_; }

    /// "NAME=value\n" of the rows that every rank must hold alike; at most job_text_limit bytes.
    std::string job_values() const;
    std::uint64_t job_hash() const { return hash_of(job_values()); }

private:
    template <std::size_t At> static auto as(setting const& s) noexcept {
        constexpr form f = table[At].type;
        if constexpr (f == form::size) return bytes{static_cast<std::size_t>(s.number)};
        else if constexpr (f == form::count) return static_cast<std::uint32_t>(s.number);
        else if constexpr (f == form::toggle) return s.number != 0;
        else if constexpr (f == form::word) return word<At>{s.number};
        else if constexpr (f == form::set) return chosen<At>{s.number};
        else return std::string_view{s.text};
    }
    void assign(std::size_t at, std::string_view value);
};

/// Reads one value of a row, as written under `name` (the row's or its alias's). Throws mpt::error(configuration) with one
/// sentence that names the variable, the value and what is allowed.
setting parse(row const& r, std::string_view name, std::string_view value);
/// A value as parse() reads it back: 8K, 2000, on, auto.
std::string format(row const& r, setting const& s);
/// "0 .. 1M", "auto, smp, stream", "on, off".
std::string range(row const& r);

/// The variable whose name is written most like this one; empty when none is near.
std::string_view nearest(std::string_view name);

} // namespace mpt::inline v0::config
