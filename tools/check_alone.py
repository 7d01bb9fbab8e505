#!/usr/bin/env python3
"""Every public header compiles alone, and twice, without a warning. Reads what tools/compile_alone.py wrote during the build.
usage: check_alone.py FILE...        one per header
       check_alone.py --self-test compiler [argument...]"""
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import parts  # noqa: E402  (beside this file)

HERE = pathlib.Path(__file__).resolve().parent
FAULTS = [
    ('a header that leans on another', 'std::vector<int> v();\n', 'vector'),
    ('a header without #pragma once', 'struct twice {};\n', 'redefinition'),
    ('a header with a warning', '#pragma once\n#include <vector>\ninline int f(unsigned u) { int i = 0; return i < u; }\n', 'sign-compare'),
]


def read(path):
    """(header, seconds, what the compiler said)"""
    first, _, said = pathlib.Path(path).read_text().partition('\n')
    header, seconds = first.split()
    return header, float(seconds), said.strip()


def self_test(compiler):
    wrong = []
    for what, text, expected in [('a good header', '#pragma once\n#include <vector>\n', '')] + FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            tmp = pathlib.Path(folder)
            (tmp / 'x.hpp').write_text(text)
            subprocess.run([sys.executable, HERE / 'compile_alone.py', 'x.hpp', tmp / 'out', tmp / 'd', *compiler, '-I', tmp], check=True)
            said = read(tmp / 'out')[2]
            if (said != '') != (expected != '') or expected not in said:
                wrong.append(f'{what}: expected "{expected}", got "{said}"')
    found = parts.parts({'a': ['b', 'outside'], 'b': ['c'], 'c': ['a'], 'before': ['a'], 'after': []})
    if found != ['a', 'b', 'c']: wrong.append(f'parts of a cycle of three: {found}')
    print('\n'.join(wrong) or f'{len(FAULTS)} planted faults, all found')
    return bool(wrong)


def main():
    if sys.argv[1] == '--self-test':
        return self_test(sys.argv[2:])
    results = [read(p) for p in sys.argv[1:]]
    broken = [(header, said) for header, _, said in results if said]
    for header, said in broken:
        print(f'include/{header}: does not compile alone, twice, without warnings\n{said}\n')
    slowest = sorted(results, key=lambda r: -r[1])[:3]
    print(f'{len(results) - len(broken)} of {len(results)} headers compile alone; slowest: '
          + ', '.join(f'{h} {s:.1f} s' for h, s, _ in slowest))
    return bool(broken)


sys.exit(main())
