#!/usr/bin/env python3
"""Runs the program of partitions with variables that ask for memory that is there, for memory that is not, and for what no partition
is: a job begins and says what it has, or ends with a sentence. And with those that ask a job to say more of itself.
usage: check_variables.py MPTRUN CHECKED PROGRAM"""
import fcntl
import os
import subprocess
import sys

CLEAN = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH' and 'SYMMETRIC' not in k and k not in ('MPT_FAST_NODES', 'MEMKIND_HBW_NODES')}
GOOD = {'SHMEM_SYMMETRIC_PARTITION1': 'size=8M', 'SMA_SYMMETRIC_PARTITION2': 'size=3M:kind=F:policy=P:pgsize=2M',
        'SHMEM_SYMMETRIC_PARTITION5': 'size=64K:policy=MANDATORY'}
BAD = [
    ({'SHMEM_SYMMETRIC_PARTITION3': 'kind=F'}, 'it lacks size='),
    ({'SHMEM_SYMMETRIC_PARTITION3': 'size=1M:kind=slow'}, 'MPT_SYMMETRIC_PARTITION3: kind=slow; allowed: NORMALMEM'),
    ({'SHMEM_SYMMETRIC_PARTITION3': 'size=1M:pgsize=5K'}, 'a power of two'),
    ({'SHMEM_SYMMETRIC_PARTITION3': 'size=1M:policy=maybe'}, 'MANDATORY (M), PREFERRED (P)'),
    ({'SHMEM_SYMMETRIC_PARTITION3': '1M'}, 'NAME=VALUE'),
    ({'SHMEM_SYMMETRIC_SIZE': '1M'}, 'contradict each other'),
    ({'SMA_SYMMETRIC_PARTITION5': 'size=1M', 'MPT_SYMMETRIC_PARTITION5': 'size=2M'}, 'contradict each other'),
    ({'SHMEM_SYMMETRIC_PARTITION3': 'size=1M:kind=F:policy=M'}, 'Its policy is MANDATORY'),
    ({'MEMKIND_HBW_NODES': '1023'}, 'MEMKIND_HBW_NODES=1023: there is no node 1023 with memory here'),
    ({'MPT_FAST_NODES': '1023'}, 'MPT_FAST_NODES=1023: there is no node 1023 with memory here'),
    ({'SHMEM_SYMMETRIC_PARTITION3': 'size=1M:kind=F', 'MEMKIND_HBW_NODES': 'first'}, 'MEMKIND_HBW_NODES'),
    ({'SHMEM_SYMMETRIC_PARTITION3': 'size=60000G'}, 'SHMEM_SYMMETRIC_PARTITION'),
]
SAID = [
    ({'SHMEM_VERSION': '1'}, ', OpenSHMEM 1.6\n', ''),
    ({'SMA_VERSION': ''}, ', OpenSHMEM 1.6\n', ''),
    ({'SHMEM_VERSION': '0'}, ', OpenSHMEM 1.6\n', ''),
    ({'SHMEM_INFO': '0'}, 'SHMEM_SYMMETRIC_PARTITION5: another partition', ''),
    ({'SHMEM_INFO': ''}, 'SHMEM_VERSION: prints', ''),
    ({'SHMEM_DEBUG': '0', 'SMA_DEBUG': 'no'}, '', 'partition 2 of the symmetric heap: '),
    ({'SHMEM_INFO': 'yes'}, 'SHMEM_SYMMETRIC_PARTITION5: another partition', ''),
    ({'SHMEM_INFO': 'yes'}, 'here: size=64K:policy=MANDATORY)', ''),
    ({'SMA_DEBUG': '1', 'MEMKIND_HBW_NODES': '0'}, '', 'mpt: PE 1: partition 2: 3145728 bytes from 8388608 on, '),
    ({'SHMEM_DEBUG': '1'}, '', 'partition 2 of the symmetric heap: '),
]


def run(mptrun, program, ranks, more):
    return subprocess.run([mptrun, '-n', str(ranks), program], capture_output=True, text=True, timeout=120, env=CLEAN | GOOD | more)


class Pool:
    """So many free huge pages for the time of a test, where the system lets us make them; tests that do so take turns."""
    def __init__(self, pages, kilobytes=2048):
        self.file = f'/sys/kernel/mm/hugepages/hugepages-{kilobytes}kB/nr_hugepages'
        self.pages, self.before, self.made = pages, None, False

    def __enter__(self):
        self.turn = os.open('/tmp/mpt-test-huge-pages.turn', os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(self.turn, fcntl.LOCK_EX)
        try:
            with open(self.file, encoding='ascii') as file:
                self.before = file.read()
            with open(self.file, 'w', encoding='ascii') as file:
                file.write(str(int(self.before) + self.pages))
            with open(self.file, encoding='ascii') as file:
                self.made = int(file.read()) == int(self.before) + self.pages
        except OSError:
            pass
        return self

    def __exit__(self, *_):
        if self.before is not None and self.made:
            with open(self.file, 'w', encoding='ascii') as file:
                file.write(self.before)
        os.close(self.turn)


def wrong_pages(mptrun, program):
    """Partition 2 of 3 PEs is 2 pages each: of 6 in the pool all have theirs, of 3 not all, unless the system makes some by itself."""
    with open('/sys/kernel/mm/transparent_hugepage/shmem_enabled', encoding='ascii') as file:
        is_alone = '[never]' in file.read()
    for pages, ends in ((6, 0), (3, 1)) if is_alone else ((6, 0),):
        with Pool(pages) as pool:
            if not pool.made:
                return
            done = run(mptrun, program, 3, {'SHMEM_DEBUG': '1', 'SMA_SYMMETRIC_PARTITION2': 'size=3M:pgsize=2M:policy=M'})
        told = done.stderr.count('pages of 2097152')
        if (done.returncode != 0) != ends or (told == 3) == ends:
            yield f'{pages} huge pages: exit code {done.returncode}, {done.stdout}{done.stderr}'


def wrong_large_pages(mptrun, program):
    """A page of 1 GiB for each of 2 PEs, or for one of them, which with the policy MANDATORY is none."""
    for pages, policy, ends in (2, 'M', 0), (1, 'P', 0), (1, 'M', 1):
        with Pool(pages, 1 << 20) as pool:
            if not pool.made:
                return
            done = run(mptrun, program, 2, {'SHMEM_DEBUG': '1', 'SMA_SYMMETRIC_PARTITION2': f'size=3M:pgsize=1G:policy={policy}'})
        told = done.stderr.count('pages of 1073741824')
        if (done.returncode != 0) != ends or (not ends and told != pages):
            yield f'{pages} pages of 1 GiB: exit code {done.returncode}, {done.stdout}{done.stderr}'


def wrong(mptrun, checked, program):
    yield from wrong_pages(mptrun, program)
    yield from wrong_large_pages(mptrun, program)
    for ranks, exe, nodes, kind in (1, program, '0', 'fast'), (3, checked, '0', 'fast'), (4, program, '', 'normal'):
        done = run(mptrun, exe, ranks, {'MEMKIND_HBW_NODES': nodes, 'SHMEM_DEBUG': '1'})
        may_place = 'not permitted' not in done.stderr  # a container's filter
        if done.returncode != 0 or f'partition 2 is {kind if may_place else "normal"}' not in done.stdout:
            yield f'nodes {nodes}, {ranks} PEs: exit code {done.returncode}, {done.stdout}{done.stderr}'
    for more, sentence in BAD:
        done = run(mptrun, program, 2, more)
        if done.returncode == 0 or sentence not in done.stderr:
            yield f'{more}: exit code {done.returncode}, expected "{sentence}", got "{done.stderr.strip()}"'
    for more, out, err in SAID:
        done = run(mptrun, program, 2, more)
        if done.returncode != 0 or out not in done.stdout or err not in done.stderr:
            yield f'{more}: exit code {done.returncode}, expected "{out}", "{err}", got {done.stdout}{done.stderr}'
    done = run(mptrun, program, 2, {})
    if 'OpenSHMEM' in done.stdout or 'mpt: PE' in done.stderr:
        yield f'unasked: {done.stdout}{done.stderr}'


found = [*wrong(*sys.argv[1:])]
print('\n'.join(found) or f'three jobs with partitions, {len(BAD)} that cannot be, {len(SAID)} that say more')
sys.exit(bool(found))
