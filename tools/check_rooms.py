#!/usr/bin/env python3
"""A line of code knows its room: every #include must be allowed by tools/rooms.txt.

Every file under include/, src/, bindings/, test/, bench/ and examples/ has a room; a room includes itself, the rooms its row
names, and from outside what its row names: `std` (the C++ library), `sys` (POSIX and Linux headers), `pthread`, or a library by
the folder of its headers. Include cycles are errors. What a header reaches through others is tools/check_closure.py's business.
A header x.hpp may end by including its parts, x/*.hpp, which include it: that cycle is no error.
usage: check_rooms.py [ROOT | --self-test]"""
import fnmatch
import re

import lint

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
FOLDERS = ('include', 'src', 'bindings', 'test', 'bench', 'examples')
BESIDE = (*FOLDERS, 'bindings/c')                                                  # where a quoted header may lie
GENERATED = {'entries.hpp'}                                                       # written into the build folder
POSIX_FOLDERS = ('sys', 'linux', 'net', 'netinet', 'arpa', 'asm')
POSIX = set('''aio.h dirent.h dlfcn.h elf.h execinfo.h fcntl.h ftw.h getopt.h glob.h grp.h ifaddrs.h langinfo.h link.h mqueue.h netdb.h
    nl_types.h poll.h pty.h pwd.h regex.h sched.h search.h semaphore.h signal.h spawn.h syscall.h syslog.h termios.h ucontext.h unistd.h
    utime.h utmp.h wait.h wordexp.h'''.split())
C_LIBRARY = set('''assert complex ctype errno fenv float inttypes limits locale math setjmp stdalign stdarg stdatomic stdbool
    stddef stdint stdio stdlib string threads time uchar wchar'''.split())
COMPILER = {'immintrin.h', 'x86intrin.h', 'emmintrin.h', 'arm_neon.h', 'cpuid.h', 'cxxabi.h'}


def read_rooms(root):
    """[(name, globs, rooms it sees, what it may take from outside)], in the order of the table."""
    table, errors = [], []
    for n, line in enumerate((root / 'tools/rooms.txt').read_text().splitlines(), 1):
        line = line.split('#')[0].strip()
        if not line:
            continue
        columns = re.split(r'\s{2,}', line)
        if len(columns) != 4:
            errors.append(f'tools/rooms.txt:{n}: four columns, separated by two or more spaces')
            continue
        name, files, sees, outside = columns
        table.append((name, files.split(), set(sees.split()) - {'-'}, set(outside.split()) - {'-'}))
    names = {row[0] for row in table} | {'*'}
    errors += [f'tools/rooms.txt: room {row[0]} sees room {r}, which does not exist' for row in table for r in row[2] - names]
    return table, errors


def outside_refusal(inc, allowed):
    """None where `inc` may be included, else the sentence that says why not."""
    if '*' in allowed:
        return None
    folder = inc.split('/')[0]
    if inc == 'pthread.h':
        return None if allowed & {'pthread', 'sys'} else 'POSIX headers belong into src/'
    if inc in POSIX or ('/' in inc and folder in POSIX_FOLDERS):
        return None if 'sys' in allowed else 'POSIX headers belong into src/'
    if inc in COMPILER:
        return None if allowed & {'compiler', 'sys'} else 'compiler headers'
    if inc.endswith('.h') and inc[:-2] in C_LIBRARY:
        return None if 'sys' in allowed else f'write <c{inc[:-2]}>'
    if '/' not in inc and '.' not in inc:
        return None if 'std' in allowed else 'nothing of the C++ library'
    if any(inc in (a, a + '.h', a + '.hpp') or inc.startswith(a + '/') for a in allowed):
        return None
    return 'the library has no place in this room'


def find_cycle(graph):
    """One include cycle as a list of files, or None."""
    done, path, on_path = set(), [], set()

    def visit(at):
        if at in on_path:
            return path[path.index(at):] + [at]
        if at in done:
            return None
        done.add(at), path.append(at), on_path.add(at)
        found = next((c for t in graph.get(at, ()) if (c := visit(t))), None)
        path.pop(), on_path.discard(at)
        return found

    return next((c for f in sorted(graph) if (c := visit(f))), None)


def target_of(root, rel, quote, inc):
    """The file of ours that an include names, or None where it comes from outside."""
    if quote == '"':
        beside = ((root / rel).parent / inc).resolve()
        if beside.exists() and root in beside.parents:
            return beside.relative_to(root).as_posix()
    if inc.startswith('mpt/'):
        return 'include/' + inc
    return next((f'{d}/{inc}' for d in BESIDE if quote == '"' and (root / d / inc).exists()), None)


def check_line(root, table, rel, room, quote, inc):
    """(target or None, sentence or None) for one #include."""
    target = target_of(root, rel, quote, inc)
    if target is None:
        if inc in GENERATED:
            return None, None
        if quote == '"':
            return None, f'"{inc}" does not exist'
        why = outside_refusal(inc, room[3])
        return None, why and f'room {room[0]} may not include <{inc}>: {why}'
    if not (root / target).exists():
        return None, f'{inc} does not exist'
    other = next((r for r in table if any(fnmatch.fnmatch(target, g) for g in r[1])), None)
    if other and other[0] != room[0] and '*' not in room[2] and other[0] not in room[2]:
        return target, f'room {room[0]} may not look into room {other[0]} ({inc})'
    return target, None


def check(root):
    table, errors = read_rooms(root)
    graph, count = {}, 0
    for rel in lint.sources(root, *FOLDERS):
        room = next((r for r in table if any(fnmatch.fnmatch(rel, g) for g in r[1])), None)
        if not room:
            errors.append(f'{rel}:1: has no room in tools/rooms.txt')
            continue
        count += 1
        for n, line in enumerate((root / rel).read_text().splitlines(), 1):
            if m := INCLUDE.match(line):
                target, sentence = check_line(root, table, rel, room, m[1], m[2])
                if target and not target.startswith(rel.removesuffix('.hpp') + '/'):     # a header may end with its parts
                    graph.setdefault(rel, []).append(target)
                if sentence:
                    errors.append(f'{rel}:{n}: {sentence}')
    if cycle := find_cycle(graph):
        errors.append('include cycle: ' + ' -> '.join(cycle))
    return errors, f'{count} files, all in their rooms'


GOOD = {
    'tools/rooms.txt': 'core  include/mpt/core/*  -  std\nlock  include/mpt/lock/*  core  std pthread\n'
                       'coll  include/mpt/coll/*  core  std\ncore_lib  src/core/*  core  std sys fmt boost/asio\n'
                       'binding  bindings/c/*  *  std mpi.h\noutside  test/* bench/* examples/*  *  *\n',
    'bindings/c/send.cpp': '#include <mpi.h>\n#include <vector>\n#include <mpt/lock/l.hpp>\n',
    'include/mpt/core/a.hpp': '#include <atomic>\n',
    'include/mpt/core/b.hpp': '#include "a.hpp"\n#include <mpt/core/a.hpp>\n',
    'include/mpt/lock/l.hpp': '#include <mpt/core/a.hpp>\n#include <pthread.h>\n',
    'src/core/s.cpp': '#include <mpt/core/a.hpp>\n#include <boost/asio.hpp>\n#include <fmt/core.h>\n#include <sys/mman.h>\n',
    'include/mpt/core/big.hpp': '#include <mpt/core/big/part.hpp>\n',
    'include/mpt/core/big/part.hpp': '#include <mpt/core/big.hpp>\n',
    'test/a_test.cpp': '#include <gtest/gtest.h>\n#include <mpt/lock/l.hpp>\n',
}
FAULTS = [
    ('an arrow that points up', {'include/mpt/core/c.hpp': '#include <mpt/lock/l.hpp>\n'}, 'room core may not look into room lock'),
    ('the same, quoted', {'include/mpt/core/c.hpp': '\n#include "../lock/l.hpp"\n'}, 'c.hpp:2: room core may not look into room lock'),
    ('the same, with spaces', {'include/mpt/core/c.hpp': ' #  include   <mpt/lock/l.hpp>\n'}, 'may not look into room lock'),
    ('a sideways arrow', {'include/mpt/coll/c.hpp': '#include <mpt/lock/l.hpp>\n'}, 'room coll may not look into room lock'),
    ('a POSIX header in a public header', {'include/mpt/lock/m.hpp': '#include <unistd.h>\n'}, 'POSIX headers belong into src/'),
    ('a POSIX folder', {'include/mpt/lock/m.hpp': '#include <sys/uio.h>\n'}, 'POSIX headers belong into src/'),
    ('a Linux header', {'include/mpt/core/m.hpp': '#include <linux/futex.h>\n'}, 'POSIX headers belong into src/'),
    ('pthread outside lock', {'include/mpt/core/m.hpp': '#include <pthread.h>\n'}, 'POSIX headers belong into src/'),
    ('C header', {'include/mpt/core/m.hpp': '#include <stdint.h>\n'}, 'write <cstdint>'),
    ('a third-party library in a header', {'include/mpt/core/m.hpp': '#include <boost/asio.hpp>\n'}, 'no place in this room'),
    ('a library in the wrong room', {'src/core/t.cpp': '#include <hwloc.h>\n'}, 'room core_lib may not include <hwloc.h>'),
    ('a sister of an allowed library', {'src/core/t.cpp': '#include <boost/asio_fake.hpp>\n'}, 'no place in this room'),
    ('a library in the C interface', {'bindings/c/x.cpp': '#include <fmt/core.h>\n'},
     'room binding may not include <fmt/core.h>'),
    ('a file without a room', {'include/mpt/attic/x.hpp': '\n'}, 'has no room'),
    ('a program without a room', {'src/tool/x.cpp': '\n'}, 'has no room'),
    ('a header that does not exist', {'include/mpt/lock/m.hpp': '#include <mpt/core/z.hpp>\n'}, 'mpt/core/z.hpp does not exist'),
    ('a quoted header that does not exist', {'src/core/t.cpp': '#include "z.hpp"\n'}, '"z.hpp" does not exist'),
    ('an include cycle', {'include/mpt/core/a.hpp': '#include <mpt/core/b.hpp>\n'}, 'include cycle'),
    ('a row without its columns', {'tools/rooms.txt': 'core include/mpt/core/*\n'}, 'four columns'),
    ('a room that does not exist', {'tools/rooms.txt': 'core  include/mpt/core/*  cellar  std\n'}, 'room cellar, which does not exist'),
]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
