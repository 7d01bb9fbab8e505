#!/usr/bin/env python3
"""Prints what ninja has to build for the tests of some suites, where not everything is wanted.
usage: test_targets.py BUILD SUITE..."""
import json
import pathlib
import sys

build, suites = pathlib.Path(sys.argv[1]).resolve(), set(sys.argv[2:])
info = build / 'meson-info'
files = {t['id']: t['filename'] for t in json.loads((info / 'intro-targets.json').read_text())}
wanted = set()
for test in json.loads((info / 'intro-tests.json').read_text()):
    if {s.rpartition(':')[2] for s in test['suite']} & suites:
        wanted.update(test['cmd'], *(files.get(d, []) for d in test['depends']))
inside = [p.relative_to(build) for p in map(pathlib.Path, wanted) if p.is_relative_to(build) and '..' not in p.parts]
print('\n'.join(sorted(map(str, inside))))
