#!/usr/bin/env python3
"""Tests of the generator of OpenSHMEM's interface: faults planted in a small table are found, each with its sentence; what a small
table must give; and parts of the entry points are together the whole.
usage: test_generate_shmem.py"""
import sys

import families
import generate_shmem
import reading
import shmem_entries
import shmem_header

TABLE = '''type int: int
type long: long
type int64: int64_t
type complexd: mpt_complexd
types rma: int long int64
types sums: int complexd
constants old: Numbers
    SHMEM_ONE 1, SHMEM_TWO ((shmem_team_t)2)
kind DEST check=symmetric: there
    T *
kind SOURCE: here
    const T *
kind VALUE: an element
    T
kind COUNT: how many
    size_t
kind PE check=pe: who
    int
kind TEAM check=team: a team
    shmem_team_t
kind SIZE check=active_set: how many
    int
kind MORE: whatever
    ...
section First:
shmem_@_put types=rma sized=shmem_put# sizes=8,64,mem ctx generic apart=no since=1.3: Copies.
    dest: DEST[nelems], source: SOURCE[nelems], nelems: COUNT,
    pe: PE
    -> put(ctx, dest, source, nelems * width, pe)
shmem_@_iput types=rma apart=no since=1.3: Copies with strides.
    dest: DEST[extent(nelems, dst)], source: SOURCE[extent(nelems, sst)], dst: COUNT, sst: COUNT, nelems: COUNT, pe: PE
    -> put_strided(ctx, dest, source, dst, sst, nelems, width, pe)
shmem_@_g types=rma generic returns=T since=1.3: Reads.
    source: SOURCE, pe: PE
    -> get_one<T>(ctx, source, pe)
shmem_@_sum_reduce types=sums generic apart=may returns=int since=1.5: Sums.
    team: TEAM, dest: DEST[n], source: SOURCE[n], n: COUNT
    -> reduce<T>(team, dest, source, n)
section Second:
shmem_fence ctx_or_none since=1.3: Orders.
    -> fence(ctx)
shmem_meet since=1.3: Meets.
    dest: DEST[1], PE_start: COUNT, logPE_stride: COUNT, PE_size: SIZE
    -> meet(set{PE_start, logPE_stride, PE_size})
shmem_more anytime noreturn returns=void* since=1.3: More.
    pe: PE, more: MORE
    -> more(pe)
shmem_none later since=1.3: Nothing.
    pe: PE
type short: short
types waits: int64
types old_waits: short long
kind FLAG watched: others write it
    const T *
kind LOCK watched: a lock
    long *
shmem_lock returns=int since=1.3: Takes a lock.
    lock: LOCK, pe: PE
    -> lock(lock, pe)
shmem_@_look types=rma generic since=1.4: Looks.
    ivar: FLAG, pe: PE
    -> look(ivar, pe)
shmem_@_wait types=waits generic since=1.4: Waits.
    ivar: SOURCE
    -> wait(ivar)
shmem_@_wait types=old_waits generic since=1.3: Waits, as it did.
    ivar: SOURCE
    -> wait(ivar)
'''
FAULTS = [
    ('an unknown type', 'types rma: int', 'types rma: imt', ':5: types rma: "imt" is no type; the nearest is int'),
    ('an unknown list', 'types=rma sized', 'types=rna sized', '"rna" is no list of types; the nearest is rma'),
    ('an unknown kind', 'dest: DEST[nelems]', 'dest: DESD[nelems]', '"dest: DESD[nelems]" is no parameter; the nearest is DEST'),
    ('an unknown word', 'generic apart', 'genric apart', '"genric" is no word here; the nearest is generic'),
    ('an unknown check', 'check=pe', 'check=ppe', 'kind PE: "ppe" is no check; the nearest is pe'),
    ('a kind without a type', '    shmem_team_t\n', '', 'kind TEAM has no type below it'),
    ('a type without a place', 'shmem_@_g types=rma', 'shmem_g types=rma', 'shmem_g: types= and @ go together'),
    ('memory without a length', 'dest: DEST[n], source: SOURCE[n]', 'dest: DEST, source: SOURCE[n]', 'dest does not say how many elements'),
    ('a function twice', 'shmem_@_sum_reduce', 'shmem_@_put', 'shmem_int_put is there twice; first in line 26'),
    ('a set without its first PE', 'PE_start: COUNT, ', '', 'shmem_meet: PE_size goes with PE_start, logPE_stride, PE_size'),
    ('nothing to do', '    -> fence(ctx)\n', '', 'shmem_fence does not say what it does'),
    ('something to do, but not yet', 'Nothing.\n    pe: PE\n', 'Nothing.\n    pe: PE -> none()\n', 'shmem_none says what it does, but is not there yet'),
    ('no sentence', ': Orders.', ':', 'shmem_fence has no sentence'),
    ('a constant without a value', 'SHMEM_ONE 1', 'SHMEM_ONE', '"SHMEM_ONE" has no value'),
    ('a type twice', 'type long: long', 'type int: long', 'int is there twice'),
    ('a family outside', 'section First:\n', '', 'shmem_@_put stands in no section'),
]
HEADER_LINES = [
    '#define SHMEM_ONE 1', '#define _SHMEM_TWO SHMEM_TWO', '/* First */', '/* Copies. */',
    'void shmem_int64_put(int64_t *dest, const int64_t *source, size_t nelems, int pe);',
    'void shmem_ctx_put64(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);', 'void shmem_ctx_putmem(',
    'long shmem_long_g(const long *source, int pe);', 'void shmem_fence(void);', 'void shmem_ctx_fence(shmem_ctx_t ctx);',
    'MPT_SHMEM_NORETURN void *shmem_more(int pe, ...);',
    '#define MPT_SHMEM_OF_rma(p, a, b) _Generic(*(p), int: a##int##b, long: a##long##b)',
    '#define shmem_put(...) MPT_SHMEM_PICK_4(__VA_ARGS__, MPT_CTX_shmem_put, MPT_shmem_put, )(__VA_ARGS__)',
    '#define MPT_SHMEM_PICK_4(a, b, c, d, e, name, ...) name',
    '#define shmem_g(source, pe) MPT_SHMEM_OF_rma(source, shmem_, _g)(source, pe)',
    '#define shmem_sum_reduce(team, dest, source, n) MPT_SHMEM_OF_sums(dest, shmem_, _sum_reduce)(team, dest, source, n)',
    '#define MPT_SHMEM_OF_waits_old_waits(p, a, b) _Generic(*(p), int64_t: a##int64##b, short: a##short##b)',
    '#define shmem_wait(ivar) MPT_SHMEM_OF_waits_old_waits(ivar, shmem_, _wait)(ivar)',
    'inline void shmem_wait(const int64_t *ivar) { shmem_int64_wait(ivar); } '
    'inline void shmem_wait(const short *ivar) { shmem_short_wait(ivar); }',
    '#define shmem_look(ivar, pe) MPT_SHMEM_OF_rma(ivar, shmem_, _look)((void *)(uintptr_t)(ivar), pe)',
    'int shmem_lock(long *lock, int pe);',
    'inline int shmem_lock(mpt_shmem_watched<long> lock, int pe) { return shmem_lock(lock.plain, pe); }',
    'inline void shmem_long_look(mpt_shmem_watched<const long> ivar, int pe) { shmem_long_look(ivar.plain, pe); }',
    'inline void shmem_look(mpt_shmem_watched<const long> ivar, int pe) { shmem_long_look(ivar.plain, pe); }',
    'inline long shmem_g(const long *source, int pe) { return shmem_long_g(source, pe); }',
    'const std::complex<double> *source, size_t n) { return shmem_complexd_sum_reduce(team, reinterpret_cast<mpt_complexd *>(dest)',
]
ENTRY_LINES = [
    'void pshmem_int_put(int *dest, const int *source, size_t nelems, int pe) {',
    'put(SHMEM_CTX_DEFAULT, dest, source, nelems * sizeof(int), pe);', 'put(ctx, dest, source, nelems * 8, pe);',
    'if constexpr (checked) asking{"shmem_int_put"}.symmetric(dest, bytes(nelems, sizeof(int)), "dest").pe(SHMEM_CTX_DEFAULT, pe, "pe")'
    '.apart_at(SHMEM_CTX_DEFAULT, pe, dest, bytes(nelems, sizeof(int)), source, bytes(nelems, sizeof(int)));',
    'asking{"shmem_ctx_put8"}.context(ctx, "ctx").symmetric(dest, bytes(nelems, 1), "dest").pe(ctx, pe, "pe")',
    '.apart_at(SHMEM_CTX_DEFAULT, pe, dest, bytes(extent(nelems, dst), sizeof(long)), source, bytes(extent(nelems, sst), sizeof(long)));',
    'asking{"shmem_int_sum_reduce"}.team(team, "team").symmetric(', ', true);',
    'asking{"shmem_meet"}.active_set(set{PE_start, logPE_stride, PE_size}).symmetric(dest',
    'return get_one<int64_t>(SHMEM_CTX_DEFAULT, source, pe);', 'void shmem_fence(void) __attribute__((weak, alias("pshmem_fence")));',
    'void pshmem_ctx_fence(shmem_ctx_t ctx) {', 'asking{"shmem_ctx_fence"}.context_or_none(ctx, "ctx");', 'void *pshmem_more(int pe, ...) { if constexpr (checked) name_call("shmem_more"); return more(pe); }',
]


def planted():
    """The sentences of faults that were not found, or found with other words."""
    for what, old, new, expected in FAULTS:
        if TABLE.count(old) < 1:
            yield f'{what}: "{old}" is not in the small table'
            continue
        try:
            families.Api('table', TABLE.replace(old, new, 1))
            yield f'{what}: not found'
        except reading.Faults as faults:
            if expected not in str(faults):
                yield f'{what}: expected "{expected}", got "{faults}"'


def small():
    """What the small table must give."""
    api = families.Api('table', TABLE)
    header, entries = shmem_header.text(api), shmem_entries.text(api.functions())
    one_line = ' '.join(header.replace('\\\n', ' ').split())
    yield from (f'the small header lacks "{line}"' for line in HEADER_LINES if ' '.join(line.split()) not in one_line)
    one_line = ' '.join(entries.split())
    yield from (f'the entry points lack "{line}"' for line in ENTRY_LINES if ' '.join(line.split()) not in one_line)
    if 'shmem_none' in header + entries:
        yield 'a function that is not there yet has a name'
    twins = shmem_header.profiling(api)
    yield from (f'{f.name} has no twin' for f in api.functions() if f' *p{f.name}(' not in twins and f' p{f.name}(' not in twins)


def parts():
    """All parts of the real table's functions are together all functions, each once."""
    functions = families.read().functions()
    together = [f.name for n in range(1, 7) for f in generate_shmem.part_of(functions, f'{n}/6')]
    if together != [f.name for f in functions]:
        yield 'the parts of the entry points are not the whole'
    exports = generate_shmem.exports(families.read())
    yield from (f'{f.name} is not exported' for f in functions if f' {f.name};' not in exports or f' p{f.name};' not in exports)


def main():
    wrong = [*planted(), *small(), *parts()]
    print('\n'.join(wrong) or f'{len(FAULTS)} planted faults, all found')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
