#!/usr/bin/env python3
"""Builds and runs a SHMEM program outside of mpt's trees, with an installed tree that was moved: by oshcc and its other names, with and
without checks, and, where they are installed, by pkg-config and CMake; and one that calls MPI as well.
usage: check_oshcc.py SOURCE_ROOT BUILD_ROOT"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import check_installed
from check_installed import check_shown_words, output, run

TREE = ['bin/oshcc', 'bin/oshc++', 'bin/oshcxx', 'bin/oshrun', 'include/shmem.h', 'include/pshmem.h', 'include/shmemx.h',
        'include/mpp/shmem.h', 'include/mpp/shmemx.h', 'lib/libmpt_shmem.so', 'lib/libmpt_shmem.so.1',
        'lib/mpt/debug/libmpt_shmem.so.1', 'lib/pkgconfig/mpt-shmem.pc']
WARNINGS = ['-Wall', '-Wextra', '-Werror', '-O1']
MISTAKE = '#include <mpp/shmem.h>\nint main(void) { static int x; shmem_init(); shmem_int_p(&x, 1, 7); shmem_finalize(); return 0; }\n'
HYBRID = '''#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
int main(int argc, char** argv) {
    static int all[4], rank;
    MPI_Init(&argc, &argv), shmem_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    shmem_int_fcollect(SHMEM_TEAM_WORLD, all, &rank, 1);
    if (shmem_my_pe() == 0) printf("ranks %d %d %d %d\\n", all[0], all[1], all[2], all[3]);
    shmem_finalize(), MPI_Finalize();
    return 0;
}
'''


def by_wrappers(tree, source, tmp):
    program, bin_ = source / 'test/consumer/pes.c', tree / 'bin'
    run(bin_ / 'oshcc', *WARNINGS, program, '-o', tmp / 'oshcc')
    run(bin_ / 'oshcc', '-debug', *WARNINGS, program, '-o', tmp / 'debug')
    run(bin_ / 'oshcc', '-c', program, '-o', tmp / 'pes.o') # compiling and linking apart
    run(bin_ / 'oshcc', tmp / 'pes.o', '-o', tmp / 'apart')
    for name in ('oshc++', 'oshcxx'):
        run(bin_ / name, '-x', 'c++', *WARNINGS, program, '-o', tmp / name)
    for option, wanted in (('-show', '-lmpt_shmem'), ('-showme:compile', f'-I"{tree}/include"'), ('-showme:link', f'-L"{tree}/lib"'),
                           ('-showme:libs', 'mpt_shmem'), ('-showme:version', 'OpenSHMEM 1.6')):
        if wanted not in (said := output(bin_ / 'oshcc', option)):
            sys.exit(f'oshcc {option} says "{said}", without "{wanted}"')
    for option in ('-mt', '-nocheck'):                      # which mptcc knows
        done = subprocess.run([bin_ / 'oshcc', option, program, '-o', tmp / 'none'], capture_output=True, text=True)
        if done.returncode != 1 or f"oshcc: {option} chooses among MPI's libraries" not in done.stderr:
            sys.exit(f'oshcc {option}: exit code {done.returncode}, "{done.stderr}"')
    if '-lmpt_shmem' in output(bin_ / 'oshcc', '-show', '-c', program):
        sys.exit('oshcc -show -c names a library')
    check_shown_words(bin_ / 'oshcc')
    return [tmp / name for name in ('oshcc', 'debug', 'apart', 'oshc++', 'oshcxx')]


def check_debug(tree, tmp, clean):
    """The library that checks is found by the run path, and checks."""
    (tmp / 'mistake.c').write_text(MISTAKE)
    run(tree / 'bin/oshcc', '-debug', tmp / 'mistake.c', '-o', tmp / 'mistake')
    done = subprocess.run([tree / 'bin/oshrun', '-n', '2', tmp / 'mistake'], capture_output=True, text=True, timeout=60, env=clean)
    if done.returncode == 0 or 'shmem_int_p: pe is 7; allowed: 0 to 1' not in done.stderr:
        sys.exit(f'oshcc -debug: a PE that there is not: exit code {done.returncode}, "{done.stderr}"')


def check_hybrid(tree, tmp, clean):
    """A program of both needs no option; one of OpenSHMEM alone does not load MPI."""
    (tmp / 'hybrid.c').write_text(HYBRID)
    for name, *options in (('oshcc',), ('oshcc', '-debug'), ('oshc++', '-x', 'c++')):
        run(tree / 'bin' / name, *options, *WARNINGS, tmp / 'hybrid.c', '-o', tmp / 'hybrid')
        if (said := output(tree / 'bin/oshrun', '-n', '4', tmp / 'hybrid', env=clean, timeout=60).strip()) != 'ranks 0 1 2 3':
            sys.exit(f'{name} {" ".join(options)}: MPI and OpenSHMEM in one program: "{said}"')
    for program, wanted in (('hybrid', True), ('mistake', False)):
        if (b'libmpi_abi' in (tmp / program).read_bytes()) != wanted:
            sys.exit(f'oshcc: {program} {"does not name" if wanted else "names"} the library of MPI')


def by_build_systems(tree, source, tmp):
    programs = []
    if shutil.which('pkg-config'):
        flags = output('pkg-config', '--cflags', '--libs', 'mpt-shmem', env={**os.environ, 'PKG_CONFIG_PATH': str(tree / 'lib/pkgconfig')})
        run('cc', source / 'test/consumer/pes.c', '-o', tmp / 'by_pkg_config', *shlex.split(flags))
        programs.append(tmp / 'by_pkg_config')
    if shutil.which('cmake'):
        shutil.copytree(source / 'test/consumer', tmp / 'project')
        run('cmake', '-S', tmp / 'project/shmem', '-B', tmp / 'b', f'-DCMAKE_PREFIX_PATH={tree}')
        run('cmake', '--build', tmp / 'b')
        programs.append(tmp / 'b/pes')
    return programs


def main():
    source, build = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix='mpt-shmem-') as folder:
        tmp = pathlib.Path(folder).resolve()
        tree = check_installed.install_and_move(build, tmp)
        if missing := [name for name in TREE if not (tree / name).exists()]:
            sys.exit(f'missing in the tree: {", ".join(missing)}')
        clean = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'} # which comes before a run path
        check_debug(tree, tmp, clean)
        check_hybrid(tree, tmp, clean)
        for program in by_wrappers(tree, source, tmp) + by_build_systems(tree, source, tmp):
            if (said := output(tree / 'bin/oshrun', '-n', '4', program, env=clean, timeout=60).strip()) != 'mpt: 4 PEs, sum 10':
                sys.exit(f'{program}: "{said}"')
    return 0


if __name__ == '__main__':
    sys.exit(main())
