#!/usr/bin/env python3
"""Looks in compiled code for loads of sixteen bytes of the stack that narrower stores, or others in part, have put there.

A processor gives a load what an earlier store still holds back only where that one store has all of it. Else the load waits until the
store is in the cache, and all stores before it: in a send those of the last frames, whose lines the peer holds. Compilers write such code
where a value is made member by member and then copied as a whole (mpt/protocol/wire.hpp, put()).
usage: check_forwarding.py PROGRAM FUNCTIONS      FUNCTIONS: a file, a regular expression of names a line
       check_forwarding.py --self-test
Exit code 77: no objdump here, or another processor's program."""
import pathlib
import re
import shutil
import subprocess
import sys

NEAR = 40  # instructions: what is older is in the cache
FUNCTION = re.compile(r'^[0-9a-f]+ <(.*)>:$')
INSTRUCTION = re.compile(r'^ +([0-9a-f]+):\t(.*\S)')
PLACE = r'(-?(?:0x[0-9a-f]+)?)\((%r[sb]p)\)'
STORE = re.compile(rf'^mov([bwlq]?) +(\S+),{PLACE}$')
WIDE_STORE = re.compile(rf'^v?mov(?:dq[au]|[au]p[sd]) +%xmm\d+,{PLACE}$')
LOAD = re.compile(rf'^v?mov(?:dq[au]|[au]p[sd]) +{PLACE},%xmm\d+$')
WIDTHS = {'b': 1, 'w': 2, 'l': 4, 'q': 8}


def width_of(suffix, register):
    if suffix: return WIDTHS[suffix]
    if re.match(r'%r(?:[a-ds][xip]|[sb]p|[ds]i|\d+)$', register): return 8
    return 4 if re.match(r'%(?:e..|r\d+d)$', register) else 2 if re.match(r'%(?:[a-ds][xip]|[ds]i|r\d+w)$', register) else 1


def offset_of(text): return int(text, 16) if text else 0


def waits_in(code):
    """[(address of the load, of the store)] in the instructions of one function, [(address, instruction)]."""
    found, stores = [], []  # (register, first byte, bytes, address), the last NEAR instructions'
    for at, (address, what) in enumerate(code):
        what = what.split('#')[0].rstrip()
        if what.startswith(('jmp', 'ret')): stores = []
        if load := LOAD.match(what):
            first, register = offset_of(load[1]), load[2]
            for base, begin, bytes_, when, place in reversed(stores):
                if at - when > NEAR: break
                if base == register and begin < first + 16 and first < begin + bytes_:
                    if begin > first or begin + bytes_ < first + 16: found.append((address, place))
                    break
        if store := STORE.match(what): stores.append((store[4], offset_of(store[3]), width_of(store[1], store[2]), at, address))
        if store := WIDE_STORE.match(what): stores.append((store[2], offset_of(store[1]), 16, at, address))
    return found


def functions_in(text):
    name, code = None, []
    for line in text.splitlines():
        if start := FUNCTION.match(line):
            if name: yield name, code
            name, code = start[1], []
        elif instruction := INSTRUCTION.match(line): code.append((instruction[1], instruction[2]))
    if name: yield name, code


def check(text, patterns):
    errors, seen, looked_at = [], dict.fromkeys(patterns, 0), 0
    for name, code in functions_in(text):
        fitting = [p for p in patterns if re.search(p, name)]
        for p in fitting: seen[p] += 1
        if fitting:
            looked_at += 1
            errors += [f'{name[:120]}: what {load} loads was stored in parts, at {store} the last' for load, store in waits_in(code)]
    errors += [f'no function fits {p}' for p, n in seen.items() if n == 0]
    return errors, f'{looked_at} functions: no load waits for parts of what it loads'


SAMPLE = '''
0000000000001000 <whole(int)>:
    1000:\tmov    %rax,0x10(%rsp)
    1005:\tmov    %edx,0x18(%rsp)
    1009:\tmov    0x10(%rsp),%rcx
    100e:\tret
    100f:\tmovdqa 0x10(%rsp),%xmm0
    1015:\tmovaps %xmm0,0x20(%rsp)
    101a:\tmovdqa 0x20(%rsp),%xmm1
'''
FAULTS = [('two halves', '    1020:\tmov    %rax,0x30(%rsp)\n    1025:\tmovq   $0x0,0x38(%rsp)\n    102e:\tmovdqa 0x30(%rsp),%xmm0 # copy', '102e loads'),
          ('a part of it', '    1020:\tmov    %r8d,-0x4(%rbp)\n    1025:\tmovups -0x10(%rbp),%xmm3', '1025 loads'),
          ('a shifted copy', '    1020:\tmovups %xmm2,(%rsp)\n    1025:\tmovdqu 0x8(%rsp),%xmm3', '1025 loads')]


def self_test():
    wrong = check(SAMPLE, ['whole'])[0]
    for what, code, words in FAULTS:
        if not any(words in e for e in check(SAMPLE + code + '\n', ['whole'])[0]): wrong.append(f'{what}: not found')
    if check(SAMPLE, ['gone'])[0] != ['no function fits gone']: wrong.append('a function that is gone: not found')
    print('\n'.join(wrong) or f'{len(FAULTS) + 2} cases')
    return bool(wrong)


def main():
    if sys.argv[1:] == ['--self-test']: return self_test()
    program, patterns = sys.argv[1], [x for x in pathlib.Path(sys.argv[2]).read_text().splitlines() if x and not x.startswith('#')]
    if not shutil.which('objdump'): print('skipped: no objdump to read code with'); return 77
    done = subprocess.run(['objdump', '-d', '-C', '--no-show-raw-insn', program], capture_output=True, text=True)
    if 'x86-64' not in done.stdout[:200]: print('skipped: not a program of x86-64'); return 77
    errors, summary = check(done.stdout, patterns)
    print('\n'.join(errors) or summary)
    return bool(errors)


sys.exit(main())
