#!/usr/bin/env python3
"""Writes include/mpt/headers.txt anew from the folder: for people who add a header."""
import pathlib

import lint

root = pathlib.Path(__file__).resolve().parent.parent
names = sorted(h.removeprefix('include/mpt/') for h in lint.headers(root))
text = '# The public headers, one per line, sorted; each is installed and compiled alone. (make docs writes this file.)\n'
(root / 'include/mpt/headers.txt').write_text(text + '\n'.join(names) + '\n')
