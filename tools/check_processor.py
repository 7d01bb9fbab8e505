#!/usr/bin/env python3
"""Processors are told apart in one place, core/processor: elsewhere no code asks which one it is compiled for or runs on, includes an
intrinsic's header or calls one, has an instruction written out, or is compiled for a processor of its own. Read: all of our C and C++.
usage: check_processor.py [ROOT | --self-test]"""
import re

import lint

PLACES = ('include/mpt/core/processor.hpp', 'include/mpt/core/processor/vectors.hpp', 'src/core/processor.cpp')
FOLDERS = ('include', 'src', 'bindings', 'test', 'bench', 'examples')
WORDS = [
    (r'\b__(?:x86_64|amd64|i[3-6]86|aarch64|arm|riscv|powerpc(?:64)?|ppc(?:64)?|s390x?|loongarch\w*?|mips\w*?|sparc\w*?)(?:__)?\b|\b_M_(?:X64|IX86|ARM64)\b',
     'asks which processor it is compiled for'),
    (r'\b__(?:SSE\w*|AVX\w*|BMI2?|FMA|F16C|ARM_\w+|GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)(?:__)?\b', 'asks what the processor has'),
    (r'\b__builtin_cpu_\w+|\b__(?:get_)?cpuid\w*|\bHWCAP2?_\w+|\bAT_HWCAP2?\b', 'asks which processor it runs on'),
    (r'#\s*include\s*<(?:\w*mmintrin|x86intrin|x86gprintrin|ia32intrin|cpuid|arm_\w+|altivec|riscv_\w+)\.h>', "includes a processor's intrinsics"),
    (r'\b_mm(?:256|512)?_\w+|\b__builtin_(?:ia32|arm|aarch64|ppc|riscv)_\w+|\b__(?:rdtscp?|yield|dmb|isb)\s*\(', "calls a processor's intrinsic"),
    (r'\b(?:asm|__asm|__asm__)\b', 'has an instruction written out'),
    (r'\bgnu::target(?:_clones)?\b|\btarget(?:_clones)?\s*\(\s*"|\bmin_vector_width\b|#\s*pragma\s+(?:GCC|clang)\s+target\b', 'is compiled for a processor of its own'),
]
WORDS = [(re.compile(pattern), what) for pattern, what in WORDS]


def check(root):
    errors, count = [], 0
    for rel in lint.sources(root, *FOLDERS):
        if rel in PLACES:
            continue
        count += 1
        for n, line in enumerate((root / rel).read_text().splitlines(), 1):
            code = lint.split_line(line)[0]
            errors += [f'{rel}:{n}: {what} ("{m[0].strip()}"): only in core/processor'
                       for pattern, what in WORDS if (m := pattern.search(code))]
    errors += [f'tools/check_processor.py: names {p}, which does not exist' for p in PLACES if not (root / p).exists()]
    return errors, f'{count} files that know no processor'


GOOD = {**{p: '#if defined(__x86_64__)\n#include <cpuid.h>\nasm volatile("nop");\n#endif\n' for p in PLACES},
        'include/mpt/a/b.hpp': '// asm volatile would be wrong, and so __x86_64__\nvoid f() { processor::pause(); say("asm"); }\n',
        'src/core/x.cpp': 'char const* target(int plasma);\nvoid g() { target(1); __builtin_prefetch(p); }\n'}
FAULTS = [(code, {where: f'int before;\n{code}\n'}, f'{where}:2: {words}') for where, code, words in [
    ('include/mpt/a/c.hpp', '#if defined(__x86_64__)', 'asks which processor it is compiled for'),
    ('src/core/y.cpp', '#ifdef __aarch64__', 'asks which processor it is compiled for'),
    ('test/y_test.cpp', '#ifdef __i386', 'asks which processor it is compiled for'),
    ('bench/y.cpp', '#if __AVX2__', 'asks what the processor has'),
    ('include/mpt/a/c.hpp', 'bool f() { return __builtin_cpu_supports("avx2"); }', 'asks which processor it runs on'),
    ('src/core/y.cpp', '#include <cpuid.h>', "includes a processor's intrinsics"),
    ('examples/y.cpp', '# include <immintrin.h>', "includes a processor's intrinsics"),
    ('bindings/c/y.cpp', '#include <arm_neon.h>', "includes a processor's intrinsics"),
    ('include/mpt/a/c.hpp', 'void f() { __builtin_ia32_pause(); }', "calls a processor's intrinsic"),
    ('test/y_test.cpp', 'void f() { _mm_stream_si32(p, 1); }', "calls a processor's intrinsic"),
    ('bench/y.c', 'static void f(void) { __asm__ volatile("nop"); }', 'has an instruction written out'),
    ('include/mpt/core/processors.hpp', 'void f() { asm volatile("" : : : "memory"); }', 'has an instruction written out'),
    ('src/core/y.cpp', '[[gnu::target("avx2")]] void f();', 'is compiled for a processor of its own'),
    ('src/core/y.cpp', '__attribute__((target_clones("avx2", "default"))) void f();', 'is compiled for a processor of its own'),
    ('src/core/y.cpp', '#pragma GCC target("avx2")', 'is compiled for a processor of its own'),
]] + [('a place that is not there', {PLACES[-1]: None}, 'which does not exist')]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
