#!/usr/bin/env python3
"""Public headers: include/mpt/headers.txt lists exactly those of the folder, sorted; each opens with `/// room/name - what it is`
and has #pragma once before any other code; a header is at most 400 lines long and uses no macro of its own but those of MACROS.
usage: check_headers.py [ROOT | --self-test]"""
import re

import lint

LONGEST = 400
# Macros that a header may define, each with its reason.
MACROS = {
    'MPT_THREAD_SANITIZER': 'two compilers say it in two ways; needed where the preprocessor decides',
    'MPT_ASSERT': 'says the text of a condition, and evaluates it only at its level',
    'MPT_ASSERT_LEVEL': 'set on the command line',
    'MPT_BY_32': 'an attribute, which nothing else can name',
    'MPT_BY_64': 'an attribute, which nothing else can name',
}


def check_list(root, found):
    lines = (root / 'include/mpt/headers.txt').read_text().splitlines()
    names = [x.strip() for x in lines if x.strip() and not x.startswith('#')]
    errors = [f'include/mpt/headers.txt: lacks {h}' for h in sorted(set(found) - set(names))]
    errors += [f'include/mpt/headers.txt: lists {h}, which does not exist' for h in sorted(set(names) - set(found))]
    errors += [f'include/mpt/headers.txt: lists {h} twice' for h in sorted({n for n in names if names.count(n) > 1})]
    if names != sorted(names):
        errors.append('include/mpt/headers.txt: is not sorted')
    return errors


def tails(title):
    """transport/smp/ring, smp/ring, ring"""
    parts = title.split('/')
    return ['/'.join(parts[n:]) for n in range(len(parts))]


def check_header(name, text):
    lines, errors, path = text.splitlines(), [], 'include/mpt/' + name
    title = name.removesuffix('.hpp')
    endings = '|'.join(re.escape(t) for part in tails(title) for t in (part, part.replace('/', '::')))
    if not lines or not re.match(rf'/// (?:{endings}|mpt)\b.* - \S', lines[0]):
        errors.append(f'{path}:1: opens with "/// {title} - what it is" (or the end of that path)')
    code = [(n, lint.split_line(x)[0].strip()) for n, x in enumerate(lines, 1)]
    first = next(((n, c) for n, c in code if c), (1, ''))
    if first[1] != '#pragma once':
        errors.append(f'{path}:{first[0]}: #pragma once comes before all other code')
    if len(lines) > LONGEST:
        errors.append(f'{path}:{LONGEST + 1}: {len(lines)} lines; a header has at most {LONGEST}')
    for n, c in code:
        if (m := re.match(r'#\s*define\s+(\w+)', c)) and m[1] not in MACROS:
            errors.append(f'{path}:{n}: macro {m[1]}; use a constant, a function or a template')
        if re.search(r'\bthread_local\b', c):
            errors.append(f'{path}:{n}: thread_local: a rank may be a thread or a fibre; state belongs to the environment')
        if re.search(r'\busing\s+namespace\b', c) and 'literals' not in c:
            errors.append(f'{path}:{n}: using namespace in a header')
    return errors


def check(root):
    found = [h.removeprefix('include/mpt/') for h in lint.headers(root)]
    errors = check_list(root, found)
    for name in found:
        errors += check_header(name, (root / 'include/mpt' / name).read_text())
    return errors, f'{len(found)} headers, listed, with essays'


FINE = '/// a/b - a thing.\n#pragma once\n#include <atomic>\n'
GOOD = {'include/mpt/a/b.hpp': FINE, 'include/mpt/headers.txt': '# list\na/b.hpp\n'}


def changed(what, text, expected):
    return what, {'include/mpt/a/b.hpp': text}, expected


FAULTS = [
    ('a header that is not listed', {'include/mpt/a/c.hpp': FINE}, 'lacks a/c.hpp'),
    ('a listed header that is gone', {'include/mpt/a/b.hpp': None}, 'lists a/b.hpp, which does not exist'),
    ('a header listed twice', {'include/mpt/headers.txt': 'a/b.hpp\na/b.hpp\n'}, 'twice'),
    ('an unsorted list', {'include/mpt/headers.txt': 'a/c.hpp\na/b.hpp\n'}, 'not sorted'),
    changed('no essay', '#pragma once\n', 'opens with "/// a/b - what it is"'),
    changed('an essay about something else', '/// a/c - a thing.\n#pragma once\n', 'opens with "/// a/b - what it is"'),
    changed('no pragma once', '/// a/b - a thing.\n#include <atomic>\n', '#pragma once comes before'),
    changed('a late pragma once', '/// a/b - a thing.\n#include <atomic>\n#pragma once\n', '#pragma once comes before'),
    changed('a long header', FINE + '\n' * 400, 'at most 400'),
    changed('a macro', FINE + '#define TWO 2\n', 'macro TWO'),
    changed('thread_local', FINE + 'inline thread_local int x;\n', 'thread_local'),
    changed('using namespace', FINE + 'using namespace std;\n', 'using namespace'),
]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
