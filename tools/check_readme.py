#!/usr/bin/env python3
"""README.md shows code that exists: a ```cpp block begins with `// path`, and stands in that file word for word, in one piece.
usage: check_readme.py [ROOT | --self-test]"""
import re

import lint

BLOCK = re.compile(r'^```cpp\n(.*?)^```$', re.M | re.S)
LINK = re.compile(r'\]\((?!https?://|#)([^)]+)\)')


def check(root):
    text, errors, blocks = (root / 'README.md').read_text(), [], 0
    for m in BLOCK.finditer(text):
        blocks += 1
        line = text[:m.start()].count('\n') + 1
        first, _, rest = m[1].partition('\n')
        path = root / first.removeprefix('// ').strip()
        if not first.startswith('// ') or not path.is_file():
            errors.append(f'README.md:{line}: code begins with "// path/of/file"')
        elif rest.strip('\n') not in path.read_text():
            errors.append(f'README.md:{line}: is not what {first.removeprefix("// ")} says')
    errors += [f'README.md: links to {p}, which does not exist' for p in LINK.findall(text) if not (root / p).exists()]
    return errors, f'{blocks} pieces of code, all in their files'


GOOD = {'README.md': 'x\n```cpp\n// a.cpp\nint f();\n```\n[b](a.cpp) [c](https://example.org)\n', 'a.cpp': '// a\nint f();\nint g();\n'}
FAULTS = [
    ('code that is elsewhere otherwise', {'a.cpp': 'int f(int);\n'}, 'README.md:2: is not what a.cpp says'),
    ('code from nowhere', {'a.cpp': None}, 'code begins with'),
    ('code without a place', {'README.md': '```cpp\nint f();\n```\n'}, 'README.md:1: code begins with'),
    ('a dead link', {'README.md': '[b](b.md)\n'}, 'links to b.md'),
]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
