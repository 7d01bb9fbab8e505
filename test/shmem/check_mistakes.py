#!/usr/bin/env python3
"""Runs a program that makes one mistake a run, with the library that checks arguments: each ends the job with a sentence that names
the call, the argument and its value. And with the library that does not: contexts that are none are found out there, too.
usage: check_mistakes.py MPTRUN CHECKED PROGRAM"""
import os
import subprocess
import sys

# Both libraries have one name: a run path finds the right one, and LD_LIBRARY_PATH, which comes before it, one for both programs.
CLEAN = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'}
FOUND = {
    'before': 'shmem_barrier_all: called before shmem_init',
    'pe': 'shmem_int_put: pe is 99; allowed: 0 to 1',
    'negative': 'shmem_int_g: pe is -1; allowed: 0 to 1',
    'ctx pe': 'shmem_ctx_int_p: pe is 2; allowed: 0 to 1',
    'stack': 'shmem_int_put: dest (0x',
    'constant': 'exit code 1: shmem_int_put: address ',
    'heap': 'is not symmetric: neither in the symmetric heap nor static data',
    'beyond': '4503599627370496 bytes) leaves its block of the symmetric heap',
    'end of a block': '16 bytes) leaves its block of the symmetric heap',
    'beyond a block': 'with 16 bytes',
    'freed': 'is in no block of the symmetric heap, or in one that was freed',
    'overlap': '12 bytes) overlap',
    'no context': 'shmem_ctx_int_p: ctx is SHMEM_CTX_INVALID',
    'old context': 'shmem_ctx_int_p: ctx is no context, or one that was destroyed',
    'order of an old context': 'shmem_ctx_quiet: ctx is no context, or one that was destroyed',
    'session of an old context': 'shmem_ctx_session_start: ctx is no context, or one that was destroyed',
    'private': 'shmem_ctx_int_p: ctx is private, and another thread made it',
    'serialized': 'shmem_ctx_putmem: ctx is serialized or private, and another thread is in a call with it',
    'no team': 'shmem_int_sum_reduce: team is SHMEM_TEAM_INVALID',
    'old team': 'shmem_team_sync: team is no team, or one that was destroyed',
    'root': 'shmem_int_broadcast: PE_root is 1; allowed: 0 to 0',
    'root of a set': 'shmem_broadcast64: PE_root is -1; allowed: 0 to 0',
    'root beyond a set': 'shmem_broadcast64: PE_root is 99; allowed: 0 to 0',
    'first of a set': 'shmem_barrier: PE_start is 2; allowed: 0 to 1',
    'stride of a set': 'shmem_sync: logPE_stride is -1; allowed: 0 to 30',
    'size of a set': 'shmem_long_sum_to_all: PE_size is 2; allowed: 1 to 1 with PE_start 0 and logPE_stride 1',
    'set of others': 'shmem_fcollect64: PE_start 1, logPE_stride 0 and PE_size 1 are an active set without the caller, PE 0',
    'list of PEs': 'shmem_pe_quiet: target_pes[1] is 99; allowed: 0 to 1',
    "list of a context's PEs": 'shmem_ctx_pe_quiet: target_pes[0] is -1; allowed: 0 to 1',
    'no list of PEs': 'shmem_pe_quiet: target_pes is a null pointer',
    'default context ends': 'shmem_ctx_destroy: ctx is SHMEM_CTX_DEFAULT, which lasts as long as the job',
    'context ends twice': 'shmem_ctx_destroy: ctx is no context, or one that was destroyed',
    'team of an old context': 'shmem_ctx_get_team: ctx is no context, or one that was destroyed',
    "all PEs' team ends": 'shmem_team_destroy: team is SHMEM_TEAM_WORLD, which lasts as long as the job',
    'team ends twice': 'shmem_team_destroy: team is no team, or one that was destroyed',
    "node's team ends": 'shmemx_team_destroy: newteam is SHMEM_TEAM_SHARED, which lasts as long as the job',
    'size of an old team': 'shmem_team_n_pes: team is no team, or one that was destroyed',
    'put of what it writes': 'shmem_int_put: dest (0x',
    'get into what it reads': 'shmem_ctx_getmem: dest (0x',
    "get into a PE's": 'shmem_int_iget: dest (0x',
    'pSync in dest': 'shmem_broadcast64: pSync (0x',
    'pSync in source': 'shmem_collect32: pSync (0x',
    'pWrk in source': 'shmem_long_sum_to_all: pWrk (0x',
    'pWrk and pSync': 'shmem_long_sum_to_all: pWrk (0x',
    'reduce overlap': 'shmem_int_sum_reduce: dest (0x',
    'team reduce overlap': 'shmemx_team_int_sum_to_all: dest (0x',
    'set reduce overlap': 'shmem_int_max_to_all: dest (0x',
    'scan overlap': 'shmem_int_sum_inscan: dest (0x',
    'broadcast overlap': 'shmem_int_broadcast: dest (0x',
    'set broadcast overlap': 'shmem_broadcast32: dest (0x',
    'collect overlap': 'shmem_int_collect: dest (0x',
    'collect in place': 'shmem_collectmem: dest (0x',
    'set collect overlap': 'shmem_collect64: dest (0x',
    'fcollect overlap': 'shmem_int_fcollect: dest (0x',
    'fcollect bytes overlap': 'shmem_fcollectmem: dest (0x',
    'set fcollect overlap': 'shmem_fcollect32: dest (0x',
    'alltoall overlap': 'shmem_int_alltoall: dest (0x',
    'set alltoall overlap': 'shmem_alltoall64: dest (0x',
    'alltoalls overlap': 'shmem_int_alltoalls: dest (0x',
    'alltoalls bytes overlap': 'shmem_alltoallsmem: dest (0x',
    'set alltoalls overlap': 'shmem_alltoalls32: dest (0x',
    'iput overlap': 'shmem_int_iput: dest (0x',
    'iget overlap': '4 bytes and 4 before it) and source (0x',
    'ibput overlap': 'shmem_int_ibput: dest (0x',
    'ibget overlap': 'shmem_ibget64: dest (0x',
    'pSync of a barrier': 'shmem_barrier: pSync (0x',
    'pSync of a sync': 'shmem_sync: pSync (',
    'pSync of a broadcast': 'shmem_broadcast64: pSync (0x',
    'pSync of a collect': 'shmem_collect64: pSync (0x',
    'pSync of a fcollect': 'shmem_fcollect32: pSync (0x',
    'pSync of an alltoall': 'shmem_alltoall32: pSync (0x',
    'pSync of an alltoalls': 'shmem_alltoalls64: pSync (0x',
    'pSync that is too short': '8 bytes) leaves its block of the symmetric heap',
    'pSync of a reduction': 'shmem_long_sum_to_all: pSync (0x',
    'pWrk': 'shmem_int_prod_to_all: pWrk (0x',
    'pWrk that is too short': '12 bytes) leaves its block of the symmetric heap',
    'set beyond all': 'shmem_alltoall32: PE_size is 2; allowed: 1 to 1 with PE_start 1 and logPE_stride 0',
    'signal op': 'shmem_int_put_signal: sig_op is 7; allowed: SHMEM_SIGNAL_SET and SHMEM_SIGNAL_ADD',
    'signal': 'shmem_int_put_signal: sig_addr (0x',
    'cmp': 'shmem_int_test: cmp is 9, which is no SHMEM_CMP_',
    'iput': 'shmem_int_iput: dest (0x',
    'iput backwards': '4 bytes and 12 before it) leaves its block of the symmetric heap',
    'iget of static data backwards': '4 bytes and 4398046511104 before it of symmetric memory',
    'iput without a stride': '4 bytes) leaves its block of the symmetric heap',
    'ibput beyond all': '18446744073709551615 bytes) leaves its block of the symmetric heap',
    'bytes beyond 64 bits': 'has less than 18446744073709551615 bytes of symmetric memory',
    'no source': 'shmem_int_put: source is a null pointer, and 8 bytes are asked of it',
    'no dest': 'shmem_ctx_getmem: dest is a null pointer, and 2 bytes are asked of it',
    'nowhere to fetch': 'shmem_long_atomic_fetch_nbi: fetch is a null pointer',
    'no values': 'shmem_long_test_all_vector: cmp_values is a null pointer',
    'crooked add': "is no multiple of its element's 8 bytes",
    'crooked fetch': "is no multiple of its element's 4 bytes",
    'crooked signal': 'shmem_signal_add: sig_addr (0x',
    'crooked wait': 'shmem_long_wait_until: ivar (0x',
    'crooked lock': 'shmem_set_lock: lock (0x',
    'all: collect': 'shmem_int_collect: 32 bytes come, and dest has room for 16',
    'all: collect in a set': 'shmem_collect32: 24 bytes come, and dest has room for 16',
    'all: collect overlap': ', 12 bytes) and source (0x',
    'all: set collect overlap': 'shmem_collect64: dest (0x',
    'all: malloc': 'shmem_malloc: PE 0 gives 8 bytes, and PE 1 16 bytes, on SHMEM_TEAM_WORLD',
    'all: align': 'shmem_align: PEs call it with different arguments: 64 at one, 128 at another',
    'all: roots': 'shmem_int_broadcast: PE 0 names root 0, and PE 1 root 1, on SHMEM_TEAM_WORLD',
    'all: lengths': 'shmem_int_fcollect: PE 0 gives 4 bytes, and PE 1 8 bytes',
    'all: operations': 'PE 0 calls shmem_int_sum_reduce, and PE 1 shmem_int_max_reduce, on SHMEM_TEAM_WORLD',
    'another collective': 'PE 0 calls shmem_int_sum_reduce, and PE 1 shmem_barrier_all, on SHMEM_TEAM_WORLD',
    'allocation beside a barrier': 'PE 0 calls shmem_malloc, and PE 1 shmem_barrier_all',
    'end beside a barrier': 'PE 0 calls shmem_finalize, and PE 1 shmem_barrier_all',
    'free': 'shmem_free: no block of the symmetric heap begins at address',
    'after': 'shmem_barrier_all: called after shmem_finalize',
}
FOUND_ALWAYS = {
    'before': 'mpt: shmem_barrier_all: OpenSHMEM was called before shmem_init',
    'after': 'mpt: shmem_barrier_all: OpenSHMEM was called after shmem_finalize',
    'no context': 'SHMEM_CTX_INVALID as its context',
    'old context': 'a context that is none, or that was destroyed',
    'order of an old context': 'a context that is none, or that was destroyed',
    'session of an old context': 'a context that is none, or that was destroyed',
    'stack': 'exit code 1: shmem_put: address ',
    'root of a set': 'exit code 1: shmem_broadcast: the root is -1; allowed: 0 to 0',
    'root beyond a set': 'exit code 1: shmem_broadcast: the root is 99; allowed: 0 to 0',
    'first of a set': 'exit code 1: shmem_barrier: PE_start 2, ',
    'size of a set': 'exit code 1: shmem_sum_to_all: PE_start 0, logPE_stride 1, PE_size 2 is no active set',
    'constant': 'exit code 1: shmem_put: address ',
    'all: malloc': 'shmem_malloc: PEs call it with different arguments: 8 at one, 16 at another',
    'all: align': 'shmem_align: PEs call it with different arguments: 64 at one, 128 at another',
    'free': 'exit code 1: shmem_free: no block of the symmetric heap begins at address',
}


def wrong(mptrun, program, mistakes):
    for mistake, sentence in mistakes.items():
        ranks = '1' if mistake in ('before', 'after') else '2'
        done = subprocess.run([mptrun, '-n', ranks, program, mistake], capture_output=True, text=True, timeout=60, env=CLEAN)
        if done.returncode == 0 or sentence not in done.stderr or ', called at ' not in done.stderr:
            yield f'{mistake}: exit code {done.returncode}, expected "{sentence}", got "{done.stderr.strip()}"'


def main():
    mptrun, checked, program = sys.argv[1:]
    found = [*wrong(mptrun, checked, FOUND), *wrong(mptrun, program, FOUND_ALWAYS)]
    print('\n'.join(found) or f'{len(FOUND)} mistakes found with checks, {len(FOUND_ALWAYS)} without')
    return bool(found)


sys.exit(main())
