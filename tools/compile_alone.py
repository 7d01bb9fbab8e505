#!/usr/bin/env python3
"""Compiles one public header alone, included twice, and writes what the compiler said; tools/check_alone.py judges.
The build runs this once per header that changed, and it does not stop the build: a header in pieces is a failed test.
usage: compile_alone.py HEADER OUTPUT DEPFILE compiler [argument...]      HEADER as in #include <...>"""
import pathlib
import subprocess
import sys
import time


def main():
    header, output, depfile, *compiler = sys.argv[1:]
    start = time.monotonic()
    done = subprocess.run(
        [*compiler, '-fsyntax-only', '-Werror', '-MD', '-MF', depfile, '-MT', output, '-x', 'c++', '-'],
        input=f'#include <{header}>\n#include <{header}>\n', capture_output=True, text=True)
    seconds = time.monotonic() - start
    if not pathlib.Path(depfile).exists():
        pathlib.Path(depfile).write_text(f'{output}:\n')
    said = done.stderr + ('' if done.returncode == 0 else f'error: exit code {done.returncode}\n')
    pathlib.Path(output).write_text(f'{header} {seconds:.2f}\n{said}')


main()
