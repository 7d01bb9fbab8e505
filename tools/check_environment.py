#!/usr/bin/env python3
"""docs/environment.md is what the configuration table says.
usage: check_environment.py MPTINFO PAGE            compares
       check_environment.py --write MPTINFO PAGE    writes the page (make docs)"""
import difflib
import pathlib
import subprocess
import sys

write = sys.argv[1] == '--write'
mptinfo, page = sys.argv[-2], pathlib.Path(sys.argv[-1])
now = subprocess.run([mptinfo, '--markdown'], check=True, capture_output=True, text=True).stdout
if write:
    page.write_text(now)
    sys.exit(0)
there = page.read_text() if page.exists() else ''
difference = list(difflib.unified_diff(there.splitlines(), now.splitlines(), str(page), 'mptinfo --markdown', lineterm='', n=0))
print('\n'.join(difference) + f'\n{page}: is not what the table says; run "make docs"' if difference else f'{page} is what the table says')
sys.exit(bool(difference))
