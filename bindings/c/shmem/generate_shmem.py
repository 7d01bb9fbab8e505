#!/usr/bin/env python3
"""Generates from the table of OpenSHMEM's interface (shmem_api.tbl; docs/c-binding.md).
usage: generate_shmem.py --what header|profiling|entries|exports|names OUTPUT [--part N/M] [--table FILE]
  header     shmem.h
  profiling  pshmem.h
  entries    the entry points, or the N-th of M parts of them
  exports    the version script of the library: the names of all functions and of their twins
  names      the names of all functions, sorted"""
import argparse
import pathlib
import sys

import families
import reading
import shmem_entries
import shmem_header


def names(api):
    return ''.join(f'{name}\n' for name in sorted(f.name for f in api.functions()))


def exports(api):
    both = sorted(twin for f in api.functions() for twin in (f.name, 'p' + f.name))
    return '{\nglobal:\n' + ''.join(f'    {name};\n' for name in both) + 'local: *;\n};\n'


def part_of(functions, part):
    """The n-th of m parts: as many functions each, in the order of the table."""
    n, m = map(int, part.split('/'))
    return functions[len(functions) * (n - 1) // m:len(functions) * n // m]


OUTPUTS = {'header': shmem_header.text, 'profiling': shmem_header.profiling, 'exports': exports, 'names': names}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--what', choices=sorted([*OUTPUTS, 'entries']), required=True)
    parser.add_argument('--part', default='1/1')
    parser.add_argument('--table', type=pathlib.Path, default=families.TABLE)
    parser.add_argument('output', type=pathlib.Path)
    given = parser.parse_args()
    try:
        api = families.read(given.table)
    except reading.Faults as faults:
        sys.exit(str(faults))
    text = shmem_entries.text(part_of(api.functions(), given.part)) if given.what == 'entries' else OUTPUTS[given.what](api)
    given.output.write_text(text)


if __name__ == '__main__':
    main()
