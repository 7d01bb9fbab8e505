/// core/processor - the one place that tells processors apart: what an instruction does here, and what does instead where there is none.
///
///                         x86-64              AArch64      others       ask first         for
///        pause            pause               yield        nothing                        core/atomics.hpp
///        order_stores     sfence              dmb ishst    nothing                        core/fences.hpp
///        fetch_to_write   prefetchw           the compiler's prefetch                     transport/smp/ring.hpp, core/crossing.hpp
///        copy_string      rep movsb           a plain copy              copies_strings    core/copying.hpp
///        store_around     movntdq             a plain store             stores_around     core/crossing.hpp
///        ticks            rdtsc               0                         has_ticks         core/crossing.hpp
///        swap_wide        lock cmpxchg16b     false                     swaps_wide()      src/core/rma_element.cpp
///        is_of_amd        cpuid               false                                       transport/smp/turn_line.hpp
///        half             _Float16            __fp16 of g++ before 13, else _Float16      src/core/operations.cpp
///
///   processor/vectors.hpp has what is compiled for wider vectors. All is right on every processor; who has another way where an
///   instruction is missing asks first. tools/check_processor.py: no other file asks which processor it is, includes its intrinsics,
///   or has an instruction written out.
///
///   Order    none, but where it says so. Sanitizers see nothing of what is written out: who calls it asks detail::sanitized.
///   Cost     what the instruction costs: all but the questions is inlined. fetch_to_write and copy_string are not made to be: made to be,
///            they change what g++ 12 inlines around them (irecv: 208 instructions in place of 131, bench/instructions).
///   Tests    test/core_processor_test.cpp
#pragma once
#include <cstddef>
#include <cstdint>

namespace mpt::inline v0::processor {

#if defined(__x86_64__)
inline constexpr char name[] = "x86_64";
inline constexpr bool copies_strings = true, stores_around = true, has_ticks = true, may_swap_wide = true;
#elif defined(__aarch64__)
inline constexpr char name[] = "aarch64";
inline constexpr bool copies_strings = false, stores_around = false, has_ticks = false, may_swap_wide = false;
#else
inline constexpr char name[] = "another machine";
inline constexpr bool copies_strings = false, stores_around = false, has_ticks = false, may_swap_wide = false;
#endif

/// Numbers of 16 bits, as IEC 60559 has them; void: the compiler has none.
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13
using half = __fp16; // whose arithmetic is float's: the same values, once they are stored
#elif defined(__FLT16_MANT_DIG__)
__extension__ using half = _Float16;
#else
using half = void;
#endif

// --- waiting -------------------------------------------------------------------------------------------------------------------

/// Tells the core that this is a spin loop.
[[gnu::always_inline]] inline void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}
/// So many turns of a loop, a cycle each, which no compiler leaves out.
[[gnu::always_inline]] inline void count_down(int turns) noexcept {
    for (; turns > 0; --turns) asm volatile("" : "+r"(turns));
}
/// Ticks of a counter that runs evenly, whatever the core's clock does; no order with what stands beside it.
[[gnu::always_inline]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

// --- memory --------------------------------------------------------------------------------------------------------------------

/// Stores before it, those around the caches too, are seen before stores after it.
[[gnu::always_inline]] inline void order_stores() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#elif defined(__aarch64__)
    asm volatile("dmb ishst" ::: "memory");
#endif
}
/// Asks for a line that this core will write soon. Not by the builtin: that asks for a copy to read, unless told -mprfchw.
inline void fetch_to_write([[maybe_unused]] void const* at) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<char const*>(at)));
#else
    __builtin_prefetch(at, 1);
#endif
}
/// Bytes that do not overlap, by whole lines whose old bytes nobody asks for. It begins slowly.
inline void copy_string(std::byte* to, std::byte const* from, std::size_t n) noexcept {
#if defined(__x86_64__)
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
#else
    __builtin_memcpy(to, from, n);
#endif
}
/// What one store_around() writes, to a multiple of it.
inline constexpr std::size_t around = 16;
/// Into memory, not into a cache. Other cores see such stores in any order: order_stores() comes before the store that publishes them.
[[gnu::always_inline]] inline void store_around(std::byte* to, std::byte const* from) noexcept {
    using word [[gnu::vector_size(around), gnu::may_alias]] = long long;
    word w;
    __builtin_memcpy(&w, from, sizeof w);
#if defined(__x86_64__)
    asm volatile("movntdq %1, %0" : "=m"(*reinterpret_cast<word*>(to)) : "x"(w));
#else
    __builtin_memcpy(to, &w, sizeof w);
#endif
}

// --- 16 bytes at once ------------------------------------------------------------------------------------------------------------

/// src/core/processor.cpp: the processor has swap_wide(), as all but the first x86-64 ones do. Asks it, which takes long: once is enough.
bool swaps_wide() noexcept;

/// 16 bytes at a multiple of 16 become `next` where they are `seen`; whether they did. At once for whoever changes a word of them by a
/// locked instruction, too, since each has the cache line for itself. Acquires and releases, as all locked instructions do.
[[gnu::always_inline]] inline bool swap_wide([[maybe_unused]] std::uint64_t at, [[maybe_unused]] std::byte const* seen,
                                             [[maybe_unused]] std::byte const* next) noexcept {
#if defined(__x86_64__)
    struct two {
        std::uint64_t low, high;
    } was, wanted;
    __builtin_memcpy(&was, seen, sizeof was);
    __builtin_memcpy(&wanted, next, sizeof wanted);
    bool done = false;
    asm volatile("lock cmpxchg16b %1"
                 : "=@ccz"(done), "+m"(*reinterpret_cast<two*>(at)), "+a"(was.low), "+d"(was.high)
                 : "b"(wanted.low), "c"(wanted.high)
                 : "memory");
    return done;
#else
    return false;
#endif
}

// --- who it is, and what compilers believe -----------------------------------------------------------------------------------------

/// Made by AMD.
inline bool is_of_amd() noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") != 0;
#else
    return false;
#endif
}

/// The compiler must believe that somebody reads *p here.
[[gnu::always_inline]] inline void is_read(void const* p) noexcept { asm volatile("" : : "g"(p) : "memory"); }

} // namespace mpt::inline v0::processor
