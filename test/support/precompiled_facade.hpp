/// test/support/precompiled_facade - the same for tests of the facade and of what lies right below it.
#include "stamped.hpp"

#include "precompiled.hpp"
