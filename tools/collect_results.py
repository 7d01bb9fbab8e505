#!/usr/bin/env python3
"""Counts the cases of test runs and says what failed and what was skipped, and why.

Reads Meson's `<logbase>.json`: one line per program, with what it printed. A GoogleTest program counts its cases, any other counts
one. A program that ended badly without a failed case of its own (a crash, a time limit, a sanitizer's finding) counts one failed
case more; a run that left no log counts as a failure.
usage: collect_results.py [--cut=NAME:BUILD:SUITE,...] NAME=LOGBASE...       LOGBASE as in build/meson-logs/testlog
                                                cut: the run was ended for time; what it had not done of its suites is skipped
                                                prints the details and, last, `N passed, N failed, N skipped`; exits with 1 on failures
       collect_results.py --self-test"""
import json
import pathlib
import re
import sys
import tempfile

BAD = {'FAIL', 'TIMEOUT', 'INTERRUPT', 'ERROR', 'UNEXPECTEDPASS'}
ENDED = re.compile(r'^\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)')
STARTED = re.compile(r'^\[ RUN +\] ')
NO_TIME = 'no time was left'
PLACE = re.compile(r'^\S+:\d+: (Skipped|Failure)$')


class tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f'{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped'


def gtest_cases(output):
    """[(case, OK | FAILED | SKIPPED, what it said)] of one GoogleTest program, from what it printed; [] for other programs."""
    found, said = [], []
    for line in output.splitlines():
        if '[  PASSED  ]' in line or 'listed below:' in line:
            break                                           # the summary, which names cases again
        if STARTED.match(line):
            said = []
        elif m := ENDED.match(line):
            found.append((m[2], m[1], ' '.join(x.strip() for x in said if x.strip() and not PLACE.match(x))[:240]))
            said = []
        else:
            said.append(line)
    return found


def collect_program(name, row, total, cut=False):
    if cut and row['result'] == 'INTERRUPT':
        total.skipped.append(f'{name}: {row["name"]}: {NO_TIME}')
        return
    label, result, output = f'{name}: {row["name"]}', row['result'], row.get('stdout') or ''
    cases = gtest_cases(output)
    for case, how, why in cases:
        if how == 'OK':
            total.passed += 1
        else:
            (total.failed if how == 'FAILED' else total.skipped).append(f'{label}: {case}: {why or "no reason given"}')
    if result in BAD and not any(how == 'FAILED' for _, how, _ in cases):
        total.failed.append(f'{label}: {result.lower()}, exit code {row.get("returncode")}')
    elif not cases and result == 'SKIP':
        last = [x for x in output.splitlines() if x.strip()][-1:]
        total.skipped.append(f'{label}: {last[0][:240] if last else "no reason given"}')
    elif not cases and result in ('OK', 'EXPECTEDFAIL'):
        total.passed += 1


def collect(name, logbase, cut=None):
    """cut: the names of all tests, where the run was ended before it had done them."""
    total, path = tally(), pathlib.Path(f'{logbase}.json')
    rows = [json.loads(x) for x in path.read_text().splitlines() if x.strip()] if path.exists() else []
    if not rows and cut is None:
        total.failed.append(f'{name}: no test ran ({path})')
    for row in rows:
        collect_program(name, row, total, cut is not None)
    done = {row['name'].rpartition(' / ')[2] for row in rows}
    total.skipped += [f'{name}: {test}: {NO_TIME}' for test in cut or [] if test not in done]
    return total


def tests_of(build, suites):
    tests = json.loads((pathlib.Path(build) / 'meson-info/intro-tests.json').read_text())
    return [t['name'] for t in tests if suites & {s.rpartition(':')[2] for s in t['suite']}]


def grouped(lines):
    """`program: case: reason` lines, those of one program and reason as one line with the number of its cases."""
    cases = {}
    for line in lines:
        run, program, rest = line.split(': ', 2)
        case, _, reason = rest.partition(': ')
        cases.setdefault((run, program, reason or rest), []).append(case)
    return [f'{run}: {program}: {c[0] + (f" and {len(c) - 1} more" if len(c) > 1 else "") + ": " if reason != c[0] else ""}{reason}'
            for (run, program, reason), c in cases.items()]


GTEST = '''[==========] Running 4 tests from 1 test suite.
[ RUN      ] a.passes
[       OK ] a.passes (0 ms)
[ RUN      ] a.skips
../x.cpp:3: Skipped
the kernel refuses CMA
[  SKIPPED ] a.skips (0 ms)
[ RUN      ] a/1.fails
../x.cpp:4: Failure
because
[  FAILED  ] a/1.fails, where TypeParam = int (0 ms)
[ DISABLED ] a.DISABLED_x
[----------] 4 tests from a (1 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] a.skips
[  FAILED  ] 1 test, listed below:
[  FAILED  ] a/1.fails
'''


def self_test():
    def row(result, output='', code=0):
        return {'name': 'p', 'result': result, 'stdout': output, 'returncode': code}
    crash = GTEST[:GTEST.index('[ RUN      ] a/1')] + '[ RUN      ] a.dies\n'
    cases = [
        ('cases of a program', [row('FAIL', GTEST, 1)], '1 passed, 1 failed, 1 skipped', 'a/1.fails: because'),
        ('the reason of a skip', [row('OK', GTEST)], '1 passed, 1 failed, 1 skipped', 'a.skips: the kernel refuses CMA'),
        ('a crash', [row('FAIL', crash, -6)], '1 passed, 1 failed, 1 skipped', 'exit code -6'),
        ('plain programs', [row('OK'), row('OK', 'hello'), row('FAIL', '', 3)], '2 passed, 1 failed, 0 skipped', 'exit code 3'),
        ('a plain skip', [row('SKIP', 'x\nskipped: no cmake\n', 77)], '0 passed, 0 failed, 1 skipped', 'no cmake'),
        ('a time limit', [row('TIMEOUT', '', -15)], '0 passed, 1 failed, 0 skipped', 'timeout'),
        ('a run without a log', [], '0 passed, 1 failed, 0 skipped', 'no test ran'),
    ]
    wrong = []
    for what, rows, counts, words in cases:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, 'log.json').write_text(''.join(json.dumps(r) + '\n' for r in rows))
            total = collect('run', f'{folder}/log')
        if str(total) != counts or not any(words in x for x in total.failed + total.skipped):
            wrong.append(f'{what}: {total}: {total.failed} {total.skipped}')
    with tempfile.TemporaryDirectory() as folder:
        rows = [row('OK'), row('FAIL', '', 1), row('INTERRUPT', GTEST, -15)]
        for i, r in enumerate(rows):
            r['name'] = f'mpt:long / t{i}'
        pathlib.Path(folder, 'log.json').write_text(''.join(json.dumps(r) + '\n' for r in rows))
        total = collect('run', f'{folder}/log', ['t0', 't1', 't2', 't3'])
        if str(total) != '1 passed, 1 failed, 2 skipped' or not all(NO_TIME in x for x in total.skipped):
            wrong.append(f'a run that was cut: {total}: {total.failed} {total.skipped}')
        total = collect('run', f'{folder}/none', ['t0', 't1'])
        if str(total) != '0 passed, 0 failed, 2 skipped':
            wrong.append(f'a run that was cut before its first test: {total}: {total.failed}')
    many = ['run: mpt:unit / p: a.b: the reason: a', 'run: mpt:unit / p: a.c: the reason: a', 'run: mpt:proc / q: no cmake']
    if grouped(many) != ['run: mpt:unit / p: a.b and 1 more: the reason: a', 'run: mpt:proc / q: no cmake']:
        wrong.append(f'grouping: {grouped(many)}')
    print('\n'.join(wrong) or f'{len(cases) + 3} cases')
    return bool(wrong)


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    total, cut = tally(), {}
    for argument in sys.argv[1:]:
        name, _, logbase = argument.partition('=')
        if name == '--cut':
            run, build, suites = logbase.split(':')
            cut[run] = tests_of(build, set(suites.split(',')))
            continue
        one = collect(name, logbase, cut.get(name))
        print(f'{name}: {one}')
        total.add(one)
    for line in grouped(total.skipped):
        print(f'  skipped: {line}')
    for line in total.failed:
        print(f'  FAILED: {line}') # last: what is cut out of a long log is its middle
    print(total)
    return bool(total.failed)


sys.exit(main())
