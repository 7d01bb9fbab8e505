#!/usr/bin/env python3
"""clang-format 16 has nothing to change in any of our files (`make format` applies it). Without that version: skipped.
usage: check_format.py [ROOT | --self-test]"""
import concurrent.futures
import itertools
import shutil
import subprocess
import sys

import lint

TOOL = 'clang-format-16'


def check_file(root, rel):
    """None, or what is wrong. (--dry-run also complains of replacements that change nothing.)"""
    done = subprocess.run([TOOL, rel], cwd=root, capture_output=True)
    if done.returncode:
        return f'{rel}: {done.stderr.decode().strip()}'
    is_, wanted = (root / rel).read_bytes().splitlines(), done.stdout.splitlines()
    pairs = itertools.zip_longest(is_, wanted)
    line = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), None)
    return line and f'{rel}:{line}: is not formatted; run "make format"'


def check(root):
    files = list(lint.sources(root, 'include', 'src', 'bindings', 'test', 'bench', 'examples'))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        errors = [e for e in pool.map(lambda rel: check_file(root, rel), files) if e]
    return errors, f'{len(files)} files are formatted'


GOOD = {'.clang-format': 'BasedOnStyle: LLVM\nIndentWidth: 4\n', 'src/a.cpp': 'int f() {\n    int a = 1;\n    return a;\n}\n'}
FAULTS = [('an indent of three', {'src/a.cpp': 'int f() {\n   int a = 1;\n    return a;\n}\n'}, 'src/a.cpp:2')]
if __name__ == '__main__':
    if not shutil.which(TOOL):
        print(f'skipped: {TOOL} is not installed')
        sys.exit(77)
    lint.main(check, GOOD, FAULTS)
