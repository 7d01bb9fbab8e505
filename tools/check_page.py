#!/usr/bin/env python3
"""A generated page of docs/ is what its program prints with --markdown.
usage: check_page.py PROGRAM PAGE            compares
       check_page.py --write PROGRAM PAGE    writes the page (make docs)"""
import difflib
import pathlib
import subprocess
import sys

write = sys.argv[1] == '--write'
program, page = sys.argv[-2], pathlib.Path(sys.argv[-1])
now = subprocess.run([program, '--markdown'], check=True, capture_output=True, text=True).stdout
if write:
    page.write_text(now)
    sys.exit(0)
there = page.read_text() if page.exists() else ''
shown = pathlib.Path(program).name + ' --markdown'
difference = list(difflib.unified_diff(there.splitlines(), now.splitlines(), str(page), shown, lineterm='', n=0))
print('\n'.join(difference) + f'\n{page}: is not what {shown} says; run "make docs"' if difference else f'{page} is what {shown} says')
sys.exit(bool(difference))
