#!/usr/bin/env python3
"""libmpt_core shows mpt's own names only, all under the private version MPT_PRIVATE_0, asks for no library but the C and C++ run
time, and finds nothing by an absolute path.
usage: check_symbols.py LIBRARY | --self-test compiler [argument...]"""
import pathlib
import re
import subprocess
import sys
import tempfile

VERSION = 'MPT_PRIVATE_0'
RUNTIME = re.compile(r'(libstdc\+\+|libgcc_s|libm|libc|libpthread|libdl|librt|ld-linux[\w-]*|linux-vdso|lib[at]?san|libasan|libtsan|libubsan)\.so(\.\d+)*$')
OURS = re.compile(r'_Z(?:T[VISTC]|GV|Th\w+_)?(?:Z)?N[KRO]*3mpt')


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check(library):
    errors, count = [], 0
    for line in output('nm', '-D', '--defined-only', '--with-symbol-versions', library).splitlines():
        name, _, version = line.split()[-1].partition('@')
        version = version.lstrip('@')
        if name == VERSION:
            continue
        count += 1
        if not OURS.match(name) and not name.startswith('mpt_'):
            errors.append(f'shows {output("c++filt", name).strip()}, which is not mpt\'s')
        if version != VERSION:
            errors.append(f'{name} has the version "{version}", not {VERSION}')
    if not count:
        errors.append('shows nothing at all')
    for line in output('readelf', '-d', library).splitlines():
        if (m := re.search(r'\(NEEDED\).*\[(.*)\]', line)) and not RUNTIME.match(m[1]):
            errors.append(f'needs {m[1]}')
        if (m := re.search(r'\((?:RPATH|RUNPATH)\).*\[(.*)\]', line)) and any(p and not p.startswith('$ORIGIN') for p in m[1].split(':')):
            errors.append(f'looks for libraries in {m[1]}')
    return errors, f'{count} names, all of mpt, all {VERSION}'


def self_test(compiler):
    export = '-Wl,--version-script=v.map'
    good = ('namespace mpt { int f() { return 1; } }', [export])
    faults = [
        ('a foreign name', 'namespace mpt { int f() { return 1; } } namespace fmt { int g() { return 2; } }', [], "fmt::g(), which is not mpt's"),
        ('no version', 'namespace mpt { int f() { return 1; } }', [], 'has the version ""'),
        ('nothing', 'static int f() { return 1; } int (*p)() = f;', [export], 'shows nothing'),
        ('a run path', good[0], [export, '-Wl,-rpath,/opt/lib'], 'looks for libraries in /opt/lib'),
        ('another library', good[0], [export, '-Wl,--no-as-needed', '-lother'], 'needs libother.so'),
    ]
    wrong = []
    for what, text, arguments, expected in [('a good library', *good, None)] + faults:
        with tempfile.TemporaryDirectory() as folder:
            tmp = pathlib.Path(folder)
            (tmp / 'x.cpp').write_text(text)
            (tmp / 'v.map').write_text(VERSION + ' { global: _ZN3mpt*; local: *; };')
            (tmp / 'o.cpp').write_text('int o() { return 0; }')
            build = [*compiler, '-shared', '-fPIC', '-L.']
            subprocess.run([*build, '-Wl,-soname,libother.so', 'o.cpp', '-o', 'libother.so'], cwd=tmp, check=True)
            subprocess.run([*build, 'x.cpp', '-o', 'x.so', *arguments], cwd=tmp, check=True)
            errors, _ = check(tmp / 'x.so')
        if (expected is None and errors) or (expected and not any(expected in e for e in errors)):
            wrong.append(f'{what}: expected "{expected}", got {errors}')
    print('\n'.join(wrong) or f'{len(faults)} planted faults, all found')
    return bool(wrong)


def main():
    if sys.argv[1] == '--self-test':
        return self_test(sys.argv[2:])
    errors, summary = check(sys.argv[1])
    print('\n'.join(f'{sys.argv[1]}: {e}' for e in errors) or summary)
    return bool(errors)


sys.exit(main())
