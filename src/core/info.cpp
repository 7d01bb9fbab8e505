// Info objects, and what this process knows of its start.
#include <mpt/mpi/info.hpp>

#include "boot_environment.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace mpt::inline v0 {

namespace {

void check_key(char const* call, std::string_view key) {
    if (key.empty() || key.size() >= max_info_key)
        throw mpi_error{error_class::info_key, fmt::format("mpt: {}: the key has {} characters, 1 to {} are allowed", call,
                                                           key.size(), max_info_key - 1)};
}

} // namespace

struct info::impl {
    struct pair {
        std::string key, value;
    };
    mutable std::mutex turn;
    std::vector<pair> pairs;

    auto find(std::string_view key) { return std::ranges::find(pairs, key, &pair::key); }
    std::vector<pair> copy() const {
        std::scoped_lock const hold{turn};
        return pairs;
    }
};

info::info() : impl_{std::make_unique<impl>()} {}
info::info(info const& other) : info{} { impl_->pairs = other.impl_->copy(); }
info::info(info&&) noexcept = default;
info::~info() = default;
info& info::operator=(info other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
}

void info::set(std::string_view key, std::string_view value) {
    check_key("info set", key);
    if (value.size() >= max_info_value)
        throw mpi_error{error_class::info_value,
                        fmt::format("mpt: info set: the value of \"{}\" has {} characters, {} are allowed", key, value.size(),
                                    max_info_value - 1)};
    std::scoped_lock const hold{impl_->turn};
    if (auto const it = impl_->find(key); it != impl_->pairs.end()) it->value = value;
    else impl_->pairs.push_back({std::string{key}, std::string{value}});
}

void info::erase(std::string_view key) {
    check_key("info delete", key);
    std::scoped_lock const hold{impl_->turn};
    auto const it = impl_->find(key);
    if (it == impl_->pairs.end())
        throw mpi_error{error_class::info_nokey, fmt::format("mpt: info delete: there is no key \"{}\"", key)};
    impl_->pairs.erase(it);
}

std::optional<std::string> info::get(std::string_view key) const {
    check_key("info get", key);
    std::scoped_lock const hold{impl_->turn};
    auto const it = impl_->find(key);
    return it == impl_->pairs.end() ? std::nullopt : std::optional{it->value};
}

std::optional<std::int32_t> info::get_string(std::string_view key, std::span<char> buffer) const {
    auto const value = get(key);
    if (!value) return std::nullopt;
    if (!buffer.empty()) {
        auto const fits = std::min(value->size(), buffer.size() - 1);
        std::memcpy(buffer.data(), value->data(), fits);
        buffer[fits] = '\0';
    }
    return static_cast<std::int32_t>(value->size() + 1);
}

std::int32_t info::size() const {
    std::scoped_lock const hold{impl_->turn};
    return static_cast<std::int32_t>(impl_->pairs.size());
}

std::string info::key(std::int32_t n) const {
    std::scoped_lock const hold{impl_->turn};
    if (n < 0 || static_cast<std::size_t>(n) >= impl_->pairs.size())
        throw error{errc::argument,
                    fmt::format("mpt: info get nthkey: there is no key {}, the object has {}", n, impl_->pairs.size())};
    return impl_->pairs[static_cast<std::size_t>(n)].key;
}

info environment_info(std::span<char const* const> arguments, std::optional<std::int32_t> maxprocs) {
    info found;
    auto const tell = [&](char const* key, std::string_view value) {
        if (value.size() < max_info_value) found.set(key, value);
    };
    if (!arguments.empty()) {
        tell("command", arguments.front());
        tell("argv", fmt::format("{}", fmt::join(arguments.subspan(1), " ")));
    }
    if (maxprocs) tell("maxprocs", std::to_string(*maxprocs));
    utsname machine{};
    if (::uname(&machine) == 0) {
        tell("host", machine.nodename);
        tell("arch", machine.machine);
    }
    if (auto const* kinds = std::getenv(boot::memory_kinds_variable)) tell("mpi_memory_alloc_kinds", kinds);
    std::array<char, PATH_MAX> folder{};
    if (::getcwd(folder.data(), folder.size()) != nullptr) tell("wdir", folder.data());
    return found;
}

std::string_view stripped(std::string_view text) noexcept {
    auto const first = text.find_first_not_of(' ');
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<bool> as_boolean(std::string_view value) noexcept {
    auto const text = stripped(value);
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
}

std::optional<std::int64_t> as_integer(std::string_view value) noexcept {
    auto text = stripped(value);
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    std::int64_t number = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::vector<std::string> as_list(std::string_view value) {
    std::vector<std::string> elements;
    if (stripped(value).empty()) return elements;
    for (std::size_t from = 0; from <= value.size();) {
        auto const comma = std::min(value.find(',', from), value.size());
        elements.emplace_back(stripped(value.substr(from, comma - from)));
        from = comma + 1;
    }
    return elements;
}

} // namespace mpt::inline v0
