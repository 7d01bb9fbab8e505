"""What the lints share: reading the tree, taking comments and strings out of a line, and planting faults in a copy.

A lint is a function `check(root) -> (errors, summary)`. Run on the tree it prints one `file:line: sentence` per error and exits
with 1, or prints its summary. With --self-test it plants the faults of its table, one at a time, in a small tree of its own, and
each must be found, with the words that the table expects; the tree without a fault must pass."""
import pathlib
import re
import sys
import tempfile

SOURCE = {'.hpp', '.cpp', '.h', '.c'}
PUBLIC = 'include/mpt'


def sources(root, *folders):
    """Our C and C++ files under the given folders, sorted, as paths relative to root."""
    for folder in folders:
        for p in sorted((root / folder).rglob('*')):
            if p.suffix in SOURCE and p.is_file():
                yield p.relative_to(root).as_posix()


def headers(root):
    return [p for p in sources(root, PUBLIC) if p.endswith('.hpp')]


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'|//.*')


def split_line(line):
    """(code, comment) of one line; strings are emptied. Block comments are not our style and are not understood."""
    comment = ''

    def take(m):
        nonlocal comment
        if m[0].startswith('//'):
            comment = m[0]
            return ''
        return m[0][0] * 2

    return TOKEN.sub(take, line), comment


def write_tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def self_test(check, good, faults):
    """good: {path: text}. faults: [(what, {path: text or None to delete}, expected words)]."""
    wrong = []
    cases = [('the tree without a fault', {}, None)] + list(faults)
    for what, change, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            write_tree(root, {k: v for k, v in {**good, **change}.items() if v is not None})
            errors, _ = check(root)
        if expected is None and errors:
            wrong.append(f'{what}: {errors}')
        elif expected is not None and not any(expected in e for e in errors):
            wrong.append(f'{what}: expected "{expected}", got {errors or "nothing"}')
    print('\n'.join(wrong) or f'{len(cases) - 1} planted faults, all found')
    return bool(wrong)


def main(check, good, faults):
    if '--self-test' in sys.argv:
        sys.exit(self_test(check, good, faults))
    errors, summary = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else '.').resolve())
    print('\n'.join(errors) or summary)
    sys.exit(bool(errors))
