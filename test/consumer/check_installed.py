#!/usr/bin/env python3
"""Installs mpt into a fresh folder (through a DESTDIR stage), moves the tree, and builds and runs a program outside of both trees:
by pkg-config with plain g++, or by CMake. The tree must hold what the outside relies on and no path of where it was built.
usage: check_installed.py pkg-config | cmake  SOURCE_ROOT  BUILD_ROOT"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TREE = ['bin/mptrun', 'bin/mpiexec', 'bin/mpirun', 'bin/oshrun', 'include/mpt/mpt.hpp', 'lib/libmpt_core.so', 'lib/libmpt_core.so.0',
        'lib/pkgconfig/mpt.pc', 'lib/cmake/mpt/mptConfig.cmake', 'lib/cmake/mpt/mptConfigVersion.cmake']


def run(*command, **kwargs):
    print('+', *command, flush=True)
    return subprocess.run([str(c) for c in command], check=True, **kwargs)


def output(*command, **kwargs):
    return run(*command, stdout=subprocess.PIPE, text=True, **kwargs).stdout


def check_shown_words(wrapper):
    """What -show prints is, to a shell, the words that were given."""
    words = ['-DA="a b"', "-DB='$c`d'", '-DC=\\e', '-I/with a blank', '-DF=(g)', '']
    shown = output(wrapper, '-show', '-c', *words)
    if output('sh', '-c', f"printf '%s\\n' {shown}").splitlines()[-len(words) - 1:] != ['-c', *words]:
        sys.exit(f'{wrapper} -show: {shown}')


def install_and_move(build, tmp):
    """An install through DESTDIR, then the tree in a place that its files have never heard of."""
    run('meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', tmp / 'stage')
    found = [p for p in (tmp / 'stage').rglob('mptrun') if p.parent.name == 'bin']
    if len(found) != 1:
        sys.exit(f'bin/mptrun is installed {len(found)} times')
    moved = tmp / 'some where' / 'else'
    moved.parent.mkdir()
    shutil.move(found[0].parent.parent, moved)
    shutil.rmtree(tmp / 'stage')
    return moved


def check_tree(tree, source, build):
    wrong = [f'{name} is missing' for name in TREE if not (tree / name).exists()]
    listed = [x for x in (source / 'include/mpt/headers.txt').read_text().splitlines() if x and not x.startswith('#')]
    wrong += [f'include/mpt/{h} is missing' for h in listed if not (tree / 'include/mpt' / h).exists()]
    for path in (p for p in tree.rglob('*') if p.is_file() and not p.is_symlink()):
        if path.suffix in {'.pc', '.cmake', '.hpp'}:
            wrong += [f'{path.relative_to(tree)} names {place}' for place in (source, build) if str(place).encode() in path.read_bytes()]
    for path in [tree / 'bin/mptrun', tree / 'lib/libmpt_core.so']:
        for m in re.finditer(r'\((?:RPATH|RUNPATH)\).*\[(.*)\]', output('readelf', '-d', path)):
            wrong += [f'{path.relative_to(tree)} looks for libraries in {p}' for p in m[1].split(':') if not p.startswith('$ORIGIN')]
    if wrong:
        sys.exit('\n'.join(wrong))


def build_consumer(how, tree, source, tmp):
    folder = tmp / 'consumer'
    folder.mkdir()
    for name in ('main.cpp', 'CMakeLists.txt'):
        shutil.copy(source / 'test/consumer' / name, folder)
    compiler = os.environ.get('CXX', 'g++').split()
    if how == 'pkg-config':
        pc = {**os.environ, 'PKG_CONFIG_PATH': str(tree / 'lib/pkgconfig')}
        flags = output('pkg-config', '--cflags', '--libs', 'mpt', env=pc)
        import shlex
        run(*compiler, '-std=c++20', '-O1', '-Wall', '-Wextra', '-Werror', 'main.cpp', '-o', 'consumer', *shlex.split(flags), cwd=folder)
        return folder / 'consumer'
    clean = {k: v for k, v in os.environ.items() if k != 'PKG_CONFIG_PATH'}
    run('cmake', '-S', folder, '-B', folder / 'b', f'-DCMAKE_PREFIX_PATH={tree}', '-DCMAKE_BUILD_TYPE=Release', env={**clean, 'CXX': ' '.join(compiler)})
    run('cmake', '--build', folder / 'b', env=clean)
    return folder / 'b/consumer'


def main():
    how, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if not shutil.which(how):
        print(f'skipped: {how} is not installed')
        return 77
    clean = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'}
    with tempfile.TemporaryDirectory(prefix='mpt-consumer-') as folder:
        tmp = pathlib.Path(folder).resolve()
        tree = install_and_move(build, tmp)
        check_tree(tree, source, build)
        program = build_consumer(how, tree, source, tmp)
        for command, expected in [([program], '1 ranks, sum 1'), ([tree / 'bin/mptrun', '-n', '4', program], '4 ranks, sum 10'),
                                  ([tree / 'bin/mpiexec', '-n', '3', program], '3 ranks, sum 6')]:
            said = output(*command, env=clean, timeout=60).strip()
            if said != expected:
                sys.exit(f'expected "{expected}", got "{said}"')
    return 0


if __name__ == '__main__':
    sys.exit(main())
