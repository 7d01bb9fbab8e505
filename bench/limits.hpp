/// bench/limits - the role models: what this machine allows, as bare programs of the same shape as ours.
///
///   Every function is one batch, entered by all sides of a crew after a meet(); side 0's return value is the figure. The
///   comment of each says between which two events time is taken. Nothing here uses mpt beyond the door to atomics.
#pragma once
#include "limits_copying.hpp"
#include "limits_crossing.hpp"
#include "limits_switching.hpp"
