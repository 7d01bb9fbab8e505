/// precompiled/for_entries - what the generated entry points begin with, compiled once for all chapters.
#include "call.hpp"
#include "comm.hpp"
#include "entries.hpp"
#include "quick.hpp"
#include "win.hpp"
