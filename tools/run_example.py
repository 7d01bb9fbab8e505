#!/usr/bin/env python3
"""Runs an example and compares what it prints: usage: run_example.py [--expect FILE] command...
FILE holds the lines that must be printed, in any order (ranks print as they come). A line that begins with `re:` is a regular
expression and must match one line that nothing else explains. Further lines are an error: what an example prints is its point.
       run_example.py --self-test"""
import re
import subprocess
import sys


def compare(printed, expected):
    """Sentences about lines that are missing or unexpected."""
    left, missing = list(printed), []
    for line in sorted(expected, key=lambda x: x.startswith('re:')):
        found = next((x for x in left if (re.fullmatch(line[3:].strip(), x) if line.startswith('re:') else x == line)), None)
        if found is None:
            missing.append(line)
        else:
            left.remove(found)
    return [f'missing: {x}' for x in missing] + [f'unexpected: {x}' for x in left]


def self_test():
    cases = [
        (['a', 'b 12'], ['re: b \\d+', 'a'], []),
        (['a'], ['a', 'b'], ['missing: b']),
        (['a', 'a'], ['a'], ['unexpected: a']),
        (['b x'], ['re: b \\d+'], ['missing: re: b \\d+', 'unexpected: b x']),
    ]
    wrong = [f'{p} against {e}: {compare(p, e)}' for p, e, r in cases if compare(p, e) != r]
    print('\n'.join(wrong) or f'{len(cases)} cases')
    return bool(wrong)


def main():
    arguments = sys.argv[1:]
    if arguments == ['--self-test']:
        return self_test()
    expected = None
    if arguments[0] == '--expect':
        expected = open(arguments[1]).read().splitlines()
        arguments = arguments[2:]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end='')
    if done.returncode == 77:
        return 77
    wrong = [f'exit code {done.returncode}'] if done.returncode else []
    if expected is not None:
        wrong += compare(done.stdout.splitlines(), expected)
    print('\n'.join(wrong), file=sys.stderr)
    return bool(wrong)


sys.exit(main())
