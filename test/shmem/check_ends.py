#!/usr/bin/env python3
"""How a job of OpenSHMEM ends: shmem_global_exit passes its status on, 0 too, wherever the others are, and what its PE has printed comes
out; and a function that runs at the exit may call shmem_finalize. Reports of who waits where name OpenSHMEM's calls, with the library
that compares calls, too; that the heap is exhausted is said once, with the call.
usage: check_ends.py MPTRUN CHECKED PROGRAM"""
import os
import subprocess
import sys

CLEAN = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'}  # of two libraries with one name, run paths find the right one
CLEAN['ASAN_OPTIONS'] = CLEAN.get('ASAN_OPTIONS', '') + ':handle_segv=0'  # a sanitized program dies of its fault, too


def run(mptrun, program, *words, options=()):
    return subprocess.run([mptrun, *options, '-n', '3', program, *words], capture_output=True, text=True, timeout=60, env=CLEAN)


def wrong(mptrun, program, is_checked):
    for status, code, said in (('7', 7, 'rank 2 of 3 on'), ('9', 9, 'rank 1 waited in shmem_wait_until'), ('0', 0, ''), ('256', 0, ''), ('511', 255, 'exit code 255')):
        done = run(mptrun, program, 'exit', status)
        if done.returncode != code or 'what was found' not in done.stdout or (said not in done.stderr if said else done.stderr):
            yield f'shmem_global_exit({status}): exit code {done.returncode}, "{done.stdout}", "{done.stderr}"'
    with subprocess.Popen([mptrun, '-n', '1', program, 'read'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=CLEAN) as reader:
        code = reader.wait(timeout=60)
    if code != 3:
        yield f'shmem_global_exit(3) beside a thread that reads: exit code {code}'
    for call, said in (('barrier', 'ranks 0-1 waited in shmem_barrier_all, shmem_sync or the like on SHMEM_TEAM_WORLD'),
                       ('reduce', 'ranks 0-1 waited in a reduction, shmem_malloc or the like on SHMEM_TEAM_WORLD'),
                       ('malloc', 'ranks 0-1 waited in a reduction, shmem_malloc or the like on SHMEM_TEAM_WORLD'),
                       ('fcollect', 'ranks 0-1 waited in shmem_fcollect, shmem_collect or the like on SHMEM_TEAM_WORLD'),
                       ('team', 'ranks 0-1 waited in shmem_barrier_all, shmem_sync or the like on team '),
                       ('team reduce', 'ranks 0-1 waited in a reduction, shmem_malloc or the like on team '),
                       ('set', 'ranks 0-1 waited in shmem_barrier_all, shmem_sync or the like on team '),
                       ('stopped', 'ranks 0-1 wait in shmem_get, shmem_quiet or the like, for the answer of an agent of rank 2 for '),
                       ('lock', 'ranks 0-1 have been computing, or polling (shmem_test or shmem_test_lock).'),
                       ('finalize', 'ranks 0-2 have left shmem_finalize.')):
        options = ('--timeout', '2') if call in ('stopped', 'lock', 'finalize') else ()
        apart = ('-x', 'MPT_SHARE_STATIC=0') if call == 'stopped' else () # an agent has to be asked
        done = run(mptrun, program, 'meet', call, options=(*options, *apart))
        if said not in done.stderr or 'MPI_' in done.stderr:
            yield f'{call}: "{done.stderr}"'
    done = run(mptrun, program, 'meet', 'late', ':', '-n', '1', program, 'never', '5')
    for said in ('rank 3 on', 'ended with exit code 5 before shmem_init', 'ranks 0-2 waited in shmem_init.'):
        if said not in done.stderr or 'MPI_' in done.stderr:
            yield f'one that never begins: "{done.stderr}"'
    for call in ('shmem_malloc', 'shmem_calloc', 'shmem_align', 'shmem_realloc', 'shmem_malloc_with_hints', 'shmem_kind_malloc', 'shmemx_kind_align'):
        done = run(mptrun, program, 'exhaust', call)
        said = f'mpt: {call}: the symmetric heap has no room for 1125899906842624 bytes'
        if done.returncode or done.stderr.count('has no room for') != 1 or '(This is said once.)' not in done.stderr or said not in done.stderr:
            yield f'a heap that {call} exhausts: exit code {done.returncode}, "{done.stderr}"'
    done = run(mptrun, program, 'leave')  # without shmem_finalize: either side finds the mistake
    said = ['PE 0 calls shmem_long_sum_reduce, and PE 2 the end of the program'] if is_checked else [
        ': the end of the program: rank ', ': shmem_sum_reduce: rank ']
    if not done.returncode or not any(s in done.stderr for s in said):
        yield f'a program that ends beside a reduction: exit code {done.returncode}, "{done.stderr}"'
    done = run(mptrun, program, 'fault')
    if done.returncode != 139 or ('(or a program built by oshcc -debug) checks' in done.stderr) == is_checked:
        yield f'a PE that is killed by signal 11: exit code {done.returncode}, "{done.stderr}"'
    done = run(mptrun, program, 'at exit')
    if done.returncode or done.stderr:
        yield f'shmem_finalize at the exit: exit code {done.returncode}, "{done.stderr}"'


launcher, checked, unchecked = sys.argv[1:]
found = [*wrong(launcher, unchecked, False), *wrong(launcher, checked, True)]
print('\n'.join(found) or 'all jobs ended as they should')
sys.exit(bool(found))
