#!/usr/bin/env python3
"""How long functions are and how deeply they nest. House style: at most 40 lines and 3 levels. Found by braces and indentation of
formatted code, which is not exact enough to be judged: this lint reports the longest, and fails only beyond twice the rule.
usage: check_lengths.py [ROOT | --self-test]"""
import re

import lint

RULE, LIMIT = 40, 80
LEVELS = 3
NOT_A_FUNCTION = re.compile(r'^\s*(namespace|struct|class|enum|union|extern|requires|concept|template\s*<[^>]*>\s*(struct|class|concept))\b')
CONTROL = re.compile(r'^\s*(\}\s*)?(if|else|for|while|switch|do|try|catch)\b')


def functions(lines):
    """(first line, last line, deepest level of control flow) of each function body, lambdas counted with what holds them."""
    stack, pending = [], ''
    for n, line in enumerate(lines, 1):
        code = lint.split_line(line)[0]
        if code.lstrip().startswith('#'):
            continue
        for part in re.split(r'([{};])', code):
            if part == '{':
                kind = 'other' if NOT_A_FUNCTION.match(pending) else 'control' if CONTROL.match(pending) else 'body' if ')' in pending else 'other'
                stack.append((kind, n))
                pending = ''
            elif part == '}':
                if stack:
                    yield from close(stack, n)
                pending = ''
            elif part == ';':
                pending = ''
            else:
                pending = (pending + ' ' + part.strip()).strip()


def close(stack, n):
    kind, first = stack.pop()
    inside = any(k == 'body' for k, _ in stack)
    depth = sum(k == 'control' for k, _ in stack) + 1
    if kind == 'control' and inside:
        yield first, n, depth
    elif kind == 'body' and not inside:
        yield first, n, 0


def check(root):
    errors, long, deep, count = [], [], [], 0
    for rel in lint.sources(root, 'include', 'src', 'bindings'):
        for first, last, depth in functions((root / rel).read_text().splitlines()):
            if depth:
                deep += [(depth, f'{rel}:{first}')] * (depth > LEVELS)
                continue
            count += 1
            length = last - first + 1
            if length > LIMIT:
                errors.append(f'{rel}:{first}: a function of {length} lines; the rule is {RULE}')
            elif length > RULE:
                long.append((length, f'{rel}:{first}'))
    report = [f'{count} functions; {len(long)} are longer than {RULE} lines, {len(deep)} places nest deeper than {LEVELS}']
    report += [f'  {n} lines  {where}' for n, where in sorted(long, reverse=True)[:10]]
    report += [f'  {n} levels {where}' for n, where in sorted(deep, reverse=True)[:10]]
    return errors, '\n'.join(report)


GOOD = {'src/a.cpp': 'namespace x {\nstruct y {\n    int f() {\n        if (1) {\n            g();\n        }\n' + '        g();\n' * 30 + '    }\n};\n'
        + '// a comment { that opens\n' * 100 + '} // namespace x\n'}
FAULTS = [
    ('a long function', {'src/b.cpp': 'int f() {\n' + '    g();\n' * 100 + '}\n'}, 'src/b.cpp:1: a function of 102 lines'),
    ('a long member', {'src/b.cpp': 'struct x {\n    int f(int a,\n          int b) const noexcept {\n' + '        g();\n' * 100 + '    }\n};\n'}, 'src/b.cpp:3: a function of 102'),
    ('with control flow', {'src/b.cpp': 'int f() {\n    for (;;) {\n' + '        g();\n' * 100 + '    }\n}\n'}, 'src/b.cpp:1: a function of 104 lines'),
]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
