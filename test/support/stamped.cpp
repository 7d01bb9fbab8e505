#include "stamped.hpp"

namespace mpt::inline v0 {
MPT_TEST_STAMP(template)
}
