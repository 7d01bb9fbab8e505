"""A package of PyPI as a user installs it: built from its source against an installed tree of ours, in a virtual environment of its own.
What was built is kept in the build folder while what it was built against stays what it is."""
import hashlib
import subprocess
import sys
import venv

from check_installed import run


def skip(why):
    print(f'skipped: {why}')
    sys.exit(77)


def built(name, version, keep, against, env, needs=()):
    """Makes the folder `keep` with a virtual environment, venv, that has the package, and with its source. against: our header, and our
    compiler wrapper, which the environment names. needs: what it is built and run with, where pip is not to find that by itself."""
    keep.mkdir(exist_ok=True)
    stamp, now = keep / 'stamp', hashlib.sha256(b''.join(file.read_bytes() for file in against)).hexdigest() + version
    if stamp.exists() and stamp.read_text() == now:
        return
    venv.create(keep / 'venv', with_pip=True, clear=True)
    pip = [keep / 'venv/bin/python', '-m', 'pip', '--quiet', '--disable-pip-version-check', '--retries', '1', '--timeout', '10']
    by_itself = ['--no-deps', '--no-build-isolation'] if needs else ['--no-deps']
    try:
        had = not needs or subprocess.run([*pip, 'install', *needs], timeout=300).returncode == 0
        subprocess.run([*pip, 'download', *by_itself, '--no-binary', name, f'{name}=={version}', '-d', keep], timeout=120)
    except subprocess.TimeoutExpired:
        had = False
    if not had or not (keep / f'{name}-{version}.tar.gz').exists():
        skip(f'{name} {version} or what it needs cannot be had (no network?)')
    run('tar', 'xzf', keep / f'{name}-{version}.tar.gz', '-C', keep)
    done = subprocess.run([*pip, 'install', *by_itself, keep / f'{name}-{version}'], env={'PATH': '/usr/local/bin:/usr/bin:/bin', **env},
                          timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        if 'Python.h' in done.stdout:
            skip('the headers of Python are not installed')
        sys.exit(f'{name} does not build against {against[0].name}:\n{done.stdout[-8000:]}')
    stamp.write_text(now)
