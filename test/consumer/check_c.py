#!/usr/bin/env python3
"""Builds and runs a C program outside of mpt's trees, with an installed tree that was moved: by mptcc (and its other names), by
pkg-config, by CMake's FindMPI and mpt's own CMake package, or by the mpicc_abi of another vendor, whose library it then names.
usage: check_c.py mptcc | pkg-config | cmake | mpicc_abi  SOURCE_ROOT  BUILD_ROOT"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv

sys.dont_write_bytecode = True
import check_installed
from check_installed import check_shown_words, output, run

TREE = ['bin/mptcc', 'bin/mpicc', 'bin/mptcxx', 'bin/mpicxx', 'bin/mpic++', 'include/mpi.h', 'include/mpi_compat.h', 'include/mpi_compat/mpi.h', 'lib/libmpi_abi.so',
        'lib/libmpi_abi.so.1', 'lib/mpt/debug/libmpi_abi.so.1', 'lib/mpt/mt/libmpi_abi.so', 'lib/mpt/mt/libmpi_abi.so.1',
        'lib/libmpt_mpi_compat.so', 'lib/libmpt_mpi_compat.so.1', 'lib/pkgconfig/mpt-mpi-compat.pc', 'lib/pkgconfig/mpt-mpi.pc',
        'share/man/man3/MPI_Send.3']

# What a configure script compiles to find a function, and a program whose features are those that it asks for.
PROBE = '''char MPI_Init(void);
int main(void) { return MPI_Init(); }
'''
FEATURE = '''#define _GNU_SOURCE
#include <sched.h>
#include <mpi.h>
int main(int argc, char** argv) {
    cpu_set_t set;
    CPU_ZERO(&set);
    MPI_Init(&argc, &argv);
    if (sched_getaffinity(0, sizeof set, &set) != 0 || MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) != MPI_COMM_WORLD) return 1;
    return MPI_Finalize();
}
'''

CONFLICT = '''#include <mpi.h>
int main(int argc, char** argv) {
    int x = 1, *base;
    MPI_Win w;
    MPI_Init(&argc, &argv);
    MPI_Win_allocate(sizeof x, sizeof x, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    MPI_Win_fence(0, w);
    MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, w); /* all ranks */
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
    MPI_Finalize();
    return 0;
}
'''


def by_wrappers(tree, source, tmp):
    program = source / 'test/consumer/ring.c'
    bin_ = tree / 'bin'
    for name in ('mptcc', 'mpicc'):
        run(bin_ / name, '-Wall', '-Wextra', '-Werror', '-O1', program, '-o', tmp / name)
    run(bin_ / 'mpicc', '-c', program, '-o', tmp / 'ring.o') # compiling and linking apart
    run(bin_ / 'mpicc', tmp / 'ring.o', '-o', tmp / 'apart')
    for name in ('mptcxx', 'mpicxx', 'mpic++'):
        run(bin_ / name, '-x', 'c++', '-Wall', '-Wextra', '-Werror', program, '-o', tmp / name)
    run(bin_ / 'mptcc', '-mt', '-Wall', '-Wextra', '-Werror', program, '-o', tmp / 'fine')
    run(bin_ / 'mptcc', '-mt', '-compat', source / 'test/consumer/old.c', '-o', tmp / 'fine_old')
    run(bin_ / 'mptcc', '-compat', '-Wall', '-Wextra', '-Werror', source / 'test/consumer/old.c', '-o', tmp / 'old')
    for name, text in (('probe', PROBE), ('feature', FEATURE)):
        (tmp / f'{name}.c').write_text(text)
        run(bin_ / 'mptcc', '-compat', tmp / f'{name}.c', '-o', tmp / name)
    run(bin_ / 'mptcxx', '-compat', '-x', 'c++', '-Wall', '-Wextra', '-Werror', source / 'test/consumer/old.c', '-o', tmp / 'old++')
    for option, wanted in (('-show', '-lmpi_abi'), ('-showme:compile', f'-I"{tree}/include"'), ('-showme:link', f'-L"{tree}/lib"'),
                           ('-showme:libs', 'mpi_abi'), ('-showme:version', 'mpt')):
        said = output(bin_ / 'mpicc', option)
        if wanted not in said:
            sys.exit(f'mpicc {option} says "{said}", without "{wanted}"')
    if f'-L"{tree}/lib/mpt/mt"' not in output(bin_ / 'mpicc', '-mt', '-showme:link'):
        sys.exit('mpicc -mt -showme:link does not name the folder of the flavour')
    if '-lmpt_mpi_compat -lmpi_abi' not in output(bin_ / 'mpicc', '-compat', '-show', program):
        sys.exit('mpicc -compat -show does not name its library')
    if '-lmpi_abi' in output(bin_ / 'mpicc', '-show', '-c', program):
        sys.exit('mpicc -show -c names a library')
    check_shown_words(bin_ / 'mpicc')
    if 'mine' not in output(bin_ / 'mpicc', '-show', program, env={**os.environ, 'MPICH_CC': 'mine'}):
        sys.exit('MPICH_CC is not heeded')
    if subprocess.run([bin_ / 'mpicc', '-showme:nonsense'], capture_output=True).returncode == 0:
        sys.exit('-showme:nonsense is no error')
    return [tmp / name for name in ('mptcc', 'mpicc', 'apart', 'mptcxx', 'mpicxx', 'mpic++', 'fine', 'fine_old', 'old', 'old++')]


def check_manual(tree):
    """What `man MPI_Send` shows: by man where it is installed, else the page itself."""
    show = (['man', '-M', tree / 'share/man', 'MPI_Send'] if shutil.which('man') else ['cat', tree / 'share/man/man3/MPI_Send.3'])
    said = re.sub(r'\\f[BIR]', '', output(*show, env={**os.environ, 'MANWIDTH': '80', 'MANPAGER': 'cat'}))
    if 'int MPI_Send(const void *buf, int count, MPI_Datatype datatype,' not in said:
        sys.exit(f'the page of MPI_Send: "{said}"')


def check_peer_bench(tree, source, tmp):
    """The program that `make bench` sets beside other libraries gives every figure on ours."""
    figures = ['latency', 'bw', 'bibw', 'exchange', 'errand', 'overlap', 'rate', 'pairs', 'collectives', 'memory', 'hello']
    run(tree / 'bin/mptcc', '-Wall', '-Wextra', '-Werror', '-O1', source / 'bench/peers/peer_bench.c', '-o', tmp / 'peer_bench')
    said = output(tree / 'bin/mptrun', '-n', '2', tmp / 'peer_bench', '-m', '8:64', '-i', '3', '-x', '1', *figures)
    for figure in figures + ['barrier', 'alltoall']:
        if figure != 'collectives' and not re.search(rf'^{figure} \d+ [\d.e+-]+ \S+$', said, re.M):
            sys.exit(f'peer_bench gives no {figure}: "{said}"')


def check_tools(tree, source, tmp):
    """A tool in plain C finds every variable, and sees what its rank did."""
    run(tree / 'bin/mptcc', '-Wall', '-Wextra', '-Werror', '-O1', source / 'test/consumer/tools.c', '-o', tmp / 'tools')
    said = output(tree / 'bin/mptrun', '-n', '2', tmp / 'tools', env={**os.environ, 'MPT_EAGER_MAX': '4K', 'MPT_NAP': '1234'})
    wanted = ['cvar MPT_EAGER_MAX = 4096', 'cvar MPT_NAP = 1234', 'cvar MPT_WAIT = auto', 'cvar MPT_SINGLE_COPY = on',
              'pvar mpt_e0_messages_received = 10', 'pvar mpt_rndv_bytes_received = 1048576', 'pvar mpt_lanes = 1', 'category mpt_traffic: .*',
              'event mpt_unexpected_message: .*', 'events (9|1[0-9])']
    if missing := [line for line in wanted if not re.search(rf'^{line}$', said, re.M)]:
        sys.exit(f'a tool does not see {missing} in "{said}"')


def check_debug(tree, source, tmp, clean):
    """The library that watches windows is found by the run path, and watches."""
    (tmp / 'conflict.c').write_text(CONFLICT)
    for flavour in ([], ['-debug']):
        run(tree / 'bin/mptcc', *flavour, '-O1', tmp / 'conflict.c', '-o', tmp / 'conflict')
        done = subprocess.run([tree / 'bin/mptrun', '-n', '3', tmp / 'conflict'], capture_output=True, text=True, timeout=60, env=clean)
        if flavour != (['-debug'] if 'MPI_Put: bytes 0 to 4 of rank 0' in done.stderr and done.returncode != 0 else []):
            sys.exit(f'mptcc {flavour}, two puts that meet: exit code {done.returncode}, "{done.stderr}"')
    run(tree / 'bin/mptcc', '-debug', '-compat', source / 'test/consumer/old.c', '-o', tmp / 'old_debug')
    if (said := output(tree / 'bin/mptrun', '-n', '4', tmp / 'old_debug', env=clean, timeout=60).strip()) != 'mpt: 4 ranks, sum 10':
        sys.exit(f'mptcc -debug -compat: "{said}"')


def check_flavours(tree, source, tmp):
    """A flavour is chosen when a program is linked, or when it is started."""
    build, mptrun = [tree / 'bin/mptcc', '-O1', source / 'test/consumer/tools.c', '-o'], tree / 'bin/mptrun'
    run(*build, tmp / 'plain')
    run(*build, tmp / 'linked', '-mt')
    run(*build, tmp / 'unchecked', '-nocheck')
    if ' cvar ' not in output(mptrun, '-n', '2', tmp / 'unchecked').replace('\n', ' '):
        sys.exit('mptcc -nocheck: a tool sees nothing')
    run(tree / 'bin/mptcc', '-nocheck', '-compat', source / 'test/consumer/old.c', '-o', tmp / 'old_unchecked')
    for words in ([tmp / 'old_unchecked'], ['--flavour', 'nocheck', tmp / 'old_unchecked']):
        if (said := output(mptrun, '-n', '4', *words).strip()) != 'mpt: 4 ranks, sum 10':
            sys.exit(f'{words}: "{said}"')
    done = subprocess.run([tree / 'bin/mptcc', '-mt', '-debug', tmp / 'nothing.c'], capture_output=True, text=True, timeout=60)
    if done.returncode != 1 or 'leave one of them out' not in done.stderr:
        sys.exit(f'mptcc -mt -debug: exit code {done.returncode}, "{done.stderr}"')
    many = range(2, 17) # by how many CPUs there are
    for words, lanes in ((['plain'], [1]), (['linked'], many), (['--flavour', 'mt', 'plain'], many), (['-x', 'MPT_LANES=3', 'linked'], [3])):
        said = output(mptrun, '-n', '2', *words[:-1], tmp / words[-1])
        if not any(f'\npvar mpt_lanes = {n}\n' in said for n in lanes):
            sys.exit(f'{words}: not of {lanes} lanes: "{said}"')
    for words, sentence in ((['-n', '1', tmp / 'plain', ':', '-n', '1', tmp / 'linked'], 'MPT_LANES'),
                            (['--flavour', 'fast', tmp / 'plain'], '--flavour fast: there is no such flavour; there are debug, mt, nocheck.')):
        done = subprocess.run([mptrun, *words], capture_output=True, text=True, timeout=60)
        if done.returncode == 0 or sentence not in done.stderr:
            sys.exit(f'{words}: exit code {done.returncode}, "{done.stderr}", without "{sentence}"')


def by_pkg_config(tree, source, tmp):
    for package, program in (('mpt-mpi', 'ring'), ('mpt-mpi-compat', 'old')):
        flags = output('pkg-config', '--cflags', '--libs', package, env={**os.environ, 'PKG_CONFIG_PATH': str(tree / 'lib/pkgconfig')})
        run('cc', source / f'test/consumer/{program}.c', '-o', tmp / program, *shlex.split(flags))
    return [tmp / 'ring', tmp / 'old']


def by_cmake(tree, source, tmp):
    shutil.copytree(source / 'test/consumer', tmp / 'project')
    path = f'{tree}/bin:{os.environ["PATH"]}'
    run('cmake', '-S', tmp / 'project/mpi', '-B', tmp / 'b', f'-DCMAKE_PREFIX_PATH={tree}', env={**os.environ, 'PATH': path})
    run('cmake', '--build', tmp / 'b')
    return [tmp / 'b/ring', tmp / 'b/ring_by_package']


def by_another_vendor(_, source, tmp):
    """What the PyPI wheel of MPICH compiles; None: it cannot be had."""
    venv.create(tmp / 'venv', with_pip=True)
    try:
        run(tmp / 'venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '1', '--timeout', '10', 'mpich', timeout=120)
    except subprocess.SubprocessError:
        return None
    run(tmp / 'venv/bin/mpicc_abi', source / 'test/consumer/ring.c', '-o', tmp / 'ring')
    return [tmp / 'ring']


def main():
    how, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    ways = {'mptcc': by_wrappers, 'pkg-config': by_pkg_config, 'cmake': by_cmake, 'mpicc_abi': by_another_vendor}
    if how in ('pkg-config', 'cmake') and not shutil.which(how):
        print(f'skipped: {how} is not installed')
        return 77
    clean = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'}
    with tempfile.TemporaryDirectory(prefix='mpt-c-') as folder:
        tmp = pathlib.Path(folder).resolve()
        tree = check_installed.install_and_move(build, tmp)
        if missing := [name for name in TREE if not (tree / name).exists()]:
            sys.exit(f'missing in the tree: {", ".join(missing)}')
        check_manual(tree)
        if how == 'mptcc':
            check_peer_bench(tree, source, tmp)
            check_tools(tree, source, tmp)
            check_debug(tree, source, tmp, clean)
            check_flavours(tree, source, tmp)
        if (programs := ways[how](tree, source, tmp)) is None:
            print('skipped: the wheel of MPICH cannot be had (no network?)')
            return 77
        for program in programs:
            said = output(tree / 'bin/mptrun', '-n', '4', program, env=clean, timeout=60).strip()
            if said != 'mpt: 4 ranks, sum 10':
                sys.exit(f'{program}: "{said}"')
    return 0


if __name__ == '__main__':
    sys.exit(main())
