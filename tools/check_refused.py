#!/usr/bin/env python3
"""Misuse does not compile, and the compiler says one sentence. A file of test/refused compiles without its marked lines,
    code // refused: sentence
and with any single one of them it does not; the sentence is among the compiler's words.
usage: check_refused.py ROOT COMPILER [ARGUMENTS...]    |    check_refused.py --self-test COMPILER [ARGUMENTS...]"""
import pathlib
import re
import subprocess
import sys

import lint

MARK = re.compile(r'//\s*refused:\s*(.+?)\s*$')


def compile_text(compiler, text, root):
    """What the compiler says of a source text; nothing when it takes it."""
    command = compiler + ['-fsyntax-only', '-I', str(root / 'include'), '-x', 'c++', '-']
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return '' if done.returncode == 0 else done.stderr or 'refused without a word'


def check_with(compiler):
    def check(root):
        errors, cases = [], 0
        for path in lint.sources(root, 'test/refused'):
            lines = (root / path).read_text().splitlines()
            marked = {n: MARK.search(x)[1] for n, x in enumerate(lines) if MARK.search(x)}
            if not marked:
                errors.append(f'{path}:1: marks no line with "// refused: sentence"')

            def only(kept):
                code = [MARK.sub('', x) for x in lines] # the compiler quotes the line, and must not find the sentence there
                return '\n'.join('' if n in marked and n != kept else x for n, x in enumerate(code)) + '\n'

            if said := compile_text(compiler, only(None), root):
                errors.append(f'{path}:1: does not compile without its marked lines: {said.splitlines()[0]}')
                continue
            for n, sentence in marked.items():
                cases += 1
                said = compile_text(compiler, only(n), root)
                if not said:
                    errors.append(f'{path}:{n + 1}: compiles')
                elif sentence not in said:
                    errors.append(f'{path}:{n + 1}: is refused without "{sentence}"')
        return errors, f'{cases} misuses, each refused with its sentence'
    return check


GOOD = {'test/refused/a.cpp': 'static_assert(true);\nstatic_assert(false, "a sentence"); // refused: a sentence\n'}
FAULTS = [
    ('a misuse that compiles', {'test/refused/a.cpp': 'static_assert(true, "a"); // refused: a\n'}, 'a.cpp:1: compiles'),
    ('another sentence', {'test/refused/a.cpp': 'static_assert(false, "a"); // refused: b c d\n'}, 'is refused without "b c d"'),
    ('a file that does not compile at all', {'test/refused/a.cpp': 'int\nint x = y; // refused: y\n'}, 'does not compile without'),
    ('a file that marks nothing', {'test/refused/a.cpp': 'int x;\n'}, 'marks no line'),
]
if __name__ == '__main__':
    function = check_with(sys.argv[2:])
    if sys.argv[1] == '--self-test':
        sys.exit(lint.self_test(function, GOOD, FAULTS))
    found, summary = function(pathlib.Path(sys.argv[1]).resolve())
    print('\n'.join(found) or summary)
    sys.exit(bool(found))
