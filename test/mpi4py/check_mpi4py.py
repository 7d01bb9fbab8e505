#!/usr/bin/env python3
"""mpi4py as a user installs it: built from its PyPI source against our mpi.h, and its own tests run under mptrun.
The build is kept in the build folder while mpi.h and the compiler wrapper stay what they are. What tests of chapters that are not
there yet are called stands in other_chapters.txt, which may only shrink.
usage: check_mpi4py.py SOURCE_ROOT BUILD_ROOT programs | RANKS"""
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'consumer'))
from check_installed import install_and_move, output, run

VERSION = '4.1.1'
# Not among them: subclass, which opens a file when it is imported; whatever starts processes.
MODULES = r'test_(' + '|'.join('''address attributes buffer cco_buf cco_buf_inter cco_nb_buf cco_nb_vec cco_ngh_buf cco_ngh_obj cco_obj
    cco_obj_inter cco_pr_buf cco_pr_vec cco_vec cco_vec_inter comm comm_inter comm_topo ctypes datatype doc
    environ errhandler errorcode exceptions grequest group handle info mpiabi mpiapi mpimem msgspec msgzero
    objmodel op p2p_buf p2p_buf_matched p2p_buf_part p2p_obj p2p_obj_matched pack pickle request rma rma_nb session status
    threads toplevel util_dtlib util_pkl5 util_sync win'''.split()) + r')\.py'


def skip(why):
    print(f'skipped: {why}')
    sys.exit(77)


def built(tree, keep):
    """The folder with a virtual environment that has mpi4py, and its source."""
    keep.mkdir(exist_ok=True)
    stamp, now = keep / 'stamp', hashlib.sha256((tree / 'include/mpi.h').read_bytes() + (tree / 'bin/mptcc').read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == now + VERSION:
        return keep
    venv.create(keep / 'venv', with_pip=True, clear=True)
    pip = [keep / 'venv/bin/python', '-m', 'pip', '--quiet', '--disable-pip-version-check', '--retries', '1', '--timeout', '10']
    try:
        subprocess.run([*pip, 'download', '--no-deps', '--no-binary', 'mpi4py', f'mpi4py=={VERSION}', '-d', keep], timeout=120)
    except subprocess.TimeoutExpired:
        pass
    if not list(keep.glob('mpi4py-*.tar.gz')):
        skip(f'mpi4py {VERSION} cannot be had (no network?)')
    run('tar', 'xzf', keep / f'mpi4py-{VERSION}.tar.gz', '-C', keep)
    env = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'MPI4PY_BUILD_MPIABI': '1', 'MPICC': str(tree / 'bin/mptcc'), 'CFLAGS': '-O0'}
    done = subprocess.run([*pip, 'install', keep / f'mpi4py-{VERSION}'], env=env, timeout=600, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        if 'Python.h' in done.stdout:
            skip('the headers of Python are not installed')
        sys.exit(f'mpi4py does not build against mpi.h:\n{done.stdout[-8000:]}')
    stamp.write_text(now + VERSION)
    return keep


def main():
    source, build, what = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    if not pathlib.Path(sys.prefix, 'include').exists() and not list(pathlib.Path('/usr/include').glob('python3*/Python.h')):
        skip('the headers of Python are not installed')
    with tempfile.TemporaryDirectory(prefix='mpt-py-') as folder:
        tree = shutil.move(install_and_move(build, pathlib.Path(folder).resolve()), pathlib.Path(folder) / 'mpt') # no blanks: mpi4py cannot
        keep = built(tree, build / 'mpi4py')
        python, mptrun = keep / 'venv/bin/python', tree / 'bin/mptrun'
        if what == 'programs':
            said = output(mptrun, '-n', '3', python, '-m', 'mpi4py.bench', 'helloworld', timeout=60)
            if sorted(line.split(' on ')[0] for line in said.splitlines()) != [f'Hello, World! I am process {r} of 3' for r in range(3)]:
                sys.exit(f'helloworld says "{said}"')
            said = output(mptrun, '-n', '3', python, '-m', 'mpi4py.bench', 'ringtest', '--loop', '1000', timeout=120)
            if 'for 1000 loops' not in said:
                sys.exit(f'ringtest says "{said}"')
            return
        run(mptrun, '-n', what, python, keep / f'mpi4py-{VERSION}/test/main.py', '--no-builddir', '-q', '-i', MODULES, '--xfile',
            HERE / 'other_chapters.txt', timeout=400)


main()
