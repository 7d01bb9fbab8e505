#!/usr/bin/env python3
"""Generates from the tables of the C interface (mpi_api.tbl, mpi_constants.tbl; docs/c-binding.md).
usage: generate.py --what header|prototypes|names|coverage|declarations|entries|unchecked|exports|reference OUTPUT [--chapter N] [--check] [--api FILE] [--constants FILE]
  header      mpi.h
  prototypes  one line a function: name, what it returns, parameters; separated by tabs
  names       the names of all functions, MPI_ and PMPI_, sorted: what the library exports
  coverage    docs/coverage-mpi.md: the state of every function
  declarations  entries.hpp: what the library's chapters implement
  entries     the entry points of one chapter, with their checks (--chapter)
  unchecked   the same without
  exports     the version script of the library: those names and nothing else
  reference   a page of the manual for each function; OUTPUT is their folder, whose pages it replaces
--check writes nothing, and fails where OUTPUT is not what would be written."""
import argparse
import itertools
import pathlib
import sys

import constants as constants_table
import coverage
import declare
import entries
import header
import reading
import reference
import table

HERE = pathlib.Path(__file__).resolve().parent


def prototypes(api, constants):
    lines = []
    for function in api.functions():
        for form in function.forms():
            inside = '; '.join(' '.join(pair) if pair[0] != '...' else '...' for pair in declare.parameters(form, constants))
            lines.append(f'{form[0]}\t{function.returns.c}\t{inside or "void"}')
    return '\n'.join(['name\treturn\tparameters', *sorted(lines)]) + '\n'


def names(api, _):
    found = [name for function in api.functions() for name, _, _ in function.forms()]
    return '\n'.join(sorted(found + ['P' + name for name in found])) + '\n'


def exports(api, constants):
    return '{\nglobal:\n' + ''.join(f'    {name};\n' for name in names(api, constants).split()) + 'local: *;\n};\n'


OUTPUTS = {'header': header.text, 'prototypes': prototypes, 'names': names, 'coverage': coverage.page,
           'declarations': entries.declarations, 'exports': exports}
OF_CHAPTERS = {'entries': True, 'unchecked': False}


def read(api_path, constants_path):
    constants = constants_table.read(constants_path)
    return table.read(api_path, constants), constants


def write_pages(folder, pages):
    """A folder of pages made anew: what is no longer written does not stay."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob('*.3'):
        old.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text)


def difference(path, text):
    """None, or the sentence that says that a file is not what would be written."""
    if not path.exists():
        return f'{path}:1: does not exist; run "make docs"'
    lines = itertools.zip_longest(path.read_text().splitlines(), text.splitlines())
    line = next((n for n, (is_, wanted) in enumerate(lines, 1) if is_ != wanted), None)
    return line and f'{path}:{line}: is not current; run "make docs"'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--what', choices=sorted([*OUTPUTS, *OF_CHAPTERS, 'reference']), required=True)
    parser.add_argument('--api', type=pathlib.Path, default=HERE / 'mpi_api.tbl')
    parser.add_argument('--constants', type=pathlib.Path, default=HERE / 'mpi_constants.tbl')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--chapter', type=int)
    parser.add_argument('output', type=pathlib.Path)
    given = parser.parse_args()
    if given.check and given.what == 'reference':
        parser.error('--check compares one file, and reference is a folder')
    try:
        tables = read(given.api, given.constants)
        if given.what == 'reference':
            return write_pages(given.output, reference.pages(*tables))
        text = (entries.chapter(*tables, given.chapter, OF_CHAPTERS[given.what]) if given.what in OF_CHAPTERS
                else OUTPUTS[given.what](*tables))
    except reading.Faults as faults:
        sys.exit(str(faults))
    if given.check:
        sys.exit(difference(given.output, text))
    return given.output.write_text(text)


if __name__ == '__main__':
    main()
