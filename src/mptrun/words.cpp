#include "words.hpp"

#include "options.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include <unistd.h>

namespace mptrun {
namespace {

constexpr std::string_view blanks = " \t\r\n";

bool is_plain(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"_-+=./,:@%"}.find(c) != std::string_view::npos;
}

/// Takes what follows an opening quote, up to its end.
void take_quoted(std::string_view text, std::size_t& at, std::string& word) {
    auto const quote = text[at++];
    for (; at < text.size() && text[at] != quote; ++at) {
        if (quote == '"' && text[at] == '\\' && at + 1 < text.size()) ++at;
        word += text[at];
    }
    if (at == text.size()) throw usage_error{fmt::format("a quote {} is not closed in {}.", quote, text)};
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}
} // namespace

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> words;
    bool inside = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (blanks.find(text[at]) != blanks.npos) {
            inside = false;
            continue;
        }
        if (!std::exchange(inside, true)) words.emplace_back();
        if (text[at] == '\'' || text[at] == '"') take_quoted(text, at, words.back());
        else if (text[at] == '\\' && at + 1 < text.size()) words.back() += text[++at];
        else words.back() += text[at];
    }
    return words;
}

std::string shell_quoted(std::string_view word) {
    if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string{word};
    std::string text = "'";
    for (char const c : word) c == '\'' ? text += "'\\''" : text += c;
    return text + '\'';
}

std::string joined(std::vector<std::string> const& words) {
    std::string text;
    for (auto const& w : words) text += (text.empty() ? "" : " ") + shell_quoted(w);
    return text;
}

std::vector<std::string> split_list(std::string_view text, char separator) {
    std::vector<std::string> pieces;
    while (!text.empty()) {
        auto const end = std::min(text.find(separator), text.size());
        if (end > 0) pieces.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return pieces;
}

std::string expanded(std::string_view pattern, int rank) {
    std::string text;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        auto const next = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
        switch (next) {
        case 'r': text += std::to_string(rank); break;
        case 'h': text += host_name(); break;
        case 'g':
        case 'p': text += '0'; break;
        case '%': text += '%'; break;
        default: text += pattern[at]; continue;
        }
        ++at;
    }
    return text;
}

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            auto const replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

} // namespace mptrun
