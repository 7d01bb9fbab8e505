#!/usr/bin/env python3
"""Every memory order is explained, every hand-over has two sides, and atomics come through one door.

    // sync(label): release | acquire | acq_rel | seq_cst     beside a stronger order; both sides of a label exist in the tree
    // order: why relaxed is enough                           beside a relaxed one

The comment stands on a line of the statement, on the line above it, or behind the brace that follows it. A bare fence, `std::atomic` and <atomic> stand only where
ALLOWED says. Read: include/, src/ and bindings/ (tests may do as they like).
usage: check_sync.py [ROOT | --self-test]
       check_sync.py --list [ROOT]        prints docs/memory-order.md, which must be what it prints"""
import collections
import pathlib
import re
import sys

import lint

ALLOWED = {
    'fence': {'include/mpt/core/fences.hpp',            # light, heavy, drain: what a pair of accesses cannot say
              'include/mpt/core/processor.hpp'},        # the instruction of drain
    'atomic': {'include/mpt/core/'},                    # the door: native_atomics
}
ORDER = re.compile(r'\bmemory_order(?:_|::)(relaxed|consume|acquire|release|acq_rel|seq_cst)\b')
SYNC = re.compile(r'\bsync\(([^)]*)\):\s*(\w+)')
WHY = re.compile(r'//.*\border:\s*\S')
LABEL = re.compile(r'[a-z][\w.-]*')
SIDES = {'acquire': 'in', 'release': 'out', 'acq_rel': 'both', 'seq_cst': 'both'}
ACCESS = re.compile(r'(\w+)(?:\[[^\]]*\]|\))*\s*(?:\.|->)\s*(load|store|exchange|fetch_\w+|compare_exchange_\w+|test_and_set)\s*\(')
ONLY_ATOMICS = re.compile(r'fetch_(?:add|sub|and|or|xor)|compare_exchange_\w+|test_and_set')
FENCE = re.compile(r'\b(?:atomic_thread_fence|atomic_signal_fence|__sync_synchronize|__builtin_ia32_[lsm]fence|_mm_[lsm]fence)\b')
DOOR = re.compile(r'\bstd::atomic(?:_ref|_flag)?\b|#\s*include\s*<atomic>|\b__atomic_\w+|\b__sync_\w+')
VOLATILE = re.compile(r'\bvolatile\b(?!\s*\()')                 # no order and no atomicity; asm volatile (...) is something else
KIND = r'(?:typename\s+)?(?:\w+::)*(?:template\s+)?atomic\s*<[^;<>]*>'
ALIAS = re.compile(rf'using\s+(\w+)\s*=\s*{KIND}\s*;')
DOCUMENT = 'docs/memory-order.md'


def statements(lines):
    """(first line, last line, code) of each statement, cut at ; { } and at blank or preprocessor lines. Lines count from 1."""
    start, code = None, ''
    for n, line in enumerate(lines, 1):
        text = lint.split_line(line)[0].strip()
        if not text or text.startswith('#'):
            if code and not text and lint.split_line(line)[1]:      # a comment line inside a statement
                continue
            if code:
                yield start, n - 1, code
            start, code = None, ''
            if text:
                yield n, n, text
            continue
        start, code = start or n, f'{code} {text}'
        if text[-1] in ';{}' and code.count('(') <= code.count(')'):
            yield start, n, code
            start, code = None, ''
    if code:
        yield start, len(lines), code


def unordered(code, names):
    """True where a statement has an atomic access without a memory order. `names` are those that the tree declares as atomics;
    others are believed to be one only where the function is an atomic's and nothing else's."""
    for m in ACCESS.finditer(code):
        depth, at = 1, m.end()
        while at < len(code) and depth:
            depth += {'(': 1, ')': -1}.get(code[at], 0)
            at += 1
        ours = m[1] in names or ONLY_ATOMICS.fullmatch(m[2])
        if ours and not re.search(r'memory_order|\border\b', code[m.end():at - 1]):
            return True
    return False


def atomic_names(text):
    """Names that this text declares as atomics: members, variables and parameters."""
    kinds = '|'.join({KIND} | set(ALIAS.findall(text)))
    return set(re.findall(rf'(?:^|[\s(,<])(?:{kinds})(?:\s+const)?\s*[&*]?\s+(\w+)\s*(?:\[[^\]]*\]\s*)?[;,){{=]', text, re.M))


def hidden_accesses(text):
    """Lines on which a member declared as an atomic is used by an operator: the order would be seq_cst without a word."""
    pointers = set(re.findall(r'\*\s*(\w+_)\b', text))
    names = {n for n in atomic_names(text) if n.endswith('_')} - pointers
    if names:
        one = '|'.join(map(re.escape, sorted(names)))
        use = re.compile(rf'(?:\+\+|--)\s*(?:{one})\b|\b(?:{one})\s*(?:\+\+|--|[-+&|^]?=(?!=))')
        for n, line in enumerate(text.split('\n'), 1):
            if m := use.search(line):
                yield n, m[0].strip()


def explain(rel, first, orders, comments, sides):
    """Errors of one statement whose memory orders are `orders` and whose neighbouring comments are `comments`."""
    labels, errors = SYNC.findall(comments), []
    for label, side in labels:
        if side not in SIDES:
            errors.append(f'{rel}:{first}: sync({label}) says "{side}"; it is acquire, release, acq_rel or seq_cst')
        elif not LABEL.fullmatch(label):
            errors.append(f'{rel}:{first}: sync({label}) is no label')
        elif side not in orders:
            errors.append(f'{rel}:{first}: comment says {side}, code says {", ".join(orders)}')
        else:
            sides[label].append((SIDES[side], side, rel))
    if 'consume' in orders:
        errors.append(f'{rel}:{first}: memory_order_consume is not used')
    if set(orders) == {'relaxed'}:
        if not WHY.search(comments):
            errors.append(f'{rel}:{first}: relaxed without "// order: why it is enough"')
    elif not labels:
        errors.append(f'{rel}:{first}: {", ".join(orders)} without "// sync(label): side"')
    return errors


def plain(text):
    """The text without comments and strings, line by line."""
    return '\n'.join(lint.split_line(x)[0] for x in text.splitlines())


def read_file(root, rel, names, sides):
    lines, errors = (root / rel).read_text().splitlines(), []
    for first, last, code in statements(lines):
        if unordered(code, names):
            errors.append(f'{rel}:{first}: atomic access with the default order')
        if FENCE.search(code) and rel not in ALLOWED['fence']:
            errors.append(f'{rel}:{first}: a bare fence: ThreadSanitizer cannot see it; order the access, or use core/fences.hpp')
        if (m := DOOR.search(code)) and not any(rel.startswith(a) for a in ALLOWED['atomic']):
            errors.append(f'{rel}:{first}: "{m[0].strip()}": atomics come through World::atomics or native_atomics (core/atomics.hpp)')
        if VOLATILE.search(re.sub(r'\basm\s+volatile\b', '', code)) and rel.startswith('include/'):
            errors.append(f'{rel}:{first}: volatile orders nothing: use an atomic')
        orders = ORDER.findall(code)
        if orders and rel not in ALLOWED['fence']:
            above = lines[first - 2] if first > 1 and not lint.split_line(lines[first - 2])[0].strip() else ''
            below = lines[last] if last < len(lines) and lint.split_line(lines[last])[0].strip() in ('}', '};') else ''
            comments = '\n'.join(lint.split_line(x)[1] for x in [above] + lines[first - 1:last] + [below])
            errors += explain(rel, first, orders, comments, sides)
    errors += [f'{rel}:{n}: "{use}" uses an atomic by its operator: name the order' for n, use in hidden_accesses(plain('\n'.join(lines)))]
    return errors


def table(sides):
    """docs/memory-order.md. Files without line numbers, so that it changes only when a hand-over does."""
    def column(label, which):
        found = collections.Counter((rel.removeprefix('include/mpt/'), side) for w, side, rel in sides[label] if w in which)
        return '<br>'.join(sorted({f'{rel} ({side})' for rel, side in found}))
    rows = [f'| {label} | {column(label, ("out", "both"))} | {column(label, ("in", "both"))} |' for label in sorted(sides)]
    return '\n'.join([
        '# Hand-overs', '',
        'Every pair of accesses that orders memory, by the name that stands beside both of its sides: `// sync(name): side`.',
        'What the writer did before the left side, the reader sees after the right one. Made by `make docs` from the headers',
        '(`tools/check_sync.py --list`) and compared with them by the lint `sync`.', '',
        '| hand-over | released in | acquired in |', '|---|---|---|', *rows, ''])


def survey(root):
    sides, errors = collections.defaultdict(list), []
    files = list(lint.sources(root, 'include', 'src', 'bindings'))
    names = set().union(*(atomic_names(plain((root / rel).read_text())) for rel in files))
    for rel in files:
        errors += read_file(root, rel, names, sides)
    for label, found in sorted(sides.items()):
        which = {w for w, _, _ in found}
        if 'both' in which:
            continue
        for side, name in (('in', 'acquires'), ('out', 'releases')):
            if side not in which:
                errors.append(f'{found[0][2]}: sync({label}) has one side only: nobody {name}')
    return errors, sides


def check(root):
    errors, sides = survey(root)
    document = root / DOCUMENT
    if not document.exists() or document.read_text() != table(sides):
        errors.append(f'{DOCUMENT}: is not what the headers say; run "make docs"')
    return errors, f'{len(sides)} hand-overs, each with two sides'


A = '#include <mpt/core/atomics.hpp>\n'
PAIR = ('struct x {\n    using word = native_atomics::atomic<int>;\n    word a_{0};\n'
        '    void swap(team& t) { t.exchange(1); } // another word, not an atomic\n'
        '    void f() { a_.store(1, std::memory_order_release); } // sync(x.a): release\n'
        '    // sync(x.a): acquire\n    int g() { return a_.load(std::memory_order_acquire); }\n'
        '    // order: nobody reads what it guards\n    int h() { return a_.load(std::memory_order_relaxed); }\n'
        '    int k() {\n        return a_.load(std::memory_order_relaxed);\n    } // order: a hint\n'
        '    bool i(int e) {\n        return a_.compare_exchange_strong(e, 1,\n            std::memory_order_acq_rel, // sync(x.b): acq_rel\n'
        '            std::memory_order_relaxed);\n    }\n};\n')
GOOD = {
    'include/mpt/core/fences.hpp': '#include <atomic>\nvoid f() { std::atomic_thread_fence(std::memory_order_seq_cst); }\n',
    'include/mpt/lock/x.hpp': PAIR,
    'docs/memory-order.md': '',
}


def good_tree():
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        lint.write_tree(root, GOOD)
        return {**GOOD, DOCUMENT: table(survey(root)[1])}


def planted(line, expected, path='include/mpt/lock/y.hpp'):
    return (line, {path: f'struct y {{\n    using word = typename Atomics::template atomic<int>;\n    word b_{{0}};\n    {line}\n}};\n'}, expected)


FAULTS = [
    planted('int f() { return b_.load(); }', 'default order'),
    planted('void f() { b_.store(1,\n        2); }', 'default order'),
    planted('void f() { p->fetch_add(g(1)); }', 'default order'),
    planted('word c_[4]; int f() { return c_[2].exchange(1); }', 'default order'),
    ('an atomic of another file', {'src/core/z.cpp': 'void f(x& y) { y.a_.store(1); }\n'}, 'default order'),
    planted('int f() { return b_.load(std::memory_order_relaxed); }', 'relaxed without'),
    planted('int f() { return b_.load(std::memory_order_acquire); } // fine', 'acquire without "// sync'),
    planted('int f() { return b_.load(std::memory_order::acquire); }', 'acquire without "// sync'),
    planted('int f() { return b_.load(std::memory_order_acquire); } // sync(x.a): release', 'comment says release, code says acquire'),
    planted('int f() { return b_.load(std::memory_order_acquire); } // sync(y.b): acquire', 'sync(y.b) has one side only: nobody releases'),
    planted('void f() { b_.store(1, std::memory_order_release); } // sync(y.b): release', 'sync(y.b) has one side only: nobody acquires'),
    planted('int f() { return b_.load(std::memory_order_acquire); } // sync(x.a): aquire', 'says "aquire"'),
    planted('int f() { return b_.load(std::memory_order_acquire); } // sync(the x): acquire', 'is no label'),
    planted('int f() { return b_.load(std::memory_order_consume); } // sync(x.a): consume', 'consume is not used'),
    planted('// order: stands too far away\n\n    int f() { return b_.load(std::memory_order_relaxed); }', 'relaxed without'),
    planted('void f() { std::atomic_thread_fence(std::memory_order_seq_cst); } // sync(x.a): seq_cst', 'a bare fence'),
    planted('void f() { _mm_sfence(); }', 'a bare fence', 'src/core/y.cpp'),
    planted('std::atomic<int> c_{0};', 'atomics come through'),
    planted('int volatile c_{0};', 'volatile orders nothing'),
    planted('void f() { __atomic_store_n(&c, 1, 0); }', 'atomics come through', 'src/mptrun/y.cpp'),
    ('<atomic> outside core', {'include/mpt/lock/y.hpp': '#include <atomic>\n'}, 'atomics come through'),
    planted('void f() { ++b_; }', 'uses an atomic by its operator'),
    planted('void f() { b_ = 3; }', 'uses an atomic by its operator'),
    planted('void f() { b_ += 3; }', 'uses an atomic by its operator'),
    ('a document that is behind', {'docs/memory-order.md': 'old\n'}, 'run "make docs"'),
]
if __name__ == '__main__':
    if '--list' in sys.argv:
        rest = [a for a in sys.argv[1:] if a != '--list']
        print(table(survey(pathlib.Path(rest[0] if rest else '.').resolve())[1]), end='')
    else:
        lint.main(check, good_tree(), FAULTS)
