// PMI-1: the conversation with a launcher that speaks it, and how a rank joins by it.
#include <mpt/boot/boot.hpp>
#include <mpt/core/error.hpp>
#include <mpt/core/registry.hpp>

#include "boot_handover.hpp"
#include "boot_parts.hpp"
#include "boot_pmi1.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mpt::inline v0::boot {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds for_ever{-1}, a_while{60'000}, a_moment{2'000};
constexpr std::size_t longest_line = 4096;
constexpr std::string_view kept_name = "boot::pmi1";

constexpr bool printable(char c) noexcept { return c >= ' ' && c <= '~'; }

template <class Int> std::optional<Int> whole_number(std::string_view text) noexcept {
    Int n = 0;
    auto const* const end = text.data() + text.size();
    auto const [at, failed] = std::from_chars(text.data(), end, n);
    return failed == std::errc{} && at == end ? std::optional{n} : std::nullopt;
}

std::int32_t number_of(char const* variable) {
    auto const* const text = std::getenv(variable);
    auto const n = whole_number<std::int32_t>(text ? text : "");
    if (!n || *n < 0)
        throw error{errc::launch, fmt::format("mpt: {}=\"{}\" is not what a PMI launcher sets; it must not be set by hand.",
                                              variable, text ? text : "")};
    return *n;
}

/// hydra ends the ranks at once, and what it has not read by then is lost: found by one abort in five.
void await_read(int pipe) noexcept {
    for (int unread = 0, waits = 0; waits < 100 && ::ioctl(pipe, FIONREAD, &unread) == 0 && unread > 0; ++waits)
        ::poll(nullptr, 0, 1);
}

error no_answer(std::string_view asked, std::string_view why) {
    return error{errc::launch,
                 fmt::format("mpt: the PMI launcher did not answer \"{}\": {}. Start the program with mptrun.", asked, why)};
}

} // namespace

std::optional<pmi1_message> pmi1_message::parse(std::string_view line) noexcept {
    if (!line.starts_with("cmd=") || !std::ranges::all_of(line, printable)) return std::nullopt;
    return pmi1_message{line};
}

std::optional<std::string_view> pmi1_message::value(std::string_view name) const noexcept {
    for (auto rest = line_; !rest.empty();) {
        auto const word = rest.substr(0, rest.find(' '));
        if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
            return word.substr(name.size() + 1);
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
    return std::nullopt;
}

std::optional<std::int64_t> pmi1_message::number(std::string_view name) const noexcept {
    auto const text = value(name);
    return text ? whole_number<std::int64_t>(*text) : std::nullopt;
}

pmi1_line::pmi1_line(int fd) : fd_{fd} {
    if (::fcntl(fd_, F_SETFD, FD_CLOEXEC) != 0)
        throw error{errc::launch,
                    fmt::format("mpt: descriptor {} that the PMI launcher handed to this rank was closed on the way. Start the "
                                "program directly from the launcher, or let the script between them keep descriptors open.",
                                fd_)};
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", a_while);
    auto const maxes = ask("cmd=get_maxes", "maxes", a_while);
    auto const most = *pmi1_message::parse(maxes);
    longest_key_ = most.number("keylen_max").value_or(0);
    longest_value_ = most.number("vallen_max").value_or(0);
    auto const mine = ask("cmd=get_my_kvsname", "my_kvsname", a_while);
    store_ = pmi1_message::parse(mine)->value("kvsname").value_or("");
}

void pmi1_line::put(std::string_view key, std::string_view value) {
    auto const asked = fmt::format("cmd=put kvsname={} key={} value={}", store_, key, value);
    if (std::cmp_greater_equal(key.size(), longest_key_) || std::cmp_greater_equal(value.size(), longest_value_))
        throw no_answer(asked, fmt::format("it takes keys below {} bytes and values below {}", longest_key_, longest_value_));
    ask(asked, "put_result", a_while);
}

std::string pmi1_line::get(std::string_view key) {
    auto const asked = fmt::format("cmd=get kvsname={} key={}", store_, key);
    auto const answer = ask(asked, "get_result", a_while);
    auto const value = pmi1_message::parse(answer)->value("value");
    if (!value) throw no_answer(asked, fmt::format("it said \"{}\"", answer));
    return std::string{*value};
}

void pmi1_line::barrier() { ask("cmd=barrier_in", "barrier_out", for_ever); }

void pmi1_line::finalize() noexcept {
    if (fd_ < 0) return;
    try {
        ask("cmd=finalize", "finalize_ack", a_moment);
    } catch (std::exception const&) {} // the launcher is gone, and nothing depends on it any more
    ::close(std::exchange(fd_, -1));
}

void pmi1_line::abort(int code) noexcept {
    std::array<char, 64> text{};
    auto const end = fmt::format_to_n(text.data(), text.size(), "cmd=abort exitcode={}\n", code).size;
    if (fd_ < 0) return;
    await_read(STDERR_FILENO);
    send({text.data(), end});
}

std::int32_t pmi1_line::launcher() const noexcept {
    ucred who{};
    socklen_t n = sizeof who;
    return ::getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 ? who.pid : 0;
}

bool pmi1_line::send(std::string_view text) const noexcept {
    while (!text.empty()) {
        auto const n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

/// Asks one thing; the line that answers it, without its end.
std::string pmi1_line::ask(std::string_view what, std::string_view answer, milliseconds patience) {
    if (!send(std::string{what} + '\n')) throw no_answer(what, std::strerror(errno));
    auto line = next_line(what, patience);
    auto const said = pmi1_message::parse(line);
    if (!said || said->command() != answer || said->value("rc").value_or("0") != "0")
        throw no_answer(what, fmt::format("it said \"{}\"", line));
    return line;
}

/// What is not printable cannot spoil the sentence that quotes it.
std::string pmi1_line::next_line(std::string_view asked, milliseconds patience) {
    for (std::array<char, 1024> piece{};;) {
        if (auto const end = heard_.find('\n'); end != heard_.npos) {
            auto line = heard_.substr(0, end);
            heard_.erase(0, end + 1);
            std::ranges::replace_if(
                line, [](char c) { return !printable(c); }, '?');
            return line;
        }
        if (heard_.size() > longest_line) throw no_answer(asked, fmt::format("its line has more than {} bytes", longest_line));
        pollfd ready{fd_, POLLIN, 0};
        auto const some = ::poll(&ready, 1, static_cast<int>(patience.count()));
        if (some < 0 && errno == EINTR) continue;
        if (some == 0) throw no_answer(asked, fmt::format("nothing came within {} s", patience.count() / 1000));
        auto const n = ::recv(fd_, piece.data(), piece.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw no_answer(asked, std::strerror(errno));
        if (n == 0) throw no_answer(asked, "it is gone");
        heard_.append(piece.data(), static_cast<std::size_t>(n));
    }
}

std::shared_ptr<pmi1_line> kept_pmi1_line() {
    return std::static_pointer_cast<pmi1_line>(process_registry::instance().kept(kept_name));
}

bool pmi1::present() noexcept {
    return std::ranges::all_of(variables, [](char const* name) { return std::getenv(name) != nullptr; });
}

membership pmi1::join() {
    membership m;
    m.size = number_of("PMI_SIZE");
    m.me = number_of("PMI_RANK");
    if (m.me >= m.size)
        throw error{errc::launch, fmt::format("mpt: PMI_RANK={} does not belong to PMI_SIZE={}; they must not be set by hand.",
                                              m.me.value, m.size)};
    auto const line = std::make_shared<pmi1_line>(number_of("PMI_FD"));
    m.plan = meet_on_node(*line, m.me, m.size);
    tie_to(line->launcher());
    process_registry::instance().keep(kept_name, line);
    return m;
}

} // namespace mpt::inline v0::boot
