"""Every function of OpenSHMEM's C library is called by one of its tests' programs.

    check_called.py LIBRARY PROGRAM...

What a program calls is what it leaves undefined. Profiling twins are other names of the same functions. Standard library and nm only.
"""
import subprocess
import sys


def names(option, file):
    lines = subprocess.run(['nm', '-D', option, file], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].split('@')[0] for line in lines if line.split()[-2] in 'TtWwiU'}


def main(library, *programs):
    offered = {n for n in names('--defined-only', library)}
    functions = {n for n in offered if 'p' + n in offered} # each has its twin
    if len(functions) < 1500: sys.exit(f'{library} has no more than {len(functions)} functions')
    called = set().union(*(names('--undefined-only', p) for p in programs))
    if missing := sorted(functions - called): sys.exit('no program calls ' + ', '.join(missing))
    print(f'{len(functions)} functions, each called')


main(*sys.argv[1:])
