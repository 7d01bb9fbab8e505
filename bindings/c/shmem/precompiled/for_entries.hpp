/// precompiled/for_entries - what the generated entry points begin with, compiled once for each flavour.
#include "../bodies.hpp"
