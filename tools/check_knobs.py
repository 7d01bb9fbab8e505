#!/usr/bin/env python3
"""Every variable of the configuration table is read by somebody, and no variable of ours is read around the table.
usage: check_knobs.py [ROOT | --self-test]"""
import re

import lint

TABLE = 'include/mpt/config/table'  # its lists
ROW = re.compile(r'\b(?:word|count|size|toggle|text)\s*\(\s*"(MPT_\w+)"')
READ = re.compile(r'<\s*"(MPT_\w+)"\s*>')
AROUND = re.compile(r'getenv\(\s*"(MPT_\w+)"')
# Knobs whose reader has not landed, each with its reason.
UNREAD = {
}


def check(root):
    errors, read = [], set()
    for path in lint.sources(root, 'include', 'src', 'bindings'):
        text = '\n'.join(x for x in (root / path).read_text().splitlines() if not x.lstrip().startswith('//'))
        read |= set(READ.findall(text))
        for name in AROUND.findall(text) if not path.startswith('bindings/') else []:
            errors.append(f'{path}:1: reads {name} with getenv; use config::values')
    rows = [name for part in sorted((root / TABLE).glob('*.hpp')) for name in ROW.findall(part.read_text())]
    for name in rows:
        if name not in read and name not in UNREAD:
            errors.append(f'{TABLE}: {name} is read by nobody')
        if name in read and name in UNREAD:
            errors.append(f'tools/check_knobs.py: excuses {name}, which is read')
    if (root / 'tools').exists():
        errors += [f'tools/check_knobs.py: excuses {n}, which is no row' for n in UNREAD if n not in rows]
    return errors, f'{len(rows)} variables, each read through the table ({len(UNREAD)} excused)'


GOOD = {TABLE + '/a.hpp': '        count ("MPT_A", 1, 1, 1,\n            "help", guess),\n', 'include/mpt/a/b.hpp': 'auto x = v.get<"MPT_A">();\n'}
FAULTS = [
    ('a knob that nobody reads', {'include/mpt/a/b.hpp': ''}, 'MPT_A is read by nobody'),
    ('a knob read in a comment only', {'include/mpt/a/b.hpp': '// v.get<"MPT_A">()\n'}, 'MPT_A is read by nobody'),
    ('a variable read around the table', {'src/x.cpp': 'getenv("MPT_A");\n'}, 'src/x.cpp:1: reads MPT_A with getenv'),
]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
