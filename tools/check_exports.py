#!/usr/bin/env python3
"""The C library exports the functions of the standard's binary interface with their PMPI_ twins, and nothing else; MPI_ names can be
replaced by a profiling tool (weak), PMPI_ names cannot; no call of our own goes by either name; and the library stays loaded.
usage: check_exports.py LIBRARY FACTS            FACTS: test/data/abi/mpi5_functions.tsv"""
import pathlib
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    library, facts = sys.argv[1], pathlib.Path(sys.argv[2])
    wanted = {name for line in facts.read_text().splitlines() if (name := line.split('\t')[0]).startswith('MPI_')}
    found = dict(reversed(line.split()[1:]) for line in output('nm', '-D', '--defined-only', '--without-symbol-versions', library).splitlines())
    both = wanted | {'P' + name for name in wanted}
    wrong = [f'{name} is not exported' for name in sorted(both - set(found))]
    wrong += [f'{name} is exported, and is no name of the standard' for name in sorted(set(found) - both)]
    wrong += [f'{name} cannot be replaced by a profiling tool' for name in sorted(wanted & set(found)) if found[name] not in 'WV']
    wrong += [f'P{name} is weak' for name in sorted(wanted) if found.get('P' + name) != 'T']
    named = {word for line in output('readelf', '-rW', library).splitlines() for word in re.findall(r'\bP?MPI_\w+', line)}
    wrong += [f'{name} is called by the library itself, so a profiling tool would see it' for name in sorted(named)]
    dynamic = output('readelf', '-d', library)
    if not re.search(r'FLAGS_1.*NODELETE', dynamic):
        wrong.append('the library may be unloaded')
    if 'soname: [libmpi_abi.so.1]' not in dynamic:
        wrong.append('the soname is not libmpi_abi.so.1')
    print('\n'.join(wrong) or f'{len(wanted)} functions and their twins')
    return bool(wrong)


sys.exit(main())
