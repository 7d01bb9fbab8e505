/// test/support/precompiled - what most tests read first, read by the compiler once. A test includes what it uses all the same
/// (-Db_pch=false compiles without).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>
