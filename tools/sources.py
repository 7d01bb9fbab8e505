#!/usr/bin/env python3
"""Prints our C and C++ files, one per line."""
import pathlib

import lint

root = pathlib.Path(__file__).resolve().parent.parent
print('\n'.join(lint.sources(root, 'include', 'src', 'bindings', 'test', 'bench', 'examples')))
