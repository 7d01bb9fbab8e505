#!/usr/bin/env python3
"""shmem4py as a user installs it: built by oshcc from its PyPI source, and its own tests run under oshrun, all of them. Python calls what
shmem.h declares by a table that shmem4py makes itself, so a name, a type or a constant that is not the specification's is found.
What an OpenSHMEM has it knows by the vendors' macros, and writes itself what one lacks: ours lacks nothing, which it is told as of Sandia's.
The build is kept in the build folder while shmem.h and oshcc stay what they are.
usage: check_shmem4py.py BUILD_ROOT RANKS"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'consumer'))
from check_installed import install_and_move, run

VERSION, TESTS = '1.0.0', 110
NEEDS = ['cffi', 'numpy<2', 'setuptools', 'wheel'] # its tests are older than numpy 2
SUITE = '''
import sys, unittest
found = unittest.main(None, argv=['', 'discover', '-s', sys.argv[1]], exit=False).result
sys.exit(f'{found.testsRun} tests have run, {len(found.skipped)} were skipped; {sys.argv[2]} are to run'
         if found.testsRun != int(sys.argv[2]) or found.skipped else not found.wasSuccessful())
'''
HAS_ALL = '-DSHMEM_DEF_H=1 -DSHMEM_FUNCTION_ATTRIBUTES=1'


def skip(why):
    print(f'skipped: {why}')
    sys.exit(77)


def built(tree, keep):
    """The folder with a virtual environment that has shmem4py, and its source."""
    keep.mkdir(exist_ok=True)
    stamp, now = keep / 'stamp', hashlib.sha256((tree / 'include/shmem.h').read_bytes() + (tree / 'bin/oshcc').read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == now + VERSION:
        return keep
    venv.create(keep / 'venv', with_pip=True, clear=True)
    pip = [keep / 'venv/bin/python', '-m', 'pip', '--quiet', '--disable-pip-version-check', '--retries', '1', '--timeout', '10']
    try:
        subprocess.run([*pip, 'install', *NEEDS], timeout=300)
        subprocess.run([*pip, 'download', '--no-deps', '--no-build-isolation', '--no-binary', 'shmem4py', f'shmem4py=={VERSION}', '-d', keep],
                       timeout=120)
    except subprocess.TimeoutExpired:
        pass
    if not list(keep.glob('shmem4py-*.tar.gz')) or subprocess.run([keep / 'venv/bin/python', '-c', 'import cffi, numpy']).returncode:
        skip(f'shmem4py {VERSION} or what it needs cannot be had (no network?)')
    run('tar', 'xzf', keep / f'shmem4py-{VERSION}.tar.gz', '-C', keep)
    env = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'OSHCC': str(tree / 'bin/oshcc'), 'CFLAGS': f'-O0 {HAS_ALL}'}
    done = subprocess.run([*pip, 'install', '--no-deps', '--no-build-isolation', '--force-reinstall', keep / f'shmem4py-{VERSION}'], env=env,
                          timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        if 'Python.h' in done.stdout:
            skip('the headers of Python are not installed')
        sys.exit(f'shmem4py does not build against shmem.h:\n{done.stdout[-8000:]}')
    stamp.write_text(now + VERSION)
    return keep


def main():
    build, ranks = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix='mpt-shmem-py-') as folder:
        tree = shutil.move(install_and_move(build, pathlib.Path(folder).resolve()), pathlib.Path(folder) / 'mpt') # no blanks: OSHCC is words
        keep = built(tree, build / 'shmem4py')
        # The library that the extension was linked with lies where an earlier run put it.
        env = {**os.environ, 'LD_LIBRARY_PATH': str(tree / 'lib')}
        done = subprocess.run([tree / 'bin/oshrun', '-n', str(ranks), keep / 'venv/bin/python', '-c', SUITE, keep / f'shmem4py-{VERSION}/test',
                               str(TESTS)], env=env, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f'{done.stdout[-8000:]}\nexit code {done.returncode}')
        print(f'{TESTS} tests on {ranks} PEs')


main()
