#!/usr/bin/env python3
"""README.md and docs/ show code that exists: a block of ```cpp or ```c begins with `// path` and stands in that file word for word,
in one piece; of a block of ```diff, which begins so too, each line does. What is named as `file.hpp:function` is there: paths count
from the root or from include/mpt. Links lead somewhere.
usage: check_readme.py [ROOT | --self-test]"""
import re

import lint

BLOCK = re.compile(r'^```(cpp|c|diff)\n(.*?)^```$', re.M | re.S)
LINK = re.compile(r'\]\((?!https?://|#)([^)#]+)')
STEP = re.compile(r'`([\w./-]+\.[ch]pp):(\w+)`')


def pages(root):
    return [p for p in [root / 'README.md', *sorted(root.glob('docs/*.md')), *sorted(root.glob('examples/*/README.md'))] if p.is_file()]


def stands_in(kind, code, text):
    if kind != 'diff':
        return code.strip('\n') in text
    return all(line[1:] in text.split('\n') for line in code.strip('\n').split('\n'))


def check_code(root, name, text):
    for m in BLOCK.finditer(text):
        line = text[:m.start()].count('\n') + 1
        first, _, rest = m[2].partition('\n')
        path = root / first.removeprefix('// ').strip()
        if not first.startswith('// ') or not path.is_file():
            yield f'{name}:{line}: code begins with "// path/of/file"'
        elif not stands_in(m[1], rest, path.read_text()):
            yield f'{name}:{line}: is not what {first.removeprefix("// ")} says'


def check_steps(root, name, text):
    for file, function in STEP.findall(text):
        path = next((p for p in (root / 'include/mpt' / file, root / file) if p.is_file()), None)
        if path is None:
            yield f'{name}: names {file}, which does not exist'
        elif not re.search(rf'\b{function}\(|\b(struct|class|using)\s+([\w:<>, ]+::)?{function}\b', path.read_text()):
            yield f'{name}: names {function} in {file}, which is not there'


def check(root):
    errors, blocks, steps = [], 0, 0
    for page in pages(root):
        text, name = page.read_text(), page.relative_to(root).as_posix()
        blocks += len(BLOCK.findall(text))
        steps += len(STEP.findall(text))
        errors += [*check_code(root, name, text), *check_steps(root, name, text)]
        errors += [f'{name}: links to {p}, which does not exist' for p in LINK.findall(BLOCK.sub('', text)) if not (page.parent / p).exists()]
    return errors, f'{blocks} pieces of code, all in their files; {steps} functions, all in theirs'


GOOD = {'README.md': 'x\n```cpp\n// a.cpp\nint f();\n```\n[b](a.cpp) [c](https://example.org) [d](docs/p.md#here)\n',
        'docs/p.md': '[r](../README.md)\n```diff\n// a.cpp\n-int f();\n+int g();\n```\n`a.cpp:f` `core/h.hpp:thing`\n',
        'include/mpt/core/h.hpp': 'struct thing {};\n', 'a.cpp': '// a\nint f();\n\nint g();\n'}
FAULTS = [
    ('code that is elsewhere otherwise', {'a.cpp': 'int f(int);\nint g();\n'}, 'README.md:2: is not what a.cpp says'),
    ('code from nowhere', {'a.cpp': None}, 'code begins with'),
    ('code without a place', {'README.md': '```cpp\nint f();\n```\n'}, 'README.md:1: code begins with'),
    ('C without a place', {'docs/p.md': '```c\nint f();\n```\n'}, 'docs/p.md:1: code begins with'),
    ('a line of a diff that is nowhere', {'a.cpp': 'int f();\n'}, 'docs/p.md:2: is not what a.cpp says'),
    ('a dead link', {'README.md': '[b](b.md)\n'}, 'links to b.md'),
    ('a dead link in a folder', {'docs/p.md': '[b](README.md)\n'}, 'docs/p.md: links to README.md'),
    ('a function that is gone', {'include/mpt/core/h.hpp': 'struct other {};\n'}, 'names thing in core/h.hpp, which is not there'),
    ('a file that is gone', {'include/mpt/core/h.hpp': None}, 'names core/h.hpp, which does not exist'),
]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
