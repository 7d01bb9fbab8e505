#!/usr/bin/env python3
"""What a public header drags in. No header of Asio, Interprocess, hwloc, memkind, fmt or any other third party, and no POSIX header
that ours name, is in the include closure of a public header; closures stay under the budgets of tools/closure.txt; what the whole
of mpt costs to compile is printed (seconds are reported, never judged: machines differ).
usage: check_closure.py ROOT | --self-test  [compiler argument...]"""
import fnmatch
import pathlib
import re
import shlex
import subprocess
import sys
import time

import lint

FOREIGN = re.compile(r'/(boost|asio|hwloc|memkind|fmt|gtest|benchmark)(/|\.h(pp)?$|_)')
COMPILER = ['g++', '-std=c++20']


def closure(root, header):
    """(paths of everything that including `header` reads, error text)"""
    done = subprocess.run([*COMPILER, '-I', root / 'include', '-M', '-x', 'c++', '-'], input=f'#include <mpt/{header}>\n',
                          capture_output=True, text=True, cwd=root)
    if done.returncode:
        return [], next((x for x in done.stderr.splitlines() if 'error' in x), done.stderr.strip())
    return [p for p in shlex.split(done.stdout.replace('\\\n', ' '))[1:] if p != '-' and not p.endswith('stdc-predef.h')], ''


def budgets(root):
    rows = [x.split('#')[0].split() for x in (root / 'tools/closure.txt').read_text().splitlines()]
    return {r[0]: tuple(map(int, r[1:])) for r in rows if r}


def allowance(rule, header):
    """The last row whose pattern fits."""
    return next(rule[pattern] for pattern in reversed(rule) if fnmatch.fnmatch(header, pattern))


class line_counts(dict):
    def __missing__(self, path):
        self[path] = pathlib.Path(path).read_bytes().count(b'\n')
        return self[path]


def check_one(root, header, allowed, lines):
    """(errors, (files, lines, own lines)) of one header."""
    files, why = closure(root, header)
    if why:
        return [f'include/mpt/{header}: {why}'], (0, 0, 0)
    own = [f for f in files if str(root / 'include') in str(pathlib.Path(f).resolve())]
    size = len(files), sum(lines[f] for f in files), sum(lines[f] for f in own)
    errors = [f'include/mpt/{header}: drags in {f}' for f in files if f not in own and FOREIGN.search(f)][:3]
    for what, is_, most in zip(('files', 'lines', 'lines of mpt'), size, allowed):
        if is_ > most:
            errors.append(f'include/mpt/{header}: {is_} {what} in its closure; tools/closure.txt allows {most}')
    return errors, size


def compile_seconds(root, header):
    start = time.monotonic()
    done = subprocess.run([*COMPILER, '-I', root / 'include', '-fsyntax-only', '-x', 'c++', '-'], input=f'#include <mpt/{header}>\n',
                          capture_output=True, text=True)
    return f'{time.monotonic() - start:.1f} s' if done.returncode == 0 else 'does not compile'


def check(root):
    rule, errors, sizes, lines = budgets(root), [], {}, line_counts()
    names = [h.removeprefix('include/mpt/') for h in lint.headers(root)]
    errors += [f'tools/closure.txt: {h} does not exist' for h in rule if not fnmatch.filter(names, h)]
    for header in names:
        found, sizes[header] = check_one(root, header, allowance(rule, header), lines)
        errors += found
    worst = sorted(sizes, key=lambda h: -sizes[h][1])[:5]
    report = [f'{h}: {sizes[h][0]} files, {sizes[h][1]} lines, {sizes[h][2]} of them ours' for h in worst]
    if 'mpt.hpp' in sizes:
        report.append(f'mpt.hpp is parsed in {compile_seconds(root, "mpt.hpp")}')
    return errors, '\n'.join(report)


GOOD = {'tools/closure.txt': '* 100 9000 20\n', 'include/mpt/a.hpp': '#include <cstddef>\n', 'include/mpt/b.hpp': '#include <mpt/a.hpp>\n',
        'include/fmt/core.h': '\n', 'include/boost/asio.hpp': '\n'}
FAULTS = [
    ('a header in pieces', {'include/mpt/a.hpp': '#include <mpt/none.hpp>\n'}, 'No such file'),
    ('more lines of ours', {'include/mpt/a.hpp': '\n' * 30}, 'lines of mpt in its closure'),
    ('more files', {'tools/closure.txt': '* 2 9000 20\n'}, 'files in its closure'),
    ('more lines', {'tools/closure.txt': '* 100 3 20\n'}, 'lines in its closure'),
    ('a budget for nothing', {'tools/closure.txt': '* 100 9000 20\nc.hpp 1 1 1\n'}, 'c.hpp does not exist'),
]


def third_party_fault():
    """A third-party header lies outside the tree, so this fault needs the machine's own: Boost is always there."""
    return [('a third-party header', {'include/mpt/a.hpp': '#include <boost/version.hpp>\n'}, 'drags in'),
            ('the same, two steps away', {'include/mpt/a.hpp': '#include <mpt/c.hpp>\n', 'include/mpt/c.hpp': '#include <boost/version.hpp>\n'},
             'include/mpt/b.hpp: drags in')]


if __name__ == '__main__':
    arguments = sys.argv[2:]
    COMPILER = arguments or COMPILER
    lint.main(check, GOOD, FAULTS + third_party_fault())
