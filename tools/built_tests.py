#!/usr/bin/env python3
"""Prints the names of the tests of some suites whose programs exist: what can be run where not everything compiles.
usage: built_tests.py BUILD SUITE..."""
import json
import os
import pathlib
import sys

build, suites = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
for test in json.loads((build / 'meson-info/intro-tests.json').read_text()):
    mine = {s.rpartition(':')[2] for s in test['suite']}
    programs = [a for a in test['cmd'] if os.path.isabs(a) and str(build.resolve()) in a]
    if mine & suites and all(os.path.exists(p) for p in programs):
        print(test['name'])
