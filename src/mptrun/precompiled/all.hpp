/// mptrun/precompiled/all - what many sources of mptrun begin with, read by the compiler once.
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "../../precompiled/all.hpp"
