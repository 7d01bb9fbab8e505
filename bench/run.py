#!/usr/bin/env python3
"""The figures of this machine: its limits, and ours beside them (`make bench`).

    bench/run.py --build BUILD [--quick] [--only PATTERN] [--machine NAME] [--results DIR] [--largest BYTES]

Runs what BUILD has: the limits, our figures under mptrun on two CPUs and on one, and the Google Benchmark programs. Prints the
tables, and writes BENCH/results/<machine>/<date>.json and .md (a quick run: into BUILD). Standard library only.

A row is {group, name, bytes, value, unit, q1, q3, limit, ratio, ...}: medians and quartiles; ratio = value / limit of the same
run. A benchmark `operation/policy[/...]` is held against the best `operation/role:NAME[/...]` of its program.
"""
import argparse, datetime, json, os, pathlib, platform, re, shutil, signal, statistics, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'tools'))
import check_instructions

SLOW = 1.6              # as calibration::slow_factor in bench/harness.hpp
PATIENCE = 600          # seconds a program may take: a watchdog, far above what any needs
UP_IS_GOOD = {'GB/s', 'M/s'}


# ---------------------------------------------------------------- the machine

def cores():
    """One CPU of every core this process may use."""
    seen, chosen = set(), []
    for cpu in sorted(os.sched_getaffinity(0)):
        try: core = pathlib.Path(f'/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list').read_text()
        except OSError: core = cpu
        if core not in seen: seen.add(core), chosen.append(cpu)
    return chosen


def machine():
    info = pathlib.Path('/proc/cpuinfo').read_text()
    model = re.search(r'^model name\s*: (.*)$', info, re.M)
    return {'cpu': model[1] if model else platform.machine(), 'cpus': len(os.sched_getaffinity(0)), 'cores': len(cores()),
            'virtual': bool(re.search(r'^flags.*\bhypervisor\b', info, re.M)), 'kernel': platform.release(),
            'memory_mb': os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') >> 20}


def machine_name(m):
    text = re.sub(r'\((R|TM)\)|CPU|Processor|@.*', ' ', m['cpu'], flags=re.I)
    return '-'.join(re.findall(r'[a-z0-9]+', text.lower())) + f"-{m['cores']}-cores" + ('-virtual' if m['virtual'] else '')


def default_largest():
    """64 MB where memory is plenty: the programs hold about a dozen buffers of this size."""
    free = re.search(r'^MemAvailable:\s*(\d+)', pathlib.Path('/proc/meminfo').read_text(), re.M)
    return 64 << 20 if free and int(free[1]) > 4 << 20 else 4 << 20


# ---------------------------------------------------------------- running

def run(command, cpus, log=None):
    """Runs to the end, on these CPUs only; what hangs is ended with all it started. Returns the exit code."""
    child = subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log and subprocess.STDOUT,
                             preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    try: return child.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        print(f'bench: {command[0]} did not end within {PATIENCE} s', file=sys.stderr)
        return 124
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


class Session:
    def __init__(self, options):
        self.o, self.build = options, pathlib.Path(options.build)
        self.rows, self.failed, self.skipped, self.calibrations = [], [], [], []
        self.only = re.compile(options.only or '')
        self.scratch = tempfile.TemporaryDirectory(prefix='bench-')

    def calm(self):
        return min((c['calm'] for c in self.calibrations if c['calm'] > 0), default=0)

    def rows_program(self, name, command, cpus):
        """A program of ours: prints its table itself and leaves its rows in a file."""
        if not self.only.search(name): return
        print(f'\n==== {name}', flush=True)
        out = pathlib.Path(self.scratch.name) / 'rows.json'
        out.unlink(missing_ok=True)
        args = ['--json', str(out), '--largest', str(self.o.largest)] + (['--quick'] if self.o.quick else [])
        if self.calm(): args += ['--calm', f'{self.calm():.1f}']
        code = run(command + args, cpus)
        if code != 0 or not out.exists(): return self.failed.append(f'{name}: exit code {code}')
        got = json.loads(out.read_text())
        for kept in (self.rows, self.skipped, self.calibrations): kept[:] = [k for k in kept if k['program'] != name]
        self.rows += [dict(r, program=name) for r in got['rows']]
        self.skipped += [{'program': name, 'why': s} for s in got['skipped']]
        self.calibrations.append(dict(got['calibration'], program=name, command=command, cpus=sorted(cpus)))

    def again_where_slow(self):
        """A program that was slow from end to end, as others show, gets a second chance."""
        for c in list(self.calibrations):
            if c['calm'] > SLOW * self.calm() > 0: self.rows_program(c['program'], c['command'], set(c['cpus']))

    def google_program(self, path):
        name = path.name
        if not self.only.search(name): return
        print(f'\n==== {name}', flush=True)
        out = pathlib.Path(self.scratch.name) / 'google.json'
        out.unlink(missing_ok=True)
        args = [f'--benchmark_out={out}', '--benchmark_out_format=json', f'--benchmark_repetitions={3 if self.o.quick else 9}',
                f'--benchmark_min_time={0.002 if self.o.quick else 0.02}', '--benchmark_enable_random_interleaving=true']
        log = pathlib.Path(self.scratch.name) / 'google.log'
        with log.open('w') as to: code = run([str(path)] + args, set(self.two()), to)
        if code != 0 or not out.exists():
            print(log.read_text(), file=sys.stderr)
            return self.failed.append(f'{name}: exit code {code}')
        rows = google_rows(name, json.loads(out.read_text()))
        print_google(rows)
        self.rows += rows

    def instructions(self):
        """What a small message takes, by each door: counted under callgrind, so other programs do not disturb it. The bound is the gate's."""
        programs = {b: self.build / 'bench' / b.stem for b in sorted(HERE.glob('instructions*.txt')) if self.only.search(b.stem)}
        if programs and not shutil.which('valgrind'):
            return self.skipped.append({'program': 'instructions', 'why': 'no valgrind to count them with'})
        for bounds, program in programs.items():
            if not program.exists():
                self.skipped.append({'program': bounds.stem, 'why': f'{program} is not built: it comes with the tests, by g++ for x86-64'})
                continue
            print(f'\n==== {bounds.stem}', flush=True)
            with tempfile.TemporaryDirectory() as folder:
                for name, most in check_instructions.bounds_of(bounds.read_text().splitlines()).items():
                    try: n = check_instructions.count(str(program), name, folder)
                    except SystemExit as why:
                        self.failed.append(f'{bounds.stem} {name}: {str(why).splitlines()[0]}')
                        continue
                    print(f'  {name:<46}{digits(n):>8}  (the gate: {most})', flush=True)
                    self.rows.append({'program': bounds.stem, 'group': 'Instructions of a message of 8 bytes', 'name': name, 'bytes': 8,
                                      'value': n, 'unit': 'instructions', 'q1': n, 'q3': n, 'limit': None, 'limit_name': None,
                                      'ratio': None, 'kept': 1, 'taken': 1, 'calm': True})

    def two(self):
        return cores()[:2]

    def everything(self):
        bench, one, two = self.build / 'bench', {self.two()[0]}, set(self.two())
        if (bench / 'limits').exists(): self.rows_program('limits', [str(bench / 'limits')], two)
        mptrun = next((p for p in (self.build / 'src/mptrun/mptrun', self.build / 'src/mptrun') if p.is_file()), None)
        figures = bench / 'figures'
        if mptrun and figures.exists():
            ranks = lambda n, *more: [str(mptrun), '-n', str(n), str(figures), *more]
            if len(two) == 2:
                self.rows_program('figures, 2 ranks', ranks(2), two)
                for n in (4, 8, 16): self.rows_program(f'figures, {n} ranks on 2 CPUs', ranks(n), two)
                self.rows_program('figures, 2 ranks of one thread (no lock)', ranks(2, '--stack', 'unlocked'), two)
                self.rows_program('figures, 2 ranks over byte streams', ranks(2, '--stack', 'stream'), two)
            self.rows_program('figures, 2 ranks on 1 CPU', ranks(2), one)
            self.rows_program('figures, 8 ranks on 1 CPU', ranks(8), one)
        else: self.skipped.append({'program': 'figures', 'why': 'no mptrun or no bench/figures in the build directory'})
        if not self.o.quick: self.again_where_slow()
        self.instructions()
        for path in google_programs(bench): self.google_program(path)


# ---------------------------------------------------------------- Google Benchmark

def google_programs(folder):
    """Those that are built there. Beside them lie programs in C with such names, which peers.py runs."""
    built = (folder / source.stem for source in sorted(HERE.glob('*_bench.cpp')))
    return [path for path in built if path.is_file() and os.access(path, os.X_OK)]


TO_NS = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}


def quartiles(values):
    if len(values) < 2: return values[0], values[0], values[0]
    q = statistics.quantiles(values, n=4, method='inclusive')
    return q[0], q[1], q[2]


def google_rows(program, got):
    times, extra = {}, {}
    in_order = sorted(got['benchmarks'], key=lambda b: (b['family_index'], b['per_family_instance_index']))
    for b in in_order:
        if b.get('run_type') != 'iteration': continue
        if b.get('error_occurred'):
            print(f"  {b['run_name']}: {b.get('error_message')}", file=sys.stderr)
            continue
        times.setdefault(b['run_name'], []).append(b.get('typical', b['real_time'] * TO_NS[b['time_unit']]))
        for k, v in b.items():
            if k in KNOWN or not isinstance(v, (int, float)): continue
            extra.setdefault(b['run_name'], {}).setdefault(k, []).append(v)
    rows = []
    for name, ns in times.items():
        q1, median, q3 = quartiles(ns)
        rows.append({'program': program, 'group': program, 'name': '/'.join(x for x in split_name(name)[:2] + split_name(name)[2] if x), 'bytes': 0, 'value': median, 'unit': 'ns', 'q1': q1, 'q3': q3,
                     'limit': None, 'limit_name': None, 'ratio': None, 'kept': len(ns), 'taken': len(ns), 'calm': True,
                     'counters': {k: statistics.median(v) for k, v in extra.get(name, {}).items()}})
    roles = {}
    for r in rows:
        operation, who, rest = split_name(r['name'])
        if not who.startswith('role:'): continue
        if (operation, rest) not in roles or r['value'] < roles[operation, rest]['value']: roles[operation, rest] = r
    for r in rows:
        operation, who, rest = split_name(r['name'])
        best = roles.get((operation, rest))
        if best and not who.startswith('role:'):
            r.update(limit=best['value'], limit_name=split_name(best['name'])[1][5:], ratio=r['value'] / best['value'])
    return rows


KNOWN = {'family_index', 'per_family_instance_index', 'repetitions', 'repetition_index', 'threads', 'iterations', 'real_time', 'cpu_time', 'typical', 'items_per_second'}


def split_name(name):
    """operation/policy/the rest; `real_time` and the like at the end say nothing."""
    parts = [p for p in name.split('/') if p not in ('real_time', 'manual_time', 'process_time') and not p.startswith('iterations:')]
    return parts[0], parts[1] if len(parts) > 1 else '', tuple(parts[2:])


def print_google(rows):
    for r in rows:
        ratio = f"{r['ratio']:6.2f} x {r['limit_name']}" if r['ratio'] else ''
        counters = '  '.join(f'{k} {digits(v)}' for k, v in r['counters'].items())
        print(f"  {r['name']:<46}{digits(r['value']):>8} ns  ({digits(r['q1'])} .. {digits(r['q3'])})  {ratio:<28}{counters}".rstrip())


# ---------------------------------------------------------------- what comes of it

def digits(v):
    if v == 0 or abs(v) >= 100: return f'{v:.0f}'
    return f'{v:.3g}'


def size_name(n):
    for unit, name in ((1 << 20, 'MB'), (1 << 10, 'KB')):
        if n >= unit and n % unit == 0: return f'{n // unit} {name}'
    return f'{n} B' if n else ''


def find(rows, program, group, name, size=None):
    return next((r for r in rows if r['program'] == program and r['group'].startswith(group) and r['name'] == name and size in (None, r['bytes'])), None)


def marks(rows):
    """The first marks (docs: the goals): a sentence, what was measured, whether it is reached."""
    out = []
    def mark(sentence, row, figure, reached):
        if row: out.append((sentence, figure(row), reached(row)))
    for program, threads in (('figures, 2 ranks of one thread (no lock)', 'one thread a rank'), ('figures, 2 ranks', 'many threads, a ticket lock')):
        eight = find(rows, program, '8 bytes through mpt', 'beside two lines')
        mark(f'8-byte half round trip at most 0.8 x the two-line ping-pong of the same run ({threads})', eight,
             lambda r: f"{digits(r['value'])} ns = {r['ratio']:.2f} x", lambda r: r['ratio'] <= 0.8)
    barrier = find(rows, 'figures, 8 ranks on 2 CPUs', 'Collectives', 'barrier, 8 ranks on 2 CPUs')
    mark('barrier of 8 ranks on 2 CPUs under 20 us', barrier, lambda r: f"{digits(r['value'])} us", lambda r: r['value'] < 20)
    ours = find(rows, 'figures, 2 ranks', 'One message through mpt', 'private memory', 1 << 20)
    alone = find(rows, 'limits', 'One message by CMA', 'receiver alone', 1 << 20)
    if alone: mark('1 MB copied from both ends: faster than the receiver alone by CMA', ours,
                   lambda r: f"{digits(r['value'])} us against {digits(alone['value'])}", lambda r: r['value'] < alone['value'])
    return out


def markdown(result):
    m, lines = result['machine'], []
    lines.append(f"# {m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}: {result['date']}\n")
    lines.append(f"mpt {result['version']}, Linux {m['kernel']}. Medians, quartiles in brackets; the ratio is to the limit measured in the same run.")
    lines.append('`~`: too few calm rounds, all counted.\n')
    if result['marks']:
        lines += ['| mark | measured | reached |', '|---|---|---|']
        lines += [f"| {k['mark']} | {k['measured']} | {'yes' if k['reached'] else 'no'} |" for k in result['marks']] + ['']
    programs = dict.fromkeys(r['program'] for r in result['rows'])
    for p in programs:
        of = [r for r in result['rows'] if r['program'] == p]
        lines.append(f'## {p}\n')
        for g in dict.fromkeys(r['group'] for r in of):
            if g != p: lines.append(f'**{g}**\n')
            lines += ['| what | size | median | quartiles | ratio |', '|---|---|---|---|---|']
            for r in (r for r in of if r['group'] == g):
                ratio = f"{r['ratio']:.2f} x {r['limit_name']}" if r['ratio'] else ''
                lines.append(f"| {r['name']} | {size_name(r['bytes'])} | {'' if r['calm'] else '~'}{digits(r['value'])} {r['unit']} "
                             f"| {digits(r['q1'])} .. {digits(r['q3'])} | {ratio} |")
            lines.append('')
    if result['skipped']: lines += ['Not measured:\n'] + [f"- {s['program']}: {s['why']}" for s in result['skipped']] + ['']
    if result['failed']: lines += ['Failed:\n'] + [f'- {s}' for s in result['failed']] + ['']
    return '\n'.join(lines)


def version():
    try: return subprocess.run(['git', 'describe', '--always', '--dirty'], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError): return 'unknown'


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('--build', required=True, help='a build directory in which `ninja bench` has run')
    p.add_argument('--quick', action='store_true', help='few rounds, small sizes: shows that everything runs, not how fast')
    p.add_argument('--only', help='run only programs whose name matches this regular expression')
    p.add_argument('--machine', help='name of the folder for the results (default: from the CPU)')
    p.add_argument('--results', help='folder of the results (default: bench/results; of a quick run: in the build directory)')
    p.add_argument('--largest', type=int, default=default_largest(), help='largest message in bytes')
    o = p.parse_args()
    if o.quick: o.largest = min(o.largest, 1 << 20)

    session = Session(o)
    session.everything()
    if not session.rows:
        print(f"bench: nothing was measured; is {o.build} a build directory in which `ninja bench` has run?\n" + '\n'.join(session.failed), file=sys.stderr)
        return 1
    m, now = machine(), datetime.datetime.now()
    result = {'machine': m, 'date': now.strftime('%Y-%m-%d %H:%M'), 'version': version(), 'quick': o.quick, 'calibrations': [{k: v for k, v in c.items() if k not in ('command', 'cpus')} for c in session.calibrations],
              'marks': [{'mark': a, 'measured': b, 'reached': c} for a, b, c in marks(session.rows)],
              'skipped': session.skipped, 'failed': session.failed, 'rows': session.rows}
    folder = pathlib.Path(o.results or (pathlib.Path(o.build) / 'bench/results' if o.quick else HERE / 'results')) / (o.machine or machine_name(m))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (now.strftime('%Y-%m-%d-%H%M') + '.json')
    path.write_text(json.dumps(result, indent=1) + '\n')
    path.with_suffix('.md').write_text(markdown(result))
    print()
    for k in result['marks']: print(f"  {'reached' if k['reached'] else 'MISSED ':8} {k['mark']}: {k['measured']}")
    for s in session.skipped: print(f"  skipped  {s['program']}: {s['why']}")
    for s in session.failed: print(f'  FAILED   {s}')
    print(f'  written  {path} and .md')
    return 1 if session.failed else 0


if __name__ == '__main__':
    sys.exit(main())
