/// test/support/precompiled_binding - the same for the sources of the C binding, in the flavours that tests have.
#include "binding.hpp"
#include "entries.hpp"
