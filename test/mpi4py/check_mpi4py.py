#!/usr/bin/env python3
"""mpi4py as a user installs it: built from its PyPI source against our mpi.h, and its own tests run under mptrun, all of them but
those of chapters that are not there yet: whole modules (OTHER_CHAPTERS), and single tests (other_chapters.txt). Both may only shrink.
What is skipped MPICH must skip, too: mpich_skips.txt has the ids, on one rank (1) and on several (2). `record` makes it, by PyPI's
wheel of MPICH and the same mpi4py, which finds either library by its name.
The build is kept in the build folder while mpi.h and the compiler wrapper stay what they are.
usage: check_mpi4py.py SOURCE_ROOT BUILD_ROOT programs | RANKS | record"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'consumer'))
from check_installed import install_and_move, output, run
from from_pypi import built, skip

VERSION, MPICH = '4.1.1', '5.0.2'
OTHER_CHAPTERS = {
    'file': 'files', 'io': 'files', 'subclass': 'opens a file when it is imported',
    'spawn': 'processes', 'dynproc': 'processes',
}
SKIPS = HERE / 'mpich_skips.txt'


def suite(launch, keep, folder, **env):
    """Runs it; the ids of what was skipped at rank 0."""
    run(*launch, keep / 'venv/bin/python', HERE / 'suite.py', keep / f'mpi4py-{VERSION}/test', folder / 'skips', '--no-builddir', '-q', '-e',
        f'test_({"|".join(OTHER_CHAPTERS)})\\.py', '--xfile', HERE / 'other_chapters.txt', timeout=400,
        env={**os.environ, 'MPI4PY_TEST_SPAWN': 'no', **env})
    return (folder / 'skips.0').read_text().split()


def compare(skipped, ranks):
    lines = [line.split() for line in SKIPS.read_text().splitlines() if not line.startswith('#')]
    theirs = {name for name, sizes in lines if str(min(ranks, 2)) in sizes.split(',')}
    wrong = [name for name in skipped if name not in theirs]
    print(f'{len(skipped)} tests are skipped on {ranks} ranks; MPICH skips {len(theirs)}')
    if wrong:
        sys.exit('skipped here, and not by MPICH:\n' + '\n'.join(wrong))


def record(keep):
    """What MPICH skips of the same tests."""
    wheel = keep / 'mpich'
    subprocess.run([keep / 'venv/bin/python', '-m', 'pip', 'download', '--no-deps', f'mpich=={MPICH}', '-d', wheel], check=True)
    zipfile.ZipFile(next(wheel.glob('*.whl'))).extractall(wheel)
    data = next(wheel.glob('*.data')) / 'data'
    for program in (data / 'bin').iterdir():
        program.chmod(0o755)
    skips = {}
    for n in (1, 2):
        for name in suite([data / 'bin/mpiexec', '-n', str(n)], keep, wheel, LD_LIBRARY_PATH=str(data / 'lib')):
            skips.setdefault(name, []).append(str(n))
    SKIPS.write_text(f'# What MPICH {MPICH} skips of the tests of mpi4py {VERSION}, on one rank and on several. Made by check_mpi4py.py record.\n'
                     + ''.join(f'{name} {",".join(n)}\n' for name, n in sorted(skips.items())))


def main():
    source, build, what = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    if not pathlib.Path(sys.prefix, 'include').exists() and not list(pathlib.Path('/usr/include').glob('python3*/Python.h')):
        skip('the headers of Python are not installed')
    with tempfile.TemporaryDirectory(prefix='mpt-py-') as folder:
        tree = shutil.move(install_and_move(build, pathlib.Path(folder).resolve()), pathlib.Path(folder) / 'mpt') # no blanks: mpi4py cannot
        keep = build / 'mpi4py'
        built('mpi4py', VERSION, keep, [tree / 'include/mpi.h', tree / 'bin/mptcc'],
              {'MPI4PY_BUILD_MPIABI': '1', 'MPICC': str(tree / 'bin/mptcc'), 'CFLAGS': '-O0'})
        python, mptrun = keep / 'venv/bin/python', tree / 'bin/mptrun'
        if what == 'programs':
            said = output(mptrun, '-n', '3', python, '-m', 'mpi4py.bench', 'helloworld', timeout=60)
            if sorted(line.split(' on ')[0] for line in said.splitlines()) != [f'Hello, World! I am process {r} of 3' for r in range(3)]:
                sys.exit(f'helloworld says "{said}"')
            said = output(mptrun, '-n', '3', python, '-m', 'mpi4py.bench', 'ringtest', '--loop', '1000', timeout=120)
            if 'for 1000 loops' not in said:
                sys.exit(f'ringtest says "{said}"')
            return
        if what == 'record':
            return record(keep)
        compare(suite([mptrun, '-n', what], keep, pathlib.Path(folder)), int(what))


main()
