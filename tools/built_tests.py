#!/usr/bin/env python3
"""Prints the names of the tests of some suites whose programs exist, those that they start too: what can be run where not everything
is compiled.
usage: built_tests.py BUILD SUITE..."""
import json
import os
import pathlib
import sys

build, suites = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
files = {t['id']: t['filename'] for t in json.loads((build / 'meson-info/intro-targets.json').read_text())}
for test in json.loads((build / 'meson-info/intro-tests.json').read_text()):
    mine = {s.rpartition(':')[2] for s in test['suite']}
    programs = [a for a in test['cmd'] if os.path.isabs(a) and str(build.resolve()) in a]
    programs += [f for d in test['depends'] for f in files.get(d, [])]
    if mine & suites and all(os.path.exists(p) for p in programs):
        print(test['name'])
