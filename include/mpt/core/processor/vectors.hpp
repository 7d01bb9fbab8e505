/// processor/vectors - functions that are compiled for wider vectors than every processor of its kind has, and who may call them.
///
///        [[MPT_BY_32]] void f(...);      for vectors of 32 bytes: call it where has_vectors_of_32()
///        [[MPT_BY_64]] void f(...);      for vectors of 64 bytes, and written by them: where likes_vectors_of_64()
///
///   The attributes are macros, because an attribute has no other name. Where there are no such vectors they say nothing, and nobody has
///   them: the functions compile all the same. The compiler makes the vectors, so results are those of the loop as it is written.
///
///   Cost     an answer is a look at words that the start of the program has filled; whoever asks often keeps it.
///   Tests    test/core_processor_test.cpp
#pragma once
#include <mpt/core/processor.hpp>

#if defined(__x86_64__)
#define MPT_BY_32 gnu::target("avx2")
#if defined(__clang__)
#define MPT_BY_64 gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), clang::min_vector_width(512)
#else
#define MPT_BY_64 gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#else
#define MPT_BY_32
#define MPT_BY_64
#endif

namespace mpt::inline v0::processor {

inline bool has_vectors_of_32() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") != 0;
#else
    return false;
#endif
}
/// Of those that have vectors of 64 bytes Intel's first ones became slower by them, and AMD's first ones have them in two halves; the later
/// ones have vbmi2, and vp2intersect, too.
inline bool likes_vectors_of_64() noexcept {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx512vbmi2") || !__builtin_cpu_supports("avx512dq")) return false;
    return !is_of_amd() || __builtin_cpu_supports("avx512vp2intersect");
#else
    return false;
#endif
}

} // namespace mpt::inline v0::processor
