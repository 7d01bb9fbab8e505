#!/usr/bin/env python3
"""shmem4py as a user installs it: built by oshcc from its PyPI source, and its own tests run under oshrun, all of them. Python calls what
shmem.h declares by a table that shmem4py makes itself, so a name, a type or a constant that is not the specification's is found.
What an OpenSHMEM has it knows by the vendors' macros, and writes itself what one lacks: ours lacks nothing, which it is told as of Sandia's.
The build is kept in the build folder while shmem.h and oshcc stay what they are.
usage: check_shmem4py.py BUILD_ROOT RANKS"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'consumer'))
from check_installed import install_and_move
from from_pypi import built

VERSION, TESTS = '1.0.0', 110
NEEDS = ['cffi', 'numpy<2', 'setuptools', 'wheel'] # its tests are older than numpy 2
SUITE = '''
import sys, unittest
found = unittest.main(None, argv=['', 'discover', '-s', sys.argv[1]], exit=False).result
sys.exit(f'{found.testsRun} tests have run, {len(found.skipped)} were skipped; {sys.argv[2]} are to run'
         if found.testsRun != int(sys.argv[2]) or found.skipped else not found.wasSuccessful())
'''
HAS_ALL = '-DSHMEM_DEF_H=1 -DSHMEM_FUNCTION_ATTRIBUTES=1'


def main():
    build, ranks = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix='mpt-shmem-py-') as folder:
        tree = shutil.move(install_and_move(build, pathlib.Path(folder).resolve()), pathlib.Path(folder) / 'mpt') # no blanks: OSHCC is words
        keep = build / 'shmem4py'
        built('shmem4py', VERSION, keep, [tree / 'include/shmem.h', tree / 'bin/oshcc'],
              {'OSHCC': str(tree / 'bin/oshcc'), 'CFLAGS': f'-O0 {HAS_ALL}'}, NEEDS)
        # The library that the extension was linked with lies where an earlier run put it.
        env = {**os.environ, 'LD_LIBRARY_PATH': str(tree / 'lib')}
        done = subprocess.run([tree / 'bin/oshrun', '-n', str(ranks), keep / 'venv/bin/python', '-c', SUITE, keep / f'shmem4py-{VERSION}/test',
                               str(TESTS)], env=env, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f'{done.stdout[-8000:]}\nexit code {done.returncode}')
        print(f'{TESTS} tests on {ranks} PEs')


main()
