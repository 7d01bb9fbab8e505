/// precompiled/all - what all sources of the C binding begin with, compiled once for each of its flavours.
#include "binding.hpp"
#include "entries.hpp"
