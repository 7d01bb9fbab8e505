// Whether the other end of a Unix socket belongs to our user. Over TCP nobody can tell: true.
#pragma once
#include <sys/socket.h>
#include <unistd.h>

#include "stream_impl.hpp"

namespace mpt::inline v0::transport::detail {

inline bool same_user(stream_socket& s) noexcept {
    error_code ec;
    auto const local = s.local_endpoint(ec);
    if (ec) return false;
    if (local.protocol().family() != AF_UNIX) return true;
    ucred who{};
    socklen_t size = sizeof who;
    return ::getsockopt(s.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && size == sizeof who &&
           who.uid == ::geteuid();
}

} // namespace mpt::inline v0::transport::detail
