// MPT_BOOT, both ways.
#include "boot_environment.hpp"

#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace mpt::inline v0::boot {

std::string print_handed(handed const& h) {
    return fmt::format("1:{}:{}:{}:{}:{}:{}:{}:{}:{}:{}:{}:{}:{}:{:x}:{:x}", h.me, h.size, h.launcher, h.control.fd,
                       h.control.inode, h.control.device, h.data.fd, h.data.inode, h.data.device, h.pages.fd, h.pages.inode,
                       h.pages.device, h.pages_stride, h.cookie[0], h.cookie[1]);
}

namespace {
/// Reads numbers parted by colons; any surprise makes it fail for good.
class fields {
    std::string_view text_;
    bool good_ = true;

public:
    explicit fields(std::string_view text) noexcept : text_{text} {}
    template <class T> void next(T& to, int base = 10) noexcept {
        auto const* const end = text_.data() + text_.size();
        auto const [at, failed] = std::from_chars(text_.data(), end, to, base);
        good_ = good_ && failed == std::errc{} && (at == end || *at == ':');
        text_.remove_prefix(static_cast<std::size_t>(at - text_.data()) + (at != end && good_ ? 1 : 0));
    }
    bool good() const noexcept { return good_ && text_.empty(); }
};
} // namespace

std::optional<handed> parse_handed(std::string_view text) {
    handed h;
    int form = 0;
    fields f{text};
    f.next(form);
    for (auto* number : {&h.me, &h.size, &h.launcher}) f.next(*number);
    for (auto* segment : {&h.control, &h.data, &h.pages}) {
        f.next(segment->fd);
        f.next(segment->inode);
        f.next(segment->device);
    }
    f.next(h.pages_stride);
    for (auto& word : h.cookie) f.next(word, 16);
    if (!f.good() || form != 1 || h.size < 1 || h.me < 0 || h.me >= h.size || h.control.fd < 0 || h.data.fd < 0) return {};
    return h;
}

} // namespace mpt::inline v0::boot
