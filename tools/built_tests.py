#!/usr/bin/env python3
"""Prints the arguments with which `meson test` runs those tests of some suites whose programs exist, those that they start too: what can
be run where not everything is compiled. Nothing: there is none. Meson knows tests by their names, and a name may stand in several
suites: the suites are among the arguments, and a name is not if one of them cannot run.
usage: built_tests.py BUILD SUITE..."""
import json
import os
import pathlib
import sys

build, suites = pathlib.Path(sys.argv[1]), sys.argv[2:]
files = {t['id']: t['filename'] for t in json.loads((build / 'meson-info/intro-targets.json').read_text())}
built = {}
for test in json.loads((build / 'meson-info/intro-tests.json').read_text()):
    if {s.rpartition(':')[2] for s in test['suite']} & set(suites):
        programs = [a for a in test['cmd'] if os.path.isabs(a) and str(build.resolve()) in a]
        programs += [f for d in test['depends'] for f in files.get(d, [])]
        built[test['name']] = built.get(test['name'], True) and all(os.path.exists(p) for p in programs)
names = [name for name, is_there in built.items() if is_there]
if names:
    print('\n'.join([*(f'--suite={s}' for s in suites), *names]))
