#!/usr/bin/env python3
"""Counts instructions of small messages under callgrind and compares them with their bounds: speed's gate on noisy machines.
usage: check_instructions.py PROGRAM BOUNDS [--write | --self-test]
A line of BOUNDS: name, most. --write sets every bound to what is counted now and 2 % more. Exit code 77: no valgrind here."""
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SLACK = 1.02  # libraries of the system differ by a few instructions


def count(program, name, folder):
    command = ['valgrind', '--tool=callgrind', f'--callgrind-out-file={folder}/out', f'--toggle-collect=counted_{name}', program, name]
    env = dict(os.environ, MPT_LOOK='loading')
    env.pop('MALLOC_PERTURB_', None)  # meson's: memory that is filled would be counted
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    calls, collected = re.search(r'^(\d+) calls$', done.stdout, re.M), re.search(r'Collected : (\d+)', done.stderr)
    if done.returncode or not calls or not collected:
        sys.exit(f'{" ".join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}')
    return int(collected[1]) / int(calls[1])


def bounds_of(lines):
    return {line.split()[0]: int(line.split()[1]) for line in lines if line and not line.startswith('#')}


def main():
    program, bounds = sys.argv[1], pathlib.Path(sys.argv[2])
    if not shutil.which('valgrind'):
        print('skipped: no valgrind to count with')
        return 77
    lines = bounds.read_text().splitlines()
    most = bounds_of(lines)
    with tempfile.TemporaryDirectory() as folder: now = {name: count(program, name, folder) for name in most}
    if '--self-test' in sys.argv: most = {name: math.floor(now[name]) - 1 for name in most}
    too_many = [name for name in most if now[name] > most[name]]
    for name in most:
        print(f'{name:<14}{now[name]:6.1f} of {most[name]}{"   too many" if name in too_many else ""}')
    if '--write' in sys.argv:
        bounds.write_text('\n'.join([line for line in lines if line.startswith('#')] + [f'{n:<14}{math.ceil(now[n] * SLACK)}' for n in most]) + '\n')
        return 0
    if '--self-test' in sys.argv: return len(too_many) != len(most)
    return bool(too_many)


if __name__ == '__main__': sys.exit(main())
