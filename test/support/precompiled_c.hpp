/// test/support/precompiled_c - the same for tests of the C interface.
#include "../c/shared.hpp"
