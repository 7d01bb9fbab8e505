#!/usr/bin/env python3
"""mpt beside other MPI and OpenSHMEM libraries, on this machine (`make bench`).

    bench/peers/peers.py --build BUILD [--quick] [--rounds N] [--only PATTERN] [--cpus N] [-m LEAST:MOST] [-i CALLS] [-x WARM-UP] [--results DIR]
    bench/peers/peers.py --table RESULT.json README.md      puts a result's table between the marks of a page

C sources that know mpi.h, or shmem.h, alone; libraries.py says whose libraries, and how they are had. One that cannot be had is left out,
and the result says so. Every figure is taken in each round by all libraries in turn; medians and quartiles of the rounds. The hardware's
limits are those of bench/limits in the same run. Before and after each turn of a library spell.c measures how far apart the CPUs are; turns
taken while they were much farther than at best do not count where there are others, and are made up for by more rounds. Writes
bench/results/<machine>/<date>-peers.json, .md and .svg (a quick run: into BUILD). Standard library only.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import plot  # noqa: E402  (beside this file, as libraries)
import run as bench  # noqa: E402  (bench/run.py: the machine, medians, numbers in words)
from libraries import Library, libraries, spell_program  # noqa: E402

PATIENCE = 90           # seconds a program may take, unless --patience says otherwise; what takes longer is a row of its own in the result
ONE_CPU = 'habits on one CPU'  # that both ranks share
FAR = 1.6               # times a short round trip of a cache line, or a short copy, of those that were seen: CPUs that are apart (spell.c)
UP_IS_GOOD = bench.UP_IS_GOOD | {'%'}
BEGIN, END = '<!-- peers: begin -->', '<!-- peers: end -->'


# ---------------------------------------------------------------- running

def finish(child, patience):
    """(what it printed, whether it ended by itself); what hangs is ended with all that it started."""
    try: return child.communicate(timeout=patience)[0], True
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGTERM)                         # launchers end their ranks
        try: child.wait(timeout=5)
        except subprocess.TimeoutExpired: os.killpg(child.pid, signal.SIGKILL)
        return child.communicate()[0], False
    finally:
        if child.poll() is None: os.killpg(child.pid, signal.SIGKILL)


def measure(library, ranks, program, words, cpus, patience=None):
    """(rows by (test, bytes), seconds, why it did not get to the end: nothing where it did)."""
    patience = patience or PATIENCE
    start = time.monotonic()
    child = subprocess.Popen(list(map(str, library.command(ranks, program, words))), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             start_new_session=True, env={**os.environ, **library.environment}, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    (text, ended), took = finish(child, patience), time.monotonic() - start
    rows = {(m[1], int(m[2])): (float(m[3]), m[4]) for m in re.finditer(r'^(\w+) (\d+) ([-+.\de]+) (\S+)$', text, re.M)}
    if not ended: return rows, took, f'did not end within {patience} s'
    if child.returncode: return rows, took, f'exit code {child.returncode}: {(text.strip().splitlines() or ["no output"])[-1][:100]}'
    return rows, took, None


def jobs(o):
    """(what, ranks, program, words): what one library does at a stretch."""
    yield from ((what, ranks, 'messages', words) for what, ranks, words in message_jobs(o))
    yield from (('habits', n, 'habits', ['-t', '0.002' if o.quick else '0.01']) for n in numbers_of_ranks(o)[:2])
    yield ONE_CPU, 2, 'habits', ['-t', '0.002' if o.quick else '0.01', '-m', '8', '-s', '_one_cpu', 'irecv_wait', 'irecv_test', 'iprobe', 'testall_16']
    yield from ((f'layout {w}', 2, 'layout', ['-t', '0.002' if o.quick else '0.01', w]) for w in ('runs', 'objects', 'queries'))
    most, batch = ('4', '0.01') if o.quick else ('16', '0.05')
    yield from ((f'threads {w}', 2, 'threads', ['-T', most, '-t', batch, w]) for w in ('latency', 'rate', 'rma_rate', 'rma_hot'))
    yield 'one-sided', 2, 'threads', ['-t', batch, 'rma']
    for n in ('2',) if o.quick else ('1', '2', '4', '8'):
        yield 'application halo', 2, 'halo', ['-T', n, '-s', '20' if o.quick else '500']
        yield 'application sweep', 4, 'sweep', ['-T', n, '-s', '1' if o.quick else '5']
    yield 'application fft3d', 4, 'fft3d', ['-g', '32', '-s', '2'] if o.quick else ['-g', '128', '-s', '5']
    yield from ((f'shmem {w}', *how) for w, *how in shmem_jobs(o))


def numbers_of_ranks(o):
    """Of what more than two do together: also more than there are CPUs, where those are the two of a small machine; else, as many."""
    return (2, 4) if o.quick else (2, 4, 8) if o.cpus == 2 else (2, o.cpus)


def shmem_jobs(o):
    batch = ['-t', '0.003' if o.quick else '0.02']
    sized = [*batch, '-m', o.m or ('8:65536' if o.quick else '1:1048576')]
    few, small = numbers_of_ranks(o), [*batch, '-m', '8:65536']
    yield from ((w, 2, 'shmem', [*sized, w]) for w in ('latency', 'bw', 'signal'))
    yield from ((w, 2, 'shmem', [*batch, w]) for w in ('rate', 'atomics'))
    yield from (('pairs', n, 'shmem', [*small, 'pairs']) for n in ((2, 4) if o.quick else (2, 4, 16) if o.cpus == 2 else (2, o.cpus)))
    yield 'pairs', 68, 'shmem many', [*batch, '-m', '8:1024', 'pairs']  # as many as a node of KNL had: 34 at each of two CPUs
    for w in ('threads', 'contexts'):
        yield w, 2, 'shmem', [*batch, '-T', '4' if o.quick else '16', w]
        yield f'{w} of 7', 2, 'shmem', [*batch, '-T', '8' if o.quick else '16', '-c', '7', w]
    for places in (1, 8, 64, 256, 1024):
        yield f'places of {places}', 2, 'shmem places', [*batch, '-c', str(places), 'places']
    yield from ((f'threads of {c}', 2, 'shmem places', [*batch, '-T', '4' if o.quick else '16', '-c', c, 'threads']) for c in ('1', '16'))
    yield 'puts', 2, 'shmem puts', [*batch, '-m', '8:2048', 'puts']
    yield from (('reductions', n, 'shmem reductions', [*small, 'reductions']) for n in few)
    yield from (('collectives', n, 'shmem', [*batch, '-m', '8:65536' if o.quick else '8:1048576', 'collectives']) for n in few)


def message_jobs(o):
    batch = ['-t', '0.003' if o.quick else '0.02', *(['-i', o.i] if o.i else []), *(['-x', o.x] if o.x else [])]
    sized = [*batch, '-m', o.m or ('1:65536' if o.quick else '1:4194304')]
    longest = [*batch, '-m', o.m or ('1:65536' if o.quick else '1:16777216')]
    some = [*batch, '-m', o.m or ('8:65536' if o.quick else '8:1048576')]
    large = [*batch, '-m', '65536:65536' if o.quick else '4096:4194304']
    few, many = numbers_of_ranks(o), (2, 8) if o.quick else (2, 16, 64, 128)
    yield from ((w, 2, [*longest, w]) for w in ('latency', 'exchange', 'errand')) # windows of as much are longer than a turn is
    yield from ((w, 2, [*sized, w]) for w in ('bw', 'bibw'))
    yield from ((w, few[1], [*some, w]) for w in ('latency', 'bw', 'bibw', 'exchange')) # of two among more
    yield 'rate', 2, [*batch, 'rate']
    yield 'overlap', 2, [*large, 'overlap']
    yield from (('ioverlap', n, [*batch, '-m', '1:65536' if o.quick else '1:1048576', 'ioverlap']) for n in few)
    yield from (('pairs', n, [*batch, 'pairs']) for n in few[1:])
    yield from (('collectives', n, [*batch, '-m', '1:65536' if o.quick else '1:1048576', 'collectives']) for n in few)
    yield from (('start-up', n, ['hello']) for n in many)
    yield from (('memory', n, ['-m', '1:1024', 'memory']) for n in ((4,) if o.quick else (4, 64)))


class Spells:
    """How far apart the CPUs were, turn by turn."""

    def __init__(self, program, cpus):
        self.command = [str(program), *map(str, sorted(cpus)[:2])] if program and len(cpus) > 1 else None
        self.seen, self.last = [], None

    def look(self):
        """(ns of a round trip, ns of a copied byte), or nothing where that is not known."""
        if not self.command: return None
        try: word, copy = map(float, subprocess.run(self.command, capture_output=True, text=True, timeout=10).stdout.split())
        except (OSError, ValueError, subprocess.TimeoutExpired): return None
        if copy <= 0: return None                                    # less than can be printed: somebody else has a CPU
        self.seen.append((word, 1 / copy))
        return self.seen[-1]

    def turn(self, run):
        """(what run() returns, the farther of before and after it)."""
        before = self.last or self.look()
        result = run()
        self.last = self.look()
        return result, tuple(map(max, before, self.last)) if before and self.last else None

    def near(self):
        """What is near: as short as a tenth of all that was seen. Of three states of the CPUs the best may be rare."""
        return [sorted(column)[len(column) // 10] for column in zip(*self.seen)]

    def is_far(self, where): return bool(where) and any(w > FAR * near for w, near in zip(where, self.near()))


def take(o, found, cpus, spells=None):
    """{(test, ranks, bytes, unit): {library: [value of each round]}} and what failed, once each, and what does not count."""
    values, failed, spells, turns = {}, {}, spells or Spells(None, cpus), {}
    asked = [(n, *job) for n, job in enumerate(jobs(o)) if re.search(o.only, f'{job[0]} {job[1]}')]
    until = time.monotonic() + 60 * (o.minutes or 1e6)
    for r in range(2 * o.rounds if spells.command else o.rounds):
        if r >= o.rounds and time.monotonic() > until: break
        for n, what, ranks, program, words in asked:
            for library in found[r % len(found):] + found[:r % len(found)]:
                if program not in library.programs or (library.name, what, ranks) in failed: continue
                places = turns.setdefault((n, library.name), [])
                if r >= o.rounds and sum(not spells.is_far(p) for p in places) >= o.rounds: continue
                if what == ONE_CPU: (rows, took, why), where = measure(library, ranks, program, words, {min(cpus)}, o.patience), None
                else: (rows, took, why), where = spells.turn(lambda: measure(library, ranks, program, words, cpus, o.patience))
                places.append(where)
                if why: failed[library.name, what, ranks] = why
                if what == 'start-up': rows = {} if why else {('start-up', 0): (took, 's')}
                for (test, size), (value, unit) in rows.items():
                    values.setdefault((test, ranks, size, unit), {}).setdefault(library.name, []).append((value, where))
            which = f'round {r + 1} of {o.rounds}' if r < o.rounds else 'once more, for near CPUs'
            print(f'  {which}: {what}, {ranks} ranks          ', end='\r', file=sys.stderr, flush=True)
    count = {row: counting(by, spells, o.rounds) for row, by in values.items()}
    said = [f'{name}: {what} on {ranks} ranks: {why}' for (name, what, ranks), why in failed.items()]
    far, of = sum(spells.is_far(p) for places in turns.values() for p in places), sum(map(len, turns.values()))
    if far: said.append(f'{far} of {of} turns, in which the CPUs were far apart (a cache line to and fro took more than {FAR} times {spells.near()[0]:.0f} ns, '
                        'or a copy that much longer), in rows of which all libraries have two others')
    return count, said


def counting(by, spells, rounds):
    """Of {library: [(value, where) of its turns]} the values that count: those of near CPUs, if all libraries have two; if not, those of the rounds that
    all libraries took."""
    near = {name: [value for value, where in taken if not spells.is_far(where)] for name, taken in by.items()}
    return near if all(len(n) > 1 for n in near.values()) else {name: [value for value, _ in taken[:rounds]] for name, taken in by.items()}


# ---------------------------------------------------------------- the limits

def limits(build, quick, cpus):
    """What bench/limits measures now: {(group, name, bytes): value}."""
    to = build / 'peers/limits.json'
    to.unlink(missing_ok=True)
    command = [str(build / 'bench/limits'), '--json', str(to), '--largest', str(4 << 20)] + (['--quick'] if quick else [])
    if not os.access(command[0], os.X_OK) or bench.run(command, cpus, subprocess.DEVNULL) != 0 or not to.exists(): return {}
    return {(r['group'], r['name'], r['bytes']): r['value'] for r in json.loads(to.read_text())['rows']}


def limit_of(known, test, ranks, size, cpus=2):
    """(the limit, what it is) in the unit of the test, or nothing."""
    def one(group, name, at, scale=1):
        return next((v * scale for (g, n, b), v in known.items() if g.startswith(group) and n.startswith(name) and b == at), None)
    if test == 'latency' and size <= 32: return one('Crossing', 'two lines', 8, 1e-3), 'two cache lines'
    if test == 'latency': return one('Ping-pong by mapped memory', 'both ends', size), 'both ends copy, mapped'
    if test == 'bw':
        ways = ((one('Message after message by CMA', 'both ends', size), 'both ends by CMA'),
                (one('Message after message through a ring', 'both sides copy', size), 'two copies, overlapping'))
        return max((w for w in ways if w[0]), default=(None, None))
    if test == 'rate': return one('Crossing', 'ring of 64-byte slots', 8), 'a ring of lines'
    if test == 'barrier' and cpus == 2: return one('Bare barrier', f'{ranks} processes on 2 CPUs', 0), 'counter and flag'
    return None, None


# ---------------------------------------------------------------- what comes of it

# OpenSHMEM's operations and MPI's that do the same: test of the one, test of the other.
SAME = [('shmem_put', 'put'), ('shmem_get', 'get'), ('shmem_put_bw', 'put_bw'), ('shmem_get_bw', 'get_bw'), ('shmem_fetch_add', 'fetch_and_op'),
        ('shmem_cswap', 'compare_and_swap')]


def two_interfaces(values):
    """What a library's OpenSHMEM takes in units of what its MPI takes for the same one-sided operation, turn by turn of
    those that count: below 1, OpenSHMEM is faster. Both stand on one engine, so of large data the ratio has to be 1, within the 3 % that the
    comparison of two engines allows
    (that one is of Cray's DMAPP and its successor, between nodes; there is one engine here): there the engine's time is all. Of 8 bytes it
    tells what lies above the engine."""
    found = {}
    for (test, ranks, size, unit), by in values.items():
        for ours, theirs in SAME:
            if test != ours: continue
            other = values.get((theirs, ranks, size, unit), {})
            both = {n: [b / a if unit in UP_IS_GOOD else a / b for a, b in zip(by[n], other[n])] for n in by if n in other}
            if both: found[f'{ours}_to_mpi', ranks, size, 'ratio'] = both
    return found


def rows_of(values, known, cpus=2):
    rows = []
    for (test, ranks, size, unit), by in values.items():
        spread = {name: dict(zip(('q1', 'median', 'q3'), bench.quartiles(v))) for name, v in by.items()}
        peers = {name: s['median'] for name, s in spread.items() if not is_ours(name)}
        best = (max if unit in UP_IS_GOOD else min)(peers, key=peers.get) if peers else None
        limit, limit_name = limit_of(known, test, ranks, size, cpus)
        rows.append({'test': test, 'ranks': ranks, 'bytes': size, 'unit': unit, 'values': spread, 'best': best, 'limit': limit,
                     'limit_name': limit_name if limit else None, 'cpus': cpus, 'to_best': ratio(spread, unit, best and peers[best]), 'to_limit': ratio(spread, unit, limit)})
    return rows


def is_ours(name):
    """mpt itself, or by another lock: mpt -mt."""
    return name.split()[0] == 'mpt'


def ratio(spread, unit, other):
    """mpt's time in units of the other's; of rates the inverse: below 1 is better, always."""
    if 'mpt' not in spread or not other or not spread['mpt']['median'] or unit in ('%', 'ratio'): return None
    mine = spread['mpt']['median']
    return other / mine if unit in UP_IS_GOOD else mine / other


def cell(row, name):
    s = row['values'].get(name)
    if not s: return '-'
    text = bench.digits(s['median'])
    return f'**{text}**' if all((s['median'] >= x['median']) if row['unit'] in UP_IS_GOOD else (s['median'] <= x['median']) for x in row['values'].values()) else text


def ranks_of(row):
    """How many; where all of them work at once, also on how many CPUs, if those are fewer."""
    shared = 'pairs' in row['test'] and row['ranks'] > row.get('cpus', row['ranks'])
    return f"{row['ranks']} ranks" + (f" on {row['cpus']} CPU{'s' * (row['cpus'] > 1)}" if shared else '')


def table(rows, names):
    lines = ['| what | ' + ' | '.join(names) + ' | mpt / best peer | mpt / limit |', '|---|' + '---|' * (len(names) + 2)]
    for r in rows:
        what = ', '.join(x for x in (r['test'], ranks_of(r), bench.size_name(r['bytes']) if r['bytes'] else '') if x)
        ends = [f"{r['to_best']:.2f}" if r['to_best'] else '', f"{r['to_limit']:.2f} ({r['limit_name']})" if r['to_limit'] else '']
        lines.append(f"| {what}, {r['unit']} | " + ' | '.join(cell(r, n) for n in names) + f' | {ends[0]} | {ends[1]} |')
    return lines


HEADLINES = [('latency', 2, 8), ('latency', 2, 4096), ('latency', 2, 65536), ('latency', 2, 1 << 20), ('latency', 2, 1 << 24), ('latency', 4, 65536),
             ('rate', 2, 8), ('bw', 2, 1 << 20), ('bw', 4, 4096), ('bibw', 2, 1 << 20),
             ('exchange', 2, 8), ('exchange', 2, 65536), ('errand', 2, 65536), ('isend_irecv_waitall', 2, 8), ('persistent', 2, 8), ('waitany_16', 2, 8),
             ('vector', 2, 1024), ('scan', 4, 8), ('alltoallv', 2, 8), ('lock_put', 2, 8),
             ('barrier', 2, 0), ('barrier', 8, 0), ('allreduce', 2, 8), ('allreduce', 2, 1 << 20), ('allreduce', 8, 1 << 20), ('bcast', 8, 1 << 20),
             ('alltoall', 8, 1024), ('start-up', 64, 0), ('memory', 64, 0), ('threads_latency_4', 2, 8), ('threads_rate_4', 2, 8), ('threads_put_rate_4', 2, 8),
             ('put', 2, 8), ('fetch_and_op', 2, 8), ('accumulate', 2, 65536)]
SHMEM_HEADLINES = [('shmem_put', 2, 8), ('shmem_get', 2, 8), ('shmem_put', 2, 1 << 20), ('shmem_get', 2, 1 << 20), ('shmem_rate_nbi', 2, 8), ('shmem_rate_p', 2, 8),
                   ('shmem_fetch_add', 2, 8), ('shmem_put_fence_p', 2, 8), ('shmem_put_signal', 2, 8), ('shmem_threads_nbi_private_4', 2, 8),
                   ('shmem_barrier', 2, 0), ('shmem_barrier', 4, 0), ('shmem_reduce', 2, 8), ('shmem_reduce', 2, 65536), ('shmem_broadcast', 4, 65536),
                   ('shmem_fcollect', 4, 1024), ('shmem_alltoall', 4, 1024)]


def family(test):
    """The same by another number of threads is of one family."""
    return re.sub(r'_\d+$', '', test)


def names_of(rows):
    return list(dict.fromkeys(['mpt', *(n for r in rows for n in r['values'])]))


def headline_table(result):
    m, tables = result['machine'], []
    for headlines in (HEADLINES, SHMEM_HEADLINES):
        rows = [r for h in headlines for r in result['rows'] if (r['test'], r['ranks'], r['bytes']) == h]
        if rows: tables += ['', *table(rows, [n for n in names_of(rows) if n == 'mpt' or not is_ours(n)])]
    how = f"`peers.py --cpus {result['cpus']}`" if result.get('cpus', 2) != 2 else '`make bench`'
    return [f"{m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}; {result['date']}, mpt {result['version']}, {how}, medians of {result['rounds']} rounds. Bold: the best. "
            'Ratios are of times (of rates the inverse): below 1, mpt is ahead.', *tables]


def markdown(result):
    m = result['machine']
    lines = [f"# mpt {result['version']} beside its peers: {m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}, {result['date']}", '',
             f"Linux {m['kernel']}; medians of {result['rounds']} rounds, in which the libraries take turns (and of more in place of what is left out); all ranks on {result.get('cpus', 2)} CPUs. Quartiles are in the JSON file.",
             'Bold: the best. Ratios are of times (of rates the inverse): below 1, mpt is ahead.', '']
    for test in dict.fromkeys(family(r['test']) for r in result['rows']):
        rows = [r for r in result['rows'] if family(r['test']) == test]
        lines += [f'## {test}', '', *table(rows, names_of(rows)), '']
    return '\n'.join(lines + ['## Left out', '', *(f'- {s}' for s in result['left_out'])]) + '\n'


def put_table(result_file, page):
    """Between the marks of the page stands this result's table."""
    text, result = page.read_text(), json.loads(result_file.read_text())
    if BEGIN not in text or END not in text: raise SystemExit(f'peers: {page} has no marks {BEGIN} and {END}')
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(before + '\n'.join([BEGIN, *headline_table(result), END]) + after)


def write(result, folder, now):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (now.strftime('%Y-%m-%d-%H%M') + '-peers.json')
    path.write_text(json.dumps(result, indent=1) + '\n')
    path.with_suffix('.md').write_text(markdown(result))
    path.with_suffix('.svg').write_text(plot.page(result['rows'], names_of([r for r in result['rows'] if r['test'] in dict(plot.PANELS)])))
    return path


def options():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('--build', type=pathlib.Path, help='a release build directory in which `ninja all bench` has run')
    p.add_argument('--quick', action='store_true', help='one round, small sizes, less than three minutes: shows that everything runs, not how fast')
    p.add_argument('--rounds', type=int, help='how often each library takes its turn (5; quick: 1)')
    p.add_argument('--only', default='', help='only what matches this regular expression, e.g. "latency" or "collectives 8"')
    p.add_argument('--cpus', type=int, default=2, metavar='N', help='ranks share this many CPUs (2); with more, N ranks do what else 4, 8 and 16 do on two')
    p.add_argument('--patience', type=int, default=PATIENCE, metavar='SECONDS', help=f'what takes longer is ended ({PATIENCE})')
    p.add_argument('--minutes', type=float, metavar='M', help='no round more in place of what far CPUs spoilt once so many have passed (as many as needed)')
    p.add_argument('-m', metavar='LEAST:MOST', help='message sizes of latency and bandwidth, in bytes')
    p.add_argument('-i', metavar='CALLS', help='calls a figure (default: as many as fit into 20 ms)')
    p.add_argument('-x', metavar='CALLS', help='calls before that (10)')
    p.add_argument('--results', type=pathlib.Path, help='folder of the results')
    p.add_argument('--table', nargs=2, type=pathlib.Path, metavar=('RESULT', 'PAGE'), help='put the table of a result into a page, and do nothing else')
    o = p.parse_args()
    if not o.table and not o.build: p.error('--build or --table is needed')
    if not 2 <= o.cpus <= len(os.sched_getaffinity(0)): p.error(f'--cpus: 2 to {len(os.sched_getaffinity(0))} here')
    o.rounds = o.rounds or (1 if o.quick else 5)
    return o


def chosen_cpus(many):
    """One of each core, as long as there are cores."""
    return set([*(one := bench.cores()), *sorted(os.sched_getaffinity(0) - set(one))][:many])


def main():
    o = options()
    if o.table: return put_table(*o.table)
    cpus, now = chosen_cpus(o.cpus), datetime.datetime.now()
    found, left_out = libraries(o.build)
    known = limits(o.build, o.quick, chosen_cpus(2))
    values, failed = take(o, found, cpus, Spells(None if o.quick else spell_program(o.build), cpus))
    values |= two_interfaces(values)
    left_out += failed + ([] if known else ['limits: bench/limits is not built, or failed'])
    m = bench.machine()
    result = {'machine': m, 'date': now.strftime('%Y-%m-%d %H:%M'), 'version': bench.version(), 'quick': o.quick, 'rounds': o.rounds, 'cpus': o.cpus, 'left_out': left_out,
              'rows': rows_of(values, known, len(cpus))}
    home = o.results or (o.build / 'bench/results' if o.quick else HERE.parent / 'results')
    path = write(result, home / bench.machine_name(m), now)
    print('\n'.join(headline_table(result) if not o.quick else table(result['rows'], names_of(result['rows']))))
    for why in left_out: print(f'  left out  {why}')
    print(f'  written   {path}, .md and .svg')
    return 0 if any('mpt' in r['values'] for r in result['rows']) else 1


if __name__ == '__main__':
    sys.exit(main())
