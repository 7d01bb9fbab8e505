#!/usr/bin/env python3
"""A C library exports the functions of its interface with their twins for profiling (PMPI_, pshmem_), and nothing else; the names can be
replaced by a profiling tool (weak), the twins cannot; no call of our own goes by either name; and the library stays loaded.
usage: check_exports.py LIBRARY FACTS            FACTS: test/data/abi/mpi5_functions.tsv, or a list of OpenSHMEM's names"""
import pathlib
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    library, facts = sys.argv[1], pathlib.Path(sys.argv[2])
    of_mpi = facts.suffix == '.tsv'
    twin, soname = ('P', 'libmpi_abi.so.1') if of_mpi else ('p', 'libmpt_shmem.so.1')
    names = (line.split('\t')[0] for line in facts.read_text().splitlines())
    wanted = {name for name in names if name.startswith('MPI_') or not of_mpi}
    found = dict(reversed(line.split()[1:]) for line in output('nm', '-D', '--defined-only', '--without-symbol-versions', library).splitlines())
    both = wanted | {twin + name for name in wanted}
    wrong = [f'{name} is not exported' for name in sorted(both - set(found))]
    wrong += [f'{name} is exported, and is no name of the standard' for name in sorted(set(found) - both)]
    wrong += [f'{name} cannot be replaced by a profiling tool' for name in sorted(wanted & set(found)) if found[name] not in 'WV']
    wrong += [f'{twin}{name} is weak' for name in sorted(wanted) if found.get(twin + name) != 'T']
    named = {word for line in output('readelf', '-rW', library).splitlines() for word in re.findall(r'\w+', line) if word in both}
    wrong += [f'{name} is called by the library itself, so a profiling tool would see it' for name in sorted(named)]
    dynamic = output('readelf', '-d', library)
    if not re.search(r'FLAGS_1.*NODELETE', dynamic):
        wrong.append('the library may be unloaded')
    if f'soname: [{soname}]' not in dynamic:
        wrong.append(f'the soname is not {soname}')
    print('\n'.join(wrong) or f'{len(wanted)} functions and their twins')
    return bool(wrong)


sys.exit(main())
